//! A row of floats, as in most arrays: a type that requests them gets one after the other.

use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};

use crate::error::{Error, Result};
use crate::read::slice::array_slice::ArraySlice;

/// The floats of the last dimension.
pub(super) struct FloatSeqAccess<'a, T> {
    /// The next of them, for a type that requests something else.
    pub(super) slice: ArraySlice<'a>,
    pub(super) numbers: std::slice::Iter<'a, T>,
}

struct FloatDeserializer<'a, T> {
    slice: ArraySlice<'a>,
    number: T,
}

macro_rules! other {
    ($($deserialize:ident($($argument:ident: $type:ty),*))*) => {
        $(#[inline]
        fn $deserialize<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value> {
            self.slice.$deserialize($($argument,)* visitor)
        })*
    };
}

macro_rules! floats {
    ($($type:ident $deserialize:ident $visit:ident, $other:ident;)*) => {
        $(impl<'de> SeqAccess<'de> for FloatSeqAccess<'_, $type> {
            type Error = Error;

            #[inline]
            fn next_element_seed<S: DeserializeSeed<'de>>(
                &mut self,
                seed: S,
            ) -> Result<Option<S::Value>> {
                let Some(number) = self.numbers.next() else { return Ok(None) };
                let slice = self.slice;
                self.slice.start += 1; // at most the length of the numbers
                seed.deserialize(FloatDeserializer { slice, number: *number }).map(Some)
            }

            #[inline]
            fn size_hint(&self) -> Option<usize> {
                Some(self.numbers.len())
            }
        }

        impl<'de> Deserializer<'de> for FloatDeserializer<'_, $type> {
            type Error = Error;

            #[inline]
            fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
                visitor.$visit(self.number)
            }

            other! {
                $other() deserialize_any() deserialize_bool() deserialize_i8() deserialize_i16() deserialize_i32()
                deserialize_i64() deserialize_i128() deserialize_u8() deserialize_u16() deserialize_u32()
                deserialize_u64() deserialize_u128() deserialize_char() deserialize_str() deserialize_string()
                deserialize_bytes() deserialize_byte_buf() deserialize_unit() deserialize_seq() deserialize_map()
                deserialize_identifier() deserialize_ignored_any() deserialize_option()
                deserialize_newtype_struct(name: &'static str)
                deserialize_unit_struct(name: &'static str)
                deserialize_tuple(length: usize)
                deserialize_tuple_struct(name: &'static str, length: usize)
                deserialize_struct(name: &'static str, fields: &'static [&'static str])
                deserialize_enum(name: &'static str, variants: &'static [&'static str])
            }
        })*
    };
}

floats! {
    f32 deserialize_f32 visit_f32, deserialize_f64;
    f64 deserialize_f64 visit_f64, deserialize_f32;
}
