//! Structs as records, and kinds as texts.

use std::fmt;
use std::str::FromStr;

use crate::error::{Difference, DifferenceKind, Error};
use crate::model::Limits;
use crate::text::as_text;

/// Implements both traits for a struct whose fields are all required.
macro_rules! as_record {
    ($($record:ident $(<$param:ident>)? { $($field:ident),* })*) => {$(
        const _: () = {
            use std::fmt;

            use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
            use serde::ser::{Serialize, SerializeStruct, Serializer};

            impl $(<$param: Serialize>)? Serialize for $record $(<$param>)? {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    const FIELDS: &[&str] = &[$(stringify!($field)),*];
                    let mut record = serializer.serialize_struct(stringify!($record), FIELDS.len())?;
                    $(record.serialize_field(stringify!($field), &self.$field)?;)*
                    record.end()
                }
            }

            impl<'de $(, $param: Deserialize<'de>)?> Deserialize<'de> for $record $(<$param>)? {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    const FIELDS: &[&str] = &[$(stringify!($field)),*];
                    struct Fields<T>(std::marker::PhantomData<T>);

                    impl<'de $(, $param: Deserialize<'de>)?> Visitor<'de> for Fields<$record $(<$param>)?> {
                        type Value = $record $(<$param>)?;

                        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                            f.write_str(concat!("a record `", stringify!($record), "`"))
                        }

                        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                            $(
                                let $field = seq.next_element()?;
                                let $field = $field.ok_or_else(|| de::Error::missing_field(stringify!($field)))?;
                            )*
                            Ok($record { $($field),* })
                        }

                        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                            $(let mut $field = None;)*
                            while let Some(key) = map.next_key::<String>()? {
                                match key.as_str() {
                                    $(stringify!($field) => $field = Some(map.next_value()?),)*
                                    other => return Err(de::Error::unknown_field(other, FIELDS)),
                                }
                            }
                            $(
                                let $field = $field.ok_or_else(|| de::Error::missing_field(stringify!($field)))?;
                            )*
                            Ok($record { $($field),* })
                        }
                    }

                    deserializer.deserialize_struct(stringify!($record), FIELDS, Fields(std::marker::PhantomData))
                }
            }
        };
    )*};
}

#[cfg(any(feature = "diff", feature = "migrate"))]
pub(crate) use as_record;

as_record! {
    Limits { max_depth, max_work, max_bytes, max_nodes }
    Difference { path, kind, expected, found }
}

/// The names of the kinds of differences.
const KIND_NAMES: [(DifferenceKind, &str); 10] = {
    use DifferenceKind as Is;
    [
        (Is::Missing, "missing"),
        (Is::Extra, "extra"),
        (Is::Node, "node"),
        (Is::Name, "name"),
        (Is::Variant, "variant"),
        (Is::Length, "length"),
        (Is::Order, "order"),
        (Is::Static, "static"),
        (Is::Leaf, "leaf"),
        (Is::Options, "options"),
    ]
};

impl fmt::Display for DifferenceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = KIND_NAMES.iter().find(|(kind, _)| kind == self).map_or("", |(_, name)| name);
        f.pad(name)
    }
}

impl FromStr for DifferenceKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let known = KIND_NAMES.iter().find(|(_, name)| *name == text).map(|(kind, _)| *kind);
        known.ok_or_else(|| Error::unknown_text("the kind of a difference", text))
    }
}

as_text! { DifferenceKind }
