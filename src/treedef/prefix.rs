//! Structures that are the beginning of others.

use crate::error::Result;
use crate::model::{NodeKind, TreeDef};
use crate::treedef::difference::mismatch_at;
use crate::treedef::node::{NodeRef, Overlaps};

use super::pairs::{expect_agreement, is_prefix, options_fit, same_head};
use super::treedef_builder::TreeDefBuilder;

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
        options_fit(self, full) && is_prefix(self.root(), full.root())
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
        let mut builder = TreeDefBuilder::default();
        builder.allow(self.limits);
        builder.allow(other.limits);
        builder.unify_options(self)?;
        builder.unify_options(other)?;
        let mut open: Vec<PairedChildren<'_, '_>> = Vec::new();
        let mut next = Some((self.root(), other.root(), 1));
        loop {
            match next {
                Some((leaf, other, repeat)) if leaf.kind() == NodeKind::Leaf => {
                    builder.insert(other, repeat)?;
                }
                Some((node, leaf, repeat)) if leaf.kind() == NodeKind::Leaf => {
                    builder.insert(node, repeat)?;
                }
                Some((a, b, repeat)) if same_head(a, b) => {
                    builder.open(a, repeat)?;
                    open.push(PairedChildren {
                        node: a,
                        pairs: a.overlaps(b),
                        position: 0,
                        alike: 0,
                    });
                }
                Some((a, b, _)) => {
                    let path =
                        open.iter().filter_map(|open| open.node.key(open.position)).collect();
                    return Err(mismatch_at(path, a, b));
                }
                None => {
                    builder.close()?;
                    open.pop();
                }
            }
            let Some(pairs) = open.last_mut() else { break };
            next = pairs.advance();
        }
        builder.finish()
    }
}

/// The children of two nodes that are alike, and how far they have come.
struct PairedChildren<'a, 'b> {
    node: NodeRef<'a>,
    pairs: Overlaps<'a, 'b>,
    /// Of the pair that came last, and how many are like it.
    position: usize,
    alike: usize,
}

impl<'a, 'b> PairedChildren<'a, 'b> {
    fn advance(&mut self) -> Option<(NodeRef<'a>, NodeRef<'b>, usize)> {
        let (a, b, alike) = self.pairs.next()?;
        (self.position, self.alike) = (self.position + self.alike, alike);
        Some((a, b, alike))
    }
}
