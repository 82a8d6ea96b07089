//! The children of a sequence or a tuple.

use serde::de::{Deserialize, DeserializeSeed, Deserializer, SeqAccess, Visitor};

use crate::error::{Error, Result};

use super::children::NextChild;
use super::cursor::{Cursor, NodeDeserializer, OpenCompound};
use super::fast::ahead::{Ahead, Floats};
use super::fast::{is_plain, may_be_leaf};

/// The elements of a sequence, a tuple or a tuple struct.
pub(super) struct Elements<'c, 'de> {
    cursor: &'c mut Cursor<'de>,
    next: NextChild<'de>,
    parent: OpenCompound,
    /// If this has leaves of the run, `next` is behind them.
    ahead: Ahead<'de>,
}

impl<'c, 'de> Elements<'c, 'de> {
    /// The elements of the sequence at the cursor, which [may be read](Cursor::is_sequence).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn of(cursor: &'c mut Cursor<'de>) -> Self {
        let (parent, mut next) = (cursor.parent(), NextChild::of(cursor));
        cursor.descend(1);
        let ahead = Ahead::of(cursor, &mut next);
        Elements { cursor, next, parent, ahead }
    }

    /// serde's side of them.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn access<'e>(&'e mut self) -> ElementAccess<'e, 'c, 'de> {
        ElementAccess { floats: self.ahead.floats, all: self }
    }

    fn len(&self) -> usize {
        self.ahead.floats.len() + self.next.left + self.next.after
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn are_done(&self) -> bool {
        self.next.left + self.next.after == 0 && self.ahead.floats.len() == 0
    }

    /// Goes to the next element, if there is one. The element is read like any other value.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn step(&mut self) -> bool {
        if self.ahead.has_some() {
            self.ahead.hand_over(&mut self.next);
        }
        self.cursor.back_to(&self.parent);
        if self.next.left == 0 {
            if !self.next.turn(self.cursor) {
                return false;
            }
            self.ahead.turn(&self.next);
        }
        self.next.step_in_run(self.cursor);
        true
    }

    /// The next element, if that is no float, but may be a leaf.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn next_leaf<T: Deserialize<'de>>(&mut self) -> Result<Option<T>> {
        match self.ahead.next_leaf(self.cursor, &mut self.next) {
            Some(value) => Ok(Some(value)),
            None => self.next_other(),
        }
    }

    /// As [`next_plain`](Self::next_plain), but not in the loop over leaves.
    #[inline(never)]
    fn next_other<T: Deserialize<'de>>(&mut self) -> Result<Option<T>> {
        self.next_plain()
    }

    /// The next element, if that is no leaf.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn next_plain<T: Deserialize<'de>>(&mut self) -> Result<Option<T>> {
        match self.ahead.next_fixed(self.cursor, &mut self.next) {
            Some(value) => Ok(Some(value)),
            None => self.next_any(),
        }
    }

    /// The next element, whatever it is.
    fn next_any<T: Deserialize<'de>>(&mut self) -> Result<Option<T>> {
        if !self.step() {
            return Ok(None);
        }
        match T::deserialize(NodeDeserializer(self.cursor)) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(self.under(error)),
        }
    }

    /// Rejects a value that was made without reading all elements.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn end(&mut self) -> Result<()> {
        self.cursor.ascend(&self.parent);
        if self.are_done() { Ok(()) } else { Err(self.cursor.unread(&self.parent, self.len())) }
    }

    /// Completes an error of the visitor.
    #[cold]
    pub(super) fn failed(&mut self, error: Error) -> Error {
        self.cursor.ascend(&self.parent);
        self.cursor.outside_of(&self.parent, error)
    }

    /// Adds the position of the last child to the path of its error.
    #[cold]
    fn under(&mut self, error: Error) -> Error {
        let children = self.cursor.node_of(&self.parent).num_children();
        let position = children - self.len() - 1; // it was read
        self.cursor.under(&self.parent, position, error)
    }
}

/// serde's side of the elements. It is given by value and has the floats, so that they are in registers
/// while they are read.
pub(super) struct ElementAccess<'e, 'c, 'de> {
    floats: Floats<'de>,
    all: &'e mut Elements<'c, 'de>,
}

impl<'de> ElementAccess<'_, '_, 'de> {
    /// Goes to the next element, if there is one. The floats that are left are read like any other value.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn step(&mut self) -> bool {
        let is_there = self.all.step();
        self.floats = self.all.ahead.floats;
        is_there
    }

    /// Reads the next element, which is a float, by a seed. `deserialize_in_place` has a seed for each.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn next_float_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value> {
        let before = self.floats.len();
        let value = seed.deserialize(FloatElement(self));
        if self.floats.len() == before {
            self.step(); // past an element that the seed did not read
        }
        self.all.ahead.floats.read = self.floats.read;
        match value {
            Ok(value) => Ok(value),
            Err(error) => Err(self.all.under(error)),
        }
    }
}

/// The deserializer of the next element, which is a float. If a float is asked for, the cursor takes no step.
struct FloatElement<'a, 'e, 'c, 'de>(&'a mut ElementAccess<'e, 'c, 'de>);

impl<'a, 'de> FloatElement<'a, '_, '_, 'de> {
    /// The element like any other value.
    fn node(self) -> NodeDeserializer<'a, 'de> {
        self.0.step();
        NodeDeserializer(self.0.all.cursor)
    }
}

/// Requests that the node answers.
macro_rules! by_node {
    ($($method:ident($($argument:ident: $type:ty),*))*) => {$(
        fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value> {
            self.node().$method($($argument,)* visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for FloatElement<'_, '_, '_, 'de> {
    type Error = Error;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0.floats.next() {
            Some(value) => visitor.visit_f64(value),
            None => self.node().deserialize_f64(visitor),
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0.floats.next() {
            Some(value) => visitor.visit_f32(value),
            None => self.node().deserialize_f32(visitor),
        }
    }

    fn is_human_readable(&self) -> bool {
        !self.0.all.cursor.compact
    }

    by_node! {
        deserialize_any() deserialize_bool() deserialize_char()
        deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64() deserialize_i128()
        deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64() deserialize_u128()
        deserialize_str() deserialize_string() deserialize_bytes() deserialize_byte_buf()
        deserialize_option() deserialize_unit() deserialize_unit_struct(name: &'static str)
        deserialize_newtype_struct(name: &'static str) deserialize_seq() deserialize_tuple(len: usize)
        deserialize_tuple_struct(name: &'static str, len: usize) deserialize_map()
        deserialize_struct(name: &'static str, fields: &'static [&'static str])
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
        deserialize_identifier() deserialize_ignored_any()
    }
}

impl<'de> SeqAccess<'de> for ElementAccess<'_, '_, 'de> {
    type Error = Error;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        if self.floats.len() > 0 {
            return self.next_float_seed(seed).map(Some);
        }
        if !self.step() {
            return Ok(None);
        }
        match seed.deserialize(NodeDeserializer(self.all.cursor)) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(self.all.under(error)),
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn next_element<T: Deserialize<'de>>(&mut self) -> Result<Option<T>> {
        if const { is_plain::<T>() } {
            if let Some(value) = self.floats.next() {
                self.all.ahead.floats.read = self.floats.read;
                return Ok(Some(value));
            }
            if const { may_be_leaf::<T>() } {
                if self.all.are_done() {
                    return Ok(None);
                }
                let value = self.all.next_leaf();
                if !self.all.ahead.are_leaves() {
                    self.floats = self.all.ahead.floats;
                }
                return value;
            }
            if self.all.ahead.may_be_fixed() {
                let value = self.all.next_plain();
                self.floats = self.all.ahead.floats;
                return value;
            }
        }
        if !self.step() {
            return Ok(None);
        }
        match T::deserialize(NodeDeserializer(self.all.cursor)) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(self.all.under(error)),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.all.len())
    }
}
