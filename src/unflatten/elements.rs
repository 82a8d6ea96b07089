//! The children of a sequence or a tuple.

use std::marker::PhantomData;

use serde::de::{Deserialize, DeserializeSeed, SeqAccess};

use crate::error::{Error, Result};

use super::children::NextChild;
use super::cursor::{Cursor, NodeDeserializer, Parent};
use super::fast::ahead::Ahead;
use super::fast::is_plain;

/// The elements of a sequence, a tuple or a tuple struct.
pub(super) struct Elements<'c, 'de> {
    cursor: &'c mut Cursor<'de>,
    next: NextChild<'de>,
    parent: Parent,
    /// If this has leaves of the run, `next` is behind them.
    ahead: Ahead<'de>,
}

impl<'c, 'de> Elements<'c, 'de> {
    /// Those of the sequence at the cursor, which [may be read](Cursor::is_sequence).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn of(cursor: &'c mut Cursor<'de>) -> Self {
        let (parent, mut next) = (cursor.parent(), NextChild::of(cursor));
        cursor.descend(1);
        let ahead = Ahead::of(cursor, &mut next);
        Elements { cursor, next, parent, ahead }
    }

    fn len(&self) -> usize {
        self.ahead.len() + self.next.left + self.next.after
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn are_done(&self) -> bool {
        self.next.left + self.next.after == 0 && self.ahead.is_empty()
    }

    /// Goes to the next element, if there is one. The element is read like any other value.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn step(&mut self) -> bool {
        if self.ahead.has_some() {
            self.ahead.hand_over(&mut self.next);
        }
        self.cursor.back_to(&self.parent);
        if self.next.left == 0 {
            self.ahead.forget(); // it is of the next run
            if !self.next.turn(self.cursor) {
                return false;
            }
        }
        self.next.step_in_run(self.cursor);
        true
    }

    /// The next element, if that is no float, but may be a leaf.
    #[inline(never)]
    fn next_leaf<T: Deserialize<'de>>(&mut self) -> Result<Option<T>> {
        match self.ahead.next_leaf(self.cursor, &mut self.next) {
            Some(value) => Ok(Some(value)),
            None => self.next_plain(),
        }
    }

    /// The next element, if that is no leaf.
    #[inline(never)]
    // serde's trait is implemented for a reference, which is borrowed once more.
    fn next_plain<T: Deserialize<'de>>(mut self: &mut Self) -> Result<Option<T>> {
        match self.ahead.next_fixed(self.cursor, &mut self.next) {
            Some(value) => Ok(Some(value)),
            None => self.next_element_seed(PhantomData),
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

impl<'de> SeqAccess<'de> for &mut Elements<'_, 'de> {
    type Error = Error;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        if !self.step() {
            return Ok(None);
        }
        match seed.deserialize(NodeDeserializer(self.cursor)) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(self.under(error)),
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn next_element<T: Deserialize<'de>>(&mut self) -> Result<Option<T>> {
        if const { is_plain::<T>() } {
            if let Some(value) = self.ahead.next_float() {
                return Ok(Some(value));
            }
            if const { size_of::<T>() <= size_of::<u64>() } {
                return if self.are_done() { Ok(None) } else { self.next_leaf() };
            }
            if !self.ahead.are_one_by_one() {
                return self.next_plain();
            }
        }
        if !self.step() {
            return Ok(None);
        }
        match T::deserialize(NodeDeserializer(self.cursor)) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(self.under(error)),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.len())
    }
}
