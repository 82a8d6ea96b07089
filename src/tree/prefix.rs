//! Trees whose structure is a prefix of another one.

use crate::bug::OrBug;
use crate::error::Result;
use crate::model::{Tree, TreeDef};
use crate::treedef::node_ref::NodeRef;
use crate::treedef::pairs::{Statics, expect_prefix, leaf_steps};

/// The subtree at `node`, which is a node of the tree's structure.
pub(crate) fn subtree_of<L: Clone>(tree: &Tree<L>, node: NodeRef<'_>) -> Tree<L> {
    subtree_with(tree, node, node.to_treedef())
}

fn subtree_with<L: Clone>(tree: &Tree<L>, node: NodeRef<'_>, treedef: TreeDef) -> Tree<L> {
    let leaves = tree.leaves.get(node.leaf_range()).or_bug().to_vec();
    Tree::from_parts(treedef.with_limits(tree.treedef.limits), leaves)
}

impl<L: Clone> Tree<L> {
    /// The subtrees in the places of the leaves of `prefix`. [`compose`](Tree::compose) is the
    /// inverse.
    ///
    /// # Errors
    ///
    /// Returns an error when `prefix` is not a prefix of this tree, with the path where they
    /// differ; when it has more leaves than [`Limits::max_work`](crate::Limits::max_work)
    /// allows.
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
        expect_prefix(prefix, &self.treedef, Statics::Compared)?;
        prefix.limits.expect_work(prefix.num_leaves(), self.leaves_in_memory())?;
        // Equal neighbours share one treedef.
        let mut last: Option<(_, TreeDef)> = None;
        let steps = leaf_steps(prefix.root(), self.treedef.root());
        let subtrees = steps.map(|(_, node)| {
            let treedef = match &last {
                Some((known, treedef))
                    if node.is_same_stored_node(*known) && node.has_same_orders(*known) =>
                {
                    treedef.clone()
                }
                _ => node.to_treedef(),
            };
            last = Some((node, treedef.clone()));
            subtree_with(self, node, treedef)
        });
        Ok(Tree::from_parts(prefix.clone(), subtrees.collect()))
    }

    /// Extends this tree, a prefix of the structure `full`, to that structure. Every leaf is cloned for all
    /// leaves of the subtree in its place; use [`as_ref`](Self::as_ref) first to clone only references. A
    /// static of this tree stands for any static.
    ///
    /// # Errors
    ///
    /// Returns an error when this tree is not a prefix of `full`, with the path where they
    /// differ; when `full` has more leaves than its [`Limits::max_work`](crate::Limits::max_work)
    /// allows, unless it was made by a walk through a value.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let gradients = Tree::new("([*, *], *)".parse()?, vec![1.0, 2.0, 3.0])?;
    /// let rates = Tree::new("(*, *)".parse()?, vec![0.1, 1.0])?;
    /// let rates = rates.broadcast_to(gradients.treedef())?;
    /// assert_eq!(rates.to_string(), "([0.1, 0.1], 1)");
    /// assert_eq!(rates.zip_with(gradients, |rate, g| rate * g)?.leaves(), [0.1, 0.2, 3.0]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[doc(alias = "broadcast_prefix")]
    #[doc(alias = "tree_broadcast_prefix")]
    pub fn broadcast_to(&self, full: &TreeDef) -> Result<Tree<L>> {
        expect_prefix(&self.treedef, full, Statics::Any)?;
        full.expect_made(full.num_leaves(), self.leaves_in_memory())?;
        let mut leaves = Vec::with_capacity(full.num_leaves());
        let steps = leaf_steps(self.treedef.root(), full.root());
        for ((_, subtree), leaf) in steps.zip(&self.leaves) {
            leaves.resize(leaves.len().saturating_add(subtree.num_leaves()), leaf.clone());
        }
        Ok(Tree::from_parts(full.clone(), leaves))
    }
}
