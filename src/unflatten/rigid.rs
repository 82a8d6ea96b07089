//! An element that is read beside a [rigid](crate::rigid) node: what its type asks for is compared by its form, in the end.
//!
//! This is for elements of which many are alike, and for leaves that can be read again: if a type asks for something else,
//! the [deserializer](super::deserializer) takes the element from its beginning, and gives way, or says what is wrong.

use std::marker::PhantomData;
use std::num::NonZero;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use crate::error::{Error, Mismatch, Result};
use crate::leaf::Flat;
use crate::model::{LeafKind, NodeKind, Shape};
use crate::rigid::{RUN, Rigid, Steps, WINDOW};

use super::derived::by_position;
use super::elements::Elements;
use super::place::aside;
use super::source::Source;

/// What elements are read beside.
struct RigidElement<'a> {
    node: Rigid<(NonZero<usize>, &'a Shape)>,
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
            && let Ok(value) = T::deserialize(RigidDeserializer { expected, place: Closed(window) })
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

/// What came of reading something as it should be. Who gives no value has not taken the whole of its node either, so that
/// the form stays incomplete, and it makes no difference whether somebody overlooks that.
type Matched<T> = std::result::Result<T, Mismatch>;

/// Reads the element, or what is inside it.
struct RigidDeserializer<'w, P> {
    expected: &'w RigidElement<'w>,
    place: P,
}

/// Where a deserializer is. It sets out with the leaves alone, so that how far it has come is a constant in the code of
/// the element's type, whether that is compiled into the caller or not.
trait Place<'w> {
    type Open: Open<'w>;

    fn open(self, expected: &'w RigidElement<'w>) -> Self::Open;
}

/// A node that was opened at a place.
trait Open<'w> {
    type Leaf: Flat + 'w;

    fn progress(&mut self) -> &mut Progress<'w, Self::Leaf>;
    fn close(self) -> Matched<()>;
}

/// The leaves of an element that was not opened yet, and some more.
struct Closed<'w, L>(&'w [L; WINDOW]);

/// How far a deserializer has come.
struct Progress<'w, L> {
    steps: Steps<'w, (NonZero<usize>, &'w Shape)>,
    leaves: &'w [L; WINDOW],
}

impl<'w, L: Flat> Place<'w> for Closed<'w, L> {
    type Open = Progress<'w, L>;

    #[inline(always)]
    fn open(self, expected: &'w RigidElement<'w>) -> Progress<'w, L> {
        Progress { steps: Steps::of(&expected.node), leaves: self.0 }
    }
}

impl<'w, L: Flat> Place<'w> for &mut Progress<'w, L> {
    type Open = Self;

    #[inline(always)]
    fn open(self, _: &'w RigidElement<'w>) -> Self {
        self
    }
}

impl<'w, L: Flat> Open<'w> for Progress<'w, L> {
    type Leaf = L;

    #[inline(always)]
    fn progress(&mut self) -> &mut Progress<'w, L> {
        self
    }

    #[inline(always)]
    fn close(self) -> Matched<()> {
        if self.steps.complete() { Ok(()) } else { Err(Mismatch) }
    }
}

impl<'w, L: Flat> Open<'w> for &mut Progress<'w, L> {
    type Leaf = L;

    #[inline(always)]
    fn progress(&mut self) -> &mut Progress<'w, L> {
        self
    }

    #[inline(always)]
    fn close(self) -> Matched<()> {
        Ok(())
    }
}

impl<'w, P: Place<'w>> RigidDeserializer<'w, P> {
    #[inline(always)]
    fn scalar<'de, V: Visitor<'de>>(self, narrow: bool, visitor: V) -> Matched<V::Value> {
        let mut open = self.place.open(self.expected);
        let Progress { steps, leaves } = open.progress();
        let leaf = leaves.get(steps.num_leaves()).ok_or(Mismatch)?;
        match leaf.kind() {
            LeafKind::Opaque => return Err(Mismatch),
            LeafKind::F64 if narrow => return Err(Mismatch), // perhaps beyond its range
            _ => steps.leaf().ok_or(Mismatch)?,
        };
        let value = leaf.visit_lent(visitor).map_err(|_| Mismatch)?;
        open.close()?;
        Ok(value)
    }

    #[inline(always)]
    fn children<'de, R>(
        self,
        kind: NodeKind,
        count: usize,
        is_known: impl FnOnce((NonZero<usize>, &Shape)) -> bool,
        read: impl FnOnce(&mut RigidChildren<'w, '_, <P::Open as Open<'w>>::Leaf>) -> Matched<R>,
    ) -> Matched<R> {
        let RigidDeserializer { expected, place } = self;
        let mut open = place.open(expected);
        let progress = open.progress();
        if kind.is_named() && !progress.steps.named().is_some_and(is_known) {
            return Err(Mismatch);
        }
        progress.steps.compound(kind, count).ok_or(Mismatch)?;
        let mut children = RigidChildren { expected, progress, left: count };
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

macro_rules! scalars {
    ($($method:ident)*) => {$(
        #[inline(always)]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Matched<V::Value> {
            self.scalar(false, visitor)
        }
    )*};
}

impl<'w, 'de, P: Place<'w>> Deserializer<'de> for RigidDeserializer<'w, P> {
    type Error = Mismatch;

    scalars! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128 deserialize_u8
        deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f64 deserialize_char
        deserialize_str deserialize_string
    }

    #[inline(always)]
    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Matched<V::Value> {
        self.scalar(true, visitor)
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
        let by_position = |shape: (NonZero<usize>, &Shape)| by_position::<V>(shape, fields);
        self.children(NodeKind::Struct, fields.len(), by_position, |children| {
            visitor.visit_seq(children)
        })
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
    progress: &'p mut Progress<'w, L>,
    left: usize,
}

impl<'w, L: Flat> RigidChildren<'w, '_, L> {
    #[inline(always)]
    fn next(&mut self) -> Option<RigidDeserializer<'w, &mut Progress<'w, L>>> {
        self.left = self.left.checked_sub(1)?;
        Some(RigidDeserializer { expected: self.expected, place: &mut *self.progress })
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
