//! The sources of leaves: handed over or lent.

use std::mem;
use std::ops::Range;

use serde::de::Visitor;

use crate::error::Result;
use crate::leaf::Flat;
use crate::model::{Leaf, Value};

use super::source::Source;

// Indices: see `Source::kind`.

/// Leaves that are fetched one by one: moved out of what was handed over, cloned from what was lent.
pub trait Slots {
    type Leaf: Flat;
    type Part<'s>: Slots
    where
        Self: 's;
    /// Whether what is visited may be visited again.
    const STAY: bool;
    fn part(&mut self, leaves: Range<usize>) -> Self::Part<'_>;
    fn as_slice(&self) -> &[Self::Leaf];
    fn visit<'de, V: Visitor<'de>>(&mut self, index: usize, visitor: V) -> Result<V::Value>;
}

impl<L: Flat> Slots for &mut [L] {
    type Leaf = L;
    type Part<'s>
        = &'s mut [L]
    where
        Self: 's;

    const STAY: bool = !mem::needs_drop::<L>();

    #[inline]
    fn part(&mut self, leaves: Range<usize>) -> &mut [L] {
        &mut self[leaves]
    }

    #[inline]
    fn as_slice(&self) -> &[L] {
        self
    }

    #[inline]
    fn visit<'de, V: Visitor<'de>>(&mut self, index: usize, visitor: V) -> Result<V::Value> {
        self[index].visit_last(visitor)
    }
}

impl<'l, L: Flat> Slots for &'l [L] {
    type Leaf = L;
    type Part<'s>
        = &'l [L]
    where
        Self: 's;

    const STAY: bool = true;

    #[inline]
    fn part(&mut self, leaves: Range<usize>) -> &'l [L] {
        &self[leaves]
    }

    #[inline]
    fn as_slice(&self) -> &[L] {
        self
    }

    #[inline]
    fn visit<'de, V: Visitor<'de>>(&mut self, index: usize, visitor: V) -> Result<V::Value> {
        self[index].visit_lent(visitor)
    }
}

/// Leaves that the value does not borrow from. None of them is opaque.
pub struct Fetched<C>(pub(super) C);

impl<'de, C: Slots> Source<'de, 'de> for Fetched<C> {
    type Leaf = C::Leaf;
    type Kept = Lent<'de>;
    type Part<'s>
        = Fetched<C::Part<'s>>
    where
        C: 's;

    const STAY: bool = C::STAY;

    #[inline]
    fn part(&mut self, leaves: Range<usize>) -> Fetched<C::Part<'_>> {
        Fetched(self.0.part(leaves))
    }

    #[inline]
    fn leaves(&self) -> &[C::Leaf] {
        self.0.as_slice()
    }

    fn kept(leaves: &'de [Leaf]) -> Lent<'de> {
        Lent(leaves)
    }

    #[inline]
    fn text<V: Visitor<'de>>(text: &'de str, visitor: V) -> Result<V::Value> {
        visitor.visit_borrowed_str(text)
    }

    #[inline]
    fn visit<V: Visitor<'de>>(&mut self, index: usize, visitor: V) -> Result<V::Value> {
        self.0.visit(index, visitor)
    }
}

/// Leaves that the value may borrow from.
pub struct Lent<'de>(pub(super) &'de [Leaf]);

impl<'de> Source<'de, 'de> for Lent<'de> {
    type Leaf = Leaf;
    type Kept = Lent<'de>;
    type Part<'s>
        = Lent<'de>
    where
        Self: 's;

    #[inline]
    fn part(&mut self, leaves: Range<usize>) -> Lent<'de> {
        Lent(&self.0[leaves])
    }

    #[inline]
    fn leaves(&self) -> &[Leaf] {
        self.0
    }

    fn kept(leaves: &'de [Leaf]) -> Lent<'de> {
        Lent(leaves)
    }

    #[inline]
    fn text<V: Visitor<'de>>(text: &'de str, visitor: V) -> Result<V::Value> {
        visitor.visit_borrowed_str(text)
    }

    fn visit<V: Visitor<'de>>(&mut self, index: usize, visitor: V) -> Result<V::Value> {
        match &self.0[index] {
            Leaf::Str(text) => visitor.visit_borrowed_str(text),
            Leaf::Bytes(bytes) => visitor.visit_borrowed_bytes(bytes),
            scalar => scalar.clone().visit(visitor),
        }
    }

    fn opaque(&self, index: usize) -> Option<&'de Value> {
        self.0[index].opaque()
    }
}
