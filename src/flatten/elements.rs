//! Which elements of a sequence are recorded in [rows](super::rows): those of plain data, which look like the one before.
//!
//! An element that turns out to be different has been serialized in part, and is serialized again. That is seen by
//! `Serialize` implementations that give something only once. So elements are not tried if the type of anything in the first
//! one owns something; the others are told as far as they can be; and [`Flattener::serialize_once`] asks nobody twice.
//!
//! [`Flattener::serialize_once`]: crate::Flattener::serialize_once

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::model::{LeafKind, Name, Node, NodeKind};
use crate::sink::Sink;

use super::bits::is_number;
use super::layout::{Different, Layout, MOST_LEAVES};
use super::recording::Recording;
use super::rows::{FEW, Guesses, Like, Row, Stop};

/// Leaves that slots are made for at once.
const BATCH: usize = 2_048;

/// What was seen of a value is not there any more.
#[cold]
pub(super) fn gave_less() -> Error {
    Error::protocol("a `Serialize` implementation gave less when it was asked again")
        .hint("see `Flattener::serialize_once`")
}

/// An element that is serialized again.
pub(super) struct Again {
    /// The run that it was expected to belong to.
    template: usize,
    different: Different,
}

/// What comes after a row.
pub(super) enum After {
    /// Perhaps another row.
    Row,
    /// An element that is serialized again.
    Again(Again),
    /// Nothing: this is what came of the sequence.
    Over(Result<()>),
}

impl Recording {
    /// A row for elements that look like the one before, if there may be such.
    #[inline(never)]
    pub(super) fn next_row(
        &mut self,
        guesses: &mut Guesses,
        hint: (usize, Option<usize>),
    ) -> Option<Row<'_>> {
        if !self.predicts() {
            return None;
        }
        let last = self.frame.last?;
        let Node { kind, leaves, span, .. } = self.builder.nodes[last];
        let so_far = self.frame.children.max(FEW);
        let most = hint.1.unwrap_or(so_far).min(BATCH / leaves.max(1));
        let number = match (&self.leaves, kind) {
            (_, kind) if kind != NodeKind::Leaf || most == 0 => None,
            (Sink::Counted(_), _) => Some(None),
            _ => self.kind_of_last(0).map(Some),
        };
        // What is large or comes seldom is not worth the time to look at it.
        let is_small = leaves.max(span) <= 2 * MOST_LEAVES && most >= FEW;
        if number.is_none() && !(is_small && !self.frame.owning && self.read_layout(last, leaves)) {
            guesses.give_up();
            return None;
        }
        let (slot, compact) = (self.leaves.len(), self.is_compact());
        let like = match number {
            Some(kind) => Like::Number(kind),
            None => Like::Layout(self.layout.as_deref()?), // it was read
        };
        let slots = self.leaves.more_slots(most * leaves);
        Some(Row::new(slots, slot, most, like, compact))
    }

    /// Whether the element that was recorded last has a layout, which is read then.
    fn read_layout(&mut self, last: usize, leaves: usize) -> bool {
        let compact = self.is_compact();
        let mut layout = self.layout.take().unwrap_or_else(|| Layout::boxed(compact));
        let kinds = |leaf: usize| self.kind_of_last(leaves.checked_sub(leaf + 1)?);
        // All names are those of types, so none is owned.
        let name_of = |name: &Name| if let Cow::Borrowed(name) = *name { Some(name) } else { None };
        let read = layout.read(self.builder.subtree(last), self.builder.shapes(), kinds, name_of);
        self.layout = Some(layout);
        read
    }

    /// Of which kind the leaf was that came last, or so many before, if that was a number. What becomes an `f64` may have
    /// been an `f32`.
    fn kind_of_last(&self, before: usize) -> Option<LeafKind> {
        let kind = match &self.leaves {
            Sink::Leaves(leaves) => leaves.get(leaves.len().checked_sub(before + 1)?)?.kind(),
            Sink::F64(_) => LeafKind::F64,
            Sink::F32(_) => LeafKind::F32,
            Sink::Other(leaves) => leaves.kind(),
            Sink::Counted(_) => return None,
        };
        Some(kind).filter(|kind| is_number(*kind) && !self.met_opaque)
    }

    /// So many elements of a row were put, up to that slot.
    #[inline(never)]
    pub(super) fn end_row(
        &mut self,
        done: usize,
        slot: usize,
        stop: Stop,
        guesses: &mut Guesses,
    ) -> After {
        guesses.count(done, stop);
        let Some(last) = self.frame.last else { return After::Over(Ok(())) }; // there is one
        let node = &mut self.builder.nodes[last];
        node.repeat += done; // each was there
        self.frame.children += done;
        self.leaves.resize(slot);
        match stop {
            Stop::Full => After::Row,
            Stop::End => After::Over(self.close()),
            Stop::Refused => After::Over(Err(self.refused())),
            Stop::Odd(different) => After::Again(Again { template: last, different }),
        }
    }

    /// It was recorded. What had been seen of it before has to be there still.
    #[cold]
    pub(super) fn came_again(&mut self, Again { template, different }: Again) -> Result<()> {
        let Some(found) = self.frame.last else { return Ok(()) }; // there is one
        let agrees = match template == found {
            true => !different.surely,
            false => self.builder.agree(template, found, different.leaves),
        };
        if agrees { Ok(()) } else { Err(gave_less()) }
    }
}
