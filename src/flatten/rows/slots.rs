//! Where the leaves of a known structure go, by their index: so each has a place before it comes.

use std::cmp::Ordering;

use crate::leaf::Scalar;
use crate::leaf::leaf_type::{Emit, put};
use crate::leaf::sink::{LeafVec, Sink};
use crate::model::{Leaf, Value};

/// Slots that leaves are put into by their index.
pub(crate) enum Slots<'s> {
    /// They are only counted.
    Counted,
    Leaves(&'s mut [Leaf]),
    F64(&'s mut [f64]),
    F32(&'s mut [f32]),
    Other(&'s mut (dyn LeafVec + 'static)),
    /// They are made behind these, in order.
    Behind(&'s mut Vec<Leaf>),
    /// They are full: what comes has to be what they hold.
    Full(&'s [Leaf]),
    /// The key that comes is looked up among these, which are in order.
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

    /// Slots for so many more leaves; those that are not filled are [cut off](Self::resize) again.
    pub(crate) fn more_slots(&mut self, count: usize) -> Slots<'_> {
        if let Sink::Leaves(leaves) = self {
            return Slots::Behind(leaves);
        }
        self.resize(self.len() + count);
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

    /// Puts a scalar into a slot; says whether there is one that takes it.
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

    /// Puts a leaf that may be opaque.
    pub(crate) fn put_leaf(&mut self, slot: usize, leaf: Leaf) -> bool {
        match self {
            Slots::Counted => true,
            Slots::Leaves(slots) => put(slots, slot, Some(leaf)),
            Slots::F64(slots) => put(slots, slot, f64::from_leaf(leaf)),
            Slots::F32(slots) => put(slots, slot, f32::from_leaf(leaf)),
            Slots::Other(leaves) => leaves.put_leaf(slot, leaf),
            Slots::Behind(leaves) => leaves.push_leaf(leaf),
            // There is none in a value (invariant 6 of the encoding).
            Slots::Full(_) | Slots::Keys { .. } => false,
        }
    }
}
