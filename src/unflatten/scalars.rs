//! A run of leaves: the elements of `Vec<f64>` or `[f32; 3]`, the fields of a struct of numbers.

use std::marker::PhantomData;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, SeqAccess, Visitor};

use crate::error::{Error, Result};
use crate::node::NodeRef;

use super::place::{Place, under};
use super::source::{Context, Request, Source, requests, scalar_requests};

/// The children of a node that has no others.
pub(super) struct Scalars<'a, 'r, S> {
    parent: NodeRef<'a>,
    context: Context<'a, 'r>,
    /// Those of the children alone.
    leaves: S,
    /// The leaf that comes next.
    next: usize,
}

impl<'a, 'r, S> Scalars<'a, 'r, S> {
    /// In the context of the children.
    #[inline]
    pub(super) fn of(parent: NodeRef<'a>, context: Context<'a, 'r>, leaves: S) -> Self {
        Scalars { parent, context, leaves, next: 0 }
    }

    #[inline]
    pub(super) fn left<'de>(&self) -> usize
    where
        S: Source<'a, 'de>,
    {
        self.leaves.len() - self.next
    }

    /// The error of the leaf that came last.
    #[cold]
    fn under(&self, error: Error) -> Error {
        under(error, self.parent, self.next - 1)
    }
}

impl<'a, 'de, S: Source<'a, 'de>> SeqAccess<'de> for &mut Scalars<'a, '_, S> {
    type Error = Error;

    #[inline(always)]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        let leaf = self.next;
        if leaf >= self.leaves.len() {
            return Ok(None);
        }
        self.next += 1;
        match seed.deserialize(ScalarDeserializer { leaf, of: &mut **self }) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(self.under(error)),
        }
    }

    #[inline(always)]
    fn next_element<T: Deserialize<'de>>(&mut self) -> Result<Option<T>> {
        self.next_element_seed(PhantomData)
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        Some(self.left())
    }
}

/// One of the leaves, counted from the first. What is not simply a scalar is answered as at any other [`Place`].
struct ScalarDeserializer<'p, 'a, 'r, S> {
    leaf: usize,
    of: &'p mut Scalars<'a, 'r, S>,
}

impl<'a, S> ScalarDeserializer<'_, 'a, '_, S> {
    #[inline]
    fn scalar<'de, V: Visitor<'de>>(self, request: Request, visitor: V) -> Result<V::Value>
    where
        S: Source<'a, 'de>,
    {
        match request.is_for_scalar(self.of.leaves.kind(self.leaf)) {
            true => self.of.leaves.visit(self.leaf, visitor),
            false => self.answer(request, visitor),
        }
    }

    #[inline]
    fn any<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value>
    where
        S: Source<'a, 'de>,
    {
        self.scalar(Request::Any, visitor)
    }

    fn option<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value>
    where
        S: Source<'a, 'de>,
    {
        self.answer(Request::Option, visitor)
    }

    fn sequence<'de, V: Visitor<'de>>(self, _: Option<usize>, visitor: V) -> Result<V::Value>
    where
        S: Source<'a, 'de>,
    {
        self.answer(Request::Any, visitor)
    }

    /// Skips the leaf.
    fn ignored<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_unit()
    }

    #[inline(never)]
    fn answer<'de, V: Visitor<'de>>(self, request: Request, visitor: V) -> Result<V::Value>
    where
        S: Source<'a, 'de>,
    {
        self.at_place(|place| place.answer(request, visitor))
    }

    fn at_place<R>(self, then: impl FnOnce(Place<'a, '_, S>) -> Result<R>) -> Result<R> {
        let Scalars { parent, context, leaves, .. } = self.of;
        match parent.child(self.leaf) {
            Some(node) => then(Place::new(node.with_first_leaf(self.leaf), *context, leaves)),
            None => Err(Error::protocol("a leaf without its node")),
        }
    }
}

impl<'a, 'de, S: Source<'a, 'de>> Deserializer<'de> for ScalarDeserializer<'_, 'a, '_, S> {
    type Error = Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.at_place(|mut place| place.lend().by_name(name, fields, visitor))
    }

    fn is_human_readable(&self) -> bool {
        !self.of.context.shared.compact
    }

    requests!();
}
