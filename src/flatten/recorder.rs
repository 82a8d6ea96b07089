//! Records the calls of a value, from its first difference to the script that was followed.
//!
//! Each call is a word at the end. An element of a sequence is recorded as well, and then compared with the one
//! before it and with a few earlier ones, so that equal elements take one word. `vec![Some(1.0), Some(2.0), None,
//! Some(3.0)]`:
//!
//! ```text
//! the second `Some` ended   Seq  Some  LEAVES, after 1  Some  LEAVES, after 1
//! it equals the last one    Seq  Some  LEAVES, after 1  REPEAT 2
//! `None` ended              Seq  Some  LEAVES, after 1  REPEAT 2  None
//! the last `Some` equals    Seq  Some  LEAVES, after 1  REPEAT 2  None  BACK_REFERENCE 4
//! an earlier element
//! ```
//!
//! At the end [`nodes`](super::nodes) makes the nodes of the words. If a long sequence fills the room that is kept
//! for them, they are made early, at the end of an element, and the words are forgotten.

use std::mem;
use std::sync::Arc;

use crate::bug::OrBug;
use crate::error::Result;
use crate::model::{Leaf, Limits, Options, Tree, Value, Word};
use crate::treedef::encoding::{SPARE, empty};

use super::follower::Follower;
use super::labels::{LabelStructures, LabelTable};
use super::nodes::{NewStructure, WordReader};
use super::word::{self, Forms, MOST_SCRIPT_WORDS, SeqForms, hash_of, same};

/// Positions from here on mean *recorded*: `RECORDED + n` is behind the first `n` recorded words. No script is
/// long enough to reach it.
pub(super) const RECORDED: usize = 1 << (usize::BITS - 1);

#[derive(Default)]
pub(super) struct Recorder {
    pub(super) words: Vec<Word>,
    pub(super) labels: LabelTable,
    /// The open sequences that are recorded.
    pub(super) open: Vec<RecordedSeq>,
    /// The words of their elements.
    forms: Forms<RecordedElement>,
    reader: WordReader,
    /// Makes the nodes of captured values.
    inner: WordReader,
    /// `Some` once nodes were made early, with the error if that failed.
    early: Option<Result<()>>,
}

/// A captured key, static or opaque leaf.
pub(super) enum CapturedValue {
    Scalar(Leaf),
    /// The number of its label.
    Known(usize),
    Compound(Value),
}

/// An open sequence: each element begins at the end of the words.
#[derive(Clone, Copy)]
pub(super) struct RecordedSeq {
    start: usize,
    /// The words of the last element, if there is one and the next may have the same.
    pub(super) last: Option<(usize, usize)>,
    /// Where the count of the last element is, or would be.
    count_at: usize,
    forms: SeqForms,
}

/// Elements of one form: they have the words of an earlier element.
pub(super) struct FormRun {
    pub(super) form: (usize, usize),
    /// At least one.
    pub(super) count: usize,
}

/// The words of an element, and their hash.
#[derive(Clone, Copy)]
struct RecordedElement {
    words: (usize, usize),
    hash: u64,
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
        let mut from = 0;
        for seq in &follower.open {
            let place = seq.place();
            self.words.extend_from_slice(follower.words((from, place)));
            from = seq.start;
            let mut count_at = self.words.len();
            // The words before this place and the words of the current element are here now.
            let moved = |(first, end)| (first + count_at - place, end + count_at - place);
            let last = seq.last().filter(|(first, _)| may_repeat(follower.word(*first)));
            let last = last.map(moved);
            if seq.count > 0 {
                self.words.extend_from_slice(follower.words((place, seq.shared())));
                count_at = self.words.len();
                repeat(&mut self.words, count_at, seq.count - 1);
            } else if self.words.last().is_some_and(|word| word.tag() == word::REPEAT) {
                count_at -= 1; // it is there
            }
            let (start, forms) = (self.words.len(), self.forms.open());
            self.open.push(RecordedSeq { start, last, count_at, forms });
        }
        self.words.extend_from_slice(follower.words((from, at)));
        follower.open.clear();
    }

    #[inline(never)]
    pub(super) fn open_seq(&mut self) {
        let (start, forms) = (self.words.len(), self.forms.open());
        self.open.push(RecordedSeq { start, last: None, count_at: start, forms });
    }

    pub(super) fn close_seq(&mut self) {
        if let Some(seq) = self.open.pop() {
            self.forms.close(seq.forms);
        }
    }

    /// An element came that is not a leaf. Returns where the next one begins.
    pub(super) fn element(&mut self) -> usize {
        self.shorten();
        self.position()
    }

    /// An element that has the words of an earlier one becomes a count or a back reference.
    fn shorten(&mut self) {
        let Recorder { words, open, forms, .. } = self;
        let Some(seq) = open.last_mut() else { return };
        let own = (seq.start, words.len());
        let part = |(first, end): (usize, usize)| words.get(first..end).or_bug();
        if let Some(last) = seq.last
            && same(part(last), part(own))
        {
            words.truncate(seq.start);
            repeat(words, seq.count_at, 1);
            seq.start = words.len();
            return;
        }
        let hash = hash_of(part(own));
        let is_equal =
            |form: &&RecordedElement| form.hash == hash && same(part(form.words), part(own));
        match forms.of(seq.forms).iter().find(is_equal).filter(|_| may_repeat(words.get(seq.start)))
        {
            Some(&RecordedElement { words: form, .. }) => {
                words.truncate(seq.start);
                self.elements_like(&[FormRun { form, count: 1 }]);
            }
            None => {
                seq.last = may_repeat(words.get(seq.start)).then_some(own);
                forms.add(&mut seq.forms, RecordedElement { words: own, hash });
                (seq.start, seq.count_at) = (words.len(), words.len());
            }
        }
    }

    /// More elements came that have the words of one that is the last or among the forms.
    pub(super) fn elements_like(&mut self, runs: &[FormRun]) {
        let Recorder { words, open, .. } = self;
        let Some(seq) = open.last_mut() else {
            debug_assert!(false, "no sequence is open");
            return;
        };
        debug_assert_eq!(seq.start, words.len(), "an element is incomplete");
        for &FormRun { form, count } in runs {
            let is_other = seq.last != Some(form);
            if is_other {
                words.push(Word::new(word::BACK_REFERENCE, "", (words.len() - form.0) as u64)); // it came before
                (seq.last, seq.count_at) = (Some(form), words.len());
            }
            repeat(words, seq.count_at, count - usize::from(is_other)); // at least one came
        }
        seq.start = words.len();
    }

    /// The words of the last element, and then the words of earlier elements that may come again.
    pub(super) fn forms(&self) -> impl Iterator<Item = (usize, usize)> {
        let seq = self.open.last();
        let last = seq.and_then(|seq| seq.last);
        let forms = seq.map_or(&[][..], |seq| self.forms.of(seq.forms)).iter();
        let others = forms.map(|form| form.words).filter(move |words| Some(*words) != last);
        last.into_iter().chain(others.filter(|words| may_repeat(self.words.get(words.0))))
    }

    /// Whether the words fill the room that is kept for them, so that nodes are made before the value ends. Without
    /// this, the words of 200,000 documents need three quarters of the memory of their nodes.
    pub(super) fn has_many_words(&self) -> bool {
        self.words.len() >= SPARE
    }

    /// An element of the outermost sequence ended: makes nodes of all words, and forgets them. The next element is
    /// compared with none.
    pub(super) fn make_early(&mut self, options: Options) -> usize {
        if let [seq] = &mut self.open[..] {
            if self.early.as_ref().is_none_or(Result::is_ok) {
                self.early = Some(self.reader.read_part(&self.words, &mut self.labels, options));
            }
            self.words.clear();
            self.forms.close(seq.forms);
            *seq = RecordedSeq { start: 0, last: None, count_at: 0, forms: self.forms.open() };
        }
        self.position()
    }

    /// The words, if all are there, and so few words and labels that another value may be expected to have them.
    pub(super) fn few_words(&self) -> Option<&[Word]> {
        let are_few = self.words.len() <= MOST_SCRIPT_WORDS && self.labels.are_few();
        (are_few && self.early.is_none()).then_some(&*self.words)
    }

    /// Takes off a value that was recorded from a word and a leaf on. It may be the label of that number.
    pub(super) fn captured_value(
        &mut self,
        word: usize,
        leaves: &mut Vec<Leaf>,
        leaf: usize,
        expected: Option<usize>,
        limits: Limits,
    ) -> Result<CapturedValue> {
        let Recorder { words, labels, inner, .. } = self;
        let words = words.get(word..).or_bug();
        if let [only] = words
            && only.tag() == word::LEAVES
            && let Some(leaf) = leaves.pop()
        {
            return Ok(CapturedValue::Scalar(leaf));
        }
        if let Some(structure) = labels.structures.get(words) {
            if let Some(number) = expected
                && labels.is_compound(number, structure, leaves.get(leaf..).or_bug())
            {
                leaves.truncate(leaf);
                return Ok(CapturedValue::Known(number));
            }
            let structure = Arc::clone(structure);
            let own = leaves.split_off(leaf.min(leaves.len()));
            return Ok(CapturedValue::Compound(Value::compound(structure, own.into())));
        }
        let mut own = leaves.split_off(leaf.min(leaves.len()));
        let NewStructure { treedef, swaps } =
            inner.structure_of(words, labels, Options::default())?;
        swaps.iter().for_each(|swap| swap.apply(&mut own)); // its leaves
        let treedef = treedef.with_limits(limits);
        if !LabelStructures::takes(words, &treedef) {
            return Ok(CapturedValue::Compound(Value::from_tree(Tree::from_parts(treedef, own))));
        }
        let known = expected.and_then(|number| labels.shared(number, &treedef)).cloned();
        let structure = known.unwrap_or_else(|| Arc::new(treedef));
        labels.note_structure(words, &structure);
        Ok(CapturedValue::Compound(Value::compound(structure, own.into())))
    }

    /// Makes room for this number of nodes, which the value should have, if they are many and the words may be as many.
    /// The nodes of a million enums then take 84 MB, not 117. The room is enough for one more element, which is then joined
    /// with the one before.
    pub(super) fn expect_nodes(&mut self, nodes: usize) {
        if nodes > SPARE && self.words.len() >= nodes / 4 {
            self.reader.reserve(nodes.saturating_add(SPARE));
        }
    }

    /// The structure of all words. Unless the labels are needed afterwards, they may be moved.
    pub(super) fn structure(
        &mut self,
        options: Options,
        needs_labels: bool,
    ) -> Result<NewStructure> {
        if let Some(early) = &mut self.early {
            mem::replace(early, Ok(()))?;
        }
        self.labels.are_moved = !needs_labels;
        self.reader.structure_of(&self.words, &mut self.labels, options)
    }

    /// Forgets all that was recorded.
    pub(super) fn clear(&mut self) {
        empty(&mut self.words);
        empty(&mut self.open);
        self.forms.clear();
        self.labels.clear();
        if self.early.take().is_some() {
            self.reader.clear();
        }
    }
}

/// Counts more elements like the last one, whose words end at `end`. The word there is its `REPEAT`, or there is none yet.
fn repeat(words: &mut Vec<Word>, end: usize, count: usize) {
    match words.get_mut(end) {
        Some(word) => *word = word.repeated(count),
        None if count > 0 => words.push(Word::new(word::REPEAT, "", count as u64 + 1)),
        None => {}
    }
}

/// Whether another element may have the words of one that begins with this word: no lone leaves are counted
/// before it.
fn may_repeat(first: Option<&Word>) -> bool {
    first.is_some_and(|first| first.leaves() == 0)
}
