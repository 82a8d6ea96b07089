//! Where the leaves of a recording go: a vector of any type of leaves, behind one type, so that what records is compiled
//! once for all of them.

use std::any::Any;
use std::mem;

use crate::leaf::Scalar;
use crate::model::{Leaf, LeafKind};

/// The leaves of a recording.
pub enum Sink {
    Leaves(Vec<Leaf>),
    F64(Vec<f64>),
    F32(Vec<f32>),
    Other(Box<dyn Leaves>),
}

/// A vector of some type of leaves.
pub trait Leaves {
    /// What messages call a leaf.
    fn kind(&self) -> LeafKind;
    fn push_scalar(&mut self, scalar: Scalar<'_>) -> bool;
    fn push_leaf(&mut self, leaf: Leaf) -> bool;
    fn len(&self) -> usize;
    fn capacity(&self) -> usize;
    fn truncate(&mut self, count: usize);
    /// Makes room for more leaves, as far as they take no more than so many bytes.
    fn reserve(&mut self, count: usize, bytes: usize);
    fn shrink_to(&mut self, count: usize);
    fn swap(&mut self, a: usize, b: usize);
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

/// A set of kinds of leaves.
#[derive(Clone, Copy)]
pub(crate) struct Kinds(u32);

impl Kinds {
    pub(crate) const ALL: Kinds = Kinds(u32::MAX);

    /// Those that are taken for a leaf of a kind: what is opaque may be any, and an `f32` may become an `f64`.
    pub(crate) fn taken_for(kind: LeafKind) -> Self {
        let only = |kind: LeafKind| 1 << kind as u32; // there are 18
        match kind {
            LeafKind::Opaque => Kinds::ALL,
            LeafKind::F64 => Kinds(only(LeafKind::F64) | only(LeafKind::F32)),
            kind => Kinds(only(kind)),
        }
    }

    #[inline(always)]
    pub(crate) fn has(self, kind: LeafKind) -> bool {
        self.0 & 1 << kind as u32 != 0
    }
}

impl Sink {
    /// A leaf; says whether it is of a type that is taken here.
    #[inline(always)]
    pub(crate) fn push(&mut self, scalar: Scalar<'_>) -> bool {
        match (self, scalar) {
            (Sink::F64(leaves), Scalar::F64(value)) => leaves.push(value),
            (Sink::F32(leaves), Scalar::F32(value)) => leaves.push(value),
            (Sink::Leaves(leaves), scalar) => leaves.push(scalar.into()),
            (other, scalar) => return other.leaves_mut().push_scalar(scalar),
        }
        true
    }

    /// The vector, of whatever type it is.
    pub(crate) fn leaves(&self) -> &dyn Leaves {
        match self {
            Sink::Leaves(leaves) => leaves,
            Sink::F64(leaves) => leaves,
            Sink::F32(leaves) => leaves,
            Sink::Other(leaves) => &**leaves,
        }
    }

    /// The vector, to be changed.
    #[inline(never)]
    pub(crate) fn leaves_mut(&mut self) -> &mut dyn Leaves {
        match self {
            Sink::Leaves(leaves) => leaves,
            Sink::F64(leaves) => leaves,
            Sink::F32(leaves) => leaves,
            Sink::Other(leaves) => &mut **leaves,
        }
    }

    pub(crate) fn take(&mut self) -> Sink {
        mem::replace(self, Sink::Leaves(Vec::new()))
    }
}

/// Moves each item to its destination, by swaps along the cycles.
pub(crate) fn permute(mut destination: Vec<usize>, mut swap: impl FnMut(usize, usize)) {
    for at in 0..destination.len() {
        while destination[at] != at {
            let to = destination[at];
            swap(at, to);
            destination.swap(at, to);
        }
    }
}
