//! Leaves in one buffer for each kind.

use std::any::Any;
use std::mem;
use std::ops::Range;

use crate::leaf::Scalar;
use crate::leaf::leaf_type::{Flat, LeafType};
use crate::model::{Column, Leaf, LeafKind};

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
        pub(crate) fn home(kind: LeafKind) -> LeafKind {
            match kind {
                $(LeafKind::$kind)|* => kind,
                _ => LeafKind::Opaque,
            }
        }

        impl Column {
            pub(crate) fn new(kind: LeafKind) -> Self {
                match kind {
                    $(LeafKind::$kind => Column::$kind(Vec::new()),)*
                    _ => Column::Other(Vec::new()),
                }
            }

            /// The column of a vector.
            pub(crate) fn of<L: LeafType>(leaves: Vec<L>) -> Self {
                let mut leaves = Some(leaves);
                let any: &mut dyn Any = &mut leaves;
                $(if let Some(Some(leaves)) = any.downcast_mut::<Option<Vec<$type>>>() {
                    return Column::$kind(mem::take(leaves));
                })*
                let mut column = Column::new(L::KIND);
                leaves.into_iter().flatten().for_each(|leaf| column.push(leaf.into_leaf()));
                column
            }

            pub(crate) fn len(&self) -> usize {
                match self {
                    $(Column::$kind(column) => column.len(),)*
                    Column::Other(column) => column.len(),
                }
            }

            pub(crate) fn home(&self) -> LeafKind {
                match self {
                    $(Column::$kind(_) => LeafKind::$kind,)*
                    Column::Other(_) => LeafKind::Opaque,
                }
            }

            /// Adds a leaf, whose kind must be that of this column.
            pub(crate) fn push(&mut self, leaf: Leaf) {
                match self {
                    $(Column::$kind(column) => column.extend(<$type>::try_from(leaf)),)*
                    Column::Other(column) => column.push(leaf),
                }
            }

            /// The leaf at an index. `None` for an opaque leaf.
            pub(crate) fn scalar(&self, index: usize) -> Option<Scalar<'_>> {
                match self {
                    $(Column::$kind(column) => Flat::as_scalar(column.get(index)?),)*
                    Column::Other(column) => column.get(index)?.as_scalar(),
                }
            }

            pub(crate) fn leaf(&self, index: usize) -> Option<Leaf> {
                match self {
                    $(Column::$kind(column) => column.get(index).cloned().map(Leaf::from),)*
                    Column::Other(column) => column.get(index).cloned(),
                }
            }

            pub(crate) fn as_any(&self) -> &dyn Any {
                match self {
                    $(Column::$kind(column) => column,)*
                    Column::Other(column) => column,
                }
            }

            pub(crate) fn as_any_mut(&mut self) -> &mut dyn Any {
                match self {
                    $(Column::$kind(column) => column,)*
                    Column::Other(column) => column,
                }
            }

            pub(crate) fn into_leaves(self) -> Vec<Leaf> {
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

impl Column {
    /// The leaves of type `L`, if the column is of that type.
    pub(crate) fn get<L: LeafType>(&self) -> Option<&Vec<L>> {
        self.as_any().downcast_ref()
    }
}

/// Leaves in one column for each kind, and the order in which they came.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Columns {
    pub(crate) layout: Vec<Segment>,
    pub(crate) columns: Vec<Column>,
    /// The column of the last leaf.
    last: usize,
}

impl Columns {
    pub(crate) fn push(&mut self, leaf: Leaf) {
        let kind = leaf.kind();
        let end = self.layout.last().map_or(0, |segment| segment.leaves.end);
        match self.layout.last_mut() {
            Some(segment) if segment.kind == kind => segment.leaves.end += 1, // a vector's length
            _ => {
                let offset = self.turn_to(home(kind));
                self.layout.push(Segment { kind, leaves: end..end + 1, offset });
            }
        }
        if let Some(column) = self.columns.get_mut(self.last) {
            column.push(leaf);
        }
    }

    /// Makes the column of a kind the last one, and returns its length.
    fn turn_to(&mut self, home: LeafKind) -> usize {
        let known = self.columns.iter().position(|column| column.home() == home);
        self.last = known.unwrap_or_else(|| {
            self.columns.push(Column::new(home));
            self.columns.len() - 1
        });
        self.columns.get(self.last).map_or(0, Column::len)
    }
}

impl FromIterator<Leaf> for Columns {
    fn from_iter<I: IntoIterator<Item = Leaf>>(leaves: I) -> Self {
        let mut columns = Columns::default();
        leaves.into_iter().for_each(|leaf| columns.push(leaf));
        columns
    }
}
