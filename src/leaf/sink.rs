//! Where a walk puts leaves: one type for vectors of all leaf types, so that a walk is compiled
//! only once.

use std::any::Any;
use std::mem;

use crate::bug::OrBug;
use crate::leaf::Scalar;
use crate::leaf::bits::{Bits, f32_of};
use crate::leaf::column::{Columns, LeafVec};
use crate::leaf::float::widen;
use crate::leaf::leaf_type::Emit;
use crate::model::{Leaf, LeafKind, Swap};

/// The leaves of a recording.
pub(crate) enum Sink {
    /// The leaves are only counted.
    Counted(usize),
    Leaves(Vec<Leaf>),
    F64(Vec<f64>),
    F32(Vec<f32>),
    /// Leaves of another type, or [`Columns`].
    Other(Box<dyn LeafVec>),
}

impl Default for Sink {
    fn default() -> Self {
        Sink::Counted(0)
    }
}

impl Sink {
    /// A sink that puts leaves into this vector.
    #[inline(always)]
    pub(crate) fn of<L: Emit>(mut leaves: Vec<L>) -> Self {
        let any: &mut dyn Any = &mut leaves;
        if let Some(leaves) = any.downcast_mut() {
            Sink::Leaves(mem::take(leaves))
        } else if let Some(leaves) = any.downcast_mut() {
            Sink::F64(mem::take(leaves))
        } else if let Some(leaves) = any.downcast_mut() {
            Sink::F32(mem::take(leaves))
        } else {
            Sink::Other(Box::new(leaves))
        }
    }

    /// The leaves: the vector that it was made [of](Self::of), or the [`Columns`].
    #[inline(always)]
    pub(crate) fn into_leaves<V: Default + 'static>(self) -> V {
        // Each arm is of a known type, so that there is nothing to compare.
        let leaves = match self {
            Sink::Leaves(mut leaves) => of_type(&mut leaves).map(mem::take),
            Sink::F64(mut leaves) => of_type(&mut leaves).map(mem::take),
            Sink::F32(mut leaves) => of_type(&mut leaves).map(mem::take),
            Sink::Other(mut leaves) => of_type(leaves.as_any_mut()).map(mem::take),
            Sink::Counted(_) => None,
        };
        leaves.or_bug()
    }

    /// The vector that it was made of, if that is of this type.
    pub(crate) fn held<V: 'static>(&mut self) -> Option<&mut V> {
        match self {
            Sink::Leaves(leaves) => of_type(leaves),
            Sink::F64(leaves) => of_type(leaves),
            Sink::F32(leaves) => of_type(leaves),
            Sink::Other(leaves) => of_type(leaves.as_any_mut()),
            Sink::Counted(_) => None,
        }
    }

    /// Adds a leaf of any kind; returns whether its kind fits.
    pub(crate) fn push(&mut self, scalar: Scalar<'_>) -> bool {
        match self.leaves() {
            Err(count) => *count += 1,
            Ok(leaves) => return leaves.push(scalar),
        }
        true
    }

    /// Adds numbers of a kind that fits.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(crate) fn extend(&mut self, kind: LeafKind, bits: Bits<'_>) {
        match (self, bits) {
            (Sink::Counted(count), _) => *count += bits.len(),
            (Sink::F64(all), Bits::Doubles(numbers)) => all.extend_from_slice(numbers),
            (Sink::F64(all), Bits::Narrow(bits)) => extend_widened(all, bits.iter().copied()),
            (Sink::F64(all), Bits::Wide(bits)) if kind == LeafKind::F32 => {
                extend_widened(all, bits.iter().map(|bits| f32_of(bits.get()).to_bits()));
            }
            (Sink::F64(all), Bits::Wide(bits)) => {
                all.extend(bits.iter().map(|bits| f64::from_bits(bits.get())));
            }
            (Sink::F32(all), Bits::Narrow(bits)) => {
                all.extend(bits.iter().map(|bits| f32::from_bits(*bits)));
            }
            (Sink::F32(all), Bits::Wide(bits)) => {
                all.extend(bits.iter().map(|bits| f32_of(bits.get())));
            }
            (Sink::F32(all), _) => all.extend_bits(kind, bits),
            (Sink::Leaves(all), _) => all.extend_bits(kind, bits),
            (Sink::Other(all), _) => all.extend_bits(kind, bits),
        }
    }

    pub(crate) fn push_leaf(&mut self, leaf: Leaf) -> bool {
        match self.leaves() {
            Err(count) => *count += 1,
            Ok(leaves) => return leaves.push_leaf(leaf),
        }
        true
    }

    /// The kind of the leaves in error messages.
    pub(crate) fn kind(&mut self) -> LeafKind {
        self.leaves().map_or(LeafKind::Opaque, |leaves| leaves.kind())
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Sink::Counted(count) => *count,
            Sink::Leaves(leaves) => leaves.len(),
            Sink::F64(leaves) => leaves.len(),
            Sink::F32(leaves) => leaves.len(),
            Sink::Other(leaves) => leaves.len(),
        }
    }

    pub(crate) fn reserve(&mut self, count: usize) {
        if let Ok(leaves) = self.leaves() {
            leaves.reserve(count);
        }
    }

    /// Swaps leaves, one pair of ranges after the other.
    pub(crate) fn swap(&mut self, swaps: &[Swap]) {
        if let Ok(leaves) = self.leaves()
            && !swaps.is_empty()
        {
            leaves.swap_ranges(swaps);
        }
    }

    /// The vector, or the count if there is none.
    fn leaves(&mut self) -> Result<&mut dyn LeafVec, &mut usize> {
        match self {
            Sink::Counted(count) => Err(count),
            Sink::Leaves(leaves) => Ok(leaves),
            Sink::F64(leaves) => Ok(leaves),
            Sink::F32(leaves) => Ok(leaves),
            Sink::Other(leaves) => Ok(&mut **leaves),
        }
    }
}

#[inline(always)]
fn of_type<V: 'static>(leaves: &mut dyn Any) -> Option<&mut V> {
    leaves.downcast_mut()
}

/// Adds `f32`s with these bits. Without a branch for each, several are tested and converted at a time.
fn extend_widened(all: &mut Vec<f64>, bits: impl ExactSizeIterator<Item = u32> + Clone) {
    // For a NaN, adding this carries into the sign.
    let carry = |bits: u32| (bits & 0x7fff_ffff) + 0x7f_ffff;
    let may_be_nan = bits.clone().fold(0, |all, bits| all | carry(bits)) >> 31 != 0;
    if may_be_nan {
        all.extend(bits.map(|bits| widen(f32::from_bits(bits))));
    } else {
        all.extend(bits.map(|bits| f64::from(f32::from_bits(bits))));
    }
}

/// Leaves are added in order: a slot is always the next one.
impl LeafVec for Columns {
    fn kind(&self) -> LeafKind {
        LeafKind::Opaque
    }

    fn push(&mut self, scalar: Scalar<'_>) -> bool {
        self.push_leaf(scalar.into())
    }

    fn push_leaf(&mut self, leaf: Leaf) -> bool {
        Columns::push(self, leaf);
        true
    }

    fn extend_bits(&mut self, kind: LeafKind, bits: Bits<'_>) {
        self.extend(kind, bits);
    }

    fn len(&self) -> usize {
        Columns::len(self)
    }

    fn reserve(&mut self, _: usize) {}

    fn swap_ranges(&mut self, swaps: &[Swap]) {
        let Some(first) = swaps.iter().map(|swap| swap.a.min(swap.b)).min() else { return };
        let from = |start| swaps.iter().map(move |swap| swap.moved(first, start));
        if let Some((column, at)) = self.column_from(first) {
            return column.as_vec_mut().swap_ranges(&from(at).collect::<Vec<Swap>>());
        }
        let mut leaves = self.split_off(first);
        from(0).for_each(|swap| swap.apply(&mut leaves));
        leaves.into_iter().for_each(|leaf| Columns::push(self, leaf));
    }

    fn truncate(&mut self, len: usize) {
        self.split_off(len);
    }

    fn shrink(&mut self) {
        self.columns.iter_mut().for_each(|column| column.as_vec_mut().shrink());
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}
