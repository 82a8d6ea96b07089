//! The elements, entries, fields and variants that serde requests one after the other.

use std::collections::HashMap;
use std::marker::PhantomData;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess,
    Visitor,
};

use crate::bug::OrBug;
use crate::literal;
use crate::load::ahead::{Ahead, may_be_number};
use crate::load::failure::Failure;
use crate::load::forms::Keys;
use crate::load::key::{KeyDeserializer, text};
use crate::load::names::Below;
use crate::load::part::{Absent, Part};
use crate::load::place::Place;
use crate::load::table::Table;
use crate::shape::display;

/// The elements of a dimension, or of all of them.
pub(crate) struct Elements<'de> {
    part: Part<'de>,
    /// The index of the next element, after the copied ones.
    next: usize,
    length: usize,
    /// The number of dimensions that are one sequence.
    flat: Option<usize>,
    /// The distance of the next element, if all have the same.
    step: Option<usize>,
    /// Copied elements, which are next.
    ahead: Ahead,
}

impl<'de> Elements<'de> {
    pub(crate) fn new(part: Part<'de>, length: usize) -> Self {
        let ahead = Ahead::of(part, part.array.strides.get(part.depth).copied());
        Elements { part, next: 0, length, flat: None, step: None, ahead }
    }

    /// The elements of some dimensions, in row-major order.
    pub(crate) fn flat(part: Part<'de>, taken: usize) -> Self {
        let dims = part.array.dims.iter().skip(part.depth).take(taken);
        // It saturates only beside a dimension of 0, as the whole fits.
        let length = dims.fold(1usize, |all, dim| all.saturating_mul(*dim));
        let is_empty = part.array.dims.iter().skip(part.depth).take(taken).any(|dim| *dim == 0);
        let length = if is_empty { 0 } else { length };
        let step = part.step(taken);
        Elements { part, next: 0, length, flat: Some(taken), step, ahead: Ahead::of(part, step) }
    }

    pub(crate) fn visit<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Failure> {
        let value = visitor.visit_seq(&mut self);
        self.go_back();
        let value = value?;
        if self.next < self.length {
            let Part { table, entry, array, depth, .. } = self.part;
            let mut dims = array.dims.clone();
            let read = depth..depth.saturating_add(self.flat.unwrap_or(1)).min(dims.len());
            dims.splice(read, [self.next]);
            table.change(entry, display(array.dtype, &dims));
        }
        Ok(value)
    }

    /// Copies the next elements, if they may be numbers of a size.
    #[inline(never)]
    fn copy(&mut self, size: usize) -> bool {
        if self.next == self.length || !self.ahead.may_copy(size) {
            return false;
        }
        let first = element(self.part, (self.flat, self.step), self.next);
        let copied = self.ahead.copy(first, self.length - self.next);
        self.next += copied;
        debug_assert!(self.next <= self.length, "more was copied than there is");
        self.part.entry.count_read(copied);
        copied > 0
    }

    /// Shows the shape of the type, if there is no element that would.
    fn ask<S: DeserializeSeed<'de>>(&self, seed: S) -> Result<(), Failure> {
        let Part { entry, array, .. } = self.part;
        // `[0]` may be a list of elements without content.
        if self.length > 0 || array.tensor.shape().len() < 2 || entry.is_shape_asked.replace(true) {
            return Ok(());
        }
        let element = element(self.part, (self.flat, self.step), 0);
        seed.deserialize(Place::Absent(Box::new(element.mismatch()))).map(drop)
    }

    /// Goes back to the first element that was copied and not read.
    fn go_back(&mut self) {
        let left = self.ahead.forget();
        self.next -= left; // they were added
        self.part.entry.count_unread(left);
    }
}

/// An element of one dimension, or of the `flat` ones, which may be equally far apart.
#[inline]
fn element<'de>(
    part: Part<'de>,
    (flat, step): (Option<usize>, Option<usize>),
    index: usize,
) -> Part<'de> {
    match (flat, step) {
        (Some(taken), Some(step)) => part.element_apart(taken, index, step),
        (Some(taken), None) => part.element_of_all(taken, index),
        (None, _) => part.element(index),
    }
}

fn made(table: &Table<'_>) -> Result<(), Failure> {
    if table.findings().make() {
        Ok(())
    } else {
        Err(Failure::Limit("too many elements that take no bytes of the file".to_owned()))
    }
}

impl<'de> SeqAccess<'de> for &mut Elements<'de> {
    type Error = Failure;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Failure> {
        self.go_back();
        if self.next == self.length {
            self.ask(seed)?;
            return Ok(None);
        }
        let array = self.part.array;
        if array.tensor.is_empty() {
            made(self.part.table)?;
        }
        let element = element(self.part, (self.flat, self.step), self.next);
        self.next += 1;
        seed.deserialize(Place::Part(element)).map(Some)
    }

    #[inline]
    fn next_element<T: Deserialize<'de>>(&mut self) -> Result<Option<T>, Failure> {
        if const { may_be_number::<T>() } {
            if let Some(number) = self.ahead.next() {
                return Ok(Some(number));
            }
            if self.copy(size_of::<T>())
                && let Some(number) = self.ahead.next()
            {
                return Ok(Some(number));
            }
        }
        self.next_element_seed(PhantomData)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.length - self.next + self.ahead.left())
    }
}

/// Elements that are names, elements of stacked tensors, or absent.
pub(crate) struct Items<'de> {
    source: Source<'de>,
    next: usize,
    length: usize,
}

enum Source<'de> {
    Named(Below<'de>),
    /// The sequence, its tensors with an axis for the elements, their number, and the other names.
    Stacked(Below<'de>, Below<'de>, usize, Below<'de>),
    Absent(Absent<'de>, Option<usize>),
}

impl<'de> Items<'de> {
    pub(crate) fn named(names: &Below<'de>, length: usize) -> Self {
        Items { source: Source::Named(names.clone()), next: 0, length }
    }

    /// The elements of a sequence of which at least some tensors are stacked.
    pub(crate) fn stacked(names: &Below<'de>) -> Option<Self> {
        let (stacked, axis, others) = names.stacked()?;
        if axis == 0 {
            stacked.ask_all(); // no element does
        }
        let length = others.count().unwrap_or(0).max(axis);
        Some(Items {
            source: Source::Stacked(names.clone(), stacked, axis, others),
            next: 0,
            length,
        })
    }

    fn table(&self) -> &'de Table<'de> {
        match &self.source {
            Source::Named(names) | Source::Stacked(names, ..) => names.table,
            Source::Absent(absent, _) => absent.table,
        }
    }

    /// Whether there may be no element; a tuple always has its elements.
    fn is_absent_sequence(&self) -> bool {
        matches!(self.source, Source::Absent(_, None))
    }

    /// One element represents all.
    pub(crate) fn absent(absent: Absent<'de>, length: Option<usize>) -> Self {
        Items { source: Source::Absent(absent, length), next: 0, length: length.unwrap_or(1) }
    }

    pub(crate) fn visit<V: Visitor<'de>>(
        mut self,
        length: Option<usize>,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        match (&self.source, length) {
            (Source::Absent(absent, _), _) => absent.check_depth()?,
            (Source::Stacked(names, stacked, axis, _), Some(length)) if length != *axis => {
                stacked.expect_lengths(length);
                names.use_all();
                return Err(Failure::Reported);
            }
            _ => {}
        }
        let table = self.table();
        let reports = table.findings().num_reports;
        let is_absent = self.is_absent_sequence();
        if is_absent {
            table.findings().open(None);
        }
        let value = visitor.visit_seq(&mut self);
        if is_absent {
            table.findings().close();
        }
        let value = value?;
        match &self.source {
            // The source of the elements is unknown, so the sequence itself is reported.
            Source::Absent(absent, _) if table.findings().num_reports == reports => {
                absent.report_sequence(length);
                Ok(value)
            }
            Source::Stacked(_, _, axis, _) if self.next < *axis => {
                let what = format!("only {} of {axis} elements were read", self.next);
                Err(Failure::Custom(what, None))
            }
            _ => Ok(value), // names that were not read are unused
        }
    }
}

impl<'de> SeqAccess<'de> for &mut Items<'de> {
    type Error = Failure;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Failure> {
        if let Source::Named(names) = &self.source {
            let is_there = |index: usize| names.child(&index.to_string()).is_some();
            while names.table.findings().misses_enough()
                && self.next < self.length
                && !is_there(self.next)
            {
                made(names.table)?;
                self.next += 1;
            }
        }
        if self.next == self.length {
            return Ok(None);
        }
        let index = self.next;
        self.next += 1;
        let place = match &self.source {
            Source::Named(names) => child(names, &index.to_string())?,
            Source::Stacked(names, stacked, axis, others) => {
                let stacked = Some(stacked).filter(|_| index < *axis);
                for _ in 0..stacked.map_or(1, Below::count_empty) {
                    made(names.table)?;
                }
                match others.element(stacked, index) {
                    Some(element) => Place::Names(element),
                    None => absent_child(names, &index.to_string()),
                }
            }
            Source::Absent(absent, length) => {
                made(absent.table)?;
                Place::Absent(Box::new(absent.element(*length, index)))
            }
        };
        match deserialize(place, seed) {
            // Without elements, the sequence itself is reported.
            Err(Failure::Recursive) if self.is_absent_sequence() => {
                self.next = self.length;
                Ok(None)
            }
            element => element.map(Some),
        }
    }
}

/// Reads the value at a place. An error without a place gets its name.
fn deserialize<'de, S: DeserializeSeed<'de>>(
    place: Place<'de>,
    seed: S,
) -> Result<S::Value, Failure> {
    let name = place.name();
    seed.deserialize(place).map_err(|error| error.at(|| name))
}

/// A type requests a value without its key, which serde forbids.
fn without_key() -> Failure {
    Failure::Custom("the type asks for a value before its key".to_owned(), None)
}

/// The names below under one more part, which may be absent.
fn child<'de>(names: &Below<'de>, part: &str) -> Result<Place<'de>, Failure> {
    match names.child(part) {
        Some(child) => Ok(Place::Names(child)),
        None => {
            made(names.table)?;
            Ok(absent_child(names, part))
        }
    }
}

fn absent_child<'de>(names: &Below<'de>, part: &str) -> Place<'de> {
    let above = Absent::new(names.table, names.name().to_owned(), names.depth);
    Place::Absent(Box::new(above.child(part)))
}

/// The fields of a struct that exist or are required.
pub(crate) struct Fields<'de> {
    place: Place<'de>,
    /// Backwards.
    fields: Vec<(&'static str, Place<'de>)>,
    type_id: String,
    value: Option<Place<'de>>,
}

impl<'de> Fields<'de> {
    pub(crate) fn new(
        place: Place<'de>,
        name: &str,
        fields: &'static [&'static str],
    ) -> Result<Self, Failure> {
        let type_id = format!("{name} {:p}", fields.as_ptr());
        place.expect_not_in_itself(&type_id)?;
        let mut all = Vec::new();
        for field in fields.iter().rev() {
            let here = match &place {
                Place::Names(names) => {
                    names.check_depth()?;
                    names.child(field).map(Place::Names)
                }
                _ => None,
            };
            let here = here.or_else(|| {
                let absent = place.above()?;
                absent.check_depth().ok()?;
                let required = absent.table.findings().required(&type_id).any(|it| it == *field);
                required.then(|| Place::Absent(Box::new(absent.child(field))))
            });
            all.extend(here.map(|here| (*field, here)));
        }
        Ok(Fields { place, fields: all, type_id, value: None })
    }

    pub(crate) fn visit<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Failure> {
        let Some(table) = self.place.above().map(|above| above.table) else {
            return visitor.visit_map(&mut self);
        };
        let type_id = std::mem::take(&mut self.type_id);
        table.findings().open(Some(type_id));
        let result = visitor.visit_map(&mut self);
        let type_id = table.findings().close();
        require(result, &self.place, type_id.or_bug())
    }
}

/// Learns from an error of serde that a field is required.
fn require<T>(result: Result<T, Failure>, place: &Place<'_>, of: String) -> Result<T, Failure> {
    let (Err(Failure::Field(field)), Some(absent)) = (&result, place.above()) else {
        return result;
    };
    if absent.table.findings().require(of, field) { Err(Failure::Again) } else { result }
}

impl<'de> Place<'de> {
    /// Checks that an absent sequence is not in a type that it has as its elements.
    fn expect_not_in_itself(&self, type_id: &str) -> Result<(), Failure> {
        match self {
            Place::Absent(absent) if absent.table.findings().is_in_itself(type_id) => {
                Err(Failure::Recursive)
            }
            _ => Ok(()),
        }
    }

    /// Reads a tuple struct, and marks its type as open inside.
    pub(crate) fn open<T>(
        self,
        name: &'static str,
        read: impl FnOnce(Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let Some(table) = self.above().map(|above| above.table) else { return read(self) };
        let type_id = format!("{name} {:p}", name.as_ptr());
        self.expect_not_in_itself(&type_id)?;
        table.findings().open(Some(type_id));
        let result = read(self);
        table.findings().close();
        result
    }

    /// This place as one whose children are absent.
    fn above(&self) -> Option<Absent<'de>> {
        match self {
            Place::Names(names) => {
                Some(Absent::new(names.table, names.name().to_owned(), names.depth))
            }
            Place::Absent(absent) => Some(Absent::clone(absent)),
            Place::Part(_) | Place::Flat(..) => None,
        }
    }
}

impl<'de> MapAccess<'de> for &mut Fields<'de> {
    type Error = Failure;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Failure> {
        let Some((field, place)) = self.fields.pop() else { return Ok(None) };
        self.value = Some(place);
        seed.deserialize(text(field)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Failure> {
        deserialize(self.value.take().ok_or_else(without_key)?, seed)
    }
}

/// The entries of a map: the distinct parts below a name.
pub(crate) struct Entries<'de> {
    place: Place<'de>,
    /// Backwards.
    keys: Vec<&'de str>,
    /// The numbers that were keys.
    numbers: HashMap<String, &'de str>,
    value: Option<Place<'de>>,
}

impl<'de> Entries<'de> {
    pub(crate) fn new(place: Place<'de>) -> Self {
        let (mut keys, is_empty) = match &place {
            Place::Names(names) => (names.children(), names.is_empty()),
            _ => (Vec::new(), false),
        };
        if let (true, Some(absent)) =
            (keys.is_empty() && !is_empty, place.above().filter(|_| !place.name().is_empty()))
        {
            absent.report(None, "a map");
        }
        // Fields of a struct that serde flattens.
        let name = place.name();
        if let Some(above) = place.above() {
            let findings = above.table.findings();
            let fields = findings.required(&name).filter(|field| !keys.contains(field));
            let fields: Vec<&str> = fields.collect();
            keys.extend(fields);
        }
        keys.reverse();
        Entries { place, keys, numbers: HashMap::new(), value: None }
    }

    pub(crate) fn visit<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Failure> {
        let result = visitor.visit_map(&mut self);
        let name = self.place.name();
        require(result, &self.place, name)
    }
}

impl<'de> MapAccess<'de> for &mut Entries<'de> {
    type Error = Failure;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Failure> {
        let Some(key) = self.keys.pop() else { return Ok(None) };
        self.value = Some(match &self.place {
            Place::Names(names) => child(names, key)?,
            other => other
                .above()
                .map_or_else(|| other.clone(), |above| Place::Absent(Box::new(above.child(key)))),
        });
        let place = &self.place;
        let in_buffer = || match place {
            Place::Names(names) => names.table.keys_below(names.name()),
            _ => Some(Keys::Texts),
        };
        let numbers = &mut self.numbers;
        seed.deserialize(KeyDeserializer { key, in_buffer: &in_buffer, numbers }).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Failure> {
        deserialize(self.value.take().ok_or_else(without_key)?, seed)
    }
}

/// The variant whose name is below, or the text here.
pub(crate) struct Variant<'de> {
    variant: &'static str,
    place: Place<'de>,
}

impl<'de> Variant<'de> {
    pub(crate) fn new(place: Place<'de>, variants: &'static [&'static str]) -> Option<Self> {
        let Place::Names(names) = place else { return None };
        if let Some(text) = names.text().and_then(literal::string) {
            let variant = variants.iter().find(|variant| **variant == text)?;
            return Some(Variant { variant, place: Place::Names(names) });
        }
        let found = variants.iter().filter_map(|variant| Some((*variant, names.child(variant)?)));
        // That of the file, if another value has another one.
        let (of_file, filled): (Vec<_>, Vec<_>) =
            found.partition(|(_, inside)| !inside.is_filled());
        let mut found = if of_file.is_empty() { filled } else { of_file }.into_iter();
        let (variant, inside) = found.next()?;
        // Several variants are ambiguous.
        found.next().is_none().then_some(Variant { variant, place: Place::Names(inside) })
    }
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Failure;
    type Variant = Place<'de>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Place<'de>), Failure> {
        Ok((seed.deserialize(text(self.variant))?, self.place))
    }
}

impl<'de> VariantAccess<'de> for Place<'de> {
    type Error = Failure;

    fn unit_variant(self) -> Result<(), Failure> {
        Ok(()) // what is below stays unused
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Failure> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.deserialize_tuple(length, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.fields("", fields, visitor)
    }
}
