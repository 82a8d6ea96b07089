//! Leaves in one buffer for each kind.

use std::any::Any;
use std::mem;
use std::ops::Range;

use crate::bug::OrBug;
use crate::leaf::Scalar;
use crate::leaf::bits::Bits;
use crate::leaf::each_scalar;
use crate::model::{Column, Leaf, LeafKind, Swap};

/// Neighbouring leaves of one kind, and where they are in the buffer of that kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The kind of the leaves, which selects the buffer.
    pub(crate) kind: LeafKind,
    /// The indices of the leaves in the tree.
    pub(crate) leaves: Range<usize>,
    /// The index of the first of them in the buffer.
    pub(crate) offset: usize,
}

/// A vector of leaves of any type.
pub(crate) trait LeafVec {
    /// The kind of the leaves in error messages.
    fn kind(&self) -> LeafKind;
    fn push(&mut self, scalar: Scalar<'_>) -> bool;
    fn push_leaf(&mut self, leaf: Leaf) -> bool;
    /// Adds numbers of a kind that fits.
    fn extend_bits(&mut self, kind: LeafKind, bits: Bits<'_>);
    fn len(&self) -> usize;
    fn reserve(&mut self, count: usize);
    /// Swaps leaves, one pair of ranges after the other.
    fn swap_ranges(&mut self, swaps: &[Swap]);
    fn truncate(&mut self, len: usize);
    /// Frees unused capacity.
    fn shrink(&mut self);
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

each_scalar! { [sized] ($kind $type) => {
    /// The kind of the column that has the leaves of `kind`.
    pub(crate) fn home(kind: LeafKind) -> LeafKind {
        match kind {
            $(LeafKind::$kind |)* LeafKind::Str => kind,
            _ => LeafKind::Opaque,
        }
    }

    impl Column {
        pub(crate) fn new(kind: LeafKind) -> Self {
            match kind {
                $(LeafKind::$kind => Column::$kind(Vec::new()),)*
                LeafKind::Str => Column::Str(Vec::new()),
                _ => Column::Other(Vec::new()),
            }
        }

        /// The column of a vector. `None` if there is none for its type.
        #[allow(clippy::ptr_arg, reason = "the vector itself becomes the column")]
        pub(crate) fn of<T: 'static>(leaves: &mut Vec<T>) -> Option<Self> {
            let any: &mut dyn Any = leaves;
            $(if let Some(leaves) = any.downcast_mut::<Vec<$type>>() {
                return Some(Column::$kind(mem::take(leaves)));
            })*
            any.downcast_mut::<Vec<String>>().map(|leaves| Column::Str(mem::take(leaves)))
        }

        pub(crate) fn home(&self) -> LeafKind {
            match self {
                $(Column::$kind(_) => LeafKind::$kind,)*
                Column::Str(_) => LeafKind::Str,
                Column::Other(_) => LeafKind::Opaque,
            }
        }

        pub(crate) fn as_vec(&self) -> &dyn LeafVec {
            match self {
                $(Column::$kind(column) => column,)*
                Column::Str(column) => column,
                Column::Other(column) => column,
            }
        }

        pub(crate) fn as_vec_mut(&mut self) -> &mut dyn LeafVec {
            match self {
                $(Column::$kind(column) => column,)*
                Column::Str(column) => column,
                Column::Other(column) => column,
            }
        }

        /// The leaf at an index. `None` for an opaque leaf.
        pub(crate) fn scalar(&self, index: usize) -> Option<Scalar<'_>> {
            match self {
                $(Column::$kind(column) => Some(Scalar::$kind(*column.get(index)?)),)*
                Column::Str(column) => Some(Scalar::Str(column.get(index)?)),
                Column::Other(column) => column.get(index)?.as_scalar(),
            }
        }
    }
}}

impl Column {
    pub(crate) fn len(&self) -> usize {
        self.as_vec().len()
    }

    pub(crate) fn leaf(&self, index: usize) -> Option<Leaf> {
        match self {
            Column::Other(column) => column.get(index).cloned(),
            scalars => scalars.scalar(index).map(Leaf::from),
        }
    }

    /// Adds a leaf. It must have the kind of this column.
    pub(crate) fn push(&mut self, leaf: Leaf) {
        let fits = self.as_vec_mut().push_leaf(leaf);
        debug_assert!(fits, "a column has leaves of one kind");
    }

    /// Removes the leaves from an index on.
    fn split_off(&mut self, at: usize) -> Vec<Leaf> {
        let at = at.min(self.len());
        match self {
            Column::Str(column) => column.drain(at..).map(Leaf::from).collect(),
            Column::Other(column) => column.split_off(at),
            numbers => {
                let removed = (at..numbers.len()).filter_map(|index| numbers.leaf(index)).collect();
                numbers.as_vec_mut().truncate(at);
                removed
            }
        }
    }

    /// The leaves of type `T`, if the column is of that type.
    pub(crate) fn get<T: 'static>(&self) -> Option<&Vec<T>> {
        self.as_vec().as_any().downcast_ref()
    }
}

each_scalar! { [signed unsigned floats] ($kind $type) => {
    /// Numbers and their bytes in memory.
    impl Column {
        /// `None` if these are not the bytes of numbers of this kind.
        pub(crate) fn from_bytes(kind: LeafKind, bytes: &[u8]) -> Option<Self> {
            Some(match kind {
                LeafKind::Bool if bytes.iter().all(|byte| *byte <= 1) => {
                    Column::Bool(bytes.iter().map(|byte| *byte == 1).collect())
                }
                $(LeafKind::$kind => {
                    let (chunks, []) = bytes.as_chunks() else { return None };
                    let mut numbers = Vec::with_capacity(chunks.len());
                    for bytes in chunks {
                        numbers.push(<$type>::from_ne_bytes(*bytes));
                    }
                    Column::$kind(numbers)
                })*
                _ => return None,
            })
        }

        pub(crate) fn to_bytes(&self, range: Range<usize>) -> Vec<u8> {
            match self {
                Column::Bool(column) => {
                    column.get(range).or_bug().iter().map(|x| (*x).into()).collect()
                }
                $(Column::$kind(column) => {
                    let numbers = column.get(range).or_bug();
                    let mut bytes = Vec::with_capacity(size_of_val(numbers));
                    for number in numbers {
                        bytes.extend_from_slice(&number.to_ne_bytes());
                    }
                    bytes
                })*
                _ => Vec::new(),
            }
        }
    }
}}

/// Leaves in one column for each kind, and the order in which they were added.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Columns {
    pub(crate) segments: Vec<Segment>,
    pub(crate) columns: Vec<Column>,
    /// The column of the last leaf.
    last: usize,
}

impl Columns {
    pub(crate) fn push(&mut self, leaf: Leaf) {
        match self.grow(leaf.kind(), 1) {
            Some(column) => column.push(leaf),
            None => debug_assert!(false, "a segment has no column"),
        }
    }

    /// The column for `count` more leaves of a kind, which the caller adds to it.
    fn grow(&mut self, kind: LeafKind, count: usize) -> Option<&mut Column> {
        match self.segments.last_mut() {
            Some(segment) if segment.kind == kind => segment.leaves.end += count, // in memory
            _ => {
                let (end, offset) = (self.len(), self.turn_to(home(kind)));
                self.segments.push(Segment { kind, leaves: end..end + count, offset });
            }
        }
        self.columns.get_mut(self.last)
    }

    /// Adds numbers of one kind.
    pub(crate) fn extend(&mut self, kind: LeafKind, bits: Bits<'_>) {
        match self.grow(kind, bits.len()) {
            Some(column) => column.as_vec_mut().extend_bits(kind, bits),
            None => debug_assert!(false, "a segment has no column"),
        }
    }

    /// The number of leaves.
    pub(crate) fn len(&self) -> usize {
        self.segments.last().map_or(0, |segment| segment.leaves.end)
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

    /// The column of all leaves from `first` on, and their beginning in it, if they are of one
    /// kind.
    pub(crate) fn column_from(&mut self, first: usize) -> Option<(&mut Column, usize)> {
        let Segment { leaves, offset, .. } = self.segments.last()?;
        let at = offset + first.checked_sub(leaves.start)?; // at most the end of the column
        Some((self.columns.get_mut(self.last)?, at))
    }

    /// Removes the leaves from an index on, and returns them in order.
    pub(crate) fn split_off(&mut self, first: usize) -> Vec<Leaf> {
        let mut removed = Vec::new();
        while let Some(segment) = self.segments.pop_if(|segment| segment.leaves.end > first) {
            let kept = first.saturating_sub(segment.leaves.start);
            let at = segment.offset + kept; // in the column
            let column = self.columns.iter_mut().find(|of| of.home() == home(segment.kind));
            removed.push(column.map(|column| column.split_off(at)).or_bug());
            if kept > 0 {
                let leaves = segment.leaves.start..first;
                self.segments.push(Segment { leaves, ..segment });
            }
        }
        let last = self.segments.last().map(|segment| home(segment.kind));
        let column = self.columns.iter().position(|column| Some(column.home()) == last);
        self.last = column.unwrap_or(0);
        let mut leaves = Vec::new();
        while let Some(mut of_segment) = removed.pop() {
            leaves.append(&mut of_segment);
        }
        leaves
    }
}

impl FromIterator<Leaf> for Columns {
    fn from_iter<I: IntoIterator<Item = Leaf>>(leaves: I) -> Self {
        let mut columns = Columns::default();
        leaves.into_iter().for_each(|leaf| columns.push(leaf));
        columns
    }
}
