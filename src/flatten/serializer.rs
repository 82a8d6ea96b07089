//! serde's side of a [tape](super::tape).
//!
//! Code that depends on the type of a value is here, and little else, because it is compiled for each type. The
//! tape does the rest, and is compiled once.

use std::fmt::Display;
use std::mem;

use serde::{Serialize, Serializer};

use crate::call_stack;
use crate::calls::children;
use crate::error::{Error, Result};
use crate::leaf::{Scalar, each_scalar};
use crate::model::{Name, NodeKind};
use crate::path::Key;

use super::fast::rows::{Progress, Row, may_have_rows, put_row};
use super::tape::Tape;

/// Writes the next value. Returns the position behind it.
pub(super) struct Writer<'t> {
    pub(super) tape: &'t mut Tape,
    pub(super) at: usize,
}

/// An open compound, and the position of its next child.
pub(super) struct CompoundWriter<'t> {
    tape: &'t mut Tape,
    at: usize,
    /// How many children came, if they have no names.
    children: usize,
    variant: Option<&'static str>,
}

/// An open sequence.
pub(super) struct SeqWriter<'t> {
    tape: &'t mut Tape,
    at: usize,
    /// How many elements came.
    elements: usize,
}

/// An open map.
pub(super) struct MapWriter<'t> {
    tape: &'t mut Tape,
    at: usize,
    /// The number of the last key.
    key: usize,
    awaits_value: bool,
}

impl<'t> Writer<'t> {
    #[inline(always)]
    fn scalar(self, scalar: Scalar<'_>) -> Result<usize> {
        self.tape.scalar(self.at, scalar)
    }

    #[cfg_attr(not(debug_assertions), inline)]
    fn open(self, kind: NodeKind, name: &'static str) -> Result<CompoundWriter<'t>> {
        match self.tape.open(self.at, kind, name) {
            Ok(at) => Ok(CompoundWriter { tape: self.tape, at, children: 0, variant: None }),
            Err(error) => Err(error),
        }
    }

    #[cfg_attr(not(debug_assertions), inline)]
    fn open_variant(
        self,
        kind: NodeKind,
        name: &'static str,
        variant: &'static str,
    ) -> Result<CompoundWriter<'t>> {
        match self.tape.open_variant(self.at, kind, name, variant) {
            Ok(at) => {
                let variant = Some(variant);
                Ok(CompoundWriter { tape: self.tape, at, children: 0, variant })
            }
            Err(error) => Err(error),
        }
    }
}

// In a dev build the non-generic methods stay out of line: they are compiled once, and the generic ones call them.
impl CompoundWriter<'_> {
    /// The place of the next child. `owning` says whether its type owns something.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn place(&mut self, owning: bool) -> Writer<'_> {
        self.tape.count_owning(owning);
        Writer { tape: self.tape, at: self.at }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn place_of_field(&mut self, name: &'static str, owning: bool) -> Writer<'_> {
        self.at = self.tape.field(self.at, name);
        self.place(owning)
    }

    /// Takes the result of a child.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn take_child(&mut self, child: Result<usize>) -> Result<()> {
        match child {
            Ok(at) => {
                self.at = at;
                self.children += 1; // at most the calls
                Ok(())
            }
            Err(error) => Err(self.failed(None, error)),
        }
    }

    /// Takes the result of a field.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn take_field(&mut self, name: &'static str, child: Result<usize>) -> Result<()> {
        match child {
            Ok(at) => {
                self.at = at;
                Ok(())
            }
            Err(error) => Err(self.failed(Some(name), error)),
        }
    }

    #[cold]
    fn failed(&mut self, field: Option<&'static str>, error: Error) -> Error {
        self.tape.child_failed(Some(key_of(self.variant, field, self.children)), error)
    }

    /// Takes the result of the only child, of a `Some` or a variant, and closes the compound.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn take_only_child(mut self, child: Result<usize>) -> Result<usize> {
        match child {
            Ok(at) => {
                self.tape.ascend();
                Ok(at)
            }
            Err(error) if self.variant.is_none() => Err(self.tape.some_failed(error)),
            Err(error) => Err(self.failed(None, error)),
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn child<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        let place = self.place(const { mem::needs_drop::<T>() });
        let child = call_stack::grow!(value.serialize(place));
        self.take_child(child)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<()> {
        let place = self.place_of_field(name, const { mem::needs_drop::<T>() });
        let child = call_stack::grow!(value.serialize(place));
        self.take_field(name, child)
    }

    /// Writes the only child, and closes the compound.
    #[cfg_attr(not(debug_assertions), inline)]
    fn around<T: Serialize + ?Sized>(mut self, value: &T) -> Result<usize> {
        let place = self.place(const { mem::needs_drop::<T>() });
        let child = call_stack::grow!(value.serialize(place));
        self.take_only_child(child)
    }

    #[cfg_attr(not(debug_assertions), inline)]
    fn end(self) -> Result<usize> {
        self.tape.close(self.at)
    }
}

impl SeqWriter<'_> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn place(&mut self, owning: bool) -> Writer<'_> {
        self.tape.count_owning(owning);
        Writer { tape: self.tape, at: self.at }
    }

    /// Takes the result of an element. Returns whether it is a leaf.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn take_child(&mut self, child: Result<usize>) -> Result<bool> {
        let index = self.elements;
        self.elements += 1; // at most the calls
        match child {
            // A scalar that is a leaf writes nothing.
            Ok(at) if at == self.at => Ok(true),
            Ok(at) => {
                self.at = self.tape.element(at);
                Ok(false)
            }
            Err(error) => Err(self.tape.child_failed(Some(Key::Index(index)), error)),
        }
    }

    #[cfg_attr(not(debug_assertions), inline)]
    fn child<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        let place = self.place(const { mem::needs_drop::<T>() });
        let child = call_stack::grow!(value.serialize(place));
        self.take_child(child).map(drop)
    }

    /// A row for elements that look like the last one, if a row is worth a try.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn row<'r>(
        &'r mut self,
        is_leaf: bool,
        owning: usize,
        progress: &'r mut Progress,
        most: Option<usize>,
    ) -> Option<Row<'r>> {
        self.tape.row(self.at, is_leaf, owning, progress, most)
    }

    /// Handles the outcome of the last row, and of the element before it. `before` is `progress.hits` before the row.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn take_row(&mut self, is_leaf: bool, before: usize, progress: &mut Progress) -> Result<()> {
        match self.tape.take_row(self.at, is_leaf, progress) {
            Ok(at) => {
                self.at = at;
                self.elements += progress.hits - before; // those in the row
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    #[cfg_attr(not(debug_assertions), inline)]
    fn end(self) -> Result<usize> {
        self.tape.close_seq(self.at)
    }
}

impl MapWriter<'_> {
    /// The place of a key, and how many captures are open.
    fn place_of_key(&mut self) -> Result<(Writer<'_>, usize)> {
        if mem::replace(&mut self.awaits_value, true) {
            return Err(self.tape.broken("a map's key was followed by another key"));
        }
        let outer = self.tape.expect_key();
        Ok((Writer { tape: self.tape, at: self.at }, outer))
    }

    fn take_key(&mut self, outer: usize, key: Result<usize>) -> Result<()> {
        match key.and_then(|next| self.tape.end_key(outer, next)) {
            Ok(next) => {
                self.at = next;
                self.key = self.tape.last_label();
                Ok(())
            }
            Err(error) => Err(self.tape.compound_failed(error)),
        }
    }

    fn place_of_value(&mut self, owning: bool) -> Result<Writer<'_>> {
        if mem::take(&mut self.awaits_value) {
            self.tape.count_owning(owning);
            return Ok(Writer { tape: self.tape, at: self.at });
        }
        Err(self.tape.broken("a map's value came without its key"))
    }

    fn take_value(&mut self, value: Result<usize>) -> Result<()> {
        match value {
            Ok(at) => {
                self.at = at;
                Ok(())
            }
            Err(error) => Err(self.tape.entry_failed(self.key, error)),
        }
    }

    fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<()> {
        let (place, outer) = match self.place_of_key() {
            Ok(place) => place,
            Err(error) => return Err(error),
        };
        let key = call_stack::grow!(key.serialize(place));
        self.take_key(outer, key)
    }

    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        let place = match self.place_of_value(const { mem::needs_drop::<T>() }) {
            Ok(place) => place,
            Err(error) => return Err(error),
        };
        let value = call_stack::grow!(value.serialize(place));
        self.take_value(value)
    }

    fn end(self) -> Result<usize> {
        if self.awaits_value {
            return Err(self.tape.broken("a map ended after a key"));
        }
        self.tape.close(self.at)
    }
}

impl<'t> Serializer for Writer<'t> {
    type Ok = usize;
    type Error = Error;
    type SerializeSeq = SeqWriter<'t>;
    type SerializeTuple = CompoundWriter<'t>;
    type SerializeTupleStruct = CompoundWriter<'t>;
    type SerializeTupleVariant = CompoundWriter<'t>;
    type SerializeMap = MapWriter<'t>;
    type SerializeStruct = CompoundWriter<'t>;
    type SerializeStructVariant = CompoundWriter<'t>;

    // Compiled once for each kind, so that the kind need not be tested at run time.
    each_scalar! { [bool integers char texts] #[inline(never)] fn serialize => scalar }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn serialize_f32(self, value: f32) -> Result<usize> {
        self.tape.f32(self.at, value)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn serialize_f64(self, value: f64) -> Result<usize> {
        self.tape.f64(self.at, value)
    }

    fn serialize_none(self) -> Result<usize> {
        self.tape.none(self.at)
    }

    fn serialize_unit(self) -> Result<usize> {
        self.tape.atom(self.at, NodeKind::Unit, "")
    }

    fn serialize_unit_struct(self, name: &'static str) -> Result<usize> {
        self.tape.atom(self.at, NodeKind::UnitStruct, name)
    }

    fn serialize_unit_variant(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<usize> {
        self.tape.unit_variant(self.at, name, variant)
    }

    #[cfg_attr(not(debug_assertions), inline)]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<usize> {
        match self.open(NodeKind::Some, "") {
            Ok(some) => some.around(value),
            Err(error) => Err(error),
        }
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<usize> {
        let (mark, tape) = (self.tape.mark(name), self.tape);
        let at = match tape.open_newtype(self.at, name, mark) {
            Ok(at) => at,
            Err(error) => return Err(error),
        };
        let child = call_stack::grow!(value.serialize(Writer { tape: &mut *tape, at }));
        tape.close_newtype(child, mark)
    }

    #[cfg_attr(not(debug_assertions), inline)]
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<usize> {
        match self.open_variant(NodeKind::NewtypeVariant, name, variant) {
            Ok(variant) => variant.around(value),
            Err(error) => Err(error),
        }
    }

    #[cfg_attr(not(debug_assertions), inline)]
    fn serialize_seq(self, _: Option<usize>) -> Result<SeqWriter<'t>> {
        match self.tape.open_seq(self.at) {
            Ok(at) => Ok(SeqWriter { tape: self.tape, at, elements: 0 }),
            Err(error) => Err(error),
        }
    }

    #[cfg_attr(not(debug_assertions), inline)]
    fn serialize_tuple(self, _: usize) -> Result<CompoundWriter<'t>> {
        self.open(NodeKind::Tuple, "")
    }

    #[cfg_attr(not(debug_assertions), inline)]
    fn serialize_tuple_struct(self, name: &'static str, _: usize) -> Result<CompoundWriter<'t>> {
        self.open(NodeKind::TupleStruct, name)
    }

    #[cfg_attr(not(debug_assertions), inline)]
    fn serialize_tuple_variant(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<CompoundWriter<'t>> {
        self.open_variant(NodeKind::TupleVariant, name, variant)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<MapWriter<'t>> {
        match self.tape.open(self.at, NodeKind::Map, "") {
            Ok(at) => Ok(MapWriter { tape: self.tape, at, key: 0, awaits_value: false }),
            Err(error) => Err(error),
        }
    }

    #[cfg_attr(not(debug_assertions), inline)]
    fn serialize_struct(self, name: &'static str, _: usize) -> Result<CompoundWriter<'t>> {
        self.open(NodeKind::Struct, name)
    }

    #[cfg_attr(not(debug_assertions), inline)]
    fn serialize_struct_variant(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<CompoundWriter<'t>> {
        self.open_variant(NodeKind::StructVariant, name, variant)
    }

    /// Takes elements that look like the last one in rows.
    fn collect_seq<I: IntoIterator<Item: Serialize>>(self, items: I) -> Result<usize> {
        let mut items = items.into_iter();
        let mut seq = match self.serialize_seq(None) {
            Ok(seq) => seq,
            Err(error) => return Err(error),
        };
        if may_have_rows(items.size_hint().1) {
            let mut progress = Progress::default();
            let mut next = items.next();
            loop {
                // Borrowed, because otherwise each type gets code that notes whether the item was moved.
                let Some(item) = &next else { return seq.end() };
                let owning = seq.tape.rows.owning;
                let child = call_stack::grow!(item.serialize(seq.place(false)));
                let is_leaf = match seq.take_child(child) {
                    Ok(is_leaf) => is_leaf,
                    Err(error) => return Err(error),
                };
                let most = items.size_hint().1;
                if !progress.may_pay(most) {
                    break;
                }
                let before = progress.hits;
                next = put_row(seq.row(is_leaf, owning, &mut progress, most), &mut items);
                if let Err(error) = seq.take_row(is_leaf, before, &mut progress) {
                    return Err(error);
                }
            }
        }
        for item in items {
            if let Err(error) = seq.child(&item) {
                return Err(error);
            }
        }
        seq.end()
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<usize> {
        self.tape.display(self.at, format_args!("{value}"))
    }

    fn is_human_readable(&self) -> bool {
        !self.tape.settings.options.compact
    }
}

/// The key of a child that has a position, or a name if its parent has fields; of a variant or not.
#[cold]
fn key_of(variant: Option<&'static str>, field: Option<&'static str>, position: usize) -> Key {
    match (variant.map(Name::Borrowed), field.map(Name::Borrowed)) {
        (None, None) => Key::Position(position),
        (None, Some(field)) => Key::Field(field),
        (Some(variant), None) => Key::VariantPosition(variant, position),
        (Some(variant), Some(field)) => Key::VariantField(variant, field),
    }
}

children! {
    SeqWriter<'_> => usize, Error; #[inline];
    SerializeSeq: serialize_element() child;
}

children! {
    CompoundWriter<'_> => usize, Error; #[cfg_attr(not(debug_assertions), inline(always))];
    SerializeTuple: serialize_element() child;
    SerializeTupleStruct: serialize_field() child;
    SerializeTupleVariant: serialize_field() child;
    SerializeStruct: serialize_field(name) field;
    SerializeStructVariant: serialize_field(name) field;
}

children! {
    MapWriter<'_> => usize, Error; #[inline];
    SerializeMap: serialize_key() key, serialize_value() value;
}
