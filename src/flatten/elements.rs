//! Decides which elements of a sequence are recorded in [rows](super::rows).
//!
//! An element that turns out to be different has already been serialized in part, and is serialized
//! again. A `Serialize` implementation that gives something only once notices this. So no layout is
//! tried if a type inside the elements so far owns something. Other cases are reported as errors as
//! far as possible, and [`Flattener::serialize_once`] serializes nothing twice.
//!
//! [`Flattener::serialize_once`]: crate::Flattener::serialize_once

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::model::{Name, Node, NodeKind};

use super::recording::Recording;
use super::rows::layout::{Divergence, Layout, MOST_LEAVES};
use super::rows::{Expected, FEW, Outcome, Progress, Retry, Row, Stop};

/// Maximum number of leaves for which slots are made at once.
const BATCH: usize = 8_192;

/// The value gave less when it was serialized again.
#[cold]
pub(super) fn gave_less() -> Error {
    Error::protocol("a `Serialize` implementation gave less when it was asked again")
        .with_hint("see `Flattener::serialize_once`")
}

impl Recording {
    /// A row for elements that look like the last one, if a row is worth a try.
    #[inline]
    pub(super) fn row<'r>(
        &'r mut self,
        progress: &'r mut Progress,
        hint: (usize, Option<usize>),
    ) -> Option<Row<'r>> {
        if progress.pays() { self.next_row(progress, hint) } else { None }
    }

    /// Handles the outcome of the last row, and of the element after it.
    #[inline]
    pub(super) fn row_came(&mut self, progress: &mut Progress) -> Result<()> {
        if progress.is_idle() { Ok(()) } else { self.end_row(progress) }
    }

    #[inline(never)]
    fn next_row<'r>(
        &'r mut self,
        progress: &'r mut Progress,
        hint: (usize, Option<usize>),
    ) -> Option<Row<'r>> {
        if !self.predicts() {
            return None;
        }
        let last = self.frame.last()?;
        let Node { kind, leaves, span, .. } = self.builder.nodes[last];
        let so_far = self.frame.children.max(FEW);
        let most = hint.1.unwrap_or(so_far).min(BATCH / leaves.max(1));
        let (slot, narrow) = (self.leaves.len(), self.narrow);
        let number = match kind {
            NodeKind::Leaf if most > 0 && !self.met_opaque => {
                Expected::number(&self.leaves.slots(), slot.checked_sub(1)?, narrow)
            }
            _ => None,
        };
        // A layout is read only for small elements, and only if at least `FEW` of them may follow.
        let is_small = leaves.max(span) <= 2 * MOST_LEAVES && most >= FEW;
        let is_plain = is_small && !self.frame.owning;
        let compact = self.is_compact();
        let like = match number {
            Some(number) => number,
            None if is_plain && self.read_layout(last, leaves) => {
                Expected::Layout(self.layout.as_deref()?) // it was read
            }
            None => {
                progress.give_up();
                return None;
            }
        };
        let slots = self.leaves.more_slots(most * leaves);
        Some(Row::new(slots, slot, most, like, compact, progress))
    }

    /// Reads the layout of the element that was recorded last. Returns whether it has one.
    fn read_layout(&mut self, last: usize, leaves: usize) -> bool {
        let (compact, narrow) = (self.is_compact(), self.narrow);
        let Some(first) = self.leaves.len().checked_sub(leaves) else { return false };
        let mut layout = self.layout.take().unwrap_or_else(|| Layout::boxed(compact));
        let (slots, opaque) = (self.leaves.slots(), self.met_opaque);
        let kinds = |leaf| slots.number_at(first + leaf, narrow).filter(|_| !opaque);
        // All names are names of types, so they are borrowed.
        let name_of = |name: &Name| if let Cow::Borrowed(name) = *name { Some(name) } else { None };
        let read =
            layout.read(self.builder.subtree(last), &self.builder.node_data.list, kinds, name_of);
        self.layout = Some(layout);
        read
    }

    /// Counts the elements of the last row. Checks that an element that was serialized again gave
    /// at least what it gave the first time.
    #[inline(never)]
    fn end_row(&mut self, progress: &mut Progress) -> Result<()> {
        let Some(last) = self.frame.last() else { return Ok(()) }; // there is one
        if let Some(Retry { template, different }) = progress.again.take() {
            let agrees = if template == last {
                different.divergence == Divergence::Perhaps
            } else {
                self.builder.agree(template, last, different.leaves)
            };
            if !agrees {
                return Err(gave_less());
            }
        }
        let Some(Outcome { done, slot, stop }) = progress.take() else { return Ok(()) };
        self.builder.nodes[last].repeat += done; // at most the elements visited
        self.frame.children += done;
        self.leaves.resize(slot);
        match stop {
            Stop::Full => {}
            Stop::Refused => return Err(self.refused()),
            Stop::Different(different) => {
                self.narrow = different.narrow.unwrap_or(self.narrow);
                progress.again = Some(Retry { template: last, different });
            }
        }
        Ok(())
    }
}
