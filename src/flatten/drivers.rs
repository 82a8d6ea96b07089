//! The two handlers of serde's calls: the [follower](super::follower), which compares them with a script,
//! and the [recorder](super::recorder), which writes them.
//!
//! The position says which of the two has the next call. It is passed by value from call to call. If it is an
//! index of the script, the call is followed; from [`RECORDED`] on, it is recorded. No flag says the same a second
//! time. A thread that has the script of `(vec![1.0, 2.0], None)` walks `(vec![3.0, 4.0], Some(5.0))`:
//!
//! ```text
//! script                               Tuple  Seq  CLOSE, after 2  None  CLOSE
//!
//!                       position       recorded
//! the sequence ended    3              -
//! `Some` comes          RECORDED + 4   Tuple  Seq  CLOSE, after 2  Some
//! the value ended       RECORDED + 5   Tuple  Seq  CLOSE, after 2  Some  CLOSE, after 1
//! ```
//!
//! At the first difference, [`Drivers::diverge`] copies the words that were followed, and the recorder goes on. What
//! was followed is not serialized again, and there is no way back to a script. (A value whose *first* word is another one may
//! still follow the script of another structure: `Tape::expects_other`.) Only a key, a static or an opaque
//! leaf is recorded while the value around it is followed: see [`captures`](super::captures). Its words are cut off before
//! the next call, so the record is empty when a value diverges.

use crate::model::Word;
use crate::treedef::encoding::empty;

use super::follower::Follower;
use super::recorder::{RECORDED, RecordedSeq, Recorder};
use super::script::KnownStructure;
use super::word::{self, Tag};

#[derive(Default)]
pub(super) struct Drivers {
    pub(super) follower: Follower,
    pub(super) recorder: Recorder,
    /// The number of leaves since the last word.
    pub(super) pending: u64,
}

/// The words of an element of the innermost sequence, in the script or recorded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    is_recorded: bool,
    words: (usize, usize),
}

impl Span {
    pub(super) fn recorded(words: (usize, usize)) -> Self {
        Span { is_recorded: true, words }
    }
}

#[inline(always)]
pub(super) fn is_recorded(at: usize) -> bool {
    at >= RECORDED
}

impl Drivers {
    /// Sets the structure that values are expected to have, or none.
    pub(super) fn install(&mut self, known: Option<KnownStructure>) {
        self.recorder.labels.follow(known.as_ref().map(|known| &known.script.labels));
        self.follower.install(known);
    }

    /// Ends a walk: forgets the record, but not the script.
    pub(super) fn clear(&mut self) {
        self.pending = 0;
        self.recorder.clear();
        empty(&mut self.follower.open);
        // The next walk will probably follow this record, so make room for its open sequences now.
        self.follower.open.reserve(self.recorder.open.capacity());
    }

    pub(super) fn no_seq_is_open(&self) -> bool {
        self.follower.open.is_empty() && self.recorder.open.is_empty()
    }

    /// Follows a word, if it is the expected one.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn follow(&mut self, at: usize, tag: Tag, name: &'static str) -> Option<usize> {
        let word = Word::new(tag, name, self.pending);
        let expected = self.follower.word(at)?;
        if !(if word::has_name(tag) { expected.is(word) } else { expected.has_code_of(word) }) {
            return None;
        }
        self.pending = 0;
        Some(at + 1) // it is in range
    }

    /// Copies the followed words before `at` into the recorder, which goes on. Returns its position.
    pub(super) fn diverge(&mut self, at: usize) -> usize {
        if !is_recorded(at) {
            self.recorder.replay(&mut self.follower, at);
        }
        self.recorder.position()
    }

    /// The structure of a value that made all calls of its script. Otherwise all was recorded.
    pub(super) fn end(&mut self, at: usize) -> Option<&KnownStructure> {
        if self.follower.complete(at).is_none() {
            self.diverge(at);
        }
        self.follower.complete(at)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn open_seq(&mut self, at: usize) {
        if is_recorded(at) { self.recorder.open_seq() } else { self.follower.open_seq(at) }
    }

    /// A sequence ends. Returns where its end belongs.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn close_seq(&mut self, at: usize) -> usize {
        if !is_recorded(at) && self.follower.close_seq() { at } else { self.close_recorded(at) }
    }

    /// A sequence ends that is recorded, or expected to go on. After a failure none is followed.
    #[inline(never)]
    fn close_recorded(&mut self, at: usize) -> usize {
        let has_diverged = is_recorded(at) || self.follower.open.is_empty();
        let at = if has_diverged { at } else { self.diverge(at) };
        self.recorder.close_seq();
        at
    }

    /// Where the next element begins, if one came that is not a leaf and was followed up to its end.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn followed_element(&mut self, at: usize) -> Option<usize> {
        let is_followed = !is_recorded(at) && self.pending == 0;
        is_followed.then(|| self.follower.element(at))
    }

    /// An element came that is not a leaf. Returns where the next one begins.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn element(&mut self, at: usize) -> usize {
        if is_recorded(at) { self.recorder.element() } else { self.follower.element(at) }
    }

    /// More elements like the last one came, which were recorded unless they are followed. Returns where the next
    /// one begins.
    pub(super) fn elements(&mut self, at: usize, count: usize) -> usize {
        if is_recorded(at) { self.recorder.position() } else { self.follower.elements(at, count) }
    }

    /// The words of the last element before `at`, if the next one may have the same.
    pub(super) fn last(&self, at: usize) -> Option<Span> {
        let is_recorded = is_recorded(at);
        let words = if is_recorded {
            self.recorder.open.last()?.last
        } else {
            self.follower.open.last()?.last()
        };
        words.map(|words| Span { is_recorded, words })
    }

    /// How many more elements like the last one are expected, or may come.
    pub(super) fn more_like_last(&self, at: usize) -> usize {
        match self.recorder.open.last() {
            _ if !is_recorded(at) => self.follower.more_like_last(),
            Some(RecordedSeq { last: Some(_), .. }) => usize::MAX,
            _ => 0,
        }
    }

    pub(super) fn words(&self, Span { is_recorded, words }: Span) -> &[Word] {
        if is_recorded { self.recorder.words(words) } else { self.follower.words(words) }
    }
}
