//! Putting one structure in the place of every leaf of another.

use crate::error::{Cause, Result};
use crate::model::{Node, NodeKind, TreeDef};
use crate::treedef::difference::subtree_mismatch;

use super::pairs::{Statics, expect_prefix, in_step};
use super::parts::PartsBuilder;

impl TreeDef {
    /// Returns this structure with `inner` in the place of every leaf.
    ///
    /// The number of leaves is the product of both. A run remains one run.
    ///
    /// # Errors
    ///
    /// Returns an error when the two have different options, or when the result exceeds the greater
    /// [`Limits`](crate::Limits) of the two.
    ///
    /// ```
    /// use treedef::TreeDef;
    ///
    /// let outer: TreeDef = "[*, None, *]".parse()?;
    /// let inner: TreeDef = "Point { x: *, y: * }".parse()?;
    /// let composed = outer.compose(&inner)?;
    /// assert_eq!(composed.to_string(), "[Point { x: *, y: * }, None, Point { x: *, y: * }]");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn compose(&self, inner: &TreeDef) -> Result<TreeDef> {
        let mut builder = PartsBuilder::onto(self.root(), self.limits);
        builder.allow(inner.limits);
        let is_leaf = |node: &&Node| node.kind == NodeKind::Leaf;
        let places = self.encoding.nodes.iter().filter(is_leaf).count();
        let more = places.saturating_mul(inner.encoding.nodes.len());
        builder.expect_room(more.saturating_add(self.encoding.nodes.len() - places))?;
        let fragment = builder.fragment(inner.root())?;
        builder.copy(self.root(), |builder, node, repeat| {
            let is_leaf = node.kind() == NodeKind::Leaf;
            if is_leaf {
                builder.insert_fragment(&fragment, repeat)?;
            }
            Ok(is_leaf)
        })?;
        builder.finish()
    }

    /// Returns the structure that is at every leaf of `outer`. This is the inverse of
    /// [`compose`](Self::compose).
    ///
    /// # Errors
    ///
    /// Returns an error when `outer` is not a prefix of this structure, when the subtrees at its
    /// leaves differ, or when it has no leaf.
    ///
    /// ```
    /// use treedef::TreeDef;
    ///
    /// let composed: TreeDef = "[(*, *), (*, *)]".parse()?;
    /// assert_eq!(composed.inner_of(&"[*, *]".parse()?)?.to_string(), "(*, *)");
    ///
    /// let error = "[(*, *), *]".parse::<TreeDef>()?.inner_of(&"[*, *]".parse()?).unwrap_err();
    /// assert_eq!(error.to_string(), "expected `(*, *)`, found `*` at `[1]`");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn inner_of(&self, outer: &TreeDef) -> Result<TreeDef> {
        expect_prefix(outer, self, Statics::Compared)?;
        let mut inner = None;
        for (leaf, subtree) in
            in_step(outer.root(), self.root(), Statics::Compared, |_, _, _| usize::MAX).flatten()
        {
            let first = *inner.get_or_insert(subtree);
            if !first.is_like(subtree) {
                let path = outer.leaf_path(leaf.first_leaf())?;
                return Err(subtree_mismatch(&path, first, subtree));
            }
        }
        match inner {
            Some(node) => Ok(node.to_treedef()),
            None => Err(Cause::Nothing("a structure without leaves has no inner structure").into()),
        }
    }
}
