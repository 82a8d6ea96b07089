//! Leaves in one buffer for each kind, without loss.

use std::any::Any;
use std::ops::Range;

use crate::leaf::leaf_type::LeafType;
use crate::model::{Leaf, LeafKind, Tree, TreeDef};

/// The leaves of a tree in one vector for each kind; made by [`Tree::into_buffers`].
#[derive(Clone, Debug, PartialEq)]
pub struct Buffers {
    treedef: TreeDef,
    layout: Vec<Segment>,
    columns: Vec<Column>,
}

/// Neighbouring leaves of one kind, and where they are in the buffer of that kind.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Segment {
    /// The kind of the leaves, which selects the buffer.
    pub kind: LeafKind,
    /// The indices of the leaves in the tree.
    pub leaves: Range<usize>,
    /// The index of the first of them in the buffer.
    pub offset: usize,
}

macro_rules! columns {
    ($($kind:ident: $type:ty,)*) => {
        /// The kind of the column that has the leaves of `kind`.
        fn home(kind: LeafKind) -> LeafKind {
            match kind {
                $(LeafKind::$kind)|* => kind,
                _ => LeafKind::Opaque,
            }
        }

        /// All leaves of one kind, in order.
        #[derive(Clone, Debug, PartialEq)]
        enum Column {
            $($kind(Vec<$type>),)*
            /// Bytes, absent values and opaque leaves.
            Other(Vec<Leaf>),
        }

        impl Column {
            fn new(kind: LeafKind) -> Self {
                match kind {
                    $(LeafKind::$kind => Column::$kind(Vec::new()),)*
                    _ => Column::Other(Vec::new()),
                }
            }

            fn len(&self) -> usize {
                match self {
                    $(Column::$kind(column) => column.len(),)*
                    Column::Other(column) => column.len(),
                }
            }

            fn home(&self) -> LeafKind {
                match self {
                    $(Column::$kind(_) => LeafKind::$kind,)*
                    Column::Other(_) => LeafKind::Opaque,
                }
            }

            /// Adds a leaf, whose kind must be that of this column.
            fn push(&mut self, leaf: Leaf) {
                match self {
                    $(Column::$kind(column) => column.extend(<$type>::try_from(leaf)),)*
                    Column::Other(column) => column.push(leaf),
                }
            }

            fn as_any(&self) -> &dyn Any {
                match self {
                    $(Column::$kind(column) => column,)*
                    Column::Other(column) => column,
                }
            }

            fn as_any_mut(&mut self) -> &mut dyn Any {
                match self {
                    $(Column::$kind(column) => column,)*
                    Column::Other(column) => column,
                }
            }

            fn into_leaves(self) -> Vec<Leaf> {
                match self {
                    $(Column::$kind(column) => column.into_iter().map(Leaf::from).collect(),)*
                    Column::Other(column) => column,
                }
            }
        }
    };
}

columns! {
    Bool: bool,
    I8: i8,
    I16: i16,
    I32: i32,
    I64: i64,
    I128: i128,
    U8: u8,
    U16: u16,
    U32: u32,
    U64: u64,
    U128: u128,
    F32: f32,
    F64: f64,
    Char: char,
    Str: String,
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
    /// assert_eq!(buffers.layout()[2].offset, 1);
    ///
    /// buffers.get_mut::<f32>().iter_mut().for_each(|x| *x *= 2.0);
    /// assert_eq!(buffers.into_tree(), Tree::of(&(3f32, [7i64, 9007199254740993], 5f32))?);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn into_buffers(self) -> Buffers {
        let (mut layout, mut columns) = (Vec::<Segment>::new(), Vec::<Column>::new());
        for (index, leaf) in self.leaves.into_iter().enumerate() {
            let kind = leaf.kind();
            let at = columns.iter().position(|column| column.home() == home(kind)).unwrap_or_else(
                || {
                    columns.push(Column::new(kind));
                    columns.len() - 1
                },
            );
            let column = &mut columns[at]; // exists, or was just added
            match layout.last_mut() {
                Some(segment) if segment.kind == kind => segment.leaves.end += 1,
                _ => {
                    let (leaves, offset) = (index..index + 1, column.len());
                    layout.push(Segment { kind, leaves, offset });
                }
            }
            column.push(leaf);
        }
        Buffers { treedef: self.treedef, layout, columns }
    }
}

impl Buffers {
    /// The structure of the tree.
    pub fn treedef(&self) -> &TreeDef {
        &self.treedef
    }

    /// The places of the leaves, in the order of the tree. Neighbours of one kind are one segment.
    pub fn layout(&self) -> &[Segment] {
        &self.layout
    }

    /// All leaves of type `L`, in order; empty if there are none. With [`Leaf`], all byte strings,
    /// absent values and opaque leaves.
    pub fn get<L: LeafType + 'static>(&self) -> &[L] {
        let mut columns = self.columns.iter();
        let found = columns.find_map(|column| column.as_any().downcast_ref::<Vec<L>>());
        found.map_or(&[], Vec::as_slice)
    }

    /// All leaves of type `L`, in order, mutable.
    pub fn get_mut<L: LeafType + 'static>(&mut self) -> &mut [L] {
        let mut columns = self.columns.iter_mut();
        let found = columns.find_map(|column| column.as_any_mut().downcast_mut::<Vec<L>>());
        found.map_or(&mut [], Vec::as_mut_slice)
    }

    /// The tree again; each leaf has its own kind.
    #[must_use]
    pub fn into_tree(self) -> Tree<Leaf> {
        let apart = |column: Column| (column.home(), column.into_leaves().into_iter());
        let mut columns: Vec<_> = self.columns.into_iter().map(apart).collect();
        let mut leaves = Vec::with_capacity(self.treedef.num_leaves());
        for Segment { kind, leaves: here, .. } in self.layout {
            let column = columns.iter_mut().find(|(of, _)| *of == home(kind));
            leaves.extend(column.into_iter().flat_map(|(_, column)| column.take(here.len())));
        }
        Tree::from_parts(self.treedef, leaves) // the lengths of buffers do not change
    }
}
