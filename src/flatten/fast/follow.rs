//! Follows words that are expected, instead of writing them again.
//!
//! Expected are the words of the structure that is given to `flatten_like`, or of the last one that this
//! thread met twice. They are on the tape already. While the value makes the same calls, only the
//! position moves. At the first difference the words that were followed are copied to the end of the
//! tape, and from there on all is written. So nothing is serialized twice.
//!
//! A written element that has the words of the one before is cut off again, and becomes a count: a
//! word `REPEAT` behind them.
//! Writing alone, without this file, would give the same tape without these counts.

use crate::bug::OrBug;
use std::hash::BuildHasher;

use hashbrown::DefaultHashBuilder;

use super::super::labels::Label;
use super::super::nodes::Made;
use super::super::word::{self, Word, same};
use super::element::Cells;

#[derive(Default)]
pub(in crate::flatten) struct Follow {
    /// The open sequences.
    pub(in crate::flatten) frames: Vec<Frame>,
    /// The words of the value begin here. Before them are those of the first known structure.
    pub(in crate::flatten) base: usize,
    /// So far the value has the words of the first known structure, and none of its own.
    pub(in crate::flatten) follows_known: bool,
    /// Statics may differ from those of the first known structure.
    pub(super) ignore_statics: bool,
    /// The structures of this thread, the last one first.
    pub(super) known: Vec<KnownStructure>,
    /// The last structures that came once.
    pub(super) seen: SeenOnce,
    /// The number of words and of labels of the first known structure, while they are on the tape.
    pub(super) lent: Option<(usize, usize)>,
    /// It is a walk like a treedef, which keeps its words even if they are too many for the thread.
    pub(super) keeps_large: bool,
    /// In how many open sequences an element is serialized again, and compared with the one before.
    pub(super) checks: usize,
    /// The structure of the value, if the thread does not remember it: it is too large, or came for the
    /// first time.
    pub(super) large: Option<Made>,
    /// Room for the numbers of elements.
    pub(super) cells: Option<Box<Cells>>,
}

/// An open sequence.
///
/// While it is written, each element begins at the end of the tape. While it is followed, elements that
/// share a `REPEAT` begin at the same words until all of them came; then the next begins behind it.
#[derive(Clone, Copy)]
pub(in crate::flatten) struct Frame {
    /// Where the current element begins: its own words, or those that it follows.
    pub(super) start: usize,
    /// The words of the last element, if there is one and the next may have the same.
    pub(super) last: Option<(usize, usize)>,
    /// How many elements with these words came. If they are followed, 0 again once all of them came.
    pub(super) count: usize,
    /// The words of the sequence itself are written. Otherwise they are followed, too.
    pub(super) writes: bool,
}

/// A structure, and how its values are walked.
pub(super) struct KnownStructure {
    pub(super) words: Vec<Word>,
    pub(super) labels: Vec<Label>,
    pub(super) made: Made,
}

/// The maximum number of structures that a thread remembers.
pub(super) const MOST_KNOWN: usize = 8;

/// Structures that came lately and were not kept: one that never comes again is not worth the copies.
#[derive(Default)]
pub(super) struct SeenOnce {
    hashes: [u64; MOST_KNOWN],
    next: usize,
    hasher: DefaultHashBuilder,
}

impl SeenOnce {
    /// Whether a structure with these words came lately. From now on it did.
    pub(super) fn come(&mut self, words: &[Word]) -> bool {
        let hash = self.hasher.hash_one(words);
        let again = self.hashes.contains(&hash);
        if !again {
            self.hashes[self.next] = hash; // in range
            self.next = (self.next + 1) % MOST_KNOWN;
        }
        again
    }
}

impl Follow {
    /// How many more elements like the last one may come as expected.
    pub(super) fn expected_like_last(&self, words: &[Word]) -> usize {
        let Some(frame) = self.frames.last() else { return 0 };
        match frame.last {
            Some(_) if frame.writes => usize::MAX,
            // All elements like it came.
            Some((first, _)) if first != frame.start => 0,
            Some((_, end)) => match words.get(end) {
                Some(word) if word.tag() == word::REPEAT => {
                    word.number().saturating_sub(frame.count)
                }
                _ => 0,
            },
            None => 0,
        }
    }

    /// Where the words of the last element are.
    pub(super) fn last_range(&self) -> Option<(usize, usize)> {
        self.frames.last()?.last
    }
}

impl Follow {
    /// A sequence begins, and its first element at `at`. So many words are on the tape.
    #[inline]
    pub(in crate::flatten) fn open_seq(&mut self, at: usize, words: usize) {
        self.frames.push(Frame { start: at, last: None, count: 0, writes: at == words });
    }

    /// A sequence ends. Returns where its end belongs.
    #[inline]
    pub(in crate::flatten) fn close_seq(&mut self, words: &mut Vec<Word>, at: usize) -> usize {
        let at = match self.frames.last() {
            Some(frame) if frame.writes => words.len(),
            Some(frame) if frame.count > 0 => self.write_followed(words, at),
            _ => at,
        };
        self.frames.pop();
        at
    }

    /// An element came that is not a leaf. Returns where the next one begins.
    pub(in crate::flatten) fn element(&mut self, words: &mut Vec<Word>, at: usize) -> usize {
        let Some(frame) = self.frames.last_mut() else { return at };
        if !frame.writes {
            frame.last = Some((frame.start, at));
            frame.start = match words.get(at) {
                Some(word) if word.tag() == word::REPEAT => {
                    frame.count += 1; // at most the elements
                    if frame.count < word.number() {
                        frame.start
                    } else {
                        frame.count = 0;
                        at + 1 // it is in range
                    }
                }
                _ => at,
            };
        } else {
            if is_again(words, *frame, at) {
                words.truncate(frame.start);
                frame.count += 1; // at most the elements
                repeat(words, frame.last.map_or(at, |(_, end)| end), 1);
            } else if may_be_again(words.get(frame.start)) {
                (frame.last, frame.count) = (Some((frame.start, at)), 1);
            } else {
                (frame.last, frame.count) = (None, 0);
            }
            frame.start = words.len();
        }
        frame.start
    }

    /// Writes down what was followed before `at`. Returns where the next word belongs: at the end.
    #[inline(never)]
    pub(in crate::flatten) fn write_followed(&mut self, words: &mut Vec<Word>, at: usize) -> usize {
        self.follows_known = false;
        self.base = words.len();
        let mut from = 0;
        for frame in &mut self.frames {
            let Frame { start, last, count, .. } = *frame;
            words.extend_from_within(from..start);
            from = start;
            frame.writes = true;
            match last {
                Some((_, end)) if count > 0 => {
                    let copy = words.len();
                    words.extend_from_within(start..end);
                    frame.last = Some((copy, words.len()));
                    repeat(words, words.len(), count - 1);
                }
                Some((first, end)) if may_be_again(words.get(first)) => {
                    // It was copied just now: it ends at `start`, or before its count.
                    let moved = words.len() - start;
                    let repeat = words.get(end..start).and_then(|between| between.first());
                    frame.count = repeat.map_or(1, |repeat| repeat.number());
                    frame.last = Some((first + moved, end + moved));
                }
                _ => frame.last = None,
            }
            frame.start = words.len();
        }
        words.extend_from_within(from..at);
        words.len()
    }

    /// More elements like the last one came, at most those that are expected.
    pub(super) fn more_elements(
        &mut self,
        words: &mut Vec<Word>,
        at: usize,
        count: usize,
    ) -> usize {
        let Some(frame) = self.frames.last_mut() else {
            debug_assert!(false, "no sequence is open");
            return at;
        };
        let end = frame.last.map_or(frame.start, |(_, end)| end);
        frame.count += count; // at most the elements
        if frame.writes {
            repeat(words, end, count);
            frame.start = words.len();
        } else if words.get(end).is_none_or(|word| frame.count == word.number()) {
            (frame.count, frame.start) = (0, end + 1); // behind its count
        }
        frame.start
    }
}

/// Whether an element that was written has the words of the last one.
fn is_again(words: &[Word], frame: Frame, at: usize) -> bool {
    let last = frame.last.and_then(|(first, end)| words.get(first..end));
    last.is_some_and(|last| same(last, words.get(frame.start..at).or_bug()))
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
