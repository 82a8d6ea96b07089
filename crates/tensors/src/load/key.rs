//! Names that serde requests: keys, fields and variants.

use std::collections::HashMap;

use serde::de::value::{BorrowedStrDeserializer, StrDeserializer, U8Deserializer};
use serde::de::{Deserializer, IntoDeserializer, Visitor};

use crate::load::array_repr::KeyType;
use crate::load::failure::Failure;

/// Whether a key can be an integer or a bool.
fn is_number(key: &str) -> bool {
    matches!(key, "True" | "False") || key.parse::<i64>().is_ok() || key.parse::<u64>().is_ok()
}

/// The key of a map.
pub(crate) struct KeyDeserializer<'k, 'de> {
    pub(crate) key: &'de str,
    /// Called for the type of the key, if serde does not request one.
    pub(crate) in_buffer: &'k dyn Fn() -> Option<KeyType>,
    /// The numbers for which keys were read, with these keys: `1` and `01` are one.
    pub(crate) numbers: &'k mut HashMap<String, &'de str>,
}

impl KeyDeserializer<'_, '_> {
    fn expect_first(&mut self, number: String) -> Result<(), Failure> {
        let key = self.key;
        match self.numbers.insert(number, key) {
            Some(other) => {
                Err(Failure::Custom(format!("the keys `{other}` and `{key}` are one number"), None))
            }
            None => Ok(()),
        }
    }
}

macro_rules! keys {
    ($($type:ident $deserialize:ident $visit:ident,)*) => {
        $(fn $deserialize<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Failure> {
            match self.key.parse::<$type>() {
                Ok(number) => {
                    self.expect_first(number.to_string())?;
                    visitor.$visit(number)
                }
                Err(_) => visitor.visit_borrowed_str(self.key),
            }
        })*
    };
}

impl<'de> Deserializer<'de> for KeyDeserializer<'_, 'de> {
    type Error = Failure;

    keys! {
        u8 deserialize_u8 visit_u8,
        i8 deserialize_i8 visit_i8,
        u16 deserialize_u16 visit_u16,
        i16 deserialize_i16 visit_i16,
        u32 deserialize_u32 visit_u32,
        i32 deserialize_i32 visit_i32,
        u64 deserialize_u64 visit_u64,
        i64 deserialize_i64 visit_i64,
        u128 deserialize_u128 visit_u128,
        i128 deserialize_i128 visit_i128,
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.key {
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
        if is_number(self.key) && (self.in_buffer)() == Some(KeyType::Numbers) {
            return match self.key {
                "True" | "False" => self.deserialize_bool(visitor),
                key if key.starts_with('-') => self.deserialize_i64(visitor),
                _ => self.deserialize_u64(visitor),
            };
        }
        visitor.visit_borrowed_str(self.key)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_borrowed_str(self.key)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_borrowed_str(self.key)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        let name_of_variant: BorrowedStrDeserializer<'de, Failure> =
            BorrowedStrDeserializer::new(self.key);
        name_of_variant.deserialize_enum(name, variants, visitor)
    }

    serde::forward_to_deserialize_any! {
        f32 f64 char bytes byte_buf option unit unit_struct seq tuple tuple_struct map
        struct identifier ignored_any
    }
}

pub(crate) fn text<'de>(text: &'de str) -> StrDeserializer<'de, Failure> {
    text.into_deserializer()
}

pub(crate) fn version() -> U8Deserializer<Failure> {
    1u8.into_deserializer()
}
