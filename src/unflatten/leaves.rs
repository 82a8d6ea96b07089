//! The sources of leaves: handed over, shared or lent.

use std::mem;
use std::ops::Range;

use serde::de::Visitor;

use crate::error::{Error, Result};
use crate::leaf::{Flat, wide};
use crate::model::{Content, Leaf, Value};

use super::place::Place;
use super::source::{Context, Request, Source};

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
    fn fetch(&mut self, index: usize) -> Self::Leaf;
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
    fn fetch(&mut self, index: usize) -> L {
        self[index].take()
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
    fn fetch(&mut self, index: usize) -> L {
        self[index].clone()
    }

    #[inline]
    fn visit<'de, V: Visitor<'de>>(&mut self, index: usize, visitor: V) -> Result<V::Value> {
        self[index].visit_lent(visitor)
    }
}

/// Leaves that the value does not borrow from.
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

    fn replay<V: Visitor<'de>>(
        &mut self,
        index: usize,
        request: Request,
        context: Context<'de, '_>,
        visitor: V,
    ) -> Result<V::Value> {
        replay_moved(self.0.fetch(index), request, context, visitor)
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

    fn replay<V: Visitor<'de>>(
        &mut self,
        index: usize,
        request: Request,
        context: Context<'de, '_>,
        visitor: V,
    ) -> Result<V::Value> {
        match self.0[index].opaque() {
            Some(value) => {
                let shared = context.shared_for(value);
                Place::of_value(value, context.inside(&shared), &mut Lent(value.parts().1))
                    .answer(request, visitor)
            }
            None => self.visit(index, visitor),
        }
    }
}

/// The leaves of an opaque leaf that was handed over: moved out, while its structure lasts only for the moment.
pub(super) struct Moved<'m>(&'m mut [Leaf]);

impl<'a, 'de> Source<'a, 'de> for Moved<'_> {
    type Leaf = Leaf;
    type Kept = Passing<'a>;
    type Part<'s>
        = Moved<'s>
    where
        Self: 's;

    fn part(&mut self, leaves: Range<usize>) -> Moved<'_> {
        Moved(&mut self.0[leaves])
    }

    fn leaves(&self) -> &[Leaf] {
        self.0
    }

    fn kept(leaves: &'a [Leaf]) -> Passing<'a> {
        Passing(leaves)
    }

    fn text<V: Visitor<'de>>(text: &'a str, visitor: V) -> Result<V::Value> {
        visitor.visit_str(text)
    }

    fn visit<V: Visitor<'de>>(&mut self, index: usize, visitor: V) -> Result<V::Value> {
        self.0[index].visit_last(visitor)
    }

    /// There is no opaque leaf inside a value (invariant 6 of the encoding).
    fn replay<V: Visitor<'de>>(
        &mut self,
        index: usize,
        _: Request,
        _: Context<'a, '_>,
        visitor: V,
    ) -> Result<V::Value> {
        self.visit(index, visitor)
    }
}

/// Leaves of a structure that lasts only for the moment.
pub(super) struct Passing<'a>(&'a [Leaf]);

impl<'a, 'de> Source<'a, 'de> for Passing<'a> {
    type Leaf = Leaf;
    type Kept = Passing<'a>;
    type Part<'s>
        = Passing<'a>
    where
        Self: 's;

    fn part(&mut self, leaves: Range<usize>) -> Passing<'a> {
        Passing(&self.0[leaves])
    }

    fn leaves(&self) -> &[Leaf] {
        self.0
    }

    fn kept(leaves: &'a [Leaf]) -> Passing<'a> {
        Passing(leaves)
    }

    fn text<V: Visitor<'de>>(text: &'a str, visitor: V) -> Result<V::Value> {
        visitor.visit_str(text)
    }

    fn visit<V: Visitor<'de>>(&mut self, index: usize, visitor: V) -> Result<V::Value> {
        match &self.0[index] {
            Leaf::Str(text) => visitor.visit_str(text),
            Leaf::Bytes(bytes) => visitor.visit_bytes(bytes),
            Leaf::I128(value) => wide(visitor.visit_i128(value.get())),
            Leaf::U128(value) => wide(visitor.visit_u128(value.get())),
            scalar => scalar.clone().visit(visitor),
        }
    }

    /// There is no opaque leaf inside a value (invariant 6 of the encoding).
    fn replay<V: Visitor<'de>>(
        &mut self,
        index: usize,
        _: Request,
        _: Context<'a, '_>,
        visitor: V,
    ) -> Result<V::Value> {
        self.visit(index, visitor)
    }
}

fn replay_moved<'de, V: Visitor<'de>>(
    leaf: impl Flat,
    request: Request,
    context: Context<'_, '_>,
    visitor: V,
) -> Result<V::Value> {
    match leaf.into_opaque() {
        Some(mut value) => {
            let mut leaves = value.take_leaves();
            let shared = context.shared_for(&value);
            Place::of_value(&value, context.inside(&shared), &mut Moved(&mut leaves))
                .answer(request, visitor)
        }
        None => Err(Error::protocol("an opaque leaf without its value")),
    }
}

impl Value {
    /// Moves the leaves out; the structure stays.
    fn take_leaves(&mut self) -> Vec<Leaf> {
        match &mut self.0 {
            Content::Scalar(leaf) => vec![Flat::take(leaf)],
            Content::Tree(tree) => mem::take(&mut tree.leaves),
        }
    }
}
