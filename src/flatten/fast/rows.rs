//! Elements of a sequence that are expected to look like the last one: numbers, and types with a
//! fixed [layout](super::layout).
//!
//! The tape takes the first element itself, and each element that is different.
//! The elements between them are put into slots here, a row at a time.

use std::cell::Cell;
use std::ops::Range;

use serde::Serialize;

use crate::leaf::bits::{f32_of, is_number, scalar};
use crate::leaf::float::widen;
use crate::model::{Leaf, LeafKind};

use super::layout::{Code, CodedNumber, Different, Layout, leaf};
use super::slots::Slots;

/// The minimum number of elements for which a layout is read.
pub(in crate::flatten) const FEW: usize = 4;

/// Numbers that are put at a time. A power of two.
const BATCH_CELLS: usize = 64;

/// Slots for the next elements.
pub(in crate::flatten) struct Row<'r> {
    slots: Slots<'r>,
    like: Expected<'r>,
    compact: bool,
    /// The remaining elements for which there are slots.
    left: usize,
    progress: &'r mut Progress,
}

/// What an element looks like.
#[derive(Clone, Copy)]
pub(super) enum Expected<'r> {
    /// A number of one kind, or of any kind.
    KindAndBits(Option<LeafKind>),
    Layout(&'r Layout),
}

/// The state of the rows of a sequence.
#[derive(Default)]
pub(in crate::flatten) struct Progress {
    /// How many elements looked like the last one as expected, and how often one did not.
    pub(super) right: usize,
    wrong: usize,
    /// The outcome of the last row, until it is taken.
    row: Option<Outcome>,
    /// The element that is recorded again, after a part of it was seen.
    pub(super) again: Option<Retry>,
}

/// The outcome of a row.
pub(super) struct Outcome {
    /// The number of elements that were put.
    pub(super) done: usize,
    /// The slot behind them.
    pub(super) slot: usize,
    pub(super) stop: Stop,
    /// The elements are numbers.
    pub(super) are_numbers: bool,
}

/// Why a row ended.
#[derive(Clone, Copy)]
pub(super) enum Stop {
    /// The row is full, or the sequence has no more elements.
    Full,
    /// The slots do not take a leaf.
    Refused,
    /// The next element may be different. It was serialized in part.
    Different(Different),
}

/// An element that is serialized again.
pub(super) struct Retry {
    /// The words of the element that it was expected to be like.
    pub(super) like: (usize, usize),
    pub(super) different: Different,
}

impl Progress {
    /// Whether another row is worth a try.
    #[inline]
    pub(in crate::flatten) fn pays(&self) -> bool {
        4 * self.wrong <= self.right.saturating_add(4)
    }

    /// Whether there is an element to check, or another row may be worth a try. There are at most so
    /// many more elements, if that is known.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(in crate::flatten) fn may_pay(&self, most: Option<usize>) -> bool {
        self.again.is_some() || most.is_none_or(|most| most >= FEW) && self.pays()
    }

    pub(super) fn give_up(&mut self) {
        self.wrong += 1; // at most the elements so far
    }

    /// No row of the sequence is worth a try.
    pub(in crate::flatten) fn never_pays(&mut self) {
        self.wrong = usize::MAX / 4;
    }

    /// Whether there is no outcome to handle, and no element to check.
    #[inline]
    pub(in crate::flatten) fn is_idle(&self) -> bool {
        self.row.is_none() && self.again.is_none()
    }

    /// Takes the outcome of the last row.
    pub(super) fn take(&mut self) -> Option<Outcome> {
        let outcome = self.row.take()?;
        self.right += outcome.done; // at most the elements so far
        self.wrong += usize::from(matches!(outcome.stop, Stop::Different(..)));
        Some(outcome)
    }
}

impl Expected<'_> {
    /// Elements like the number in `slot`. A number in an `f64` slot came as an `f32` if `came_as_f32`
    /// is set.
    pub(super) fn number(slots: &Slots<'_>, slot: usize, came_as_f32: bool) -> Option<Self> {
        match slots {
            Slots::Counted => Some(Expected::KindAndBits(None)),
            slots => Some(Expected::KindAndBits(Some(slots.number_at(slot, came_as_f32)?))),
        }
    }
}

impl Slots<'_> {
    /// The kind of the number in a filled slot.
    pub(super) fn number_at(&self, slot: usize, came_as_f32: bool) -> Option<LeafKind> {
        let kind = match self {
            Slots::Leaves(leaves) => leaves.get(slot)?.kind(),
            Slots::F64(_) if came_as_f32 => LeafKind::F32,
            Slots::F64(_) => LeafKind::F64,
            Slots::F32(_) => LeafKind::F32,
            Slots::Other(leaves) => leaves.kind_at(slot)?,
            Slots::Counted => return None,
        };
        Some(kind).filter(|kind| is_number(*kind))
    }
}

/// Puts elements as long as they look alike. Returns the next element, which may be different.
pub(in crate::flatten) fn put_row<I: Iterator<Item: Serialize>>(
    row: Option<Row<'_>>,
    items: &mut I,
) -> Option<I::Item> {
    match row {
        Some(row) => match row.like {
            Expected::Layout(layout) => put_elements(row, layout, items),
            Expected::KindAndBits(kind) => put_numbers(row, kind, items),
        },
        None => items.next(),
    }
}

fn put_elements<I: Iterator<Item: Serialize>>(
    mut row: Row<'_>,
    layout: &Layout,
    items: &mut I,
) -> Option<I::Item> {
    let mut room = row.room();
    while room > 0 {
        let mut count = 0;
        while count < room {
            let Some(item) = items.next() else {
                row.put(&[], count);
                return None;
            };
            if let Err(different) = layout.take(count, &item) {
                row.stop(&[], count, different);
                return Some(item);
            }
            count += 1; // at most the room
        }
        room = row.put(&[], count);
    }
    items.next()
}

/// This compiles to a loop that copies, if the numbers come as they are in memory.
fn put_numbers<I: Iterator<Item: Serialize>>(
    mut row: Row<'_>,
    kind: Option<LeafKind>,
    items: &mut I,
) -> Option<I::Item> {
    let cells = [const { Cell::new(0) }; BATCH_CELLS];
    let (mut room, compact, code) = (row.room(), row.compact, kind.map(leaf));
    while room > 0 {
        let mut count = 0;
        for cell in cells.iter().take(room) {
            let Some(item) = items.next() else {
                row.put(&cells, count);
                return None;
            };
            let number = CodedNumber::of(&item, compact);
            if !put_number(number, code, cell) {
                row.stop(&cells, count, Different::number(number));
                return Some(item);
            }
            count += 1; // at most the room
        }
        room = row.put(&cells, count);
    }
    items.next()
}

/// Puts the bits of a number into a cell, if it has the code that is asked for.
#[cfg_attr(not(debug_assertions), inline(always))]
fn put_number(number: Option<CodedNumber>, code: Option<Code>, cell: &Cell<u64>) -> bool {
    match number {
        Some(CodedNumber { code: found, bits }) if code.is_none_or(|code| code == found) => {
            cell.set(bits);
            true
        }
        _ => false,
    }
}

impl<'r> Row<'r> {
    /// A row with slots from `slot` on, for `left` elements.
    pub(super) fn new(
        slots: Slots<'r>,
        slot: usize,
        left: usize,
        like: Expected<'r>,
        compact: bool,
        progress: &'r mut Progress,
    ) -> Self {
        let are_numbers = matches!(like, Expected::KindAndBits(_));
        progress.row = Some(Outcome { done: 0, slot, stop: Stop::Full, are_numbers });
        Row { slots, like, compact, left, progress }
    }

    /// The number of elements for which there are both cells and slots.
    fn room(&self) -> usize {
        let cells = match self.like {
            Expected::Layout(layout) => layout.room(),
            Expected::KindAndBits(_) => BATCH_CELLS,
        };
        cells.min(self.left)
    }

    /// Moves the cells of `count` elements into slots. Returns how many more elements there is room
    /// for.
    #[inline(never)]
    fn put(&mut self, numbers: &[Cell<u64>], count: usize) -> usize {
        let Some(outcome) = &mut self.progress.row else { return 0 }; // there is one
        let (kind, kinds, cells) = match self.like {
            Expected::Layout(layout) => (layout.kind, layout.kinds(), layout.cells(count)),
            Expected::KindAndBits(kind) => {
                (kind, &[][..], numbers.get(..count).unwrap_or_default())
            }
        };
        let first = outcome.slot;
        outcome.slot += cells.len(); // within the slots
        outcome.done += count; // at most the row
        self.left -= count; // as above
        if !put_cells(&mut self.slots, first..outcome.slot, kind, kinds, cells) {
            outcome.stop = Stop::Refused;
            return 0;
        }
        self.room()
    }

    /// Ends the row before an element that may be different.
    #[inline(never)]
    fn stop(&mut self, numbers: &[Cell<u64>], count: usize, different: Different) {
        self.put(numbers, count);
        if let Some(Outcome { stop: stop @ Stop::Full, .. }) = &mut self.progress.row {
            *stop = Stop::Different(different);
        }
    }
}

/// Puts leaves of one `kind`, or of the `kinds` in turn, into slots. Returns whether the slots take
/// them.
fn put_cells(
    all: &mut Slots<'_>,
    slots: Range<usize>,
    kind: Option<LeafKind>,
    kinds: &[LeafKind],
    cells: &[Cell<u64>],
) -> bool {
    let bits = cells.iter().map(Cell::get);
    match (all, kind) {
        (Slots::Counted, _) => true,
        (Slots::F64(all), Some(LeafKind::F64)) => extend(all, bits.map(f64::from_bits)),
        (Slots::F64(all), Some(LeafKind::F32)) => extend(all, bits.map(|bits| widen(f32_of(bits)))),
        (Slots::F32(all), Some(LeafKind::F32)) => extend(all, bits.map(f32_of)),
        (Slots::Leaves(all), Some(LeafKind::F64)) => extend(all, bits.map(f64_leaf)),
        (Slots::Leaves(all), Some(LeafKind::F32)) => extend(all, bits.map(f32_leaf)),
        (Slots::Other(all), Some(kind)) => all.put_bits(slots.start, kind, cells),
        (all, kind) => {
            let kinds = kind.as_slice().iter().chain(kinds.iter().filter(|_| kind.is_none()));
            slots.zip(bits).zip(kinds.cycle()).all(|((slot, bits), kind)| {
                scalar(*kind, bits).is_some_and(|scalar| all.put(slot, scalar))
            })
        }
    }
}

fn f64_leaf(bits: u64) -> Leaf {
    Leaf::F64(f64::from_bits(bits))
}

fn f32_leaf(bits: u64) -> Leaf {
    Leaf::F32(f32_of(bits))
}

fn extend<L>(all: &mut Vec<L>, leaves: impl Iterator<Item = L>) -> bool {
    all.extend(leaves);
    true
}
