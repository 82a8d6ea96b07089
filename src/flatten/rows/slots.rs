//! Slots for the leaves of a known structure: each leaf has its place before it is visited.

use std::cmp::Ordering;

use crate::leaf::Scalar;
use crate::leaf::column::LeafVec;
use crate::leaf::leaf_type::{Emit, put};
use crate::leaf::sink::Sink;
use crate::model::{Leaf, Value};

/// Slots for leaves, by index.
pub(crate) enum Slots<'s> {
    /// Leaves are only counted.
    Counted,
    Leaves(&'s mut [Leaf]),
    F64(&'s mut [f64]),
    F32(&'s mut [f32]),
    Other(&'s mut (dyn LeafVec + 'static)),
    /// Leaves are appended, in order.
    Behind(&'s mut Vec<Leaf>),
    /// The slots are full: each leaf must equal the one in its slot.
    Full(&'s [Leaf]),
    /// A key is looked up among these sorted keys.
    Keys {
        sorted: &'s [Value],
        found: Option<usize>,
    },
}

impl Sink {
    /// All leaves as slots.
    pub(crate) fn slots(&mut self) -> Slots<'_> {
        match self {
            Sink::Counted(_) => Slots::Counted,
            Sink::Leaves(leaves) => Slots::Leaves(leaves),
            Sink::F64(leaves) => Slots::F64(leaves),
            Sink::F32(leaves) => Slots::F32(leaves),
            Sink::Other(leaves) => Slots::Other(&mut **leaves),
        }
    }

    /// Slots for `count` more leaves. Slots that stay empty are [cut off](Self::resize) again.
    pub(crate) fn more_slots(&mut self, count: usize) -> Slots<'_> {
        match self {
            Sink::Leaves(leaves) => return Slots::Behind(leaves),
            _ => self.resize(self.len() + count),
        }
        self.slots()
    }
}

impl Slots<'_> {
    pub(crate) fn reborrow(&mut self) -> Slots<'_> {
        match self {
            Slots::Counted => Slots::Counted,
            Slots::Leaves(slots) => Slots::Leaves(slots),
            Slots::F64(slots) => Slots::F64(slots),
            Slots::F32(slots) => Slots::F32(slots),
            Slots::Other(leaves) => Slots::Other(&mut **leaves),
            Slots::Behind(leaves) => Slots::Behind(leaves),
            Slots::Full(leaves) => Slots::Full(leaves),
            Slots::Keys { sorted, found } => Slots::Keys { sorted, found: *found },
        }
    }

    /// Puts a scalar into a slot. Returns whether the slot exists and takes it.
    #[inline(never)]
    pub(crate) fn put(&mut self, slot: usize, scalar: Scalar<'_>) -> bool {
        match self {
            Slots::Counted => true,
            Slots::Leaves(slots) => put(slots, slot, Some(scalar.into())),
            Slots::F64(slots) => put(slots, slot, f64::from_scalar(scalar)),
            Slots::F32(slots) => put(slots, slot, f32::from_scalar(scalar)),
            Slots::Other(leaves) => leaves.put(slot, scalar),
            Slots::Behind(leaves) => LeafVec::push(*leaves, scalar),
            Slots::Full(leaves) => leaves.get(slot).and_then(Leaf::as_scalar) == Some(scalar),
            Slots::Keys { sorted, found } => {
                let unequal = |key: &Value| key.order_of(scalar).map(Ordering::reverse);
                let order = |key: &Value| unequal(key).unwrap_or(Ordering::Greater);
                *found = sorted.binary_search_by(order).ok();
                found.is_some()
            }
        }
    }

    /// Puts a leaf that may be opaque into a slot. Returns whether the slot exists and takes it.
    pub(crate) fn put_leaf(&mut self, slot: usize, leaf: Leaf) -> bool {
        match self {
            Slots::Counted => true,
            Slots::Leaves(slots) => put(slots, slot, Some(leaf)),
            Slots::F64(slots) => put(slots, slot, f64::from_leaf(leaf)),
            Slots::F32(slots) => put(slots, slot, f32::from_leaf(leaf)),
            Slots::Other(leaves) => leaves.put_leaf(slot, leaf),
            Slots::Behind(leaves) => leaves.push_leaf(leaf),
            // A value has no opaque leaves (invariant 6 of the encoding).
            Slots::Full(_) | Slots::Keys { .. } => false,
        }
    }
}
