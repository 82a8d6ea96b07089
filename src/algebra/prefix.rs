//! Structures that are the beginning of others.

use crate::diff::mismatch_at;
use crate::error::Result;
use crate::model::{NodeKind, Tree, TreeDef};
use crate::node::{NodeRef, Overlaps};

use super::graft::Graft;
use super::step::{LeafSteps, expect_agreement, expect_prefix, goes_under, is_prefix, same_head};

impl TreeDef {
    /// Whether every leaf of this structure stands for a subtree of `full`, and the two are the same above the leaves.
    ///
    /// This is a partial order: a leaf is a prefix of everything, and what are prefixes of each other are equal. As
    /// `None` is a node, it is a prefix of `None` alone. A structure that was made with options is a prefix only of such;
    /// one without, and with neither a map nor a `None` or `Some`, of any.
    ///
    /// ```
    /// use treedef::TreeDef;
    ///
    /// let full: TreeDef = "[(*, *), {\"a\": *}]".parse()?;
    /// assert!("[*, {\"a\": *}]".parse::<TreeDef>()?.is_prefix_of(&full));
    /// assert!("*".parse::<TreeDef>()?.is_prefix_of(&full));
    /// assert!(!"[*]".parse::<TreeDef>()?.is_prefix_of(&full));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[doc(alias = "treedef_is_prefix")]
    pub fn is_prefix_of(&self, full: &TreeDef) -> bool {
        goes_under(self, full) && is_prefix(self.root(), full.root())
    }

    /// The least structure of which both are prefixes: where one has a leaf it has what the other has.
    ///
    /// # Errors
    ///
    /// When the two differ where neither has a leaf; the error says where.
    ///
    /// ```
    /// use treedef::TreeDef;
    ///
    /// let left: TreeDef = "[(*, *), *]".parse()?;
    /// let right: TreeDef = "[*, [*, *, *]]".parse()?;
    /// assert_eq!(left.common_suffix(&right)?.to_string(), "[(*, *), [*, *, *]]");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn common_suffix(&self, other: &TreeDef) -> Result<TreeDef> {
        expect_agreement(self, other)?;
        let mut graft = Graft::default();
        graft.allow(self.limits);
        graft.allow(other.limits);
        graft.agree_with(self)?;
        graft.agree_with(other)?;
        let mut open: Vec<Pairs<'_, '_>> = Vec::new();
        let mut next = Some((self.root(), other.root(), 1));
        loop {
            match next {
                Some((leaf, other, repeat)) if leaf.kind() == NodeKind::Leaf => {
                    graft.insert(other, repeat)?;
                }
                Some((node, leaf, repeat)) if leaf.kind() == NodeKind::Leaf => {
                    graft.insert(node, repeat)?;
                }
                Some((a, b, repeat)) if same_head(a, b) => {
                    graft.open(a, repeat)?;
                    open.push(Pairs { node: a, pairs: a.overlaps(b), position: 0, alike: 0 });
                }
                Some((a, b, _)) => {
                    let path =
                        open.iter().filter_map(|open| open.node.key(open.position)).collect();
                    return Err(mismatch_at(path, a, b));
                }
                None => {
                    graft.close()?;
                    open.pop();
                }
            }
            let Some(pairs) = open.last_mut() else { break };
            next = pairs.advance();
        }
        graft.finish()
    }
}

/// The children of two nodes that are alike, and how far they have come.
struct Pairs<'a, 'b> {
    node: NodeRef<'a>,
    pairs: Overlaps<'a, 'b>,
    /// Of the pair that came last, and how many are like it.
    position: usize,
    alike: usize,
}

impl<'a, 'b> Pairs<'a, 'b> {
    fn advance(&mut self) -> Option<(NodeRef<'a>, NodeRef<'b>, usize)> {
        let (a, b, alike) = self.pairs.next()?;
        (self.position, self.alike) = (self.position + self.alike, alike);
        Some((a, b, alike))
    }
}

/// The tree from a node of its structure on.
pub(crate) fn subtree_of<L: Clone>(tree: &Tree<L>, node: NodeRef<'_>) -> Tree<L> {
    subtree_with(tree, node, node.to_treedef())
}

fn subtree_with<L: Clone>(tree: &Tree<L>, node: NodeRef<'_>, treedef: TreeDef) -> Tree<L> {
    let leaves = tree.leaves.get(node.leaf_range()).unwrap_or_default().to_vec();
    Tree::from_parts(treedef.with_limits(tree.treedef.limits), leaves)
}

impl<L: Clone> Tree<L> {
    /// The subtrees that the leaves of a prefix stand for, in their places: what [`compose`](Tree::compose) puts
    /// together.
    ///
    /// # Errors
    ///
    /// When `prefix` is none of this tree; the error says where the two part. When it has more leaves than
    /// [`Limits::max_work`](crate::Limits::max_work) allows.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::of(&(vec![(1, "a"), (2, "b")], 3))?;
    /// let subtrees = tree.flatten_up_to(&"([*, *], *)".parse()?)?;
    /// assert_eq!(subtrees.leaves()[1], Tree::of(&(2, "b"))?);
    ///
    /// let sizes = subtrees.map(|subtree| subtree.leaves().len());
    /// assert_eq!(sizes.to_string(), "([2, 2], 1)");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn flatten_up_to(&self, prefix: &TreeDef) -> Result<Tree<Tree<L>>> {
        expect_prefix(prefix, &self.treedef)?;
        prefix.limits.expect_work(prefix.num_leaves(), self.leaves_in_memory())?;
        // Equal neighbours share their structure.
        let mut last: Option<(_, TreeDef)> = None;
        let steps = LeafSteps::new(prefix.root(), self.treedef.root());
        let subtrees = steps.map(|(_, node)| {
            let treedef = match &last {
                Some((known, treedef)) if node.same_structure(*known) => treedef.clone(),
                _ => node.to_treedef(),
            };
            last = Some((node, treedef.clone()));
            subtree_with(self, node, treedef)
        });
        Ok(Tree::from_parts(prefix.clone(), subtrees.collect()))
    }

    /// This tree as far as another structure goes of which it is a prefix: every leaf stands for all leaves of its
    /// subtree.
    ///
    /// # Errors
    ///
    /// When this tree is no prefix of `full`; the error says where the two part. When `full` has more leaves than its
    /// [`Limits::max_work`](crate::Limits::max_work) allows, unless it is the structure of a value that was walked.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let model = treedef::structure(&(vec![0.5, 1.5], [0.0; 3]))?;
    /// let rates = Tree::new("(*, *)".parse()?, vec![0.1, 0.01])?;
    /// assert_eq!(rates.broadcast_to(&model)?.leaves(), [0.1, 0.1, 0.01, 0.01, 0.01]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[doc(alias = "broadcast_prefix")]
    pub fn broadcast_to(&self, full: &TreeDef) -> Result<Tree<L>> {
        expect_prefix(&self.treedef, full)?;
        full.expect_made(full.num_leaves(), self.leaves_in_memory())?;
        let mut leaves = Vec::with_capacity(full.num_leaves());
        let steps = LeafSteps::new(self.treedef.root(), full.root());
        for ((_, subtree), leaf) in steps.zip(&self.leaves) {
            leaves.resize(leaves.len().saturating_add(subtree.num_leaves()), leaf.clone());
        }
        Ok(Tree::from_parts(full.clone(), leaves))
    }
}
