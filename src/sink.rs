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

/// A vector of leaves of some other type.
pub trait Leaves {
    /// The kinds that it takes.
    fn kinds(&self) -> Kinds;
    fn push_scalar(&mut self, scalar: Scalar<'_>) -> bool;
    fn push_leaf(&mut self, leaf: Leaf) -> bool;
    fn len(&self) -> usize;
    fn capacity(&self) -> usize;
    fn truncate(&mut self, count: usize);
    fn reserve(&mut self, count: usize, bytes: usize);
    fn shrink_to(&mut self, count: usize);
    fn swap(&mut self, a: usize, b: usize);
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

/// A set of kinds of leaves.
#[derive(Clone, Copy)]
pub struct Kinds(u32);

impl Kinds {
    pub(crate) const ALL: Kinds = Kinds(u32::MAX);

    pub(crate) fn only(kind: LeafKind) -> Self {
        Kinds(1 << kind as u32) // there are 18
    }

    #[inline(always)]
    pub(crate) fn has(self, kind: LeafKind) -> bool {
        self.0 & 1 << kind as u32 != 0
    }
}

/// Calls a method of the vector, of whatever type it is.
macro_rules! each {
    ($sink:expr, $leaves:ident => $then:expr) => {
        match $sink {
            Sink::Leaves($leaves) => $then,
            Sink::F64($leaves) => $then,
            Sink::F32($leaves) => $then,
            Sink::Other($leaves) => $then,
        }
    };
}

impl Sink {
    /// A leaf; says whether it is of a type that is taken here.
    #[inline(always)]
    pub(crate) fn push(&mut self, scalar: Scalar<'_>) -> bool {
        match (self, scalar) {
            (Sink::F64(leaves), Scalar::F64(value)) => leaves.push(value),
            (Sink::F32(leaves), Scalar::F32(value)) => leaves.push(value),
            (Sink::Leaves(leaves), scalar) => leaves.push(scalar.into()),
            (other, scalar) => return other.push_other(scalar),
        }
        true
    }

    #[inline(never)]
    fn push_other(&mut self, scalar: Scalar<'_>) -> bool {
        each!(self, leaves => leaves.as_leaves().push_scalar(scalar))
    }

    pub(crate) fn push_leaf(&mut self, leaf: Leaf) -> bool {
        each!(self, leaves => leaves.as_leaves().push_leaf(leaf))
    }

    /// Leaves of the kinds that are taken here, all of which scalars.
    pub(crate) fn append(&mut self, from: &mut Vec<Leaf>) {
        match self {
            Sink::Leaves(leaves) => leaves.append(from),
            other => {
                let all = from.drain(..).all(|leaf| other.push_leaf(leaf));
                debug_assert!(all, "a leaf of another kind");
            }
        }
    }

    pub(crate) fn kinds(&self) -> Kinds {
        match self {
            Sink::Leaves(_) => Kinds::ALL,
            Sink::F64(_) => Kinds(Kinds::only(LeafKind::F64).0 | Kinds::only(LeafKind::F32).0),
            Sink::F32(_) => Kinds::only(LeafKind::F32),
            Sink::Other(leaves) => leaves.kinds(),
        }
    }

    /// What messages call a leaf.
    pub(crate) fn kind(&self) -> LeafKind {
        match self {
            Sink::Leaves(_) => LeafKind::Opaque,
            Sink::F64(_) => LeafKind::F64,
            Sink::F32(_) => LeafKind::F32,
            Sink::Other(leaves) => {
                let kinds = leaves.kinds();
                let of = LeafKind::ALL.into_iter().find(|kind| kinds.has(*kind));
                of.unwrap_or(LeafKind::Opaque)
            }
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        each!(self, leaves => leaves.len())
    }

    pub(crate) fn capacity(&self) -> usize {
        each!(self, leaves => leaves.capacity())
    }

    pub(crate) fn truncate(&mut self, count: usize) {
        each!(self, leaves => leaves.truncate(count));
    }

    /// Makes room for more leaves, as far as they take no more than so many bytes.
    pub(crate) fn reserve(&mut self, count: usize, bytes: usize) {
        each!(self, leaves => Leaves::reserve(leaves.as_leaves(), count, bytes));
    }

    pub(crate) fn shrink_to(&mut self, count: usize) {
        each!(self, leaves => leaves.shrink_to(count));
    }

    /// Moves each leaf from an index on to its destination, counted from there, by swaps along the cycles.
    pub(crate) fn permute(&mut self, first: usize, mut destination: Vec<usize>) {
        for at in 0..destination.len() {
            while destination[at] != at {
                let to = destination[at];
                each!(self, leaves => leaves.as_leaves().swap(first + at, first + to));
                destination.swap(at, to);
            }
        }
    }

    pub(crate) fn take(&mut self) -> Sink {
        mem::replace(self, Sink::Leaves(Vec::new()))
    }
}

trait AsLeaves {
    fn as_leaves(&mut self) -> &mut dyn Leaves;
}

impl<L> AsLeaves for Vec<L>
where
    Vec<L>: Leaves,
{
    fn as_leaves(&mut self) -> &mut dyn Leaves {
        self
    }
}

impl AsLeaves for Box<dyn Leaves> {
    fn as_leaves(&mut self) -> &mut dyn Leaves {
        &mut **self
    }
}
