//! Where a row puts its leaves.

use crate::leaf::Scalar;
use crate::leaf::column::LeafVec;
use crate::leaf::sink::Sink;
use crate::model::Leaf;

/// Slots for leaves, by index.
pub(super) enum Slots<'s> {
    /// Leaves are only counted.
    Counted,
    /// Leaves are appended, in order.
    Leaves(&'s mut Vec<Leaf>),
    F64(&'s mut Vec<f64>),
    F32(&'s mut Vec<f32>),
    /// Leaves are put into slots that are there.
    Other(&'s mut (dyn LeafVec + 'static)),
}

impl Sink {
    /// All leaves as slots.
    pub(super) fn slots(&mut self) -> Slots<'_> {
        match self {
            Sink::Counted(_) => Slots::Counted,
            Sink::Leaves(leaves) => Slots::Leaves(leaves),
            Sink::F64(leaves) => Slots::F64(leaves),
            Sink::F32(leaves) => Slots::F32(leaves),
            Sink::Other(leaves) => Slots::Other(&mut **leaves),
        }
    }

    /// Slots for `count` more leaves. Slots that stay empty are [cut off](Self::resize) again.
    pub(super) fn more_slots(&mut self, count: usize) -> Slots<'_> {
        match self {
            Sink::Other(_) => self.resize(self.len() + count),
            _ => self.reserve(count),
        }
        self.slots()
    }
}

impl Slots<'_> {
    /// Puts a scalar into a slot. Returns whether the slot exists and takes it.
    #[inline(never)]
    pub(super) fn put(&mut self, slot: usize, scalar: Scalar<'_>) -> bool {
        match self {
            Slots::Counted => true,
            Slots::F64(leaves) => LeafVec::push(*leaves, scalar),
            Slots::F32(leaves) => LeafVec::push(*leaves, scalar),
            Slots::Other(leaves) => leaves.put(slot, scalar),
            Slots::Leaves(leaves) => LeafVec::push(*leaves, scalar),
        }
    }
}
