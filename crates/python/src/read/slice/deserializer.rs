//! A part as a value of serde.

use std::fmt::Debug;

use serde::de::value::U16Deserializer;
use serde::de::{Deserializer, Visitor};
use treedef::__private::{ArrayFields, OrBug};

use crate::error::{Error, ErrorKind, Result};
use crate::mark::MARK;
use crate::read::array::{Numbers, WideNumber, rounds};
use crate::read::probe::{TypeRequest, without_visitor};
use crate::read::slice::array_slice::{ArraySlice, ArraySource};
use crate::read::slice::fields::ArrayFieldAccess;
use crate::read::slice::matrix::{ColumnSeqAccess, MatrixTuple};

/// Integers of the requested type, and others if they are converted.
macro_rules! integers {
    ($($deserialize:ident $kind:ident $visit:ident $wish:literal)*) => {
        $(#[inline]
        fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            if let (Numbers::$kind(numbers), Some(index)) = (self.source.numbers, self.index())
                && let Some(number) = numbers.get(index)
            {
                return visitor.$visit(*number);
            }
            self.other_integer($wish, visitor)
        })*
    };
}

impl ArraySlice<'_> {
    /// The number that is here, if numbers of its type are converted.
    fn wide(&self, wish: &'static str) -> Result<WideNumber> {
        let ArraySource { numbers, convert, integers, .. } = self.source;
        let is_integer = self.index().is_some_and(|index| integers.binary_search(&index).is_ok());
        match self.index().and_then(|index| numbers.wide(index)) {
            Some(wide) if *convert && numbers.is_converted_to(wish) => Ok(match wide {
                WideNumber::Float(number) if is_integer => WideNumber::Integer(number as i128),
                wide => wide,
            }),
            _ => Err(self.mismatch(TypeRequest::number(wish))),
        }
    }

    #[cold]
    fn other_integer<'de, V: Visitor<'de>>(
        self,
        wish: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        let WideNumber::Integer(number) = self.wide(wish)? else {
            return Err(self.mismatch(TypeRequest::number(wish)));
        };
        let visited = match (i64::try_from(number), u64::try_from(number)) {
            (Ok(number), _) => visitor.visit_i64(number),
            (_, Ok(number)) => visitor.visit_u64(number),
            _ => visitor.visit_i128(number),
        };
        visited.map_err(|_: Error| self.unfit(wish, number))
    }

    /// A float, which may be rounded to 32 bits. An integer has to be one exactly.
    #[inline(never)]
    fn other_float(self, wish: &'static str) -> Result<f64> {
        let rounded = |float: f64| if wish == "f32" { f64::from(float as f32) } else { float };
        let (float, fits) = match self.wide(wish)? {
            WideNumber::Integer(number) => {
                let float = rounded(number as f64);
                (float, float as i128 == number)
            }
            WideNumber::Float(number) => {
                let float = rounded(number);
                (float, float.is_finite() || !number.is_finite())
            }
        };
        match self.wide(wish)? {
            _ if fits => Ok(float),
            WideNumber::Integer(number) => Err(self.unfit(wish, number)),
            WideNumber::Float(number) => Err(self.unfit(wish, number)),
        }
    }

    #[cold]
    fn unfit(&self, wish: &'static str, number: impl Debug) -> Error {
        let expected = TypeRequest::number(wish).inside(self.requested_dims());
        let found = (self.source.describe)();
        let message =
            format_args!("expected {expected}, found {found} with {number:?}, which does not fit");
        Error::new(ErrorKind::Value, message)
    }

    /// The errors of the floats that some number of the array does not fit, to which others are converted.
    pub(crate) fn refusals(self) -> impl Iterator<Item = (&'static str, Error)> {
        let ArraySource { numbers, shape, .. } = self.source;
        let (of, count) = (numbers.type_name(), shape.iter().product());
        ["f32", "f64"].into_iter().filter(move |name| rounds(of, name)).filter_map(move |name| {
            let number = |start| ArraySlice { dims: &[], start, ..self };
            let refused = |start| number(start).other_float(name).err();
            (0..count).find_map(refused).map(|error| (name, error))
        })
    }

    /// The number that is here, or the elements.
    fn any<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let Some(index) = self.index() else { return self.sequence(None, visitor) };
        if self.source.marked && index == 0 {
            return visitor.visit_bytes(MARK);
        }
        macro_rules! visit {
            ($($kind:ident $visit:ident $map:expr,)*) => {
                match self.source.numbers {
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

    fn refused<T>(self, wish: &'static str) -> Result<T> {
        Err(self.mismatch(TypeRequest::other(wish)))
    }

    fn half<'de, V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value> {
        let bits = match (name, self.source.numbers) {
            ("f16", Numbers::F16(bits)) | ("bf16", Numbers::Bf16(bits)) => bits,
            _ => return Err(self.mismatch(TypeRequest::number(name))),
        };
        match self.index().and_then(|index| bits.get(index)) {
            Some(bits) => visitor.visit_newtype_struct(U16Deserializer::<Error>::new(*bits)),
            None => Err(self.mismatch(TypeRequest::number(name))),
        }
    }
}

impl<'de> Deserializer<'de> for ArraySlice<'_> {
    type Error = Error;

    integers! {
        deserialize_i8 I8 visit_i8 "i8"
        deserialize_i16 I16 visit_i16 "i16"
        deserialize_i32 I32 visit_i32 "i32"
        deserialize_i64 I64 visit_i64 "i64"
        deserialize_u8 U8 visit_u8 "u8"
        deserialize_u16 U16 visit_u16 "u16"
        deserialize_u32 U32 visit_u32 "u32"
        deserialize_u64 U64 visit_u64 "u64"
    }

    #[inline]
    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let number = match (self.source.numbers, self.index()) {
            (Numbers::F32(numbers), Some(index)) => numbers.get(index).copied(),
            (Numbers::F64(numbers), Some(index))
                if self.source.convert && self.source.integers.is_empty() =>
            {
                numbers.get(index).map(|number| *number as f32).filter(|number| number.is_finite())
            }
            _ => None,
        };
        match number {
            Some(number) => visitor.visit_f32(number),
            None => visitor.visit_f64(self.other_float("f32")?),
        }
    }

    #[inline]
    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let number = match (self.source.numbers, self.index()) {
            (Numbers::F64(numbers), Some(index)) => numbers.get(index).copied(),
            (Numbers::F32(numbers), Some(index)) if self.source.convert => {
                numbers.get(index).map(|number| f64::from(*number))
            }
            _ => None,
        };
        match number {
            Some(number) => visitor.visit_f64(number),
            None => visitor.visit_f64(self.other_float("f64")?),
        }
    }

    without_visitor! { refused:
        deserialize_char "char"
        deserialize_str "str"
        deserialize_string "str"
        deserialize_identifier "str"
        deserialize_map "dict"
        deserialize_unit "None"
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value> {
        self.refused(name)
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.any(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.source.numbers {
            Numbers::Bool(_) if self.dims.is_empty() => self.any(visitor),
            _ => Err(self.mismatch(TypeRequest::number("bool"))),
        }
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.other_integer("i128", visitor)
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.other_integer("u128", visitor)
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
        match (self.source.numbers, self.dims) {
            (Numbers::U8(bytes), [length]) => {
                let bytes = bytes.get(self.start..).and_then(|bytes| bytes.get(..*length));
                visitor.visit_bytes(bytes.or_bug())
            }
            _ => Err(self.mismatch(TypeRequest::bytes())),
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
                visitor.visit_seq(ColumnSeqAccess { slice: self, matrix, next: 0 })
            }
            Some(matrix) => visitor.visit_seq(MatrixTuple { slice: self, matrix, next: 0 }),
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
                // The shape is before the numbers.
                let names = fields.names().iter();
                visitor.visit_map(ArrayFieldAccess { slice: self, names, length, value: "" })
            }
            // A complex number is a pair, with any names of the parts.
            _ if names == ["re", "im"] && self.dims == [2] => self.sequence(Some(2), visitor),
            _ => self.refused(name),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_unit()
    }
}
