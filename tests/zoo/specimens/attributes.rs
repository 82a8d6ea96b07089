//! Attributes of fields and containers, and the hand-written impls that crates have in their place.

use std::collections::BTreeMap;
use std::fmt;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{Specimen, specimens, types};

// Names: `rename`, `rename_all`, `alias`.
types! {
    struct Renamed { #[serde(rename = "b")] a: u8, #[serde(rename = "a")] b: char }
    #[serde(rename_all = "SCREAMING-KEBAB-CASE")]
    struct Screaming { first_name: u8, last_name: u8 }
    #[serde(rename_all = "camelCase", rename = "Other Name")]
    struct Camel { first_name: u8, last_name: u8 }
    /// Aliases sort before and after the names, so their list is not positional.
    struct Aliased { #[serde(alias = "z", alias = "0")] b: u8, #[serde(alias = "aa")] a: char }
}

// Fields that do not travel: `default`, `skip…`.
types! {
    struct Skipping { #[serde(skip)] a: u8, b: u16, #[serde(skip, default = "seven")] c: u8, d: char }
    struct SkippingSerializing { #[serde(skip_serializing, default)] a: u8, b: u16 }
    /// The leaf is written, and then ignored.
    struct SkippingDeserializing { #[serde(skip_deserializing)] a: u8, b: u16 }
    struct SkippingIf {
        #[serde(skip_serializing_if = "Option::is_none")] a: Option<u8>,
        b: u8,
        #[serde(default, skip_serializing_if = "Vec::is_empty")] c: Vec<u8>,
        #[serde(default = "seven", skip_serializing_if = "is_seven")] d: u8,
    }
    struct SkippingPositions(#[serde(skip)] u8, u8, u8, #[serde(skip)] u8);
    #[serde(deny_unknown_fields)]
    struct Strict { a: u8, #[serde(default)] b: u8 }
}

/// A container with a default of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Defaulted {
    a: u8,
    #[serde(skip_serializing_if = "is_seven")]
    b: u8,
}

impl Default for Defaulted {
    fn default() -> Self {
        Defaulted { a: 1, b: 7 }
    }
}

fn seven() -> u8 {
    7
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_seven(value: &u8) -> bool {
    *value == 7
}

// Conversions: `with`, `serialize_with`, `deserialize_with`, `from`, `into`, `try_from`,
// `transparent`.
types! {
    struct With {
        #[serde(with = "as_text")] number: u32,
        #[serde(serialize_with = "as_text::serialize", deserialize_with = "as_text::deserialize")] other: u32,
        #[serde(with = "as_entries")] entries: Vec<(u8, char)>,
        #[serde(with = "bare")] none: Option<u8>,
        #[serde(with = "bare", default, skip_serializing_if = "Option::is_none")] some: Option<u8>,
    }
    #[serde(transparent)]
    struct Transparent(u32);
    #[serde(transparent)]
    struct TransparentField { #[serde(with = "as_text")] number: u32, #[serde(skip)] skipped: () }
    #[serde(from = "(i32, i32)", into = "(i32, i32)")]
    struct Complex { re: i32, im: i32 }
    #[serde(try_from = "u8", into = "u8")]
    struct Even(u8);
    #[serde(from = "Option<Vec<u8>>", into = "Option<Vec<u8>>")]
    struct NonEmpty(Vec<u8>);
    #[serde(bound(serialize = "T: ToString", deserialize = "T: std::str::FromStr<Err: fmt::Display>"))]
    struct Shown<T>(#[serde(with = "as_text")] T);
    #[serde(tag = "type", expecting = "a tagged struct")]
    struct TaggedStruct { a: u8, b: u8 }
}

impl From<(i32, i32)> for Complex {
    fn from((re, im): (i32, i32)) -> Self {
        Complex { re, im }
    }
}

impl From<Complex> for (i32, i32) {
    fn from(complex: Complex) -> Self {
        (complex.re, complex.im)
    }
}

impl TryFrom<u8> for Even {
    type Error = &'static str;

    fn try_from(value: u8) -> Result<Self, Self::Error> {
        if value.is_multiple_of(2) { Ok(Even(value)) } else { Err("odd") }
    }
}

impl From<Even> for u8 {
    fn from(even: Even) -> Self {
        even.0
    }
}

impl From<Option<Vec<u8>>> for NonEmpty {
    fn from(items: Option<Vec<u8>>) -> Self {
        NonEmpty(items.unwrap_or_default())
    }
}

impl From<NonEmpty> for Option<Vec<u8>> {
    fn from(items: NonEmpty) -> Self {
        Some(items.0).filter(|items| !items.is_empty())
    }
}

/// Anything that prints and parses, as a string.
pub(super) mod as_text {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(in crate::specimens) fn serialize<T: ToString, S: Serializer>(
        value: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&value.to_string())
    }

    pub(in crate::specimens) fn deserialize<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// A list of pairs as a map.
mod as_entries {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        value: &[(u8, char)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(value.iter().copied())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(u8, char)>, D::Error> {
        Ok(BTreeMap::deserialize(deserializer)?.into_iter().collect())
    }
}

/// An option that is written as its inside or as a unit, as k8s-openapi does.
mod bare {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(
        value: &Option<u8>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => value.serialize(serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<u8>, D::Error> {
        Option::deserialize(deserializer)
    }
}

// Types of other crates: `remote`, `getter`.
mod elsewhere {
    #[derive(Clone, Debug, PartialEq)]
    pub(super) struct Open {
        pub(super) secs: i64,
        pub(super) name: String,
    }

    #[derive(Clone, Debug, PartialEq)]
    pub(super) struct Closed {
        secs: i64,
    }

    impl Closed {
        pub(super) fn new(secs: i64) -> Self {
            Closed { secs }
        }

        pub(super) fn secs(&self) -> i64 {
            self.secs
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "elsewhere::Open")]
struct OpenDef {
    secs: i64,
    name: String,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "elsewhere::Closed")]
struct ClosedDef {
    #[serde(getter = "elsewhere::Closed::secs")]
    secs: i64,
}

impl From<ClosedDef> for elsewhere::Closed {
    fn from(def: ClosedDef) -> Self {
        elsewhere::Closed::new(def.secs)
    }
}

types! {
    struct Remote {
        #[serde(with = "OpenDef")] open: elsewhere::Open,
        #[serde(with = "ClosedDef")] closed: elsewhere::Closed,
    }
}

/// As `serde_json::value::RawValue`: a struct with a reserved name, which is requested as a newtype.
#[derive(Clone, Debug, PartialEq)]
struct Raw(String);

const RAW: &str = "$zoo::private::Raw";

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut raw = serializer.serialize_struct(RAW, 1)?;
        raw.serialize_field(RAW, &self.0)?;
        raw.end()
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Raw;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a raw value")
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Raw, A::Error> {
                match map.next_entry::<String, String>()? {
                    Some((key, text)) if key == RAW => Ok(Raw(text)),
                    _ => Err(de::Error::custom("no raw value")),
                }
            }
        }
        deserializer.deserialize_newtype_struct(RAW, Visitor)
    }
}

/// As `geojson::Position`: a derived newtype with a hand-written `Deserialize` for its content.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Position(Vec<f64>);

impl<'de> Deserialize<'de> for Position {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Position)
    }
}

/// As `IntOrString`: accepts any scalar.
#[derive(Clone, Debug, PartialEq)]
enum NumberOrText {
    Number(u64),
    Text(String),
}

impl Serialize for NumberOrText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            NumberOrText::Number(number) => serializer.serialize_u64(*number),
            NumberOrText::Text(text) => serializer.collect_str(&format_args!("{text}")),
        }
    }
}

impl<'de> Deserialize<'de> for NumberOrText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = NumberOrText;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or a text")
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<NumberOrText, E> {
                Ok(NumberOrText::Number(number))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<NumberOrText, E> {
                Ok(NumberOrText::Text(text.to_owned()))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

// A struct that is read as a map with keys of a newtype, a string that is read as a variant.
types! {
    struct Name(String);
    enum Level { Low, High }
    struct Lenient {
        #[serde(with = "fields")] fields: (u8, u8),
        #[serde(serialize_with = "level")] level: Level,
        #[serde(serialize_with = "entry")] entry: Choice,
    }
    enum Choice { One(u8), Two(u8, u8), Three { a: u8, b: u8 } }
}

mod fields {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{BTreeMap, Name};

    #[derive(Serialize)]
    struct Fields {
        a: u8,
        b: u8,
    }

    /// serde's own deserializer of names refuses this key: serde issue 2185.
    #[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
    struct Key(Option<String>);

    pub(super) fn serialize<S: Serializer>(
        value: &(u8, u8),
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let _ = Name(String::new());
        Fields { a: value.0, b: value.1 }.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<(u8, u8), D::Error> {
        let map: BTreeMap<Key, u8> = BTreeMap::deserialize(deserializer)?;
        let of = |name: &str| map.get(&Key(Some(name.to_owned()))).copied().unwrap_or_default();
        Ok((of("a"), of("b")))
    }
}

fn level<S: Serializer>(level: &Level, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match level {
        Level::Low => "Low",
        Level::High => "High",
    })
}

fn entry<S: Serializer>(choice: &Choice, serializer: S) -> Result<S::Ok, S::Error> {
    match choice {
        Choice::One(a) => serializer.collect_map([("One", a)]),
        Choice::Two(a, b) => serializer.collect_map([("Two", [a, b])]),
        Choice::Three { a, b } => {
            serializer.collect_map([("Three", BTreeMap::from([("a", a), ("b", b)]))])
        }
    }
}

fn with(some: Option<u8>) -> With {
    With { number: 1, other: 2, entries: vec![(1, 'a'), (2, 'b')], none: Some(1), some }
}

fn lenient(entry: Choice) -> Lenient {
    Lenient { fields: (1, 2), level: Level::High, entry }
}

fn skipping_if(a: Option<u8>, c: usize, d: u8) -> SkippingIf {
    SkippingIf { a, b: 2, c: vec![3; c], d }
}

pub(super) fn specimens() -> Vec<Specimen> {
    specimens! {
        "rename" => Renamed { a: 1, b: 'a' },
        "rename_all" => Screaming { first_name: 1, last_name: 2 },
        "rename of a container" => Camel { first_name: 1, last_name: 2 },
        "alias" => Aliased { b: 1, a: 'a' },
        "skip" => Skipping { a: 0, b: 1, c: 7, d: 'a' },
        "skip_serializing" => SkippingSerializing { a: 0, b: 1 },
        "skip_deserializing" => SkippingPositions(0, 1, 2, 0),
        "skip_serializing_if" => skipping_if(None, 0, 7),
        "skip_serializing_if not" => skipping_if(Some(1), 2, 3),
        "skip_serializing_if at times" => vec![
            skipping_if(None, 0, 7), skipping_if(None, 0, 7), skipping_if(Some(1), 0, 7), skipping_if(None, 1, 7),
            skipping_if(None, 0, 1), skipping_if(Some(1), 1, 1), skipping_if(Some(2), 1, 2), skipping_if(None, 0, 7),
        ],
        "deny_unknown_fields" => Strict { a: 1, b: 2 },
        "default of a container" => Defaulted { a: 2, b: 7 },
        "default of a container, unused" => Defaulted { a: 2, b: 3 },
        "with" => with(None),
        "with some" => with(Some(1)),
        "with none" => With { none: None, ..with(None) },
        "transparent" => Transparent(1),
        "transparent field" => TransparentField { number: 1, skipped: () },
        "from and into" => Complex { re: 1, im: 2 },
        "try_from" => Even(2),
        "from option: none" => NonEmpty(vec![]),
        "from option: some" => NonEmpty(vec![1]),
        "bound" => Shown(1.5f64),
        "tag of a struct" => TaggedStruct { a: 1, b: 2 },
        "remote" => Remote {
            open: elsewhere::Open { secs: 1, name: "a".to_owned() }, closed: elsewhere::Closed::new(2),
        },
        "raw" => Raw("{}".to_owned()),
        "raws" => vec![Raw("1".to_owned()), Raw("2".to_owned())],
        "position" => Position(vec![1.0, 2.0]),
        "number or text" => vec![NumberOrText::Number(1), NumberOrText::Text("a".to_owned())],
        "text" => NumberOrText::Text("a".to_owned()),
        "lenient" => lenient(Choice::One(1)),
        "lenient tuple" => lenient(Choice::Two(1, 2)),
        "lenient struct" => lenient(Choice::Three { a: 1, b: 2 }),
        "skip_deserializing with default" => SkippingDeserializing { a: 0, b: 1 },
    }
}
