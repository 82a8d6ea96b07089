//! The variant of an enum: its name, and what stands behind it.

use std::cell::Cell;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, VariantAccess, Visitor};

use crate::error::{Error, Result};

use super::place::Place;
use super::source::Source;

/// A variant: a deserializer for its name, and access to its payload.
pub(super) struct Enum<N, P> {
    pub(super) name: N,
    pub(super) payload: P,
}

/// What stands behind the name of a variant.
pub(super) struct Payload<'a, 'r, 'c, S> {
    pub(super) place: Place<'a, 'r, S>,
    /// The node is a variant; else it is a map of one entry.
    pub(super) is_variant: bool,
    /// Set when somebody asks for it.
    pub(super) asked: &'c Cell<bool>,
}

impl<'de, N, P> EnumAccess<'de> for Enum<N, P>
where
    N: Deserializer<'de, Error = Error>,
    P: VariantAccess<'de, Error = Error>,
{
    type Error = Error;
    type Variant = P;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, P)> {
        Ok((seed.deserialize(self.name)?, self.payload))
    }
}

impl<'a, 'r, S> Payload<'a, 'r, '_, S> {
    fn with<'de, R>(self, f: impl FnOnce(Place<'a, 'r, S>) -> Result<R>) -> Result<R>
    where
        S: Source<'a, 'de>,
    {
        self.asked.set(true);
        if self.is_variant { self.place.with_payload(f) } else { self.place.with_child(f) }
    }
}

impl<'a, 'de, S: Source<'a, 'de>> VariantAccess<'de> for Payload<'a, '_, '_, S> {
    type Error = Error;

    fn unit_variant(self) -> Result<()> {
        self.with(|mut payload| <()>::deserialize(payload.lend()))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value> {
        self.with(|mut payload| seed.deserialize(payload.lend()))
    }

    fn tuple_variant<V: Visitor<'de>>(self, count: usize, visitor: V) -> Result<V::Value> {
        self.with(|mut payload| payload.lend().deserialize_tuple(count, visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.with(|mut payload| payload.lend().deserialize_struct("", fields, visitor))
    }
}
