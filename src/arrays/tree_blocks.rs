//! Blocks of trees: rectangular parts whose leaves have one kind.

use std::fmt;

use crate::bug::OrBug;
use crate::leaf::leaf_type::LeafType;
use crate::model::{LeafKind, Tree};

use super::blocks::{Block, Blocks, have_one_kind};

/// The blocks of a tree with their leaves.
struct TreeBlocks<'a, L> {
    blocks: Blocks<'a>,
    leaves: &'a [L],
    /// Returns the kind of a leaf, if leaves of this type differ in kind.
    kind: Option<fn(&L) -> LeafKind>,
}

/// # Arrays
impl<L: LeafType> Tree<L> {
    /// The largest rectangular parts whose leaves have one kind, with their leaves.
    ///
    /// They are the blocks of [`TreeDef::blocks`](crate::TreeDef::blocks), but if the kinds of leaves
    /// differ inside a block, its children are the blocks. For a tree with leaves of another type, use
    /// `tree.treedef().blocks()`: the [`leaf_range`](crate::NodeRef::leaf_range) of their nodes has indices
    /// into `tree.leaves()`.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::of(&([[1.0f32, 2.0], [3.0, 4.0]], (5u8, 6.0)))?;
    /// let blocks: Vec<_> = tree
    ///     .blocks()
    ///     .map(|(block, leaves)| (block.path.to_string(), block.shape, leaves.len()))
    ///     .collect();
    /// assert_eq!(blocks[0], (".0".to_owned(), vec![2, 2], 4));
    /// assert_eq!(blocks[1..], [(".1.0".to_owned(), vec![], 1), (".1.1".to_owned(), vec![], 1)]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn blocks(&self) -> impl Iterator<Item = (Block<'_>, &[L])> + fmt::Debug {
        let kind = (L::KIND == LeafKind::Opaque).then_some(L::kind as fn(&L) -> LeafKind);
        TreeBlocks { blocks: self.treedef.blocks(), leaves: &self.leaves, kind }
    }
}

impl<'a, L> Iterator for TreeBlocks<'a, L> {
    type Item = (Block<'a>, &'a [L]);

    fn next(&mut self) -> Option<Self::Item> {
        let (leaves, kind) = (self.leaves, self.kind);
        let of = |range| -> &'a [L] { leaves.get(range).or_bug() };
        let alike = |range| kind.is_none_or(|kind| have_one_kind(of(range).iter().map(kind)));
        let block = self.blocks.next_where(alike)?;
        let leaves = of(block.node.leaf_range());
        Some((block, leaves))
    }
}

impl<L> fmt::Debug for TreeBlocks<'_, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TreeBlocks").field(&self.blocks).finish()
    }
}
