//! Follows a script: compares the calls of a value with those that are expected, and writes nothing.
//!
//! A position is an index of the script's words. While the value makes the same calls, only the
//! position moves. At the first difference the [recorder](super::recorder) goes on, which copies what was
//! followed; so nothing is serialized twice.

use std::sync::Arc;

use crate::bug::OrBug;
use crate::model::Word;

use super::script::Known;
use super::word::{self, Tag};

#[derive(Default)]
pub(super) struct Follower {
    /// The words of the script: none if nothing is expected, and after a failure.
    pub(super) words: Arc<[Word]>,
    pub(super) known: Option<Known>,
    /// The open sequences that are followed.
    pub(super) open: Vec<FollowedSeq>,
    /// Statics may differ from those of the script.
    pub(super) ignore_statics: bool,
}

/// An open sequence.
///
/// Elements that share a `REPEAT` begin at the same words until all of them came; then the next begins
/// behind it.
#[derive(Clone, Copy)]
pub(super) struct FollowedSeq {
    /// Where the words of the current element begin.
    pub(super) start: usize,
    /// The words of the last element, if one came.
    pub(super) last: Option<(usize, usize)>,
    /// How many of the elements came that share a `REPEAT`. 0 again once all of them came.
    pub(super) count: usize,
}

impl Follower {
    /// From now on, or no longer, values of a structure are expected.
    pub(super) fn install(&mut self, known: Option<Known>) {
        self.words =
            known.as_ref().map(|known| Arc::clone(&known.script.words)).unwrap_or_default();
        self.known = known;
    }

    /// No call is expected any more.
    pub(super) fn stop(&mut self) {
        self.open.clear();
        self.install(None);
    }

    #[inline(always)]
    pub(super) fn word(&self, at: usize) -> Option<&Word> {
        self.words.get(at)
    }

    pub(super) fn words(&self, (first, end): (usize, usize)) -> &[Word] {
        self.words.get(first..end).or_bug()
    }

    /// The structure, if a value that ends at `at` has made all calls.
    pub(super) fn complete(&self, at: usize) -> Option<&Known> {
        self.known.as_ref().filter(|_| at == self.words.len())
    }

    /// The number of the label that is expected.
    pub(super) fn label(&self, at: usize, tag: Tag) -> Option<usize> {
        self.word(at).filter(|word| word.tag() == tag).map(|word| word.number())
    }

    /// Whether another label may come instead of the expected one.
    pub(super) fn overlooks(&self, tag: Tag) -> bool {
        self.ignore_statics && tag == word::STATIC
    }

    #[inline(always)]
    pub(super) fn open_seq(&mut self, at: usize) {
        self.open.push(FollowedSeq { start: at, last: None, count: 0 });
    }

    /// Closes a sequence, if it may end here: not before all elements that share a `REPEAT`.
    #[inline(always)]
    pub(super) fn close_seq(&mut self) -> bool {
        self.open.pop_if(|seq| seq.count == 0).is_some()
    }

    /// An element came that is not a leaf. Returns where the next one begins.
    pub(super) fn element(&mut self, at: usize) -> usize {
        let Some(seq) = self.open.last_mut() else { return at };
        seq.last = Some((seq.start, at));
        seq.start = match self.words.get(at) {
            Some(word) if word.tag() == word::REPEAT => {
                seq.count += 1; // at most the elements
                if seq.count < word.number() {
                    seq.start
                } else {
                    seq.count = 0;
                    at + 1 // it is in range
                }
            }
            _ => at,
        };
        seq.start
    }

    /// How many more elements like the last one are expected.
    pub(super) fn more_like_last(&self) -> usize {
        match self.open.last() {
            Some(FollowedSeq { start, last: Some((first, end)), count }) if first == start => {
                self.label(*end, word::REPEAT).unwrap_or_default().saturating_sub(*count)
            }
            _ => 0,
        }
    }

    /// More elements like the last one came, at most those that are expected.
    pub(super) fn elements(&mut self, at: usize, count: usize) -> usize {
        let Some(seq) = self.open.last_mut() else {
            debug_assert!(false, "no sequence is open");
            return at;
        };
        let end = seq.last.map_or(seq.start, |(_, end)| end);
        seq.count += count; // at most the elements
        if self.words.get(end).is_none_or(|word| seq.count == word.number()) {
            (seq.count, seq.start) = (0, end + 1); // behind its count
        }
        seq.start
    }
}
