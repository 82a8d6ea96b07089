//! The leaves that a value is rebuilt from.

use std::mem;

use crate::leaf::Scalar;
use crate::leaf::leaf_type::{Flat, Source, Taken, Typed};
use crate::model::{Leaf, Value};

/// The given leaves, a slice for each likely type. All slices but one are empty, so a leaf that is
/// in one of them is of its type.
pub(super) struct Supply<'de> {
    pub(super) f64s: &'de [f64],
    pub(super) f32s: &'de [f32],
    pub(super) leaves: LeafSlice<'de>,
    /// Leaves of any other type.
    other: Option<Source<'de>>,
}

/// [`Leaf`]s. Owned ones have no opaque leaf among them.
pub(super) enum LeafSlice<'de> {
    Lent(&'de [Leaf]),
    Owned(&'de mut [Leaf]),
}

impl<'de> Supply<'de> {
    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn new(source: Source<'de>) -> Self {
        let leaves = LeafSlice::Lent(&[]);
        let mut supply = Supply { f64s: &[], f32s: &[], leaves, other: None };
        match source {
            Source::Leaves(leaves) => supply.leaves = LeafSlice::Lent(leaves),
            Source::OwnedLeaves(leaves) => supply.leaves = LeafSlice::Owned(leaves),
            Source::Typed(Typed::F64(leaves)) => supply.f64s = leaves,
            Source::Typed(Typed::F32(leaves)) => supply.f32s = leaves,
            other => supply.other = Some(other),
        }
        supply
    }

    /// All leaves, if they are [`Leaf`]s.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn as_leaves(&self) -> &[Leaf] {
        match &self.leaves {
            LeafSlice::Lent(leaves) => leaves,
            LeafSlice::Owned(leaves) => leaves,
        }
    }

    /// The scalar; `None` for an opaque leaf.
    pub(super) fn scalar(&self, index: usize) -> Option<Scalar<'_>> {
        if let Some(leaf) = self.as_leaves().get(index) {
            return leaf.as_scalar();
        }
        if let Some(leaf) = self.f64s.get(index) {
            return leaf.as_scalar();
        }
        match self.f32s.get(index) {
            Some(leaf) => leaf.as_scalar(),
            None => self.other_scalar(index),
        }
    }

    /// The same for a leaf that is of none of the likely types.
    fn other_scalar(&self, index: usize) -> Option<Scalar<'_>> {
        self.other.as_ref()?.scalar(index)
    }

    /// Leaves of a type that is none of the likely ones.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn other_typed(&self) -> Option<Typed<'de>> {
        match self.other {
            Some(Source::Typed(leaves)) => Some(leaves),
            _ => None,
        }
    }

    /// Whether the leaves are objects.
    pub(super) fn are_objects(&self) -> bool {
        matches!(self.other, Some(Source::Objects(_)))
    }

    /// The subtree of an opaque leaf.
    pub(super) fn opaque(&self, index: usize) -> Option<&'de Value> {
        match self.leaves {
            LeafSlice::Lent(leaves) => leaves.get(index)?.opaque(),
            LeafSlice::Owned(_) => None,
        }
    }

    /// The text, if the leaf is a borrowed string.
    pub(super) fn borrowed_text(&self, index: usize) -> Option<&'de str> {
        match self.leaves {
            LeafSlice::Lent(leaves) if !leaves.is_empty() => leaves.get(index)?.as_str(),
            _ => self.other.as_ref()?.borrowed_text(index),
        }
    }

    /// Takes the leaf; called at most once for each index. Strings and bytes that were handed over
    /// are moved out. Returns `None` for an opaque leaf, which stays.
    pub(super) fn take(&mut self, index: usize) -> Option<Taken<'de>> {
        match &mut self.leaves {
            LeafSlice::Owned(leaves) => match leaves.get_mut(index) {
                Some(Leaf::Str(text)) => return Some(Taken::String(mem::take(text).into())),
                Some(Leaf::Bytes(bytes)) => return Some(Taken::Bytes(mem::take(bytes).into())),
                Some(other) => return other.as_plain().map(Taken::Scalar),
                None => {}
            },
            LeafSlice::Lent(leaves) => {
                let leaves: &'de [Leaf] = leaves;
                if let Some(leaf) = leaves.get(index) {
                    return leaf.as_scalar().map(Taken::Scalar);
                }
            }
        }
        match (self.f64s.get(index), self.f32s.get(index)) {
            (Some(value), _) => Some(Taken::Scalar(Scalar::F64(*value))),
            (_, Some(value)) => Some(Taken::Scalar(Scalar::F32(*value))),
            _ => self.other.as_mut()?.take(index),
        }
    }
}
