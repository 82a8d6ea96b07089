//! A part as a struct with a shape and the numbers.

use serde::de::value::{SeqDeserializer, U64Deserializer};
use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, Visitor};

use crate::error::{Error, ErrorKind, Result};
use crate::read::slice::array_slice::ArraySlice;

/// The fields of a struct that holds an array: `{ v, dim, data }` of `ndarray`, `{ shape, data }`.
pub(super) struct ArrayFieldAccess<'a> {
    pub(super) slice: ArraySlice<'a>,
    pub(super) names: std::slice::Iter<'a, &'static str>,
    pub(super) length: [usize; 1],
    pub(super) value: &'static str,
}

impl<'de> MapAccess<'de> for ArrayFieldAccess<'_> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        let Some(name) = self.names.next() else { return Ok(None) };
        self.value = name;
        seed.deserialize(IntoDeserializer::<Error>::into_deserializer(*name)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value> {
        match self.value {
            "v" => seed.deserialize(U64Deserializer::new(1)),
            "shape" | "dim" => seed.deserialize(DimsDeserializer(self.slice)),
            _ => seed.deserialize(ArraySlice { dims: &self.length, ..self.slice }),
        }
    }
}

/// The dimensions as a value: a sequence of any length, or a tuple of as many as there are.
struct DimsDeserializer<'a>(ArraySlice<'a>);

impl<'de> Deserializer<'de> for DimsDeserializer<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let dims = self.0.dims.iter().map(|dim| *dim as u64); // usize has at most 64 bits
        visitor.visit_seq(SeqDeserializer::<_, Error>::new(dims))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value> {
        if length == self.0.dims.len() {
            return self.deserialize_any(visitor);
        }
        let found = (self.0.source.describe)();
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
