//! The deserializer: the type requests a struct, a map, a sequence or a number.

use std::borrow::Cow;
use std::iter::empty;

use half::{bf16, f16};
use serde::de::value::{SeqDeserializer, U16Deserializer};
use serde::de::{Deserializer, IntoDeserializer, Visitor};
use treedef::__private::ArrayFields;
use treedef::Leaf;

use crate::literal::{ABSENT, EMPTY, NO_ELEMENTS, PRESENT, UNIT};
use crate::load::access::{Elements, Entries, Fields, Items, Variant};
use crate::load::array_access::ArrayAccess;
use crate::load::failure::Failure;
use crate::load::forms::Form;
use crate::load::matrix;
use crate::load::part::Part;
use crate::load::place::{Number, Place, deserialize_numbers};
use crate::tensor::Dtype;

/// The maximum number of names that are listed if a variant is expected.
const NAMED: usize = 5;
/// The reason why there may be no variant.
const NO_VARIANT: &str =
    ", found nothing (`Loader::fill_from` has what a file without our metadata does not say)";

impl<'de> Place<'de> {
    /// The fields of a struct, each with its name.
    pub(crate) fn fields<V: Visitor<'de>>(
        self,
        type_name: &str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        let name = self.name();
        let fields = Fields::new(self.without_tensor(), type_name, fields)?;
        fields.visit(visitor).map_err(|error| error.at(|| name))
    }

    /// A text, or a number of 128 bits.
    fn visit_text<V: Visitor<'de>>(
        self,
        kind: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        match self.text(kind)? {
            Some(Leaf::Str(text)) => visitor.visit_str(&text),
            Some(Leaf::Char(char)) => visitor.visit_char(char),
            Some(Leaf::Bytes(bytes)) => visitor.visit_bytes(&bytes),
            Some(Leaf::I128(number)) => visitor.visit_i128(number.get()),
            Some(Leaf::U128(number)) => visitor.visit_u128(number.get()),
            Some(other) => {
                Err(Failure::Custom(format!("expected {kind}, found `{other}`"), Some(self.name())))
            }
            // It was reported.
            None => match kind {
                "char" => visitor.visit_char('\0'),
                "i128" => visitor.visit_i128(0),
                "u128" => visitor.visit_u128(0),
                "bytes" => visitor.visit_bytes(&[]),
                _ => visitor.visit_str(""),
            },
        }
    }

    fn sequence<V: Visitor<'de>>(
        self,
        length: Option<usize>,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        if let Place::Names(names) = &self {
            names.check_depth()?;
            if let Some(items) = Items::stacked(names) {
                return items.visit(length, visitor).map_err(|error| error.at(|| self.name()));
            }
        }
        if let Place::Flat(part, taken) = &self {
            return Elements::flat(*part, *taken)
                .visit(visitor)
                .map_err(|error| error.at(|| self.name()));
        }
        let name = || self.name();
        if let Some(part) = self.part() {
            part.entry.asked.set(true);
            if part.is_of_columns() {
                return matrix::visit(part, matches!(self, Place::Names(_)), length, visitor)
                    .map_err(|error| error.at(name));
            }
            return match part.length() {
                Some(found) if length.is_none_or(|length| length == found) => {
                    Elements::new(part, found).visit(visitor)
                }
                _ => Items::absent(part.mismatch(), length).visit(length, visitor),
            }
            .map_err(|error| error.at(name));
        }
        let items = match &self {
            Place::Names(names) => match names.count().or(names.is_empty().then_some(0)) {
                Some(count) => Items::named(names, length.unwrap_or(count)),
                None => Items::absent(self.absent(), length),
            },
            _ => Items::absent(self.absent(), length),
        };
        items.visit(length, visitor).map_err(|error| error.at(name))
    }

    fn half<N: Number, V: Visitor<'de>>(
        self,
        bits: fn(N) -> u16,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        let bits: U16Deserializer<Failure> = bits(self.number::<N>()?).into_deserializer();
        visitor.visit_newtype_struct(bits)
    }

    /// An element without a request: serde keeps it in a buffer.
    fn any_number<V: Visitor<'de>>(self, part: Part<'de>, visitor: V) -> Result<V::Value, Failure> {
        match part.array.dtype {
            Dtype::Bool => visitor.visit_bool(self.bool()?),
            Dtype::U8 => visitor.visit_u8(self.number()?),
            Dtype::I8 => visitor.visit_i8(self.number()?),
            Dtype::U16 => visitor.visit_u16(self.number()?),
            Dtype::I16 => visitor.visit_i16(self.number()?),
            Dtype::U32 => visitor.visit_u32(self.number()?),
            Dtype::I32 => visitor.visit_i32(self.number()?),
            Dtype::U64 => visitor.visit_u64(self.number()?),
            Dtype::I64 => visitor.visit_i64(self.number()?),
            Dtype::F64 => visitor.visit_f64(self.number()?),
            // Bits in a newtype are a half float, and no number.
            Dtype::F16 if !part.table.convert => self.half(f16::to_bits, visitor),
            Dtype::Bf16 if !part.table.convert => self.half(bf16::to_bits, visitor),
            _ => visitor.visit_f32(self.number()?),
        }
    }
}

/// The content that an option reads as `None`.
fn absent_value<'de>() -> impl Deserializer<'de, Error = Failure> {
    ().into_deserializer()
}

macro_rules! deserialize_texts {
    ($($deserialize:ident $kind:literal,)*) => {
        $(fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
            self.visit_text($kind, visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for Place<'de> {
    type Error = Failure;

    deserialize_numbers! {}

    deserialize_texts! {
        deserialize_str "str",
        deserialize_string "str",
        deserialize_char "char",
        deserialize_i128 "i128",
        deserialize_u128 "u128",
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_bool(self.bool()?)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.part() {
            Some(part)
                if part.array.dtype == Dtype::U8
                    && part.array.dims.len() == 1
                    && part.depth == 0 =>
            {
                part.entry.asked.set(true);
                part.entry.count_read(part.array.num_numbers());
                match part.all_bytes() {
                    Cow::Borrowed(bytes) => visitor.visit_borrowed_bytes(bytes),
                    Cow::Owned(bytes) => visitor.visit_byte_buf(bytes),
                }
            }
            _ => self.visit_text("bytes", visitor),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self {
            Place::Absent(absent) if absent.instead.is_none() => visitor.visit_none(),
            Place::Names(names) if names.text() == Some(ABSENT) => visitor.visit_none(),
            Place::Names(names) if names.text() == Some(PRESENT) => {
                visitor.visit_some(absent_value())
            }
            place => visitor.visit_some(place),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        if let Place::Names(names) = &self {
            names.text(); // it counts as read
        }
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        match name {
            "f16" => self.half(f16::to_bits, visitor),
            "bf16" => self.half(bf16::to_bits, visitor),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.sequence(None, visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.sequence(Some(length), visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.open(name, |place| place.sequence(Some(length), visitor))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        let place = self.without_tensor();
        let name = place.name();
        match &place {
            Place::Names(names) => names.check_depth()?,
            Place::Absent(absent) => absent.check_depth()?,
            _ => {}
        }
        Entries::new(place).visit(visitor).map_err(|error| error.at(|| name))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        type_name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        let Some(array) = ArrayFields::of(fields) else {
            return self.fields(type_name, fields, visitor);
        };
        match (&self, self.part()) {
            // It would be written as a tensor of its own.
            (Place::Part(part), _) => {
                let expected = "a tensor for each array (see `Loader::stack`)";
                part.table.change(part.entry, expected.to_owned());
                Err(Failure::Reported)
            }
            (_, Some(part)) => visitor
                .visit_map(ArrayAccess::new(part, array, fields))
                .map_err(|error| error.at(|| self.name())),
            _ => self.fields(type_name, fields, visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        let place = self.name();
        let found = match &self {
            Place::Names(names) => match names.text() {
                Some(text) => format!(", found {text}"),
                None => {
                    let tensor = names.tensor().map(|part| part.array.display());
                    let below = names.children().into_iter().map(|name| format!("`{name}`"));
                    let found: Vec<String> = tensor.into_iter().chain(below).take(NAMED).collect();
                    if found.is_empty() {
                        String::new()
                    } else {
                        format!(", found {}", found.join(", "))
                    }
                }
            },
            Place::Absent(absent) if absent.instead.is_none() => NO_VARIANT.to_owned(),
            _ => String::new(),
        };
        match Variant::new(self, variants) {
            Some(variant) => visitor.visit_enum(variant).map_err(|error| error.at(|| place)),
            None => Err(Failure::Custom(
                format!("expected the name of one variant of {name}{found}"),
                Some(place),
            )),
        }
    }

    /// serde does not show the type: it fills a buffer, or the type accepts anything.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        if let Some(part) = self.part() {
            part.entry.buffered.set(true);
            let is_whole = matches!(self, Place::Names(_));
            match part.table.form(part.entry) {
                Form::Struct { names, .. } if is_whole => {
                    if let Some(array) = ArrayFields::of(names) {
                        return visitor.visit_map(ArrayAccess::new(part, array, names));
                    }
                }
                Form::Matrix(sizes) if is_whole => {
                    return matrix::visit_tuple(part, sizes, visitor);
                }
                _ => {}
            }
            return match part.length() {
                Some(_) if part.is_of_columns() && is_whole => matrix::visit_numbers(part, visitor),
                Some(_) => self.sequence(None, visitor),
                None => Place::Part(part).any_number(part, visitor),
            };
        }
        if let Place::Flat(..) = &self {
            return self.sequence(None, visitor);
        }
        let Place::Names(names) = &self else {
            if let Place::Absent(absent) = &self
                && absent.instead.is_some_and(|entry| absent.is_shape_of(entry, usize::le))
            {
                return visitor.visit_seq(SeqDeserializer::<_, Failure>::new(empty::<()>()));
            }
            self.absent().report(None, "anything");
            return visitor.visit_unit();
        };
        match names.text() {
            Some(ABSENT) => return visitor.visit_none(),
            Some(PRESENT) => return visitor.visit_some(absent_value()),
            Some(EMPTY) => return self.deserialize_map(visitor),
            Some(NO_ELEMENTS) => return self.sequence(None, visitor),
            Some(UNIT) => return visitor.visit_unit(),
            Some(_) => return self.visit_text("str", visitor),
            None => {}
        }
        let children = names.children();
        let are_indices = children.iter().all(|part| part.parse::<usize>().is_ok());
        match names.count() {
            Some(count)
                if are_indices
                    && count == children.len()
                    && names.table.keys_below(names.name()).is_none() =>
            {
                self.sequence(None, visitor)
            }
            _ => self.deserialize_map(visitor),
        }
    }

    /// It stays unused.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_unit()
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_str(visitor)
    }
}
