//! Follows a script: compares the calls of a value with those that are expected, and writes nothing.
//!
//! As long as the value makes the same calls, only the position moves. The script has
//! each distinct element of a sequence once, so the follower jumps back to its first word. With the script of `vec![Some(1.0), Some(2.0), None]`:
//!
//! ```text
//! script       0 Seq   1 Some   2 LEAVES, after 1   3 REPEAT 2   4 None   5 CLOSE
//!
//!                         position    elements that share the REPEAT
//! the sequence began      1           0
//! the first ended         1           1    the next one begins at its words again
//! the second ended        4           0    both came
//! the third ended         5           0
//! ```

use std::sync::Arc;

use crate::bug::OrBug;
use crate::model::Word;

use super::script::KnownStructure;
use super::word::{self, Tag};

#[derive(Default)]
pub(super) struct Follower {
    /// The words of the script: none if nothing is expected, and after a failure. They are here too, because each call
    /// reads one.
    pub(super) words: Arc<[Word]>,
    pub(super) known: Option<KnownStructure>,
    /// The open sequences that are followed.
    pub(super) open: Vec<FollowedSeq>,
}

/// An open sequence.
///
/// An element for which there is a `BACK_REFERENCE` has the words of an earlier one. Elements that share a
/// `REPEAT` begin at the same words until all of them came; then the next begins behind it.
#[derive(Clone, Copy)]
pub(super) struct FollowedSeq {
    /// Where the words of the current element begin.
    pub(super) start: usize,
    /// The place behind its `BACK_REFERENCE`. 0 if it has words of its own.
    behind_reference: usize,
    /// The words of the last element. They are 0 and 0 if none came.
    last: (usize, usize),
    /// How many of the elements came that share a `REPEAT`. 0 again once all of them came.
    pub(super) count: usize,
}

impl FollowedSeq {
    /// The place of the current element, where its own words or its `BACK_REFERENCE` are.
    pub(super) fn place(&self) -> usize {
        if self.behind_reference == 0 { self.start } else { self.behind_reference - 1 }
    }

    pub(super) fn last(&self) -> Option<(usize, usize)> {
        (self.last.1 > 0).then_some(self.last)
    }

    /// The place of the `REPEAT` for the last element, if the next one shares it.
    pub(super) fn shared(&self) -> usize {
        if self.behind_reference == 0 { self.last.1 } else { self.behind_reference }
    }

    /// The next element begins at a word, or where its `BACK_REFERENCE` says.
    fn begin(&mut self, at: usize, words: &[Word]) -> usize {
        (self.start, self.behind_reference) = match words.get(at) {
            // The element was recorded this number of words behind the earlier one.
            Some(word) if word.tag() == word::BACK_REFERENCE => (at - word.number(), at + 1),
            _ => (at, 0),
        };
        self.start
    }
}

impl Follower {
    /// Sets the structure that values are expected to have, or none.
    pub(super) fn install(&mut self, known: Option<KnownStructure>) {
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
    pub(super) fn complete(&self, at: usize) -> Option<&KnownStructure> {
        self.known.as_ref().filter(|_| at == self.words.len())
    }

    /// The number of the label that is expected.
    pub(super) fn label(&self, at: usize, tag: Tag) -> Option<usize> {
        self.word(at).filter(|word| word.tag() == tag).map(|word| word.number())
    }

    /// Whether another label may come instead of the expected one.
    pub(super) fn overlooks(&self, tag: Tag) -> bool {
        tag == word::STATIC && self.known.as_ref().is_some_and(|known| known.ignores_statics)
    }

    #[inline(always)]
    pub(super) fn open_seq(&mut self, at: usize) {
        self.open.push(FollowedSeq { start: at, behind_reference: 0, last: (0, 0), count: 0 });
    }

    /// Closes a sequence, if it may end here: not before all elements that share a `REPEAT`, or before
    /// one for which there is a `BACK_REFERENCE`.
    #[inline(always)]
    pub(super) fn close_seq(&mut self) -> bool {
        self.open.pop_if(|seq| seq.count == 0 && seq.behind_reference == 0).is_some()
    }

    /// An element came that is not a leaf. Returns where the next one begins.
    pub(super) fn element(&mut self, at: usize) -> usize {
        let Follower { words, open, .. } = self;
        let Some(seq) = open.last_mut() else { return at };
        seq.last = (seq.start, at);
        let behind = seq.shared();
        match words.get(behind) {
            Some(word) if word.tag() == word::REPEAT => self.elements(at, 1),
            _ => seq.begin(behind, words),
        }
    }

    /// How many more elements like the last one are expected.
    pub(super) fn more_like_last(&self) -> usize {
        match self.open.last() {
            Some(seq) if seq.count > 0 => {
                self.label(seq.shared(), word::REPEAT).or_bug().saturating_sub(seq.count)
            }
            _ => 0,
        }
    }

    /// More elements like the last one came, but no more than are expected.
    pub(super) fn elements(&mut self, at: usize, count: usize) -> usize {
        let Follower { words, open, .. } = self;
        let Some(seq) = open.last_mut() else {
            debug_assert!(false, "no sequence is open");
            return at;
        };
        seq.count += count; // at most the elements
        if words.get(seq.shared()).is_some_and(|word| seq.count < word.number()) {
            return seq.start;
        }
        seq.count = 0;
        seq.begin(seq.shared() + 1, words) // behind its count
    }
}
