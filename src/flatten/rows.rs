//! Elements of a sequence that are expected to look like the last one: numbers, and what has a fixed [layout](super::layout).
//!
//! Who records or matches a sequence takes the first element itself, and those that are different. What lies between is put
//! into slots here, a row at a time.

use std::cell::Cell;
use std::ops::Range;

use serde::ser::Impossible;
use serde::{Serialize, Serializer};

use crate::error::{Matched, Mismatch};
use crate::float::widen;
use crate::model::{Leaf, LeafKind};
use crate::slots::Slots;

use super::bits::{f32_of, scalar};
use super::calls::{generic_mismatches, mismatches, numbers};
use super::layout::{Different, Layout};

/// So many elements are worth a look whether they have a layout.
pub(super) const FEW: usize = 4;

/// Numbers that are put at a time.
const CELLS: usize = 64;

/// Slots for elements that may come.
pub(super) struct Row<'r> {
    pub(super) slots: Slots<'r>,
    /// The next slot, and how many elements there are slots for.
    pub(super) slot: usize,
    pub(super) left: usize,
    pub(super) like: Like<'r>,
    pub(super) compact: bool,
    /// Elements that were put, and why no more were.
    pub(super) done: usize,
    pub(super) stop: Stop,
}

/// What an element looks like.
#[derive(Clone, Copy)]
pub(super) enum Like<'r> {
    /// A number of some kind, or of any.
    Number(Option<LeafKind>),
    Layout(&'r Layout<'r>),
}

/// Why no more elements of a row were put.
#[derive(Clone, Copy)]
pub(super) enum Stop {
    /// The row is full.
    Full,
    /// There are no more.
    End,
    /// The slots do not take what came.
    Refused,
    /// The next one is perhaps different. It was serialized in part.
    Odd(Different),
}

/// How often the next elements were expected to look like the last, and did, and did not.
#[derive(Default)]
pub(super) struct Guesses {
    right: usize,
    wrong: usize,
}

impl Guesses {
    pub(super) fn pay(&self) -> bool {
        4 * self.wrong <= self.right.saturating_add(4)
    }

    pub(super) fn give_up(&mut self) {
        self.wrong += 1; // at most the elements that came
    }

    pub(super) fn count(&mut self, right: usize, stop: Stop) {
        self.right += right; // at most the elements that came
        self.wrong += usize::from(matches!(stop, Stop::Odd(..)));
    }
}

/// Puts elements as long as they look alike. Gives back the first that is perhaps different.
pub(super) fn put_row<I: Iterator<Item: Serialize>>(
    row: &mut Row<'_>,
    items: &mut I,
) -> Option<I::Item> {
    let room = row.slot..row.slot + row.left; // there are so many slots
    let (compact, done, stop) = (row.compact, &mut row.done, &mut row.stop);
    let odd = match (row.like, &mut row.slots) {
        (Like::Layout(layout), _) => return put_elements(layout, row, items),
        (_, Slots::F64(slots)) => put_floats(slots.get_mut(room), compact, (done, stop), items),
        (_, Slots::F32(slots)) => put_floats(slots.get_mut(room), compact, (done, stop), items),
        (Like::Number(kind), _) => return put_numbers(kind, row, items),
    };
    row.slot += row.done; // within the room
    odd
}

fn put_elements<I: Iterator<Item: Serialize>>(
    layout: &Layout<'_>,
    row: &mut Row<'_>,
    items: &mut I,
) -> Option<I::Item> {
    let mut cells = Cells { elements: 0, leaves: 0 };
    loop {
        if cells.elements == row.left - row.done {
            row.put_elements(layout, &mut cells, Stop::Full);
            return None;
        }
        let Some(item) = items.next() else {
            row.put_elements(layout, &mut cells, Stop::End);
            return None;
        };
        match layout.take(cells.leaves, &item) {
            Ok(()) => cells.add(layout),
            Err(different) => {
                row.put_elements(layout, &mut cells, Stop::Odd(different));
                return Some(item);
            }
        }
        if layout.is_full(cells.leaves) && !row.put_elements(layout, &mut cells, Stop::Refused) {
            return None;
        }
    }
}

/// What is in the cells of a layout.
struct Cells {
    elements: usize,
    leaves: usize,
}

impl Cells {
    #[inline]
    fn add(&mut self, layout: &Layout<'_>) {
        self.elements += 1; // at most those that came
        self.leaves += layout.num_leaves; // at most the cells
    }
}

/// Floats straight into slots: what a vector of numbers mostly is.
fn put_floats<L: Float, I: Iterator<Item: Serialize>>(
    slots: Option<&mut [L]>,
    compact: bool,
    (done, stop): (&mut usize, &mut Stop),
    items: &mut I,
) -> Option<I::Item> {
    let mut put = 0;
    for slot in slots.unwrap_or_default() {
        let Some(item) = items.next() else {
            (*done, *stop) = (put, Stop::End);
            return None;
        };
        match item.serialize(Bits { compact }) {
            Ok((kind, bits)) if L::takes(kind) => *slot = L::of(kind, bits),
            _ => {
                (*done, *stop) = (put, Stop::Odd(Different::PERHAPS));
                return Some(item);
            }
        }
        put += 1;
    }
    *done = put;
    None
}

/// A float that comes as bits.
trait Float {
    fn takes(kind: LeafKind) -> bool;
    fn of(kind: LeafKind, bits: u64) -> Self;
}

impl Float for f64 {
    #[inline(always)]
    fn takes(kind: LeafKind) -> bool {
        matches!(kind, LeafKind::F64 | LeafKind::F32)
    }

    #[inline(always)]
    fn of(kind: LeafKind, bits: u64) -> Self {
        if kind == LeafKind::F64 { f64::from_bits(bits) } else { widen(f32_of(bits)) }
    }
}

impl Float for f32 {
    #[inline(always)]
    fn takes(kind: LeafKind) -> bool {
        kind == LeafKind::F32
    }

    #[inline(always)]
    fn of(_: LeafKind, bits: u64) -> Self {
        f32_of(bits)
    }
}

/// Numbers into any slots, as many of one kind at a time as there are cells.
fn put_numbers<I: Iterator<Item: Serialize>>(
    mut like: Option<LeafKind>,
    row: &mut Row<'_>,
    items: &mut I,
) -> Option<I::Item> {
    let cells = [const { Cell::new(0) }; CELLS];
    let compact = row.compact;
    loop {
        let (most, mut count) = (CELLS.min(row.left - row.done), 0);
        for cell in cells.iter().take(most) {
            let Some(item) = items.next() else {
                row.put_numbers(like, &cells, count, Stop::End);
                return None;
            };
            match item.serialize(Bits { compact }) {
                Ok((kind, bits)) if is_like(like, kind) => {
                    cell.set(bits);
                    like = Some(kind);
                }
                _ => {
                    row.put_numbers(like, &cells, count, Stop::Odd(Different::PERHAPS));
                    return Some(item);
                }
            }
            count += 1;
        }
        if !row.put_numbers(like, &cells, count, Stop::Full) || row.done == row.left {
            return None;
        }
    }
}

#[inline]
fn is_like(like: Option<LeafKind>, kind: LeafKind) -> bool {
    match like {
        None => true,
        Some(like) => like == kind,
    }
}

impl<'r> Row<'r> {
    pub(super) fn new(
        slots: Slots<'r>,
        slot: usize,
        left: usize,
        like: Like<'r>,
        compact: bool,
    ) -> Self {
        Row { slots, slot, left, like, compact, done: 0, stop: Stop::Full }
    }

    /// Empties the cells of a layout.
    #[inline(never)]
    fn put_elements(&mut self, layout: &Layout<'_>, cells: &mut Cells, stop: Stop) -> bool {
        self.done += cells.elements; // each was there
        let kinds = layout.kinds.get(..layout.num_leaves).unwrap_or_default();
        let put = self.put(layout.kind, kinds, layout.leaves(cells.leaves));
        self.stop = if put { stop } else { Stop::Refused };
        *cells = Cells { elements: 0, leaves: 0 };
        put
    }

    /// Empties the first of these cells.
    #[inline(never)]
    fn put_numbers(
        &mut self,
        kind: Option<LeafKind>,
        cells: &[Cell<u64>],
        count: usize,
        stop: Stop,
    ) -> bool {
        self.done += count; // each was there
        let put = self.put(kind, &[], cells.get(..count).unwrap_or_default());
        self.stop = if put { stop } else { Stop::Refused };
        put
    }

    /// Puts leaves of one kind, or of these kinds by turns, into the next slots; says whether there are such.
    fn put(&mut self, kind: Option<LeafKind>, kinds: &[LeafKind], cells: &[Cell<u64>]) -> bool {
        let first = self.slot;
        self.slot += cells.len(); // within the slots
        let slots = first..self.slot;
        let bits = cells.iter().map(Cell::get);
        match (&mut self.slots, kind) {
            (Slots::Counted, _) => true,
            (Slots::F64(all), Some(LeafKind::F64)) => fill(all, slots, bits.map(f64::from_bits)),
            (Slots::F64(all), Some(LeafKind::F32)) => {
                fill(all, slots, bits.map(|bits| widen(f32_of(bits))))
            }
            (Slots::F32(all), Some(LeafKind::F32)) => fill(all, slots, bits.map(f32_of)),
            (Slots::Leaves(all), Some(LeafKind::F64)) => fill(all, slots, bits.map(f64_leaf)),
            (Slots::Leaves(all), Some(LeafKind::F32)) => fill(all, slots, bits.map(f32_leaf)),
            (Slots::Behind(all), Some(LeafKind::F64)) => extend(all, bits.map(f64_leaf)),
            (Slots::Behind(all), Some(LeafKind::F32)) => extend(all, bits.map(f32_leaf)),
            (all, kind) => {
                let kinds = kind.as_slice().iter().chain(kinds.iter().filter(|_| kind.is_none()));
                slots.zip(bits).zip(kinds.cycle()).all(|((slot, bits), kind)| {
                    scalar(*kind, bits).is_some_and(|scalar| all.put(slot, scalar))
                })
            }
        }
    }
}

fn f64_leaf(bits: u64) -> Leaf {
    Leaf::F64(f64::from_bits(bits))
}

fn f32_leaf(bits: u64) -> Leaf {
    Leaf::F32(f32_of(bits))
}

fn extend(all: &mut Vec<Leaf>, leaves: impl Iterator<Item = Leaf>) -> bool {
    all.extend(leaves);
    true
}

fn fill<L>(all: &mut [L], slots: Range<usize>, leaves: impl Iterator<Item = L>) -> bool {
    let Some(slots) = all.get_mut(slots) else { return false };
    slots.iter_mut().zip(leaves).for_each(|(slot, leaf)| *slot = leaf);
    true
}

/// Says which number a value is: its kind and its bits. Nothing else is looked at.
struct Bits {
    compact: bool,
}

type Number = (LeafKind, u64);

impl Serializer for Bits {
    type Ok = Number;
    type Error = Mismatch;
    type SerializeSeq = Impossible<Number, Mismatch>;
    type SerializeTuple = Impossible<Number, Mismatch>;
    type SerializeTupleStruct = Impossible<Number, Mismatch>;
    type SerializeTupleVariant = Impossible<Number, Mismatch>;
    type SerializeMap = Impossible<Number, Mismatch>;
    type SerializeStruct = Impossible<Number, Mismatch>;
    type SerializeStructVariant = Impossible<Number, Mismatch>;

    numbers!(|self, kind, bits| Ok((kind, bits)));

    generic_mismatches!(|self| Mismatch);
    mismatches! { |self| Mismatch;
        serialize_i128(i128) -> Number;
        serialize_u128(u128) -> Number;
        serialize_str(&str) -> Number;
        serialize_bytes(&[u8]) -> Number;
        serialize_none() -> Number;
        serialize_unit() -> Number;
        serialize_unit_struct(&'static str) -> Number;
        serialize_unit_variant(&'static str, u32, &'static str) -> Number;
        serialize_seq(Option<usize>) -> Self::SerializeSeq;
        serialize_tuple(usize) -> Self::SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
        serialize_map(Option<usize>) -> Self::SerializeMap;
        serialize_struct(&'static str, usize) -> Self::SerializeStruct;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant;
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Matched<Number> {
        Err(Mismatch)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: &T,
    ) -> Matched<Number> {
        Err(Mismatch)
    }

    fn is_human_readable(&self) -> bool {
        !self.compact
    }
}
