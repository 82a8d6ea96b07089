//! The children of a sequence or a tuple.

use std::marker::PhantomData;

use serde::de::{Deserialize, DeserializeSeed, Expected, SeqAccess};

use crate::error::{Error, Result};
use crate::treedef::node_ref::NodeRef;

use super::cursor::{At, Cursor, Level, NodeDeserializer};
use super::plain::{Ahead, is_plain};

/// The elements of a sequence, a tuple or a tuple struct.
pub(super) struct Elements<'c, 'de> {
    cursor: &'c mut Cursor<'de>,
    parent: At<'de>,
    level: Level<'de>,
    /// The first child of the current run, which has `left` remaining children. The parent, if it
    /// has no children.
    run: NodeRef<'de>,
    left: usize,
    /// The number of children in the later runs.
    after: usize,
    /// If this has leaves of the run, only it counts them, and `left` is outdated: see
    /// [`settle`](Self::settle).
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
        let after = parent.node.num_children() - left; // one of the runs (invariant 2 of the encoding)
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

    /// Goes to the next element, if there is one. The element is read like any other value.
    #[inline]
    fn step(&mut self) -> bool {
        match self.ahead.leaves() {
            Some(left) => self.settle(left),
            // The element that is read now may replace the layout in the cursor.
            None if matches!(self.ahead, Ahead::Fixed) => self.ahead = Ahead::Unknown,
            None => {}
        }
        if self.left == 0 && !self.next_run() {
            return false;
        }
        self.cursor.go_to_sibling(&self.run, self.run.repeat() - self.left, self.level);
        self.left -= 1; // a run has at least one
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

    /// Continues one by one, with `left` remaining elements in the run.
    #[inline(never)]
    fn settle(&mut self, left: usize) {
        self.left = left;
        self.ahead = Ahead::Nothing;
    }

    /// Rejects a value that was made without reading all elements.
    #[inline]
    pub(super) fn end(&self) -> Result<()> {
        match self.len() {
            0 => Ok(()),
            left => Err(self.parent.unread(left)),
        }
    }

    /// Adds the path of the last child to its error.
    #[cold]
    fn under(&self, error: Error) -> Error {
        self.parent.under(error, self.parent.node.num_children() - self.len() - 1) // it exists
    }

    /// Adds the newtypes around the parent to the path of an error.
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
