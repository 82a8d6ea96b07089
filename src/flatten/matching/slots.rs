//! Where a walk puts what it finds at the leaves.

use std::cell::Cell;
use std::{mem, slice};

use serde::Serialize;

use crate::error::{Matched, Mismatch};
use crate::flatten::scalar::{ScalarTo, scalar_leaf};
use crate::leaf::Scalar;
use crate::leaf_type::Emit;
use crate::model::{Leaf, Value};
use crate::rigid::WINDOW;

/// How many slots were left where the first mismatch was found, if that is known: not after an error of the value's own.
pub(in crate::flatten) struct Parted(Cell<usize>);

impl Default for Parted {
    fn default() -> Self {
        Parted(Cell::new(Self::NOT_YET))
    }
}

impl Parted {
    const NOT_YET: usize = usize::MAX;
    /// More than there are in all.
    const UNKNOWN: usize = usize::MAX - 1;

    #[cold]
    pub(in crate::flatten) fn at(&self, left: usize) -> Mismatch {
        if self.0.get() == Self::NOT_YET {
            self.0.set(left);
        }
        Mismatch
    }

    #[cold]
    pub(super) fn somewhere(&self) -> Mismatch {
        self.at(Self::UNKNOWN)
    }

    /// In a map that is still open: its entries may yet change places.
    #[cold]
    pub(super) fn in_a_map(&self) -> Mismatch {
        self.0.set(Self::UNKNOWN);
        Mismatch
    }

    /// How many of all these slots came before, if that is known.
    pub(in crate::flatten) fn before(&self, all: usize) -> Option<usize> {
        all.checked_sub(self.0.get())
    }
}

/// How a value is put into slots of which there are more than it needs, probably.
pub(in crate::flatten) trait PutInWindow {
    fn num_leaves(&self) -> usize;

    /// Fills the first of the slots. After a mismatch, what is in any of them is of no use.
    fn put<L: Emit, T: Serialize + ?Sized, const USED: bool>(
        &self,
        window: &mut [L; WINDOW],
        value: &T,
    ) -> Matched<()>;
}

/// Where leaves go, in order. It is handed from node to node by value, which keeps it in registers.
pub(in crate::flatten) trait Slots: Default {
    /// A part of the slots, to be filled in any order.
    type Region;
    /// Slots of a region, for the time being.
    type Part<'p>: Slots
    where
        Self: 'p;

    fn put(self, scalar: Scalar<'_>) -> Matched<Self>;

    /// Puts the scalars of a sequence of `count`.
    fn put_all<I: Iterator>(
        self,
        count: usize,
        items: I,
        compact: bool,
        parted: &Parted,
    ) -> Matched<Self>
    where
        I::Item: Serialize;

    fn left(&self) -> usize;

    /// Puts up to `count` values, as far as they can be put into a window and as far as there are windows. Says how many
    /// it put, and gives back the first that could not.
    fn put_in_windows<I: Iterator, P: PutInWindow>(
        self,
        put: &P,
        count: usize,
        items: &mut I,
    ) -> (Self, usize, Option<I::Item>)
    where
        I::Item: Serialize;

    /// Puts an opaque leaf, where there are any.
    fn put_opaque(self, value: impl FnOnce() -> Option<Value>) -> Matched<Self>;

    /// The first `count`, and the rest.
    fn split(self, count: usize) -> Matched<(Self::Region, Self)>;

    fn part(region: &mut Self::Region, first: usize, count: usize) -> Matched<Self::Part<'_>>;
}

/// Slots that are written, each once: those of a buffer. Unless it was `USED`, nothing in it owns memory.
pub(in crate::flatten) struct Fill<'s, L, const USED: bool>(
    pub(in crate::flatten) slice::IterMut<'s, L>,
);

/// Fills a slot that owns nothing: a [filler](Emit::filler), or a number. So no code is made that would drop it, for which
/// the registers around would have to be saved.
#[inline(always)]
pub(in crate::flatten) fn fill_slot<L: Emit>(slot: &mut L, leaf: L) {
    mem::forget(mem::replace(slot, leaf));
}

/// Slots that are compared: those of a key or a static.
#[derive(Default)]
pub(in crate::flatten) struct Compare<'s>(pub(in crate::flatten) slice::Iter<'s, Leaf>);

impl<L: Emit, const USED: bool> Fill<'_, L, USED> {
    #[inline(always)]
    pub(super) fn put_in(slot: &mut L, leaf: L) {
        match USED {
            true => *slot = leaf,
            false => fill_slot(slot, leaf),
        }
    }
}

impl<L, const USED: bool> Default for Fill<'_, L, USED> {
    #[inline]
    fn default() -> Self {
        Fill(slice::IterMut::default())
    }
}

impl<'s, L: Emit, const USED: bool> Slots for Fill<'s, L, USED> {
    type Region = &'s mut [L];
    type Part<'p>
        = Fill<'p, L, USED>
    where
        Self: 'p;

    #[inline(always)]
    fn put(mut self, scalar: Scalar<'_>) -> Matched<Self> {
        let leaf = L::from_scalar(scalar).ok_or(Mismatch)?;
        Self::put_in(self.0.next().ok_or(Mismatch)?, leaf);
        Ok(self)
    }

    #[inline]
    fn put_all<I: Iterator>(
        self,
        count: usize,
        mut items: I,
        compact: bool,
        parted: &Parted,
    ) -> Matched<Self>
    where
        I::Item: Serialize,
    {
        let (region, rest) = self.split(count)?;
        if items.size_hint() == (count, Some(count)) {
            // Those of a slice are paired by their index here, without looking for an end. Others give one too many, if
            // they said too little.
            let (mut came, mut wrong) = (0, false);
            let leaves = items.map(|item| {
                came += 1;
                scalar_leaf(&item, compact)
            });
            leaves.zip(region).for_each(|(leaf, slot)| match leaf {
                Ok(leaf) => Self::put_in(slot, leaf),
                Err(Mismatch) => wrong = true,
            });
            return if came == count && !wrong { Ok(rest) } else { Err(parted.somewhere()) };
        }
        for (position, slot) in region.iter_mut().enumerate() {
            let Some(item) = items.next() else {
                return Err(parted.at(rest.left() + count - position));
            };
            let Ok(leaf) = scalar_leaf(&item, compact) else { return Err(parted.somewhere()) };
            Self::put_in(slot, leaf);
        }
        if items.next().is_some() { Err(parted.at(rest.left())) } else { Ok(rest) }
    }

    // One caller of what it calls is one copy of that, which then is compiled into it.
    #[inline(never)]
    fn put_in_windows<I: Iterator, P: PutInWindow>(
        self,
        put: &P,
        count: usize,
        items: &mut I,
    ) -> (Self, usize, Option<I::Item>)
    where
        I::Item: Serialize,
    {
        let leaves = put.num_leaves();
        let mut slots = self.0.into_slice();
        let (mut done, mut different) = (0, None);
        while done < count
            && let Some(window) = slots.first_chunk_mut()
            && let Some(item) = items.next()
        {
            if put.put::<_, _, USED>(window, &item).is_err() {
                different = Some(item);
                break;
            }
            done += 1;
            slots = slots.get_mut(leaves..).unwrap_or_default();
        }
        (Fill(slots.iter_mut()), done, different)
    }

    #[inline]
    fn left(&self) -> usize {
        self.0.len()
    }

    fn put_opaque(mut self, value: impl FnOnce() -> Option<Value>) -> Matched<Self> {
        let leaf = value().and_then(|value| L::from_leaf(Leaf::from(value))).ok_or(Mismatch)?;
        Self::put_in(self.0.next().ok_or(Mismatch)?, leaf);
        Ok(self)
    }

    #[inline]
    fn split(self, count: usize) -> Matched<(&'s mut [L], Self)> {
        let (first, rest) = self.0.into_slice().split_at_mut_checked(count).ok_or(Mismatch)?;
        Ok((first, Fill(rest.iter_mut())))
    }

    fn part<'p>(
        region: &'p mut &'s mut [L],
        first: usize,
        count: usize,
    ) -> Matched<Fill<'p, L, USED>> {
        let slots = region.get_mut(first..).and_then(|slots| slots.get_mut(..count));
        slots.map(|slots| Fill(slots.iter_mut())).ok_or(Mismatch)
    }
}

impl<'s> Slots for Compare<'s> {
    type Region = &'s [Leaf];
    type Part<'p>
        = Compare<'p>
    where
        Self: 'p;

    #[inline]
    fn put(mut self, scalar: Scalar<'_>) -> Matched<Self> {
        match self.0.next().and_then(Leaf::as_scalar) == Some(scalar) {
            true => Ok(self),
            false => Err(Mismatch),
        }
    }

    fn put_all<I: Iterator>(
        mut self,
        count: usize,
        items: I,
        compact: bool,
        _: &Parted,
    ) -> Matched<Self>
    where
        I::Item: Serialize,
    {
        let mut left = count;
        for item in items {
            left = left.checked_sub(1).ok_or(Mismatch)?;
            self =
                item.serialize(ScalarTo { compact, then: |scalar: Scalar<'_>| self.put(scalar) })?;
        }
        if left == 0 { Ok(self) } else { Err(Mismatch) }
    }

    fn put_in_windows<I: Iterator, P: PutInWindow>(
        self,
        _: &P,
        _: usize,
        _: &mut I,
    ) -> (Self, usize, Option<I::Item>)
    where
        I::Item: Serialize,
    {
        (self, 0, None)
    }

    fn left(&self) -> usize {
        self.0.len()
    }

    /// There is none in a value (invariant 6 of the encoding).
    fn put_opaque(self, _: impl FnOnce() -> Option<Value>) -> Matched<Self> {
        Err(Mismatch)
    }

    fn split(self, count: usize) -> Matched<(&'s [Leaf], Self)> {
        let (first, rest) = self.0.as_slice().split_at_checked(count).ok_or(Mismatch)?;
        Ok((first, Compare(rest.iter())))
    }

    fn part<'p>(region: &'p mut &'s [Leaf], first: usize, count: usize) -> Matched<Compare<'p>> {
        let slots = region.get(first..).and_then(|slots| slots.get(..count));
        slots.map(|slots| Compare(slots.iter())).ok_or(Mismatch)
    }
}
