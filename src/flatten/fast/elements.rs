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
use crate::model::NodeKind;

use super::super::word::{self, KindSet, Word};
use super::element::{At, Cells, Like, MOST_LEAVES, MOST_WORDS};
use super::follow::Follow;
use super::rows::{FEW, Outcome, Progress, Retry, Row, kinds_of_row};

/// The most leaves for which a row makes room at once.
const MOST_ROOM: usize = 8_192;

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
    /// The kinds of scalars that are leaves.
    pub(in crate::flatten) takes: KindSet,
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
        let SeqState { leaves, words, compact, is_leaf, takes, is_owning, most } = seq;
        let expected = if is_leaf { usize::MAX } else { self.expected_like_last(words) };
        if expected < FEW {
            return None;
        }
        let last = self.last_range().filter(|_| !is_leaf);
        let words = last.and_then(|(first, end)| words.get(first..end)).unwrap_or_default();
        let end = if is_leaf { Some(At::end(0, 1, 1)) } else { end_of(words) };
        let takes = takes & kinds_of_row(leaves);
        let Some(end) = end.filter(|_| takes != 0 && !is_owning) else {
            if is_leaf && let Some(most) = most {
                leaves.reserve(most.min(MOST_ROOM));
            }
            progress.give_up();
            return None;
        };
        if let Some(most) = most {
            leaves.reserve(most.min(expected).saturating_mul(end.cells()).min(MOST_ROOM));
        }
        let cells = self.cells.get_or_insert_with(Cells::boxed);
        cells.expect(words);
        let like = Like { end, takes, compact, cells };
        Some(Row::new(leaves, like, most.map_or(expected, |most| most.min(expected)), progress))
    }

    /// Counts the elements of the last row. Checks that an element that was serialized again gave
    /// at least what it gave the first time. Returns where the next element begins, and how many
    /// leaves came.
    #[inline(never)]
    pub(in crate::flatten) fn end_row(
        &mut self,
        words: &mut Vec<Word>,
        (at, is_leaf): (usize, bool),
        progress: &mut Progress,
    ) -> Result<(usize, usize)> {
        if let Some(Retry { like, different }) = progress.again.take() {
            self.checks -= 1; // it was counted
            let last = self.last_range().filter(|_| !is_leaf);
            let agrees = if last == Some(like) {
                !different.surely
            } else {
                let words = |(first, end): (usize, usize)| words.get(first..end);
                let last = last.and_then(words).unwrap_or_default();
                agree(words(like).unwrap_or_default(), last, different.leaves)
            };
            if !agrees {
                return Err(gave_less());
            }
        }
        let Some(Outcome { done, different }) = progress.take() else {
            return Ok((at, 0));
        };
        if is_leaf {
            return Ok((at, done));
        }
        let next = self.more_elements(words, at, done);
        progress.again =
            different.and_then(|different| Some(Retry { like: self.last_range()?, different }));
        self.checks += usize::from(progress.again.is_some()); // at most the sequences
        Ok((next, 0))
    }
}

/// The end of an element that has these words, if a row may take it: there are few of them, and each
/// such element makes the same calls.
fn end_of(words: &[Word]) -> Option<At> {
    let leaves = words.iter().map(|word| word.leaves()).sum();
    let (last, before) = words.split_last()?;
    let (len, pending) = match last.tag() {
        word::LEAVES => (before.len(), last.leaves()),
        _ => (words.len(), 0),
    };
    let may = words.len() <= MOST_WORDS && leaves <= MOST_LEAVES && words.iter().all(is_fixed);
    may.then(|| At::end(len, leaves, pending))
}

/// Whether a word may be one of an element in a row.
fn is_fixed(word: &Word) -> bool {
    match word.tag() {
        word::FIELD | word::CLOSE | word::LEAVES => true,
        _ => word.kind().is_some_and(NodeKind::is_fixed),
    }
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
