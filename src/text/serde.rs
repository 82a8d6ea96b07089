//! Serializes and deserializes types as their text.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::Deserializer;
use serde::de::{self, Visitor};

use crate::model::LeafKind;
use crate::path::{Key, Path};
use crate::pattern::Pattern;

/// Parses a string into `T`.
struct Parse<T>(PhantomData<T>);

impl<T: FromStr<Err: fmt::Display>> Visitor<'_> for Parse<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

/// Deserializes a string and parses it.
pub(crate) fn parsed<'de, T: FromStr<Err: fmt::Display>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    deserializer.deserialize_str(Parse(PhantomData))
}

/// Implements serde's traits for types that are stored as their text.
macro_rules! as_text {
    ($($type:ty)*) => {$(
        /// As its text.
        impl ::serde::Serialize for $type {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        /// From its text.
        impl<'de> ::serde::Deserialize<'de> for $type {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::text::parsed(deserializer)
            }
        }
    )*};
}

as_text! { Key Path Pattern LeafKind }

pub(crate) use as_text;
