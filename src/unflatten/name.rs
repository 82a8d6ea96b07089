//! Names as deserializers.

use std::marker::PhantomData;

use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use crate::error::{Error, Result};

use crate::stack;

use super::source::{Context, Source};

/// The name of a field or variant, where serde asks for a value. serde's own `StrDeserializer` refuses newtypes and
/// options: serde issue 2185.
pub(super) struct Text<'a, 'r, S> {
    text: &'a str,
    context: Context<'a, 'r>,
    source: PhantomData<S>,
}

impl<'a, 'r, S> Text<'a, 'r, S> {
    pub(super) fn new(text: &'a str, context: Context<'a, 'r>) -> Self {
        Text { text, context, source: PhantomData }
    }

    fn passed(self) -> Result<Self> {
        Ok(Text { context: self.context.passed()?, ..self })
    }
}

impl<'a, 'de, S: Source<'a, 'de>> Deserializer<'de> for Text<'a, '_, S> {
    type Error = Error;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        S::text(self.text, visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let passed = self.passed()?;
        stack::grow(|| visitor.visit_some(passed))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        let passed = self.passed()?;
        stack::grow(|| visitor.visit_newtype_struct(passed))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_enum(self.passed()?)
    }

    fn is_human_readable(&self) -> bool {
        !self.context.shared.compact
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

impl<'a, 'de, S: Source<'a, 'de>> EnumAccess<'de> for Text<'a, '_, S> {
    type Error = Error;
    type Variant = NoPayload;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, NoPayload)> {
        Ok((seed.deserialize(self)?, NoPayload))
    }
}

/// What stands behind a variant that is only named by a string.
pub(super) struct NoPayload;

impl NoPayload {
    fn expected<T>(self, expected: &str) -> Result<T> {
        Err(de::Error::invalid_type(Unexpected::UnitVariant, &expected))
    }
}

impl<'de> VariantAccess<'de> for NoPayload {
    type Error = Error;

    fn unit_variant(self) -> Result<()> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _: T) -> Result<T::Value> {
        self.expected("newtype variant")
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value> {
        self.expected("tuple variant")
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], _: V) -> Result<V::Value> {
        self.expected("struct variant")
    }
}
