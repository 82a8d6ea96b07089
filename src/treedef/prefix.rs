//! Prefixes of structures.

use crate::error::Result;
use crate::model::{NodeKind, TreeDef};
use crate::treedef::difference::mismatch_at;
use crate::treedef::node_ref::{NodeRef, Overlaps};

use super::pairs::{expect_agreement, is_prefix, options_fit, same_head};
use super::treedef_builder::TreeDefBuilder;

impl TreeDef {
    /// Whether `full` is this structure with leaves replaced by subtrees.
    ///
    /// This is a partial order. A leaf is a prefix of everything. If two structures are prefixes of
    /// each other, they are equal. `None` is a node, so it is a prefix only of `None`. Both must
    /// have equal options, unless this structure has default ones and no map, `None` or `Some`.
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

    /// The smallest structure of which both are prefixes. Where one has a leaf, the result has the
    /// subtree of the other.
    ///
    /// # Errors
    ///
    /// Returns an error with the path if the two differ at a node where neither has a leaf.
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

/// The children of two equal nodes, and the current position in them.
struct PairedChildren<'a, 'b> {
    node: NodeRef<'a>,
    pairs: Overlaps<'a, 'b>,
    /// The index of the last pair, and how many pairs are equal to it.
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
