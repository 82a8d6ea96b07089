//! A serializer that knows only scalars: runs of numbers and keys of maps need no more.

use std::fmt::{Display, Write};

use serde::ser::Impossible;
use serde::{Serialize, Serializer};

use crate::error::{Matched, Mismatch};
use crate::leaf::Scalar;
use crate::leaf_type::Emit;

/// Hands the scalar to a function; anything else is a [`Mismatch`].
pub(super) struct ScalarTo<F> {
    pub(super) compact: bool,
    pub(super) then: F,
}

/// The leaf that a value is, if that is simply a scalar. What is marked as a leaf is none, and may be right all the same.
#[inline(always)]
pub(super) fn scalar_leaf<L: Emit, T: Serialize>(value: &T, compact: bool) -> Matched<L> {
    let then = |scalar: Scalar<'_>| L::from_scalar(scalar).ok_or(Mismatch);
    value.serialize(ScalarTo { compact, then })
}

/// The calls of serde for each kind of scalar, all to one expression.
macro_rules! scalar_calls {
    (|$this:ident, $scalar:ident| $then:expr) => {
        scalar_calls! {
            |$this, $scalar| $then;
            serialize_bool(bool) => Bool;
            serialize_i8(i8) => I8;
            serialize_i16(i16) => I16;
            serialize_i32(i32) => I32;
            serialize_i64(i64) => I64;
            serialize_i128(i128) => I128;
            serialize_u8(u8) => U8;
            serialize_u16(u16) => U16;
            serialize_u32(u32) => U32;
            serialize_u64(u64) => U64;
            serialize_u128(u128) => U128;
            serialize_f32(f32) => F32;
            serialize_f64(f64) => F64;
            serialize_char(char) => Char;
            serialize_str(&str) => Str;
            serialize_bytes(&[u8]) => Bytes;
        }
    };
    (|$this:ident, $scalar:ident| $then:expr; $($method:ident($type:ty) => $kind:ident;)*) => {$(
        #[inline(always)]
        fn $method($this, value: $type) -> Result<Self::Ok, Self::Error> {
            let $scalar = Scalar::$kind(value);
            $then
        }
    )*};
}

pub(super) use scalar_calls;

macro_rules! mismatches {
    ($($method:ident($($type:ty),*) -> $ok:ty;)*) => {$(
        fn $method(self, $(_: $type),*) -> Result<$ok, Mismatch> {
            Err(Mismatch)
        }
    )*};
}

impl<R, F: FnOnce(Scalar<'_>) -> Result<R, Mismatch>> Serializer for ScalarTo<F> {
    type Ok = R;
    type Error = Mismatch;
    type SerializeSeq = Impossible<R, Mismatch>;
    type SerializeTuple = Impossible<R, Mismatch>;
    type SerializeTupleStruct = Impossible<R, Mismatch>;
    type SerializeTupleVariant = Impossible<R, Mismatch>;
    type SerializeMap = Impossible<R, Mismatch>;
    type SerializeStruct = Impossible<R, Mismatch>;
    type SerializeStructVariant = Impossible<R, Mismatch>;

    scalar_calls!(|self, scalar| (self.then)(scalar));

    mismatches! {
        serialize_none() -> R;
        serialize_unit() -> R;
        serialize_unit_struct(&'static str) -> R;
        serialize_unit_variant(&'static str, u32, &'static str) -> R;
        serialize_seq(Option<usize>) -> Self::SerializeSeq;
        serialize_tuple(usize) -> Self::SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
        serialize_map(Option<usize>) -> Self::SerializeMap;
        serialize_struct(&'static str, usize) -> Self::SerializeStruct;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant;
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<R, Mismatch> {
        Err(Mismatch)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: &T,
    ) -> Result<R, Mismatch> {
        Err(Mismatch)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<R, Mismatch> {
        Err(Mismatch)
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<R, Mismatch> {
        let mut text = String::new();
        // `to_string` would panic where `Display` fails.
        write!(text, "{value}").map_err(|_| Mismatch)?;
        (self.then)(Scalar::Str(&text))
    }

    #[inline]
    fn is_human_readable(&self) -> bool {
        !self.compact
    }
}
