//! The children of a sequence or a tuple.

use std::marker::PhantomData;

use serde::de::{Deserialize, DeserializeSeed, Expected, SeqAccess};

use crate::error::{Error, Result};
use crate::treedef::node::NodeRef;

use super::cursor::{At, Cursor, Level, NodeDeserializer};
use super::plain::{Ahead, is_plain};

/// The elements of a sequence, a tuple or the like.
pub(super) struct Elements<'c, 'de> {
    cursor: &'c mut Cursor<'de>,
    parent: At<'de>,
    level: Level<'de>,
    /// The first child of the current run, of which `left` are left; the parent, if it has none.
    run: NodeRef<'de>,
    left: usize,
    /// How many children are in the runs to come.
    after: usize,
    /// If these are leaves of the run, they are counted here alone: see [`settle`](Self::settle).
    ahead: Ahead<'de>,
}

impl<'c, 'de> Elements<'c, 'de> {
    pub(super) fn of(cursor: &'c mut Cursor<'de>, expected: &dyn Expected) -> Result<Self> {
        if !cursor.is_sequence() {
            return Err(cursor.unexpected(expected));
        }
        let (parent, level) = (cursor.at, cursor.deeper()?);
        let (run, left) =
            parent.node.first_child().map_or((parent.node, 0), |node| (node, node.repeat()));
        let after = parent.node.num_children() - left; // one of its runs (invariant 2 of the encoding)
        let ahead = Ahead::leaves_of(cursor, run, left);
        Ok(Elements { cursor, parent, level, run, left, after, ahead })
    }

    #[inline]
    fn len(&self) -> usize {
        self.ahead.leaves().unwrap_or(self.left) + self.after
    }

    fn next_run(&mut self) -> bool {
        if self.after == 0 {
            return false;
        }
        self.run.skip(self.run.repeat());
        self.left = self.run.turn_to(self.run.next_run()).repeat;
        self.after -= self.left; // `after` is the sum of these (invariant 2 of the encoding)
        if let Ahead::Fixed = self.ahead {
            self.ahead = Ahead::Unknown;
        }
        true
    }

    /// Goes to the next element, if there is one, which is read as any other value.
    #[inline]
    fn step(&mut self) -> bool {
        match self.ahead.leaves() {
            Some(left) => self.settle(left),
            // What is read now may hold elements of another layout.
            None if matches!(self.ahead, Ahead::Fixed) => self.ahead = Ahead::Unknown,
            None => {}
        }
        if self.left == 0 && !self.next_run() {
            return false;
        }
        self.cursor.go_to_sibling(&self.run, self.run.repeat() - self.left, self.level);
        self.left -= 1; // runs have at least one
        true
    }

    /// The next element, which may be plain data.
    #[inline(never)]
    fn plain<T: Deserialize<'de>>(mut self: &mut Self) -> Result<Option<T>> {
        if let Ahead::Unknown = self.ahead {
            self.ahead = Ahead::nodes_of(self.cursor, self.run, self.level, self.left);
        }
        if let (Ahead::Fixed, Some(fixed)) = (&self.ahead, &mut self.cursor.fixed)
            && self.left > 0
        {
            let next = self.run.later(self.run.repeat() - self.left);
            if let Ok(value) = fixed.read(&self.cursor.leaves, next.first_leaf()) {
                self.left -= 1; // there was one
                return Ok(Some(value));
            }
            self.ahead = Ahead::Nothing;
        }
        self.next_element_seed(PhantomData)
    }

    /// Goes on one by one.
    #[inline(never)]
    fn settle(&mut self, left: usize) {
        self.left = left;
        self.ahead = Ahead::Nothing;
    }

    /// Refuses a value that was made without some of the elements.
    #[inline]
    pub(super) fn end(&self) -> Result<()> {
        match self.len() {
            0 => Ok(()),
            left => Err(self.parent.unread(left)),
        }
    }

    /// An error of the child that came last.
    #[cold]
    fn under(&self, error: Error) -> Error {
        self.parent.under(error, self.parent.node.num_children() - self.len() - 1) // it came
    }

    /// What a visitor said, of the whole or of a child.
    #[cold]
    pub(super) fn outside(&self, error: Error) -> Error {
        self.parent.outside(error)
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

    #[inline]
    fn next_element<T: Deserialize<'de>>(&mut self) -> Result<Option<T>> {
        if const { is_plain::<T>() } {
            match self.ahead.next_leaf() {
                Some(value) => Ok(Some(value)),
                None => self.plain(),
            }
        } else {
            self.next_element_seed(PhantomData)
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.len())
    }
}
