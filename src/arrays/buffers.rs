//! Leaves in one buffer for each kind, without loss.

use crate::leaf::column::{Columns, Segment, home};
use crate::leaf::leaf_type::LeafType;
use crate::model::{Column, Leaf, Tree, TreeDef};

/// The leaves of a tree in one vector for each kind; made by [`Tree::into_buffers`].
#[derive(Clone, Debug, PartialEq)]
pub struct Buffers {
    treedef: TreeDef,
    leaves: Columns,
}

impl Tree<Leaf> {
    /// Moves the leaves into one vector for each kind, with a table of their places.
    ///
    /// ```
    /// use treedef::{LeafKind, Tree};
    ///
    /// let tree = Tree::of(&(1.5f32, [7i64, 9007199254740993], 2.5f32))?;
    /// let mut buffers = tree.clone().into_buffers();
    /// assert_eq!(buffers.get::<i64>(), [7, 9007199254740993]);
    /// assert_eq!(buffers.segments()[2].offset, 1);
    ///
    /// buffers.get_mut::<f32>().iter_mut().for_each(|x| *x *= 2.0);
    /// assert_eq!(buffers.into_tree(), Tree::of(&(3f32, [7i64, 9007199254740993], 5f32))?);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn into_buffers(self) -> Buffers {
        Buffers { treedef: self.treedef, leaves: self.leaves.into_iter().collect() }
    }
}

impl Buffers {
    /// The structure of the tree.
    pub fn treedef(&self) -> &TreeDef {
        &self.treedef
    }

    /// The places of the leaves, in the order of the tree. Neighbours of one kind are one segment.
    pub fn segments(&self) -> &[Segment] {
        &self.leaves.segments
    }

    /// All leaves of type `L`, in order; empty if there are none. With [`Leaf`], all byte strings,
    /// absent values and opaque leaves.
    ///
    /// A `usize` is in the buffer of `u64`, and an `isize` in that of `i64`. To ask for the others
    /// does not compile:
    ///
    /// ```compile_fail
    /// # let buffers = treedef::Tree::of(&7usize).unwrap().into_buffers();
    /// buffers.get::<usize>();
    /// ```
    pub fn get<L: LeafType + 'static>(&self) -> &[L] {
        const { assert!(L::HAS_BUFFER, "buffers have `u64` for `usize`, and `i64` for `isize`") }
        self.leaves.columns.iter().find_map(Column::get).map_or(&[], Vec::as_slice)
    }

    /// All leaves of type `L`, in order, mutable.
    pub fn get_mut<L: LeafType + 'static>(&mut self) -> &mut [L] {
        const { assert!(L::HAS_BUFFER, "buffers have `u64` for `usize`, and `i64` for `isize`") }
        self.leaves.columns.iter_mut().find_map(Column::get_mut).map_or(&mut [], Vec::as_mut_slice)
    }

    /// The tree again; each leaf has its own kind.
    #[must_use]
    pub fn into_tree(self) -> Tree<Leaf> {
        let apart = |column: Column| (column.home(), column.into_leaves().into_iter());
        let mut columns: Vec<_> = self.leaves.columns.into_iter().map(apart).collect();
        let mut leaves = Vec::with_capacity(self.treedef.num_leaves());
        for Segment { kind, leaves: here, .. } in self.leaves.segments {
            let column = columns.iter_mut().find(|(of, _)| *of == home(kind));
            leaves.extend(column.into_iter().flat_map(|(_, column)| column.take(here.len())));
        }
        Tree::from_parts(self.treedef, leaves) // the lengths of buffers do not change
    }
}
