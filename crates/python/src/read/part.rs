//! An array and the parts of it, as a type asks for them.

use std::any::type_name;

use serde::de::value::{SeqDeserializer, U16Deserializer, U64Deserializer};
use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use treedef::ArrayFields;

use crate::error::{Error, ErrorKind, Result};
use crate::read::array::Numbers;
use crate::read::probe::Wish;

/// What an error about a type of numbers says at its end.
const CONVERT: &str = " (`Reader::convert_numbers` converts)";

/// A whole array.
#[derive(Clone, Copy)]
pub(crate) struct Whole<'a> {
    pub(crate) numbers: Numbers<'a>,
    pub(crate) shape: &'a [usize],
    /// Whether numbers of another type are converted.
    pub(crate) convert: bool,
    /// Its type and shape, for errors.
    pub(crate) describe: &'a dyn Fn() -> String,
}

/// A dimension that the type asked for, and those around it.
#[derive(Clone, Copy)]
struct Asked<'a> {
    outer: Option<&'a Asked<'a>>,
    length: Option<usize>,
}

/// A part of an array: an element, an element of an element, …
#[derive(Clone, Copy)]
pub(crate) struct Part<'a> {
    whole: &'a Whole<'a>,
    /// The dimensions that are left.
    dims: &'a [usize],
    /// Where its numbers begin.
    start: usize,
    asked: Option<&'a Asked<'a>>,
}

impl<'a> Part<'a> {
    pub(crate) fn new(whole: &'a Whole<'a>) -> Self {
        Part { whole, dims: whole.shape, start: 0, asked: None }
    }

    /// The error of a type that asks for something else here.
    #[cold]
    fn mismatch(&self, wish: Wish) -> Error {
        let mut dims = Vec::new();
        let mut asked = self.asked;
        while let Some(Asked { outer, length }) = asked {
            dims.push(*length);
            asked = *outer;
        }
        dims.reverse();
        let found = (self.whole.describe)();
        let is_same =
            wish.dtype_in_numpy().is_none_or(|name| found.split('[').next() == Some(name));
        let kind = if is_same { ErrorKind::Value } else { ErrorKind::Type };
        let help = if is_same { "" } else { CONVERT };
        Error::new(kind, format_args!("expected {}, found {found}{help}", wish.inside(dims)))
    }

    fn sequence<'de, V: Visitor<'de>>(self, length: Option<usize>, visitor: V) -> Result<V::Value> {
        match self.dims.split_first() {
            Some((&found, dims)) if length.is_none_or(|length| length == found) => {
                let asked = &Asked { outer: self.asked, length };
                let step = dims.iter().product();
                let part = Part { dims, asked: Some(asked), ..self };
                visitor.visit_seq(Elements { part, step, left: found })
            }
            _ => Err(self.mismatch(Wish::of_sequence(length, visitor))),
        }
    }

    /// The index of a number, if it is one.
    #[inline]
    fn index(&self) -> Option<usize> {
        self.dims.is_empty().then_some(self.start)
    }

    /// The numbers in the order of columns, if the type is a matrix of `nalgebra`, and its shape.
    fn matrix<V>(&self, length: Option<usize>) -> Option<Matrix> {
        let name = type_name::<V>();
        if !name.contains("nalgebra::") || self.asked.is_some() && self.dims.is_empty() {
            return None;
        }
        let (rows, columns) = match *self.dims {
            [rows] => (rows, 1),
            [rows, columns] => (rows, columns),
            _ => return None,
        };
        let is_fixed = name.contains("ArrayStorageVisitor");
        let fits = if is_fixed {
            name.ends_with(&format!(", {rows}, {columns}>")) && length == Some(rows * columns)
        } else {
            length == Some(3)
        };
        fits.then_some(Matrix { rows, columns, is_fixed })
    }
}

#[derive(Clone, Copy)]
struct Matrix {
    rows: usize,
    columns: usize,
    is_fixed: bool,
}

/// The elements of the first dimension.
struct Elements<'a> {
    part: Part<'a>,
    /// How many numbers each has.
    step: usize,
    left: usize,
}

impl<'de> SeqAccess<'de> for Elements<'_> {
    type Error = Error;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let part = self.part;
        self.part.start += self.step; // at most the length of the numbers
        seed.deserialize(part).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

/// The numbers of a matrix, column by column.
struct Columns<'a> {
    part: Part<'a>,
    matrix: Matrix,
    next: usize,
}

impl<'de> SeqAccess<'de> for Columns<'_> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        let Matrix { rows, columns, .. } = self.matrix;
        if self.next == rows * columns {
            return Ok(None);
        }
        let (column, row) = (self.next / rows, self.next % rows);
        self.next += 1;
        let start = self.part.start + row * columns + column;
        seed.deserialize(Part { dims: &[], start, ..self.part }).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.matrix.rows * self.matrix.columns - self.next)
    }
}

/// A dynamic matrix of `nalgebra`: the numbers, the rows and the columns.
struct MatrixParts<'a> {
    part: Part<'a>,
    matrix: Matrix,
    next: usize,
}

impl<'de> SeqAccess<'de> for MatrixParts<'_> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        self.next += 1;
        let MatrixParts { part, matrix, next } = *self;
        match next {
            1 => seed.deserialize(MatrixNumbers(Columns { part, matrix, next: 0 })).map(Some),
            2 => seed.deserialize(Size(matrix.rows)).map(Some),
            3 => seed.deserialize(Size(matrix.columns)).map(Some),
            _ => Ok(None),
        }
    }
}

struct MatrixNumbers<'a>(Columns<'a>);

impl<'de> Deserializer<'de> for MatrixNumbers<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_seq(self.0)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// A dimension, or nothing where the type has it.
struct Size(usize);

impl<'de> Deserializer<'de> for Size {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_u64(self.0 as u64) // usize has at most 64 bits
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// The fields of a struct that holds an array: `{ v, dim, data }` of `ndarray`, `{ shape, data }`.
struct Fields<'a> {
    part: Part<'a>,
    names: std::slice::Iter<'a, &'static str>,
    length: [usize; 1],
    value: &'static str,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        let Some(name) = self.names.next() else { return Ok(None) };
        self.value = name;
        seed.deserialize(IntoDeserializer::<Error>::into_deserializer(*name)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value> {
        match self.value {
            "v" => seed.deserialize(U64Deserializer::new(1)),
            "shape" | "dim" => seed.deserialize(Dims(self.part)),
            _ => seed.deserialize(Part { dims: &self.length, ..self.part }),
        }
    }
}

/// The dimensions as a value: a sequence of any length, or a tuple of as many as there are.
struct Dims<'a>(Part<'a>);

impl<'de> Deserializer<'de> for Dims<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let dims = self.0.dims.iter().map(|dim| *dim as u64); // usize has at most 64 bits
        visitor.visit_seq(SeqDeserializer::<_, Error>::new(dims))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value> {
        if length == self.0.dims.len() {
            return self.deserialize_any(visitor);
        }
        let found = (self.0.whole.describe)();
        let expected = format_args!("an array with {length} dimensions");
        Err(Error::new(ErrorKind::Value, format_args!("expected {expected}, found {found}")))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value> {
        self.deserialize_tuple(length, visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq map struct enum identifier ignored_any
    }
}

/// Numbers of the type that is asked for, and others where they are converted.
macro_rules! numbers {
    ($($deserialize:ident $kind:ident $visit:ident $wish:literal)*) => {
        $(#[inline]
        fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            if let (Numbers::$kind(numbers), Some(index)) = (self.whole.numbers, self.index())
                && let Some(number) = numbers.get(index)
            {
                return visitor.$visit(*number);
            }
            self.other_number($wish, visitor)
        })*
    };
}

impl Part<'_> {
    #[cold]
    fn other_number<'de, V: Visitor<'de>>(
        self,
        wish: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        // Of 8 bits and less, an array has been widened.
        let is_widened = |name: &str| self.is_widened_to(name);
        if self.dims.is_empty() && (self.whole.convert || is_widened(wish)) {
            return self.any(visitor).map_err(|error| match error.kind() {
                ErrorKind::Type => self.mismatch(Wish::number(wish)),
                _ => error,
            });
        }
        Err(self.mismatch(Wish::number(wish)))
    }

    fn is_widened_to(&self, wish: &str) -> bool {
        wish == "f32" && matches!(self.whole.numbers, Numbers::F32(_))
    }

    /// The number that is here, or the elements.
    fn any<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let Some(index) = self.index() else { return self.sequence(None, visitor) };
        macro_rules! visit {
            ($($kind:ident $visit:ident $map:expr,)*) => {
                match self.whole.numbers {
                    $(Numbers::$kind(numbers) => numbers.get(index).map($map).map(|number| visitor.$visit(number)),)*
                }
            };
        }
        let visited = visit! {
            Bool visit_bool |byte| *byte != 0,
            I8 visit_i8 |number| *number,
            I16 visit_i16 |number| *number,
            I32 visit_i32 |number| *number,
            I64 visit_i64 |number| *number,
            U8 visit_u8 |number| *number,
            U16 visit_u16 |number| *number,
            U32 visit_u32 |number| *number,
            U64 visit_u64 |number| *number,
            F16 visit_f32 |bits| half::f16::from_bits(*bits).to_f32(),
            Bf16 visit_f32 |bits| half::bf16::from_bits(*bits).to_f32(),
            F32 visit_f32 |number| *number,
            F64 visit_f64 |number| *number,
        };
        visited.unwrap_or_else(|| Err(Error::new(ErrorKind::Value, "an array has too few numbers")))
    }

    fn half<'de, V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value> {
        let bits = match (name, self.whole.numbers) {
            ("f16", Numbers::F16(bits)) | ("bf16", Numbers::Bf16(bits)) => bits,
            _ => return Err(self.mismatch(Wish::number(name))),
        };
        match self.index().and_then(|index| bits.get(index)) {
            Some(bits) => visitor.visit_newtype_struct(U16Deserializer::<Error>::new(*bits)),
            None => Err(self.mismatch(Wish::number(name))),
        }
    }
}

macro_rules! refused {
    ($($deserialize:ident($($argument:ident: $type:ty),*) $wish:literal)*) => {
        $(fn $deserialize<V: Visitor<'de>>(self, $($argument: $type,)* _: V) -> Result<V::Value> {
            $(let _ = $argument;)*
            Err(self.mismatch(Wish::other($wish)))
        })*
    };
}

impl<'de> Deserializer<'de> for Part<'_> {
    type Error = Error;

    numbers! {
        deserialize_i8 I8 visit_i8 "i8"
        deserialize_i16 I16 visit_i16 "i16"
        deserialize_i32 I32 visit_i32 "i32"
        deserialize_i64 I64 visit_i64 "i64"
        deserialize_u8 U8 visit_u8 "u8"
        deserialize_u16 U16 visit_u16 "u16"
        deserialize_u32 U32 visit_u32 "u32"
        deserialize_u64 U64 visit_u64 "u64"
        deserialize_f32 F32 visit_f32 "f32"
        deserialize_f64 F64 visit_f64 "f64"
    }

    refused! {
        deserialize_char() "char"
        deserialize_str() "a string"
        deserialize_string() "a string"
        deserialize_identifier() "a name"
        deserialize_map() "a map"
        deserialize_unit() "None"
        deserialize_unit_struct(name: &'static str) "None"
        deserialize_enum(name: &'static str, variants: &'static [&'static str]) "a variant"
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.any(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.whole.numbers {
            Numbers::Bool(_) if self.dims.is_empty() => self.any(visitor),
            _ => Err(self.mismatch(Wish::number("bool"))),
        }
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.other_number("i128", visitor)
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.other_number("u128", visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        match name {
            "f16" | "bf16" => self.half(name, visitor),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match (self.whole.numbers, self.dims) {
            (Numbers::U8(bytes), [length]) => {
                let bytes = bytes.get(self.start..).and_then(|bytes| bytes.get(..*length));
                visitor.visit_bytes(bytes.unwrap_or_default())
            }
            _ => Err(self.mismatch(Wish::other("u8[_]"))),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.sequence(None, visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value> {
        match self.matrix::<V>(Some(length)) {
            Some(matrix) if matrix.is_fixed => {
                visitor.visit_seq(Columns { part: self, matrix, next: 0 })
            }
            Some(matrix) => visitor.visit_seq(MatrixParts { part: self, matrix, next: 0 }),
            None => self.sequence(Some(length), visitor),
        }
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value> {
        self.sequence(Some(length), visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match ArrayFields::of(names) {
            Some(fields) if fields.dtype().is_none() => {
                let length = [self.dims.iter().product()];
                // The shape comes before the numbers.
                let names = fields.names().iter();
                visitor.visit_map(Fields { part: self, names, length, value: "" })
            }
            // A complex number is a pair, whatever its type calls the parts.
            _ if names == ["re", "im"] && self.dims == [2] => self.sequence(Some(2), visitor),
            _ => Err(self.mismatch(Wish::other(name))),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_unit()
    }
}
