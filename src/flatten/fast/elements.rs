//! Decides which elements of a sequence are taken in [rows](super::rows).
//!
//! An element that turns out to be different has been serialized in part, and is serialized again.
//! A `Serialize` implementation that gives something only once notices this. So no row is tried if
//! a type inside the last element owns something. Other cases are reported as errors as far as
//! possible, and [`Flattener::serialize_once`] serializes nothing twice.
//!
//! [`Flattener::serialize_once`]: crate::Flattener::serialize_once

use crate::error::{Error, Result};
use crate::leaf::sink::Sink;

use super::super::refused::wrong_scalar;
use super::super::word::Word;
use super::follow::Follow;
use super::layout::{Divergence, Layout, MOST_LEAVES};
use super::rows::{Expected, FEW, Outcome, Progress, Retry, Row, Stop};

/// Maximum number of leaves for which slots are made at once.
const BATCH: usize = 8_192;

/// The most words of an element for which a row is tried.
const MOST_ROW_WORDS: usize = 2 * MOST_LEAVES;

/// The value gave less when it was serialized again.
#[cold]
fn gave_less() -> Error {
    Error::protocol("a `Serialize` implementation gave less when it was asked again")
        .with_hint("see `Flattener::serialize_once`")
}

/// The state of a sequence between two elements.
pub(in crate::flatten) struct SeqState<'t> {
    pub(in crate::flatten) leaves: &'t mut Sink,
    pub(in crate::flatten) words: &'t [Word],
    pub(in crate::flatten) compact: bool,
    /// The last element is a leaf.
    pub(in crate::flatten) is_leaf: bool,
    /// Leaves may be of any kind.
    pub(in crate::flatten) takes_all: bool,
    /// A type inside the last element owns something.
    pub(in crate::flatten) is_owning: bool,
    /// The most elements that may come, if the iterator says so.
    pub(in crate::flatten) most: Option<usize>,
}

impl Follow {
    /// A row for elements that look like the last one, if a row is worth a try.
    #[inline(never)]
    pub(in crate::flatten) fn row<'r>(
        &'r mut self,
        seq: SeqState<'r>,
        progress: &'r mut Progress,
    ) -> Option<Row<'r>> {
        let SeqState { leaves, words, compact, is_leaf, takes_all, is_owning, most } = seq;
        let most = most.unwrap_or(progress.right.max(FEW));
        if !is_leaf && self.expected_like_last(words) < FEW {
            return None;
        }
        let like = if is_leaf {
            let is_any = takes_all || !matches!(leaves, Sink::Counted(_));
            let last = leaves.len().checked_sub(1).filter(|_| is_any);
            let number = |last| Expected::number(&leaves.slots(), last, self.came_as_f32);
            last.and_then(number).map(|number| (ElementForm::Number(number), most.min(BATCH)))
        } else if is_owning {
            None
        } else {
            self.read_layout(leaves, words, compact, most)
        };
        let Some((like, most)) = like else {
            progress.give_up();
            return None;
        };
        let slot = leaves.len();
        match like {
            ElementForm::Number(number) => {
                let slots = leaves.more_slots(most);
                Some(Row::new(slots, slot, most, number, compact, progress))
            }
            ElementForm::Layout(num_leaves) => {
                let layout = self.layout.as_deref()?; // it was read
                let slots = leaves.more_slots(most * num_leaves);
                Some(Row::new(slots, slot, most, Expected::Layout(layout), compact, progress))
            }
        }
    }

    /// Reads the layout of the last element, if it has one. Returns with it the number of elements
    /// of a row.
    fn read_layout(
        &mut self,
        leaves: &mut Sink,
        words: &[Word],
        compact: bool,
        most: usize,
    ) -> Option<(ElementForm, usize)> {
        let mut layout = self.layout.take().unwrap_or_else(|| Layout::boxed(compact));
        layout.compact = compact;
        let expected = self.expected_like_last(words);
        let last = self.last_range().and_then(|(first, end)| words.get(first..end));
        let words = last.unwrap_or_default();
        let (end, came_as_f32, slots) = (leaves.len(), self.came_as_f32, &leaves.slots());
        let read = !words.is_empty()
            && words.len() <= MOST_ROW_WORDS
            && most >= FEW
            && layout.read(words, |count| {
                let first = end.checked_sub(count)?;
                Some(move |leaf| slots.number_at(first + leaf, came_as_f32)) // at most the leaves
            });
        let num_leaves = layout.num_leaves();
        self.layout = Some(layout);
        let most = most.min(expected).min(BATCH / num_leaves.max(1));
        read.then_some((ElementForm::Layout(num_leaves), most))
    }

    /// Counts the elements of the last row. Checks that an element that was serialized again gave
    /// at least what it gave the first time. Returns where the next element begins, and how many
    /// leaves came.
    #[inline(never)]
    pub(in crate::flatten) fn end_row(
        &mut self,
        leaves: &mut Sink,
        words: &mut Vec<Word>,
        (at, is_leaf): (usize, bool),
        progress: &mut Progress,
    ) -> Result<(usize, usize)> {
        if let Some(Retry { like, different }) = progress.again.take() {
            self.checks -= 1; // it was counted
            let last = self.last_range().filter(|_| !is_leaf);
            let agrees = if last == Some(like) {
                different.divergence == Divergence::Perhaps
            } else {
                let words = |(first, end): (usize, usize)| words.get(first..end);
                let last = last.and_then(words).unwrap_or_default();
                agree(words(like).unwrap_or_default(), last, different.leaves)
            };
            if !agrees {
                return Err(gave_less());
            }
        }
        let Some(Outcome { done, slot, stop, are_numbers }) = progress.take() else {
            return Ok((at, 0));
        };
        leaves.resize(slot);
        let came = if are_numbers { (at, done) } else { (self.more_elements(words, at, done), 0) };
        match stop {
            Stop::Full => {}
            Stop::Refused => {
                let kind = leaves.kind();
                return Err(wrong_scalar(kind, kind));
            }
            Stop::Different(different) => {
                self.came_as_f32 = different.came_as_f32.unwrap_or(self.came_as_f32);
                let like = self.last_range().filter(|_| !are_numbers);
                progress.again = like.map(|like| Retry { like, different });
                self.checks += usize::from(progress.again.is_some()); // at most the sequences
            }
        }
        Ok(came)
    }
}

/// What the next elements look like.
enum ElementForm {
    Number(Expected<'static>),
    /// A layout with so many leaves.
    Layout(usize),
}

/// Whether the last of `leaves` leaves is at the same place in two elements.
fn agree(a: &[Word], b: &[Word], mut leaves: usize) -> bool {
    for (a, b) in a.iter().zip(b) {
        if leaves <= a.leaves().min(b.leaves()) {
            return true;
        }
        if !a.is(*b) {
            return false;
        }
        leaves -= a.leaves(); // there are more
    }
    leaves == 0
}
