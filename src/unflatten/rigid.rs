//! An element that is read beside a [rigid](crate::rigid) node: what its type asks for is compared by its form, in the end.
//!
//! This is for elements of which many are alike, and for leaves that can be read again: if a type asks for something else,
//! the [deserializer](super::deserializer) takes the element from its beginning, and gives way, or says what is wrong.

use std::marker::PhantomData;
use std::num::NonZero;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use crate::error::{Error, Matched, Mismatch, Result};
use crate::leaf::Flat;
use crate::model::{NodeKind, Shape};
use crate::rigid::{Open, Outset, Place, RUN, Rigid, Steps, WINDOW};

use super::derived::by_position;
use super::elements::Elements;
use super::place::aside;
use super::source::{Request, Source, scalar_requests};

/// What elements are read beside.
struct RigidElement<'a> {
    node: Rigid<Known<'a>>,
    compact: bool,
}

/// The elements of a sequence that begins with a run of rigid ones.
pub(super) struct RigidElements<'e, 'a, 'r, S> {
    elements: &'e mut Elements<'a, 'r, S>,
    /// While they are.
    element: Option<RigidElement<'a>>,
}

impl<'e, 'a, 'r, S> RigidElements<'e, 'a, 'r, S> {
    pub(super) fn of(elements: &'e mut Elements<'a, 'r, S>) -> Option<Self> {
        let (node, context) = (elements.next.node, elements.next.context);
        // What has only leaves is read as fast by their count.
        if elements.left < RUN || node.has_only_leaves() || !context.admits(node.depth()) {
            return None;
        }
        let rigid = Rigid::of(node.subtree(), |node_below| node.numbered_shape(node_below))?;
        let element = RigidElement { node: rigid, compact: context.shared.compact };
        Some(RigidElements { elements, element: Some(element) })
    }
}

impl<'a, 'de, S: Source<'a, 'de>> SeqAccess<'de> for RigidElements<'_, 'a, '_, S> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        self.elements.next_element_seed(seed)
    }

    #[inline(always)]
    fn next_element<T: Deserialize<'de>>(&mut self) -> Result<Option<T>> {
        let Elements { next, left, .. } = &mut *self.elements;
        if *left > 0
            && let Some(expected) = &self.element
            && let Some(window) = next.source.window(next.node.first_leaf())
            && let Ok(value) = T::deserialize(RigidDeserializer { expected, place: Outset(window) })
        {
            *left -= 1; // there was one
            next.node.go_on();
            return Ok(Some(value));
        }
        aside(|| {
            self.element = None;
            self.elements.next_element()
        })
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.elements.len())
    }
}

/// Reads the element, or what is inside it. Who gives no value has not taken the whole of its node either, so that the form
/// stays incomplete, and it makes no difference whether somebody overlooks the mismatch.
struct RigidDeserializer<'w, P> {
    expected: &'w RigidElement<'w>,
    place: P,
}

/// A compound that is known by its shape, and by the shape's number.
type Known<'a> = (NonZero<usize>, &'a Shape);

/// The leaves of the element, and some more.
type Window<'w, L> = &'w [L; WINDOW];

impl<'w, L: Flat + 'w, P: Place<'w, Known<'w>, Data = Window<'w, L>>> RigidDeserializer<'w, P> {
    #[inline(always)]
    fn scalar<'de, V: Visitor<'de>>(self, request: Request, visitor: V) -> Matched<V::Value> {
        let mut open = self.place.open(&self.expected.node);
        let steps = open.steps();
        let leaf = steps.data.get(steps.num_leaves()).ok_or(Mismatch)?;
        if !request.is_for_scalar(leaf.kind()) {
            return Err(Mismatch);
        }
        steps.leaf()?;
        let value = leaf.visit_lent(visitor).map_err(|_| Mismatch)?;
        open.close()?;
        Ok(value)
    }

    #[inline(always)]
    fn children<R>(
        self,
        kind: NodeKind,
        count: usize,
        is_right: impl FnOnce(Known<'w>) -> bool,
        read: impl FnOnce(&mut RigidChildren<'w, '_, L>) -> Matched<R>,
    ) -> Matched<R> {
        let RigidDeserializer { expected, place } = self;
        let mut open = place.open(&expected.node);
        let steps = open.steps();
        if !steps.compound(kind, count)?.is_none_or(is_right) {
            return Err(Mismatch);
        }
        let mut children = RigidChildren { expected, steps, left: count };
        let result = read(&mut children)?;
        if children.left > 0 {
            return Err(Mismatch);
        }
        open.close()?;
        Ok(result)
    }

    #[inline(always)]
    fn sequence<'de, V: Visitor<'de>>(
        self,
        kind: NodeKind,
        count: usize,
        visitor: V,
    ) -> Matched<V::Value> {
        self.children(kind, count, |_| true, |children| visitor.visit_seq(children))
    }
}

impl<'w, 'de, L: Flat + 'w, P: Place<'w, Known<'w>, Data = Window<'w, L>>> Deserializer<'de>
    for RigidDeserializer<'w, P>
{
    type Error = Mismatch;

    scalar_requests! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128 deserialize_u8
        deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f64 deserialize_char
        deserialize_str deserialize_string
    }

    #[inline(always)]
    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Matched<V::Value> {
        self.scalar(Request::F32, visitor)
    }

    #[inline(always)]
    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Matched<V::Value> {
        self.children(NodeKind::Unit, 0, |_| true, |_| visitor.visit_unit())
    }

    #[inline(always)]
    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Matched<V::Value> {
        self.children(NodeKind::UnitStruct, 0, |_| true, |_| visitor.visit_unit())
    }

    #[inline(always)]
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Matched<V::Value> {
        self.children(
            NodeKind::NewtypeStruct,
            1,
            |_| true,
            |children| visitor.visit_newtype_struct(children.next().ok_or(Mismatch)?),
        )
    }

    #[inline(always)]
    fn deserialize_tuple<V: Visitor<'de>>(self, count: usize, visitor: V) -> Matched<V::Value> {
        self.sequence(NodeKind::Tuple, count, visitor)
    }

    #[inline(always)]
    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        count: usize,
        visitor: V,
    ) -> Matched<V::Value> {
        self.sequence(NodeKind::TupleStruct, count, visitor)
    }

    #[inline(always)]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Matched<V::Value> {
        self.children(
            NodeKind::Struct,
            fields.len(),
            |shape| by_position::<V>(shape, fields),
            |children| visitor.visit_seq(children),
        )
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Matched<V::Value> {
        Err(Mismatch)
    }

    fn is_human_readable(&self) -> bool {
        !self.expected.compact
    }

    forward_to_deserialize_any! {
        bytes byte_buf option seq map enum identifier ignored_any
    }
}

/// The children of a compound, of which so many are left.
struct RigidChildren<'w, 'p, L> {
    expected: &'w RigidElement<'w>,
    steps: &'p mut Steps<'w, Known<'w>, Window<'w, L>>,
    left: usize,
}

impl<'w, L: Flat> RigidChildren<'w, '_, L> {
    #[inline(always)]
    fn next(&mut self) -> Option<RigidDeserializer<'w, &mut Steps<'w, Known<'w>, Window<'w, L>>>> {
        self.left = self.left.checked_sub(1)?;
        Some(RigidDeserializer { expected: self.expected, place: &mut *self.steps })
    }
}

impl<'de, L: Flat> SeqAccess<'de> for &mut RigidChildren<'_, '_, L> {
    type Error = Mismatch;

    #[inline(always)]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Matched<Option<T::Value>> {
        match self.next() {
            Some(child) => seed.deserialize(child).map(Some),
            None => Ok(None),
        }
    }

    #[inline(always)]
    fn next_element<T: Deserialize<'de>>(&mut self) -> Matched<Option<T>> {
        self.next_element_seed(PhantomData)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}
