//! Elements of a sequence that are expected to look like one of the last: numbers, and structs, tuples
//! and options of numbers.
//!
//! The walk takes the first element call by call, and each element that is different. The elements
//! between them are compared with the [words](super::element) of the forms so far, and their numbers are
//! added to the leaves here, a row at a time. While a script is followed, one form is expected.
//!
//! An element that turns out to be different has been serialized in part, and is serialized again.
//! A `Serialize` implementation that gives something only once notices this. So no row is tried if
//! a field of the last element, or a child of it, has a type that owns something. Other cases are reported as errors as far as
//! possible, and [`Flattener::serialize_once`] serializes nothing twice.
//!
//! [`Flattener::serialize_once`]: crate::Flattener::serialize_once

use std::cell::Cell;

use serde::Serialize;

use crate::bug::OrBug;
use crate::error::{ElementMismatch, Error, Result};
use crate::leaf::bits::{Bits, MOST_PLAIN_LEAVES, is_number, scalar};
use crate::leaf::sink::Sink;
use crate::model::{Leaf, LeafKind, NodeKind, Word};
use crate::treedef::encoding::SPARE;
use crate::treedef::node_ref::is_name;

use super::super::drivers::{Drivers, Span, is_recorded};
use super::super::recorder::FormRun;
use super::super::word::{self, ALL_KINDS, KindSet, MOST_FORMS, bit};
use super::element::{
    ElementPosition, ExpectedElement, MOST_NUMBERS, NumberChunk, RowBuffers, RowForm, SeenPart,
};

/// The minimum number of elements for which a row is tried. With 4, vectors of 8 numbers take 71 instructions a leaf and
/// not 38; structs of short lists, such as `net` and `orbit`, take as many.
pub(in crate::flatten) const FEW: usize = 12;

/// The minimum number of equal elements in a script for which a row is tried. With 12, `enums` take 191 instructions a leaf
/// in `flatten_like`, and not 120.
const FEW_EXPECTED: usize = 4;

/// Whether a row may be worth a try in a sequence of at most `most` elements.
#[cfg_attr(not(debug_assertions), inline)]
pub(in crate::flatten) fn may_have_rows(most: Option<usize>) -> bool {
    most.is_none_or(|most| most > FEW)
}

/// The next elements.
pub(in crate::flatten) struct Row<'r> {
    like: ExpectedElement<'r>,
    chunk: &'r mut NumberChunk,
    leaves: &'r mut Sink,
    /// While a script is followed, the most elements that may still be taken. Otherwise, 0 ends the row.
    left: usize,
    progress: &'r mut Progress,
    drivers: &'r mut Drivers,
    /// The forms that elements may have, the expected one first. There are none while a script is followed.
    forms: &'r [RowForm],
    /// The elements that are not recorded yet. The elements of the first form from the cell `since` on come behind them.
    runs: &'r mut Vec<FormRun>,
    since: usize,
    /// The row ends when there are many words.
    is_early: bool,
}

/// The state of the rows of a sequence.
#[derive(Default)]
pub(in crate::flatten) struct Progress {
    /// How many elements were as expected, and how often one was not.
    pub(in crate::flatten) hits: usize,
    misses: usize,
    /// How many elements ended a row of several forms. As many as are remembered do not count as misses.
    new: usize,
    /// The outcome of the last row, until it is taken.
    outcome: Option<Outcome>,
    /// The element that is recorded again, after a part of it was seen.
    retry: Option<Retry>,
    /// The last such element gave less than that.
    gave_less: bool,
}

/// The outcome of a row.
#[derive(Default)]
struct Outcome {
    /// The number of elements that were put, while a script is followed.
    done: usize,
    /// The next element may be different. It was serialized in part.
    different: Option<SeenPart>,
    /// The recorded words of the form that it had so far.
    like: Option<(usize, usize)>,
}

/// An element that is serialized again.
struct Retry {
    /// The words of the element that it was expected to be like, unless that was a number.
    like: Option<Span>,
    different: SeenPart,
}

impl Progress {
    /// Whether another row is worth a try.
    #[inline]
    pub(in crate::flatten) fn pays(&self) -> bool {
        4 * self.misses <= self.hits.saturating_add(4)
    }

    /// Whether there is an element to check, or another row may be worth a try. There are at most so
    /// many more elements, if that is known.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(in crate::flatten) fn may_pay(&self, most: Option<usize>) -> bool {
        self.retry.is_some() || most.is_none_or(|most| most >= FEW) && self.pays()
    }

    fn miss(&mut self) {
        self.misses += 1; // at most the elements so far
    }

    /// No row of the sequence is worth a try.
    pub(in crate::flatten) fn never_pays(&mut self) {
        self.misses = usize::MAX / 4;
    }

    /// Whether the last element was serialized again, and is not compared yet.
    #[inline]
    pub(in crate::flatten) fn has_retry(&self) -> bool {
        self.retry.is_some()
    }

    /// Whether there is nothing to handle.
    #[inline]
    pub(in crate::flatten) fn is_idle(&self) -> bool {
        self.outcome.is_none() && !self.gave_less
    }

    /// Takes the outcome of the last row.
    fn take(&mut self) -> Option<Outcome> {
        let outcome = self.outcome.take()?;
        self.hits += outcome.done; // at most the elements so far
        if outcome.like.is_some() && self.new < MOST_FORMS {
            self.new += 1;
        } else {
            self.misses += usize::from(outcome.different.is_some());
        }
        Some(outcome)
    }
}

/// Puts elements as long as they look alike. Returns the next element, which may be different.
pub(in crate::flatten) fn put_row<I: Iterator<Item: Serialize>>(
    row: Option<Row<'_>>,
    items: &mut I,
) -> Option<I::Item> {
    let Some(mut row) = row else { return items.next() };
    let mut first = 0;
    'forms: loop {
        // Read again, so that nothing of it is kept while the row is asked about an element.
        let (like, end, chunk) = (row.like, row.end(), &mut *row.chunk);
        while first < end.min(MOST_NUMBERS) {
            let Some(item) = items.next() else {
                row.put(first);
                return None;
            };
            if let Err(error) = like.take(first, chunk, &item) {
                match row.other(first, error) {
                    Some(next) => {
                        first = next;
                        continue 'forms;
                    }
                    None => return Some(item),
                }
            }
            first += like.step(); // at most the end
        }
        if end == 0 {
            return items.next();
        }
        row.put(first);
        first = 0;
    }
}

impl Row<'_> {
    /// The first cell, or place in the chunk, at which no element begins.
    fn end(&self) -> usize {
        match self.forms {
            [] => self.like.elements(MOST_NUMBERS).min(self.left) * self.like.step(),
            _ if self.left == 0 => 0,
            _ => MOST_NUMBERS,
        }
    }

    /// Moves the numbers of the elements before a cell, or a place in the chunk, into the leaves.
    #[inline(never)]
    fn put(&mut self, first: usize) {
        let ExpectedElement { cells, end, kind, .. } = self.like;
        let count = self.like.elements(first);
        if self.like.are_numbers() {
            self.leaves.extend(kind, self.chunk.first(cells, count, kind));
            self.progress.hits += count; // at most the elements
            self.drivers.pending += count as u64; // at most the leaves
            return;
        }
        let leaves = if self.forms.is_empty() {
            self.left -= count; // at most the room
            if let Some(outcome) = &mut self.progress.outcome {
                outcome.done += count; // at most the elements
            }
            count * end.cells() // within the cells
        } else {
            self.count(first);
            self.since = 0;
            self.drivers.recorder.elements_like(self.runs);
            self.runs.clear();
            // The walk makes nodes of the words before another row.
            if self.is_early && self.drivers.recorder.has_many_words() {
                self.left = 0;
            }
            first
        };
        let (bits, kinds) = (cells.bits.get(..leaves), cells.kinds.get(..leaves));
        put_cells(self.leaves, bits.or_bug(), kinds.or_bug());
    }

    /// Counts the elements of the first form before a cell.
    fn count(&mut self, first: usize) {
        let count = self.like.elements(first - self.since); // it is behind the others
        if count > 0
            && let Some(form) = self.forms.first()
        {
            self.runs.push(FormRun { form: form.recorded, count });
            self.progress.hits += count; // at most the elements
        }
    }

    /// An element came that is not of the first form. Returns the cell of the next one, if it is of another form.
    #[inline(never)]
    fn other(&mut self, first: usize, error: ElementMismatch) -> Option<usize> {
        let Some(form) = error.form(self.forms) else {
            self.stop(first, error);
            return None;
        };
        self.count(first);
        self.runs.push(FormRun { form: form.recorded, count: 1 });
        self.progress.hits += 1; // at most the elements
        self.since = first + form.end.cells();
        // Those without leaves need no cells.
        if self.runs.len() >= MOST_NUMBERS {
            self.put(self.since);
        }
        Some(self.since)
    }

    /// Ends the row before an element that may be different.
    #[inline(never)]
    fn stop(&mut self, first: usize, error: ElementMismatch) {
        self.put(first);
        match &mut self.progress.outcome {
            Some(outcome) => {
                let place = error.place();
                let form = self.forms.iter().rfind(|form| form.first <= place);
                let first = form.map_or(0, |form| form.first);
                outcome.different = Some(self.like.different(error, first));
                outcome.like = form.map(|form| form.recorded);
            }
            None => {
                // A number of another kind must be a leaf again. Anything else was refused unseen.
                let different = (error.0 == ElementMismatch::NUMBER)
                    .then_some(SeenPart { surely: false, leaves: 1 });
                self.progress.misses += usize::from(different.is_none()); // at most the elements
                self.progress.outcome = Some(Outcome { different, ..Outcome::default() });
            }
        }
    }
}

/// The error for a value that serialized less on its second call.
#[cold]
fn gave_less() -> Error {
    Error::protocol("this `Serialize` implementation returned less on its second call")
        .with_hint("use `Flattener::serialize_once(true)`")
}

/// The state of a sequence between two elements.
pub(in crate::flatten) struct SeqState<'t> {
    pub(in crate::flatten) leaves: &'t mut Sink,
    pub(in crate::flatten) drivers: &'t mut Drivers,
    /// Where the next element begins.
    pub(in crate::flatten) at: usize,
    pub(in crate::flatten) compact: bool,
    /// The last element is a leaf.
    pub(in crate::flatten) is_leaf: bool,
    /// The kinds of scalars that are leaves.
    pub(in crate::flatten) takes: KindSet,
    /// A type inside the last element owns something.
    pub(in crate::flatten) is_owning: bool,
    /// The most elements that may come, if the iterator says so.
    pub(in crate::flatten) most: Option<usize>,
    /// Nodes are made of the words of elements when there are many.
    pub(in crate::flatten) is_early: bool,
}

/// State that the rows of a walk share.
#[derive(Default)]
pub(in crate::flatten) struct Rows {
    buffers: Option<Box<RowBuffers>>,
    /// The kind of the last scalar that took the slow path, `Tape::scalar_here`.
    pub(in crate::flatten) last_kind: Option<LeafKind>,
    /// How many children so far have a type that owns something.
    pub(in crate::flatten) owning: usize,
    /// In how many open sequences an element is serialized again, and compared with the element that it was expected to be like.
    pub(in crate::flatten) checks: usize,
}

impl Rows {
    /// A row for elements that look like the last one, if a row is worth a try.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(in crate::flatten) fn row<'r>(
        &'r mut self,
        seq: SeqState<'r>,
        progress: &'r mut Progress,
    ) -> Option<Row<'r>> {
        if seq.is_leaf {
            return self.numbers(seq, progress);
        }
        let SeqState { leaves, drivers, at, compact, takes, is_owning, most, is_early, .. } = seq;
        let expected = drivers.more_like_last(at);
        if expected < FEW_EXPECTED {
            return None;
        }
        let buffers = &mut **self.buffers.get_or_insert_with(RowBuffers::boxed);
        let end = if is_owning { None } else { buffers.expect(drivers, at) };
        let takes = end.map_or(0, |end| takes & kinds_of_row(leaves, end.cells() > 0));
        let Some(end) = end.filter(|_| takes != 0) else {
            progress.miss();
            return None;
        };
        if let Some(most) = most {
            leaves.reserve(most.min(expected).saturating_mul(end.cells()).min(SPARE));
        }
        let RowBuffers { cells, chunk, forms, runs } = buffers;
        runs.clear();
        let like = ExpectedElement { end, kind: LeafKind::None, takes, compact, cells };
        let left = most.map_or(expected, |most| most.min(expected));
        progress.outcome = Some(Outcome::default());
        Some(Row { like, chunk, leaves, left, progress, drivers, forms, runs, since: 0, is_early })
    }

    /// A row for numbers behind a leaf, if that is one.
    fn numbers<'r>(&'r mut self, seq: SeqState<'r>, progress: &'r mut Progress) -> Option<Row<'r>> {
        let SeqState { leaves, drivers, compact, takes, most, .. } = seq;
        if let Some(most) = most {
            leaves.reserve(most.min(SPARE)); // a size may be wrong
        }
        let takes = takes & kinds_of_row(leaves, true);
        let kind = next_kind(leaves, self.last_kind.take())
            .filter(|kind| is_number(*kind) && takes & bit(*kind) != 0);
        let Some(kind) = kind else {
            progress.miss();
            return None;
        };
        let RowBuffers { cells, chunk, runs, .. } =
            &mut **self.buffers.get_or_insert_with(RowBuffers::boxed);
        cells.expect_none();
        let like =
            ExpectedElement { end: ElementPosition::end(0, 1, 1), kind, takes, compact, cells };
        let (left, forms, is_early) = (usize::MAX, &[][..], false);
        Some(Row { like, chunk, leaves, left, progress, drivers, forms, runs, since: 0, is_early })
    }

    /// Whether an element that was serialized again gave at least what it gave the first time. It is the last one
    /// before `at`.
    #[inline(never)]
    pub(in crate::flatten) fn agrees(
        &mut self,
        drivers: &Drivers,
        at: usize,
        is_leaf: bool,
        progress: &mut Progress,
    ) -> bool {
        let Some(Retry { like, different }) = progress.retry.take() else { return true };
        self.checks -= 1; // it was counted
        let last = drivers.last(at).filter(|_| !is_leaf);
        let agrees = match like {
            None => is_leaf,
            Some(_) if last == like => !different.surely,
            Some(like) => {
                let last = last.map_or(&[][..], |last| drivers.words(last));
                agree(drivers.words(like), last, different.leaves)
            }
        };
        progress.gave_less = !agrees;
        agrees
    }

    /// Counts the elements of the last row. Returns where the next element begins.
    #[inline(never)]
    pub(in crate::flatten) fn end_row(
        &mut self,
        drivers: &mut Drivers,
        at: usize,
        is_leaf: bool,
        progress: &mut Progress,
    ) -> Result<usize> {
        if progress.gave_less {
            return Err(gave_less());
        }
        let Some(Outcome { done, different, like }) = progress.take() else {
            return Ok(at);
        };
        let next = if is_leaf { at } else { drivers.elements(at, done) };
        let like = like.map(Span::recorded).or_else(|| drivers.last(next)).filter(|_| !is_leaf);
        let is_like = is_leaf || like.is_some();
        progress.retry = different.filter(|_| is_like).map(|different| Retry { like, different });
        self.checks += usize::from(progress.retry.is_some()); // at most the sequences
        Ok(next)
    }
}

impl RowBuffers {
    /// From now on elements like the last one before `at` are expected, and if that is recorded, also elements of the
    /// other forms. Returns the place behind the likely ones. `None` if a row may not take elements like the last one.
    fn expect(&mut self, drivers: &Drivers, at: usize) -> Option<ElementPosition> {
        let RowBuffers { cells, forms, .. } = self;
        cells.expect_none();
        forms.clear();
        let last = drivers.words(drivers.last(at)?);
        let end = end_of(0, last)?;
        if !is_recorded(at) {
            cells.expect(last)?;
            return Some(end);
        }
        // An element of the first form is likely. Without leaves, how many came would not be known.
        let form_of = |recorded| {
            let words = drivers.words(Span::recorded(recorded));
            end_of(0, words).map(|end| (recorded, words, end.cells() > 0))
        };
        let all = || drivers.recorder.forms().filter_map(form_of);
        let with_leaves = all().filter(|(_, _, has_leaves)| *has_leaves);
        for (recorded, words, _) in with_leaves.chain(all().filter(|(_, _, has)| !has)) {
            if let Some(first) = cells.expect(words)
                && let Some(end) = end_of(first, words)
            {
                forms.push(RowForm { recorded, first, end });
            }
        }
        let likely = forms.first().map(|form| form.end).filter(|end| end.cells() > 0);
        Some(likely.unwrap_or(ElementPosition::NEVER))
    }
}

/// The end of an element that has these words, from a place on, if a row may take it: there are few of them, and each
/// such element makes the same calls.
fn end_of(first: usize, words: &[Word]) -> Option<ElementPosition> {
    let leaves = words.iter().map(|word| word.leaves()).sum();
    let (last, before) = words.split_last()?;
    let (len, pending) = match last.tag() {
        word::LEAVES => (before.len(), last.leaves()),
        _ => (words.len(), 0),
    };
    let may = words.len() <= 2 * MOST_PLAIN_LEAVES
        && leaves <= MOST_PLAIN_LEAVES
        && words.iter().all(is_fixed);
    may.then(|| ElementPosition::end(first + len, leaves, pending))
}

/// Whether a word may be one of an element in a row.
fn is_fixed(word: &Word) -> bool {
    match word.tag() {
        word::FIELD | word::CLOSE | word::LEAVES | word::VARIANT => true,
        _ => word.kind().is_some_and(|kind| kind.is_fixed() || kind == NodeKind::UnitVariant),
    }
}

/// Whether the last of `leaves` leaves is at the same place in two elements.
fn agree(a: &[Word], b: &[Word], mut leaves: usize) -> bool {
    for (a, b) in a.iter().zip(b) {
        if leaves <= a.leaves().min(b.leaves()) {
            return true;
        }
        // Two types of one name have it at two addresses.
        if !a.has_code_of(*b) || !is_name(a.name, b.name) {
            return false;
        }
        leaves -= a.leaves(); // there are more
    }
    leaves == 0
}

/// The kinds of numbers that a row puts into these leaves. None if the last leaf is one of the elements, and no number.
fn kinds_of_row(leaves: &Sink, is_of_elements: bool) -> KindSet {
    let of_number = |kind, kinds| if is_number(kind) { kinds } else { 0 };
    match leaves {
        Sink::Counted(_) => ALL_KINDS,
        Sink::F64(_) => bit(LeafKind::F64) | bit(LeafKind::F32),
        Sink::F32(_) => bit(LeafKind::F32),
        Sink::Leaves(_) if !is_of_elements => ALL_KINDS,
        Sink::Leaves(leaves) => leaves.last().map_or(0, |leaf| of_number(leaf.kind(), ALL_KINDS)),
        Sink::Other(leaves) => match leaves.kind() {
            LeafKind::Opaque => ALL_KINDS,
            kind => of_number(kind, bit(kind)),
        },
    }
}

/// The kind of a number like the last leaf.
fn next_kind(leaves: &Sink, last: Option<LeafKind>) -> Option<LeafKind> {
    match leaves {
        Sink::Counted(_) => last,
        Sink::F64(_) if last == Some(LeafKind::F32) => last,
        Sink::F64(_) => Some(LeafKind::F64),
        Sink::F32(_) => Some(LeafKind::F32),
        Sink::Leaves(leaves) => leaves.last().map(Leaf::kind),
        Sink::Other(leaves) => match leaves.kind() {
            LeafKind::Opaque => last,
            kind => Some(kind),
        },
    }
}

/// Adds numbers of kinds that the leaves take.
fn put_cells(all: &mut Sink, bits: &[Cell<u64>], kinds: &[Cell<LeafKind>]) {
    let Some(first) = kinds.first().map(Cell::get) else { return };
    let is_counted = matches!(all, Sink::Counted(_));
    if is_counted || kinds.iter().fold(true, |same, kind| same & (kind.get() == first)) {
        return all.extend(first, Bits::Wide(bits));
    }
    for (bits, kind) in bits.iter().zip(kinds) {
        let fits = scalar(kind.get(), bits.get()).is_some_and(|scalar| all.push(scalar));
        debug_assert!(fits, "a number of another kind");
    }
}
