//! A value that is read beside a [rigid](crate::rigid) node: what its type asks for is compared by its form, in the end.
//!
//! This is for elements of which many are alike, for small values, and for leaves that can be read again: if a type asks for
//! something else, the [deserializer](super::deserializer) takes the value from its beginning, and gives way, or says what
//! is wrong.

use std::marker::PhantomData;
use std::panic::Location;
use std::{array, slice};

use serde::de::{Deserialize, DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use crate::error::{Error, Matched, Mismatch, Result};
use crate::leaf::Flat;
use crate::model::{NodeKind, Rigid};
use crate::node::NodeRef;
use crate::rigid::{Open, Outset, Place, RUN, Steps, WINDOW};

use super::derived::{by_position, same_place};
use super::elements::Elements;
use super::place::aside;
use super::source::{Context, Request, Source, scalar_requests};

/// What a value is read beside.
struct RigidValue<'t> {
    node: &'t Rigid,
    /// Where its shapes are.
    root: NodeRef<'t>,
    compact: bool,
}

impl<'t> RigidValue<'t> {
    fn new(node: &'t Rigid, root: NodeRef<'t>, context: Context<'t, '_>) -> Self {
        RigidValue { node, root, compact: context.shared.compact }
    }

    #[inline(always)]
    fn read<'de, L: Flat, T: Deserialize<'de>>(&self, window: &[L; WINDOW]) -> Matched<T> {
        T::deserialize(RigidDeserializer { expected: self, place: Outset(window) })
    }
}

/// Reads a whole value from leaves that are cheap to copy, if its structure is rigid, and what its type asks for.
pub(super) fn read_whole<'a, 'de, L: Flat, T: Deserialize<'de>>(
    node: &Rigid,
    root: NodeRef<'a>,
    context: Context<'a, '_>,
    leaves: &[L],
) -> Option<T> {
    if !context.admits(root.depth()) {
        return None;
    }
    let mut window: [L; WINDOW] = array::from_fn(|_| L::filler());
    window.get_mut(..leaves.len())?.clone_from_slice(leaves);
    RigidValue::new(node, root, context).read(&window).ok()
}

/// The first of the elements, if it is rigid, and worth it to read them as such.
pub(super) fn rigid_element<S>(elements: &Elements<'_, '_, S>) -> Option<Rigid> {
    let (node, context) = (elements.next.node, elements.next.context);
    // What has only leaves is read as fast by their count.
    if elements.left < RUN || node.has_only_leaves() || !context.admits(node.depth()) {
        return None;
    }
    Rigid::of(node.subtree())
}

/// The elements of a sequence that begins with a run of rigid ones.
pub(super) struct RigidElements<'e, 'a, 'r, S> {
    elements: &'e mut Elements<'a, 'r, S>,
    /// While they are.
    element: Option<RigidValue<'e>>,
}

impl<'e, 'a, 'r, S> RigidElements<'e, 'a, 'r, S> {
    pub(super) fn new(elements: &'e mut Elements<'a, 'r, S>, node: &'e Rigid) -> Self {
        let element = RigidValue::new(node, elements.next.node, elements.next.context);
        RigidElements { elements, element: Some(element) }
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
            && let Some(leaves) = next.source.leaves().get(next.node.first_leaf()..)
            && let Some(window) = leaves.first_chunk()
            && let Ok(value) = expected.read(window)
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

/// Reads the value, or what is inside it. Who gives no value has not taken the whole of its node either, so that the form
/// stays incomplete, and it makes no difference whether somebody overlooks the mismatch.
struct RigidDeserializer<'w, P> {
    expected: &'w RigidValue<'w>,
    place: P,
}

/// The leaves of the element, and some more.
type Window<'w, L> = &'w [L; WINDOW];

impl<'w, L: Flat + 'w, P: Place<'w, Data = Window<'w, L>>> RigidDeserializer<'w, P> {
    #[inline(always)]
    fn scalar<'de, V: Visitor<'de>>(self, request: Request, visitor: V) -> Matched<V::Value> {
        let mut open = self.place.open(self.expected.node);
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
        is_right: impl FnOnce(usize) -> bool,
        read: impl FnOnce(&mut RigidChildren<'w, '_, L>) -> Matched<R>,
    ) -> Matched<R> {
        let RigidDeserializer { expected, place } = self;
        let mut open = place.open(expected.node);
        let steps = open.steps();
        if !steps.compound(kind, count)?.is_none_or(is_right) {
            return Err(Mismatch);
        }
        let mut children = RigidChildren { expected, steps, left: count, caller: None };
        let result = read(&mut children)?;
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

impl<'w, 'de, L: Flat + 'w, P: Place<'w, Data = Window<'w, L>>> Deserializer<'de>
    for RigidDeserializer<'w, P>
{
    type Error = Mismatch;

    scalar_requests!();

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
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Matched<V::Value> {
        match self.place.next_note(self.expected.node)? {
            0 => self.children(NodeKind::None, 0, |_| true, |_| visitor.visit_none()),
            _ => self.children(
                NodeKind::Some,
                1,
                |_| true,
                |children| visitor.visit_some(children.next().ok_or(Mismatch)?),
            ),
        }
    }

    #[inline(always)]
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Matched<V::Value> {
        let RigidDeserializer { expected, place } = self;
        let count = place.next_note(expected.node)?;
        let mut open = place.open(expected.node);
        let steps = open.steps();
        let leaves = steps.data.get(steps.num_leaves()..).and_then(|leaves| leaves.get(..count));
        let mut leaves = leaves.ok_or(Mismatch)?.iter();
        let value = visitor.visit_seq(Leaves { leaves: &mut leaves, compact: expected.compact })?;
        if leaves.len() > 0 {
            return Err(Mismatch);
        }
        steps.sequence(count)?;
        open.close()?;
        Ok(value)
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
    #[track_caller]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Matched<V::Value> {
        let expected = self.expected;
        let caller = Location::caller();
        self.children(
            NodeKind::Struct,
            fields.len(),
            |shape| {
                expected
                    .root
                    .numbered_shape(shape)
                    .is_some_and(|shape| by_position::<V>(shape, fields))
            },
            |children| {
                children.caller = Some(caller);
                visitor.visit_seq(children)
            },
        )
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Matched<V::Value> {
        Err(Mismatch)
    }

    fn is_human_readable(&self) -> bool {
        !self.expected.compact
    }

    forward_to_deserialize_any! {
        bytes byte_buf map enum identifier ignored_any
    }
}

/// The children of a compound, of which so many are left.
struct RigidChildren<'w, 'p, L> {
    expected: &'w RigidValue<'w>,
    steps: &'p mut Steps<'w, Window<'w, L>>,
    left: usize,
    /// Where the source asked for the struct that these are the fields of. A derive asks for the fields at the same place:
    /// see [`derived`](super::derived).
    caller: Option<&'static Location<'static>>,
}

impl<'w, L: Flat> RigidChildren<'w, '_, L> {
    #[inline(always)]
    fn next(&mut self) -> Option<RigidDeserializer<'w, &mut Steps<'w, Window<'w, L>>>> {
        self.left = self.left.checked_sub(1)?;
        Some(RigidDeserializer { expected: self.expected, place: &mut *self.steps })
    }
}

impl<'de, L: Flat> SeqAccess<'de> for &mut RigidChildren<'_, '_, L> {
    type Error = Mismatch;

    #[inline(always)]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Matched<Option<T::Value>> {
        if self.caller.is_some() {
            return Err(Mismatch);
        }
        match self.next() {
            Some(child) => seed.deserialize(child).map(Some),
            None => Ok(None),
        }
    }

    #[inline(always)]
    #[track_caller]
    fn next_element<T: Deserialize<'de>>(&mut self) -> Matched<Option<T>> {
        if self.caller.is_some_and(|caller| !same_place(caller, Location::caller())) {
            return Err(Mismatch);
        }
        match self.next() {
            Some(child) => T::deserialize(child).map(Some),
            None => Ok(None),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

/// The leaves of a sequence that has only leaves. Who asks for anything else is not compiled for the whole of this module.
struct Leaves<'p, 'w, L> {
    leaves: &'p mut slice::Iter<'w, L>,
    compact: bool,
}

impl<'de, L: Flat> SeqAccess<'de> for Leaves<'_, '_, L> {
    type Error = Mismatch;

    #[inline(always)]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Matched<Option<T::Value>> {
        match self.leaves.next() {
            Some(leaf) => {
                seed.deserialize(LeafDeserializer { leaf, compact: self.compact }).map(Some)
            }
            None => Ok(None),
        }
    }

    #[inline(always)]
    fn next_element<T: Deserialize<'de>>(&mut self) -> Matched<Option<T>> {
        self.next_element_seed(PhantomData)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.leaves.len())
    }
}

/// One of them.
struct LeafDeserializer<'w, L> {
    leaf: &'w L,
    compact: bool,
}

impl<L: Flat> LeafDeserializer<'_, L> {
    #[inline(always)]
    fn scalar<'de, V: Visitor<'de>>(self, request: Request, visitor: V) -> Matched<V::Value> {
        match request.is_for_scalar(self.leaf.kind()) {
            true => self.leaf.visit_lent(visitor).map_err(|_| Mismatch),
            false => Err(Mismatch),
        }
    }
}

impl<'de, L: Flat> Deserializer<'de> for LeafDeserializer<'_, L> {
    type Error = Mismatch;

    scalar_requests!();

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Matched<V::Value> {
        Err(Mismatch)
    }

    fn is_human_readable(&self) -> bool {
        !self.compact
    }

    forward_to_deserialize_any! {
        bytes byte_buf option unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
        ignored_any
    }
}
