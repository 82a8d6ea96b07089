//! Names as serde asks for them: keys, fields and variants.

use serde::de::value::{BorrowedStrDeserializer, StrDeserializer, U8Deserializer};
use serde::de::{Deserializer, IntoDeserializer, Visitor};

use crate::load::failure::Failure;

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
