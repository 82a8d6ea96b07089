//! What stands under the marks.

use std::cell::Cell;
use std::collections::HashMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Nested {
    pub(crate) name: String,
    pub(crate) size: (u8, f32),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Choice {
    Unit,
    Newtype(i16),
    Tuple(u8, char),
    Struct { a: bool },
}

thread_local! {
    static AWAITED: Cell<Option<Kind>> = const { Cell::new(None) };
}

/// Declares a type that serializes as exactly what it holds, and deserializes as the kind that this thread awaits. So
/// every shape is compiled once, not once for each payload.
macro_rules! payloads {
    ($($kind:ident($type:ty)),* $(,)?) => {
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) enum Payload {
            $($kind($type)),*
        }

        #[derive(Clone, Copy)]
        enum Kind {
            $($kind),*
        }

        impl Payload {
            /// From here on, payloads are read as this one's kind.
            pub(crate) fn await_alike(&self) {
                AWAITED.set(Some(match self {
                    $(Payload::$kind(_) => Kind::$kind),*
                }));
            }
        }

        impl Serialize for Payload {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(Payload::$kind(value) => value.serialize(serializer)),*
                }
            }
        }

        impl<'de> Deserialize<'de> for Payload {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                match AWAITED.get().expect("a test that reads says first what") {
                    $(Kind::$kind => <$type>::deserialize(deserializer).map(Payload::$kind)),*
                }
            }
        }
    };
}

payloads! {
    Text(String),
    Float(f64),
    Floats(Vec<f64>),
    Nested(Nested),
    Map(HashMap<String, u8>),
    Choice(Choice),
    Optional(Option<f64>),
    Unit(()),
}

/// A payload, another one to put in its place, and the literals of both.
pub(crate) struct Specimen {
    pub(crate) name: &'static str,
    pub(crate) payload: Payload,
    pub(crate) literal: &'static str,
    pub(crate) other: Payload,
    pub(crate) other_literal: &'static str,
}

fn nested(name: &str) -> Nested {
    Nested { name: name.to_owned(), size: (1, 0.5) }
}

fn map(keys: &[&str]) -> HashMap<String, u8> {
    keys.iter().map(|key| ((*key).to_owned(), 1)).collect()
}

macro_rules! specimens {
    ($($name:literal: $kind:ident($value:expr) $literal:literal, $other:ident($other_value:expr) $other_literal:literal;)*) => {
        pub(crate) fn specimens() -> Vec<Specimen> {
            vec![$(Specimen {
                name: $name,
                payload: Payload::$kind($value),
                literal: $literal,
                other: Payload::$other($other_value),
                other_literal: $other_literal,
            }),*]
        }
    };
}

specimens! {
    "text": Text("relu".to_owned()) r#""relu""#, Text("`\"".to_owned()) r#""`\"""#;
    "float": Float(0.5) "0.5", Float(-0.0) "-0.0";
    "floats": Floats(vec![1.5, 2.5]) "[1.5, 2.5]", Floats(vec![]) "[]";
    "struct": Nested(nested("a")) r#"Nested { name: "a", size: (1u8, 0.5f32) }"#,
        Nested(nested("b")) r#"Nested { name: "b", size: (1u8, 0.5f32) }"#;
    "map": Map(map(&["b", "a"])) r#"{"a": 1u8, "b": 1u8}"#, Map(map(&["a"])) r#"{"a": 1u8}"#;
    "unit variant": Choice(Choice::Unit) "Choice::Unit", Choice(Choice::Newtype(-1)) "Choice::Newtype(-1i16)";
    "newtype variant": Choice(Choice::Newtype(1)) "Choice::Newtype(1i16)", Choice(Choice::Unit) "Choice::Unit";
    "tuple variant": Choice(Choice::Tuple(1, '\'')) r"Choice::Tuple(1u8, '\'')",
        Choice(Choice::Tuple(2, 'b')) "Choice::Tuple(2u8, 'b')";
    "struct variant": Choice(Choice::Struct { a: true }) "Choice::Struct { a: true }",
        Choice(Choice::Struct { a: false }) "Choice::Struct { a: false }";
    "none": Optional(None) "None", Optional(Some(1.0)) "Some(1.0)";
    "some": Optional(Some(1.0)) "Some(1.0)", Optional(None) "None";
    "unit": Unit(()) "()", Text("text".to_owned()) r#""text""#;
}
