//! serde's side: the type says whether it wants a struct, a map, a sequence or a number.

use std::borrow::Cow;

use half::{bf16, f16};
use serde::de::value::{BorrowedStrDeserializer, StrDeserializer, U8Deserializer, U16Deserializer};
use serde::de::{Deserializer, IntoDeserializer, Visitor};
use treedef::{ArrayFields, Leaf, Value};

use crate::load::access::{Elements, Entries, Fields, Items, Variant};
use crate::load::array_access::ArrayAccess;
use crate::load::buffered::Form;
use crate::load::failure::{Failure, STANDS_FOR};
use crate::load::matrix;
use crate::load::place::{ABSENT, Absent, EMPTY, Names, Part};
use crate::load::table::is_float;
use crate::tensor::{Dtype, display};

/// A place that a type is read from.
#[derive(Clone)]
pub(crate) enum Place<'de> {
    Names(Names<'de>),
    Part(Part<'de>),
    /// The elements of so many dimensions as one sequence.
    Flat(Part<'de>, usize),
    Absent(Box<Absent<'de>>),
}

/// A number type, and the bytes that it has in tensors.
trait Number: Sized + Copy + Default {
    const DTYPE: Dtype;
    fn read(bytes: &[u8]) -> Option<Self>;
    fn from_f64(_: f64) -> Option<Self> {
        None
    }
}

macro_rules! numbers {
    ($($dtype:ident $type:ty $(, $from:expr)?;)*) => {
        $(impl Number for $type {
            const DTYPE: Dtype = Dtype::$dtype;
            #[inline]
            fn read(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(<$type>::from_le_bytes)
            }
            $(fn from_f64(value: f64) -> Option<Self> {
                let convert: fn(f64) -> $type = $from;
                let number = convert(value);
                (f64::from(number).is_finite() || !value.is_finite()).then_some(number)
            })?
        })*
    };
}

#[allow(clippy::cast_possible_truncation, reason = "an overflow is infinite, which is refused")]
const TO_F32: fn(f64) -> f32 = |value| value as f32;

numbers! {
    U8 u8;
    I8 i8;
    U16 u16;
    I16 i16;
    U32 u32;
    I32 i32;
    U64 u64;
    I64 i64;
    F16 f16, f16::from_f64;
    Bf16 bf16, bf16::from_f64;
    F32 f32, TO_F32;
    F64 f64, |value| value;
}

/// A float of any width.
fn float(dtype: Dtype, bytes: &[u8]) -> Option<f64> {
    match dtype {
        Dtype::F16 => f16::read(bytes).map(f64::from),
        Dtype::Bf16 => bf16::read(bytes).map(f64::from),
        Dtype::F32 => f32::read(bytes).map(f64::from),
        Dtype::F64 => f64::read(bytes),
        _ => None,
    }
}

impl<'de> Place<'de> {
    pub(crate) fn name(&self) -> String {
        match self {
            Place::Names(names) => names.name().to_owned(),
            Place::Part(part) | Place::Flat(part, _) => part.entry.name.to_string(),
            Place::Absent(absent) => absent.full_name(),
        }
    }

    /// The tensor that is here, if there is one.
    fn part(&self) -> Option<Part<'de>> {
        match self {
            Place::Names(names) => names.tensor(),
            Place::Part(part) => Some(*part),
            Place::Flat(..) | Place::Absent(_) => None,
        }
    }

    /// What shows the type's wish where it cannot be met.
    fn absent(&self) -> Absent<'de> {
        match self {
            Place::Names(names) => Absent::new(names.table, names.name().to_owned(), names.depth),
            Place::Part(part) | Place::Flat(part, _) => part.mismatch(),
            Place::Absent(absent) => Absent::clone(absent),
        }
    }

    /// A place without a tensor, for those who ask for names.
    fn without_tensor(self) -> Self {
        match self {
            Place::Part(part) | Place::Flat(part, _) => {
                let name = part.entry.name.to_string();
                Place::Absent(Box::new(Absent::new(part.table, name, part.depth)))
            }
            other => other,
        }
    }

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

    #[inline]
    fn number<N: Number>(self) -> Result<N, Failure> {
        if let Place::Part(part) = &self
            && part.array.dtype == N::DTYPE
            && let Some(number) = part.bytes().and_then(N::read)
        {
            part.entry.count_read(1);
            return Ok(number);
        }
        self.number_of_file()
    }

    /// A number of a tensor that is in a file.
    #[inline(never)]
    fn number_of_file<N: Number>(self) -> Result<N, Failure> {
        if let Place::Part(part) = &self
            && part.array.dtype == N::DTYPE
            && let Some(number) = part.with_bytes(N::read).flatten()
        {
            part.entry.count_read(1);
            return Ok(number);
        }
        self.other_number()
    }

    /// A number of another type, or none.
    #[cold]
    fn other_number<N: Number>(self) -> Result<N, Failure> {
        let Some(part) = self.part() else {
            self.absent().report(Some(N::DTYPE), "");
            return Ok(N::default());
        };
        part.entry.count_read(1);
        let dtype = part.array.dtype;
        match part.with_bytes(|bytes| (N::read(bytes), float(dtype, bytes))) {
            Some((number, _)) if dtype == N::DTYPE => return Ok(number.unwrap_or_default()),
            Some((_, value)) if part.table.convert && is_float(dtype) && is_float(N::DTYPE) => {
                return value.and_then(N::from_f64).ok_or_else(|| {
                    let value = value.unwrap_or_default();
                    Failure::Custom(
                        format!("{value:e} does not fit into {}", N::DTYPE),
                        Some(self.name()),
                    )
                });
            }
            Some(_) => {
                let expected = display(N::DTYPE, &part.array.dims);
                part.table.change(part.entry, expected);
            }
            None => part.mismatch().report(Some(N::DTYPE), ""),
        }
        Ok(N::default())
    }

    fn bool(self) -> Result<bool, Failure> {
        let Some(part) = self.part() else {
            self.absent().report(Some(Dtype::Bool), "");
            return Ok(false);
        };
        part.entry.count_read(1);
        match (part.with_bytes(|bytes| bytes.first().copied()), part.array.dtype) {
            (Some(Some(0)), Dtype::Bool) => Ok(false),
            (Some(Some(1)), Dtype::Bool) => Ok(true),
            (Some(Some(byte)), Dtype::Bool) => {
                Err(Failure::Custom(format!("the byte {byte} is not a bool"), Some(self.name())))
            }
            (Some(_), _) => {
                part.table.change(part.entry, display(Dtype::Bool, &part.array.dims));
                Ok(false)
            }
            (None, _) => {
                part.mismatch().report(Some(Dtype::Bool), "");
                Ok(false)
            }
        }
    }

    /// The leaf that the metadata has under this name.
    fn text(&self, kind: &'static str) -> Result<Option<Leaf>, Failure> {
        let text = match self {
            Place::Names(names) => names.text(),
            _ => None,
        };
        let Some(text) = text else {
            self.clone().without_tensor().absent().report(None, kind);
            return Ok(None);
        };
        let value: Result<Value, treedef::Error> = text.parse();
        let value = value.map_err(|error| Failure::Custom(error.to_string(), Some(self.name())))?;
        Ok(Some(value.into()))
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
            Place::Names(names) => {
                match names.count().or((names.text() == Some(EMPTY)).then_some(0)) {
                    Some(count) => Items::named(names, length.unwrap_or(count)),
                    None => Items::absent(self.absent(), length),
                }
            }
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

    /// An element without a wish: serde keeps it in a buffer.
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

macro_rules! deserialize_numbers {
    ($($deserialize:ident $visit:ident,)*) => {
        $(#[inline]
        fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
            visitor.$visit(self.number()?)
        })*
    };
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

    deserialize_numbers! {
        deserialize_u8 visit_u8,
        deserialize_i8 visit_i8,
        deserialize_u16 visit_u16,
        deserialize_i16 visit_i16,
        deserialize_u32 visit_u32,
        deserialize_i32 visit_i32,
        deserialize_u64 visit_u64,
        deserialize_i64 visit_i64,
        deserialize_f32 visit_f32,
        deserialize_f64 visit_f64,
    }

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
            place => visitor.visit_some(place),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_unit()
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
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.sequence(Some(length), visitor)
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
        match Variant::new(self, variants) {
            Some(variant) => visitor.visit_enum(variant).map_err(|error| error.at(|| place)),
            None => Err(Failure::Custom(
                format!("expected the name of one variant of {name}"),
                Some(place),
            )),
        }
    }

    /// serde does not say what it wants: it fills a buffer, or the type takes anything.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        if let Some(part) = self.part() {
            part.entry.buffered.set(true);
            let is_whole = matches!(self, Place::Names(_));
            match part.entry.form.get() {
                Form::Unknown(number) if is_whole => {
                    return visitor.visit_string(format!("{STANDS_FOR}{number}"));
                }
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
            self.absent().report(None, "anything");
            return visitor.visit_unit();
        };
        match names.text() {
            Some(ABSENT) => return visitor.visit_none(),
            Some(EMPTY) => return self.deserialize_map(visitor),
            Some(_) => return self.visit_text("str", visitor),
            None => {}
        }
        match names.count() {
            Some(count) if count == names.children().len() => self.sequence(None, visitor),
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

/// The key of a map, or the name of a field or a variant.
pub(crate) struct KeyDeserializer<'de>(pub(crate) &'de str);

macro_rules! keys {
    ($($deserialize:ident $visit:ident,)*) => {
        $(fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
            match self.0.parse() {
                Ok(number) => visitor.$visit(number),
                Err(_) => visitor.visit_borrowed_str(self.0),
            }
        })*
    };
}

impl<'de> Deserializer<'de> for KeyDeserializer<'de> {
    type Error = Failure;

    keys! {
        deserialize_u8 visit_u8,
        deserialize_i8 visit_i8,
        deserialize_u16 visit_u16,
        deserialize_i16 visit_i16,
        deserialize_u32 visit_u32,
        deserialize_i32 visit_i32,
        deserialize_u64 visit_u64,
        deserialize_i64 visit_i64,
        deserialize_u128 visit_u128,
        deserialize_i128 visit_i128,
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.0 {
            "True" => visitor.visit_bool(true),
            "False" => visitor.visit_bool(false),
            other => visitor.visit_borrowed_str(other),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_borrowed_str(self.0)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        let name_of_variant: BorrowedStrDeserializer<'de, Failure> =
            BorrowedStrDeserializer::new(self.0);
        name_of_variant.deserialize_enum(name, variants, visitor)
    }

    serde::forward_to_deserialize_any! {
        f32 f64 char str string bytes byte_buf option unit unit_struct seq tuple tuple_struct map
        struct identifier ignored_any
    }
}

pub(crate) fn text<'de>(text: &'de str) -> StrDeserializer<'de, Failure> {
    text.into_deserializer()
}

pub(crate) fn version() -> U8Deserializer<Failure> {
    1u8.into_deserializer()
}
