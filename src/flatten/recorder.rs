//! Records the calls of a value, from its first difference to the script that was followed.
//!
//! Each call is a word at the end. An element that has the words of the one before is cut off again, and
//! becomes a count: a word `REPEAT` behind them. Without this, and without a script, the same nodes
//! would be made.

use std::mem;

use crate::bug::OrBug;
use crate::error::Result;
use crate::model::{Options, Word};

use super::follower::{FollowedSeq, Follower};
use super::labels::LabelTable;
use super::nodes::{MOST_SPARE, Made, WordReader, empty};
use super::script::MOST_KEPT_WORDS;
use super::word::{self, same};

/// The position of who records, at the end of no words. A script has no word there.
pub(super) const RECORDED: usize = 1 << (usize::BITS - 1);

/// From this number of words on, nodes are made before the value ends.
pub(super) const EARLY_FROM: usize = 16_384;

/// The maximum number of words for which a thread keeps room.
const MOST_SPARE_WORDS: usize = 131_072;

#[derive(Default)]
pub(super) struct Recorder {
    pub(super) words: Vec<Word>,
    pub(super) labels: LabelTable,
    /// The open sequences that are recorded.
    pub(super) open: Vec<RecordedSeq>,
    pub(super) reader: WordReader,
    /// The nodes of the words that were taken off.
    early: Option<Result<WordReader>>,
}

/// An open sequence: each element begins at the end of the words.
#[derive(Clone, Copy)]
pub(super) struct RecordedSeq {
    start: usize,
    /// The words of the last element, if there is one and the next may have the same.
    pub(super) last: Option<(usize, usize)>,
}

impl Recorder {
    /// Where the next word belongs.
    pub(super) fn position(&self) -> usize {
        RECORDED + self.words.len() // words have 24 bytes
    }

    pub(super) fn write(&mut self, word: Word) -> usize {
        self.words.push(word);
        self.position()
    }

    pub(super) fn words(&self, (first, end): (usize, usize)) -> &[Word] {
        self.words.get(first..end).or_bug()
    }

    /// Writes down what was followed before `at`, and goes on in the sequences that are open.
    #[inline(never)]
    pub(super) fn replay(&mut self, follower: &mut Follower, at: usize) {
        debug_assert!(self.words.is_empty() && self.open.is_empty(), "it records already");
        let Follower { words: script, open: followed, .. } = follower;
        let part = |first: usize, end: usize| script.get(first..end).or_bug();
        let words = &mut self.words;
        let mut from = 0;
        for FollowedSeq { start, last, count } in followed.drain(..) {
            words.extend_from_slice(part(from, start));
            from = start;
            let last = match last {
                Some((_, end)) if count > 0 => {
                    let first = words.len();
                    words.extend_from_slice(part(start, end));
                    let last = (first, words.len());
                    repeat(words, last.1, count - 1);
                    Some(last)
                }
                // It was copied just now: it ends at `start`, or before its count.
                Some((first, end)) if may_be_again(script.get(first)) => {
                    let behind = [first, end].map(|place| words.len() - (start - place));
                    Some(behind.into())
                }
                _ => None,
            };
            self.open.push(RecordedSeq { start: words.len(), last });
        }
        words.extend_from_slice(part(from, at));
    }

    #[inline(never)]
    pub(super) fn open_seq(&mut self) {
        self.open.push(RecordedSeq { start: self.words.len(), last: None });
    }

    /// An element came that is not a leaf. Returns where the next one begins.
    pub(super) fn element(&mut self, most_words: usize, options: Options) -> usize {
        self.count_if_again();
        if self.words.len() >= most_words {
            self.make_early(options);
        }
        self.position()
    }

    /// An element that has the words of the one before becomes a count.
    fn count_if_again(&mut self) {
        let Recorder { words, open, .. } = self;
        let Some(seq) = open.last_mut() else { return };
        let own = (seq.start, words.len());
        let part = |(first, end): (usize, usize)| words.get(first..end).or_bug();
        match seq.last {
            Some(last) if same(part(last), part(own)) => {
                words.truncate(seq.start);
                repeat(words, last.1, 1);
            }
            _ => seq.last = may_be_again(words.get(seq.start)).then_some(own),
        }
        seq.start = words.len();
    }

    /// More elements like the last one came.
    pub(super) fn elements(&mut self, count: usize) {
        if let Some(seq) = self.open.last_mut() {
            let end = seq.last.map_or(seq.start, |(_, end)| end);
            repeat(&mut self.words, end, count);
            seq.start = self.words.len();
        }
    }

    /// Makes the nodes of a long sequence while it is walked. So its words, which may need as much
    /// memory as the nodes, are never all there: those that no later one is compared with are taken
    /// off, if they are most of them.
    #[inline(never)]
    fn make_early(&mut self, options: Options) {
        let [seq] = &mut self.open[..] else { return };
        // The outermost sequence may go on like its last element.
        let end = seq.last.map_or(seq.start, |(first, _)| first);
        if end <= self.words.len() / 2 {
            return;
        }
        let made = self.early.get_or_insert_with(|| Ok(mem::take(&mut self.reader)));
        if let Ok(reader) = made
            && let Err(error) =
                reader.read_part(self.words.get(..end).or_bug(), &mut self.labels, options)
        {
            *made = Err(error);
        }
        self.words.drain(..end);
        seq.start -= end; // it is behind them
        seq.last = seq.last.map(|(first, last)| (first - end, last - end)); // as above
    }

    /// The words, if all are there, and they are so few that another value may be expected to
    /// have them.
    pub(super) fn few_words(&self) -> Option<&[Word]> {
        (self.words.len() <= MOST_KEPT_WORDS && self.early.is_none()).then_some(&*self.words)
    }

    /// The structure of the words from one on, which are those of a kept value.
    pub(super) fn made_from(&mut self, first: usize) -> Result<Made> {
        let words = self.words.get(first..).or_bug();
        self.reader.made_of(words, &mut self.labels, Options::default())
    }

    /// The structure of all words. Unless the labels are needed afterwards, they may be moved.
    pub(super) fn made(&mut self, options: Options, needs_labels: bool) -> Result<Made> {
        if !needs_labels && self.early.is_none() {
            self.labels.mark_single_uses(&self.words);
        }
        // They are large: they are moved only if they are there. What is read last goes on with them.
        if self.early.is_some()
            && let Some(early) = self.early.take()
        {
            self.reader = early?;
        }
        self.reader.made_of(&self.words, &mut self.labels, options)
    }

    /// Forgets all that was recorded.
    pub(super) fn clear(&mut self) {
        if self.early.is_some() {
            self.early = None; // it is large
        }
        empty(&mut self.words, MOST_SPARE_WORDS);
        empty(&mut self.open, MOST_SPARE);
        self.labels.clear(MOST_SPARE);
    }

    #[cfg(test)]
    pub(super) fn has_early_nodes(&self) -> bool {
        self.early.is_some()
    }
}

/// Counts more elements like the last one, whose words end at `end`. Only its count is behind them.
fn repeat(words: &mut Vec<Word>, end: usize, count: usize) {
    match words.get_mut(end) {
        Some(word) => *word = word.repeated(count),
        None if count > 0 => words.push(Word::new(word::REPEAT, "", count as u64 + 1)),
        None => {}
    }
}

/// Whether the next element may have the words of this one: there are no leaves between the two.
fn may_be_again(first: Option<&Word>) -> bool {
    first.is_some_and(|first| first.leaves() == 0)
}
