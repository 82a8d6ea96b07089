//! `#[serde(flatten)]`: structs that reach us as maps and are read back through serde's buffers.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr};

use super::maps::{Ordered, ordered};
use super::{Specimen, specimens, types};

types! {
    struct Point { x: i32, y: i32 }
    struct Meters(f64);
    enum Plain { Unit, Newtype(u8), Tuple(u8, u8), Struct { a: u8 } }
    #[serde(tag = "type")]
    enum Internal { Unit, Newtype(Point), Struct { a: u8, p: Plain } }
    #[serde(tag = "t", content = "c")]
    enum Adjacent { Unit, Newtype(u8), Tuple(u8, Point), Struct { a: u8 } }
    #[serde(untagged)]
    enum Untagged { Point(Point), Other { other: String } }
}

// Structs in structs.
types! {
    struct Flat { id: u32, #[serde(flatten)] at: Point, name: String }
    struct Twice { #[serde(flatten)] flat: Flat, z: bool }
    struct Thrice { a: Meters, #[serde(flatten)] twice: Twice, b: Option<Meters> }
    struct Only { #[serde(flatten)] at: Point }
    struct Two { #[serde(flatten)] at: Point, #[serde(flatten)] more: More }
    struct More { p: Plain, q: Vec<Plain>, r: Option<Option<u8>>, s: (), t: Meters, u: (u8, char), v: [f32; 2] }
    struct Nothing { a: u8, #[serde(flatten)] nothing: () }
    struct Readable { #[serde(flatten)] inner: Host }
    struct Host { ip: IpAddr, v4: Ipv4Addr }
}

// Options.
types! {
    struct OfOption(Option<u8>);
    struct OfUnit(());
    struct Marker;
    struct Delicate { a: Option<OfOption>, b: Option<OfUnit>, c: Option<Marker>, d: Option<()>, e: Option<Option<Marker>> }
    struct Buffered { #[serde(flatten)] delicate: Delicate }
    struct Maybe { id: u8, #[serde(flatten)] at: Option<Point> }
    struct MaybeEnum { id: u8, #[serde(flatten)] plain: Option<Plain> }
}

// Catch-alls.
types! {
    struct Rest { id: u8, #[serde(flatten)] rest: BTreeMap<String, i64> }
    struct HashRest { id: u8, #[serde(flatten)] rest: HashMap<String, Plain> }
    struct IndexRest { m: u8, #[serde(flatten)] rest: Ordered<String, u8>, a: u8 }
    struct JsonRest { id: u8, #[serde(flatten)] rest: serde_json::Map<String, serde_json::Value> }
    struct NumberRest { #[serde(flatten)] rest: HashMap<u32, String> }
    struct FloatRest { id: u8, #[serde(flatten)] rest: BTreeMap<Level, u8> }
    struct UnitRest { id: u8, #[serde(flatten)] rest: BTreeMap<(), u8> }
    struct PointAndRest { #[serde(flatten)] at: Point, #[serde(flatten)] rest: BTreeMap<String, Plain> }
}

/// A key that is a float, as in `ordered-float`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
struct Level(f64);

impl Eq for Level {}

impl PartialOrd for Level {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Level {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

// Enums.
types! {
    struct WithExternal { id: u8, #[serde(flatten)] plain: Plain }
    struct WithInternal { id: u8, #[serde(flatten)] internal: Internal }
    struct WithAdjacent { id: u8, #[serde(flatten)] adjacent: Adjacent }
    struct WithUntagged { id: u8, #[serde(flatten)] untagged: Untagged }
    enum InVariant { Struct { id: u8, #[serde(flatten)] at: Point }, Other(Flat) }
    #[serde(tag = "kind")]
    enum InInternal { Struct { id: u8, #[serde(flatten)] at: Point }, Flat(Flat), Rest(Rest) }
    #[serde(tag = "tag")]
    struct TaggedFlat { id: u8, #[serde(flatten)] at: Point }
    #[serde(untagged)]
    enum InUntagged { Flat(Flat), Internal(WithInternal), Maybe(Maybe) }
}

const POINT: Point = Point { x: 1, y: -1 };

fn flat() -> Flat {
    Flat { id: 1, at: POINT, name: "a".to_owned() }
}

fn plain() -> [Plain; 4] {
    [Plain::Unit, Plain::Newtype(1), Plain::Tuple(1, 2), Plain::Struct { a: 1 }]
}

fn more() -> More {
    More {
        p: Plain::Unit,
        q: plain().to_vec(),
        r: Some(None),
        s: (),
        t: Meters(0.5),
        u: (1, 'a'),
        v: [0.1, 0.2],
    }
}

fn rest<V: Clone>(value: V) -> [(String, V); 3] {
    ["z", "a", "m b"].map(|key| (key.to_owned(), value.clone()))
}

fn index_rest(keys: [&str; 3]) -> IndexRest {
    IndexRest { m: 1, rest: ordered(keys.map(|key| (key.to_owned(), key.as_bytes()[0]))), a: 2 }
}

pub(super) fn specimens() -> Vec<Specimen> {
    let internal = [
        Internal::Unit,
        Internal::Newtype(POINT),
        Internal::Struct { a: 1, p: Plain::Tuple(1, 2) },
    ];
    let adjacent = [
        Adjacent::Unit,
        Adjacent::Newtype(1),
        Adjacent::Tuple(1, POINT),
        Adjacent::Struct { a: 1 },
    ];
    let json = serde_json::json!({ "n": null, "l": [1, -2, 2.5, "a", {}], "o": { "b": true } });
    let serde_json::Value::Object(json) = json else { unreachable!() };
    specimens! {
        "flatten" => flat(),
        "flatten in flatten" => Twice { flat: flat(), z: true },
        "flatten in flatten in flatten" => Thrice {
            a: Meters(1.0), twice: Twice { flat: flat(), z: false }, b: Some(Meters(2.0)),
        },
        "nothing but flatten" => Only { at: POINT },
        "two flattened" => Two { at: POINT, more: more() },
        "flattened unit" => Nothing { a: 1, nothing: () },
        "flattened some" => Maybe { id: 1, at: Some(POINT) },
        "flattened none" => Maybe { id: 1, at: None },
        "flattened options" => vec![
            Maybe { id: 1, at: Some(POINT) }, Maybe { id: 2, at: Some(POINT) }, Maybe { id: 3, at: None },
        ],
        "flattened some enum" => MaybeEnum { id: 1, plain: Some(Plain::Tuple(1, 2)) },
        "flattened none enum" => MaybeEnum { id: 1, plain: None },
        "flattened map" => Rest { id: 1, rest: rest(1).into() },
        "flattened empty map" => Rest { id: 1, rest: BTreeMap::new() },
        "flattened hash map" => HashRest { id: 1, rest: rest(Plain::Tuple(1, 2)).into() },
        "flattened index map" => index_rest(["z", "b", "c"]),
        "flattened index maps" => vec![
            index_rest(["z", "b", "c"]), index_rest(["c", "z", "b"]), index_rest(["b", "c", "z"]),
        ],
        "flattened json" => JsonRest { id: 1, rest: json },
        "flattened map of numbers" => NumberRest {
            rest: [(2, "a".to_owned()), (1, "b".to_owned()), (10, "c".to_owned())].into(),
        },
        "flattened map of floats" => FloatRest { id: 1, rest: [(Level(1.5), 1), (Level(-0.5), 2)].into() },
        "flattened map of a unit" => UnitRest { id: 1, rest: [((), 1)].into() },
        "flattened struct and map" => PointAndRest { at: POINT, rest: rest(Plain::Unit).into() },
        "flattened external" => plain()[1..].iter().cloned().map(|plain| WithExternal { id: 1, plain }).collect::<Vec<_>>(),
        "flattened external: unit" => WithExternal { id: 1, plain: Plain::Unit },
        "flattened internal" => internal.clone().map(|internal| WithInternal { id: 1, internal }).to_vec(),
        "flattened internal: struct" => WithInternal { id: 1, internal: internal[2].clone() },
        "flattened adjacent" => adjacent.clone().map(|adjacent| WithAdjacent { id: 1, adjacent }).to_vec(),
        "flattened adjacent: unit" => WithAdjacent { id: 1, adjacent: Adjacent::Unit },
        "flattened untagged" => WithUntagged { id: 1, untagged: Untagged::Other { other: "a".to_owned() } },
        "flattened untagged struct" => WithUntagged { id: 1, untagged: Untagged::Point(POINT) },
        "flatten in a variant" => vec![InVariant::Struct { id: 1, at: POINT }, InVariant::Other(flat())],
        "flatten in one variant" => InVariant::Struct { id: 1, at: POINT },
        "flatten in internally tagged variants" => vec![
            InInternal::Struct { id: 1, at: POINT }, InInternal::Flat(flat()),
            InInternal::Rest(Rest { id: 1, rest: rest(1).into() }),
        ],
        "flatten in an internally tagged variant" => InInternal::Flat(flat()),
        "flatten in a tagged struct" => TaggedFlat { id: 1, at: POINT },
        "flatten in untagged variants" => vec![
            InUntagged::Flat(flat()), InUntagged::Internal(WithInternal { id: 1, internal: internal[1].clone() }),
            InUntagged::Maybe(Maybe { id: 1, at: None }),
        ],
        "flatten in an untagged variant" => InUntagged::Maybe(Maybe { id: 1, at: Some(POINT) }),
        "flattened options of nothing" => Buffered {
            delicate: Delicate {
                a: Some(OfOption(None)), b: Some(OfUnit(())), c: Some(Marker), d: Some(()), e: Some(None),
            },
        },
        "options of nothing" => Delicate {
            a: Some(OfOption(None)), b: Some(OfUnit(())), c: Some(Marker), d: Some(()), e: Some(Some(Marker)),
        },
        "flattened addresses" => Readable {
            inner: Host { ip: [0, 0, 0, 0, 0, 0, 0, 1].into(), v4: [127, 0, 0, 1].into() },
        },
    }
}
