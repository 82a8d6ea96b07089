//! Every representation of enums with every payload that it allows, and enums inside enums.

use std::collections::BTreeMap;

use super::{Specimen, specimens, types};

types! {
    struct Point { x: i32, y: i32 }
    struct Marker;
    struct Meters(f64);
}

// External, with payloads that other formats confuse.
types! {
    enum External {
        Unit,
        Newtype(u8),
        NewtypeUnit(()),
        NewtypeOption(Option<u8>),
        NewtypeTuple((u8, u8)),
        NewtypeStruct(Point),
        NewtypeEnum(Plain),
        NewtypeSeq(Vec<u8>),
        Tuple(u8, char),
        TupleOfOne(#[serde(skip)] u8, u8),
        Struct { a: u8, b: Option<Box<External>> },
        NoPositions(),
        NoFields {},
    }
    enum Plain { A, B(u8), C(u8, u8), D { x: u8 } }
}

// Internally tagged: the tag is a string field.
types! {
    #[serde(tag = "type")]
    enum Internal {
        Unit,
        NewtypeStruct(Point),
        NewtypeMap(BTreeMap<String, u8>),
        NewtypeUnit(()),
        NewtypeMarker(Marker),
        NewtypeEnum(Plain),
        NewtypeInner(Inner),
        NewtypeAdjacent(Adjacent),
        Struct { a: u8, b: Option<u8>, c: Vec<Plain>, d: Meters },
        NoFields {},
    }
    #[serde(tag = "kind")]
    enum Inner { A, B { x: u8 }, C(Point) }
    #[serde(tag = "t")]
    enum Numbers { All { a: i8, b: u64, c: f32, d: char, e: (), f: Option<Option<u8>>, g: (u8, u8) } }
}

// Adjacently tagged: the tag is a unit variant.
types! {
    #[serde(tag = "t", content = "c")]
    enum Adjacent {
        Unit,
        Newtype(u8),
        NewtypeUnit(()),
        NewtypeOption(Option<u8>),
        NewtypeEnum(Box<External>),
        Tuple(u8, Point),
        Struct { a: u8, b: Option<Box<Adjacent>> },
    }
}

// Untagged: nothing but the payload.
types! {
    #[serde(untagged)]
    enum Untagged {
        Unit,
        Bool(bool),
        Char(NotString),
        Tuple(u8, Vec<Untagged>),
        Struct { a: u8, b: Box<Untagged> },
        Enum(Plain),
        Internal(Internal),
        Adjacent(Adjacent),
        Map(BTreeMap<u8, Plain>),
        Text(String),
        Bytes(serde_bytes::ByteBuf),
        Float(f64),
    }
    struct NotString { only: char }
}

// Partly untagged enums, and variants for unknown input.
types! {
    enum Partly { Unit, Newtype(u8), Struct { a: u8 }, #[serde(untagged)] Rest(Vec<u8>), #[serde(untagged)] Word(String) }
    #[serde(tag = "t")]
    enum PartlyInternal { A { x: u8 }, #[serde(untagged)] B { y: u8 } }
    enum OrOther { Known, #[serde(other)] Unknown }
    #[serde(tag = "t")]
    enum InternalOrOther { Known { x: u8 }, #[serde(other)] Unknown }
    #[serde(tag = "t", content = "c")]
    enum AdjacentOrOther { Known(u8), #[serde(other)] Unknown }
}

// Variants with attributes of their own.
types! {
    #[serde(rename_all = "kebab-case", rename_all_fields = "SCREAMING_SNAKE_CASE")]
    enum Renamed { FirstOne, #[serde(rename = "a b")] Second(u8), ThirdOne { some_field: u8 } }
    enum Skipping { #[serde(skip)] #[allow(dead_code, reason = "what is skipped")] A, B, #[serde(alias = "cc")] C(u8), D { #[serde(skip)] x: u8, y: u8 } }
    enum Converted { #[serde(with = "super::attributes::as_text")] Text(u32), Plain(u32) }
}

#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(variant_identifier)]
enum Identifier {
    First,
    Second,
}

/// Written as a string, read as the name of a variant.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(transparent)]
struct IdentifierOut(Identifier);

impl serde::Serialize for IdentifierOut {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self.0 {
            Identifier::First => "First",
            Identifier::Second => "Second",
        })
    }
}

// Enums as fields and elements of each other.
types! {
    struct Zoo {
        external: Vec<External>,
        internal: Vec<Internal>,
        adjacent: Vec<Adjacent>,
        untagged: Vec<Untagged>,
        partly: Vec<Partly>,
    }
    #[serde(tag = "v")]
    enum Outer { A { inner: Zoo }, B(Box<OuterB>) }
    struct OuterB { untagged: Untagged, external: External }
}

fn point() -> Point {
    Point { x: 1, y: -1 }
}

fn external() -> Vec<External> {
    vec![
        External::Unit,
        External::Newtype(1),
        External::NewtypeUnit(()),
        External::NewtypeOption(None),
        External::NewtypeOption(Some(1)),
        External::NewtypeTuple((1, 2)),
        External::NewtypeStruct(point()),
        External::NewtypeEnum(Plain::A),
        External::NewtypeEnum(Plain::D { x: 1 }),
        External::NewtypeSeq(vec![1, 2]),
        External::Tuple(1, 'a'),
        External::TupleOfOne(0, 1),
        External::Struct { a: 1, b: Some(Box::new(External::Tuple(2, 'b'))) },
        External::NoPositions(),
        External::NoFields {},
    ]
}

fn internal() -> Vec<Internal> {
    vec![
        Internal::Unit,
        Internal::NewtypeStruct(point()),
        Internal::NewtypeMap([("b".to_owned(), 1), ("a".to_owned(), 2)].into()),
        Internal::NewtypeUnit(()),
        Internal::NewtypeMarker(Marker),
        Internal::NewtypeEnum(Plain::B(1)),
        Internal::NewtypeEnum(Plain::C(1, 2)),
        Internal::NewtypeEnum(Plain::D { x: 1 }),
        Internal::NewtypeInner(Inner::A),
        Internal::NewtypeInner(Inner::B { x: 1 }),
        Internal::NewtypeInner(Inner::C(point())),
        Internal::NewtypeAdjacent(Adjacent::Tuple(1, point())),
        Internal::Struct {
            a: 1,
            b: None,
            c: vec![Plain::A, Plain::B(1), Plain::C(1, 2), Plain::D { x: 1 }],
            d: Meters(1.5),
        },
        Internal::NoFields {},
    ]
}

fn adjacent() -> Vec<Adjacent> {
    vec![
        Adjacent::Unit,
        Adjacent::Newtype(1),
        Adjacent::NewtypeUnit(()),
        Adjacent::NewtypeOption(None),
        Adjacent::NewtypeOption(Some(1)),
        Adjacent::NewtypeEnum(Box::new(External::Tuple(1, 'a'))),
        Adjacent::Tuple(1, point()),
        Adjacent::Struct { a: 1, b: Some(Box::new(Adjacent::Unit)) },
    ]
}

fn untagged() -> Vec<Untagged> {
    vec![
        Untagged::Unit,
        Untagged::Bool(true),
        Untagged::Char(NotString { only: 'a' }),
        Untagged::Tuple(1, vec![Untagged::Unit, Untagged::Float(1.0)]),
        Untagged::Struct { a: 1, b: Box::new(Untagged::Text("a".to_owned())) },
        Untagged::Enum(Plain::C(1, 2)),
        Untagged::Enum(Plain::A),
        Untagged::Internal(Internal::NewtypeStruct(point())),
        Untagged::Adjacent(Adjacent::Tuple(1, point())),
        Untagged::Map([(1, Plain::A), (2, Plain::D { x: 1 })].into()),
        Untagged::Bytes(serde_bytes::ByteBuf::from([0, 255])),
        Untagged::Float(f64::INFINITY),
    ]
}

fn partly() -> Vec<Partly> {
    vec![
        Partly::Unit,
        Partly::Newtype(1),
        Partly::Struct { a: 1 },
        Partly::Rest(vec![1, 2]),
        Partly::Word("word".to_owned()),
    ]
}

fn everything() -> Zoo {
    Zoo {
        external: external(),
        internal: internal(),
        adjacent: adjacent(),
        untagged: untagged(),
        partly: partly(),
    }
}

pub(super) fn specimens() -> Vec<Specimen> {
    specimens! {
        "external" => external(),
        "external: tuple" => External::Tuple(1, 'a'),
        "external: empty tuple" => External::NoPositions(),
        "external: empty struct" => External::NoFields {},
        "plain: unit" => Plain::A,
        "plain: newtype" => Plain::B(1),
        "internal" => internal(),
        "internal: unit" => Internal::Unit,
        "internal: struct" => internal()[12].clone(),
        "internal: newtype" => Inner::C(point()),
        "internal: numbers" => Numbers::All {
            a: -1, b: u64::MAX, c: 0.1, d: 'a', e: (), f: Some(None), g: (1, 2),
        },
        "adjacent" => adjacent(),
        "adjacent: unit" => Adjacent::Unit,
        "adjacent: tuple" => Adjacent::Tuple(1, point()),
        "untagged" => untagged(),
        "untagged: struct" => Untagged::Struct { a: 1, b: Box::new(Untagged::Bool(false)) },
        "partly untagged" => partly(),
        "partly untagged: rest" => Partly::Rest(vec![]),
        "partly untagged, internal" => vec![PartlyInternal::A { x: 1 }, PartlyInternal::B { y: 1 }],
        "partly untagged, internal: rest" => PartlyInternal::B { y: 1 },
        "other" => vec![OrOther::Known, OrOther::Unknown],
        "other: unknown" => OrOther::Unknown,
        "other, internal" => vec![InternalOrOther::Known { x: 1 }, InternalOrOther::Unknown],
        "other, internal: unknown" => InternalOrOther::Unknown,
        "other, adjacent" => vec![AdjacentOrOther::Known(1), AdjacentOrOther::Unknown],
        "other, adjacent: known" => AdjacentOrOther::Known(1),
        "renamed variants" => vec![
            Renamed::FirstOne, Renamed::Second(1), Renamed::ThirdOne { some_field: 1 },
        ],
        "renamed variant" => Renamed::Second(2),
        "variants after a skipped one" => vec![Skipping::B, Skipping::C(1), Skipping::D { x: 0, y: 1 }],
        "variant after a skipped one" => Skipping::B,
        "variants with conversion" => vec![Converted::Text(1), Converted::Plain(1)],
        "variant with conversion" => Converted::Text(300),
        "variant identifier" => IdentifierOut(Identifier::Second),
        "enums in structs" => everything(),
        "enums in internally tagged enums" => Outer::A { inner: everything() },
        "enums in boxes in internally tagged enums" => Outer::B(Box::new(OuterB {
            untagged: Untagged::Tuple(1, untagged()), external: External::NewtypeStruct(point()),
        })),
        "runs of enums" => [external(), external()].map(|list| vec![list; 2]),
    }
}
