//! The serializer of an element that should make the calls of the last one, whose words
//! are in the script or recorded.
//!
//! Each call is compared with the next word. The new call is a constant at compile time, so this is
//! cheap. Numbers are stored as bits, behind the numbers of earlier elements, in the same way for all
//! types of leaves. This makes a `Vec` of particles as fast as a `Vec` of numbers: rows `particles`
//! and `wide` in `benches/ratios`.
//!
//! An element that is a number itself is handed back, for a [chunk](NumberChunk) of such numbers.

use std::cell::Cell;
use std::mem;

use serde::ser::Impossible;
use serde::{Serialize, Serializer};

use crate::bug::OrBug;
use crate::calls::{children, mismatches, numbers};
use crate::error::ElementMismatch;
use crate::leaf::bits::{Bits, MOST_PLAIN_LEAVES};
use crate::model::{LeafKind, NodeKind, Word};
use crate::treedef::node_ref::is_name;

use super::super::marks::Role;
use super::super::recorder::FormRun;
use super::super::word::{self, KindSet, MOST_FORMS, Tag, bit};

/// The most words of all forms of elements in a row, with one behind each form.
const SLOTS: usize = 4 * MOST_PLAIN_LEAVES;

/// Numbers of elements that are taken at a time. With 256, `doubles` take 3.3 instructions a leaf and not 2.9.
pub(super) const MOST_NUMBERS: usize = 512;

/// Each element writes to the start of a window of `MOST_PLAIN_LEAVES` cells. Windows and words are fixed-size arrays,
/// so the compiler can drop the bounds checks when the calls are known.
const CELLS: usize = MOST_NUMBERS + MOST_PLAIN_LEAVES;

/// Room for elements.
pub(in crate::flatten) struct RowBuffers {
    pub(super) cells: Cells,
    pub(super) forms: Vec<RowForm>,
    /// The elements that are not recorded yet.
    pub(super) runs: Vec<FormRun>,
    pub(super) chunk: NumberChunk,
}

impl RowBuffers {
    #[inline(never)]
    pub(super) fn boxed() -> Box<Self> {
        Box::new(RowBuffers {
            cells: Cells {
                bits: [const { Cell::new(0) }; CELLS],
                kinds: [const { Cell::new(LeafKind::None) }; CELLS],
                words: [NO_CALL; SLOTS],
                others: [0; SLOTS],
                used: 0,
            },
            forms: Vec::with_capacity(MOST_FORMS),
            runs: Vec::new(),
            chunk: NumberChunk { narrow: [0; MOST_NUMBERS], doubles: [0.0; MOST_NUMBERS] },
        })
    }
}

/// The numbers of elements, and the words with which an element is compared.
pub(super) struct Cells {
    pub(super) bits: [Cell<u64>; CELLS],
    pub(super) kinds: [Cell<LeafKind>; CELLS],
    /// The words of each form, one form behind the other.
    words: [Word; SLOTS],
    /// For a word: where to go on if a call does not match it, at the first different word of the next form with
    /// the same words before. 0 if there is none.
    others: [u16; SLOTS],
    /// The number of words.
    used: usize,
}

/// A form that elements may have.
#[derive(Clone, Copy)]
pub(super) struct RowForm {
    /// Its recorded words.
    pub(super) recorded: (usize, usize),
    /// The place of the first of them in the [`Cells`].
    pub(super) first: usize,
    /// The place behind an element.
    pub(super) end: ElementPosition,
}

impl Cells {
    /// From now on no element is expected.
    pub(super) fn expect_none(&mut self) {
        let [first, ..] = &mut self.words;
        let [other, ..] = &mut self.others;
        (*first, *other, self.used) = (NO_CALL, 0, 0);
    }

    /// From now on elements with these words are expected, too. Returns the place of the first one, unless
    /// there is no room, or no element would be found to have them.
    pub(super) fn expect(&mut self, words: &[Word]) -> Option<usize> {
        let (first, end) = (self.used, self.used + words.len()); // they are few
        self.words.get_mut(first..end)?.copy_from_slice(words);
        *self.words.get_mut(end)? = NO_CALL;
        self.others.get_mut(first..=end)?.fill(0);
        if first > 0 {
            self.link(first, words)?;
        }
        self.used = end + 1;
        Some(first)
    }

    /// The place behind the word at a place, if that is this call.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn next_place(&self, place: u32, tag: Tag, name: &'static str) -> Option<u32> {
        let at = ElementPosition { cells: 0, place };
        let expected = self.words.get(at.words())?;
        let is_expected = expected.has_code_of(Word::new(tag, "", at.pending()))
            && (!word::has_name(tag) || is_name(expected.name, name));
        is_expected.then_some((place & 0xffff_0000) + 0x1_0000) // at most the words
    }

    /// The same for a word of another form that begins with the same words. Out of line, so that the loop over elements
    /// stays small. The place alone fits into registers.
    #[inline(never)]
    fn other_place(&self, mut place: u32, tag: Tag, name: &'static str) -> Option<u32> {
        loop {
            let other = *self.others.get((place >> 16) as usize)?;
            if other == 0 {
                return None;
            }
            place = u32::from(other) << 16 | place & 0xffff;
            if let Some(next) = self.next_place(place, tag, name) {
                return Some(next);
            }
        }
    }

    /// Makes a form the other one at its first difference to the forms before it.
    fn link(&mut self, first: usize, words: &[Word]) -> Option<()> {
        let (mut place, mut index) = (0, 0);
        loop {
            if self.words.get(place)?.is(*words.get(index)?) {
                (place, index) = (place + 1, index + 1); // both are in range
                continue;
            }
            match self.others.get_mut(place)? {
                0 => break,
                other => place = usize::from(*other),
            }
        }
        *self.others.get_mut(place)? = (first + index) as u16; // the places are few
        Some(())
    }
}

/// Elements that are numbers of one kind, one after another. Integers of 64 bits have [`Cells::bits`].
/// Each has a place: there are at most [`MOST_NUMBERS`].
pub(super) struct NumberChunk {
    narrow: [u32; MOST_NUMBERS],
    doubles: [f64; MOST_NUMBERS],
}

impl NumberChunk {
    /// Puts a number, as its bits, at an index.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn set(&mut self, cells: &Cells, index: usize, kind: LeafKind, bits: u64) {
        match kind {
            LeafKind::F64 => {
                if let Some(place) = self.doubles.get_mut(index) {
                    *place = f64::from_bits(bits);
                }
            }
            LeafKind::I64 | LeafKind::U64 => {
                if let Some(place) = cells.bits.get(index) {
                    place.set(bits);
                }
            }
            _ => {
                if let Some(place) = self.narrow.get_mut(index) {
                    *place = bits as u32; // of at most as many
                }
            }
        }
    }

    /// The first numbers, which were put there.
    pub(super) fn first<'b>(&'b self, cells: &'b Cells, count: usize, kind: LeafKind) -> Bits<'b> {
        match kind {
            LeafKind::F64 => Bits::Doubles(self.doubles.get(..count).or_bug()),
            LeafKind::I64 | LeafKind::U64 => Bits::Wide(cells.bits.get(..count).or_bug()),
            _ => Bits::Narrow(self.narrow.get(..count).or_bug()),
        }
    }
}

/// Behind the words of an element.
const NO_CALL: Word = Word::new(word::REPEAT, "", 0);

/// A call as it was expected, or else the place where it was not.
type Compared<T = ElementPosition> = Result<T, ElementMismatch>;

/// The expected form of an element.
#[derive(Clone, Copy)]
pub(super) struct ExpectedElement<'r> {
    /// The place behind the element.
    pub(super) end: ElementPosition,
    /// The kind of the elements if they are numbers, otherwise `LeafKind::None`.
    pub(super) kind: LeafKind,
    /// The kinds of numbers that may come, also inside an element.
    pub(super) takes: KindSet,
    pub(super) compact: bool,
    pub(super) cells: &'r Cells,
}

/// The same for one element, and where the numbers inside it go.
struct Element<'r> {
    cells: &'r Cells,
    bits: &'r [Cell<u64>; MOST_PLAIN_LEAVES],
    kinds: &'r [Cell<LeafKind>; MOST_PLAIN_LEAVES],
    kind: LeafKind,
    takes: KindSet,
    compact: bool,
}

/// The part that was seen of an element that is not as expected.
#[derive(Clone, Copy)]
pub(super) struct SeenPart {
    /// It has another structure. Otherwise it may still have the same one.
    pub(super) surely: bool,
    /// At least this many leaves were as expected.
    pub(super) leaves: usize,
}

/// A place in an element, in as few bytes as possible: each call takes one and returns one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct ElementPosition {
    /// The number of leaves, which have a cell each.
    cells: u32,
    /// The number of words, and in the lower half the number of leaves since the last one.
    place: u32,
}

impl ElementPosition {
    /// The place after a failure, where no call is expected: an element has fewer words.
    const FAILED: u32 = 0x7fff_0000;

    /// The place behind an element that is of no form.
    pub(super) const NEVER: ElementPosition = ElementPosition { cells: 0, place: Self::FAILED };

    /// Before the first call of an element.
    const BEGIN: ElementPosition = ElementPosition { cells: 0, place: 0 };

    /// The place behind an element of few words and leaves.
    pub(super) fn end(words: usize, leaves: usize, pending: usize) -> Self {
        ElementPosition { cells: leaves as u32, place: (words as u32) << 16 | pending as u32 } // they are few
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn cells(self) -> usize {
        self.cells as usize
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn words(self) -> usize {
        (self.place >> 16) as usize
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn pending(self) -> u64 {
        (self.place & 0xffff).into()
    }

    /// For an element that is a number, the position carries the bits of the number.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn of_bits(bits: u64) -> Self {
        ElementPosition { cells: bits as u32, place: (bits >> 32) as u32 } // the two halves
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn bits(self) -> u64 {
        u64::from(self.place) << 32 | u64::from(self.cells)
    }

    /// Another call came here than the expected one. Whether the structure is `surely` another.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn stop(self, surely: bool) -> ElementMismatch {
        ElementMismatch(self.place << 1 | u32::from(surely)) // the words are few
    }
}

impl ExpectedElement<'_> {
    /// Whether the elements are numbers.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn are_numbers(&self) -> bool {
        self.kind != LeafKind::None
    }

    /// How many cells it is from one element to the next.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn step(&self) -> usize {
        if self.are_numbers() { 1 } else { self.end.cells().max(1) }
    }

    /// How many elements have so many cells. A division takes as long as all else that is done for an option.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn elements(&self, cells: usize) -> usize {
        match self.step() {
            1 => cells,
            step => cells / step,
        }
    }

    /// Takes an element whose cells are those from the `first` on. If it is a number, that is its place
    /// in the chunk.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn take<T: Serialize + ?Sized>(
        &self,
        first: usize,
        chunk: &mut NumberChunk,
        element: &T,
    ) -> Compared<()> {
        let ExpectedElement { end, kind, takes, compact, cells } = *self;
        // Numbers have no cells, so that nothing changes from one to the next.
        let window_at = if self.are_numbers() { 0 } else { first };
        let windows = (window(&cells.bits, window_at), window(&cells.kinds, window_at));
        let (Some(bits), Some(kinds)) = windows else {
            return Err(ElementPosition::BEGIN.stop(false));
        };
        let like = &Element { cells, bits, kinds, kind, takes, compact };
        match element.serialize(ElementSerializer::<true> { like, at: ElementPosition::BEGIN }) {
            Ok(at) if self.are_numbers() => {
                chunk.set(cells, first, kind, at.bits());
                Ok(())
            }
            Ok(at) if at == end => Ok(()),
            Ok(at) => Err(ElementMismatch(ElementMismatch::END | at.place)),
            Err(error) => Err(error),
        }
    }

    /// The known part of an element that was not taken: nothing, if an error was ignored. The words of the
    /// form that it had so far begin at `first`.
    #[cold]
    pub(super) fn different(&self, mismatch: ElementMismatch, first: usize) -> SeenPart {
        let (at, pending) = (mismatch.place(), (mismatch.0 >> 1 & 0xffff) as usize);
        let words = &self.cells.words;
        let Some(before) = words.get(first..at) else {
            return SeenPart { surely: false, leaves: 0 };
        };
        let before: usize = before.iter().map(|word| word.leaves()).sum();
        let expected = words.get(at).map_or(0, |word| word.leaves());
        SeenPart { surely: mismatch.0 & 1 == 1, leaves: before + pending.min(expected) }
    }
}

impl ElementMismatch {
    /// The bit of an element that ended at another place than the expected one, which is in the lower bits.
    const END: u32 = 1 << 30;

    /// The form whose element ended there.
    pub(super) fn form<'f>(&self, forms: &'f [RowForm]) -> Option<&'f RowForm> {
        forms.iter().find(|form| self.0 == Self::END | form.end.place)
    }

    /// The place of the word that did not come.
    pub(super) fn place(&self) -> usize {
        (self.0 >> 17) as usize
    }
}

/// The cells from one on.
#[cfg_attr(not(debug_assertions), inline(always))]
fn window<T>(cells: &[T; CELLS], first: usize) -> Option<&[T; MOST_PLAIN_LEAVES]> {
    cells.get(first..)?.first_chunk()
}

impl Element<'_> {
    /// Compares a call with the next word. Counts of children are not compared, because the count
    /// that serde gets is not binding.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn call(&self, at: ElementPosition, tag: Tag, name: &'static str) -> Compared {
        match self.cells.next_place(at.place, tag, name) {
            Some(place) => Ok(ElementPosition { place, ..at }),
            // A field may be left out, or be in another place.
            None => Err(at.stop(tag < word::FIELD)),
        }
    }

    /// The same for a call that may differ from element to element: goes on in another form that begins with the
    /// same words.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn call_any(&self, at: ElementPosition, tag: Tag, name: &'static str) -> Compared {
        match self.call(at, tag, name) {
            Ok(at) => Ok(at),
            Err(error) => match self.cells.other_place(at.place, tag, name) {
                Some(place) => Ok(ElementPosition { place, ..at }),
                None => Err(error),
            },
        }
    }
}

/// A serializer for an element or for a value inside it. The place of the outermost one is a
/// constant even if it is not inlined into the loop over the elements.
struct ElementSerializer<'r, const OUTERMOST: bool> {
    like: &'r Element<'r>,
    at: ElementPosition,
}

impl<'r, const OUTERMOST: bool> ElementSerializer<'r, OUTERMOST> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn at(&self) -> ElementPosition {
        if OUTERMOST { ElementPosition::BEGIN } else { self.at }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn number(self, kind: LeafKind, bits: u64) -> Compared {
        let Element { bits: cells, kinds, kind: expected, takes, .. } = *self.like;
        let at = self.at();
        if OUTERMOST {
            return match kind == expected {
                true => Ok(ElementPosition::of_bits(bits)),
                false if takes & bit(kind) != 0 => Err(ElementMismatch(ElementMismatch::NUMBER)),
                false => Err(at.stop(false)),
            };
        }
        let (Some(cell), Some(its_kind)) = (cells.get(at.cells()), kinds.get(at.cells())) else {
            return Err(at.stop(false));
        };
        if takes & bit(kind) == 0 {
            return Err(at.stop(false));
        }
        cell.set(bits);
        its_kind.set(kind);
        Ok(ElementPosition { cells: at.cells + 1, place: at.place + 1 }) // at most the cells
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn atom(self, kind: NodeKind, name: &'static str) -> Compared {
        self.like.call(self.at(), kind as Tag, name)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn open(self, kind: NodeKind, name: &'static str) -> Compared<ElementChildren<'r>> {
        let at = self.like.call(self.at(), kind as Tag, name)?;
        Ok(ElementChildren { like: self.like, at })
    }
}

/// The children of an open compound.
struct ElementChildren<'r> {
    like: &'r Element<'r>,
    at: ElementPosition,
}

impl ElementChildren<'_> {
    /// The element does not match any more, even if a `Serialize` implementation ignores the error.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn fail(&mut self, error: ElementMismatch) -> ElementMismatch {
        self.at.place = ElementPosition::FAILED;
        error
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn child<T: Serialize + ?Sized>(&mut self, value: &T) -> Compared<()> {
        // No code is compiled for fields whose types own something. The elements themselves come as
        // references, which own nothing, so their fields are compared.
        if const { mem::needs_drop::<T>() } {
            let error = self.at.stop(false);
            return Err(self.fail(error));
        }
        let Self { like, at } = *self;
        match value.serialize(ElementSerializer::<false> { like, at }) {
            Ok(at) => {
                self.at = at;
                Ok(())
            }
            Err(error) => Err(self.fail(error)),
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Compared<()> {
        if const { mem::needs_drop::<T>() } {
            let error = self.at.stop(false);
            return Err(self.fail(error));
        }
        match self.like.call(self.at, word::FIELD, name) {
            Ok(at) => {
                self.at = at;
                self.child(value)
            }
            Err(error) => Err(self.fail(error)),
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn end(self) -> Compared {
        self.like.call(self.at, word::CLOSE, "")
    }
}

impl<'r, const OUTERMOST: bool> Serializer for ElementSerializer<'r, OUTERMOST> {
    type Ok = ElementPosition;
    type Error = ElementMismatch;
    type SerializeSeq = Impossible<ElementPosition, ElementMismatch>;
    type SerializeTuple = ElementChildren<'r>;
    type SerializeTupleStruct = ElementChildren<'r>;
    type SerializeTupleVariant = Impossible<ElementPosition, ElementMismatch>;
    type SerializeMap = Impossible<ElementPosition, ElementMismatch>;
    type SerializeStruct = ElementChildren<'r>;
    type SerializeStructVariant = Impossible<ElementPosition, ElementMismatch>;

    numbers!(|self, kind, bits| self.number(kind, bits));

    mismatches! { |self| self.at.stop(false);
        serialize_i128(i128) -> ElementPosition;
        serialize_u128(u128) -> ElementPosition;
        serialize_str(&str) -> ElementPosition;
        serialize_bytes(&[u8]) -> ElementPosition;
        serialize_seq(Option<usize>) -> Self::SerializeSeq;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
        serialize_map(Option<usize>) -> Self::SerializeMap;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant;
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn serialize_none(self) -> Compared {
        self.like.call_any(self.at(), NodeKind::None as Tag, "")
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Compared {
        let at = self.like.call_any(self.at(), NodeKind::Some as Tag, "")?;
        let mut some = ElementChildren { like: self.like, at };
        some.child(value)?;
        Ok(some.at)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn serialize_unit(self) -> Compared {
        self.atom(NodeKind::Unit, "")
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn serialize_unit_struct(self, name: &'static str) -> Compared {
        self.atom(NodeKind::UnitStruct, name)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn serialize_unit_variant(self, name: &'static str, _: u32, variant: &'static str) -> Compared {
        let at = self.like.call_any(self.at(), word::VARIANT, variant)?;
        self.like.call(at, NodeKind::UnitVariant as Tag, name)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Compared {
        // A mark may make a leaf or a static of the value.
        if Role::marked_by(name).is_some() {
            return Err(self.at.stop(false));
        }
        let mut newtype = self.open(NodeKind::NewtypeStruct, name)?;
        newtype.child(value)?;
        Ok(newtype.at)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn serialize_tuple(self, _: usize) -> Compared<ElementChildren<'r>> {
        self.open(NodeKind::Tuple, "")
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn serialize_tuple_struct(self, name: &'static str, _: usize) -> Compared<ElementChildren<'r>> {
        self.open(NodeKind::TupleStruct, name)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn serialize_struct(self, name: &'static str, _: usize) -> Compared<ElementChildren<'r>> {
        self.open(NodeKind::Struct, name)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Compared {
        Err(self.at.stop(false))
    }

    fn collect_seq<I: IntoIterator<Item: Serialize>>(self, _: I) -> Compared {
        Err(self.at.stop(false))
    }

    fn collect_map<K: Serialize, V: Serialize, I: IntoIterator<Item = (K, V)>>(
        self,
        _: I,
    ) -> Compared {
        Err(self.at.stop(false))
    }

    fn collect_str<T: std::fmt::Display + ?Sized>(self, _: &T) -> Compared {
        Err(self.at.stop(false))
    }

    fn is_human_readable(&self) -> bool {
        !self.like.compact
    }
}

children! {
    ElementChildren<'_> => ElementPosition, ElementMismatch; #[cfg_attr(not(debug_assertions), inline(always))];
    SerializeTuple: serialize_element() child;
    SerializeTupleStruct: serialize_field() child;
    SerializeStruct: serialize_field(name) field;
}
