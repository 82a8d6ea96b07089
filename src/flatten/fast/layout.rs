//! Elements with a fixed layout: structs, tuples and options of numbers.
//!
//! A type that always has the same structure always makes the same serde calls. So the calls of one
//! element are written down, and the next element is compared call by call. The new call is a
//! constant at compile time, so the comparison is cheap. The numbers are stored as bits, in a row
//! that is the same for all types of leaves. This makes a `Vec` of particles as fast as a `Vec` of
//! numbers: rows `particles` and `wide` in `benches/ratios`.
//!
//! When an element turns out to be different, it has been serialized in part. The tape then
//! takes it from its beginning.

use std::cell::Cell;
use std::mem;

use serde::ser::Impossible;
use serde::{Serialize, Serializer};

use crate::error::LayoutMismatch;
use crate::model::{LeafKind, NodeKind};
use crate::treedef::node_ref::is_name;

use super::super::calls::{children, mismatches, numbers};
use super::super::rules::Keep;
use super::super::word::{self, Word};

/// The maximum number of leaves of a layout.
pub(in crate::flatten) const MOST_LEAVES: usize = 64;

/// Room for the calls of a layout and for an end. A power of two, as is `CELLS`.
const CALLS: usize = 128;

/// Room for leaves. The cells are emptied when too few are left for another element.
const CELLS: usize = 256;

/// The calls of one element.
pub(in crate::flatten) struct Layout {
    calls: [Call; CALLS],
    num_calls: usize,
    num_leaves: usize,
    /// The kind of each leaf. `kind` is set if all leaves are of one kind.
    kinds: [LeafKind; MOST_LEAVES],
    pub(in crate::flatten) kind: Option<LeafKind>,
    pub(super) compact: bool,
    /// Room for the leaves of elements, as bits.
    cells: [Cell<u64>; CELLS],
    stopped: Cell<Option<Different>>,
}

/// The call for a leaf or for a compound. The calls for the children follow.
#[derive(Clone, Copy)]
struct Call {
    code: Code,
    /// The name of the field, and the name of the type.
    field: &'static str,
    name: &'static str,
}

/// The code of a call: the kind of a leaf, or the kind of a compound and the number of its
/// children.
pub(in crate::flatten) type Code = u32;

const COMPOUND: Code = 1 << 31;
/// The code behind the last call, where no call is expected. An error that the value itself returns
/// has this code, too.
const END: Code = LayoutMismatch::UNKNOWN;
const MOST_CHILDREN: usize = 127;
/// A leaf whose kind is not yet known.
const ANY_LEAF: Code = END - 1;

pub(in crate::flatten) const fn leaf(kind: LeafKind) -> Code {
    kind as Code
}

const F64: Code = leaf(LeafKind::F64);
const F32: Code = leaf(LeafKind::F32);

#[inline(always)]
fn compound(kind: NodeKind, count: usize) -> Code {
    let count = if count <= MOST_CHILDREN { count as Code } else { 255 }; // too many for a layout
    COMPOUND | (kind as Code) << 8 | count
}

/// What it means that `found` came instead of `expected`. Counts of children are not compared,
/// because the count that serde gets is not binding. Kinds of leaves are not part of the structure.
fn divergence(found: Code, expected: Code) -> Divergence {
    // A leaf has zeros in the upper bits.
    if found != END && found >> 8 != expected >> 8 {
        Divergence::Surely
    } else {
        Divergence::Perhaps
    }
}

/// The open compounds: their calls, and how many children they have.
#[derive(Default)]
struct Stack {
    compounds: [(usize, usize); MOST_NESTED],
    len: usize,
}

/// The most compounds in one another of a layout.
const MOST_NESTED: usize = 16;

impl Stack {
    fn push(&mut self, compound: (usize, usize)) -> Option<()> {
        *self.compounds.get_mut(self.len)? = compound;
        self.len += 1;
        Some(())
    }

    fn pop(&mut self) -> Option<(usize, usize)> {
        self.len = self.len.checked_sub(1)?;
        self.compounds.get(self.len).copied()
    }

    fn last_mut(&mut self) -> Option<&mut (usize, usize)> {
        self.compounds.get_mut(self.len.checked_sub(1)?)
    }
}

impl Layout {
    pub(in crate::flatten) fn new(compact: bool) -> Self {
        Layout {
            calls: [Call { code: 0, field: "", name: "" }; CALLS],
            num_calls: 0,
            num_leaves: 0,
            kinds: [LeafKind::None; MOST_LEAVES],
            kind: None,
            compact,
            cells: [const { Cell::new(0) }; CELLS],
            stopped: Cell::new(None),
        }
    }

    #[inline(never)]
    pub(in crate::flatten) fn boxed(compact: bool) -> Box<Self> {
        Box::new(Layout::new(compact))
    }

    /// Reads the layout of an element from its words. `kinds` is the kind of each of so many leaves.
    /// Returns whether it has a layout.
    pub(super) fn read<K: Fn(usize) -> Option<LeafKind>>(
        &mut self,
        words: &[Word],
        kinds: impl FnOnce(usize) -> Option<K>,
    ) -> bool {
        (self.num_calls, self.num_leaves) = (0, 0);
        self.read_calls(words).is_some()
            && kinds(self.num_leaves).is_some_and(|kinds| self.set_kinds(kinds))
    }

    fn set_kinds(&mut self, kinds: impl Fn(usize) -> Option<LeafKind>) -> bool {
        let mut leaf_index = 0;
        for call in self.calls.get_mut(..self.num_calls).unwrap_or_default() {
            if call.code == ANY_LEAF {
                let Some(kind) = kinds(leaf_index) else { return false };
                call.code = leaf(kind);
                if let Some(place) = self.kinds.get_mut(leaf_index) {
                    *place = kind;
                }
                leaf_index += 1;
            }
        }
        let kinds = self.kinds();
        self.kind = kinds.first().copied().filter(|first| kinds.iter().all(|kind| kind == first));
        true
    }

    fn read_calls(&mut self, words: &[Word]) -> Option<()> {
        let mut open = Stack::default();
        let mut field = "";
        for word in words {
            for _ in 0..word.leaves() {
                if self.num_leaves == MOST_LEAVES {
                    return None;
                }
                self.num_leaves += 1;
                self.add(ANY_LEAF, mem::take(&mut field), "")?;
                self.complete(&mut open);
            }
            match word.tag() {
                word::LEAVES => {}
                word::FIELD => field = word.name,
                word::CLOSE => {
                    self.end(open.pop()?)?;
                    self.complete(&mut open);
                }
                _ => {
                    let kind = word.kind().filter(|kind| has_layout(*kind))?;
                    let call = self.add(compound(kind, 0), mem::take(&mut field), word.name)?;
                    match kind {
                        NodeKind::None | NodeKind::Unit | NodeKind::UnitStruct => {
                            self.complete(&mut open);
                        }
                        _ => open.push((call, 0))?,
                    }
                }
            }
        }
        self.calls.get_mut(self.num_calls)?.code = END;
        Some(())
    }

    /// Adds a call, and returns its index.
    fn add(&mut self, code: Code, field: &'static str, name: &'static str) -> Option<usize> {
        let call = self.num_calls;
        *self.calls.get_mut(..CALLS - 1)?.get_mut(call)? = Call { code, field, name };
        self.num_calls += 1;
        Some(call)
    }

    /// Counts a complete child, and ends each compound that takes only one.
    fn complete(&mut self, open: &mut Stack) {
        while let Some((call, children)) = open.last_mut() {
            *children += 1; // at most the calls
            let takes_one = [NodeKind::Some, NodeKind::NewtypeStruct].map(|kind| compound(kind, 0));
            let code = self.calls.get(*call).map(|call| call.code);
            if !code.is_some_and(|code| takes_one.contains(&code)) {
                return;
            }
            let ended = open.pop().and_then(|compound| self.end(compound));
            if ended.is_none() {
                return;
            }
        }
    }

    fn end(&mut self, (call, children): (usize, usize)) -> Option<()> {
        let call = self.calls.get_mut(call)?;
        call.code |= Code::try_from(children).ok().filter(|_| children <= MOST_CHILDREN)?;
        Some(())
    }

    /// Puts the leaves of the next element into the cells behind those of `count` elements, if it
    /// has this layout.
    #[inline(always)]
    pub(in crate::flatten) fn take<T: Serialize + ?Sized>(
        &self,
        count: usize,
        element: &T,
    ) -> Result<(), Different> {
        let at = self.place(count);
        let end = element.serialize(LayoutSerializer::<true> { layout: Some(self), at });
        self.came(at, end)
    }

    /// The place of the element behind `count` others, before its first call.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn place(&self, count: usize) -> Position {
        Position(((count * self.num_leaves) as u32) << 16) // within the cells
    }

    /// Takes the result of an element.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn came(&self, at: Position, end: Result<Reached, LayoutMismatch>) -> Result<(), Different> {
        match end {
            Ok(Reached { at, .. })
                if at.calls() == self.num_calls && self.stopped.get().is_none() =>
            {
                Ok(())
            }
            Ok(_) => Err(self.different(at, END)),
            Err(LayoutMismatch(code)) => Err(self.different(at, code)),
        }
    }

    /// The next expected call.
    #[inline(always)]
    fn call(&self, at: Position) -> &Call {
        &self.calls[at.calls() % CALLS] // in range
    }

    pub(super) fn num_leaves(&self) -> usize {
        self.num_leaves
    }

    /// The number of elements that fit into the cells.
    pub(in crate::flatten) fn room(&self) -> usize {
        CELLS.checked_div(self.num_leaves).unwrap_or(usize::MAX)
    }

    /// The cells of the first `count` elements.
    pub(in crate::flatten) fn cells(&self, count: usize) -> &[Cell<u64>] {
        self.cells.get(..count * self.num_leaves).unwrap_or_default() // there was room for them
    }

    pub(in crate::flatten) fn kinds(&self) -> &[LeafKind] {
        self.kinds.get(..self.num_leaves).unwrap_or_default()
    }

    #[cold]
    #[inline(never)]
    fn different(&self, at: Position, code: Code) -> Different {
        self.stop(at, code);
        let different = self.stopped.take().unwrap_or(Different::PERHAPS);
        Different { leaves: different.leaves.saturating_sub(at.leaves()), ..different }
    }

    /// Stores the first unexpected or unknown call. So the element does not match, even if a
    /// `Serialize` implementation ignores the error.
    #[cold]
    #[inline(never)]
    fn stop(&self, at: Position, code: Code) -> LayoutMismatch {
        if self.stopped.get().is_none() {
            let divergence = divergence(code, self.call(at).code);
            let (leaves, came_as_f32) = (at.leaves(), is_narrow(code));
            self.stopped.set(Some(Different { divergence, leaves, came_as_f32 }));
        }
        LayoutMismatch(code)
    }
}

/// What is known of the structure of a value after its first mismatch. It was not visited further.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::flatten) enum Divergence {
    /// It may still have the expected structure.
    Perhaps,
    /// It has another structure.
    Surely,
}

/// An element that does not have the layout.
#[derive(Clone, Copy)]
pub(in crate::flatten) struct Different {
    pub(in crate::flatten) divergence: Divergence,
    /// At least this many leaves were as expected.
    pub(in crate::flatten) leaves: usize,
    /// For a float: whether it was an `f32` instead of an `f64`.
    pub(in crate::flatten) came_as_f32: Option<bool>,
}

impl Different {
    pub(in crate::flatten) const PERHAPS: Different =
        Different { divergence: Divergence::Perhaps, leaves: 0, came_as_f32: None };

    /// A number of another kind, or no number.
    #[inline(never)]
    pub(in crate::flatten) fn number(number: Option<CodedNumber>) -> Self {
        let came_as_f32 = number.and_then(|number| is_narrow(number.code));
        Different { came_as_f32, ..Different::PERHAPS }
    }
}

/// Whether a call is for an `f32` (true) or for an `f64` (false).
fn is_narrow(code: Code) -> Option<bool> {
    match code {
        F32 => Some(true),
        F64 => Some(false),
        _ => None,
    }
}

/// The kinds of nodes that may be part of a layout.
fn has_layout(kind: NodeKind) -> bool {
    use NodeKind as Is;
    matches!(
        kind,
        Is::None
            | Is::Some
            | Is::Unit
            | Is::UnitStruct
            | Is::NewtypeStruct
            | Is::Tuple
            | Is::TupleStruct
            | Is::Struct
    )
}

/// The number of calls so far, and the number of filled cells, in one number that is returned in a
/// register.
#[derive(Clone, Copy)]
struct Position(u32);

impl Position {
    #[inline(always)]
    fn calls(self) -> usize {
        (self.0 & 0xffff) as usize
    }

    #[inline(always)]
    fn leaves(self) -> usize {
        (self.0 >> 16) as usize
    }
}

/// A lone number.
#[derive(Clone, Copy)]
pub(in crate::flatten) struct CodedNumber {
    pub(in crate::flatten) code: Code,
    pub(in crate::flatten) bits: u64,
}

impl CodedNumber {
    /// The number that an element is, if it is one.
    #[inline(always)]
    pub(in crate::flatten) fn of<T: Serialize + ?Sized>(
        element: &T,
        compact: bool,
    ) -> Option<CodedNumber> {
        let at = Position(u32::from(compact));
        CodedNumber::at(element.serialize(LayoutSerializer::<true> { layout: None, at }))
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn at(end: Result<Reached, LayoutMismatch>) -> Option<CodedNumber> {
        match end {
            Ok(Reached { at: Position(code), bits }) => Some(CodedNumber { code, bits }),
            Err(_) => None,
        }
    }
}

/// A serializer for an element or for a value inside it. The outermost one begins at call 0, which
/// is a constant even if it is not inlined into the loop over the elements.
///
/// It has two modes, so that each type of elements is compiled for one serializer. With a layout it
/// compares the calls. Without one it takes a lone number, and `at` says whether the format is
/// compact.
struct LayoutSerializer<'l, const OUTERMOST: bool> {
    layout: Option<&'l Layout>,
    at: Position,
}

/// The place behind a value. For a lone number, its code and its bits.
struct Reached {
    at: Position,
    bits: u64,
}

impl<'l, const OUTERMOST: bool> LayoutSerializer<'l, OUTERMOST> {
    #[inline(always)]
    fn at(&self) -> Position {
        if OUTERMOST { Position(self.at.0 & 0xffff_0000) } else { self.at }
    }

    #[inline(always)]
    fn number(self, kind: LeafKind, bits: u64) -> Result<Reached, LayoutMismatch> {
        let (at, code) = (self.at(), leaf(kind));
        let Some(layout) = self.layout else { return Ok(Reached { at: Position(code), bits }) };
        if layout.call(at).code != code {
            return Err(LayoutMismatch(code));
        }
        layout.cells[at.leaves() % CELLS].set(bits); // in range
        Ok(Reached { at: Position(at.0 + 0x1_0001), bits: 0 }) // at most the calls of a layout
    }

    #[inline(always)]
    fn open(
        self,
        kind: NodeKind,
        name: &'static str,
        count: usize,
    ) -> Result<LayoutChildren<'l>, LayoutMismatch> {
        let (at, code) = (self.at(), compound(kind, count));
        match self.layout {
            Some(layout) if layout.call(at).code == code && is_name(layout.call(at).name, name) => {
                Ok(LayoutChildren { layout, at: Position(at.0 + 1), left: count }) // as above
            }
            _ => Err(LayoutMismatch(code)),
        }
    }
}

/// The children of an open compound.
struct LayoutChildren<'l> {
    layout: &'l Layout,
    at: Position,
    left: usize,
}

impl LayoutChildren<'_> {
    #[inline(always)]
    fn child<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), LayoutMismatch> {
        // No code is compiled for fields whose types own something. The elements themselves come as
        // references, which own nothing, so their fields are compared.
        if const { mem::needs_drop::<T>() } || self.left == 0 {
            return Err(self.layout.stop(self.at, END));
        }
        self.left -= 1;
        let layout = Some(self.layout);
        match value.serialize(LayoutSerializer::<false> { layout, at: self.at }) {
            Ok(Reached { at, .. }) => {
                self.at = at;
                Ok(())
            }
            Err(LayoutMismatch(code)) => Err(self.layout.stop(self.at, code)),
        }
    }

    #[inline(always)]
    fn field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), LayoutMismatch> {
        if const { mem::needs_drop::<T>() } || !is_name(self.layout.call(self.at).field, name) {
            return Err(self.layout.stop(self.at, END));
        }
        self.child(value)
    }

    #[inline(always)]
    fn end(self) -> Result<Reached, LayoutMismatch> {
        if self.left == 0 { Ok(Reached { at: self.at, bits: 0 }) } else { Err(LayoutMismatch(END)) }
    }
}

impl<'l, const OUTERMOST: bool> Serializer for LayoutSerializer<'l, OUTERMOST> {
    type Ok = Reached;
    type Error = LayoutMismatch;
    type SerializeSeq = Impossible<Reached, LayoutMismatch>;
    type SerializeTuple = LayoutChildren<'l>;
    type SerializeTupleStruct = LayoutChildren<'l>;
    type SerializeTupleVariant = Impossible<Reached, LayoutMismatch>;
    type SerializeMap = Impossible<Reached, LayoutMismatch>;
    type SerializeStruct = LayoutChildren<'l>;
    type SerializeStructVariant = Impossible<Reached, LayoutMismatch>;

    numbers!(|self, kind, bits| self.number(kind, bits));

    mismatches! { |self| LayoutMismatch(END);
        serialize_i128(i128) -> Reached;
        serialize_u128(u128) -> Reached;
        serialize_str(&str) -> Reached;
        serialize_bytes(&[u8]) -> Reached;
        serialize_unit_variant(&'static str, u32, &'static str) -> Reached;
        serialize_seq(Option<usize>) -> Self::SerializeSeq;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
        serialize_map(Option<usize>) -> Self::SerializeMap;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant;
    }

    #[inline(always)]
    fn serialize_none(self) -> Result<Reached, LayoutMismatch> {
        self.open(NodeKind::None, "", 0)?.end()
    }

    #[inline(always)]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Reached, LayoutMismatch> {
        let mut some = self.open(NodeKind::Some, "", 1)?;
        some.child(value)?;
        some.end()
    }

    #[inline(always)]
    fn serialize_unit(self) -> Result<Reached, LayoutMismatch> {
        self.open(NodeKind::Unit, "", 0)?.end()
    }

    #[inline(always)]
    fn serialize_unit_struct(self, name: &'static str) -> Result<Reached, LayoutMismatch> {
        self.open(NodeKind::UnitStruct, name, 0)?.end()
    }

    #[inline(always)]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<Reached, LayoutMismatch> {
        // A mark may make a leaf or a static of the value.
        if Keep::marked_by(name).is_some() {
            return Err(LayoutMismatch(END));
        }
        let mut newtype = self.open(NodeKind::NewtypeStruct, name, 1)?;
        newtype.child(value)?;
        newtype.end()
    }

    #[inline(always)]
    fn serialize_tuple(self, count: usize) -> Result<LayoutChildren<'l>, LayoutMismatch> {
        self.open(NodeKind::Tuple, "", count)
    }

    #[inline(always)]
    fn serialize_tuple_struct(
        self,
        name: &'static str,
        count: usize,
    ) -> Result<LayoutChildren<'l>, LayoutMismatch> {
        self.open(NodeKind::TupleStruct, name, count)
    }

    #[inline(always)]
    fn serialize_struct(
        self,
        name: &'static str,
        count: usize,
    ) -> Result<LayoutChildren<'l>, LayoutMismatch> {
        self.open(NodeKind::Struct, name, count)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<Reached, LayoutMismatch> {
        Err(LayoutMismatch(END))
    }

    fn collect_seq<I: IntoIterator<Item: Serialize>>(
        self,
        _: I,
    ) -> Result<Reached, LayoutMismatch> {
        Err(LayoutMismatch(END))
    }

    fn collect_map<K: Serialize, V: Serialize, I: IntoIterator<Item = (K, V)>>(
        self,
        _: I,
    ) -> Result<Reached, LayoutMismatch> {
        Err(LayoutMismatch(END))
    }

    fn collect_str<T: std::fmt::Display + ?Sized>(self, _: &T) -> Result<Reached, LayoutMismatch> {
        Err(LayoutMismatch(END))
    }

    fn is_human_readable(&self) -> bool {
        match self.layout {
            Some(layout) => !layout.compact,
            None => self.at.0 == 0,
        }
    }
}

children! {
    LayoutChildren<'_> => Reached, LayoutMismatch; #[inline(always)];
    SerializeTuple: serialize_element() child;
    SerializeTupleStruct: serialize_field() child;
    SerializeStruct: serialize_field(name) field;
}
