//! A table of losses: nothing that was lost or changed goes unreported, and nothing untouched is
//! reported.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use insta::assert_snapshot;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use treedef::{Flattener, Leaf, Migration, Tree};

/// The report, checked by a naive model: if the tree has a scalar more often than the value, the difference
/// has to be dropped or changed.
fn report<T: Serialize + DeserializeOwned>(old: &impl Serialize) -> String {
    reported::<T>(&Tree::of(old).unwrap())
}

fn reported<T: Serialize + DeserializeOwned>(old: &Tree<Leaf>) -> String {
    let (value, migration) = old.clone().migrate::<T>().unwrap();
    let document = Tree::of(&serde_json::to_value(old).unwrap()).unwrap();
    let mut lost = HashMap::<String, isize>::new();
    let mut count = |value: serde_json::Value, by: isize| {
        scalars(&value).into_iter().for_each(|text| *lost.entry(text).or_default() += by);
    };
    count(serde_json::to_value(old).unwrap(), 1);
    count(serde_json::to_value(&value).unwrap(), -1);
    for path in &migration.dropped {
        let dropped = old.subtree(path).or_else(|_| document.subtree(path)); // or in a leaf
        count(serde_json::to_value(dropped.unwrap()).unwrap(), -1);
    }
    let keys = |value: &serde_json::Value| match value {
        serde_json::Value::Object(entries) => {
            entries.keys().map(|key| key.as_str().into()).collect()
        }
        _ => Vec::<serde_json::Value>::new(),
    };
    count(keys(&serde_json::to_value(&value).unwrap()).into(), -1); // they may have been values
    let is_changed = |text: &str| {
        migration.changed.iter().any(|change| {
            let rest = change.expected.strip_prefix(&format!("`{text}"));
            let variant = format!("::{}`", text.trim_matches('"'));
            let is_number = text.parse::<f64>().is_ok() && !change.expected.starts_with('`');
            is_number
                || change.expected.ends_with(&variant)
                || rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()))
        })
    };
    lost.retain(|text, count| *count > 0 && !is_changed(text));
    assert!(lost.is_empty(), "{lost:?} lost and not reported: {migration}");
    let written = serde_json::to_string(&migration).unwrap();
    assert_eq!(serde_json::from_str::<Migration>(&written).unwrap(), migration);
    migration.to_string()
}

/// The scalars of a document.
fn scalars(document: &serde_json::Value) -> Vec<String> {
    match document {
        serde_json::Value::Null => Vec::new(),
        serde_json::Value::Array(elements) => elements.iter().flat_map(scalars).collect(),
        serde_json::Value::Object(entries) => entries.values().flat_map(scalars).collect(),
        scalar => vec![scalar.to_string().replace("e+", "e")],
    }
}

#[derive(Clone, Serialize, Deserialize)]
struct One<T> {
    x: T,
}

/// Under another name.
#[derive(Serialize, Deserialize)]
struct Renamed<T> {
    #[serde(alias = "x")]
    y: T,
}

#[derive(Serialize, Deserialize)]
struct Wrap<T>(T);

macro_rules! reads {
    ($($name:ident: $read:ty => $made:ty, $convert:expr;)*) => {$(
        #[derive(Serialize)]
        #[serde(transparent)]
        struct $name($made);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let convert: fn($read) -> $made = $convert;
                <$read>::deserialize(deserializer).map(convert).map($name)
            }
        }
    )*};
}

reads! {
    Clamped: u64 => u8, |number| number.min(255) as u8;
    Halved: u64 => u64, |number| number / 2;
    Doubled: u64 => u64, |number| number * 2;
    Narrow: f64 => f32, |number| number as f32;
    Short: String => String, |text| text.chars().take(3).collect();
    Lower: String => String, |text| text.to_lowercase();
    Small: Vec<u64> => Vec<u64>, |numbers| numbers.into_iter().filter(|it| *it < 256).collect();
    Even: Vec<u64> => Vec<u64>, |numbers| numbers.into_iter().filter(|it| it % 2 == 0).collect();
    Sorted: Vec<u64> => Vec<u64>, |mut numbers| { numbers.sort_unstable(); numbers };
    SortedSmall: Vec<u64> => Vec<u64>, |numbers| Sorted(Small(numbers).0.into_iter().filter(|it| *it < 256).collect()).0;
    Reversed: Vec<u64> => Vec<u64>, |numbers| numbers.into_iter().rev().collect();
    First: Vec<u64> => u64, |numbers| numbers[0];
    Keyed: BTreeMap<String, u64> => BTreeMap<String, u64>,
        |map| map.into_iter().map(|(key, value)| (key.to_lowercase(), value)).collect();
    Or0: Option<u64> => u64, Option::unwrap_or_default;
    Never: Option<u64> => Option<u64>, |_| None;
    Pairs: Vec<(String, u64)> => BTreeMap<String, u64>, |pairs| pairs.into_iter().collect();
    Layers: Vec<Layer> => Vec<Weights>, |layers| {
        let kept = layers.into_iter().filter(|layer| layer.bias != 0.0);
        kept.map(|layer| Weights { weight: layer.w, bias: layer.bias }).collect()
    };
    Positive: Vec<Layer> => Vec<Layer>, |layers| layers.into_iter().filter(|layer| layer.bias > 0.0).collect();
}

#[derive(Clone, Serialize, Deserialize)]
struct Layer {
    w: f64,
    bias: f64,
}

#[derive(Serialize, Deserialize)]
struct Weights {
    weight: f64,
    bias: f64,
}

#[test]
fn numbers_and_texts() {
    assert_snapshot!(report::<One<f32>>(&One { x: 16777217i64 }), @"changed `16777217i64` to `16777216.0f32` at `.x`");
    assert_snapshot!(report::<One<f32>>(&One { x: 16777216i64 }), @"changed i64 to f32 at `.x`");
    assert_snapshot!(report::<One<f32>>(&One { x: 0.1f64 }), @"changed f64 to f32 at `.x`");
    assert_snapshot!(report::<One<Narrow>>(&One { x: 1e300 }), @"changed `1e300` to `inff32` at `.x`");
    assert_snapshot!(report::<One<Narrow>>(&One { x: 1e-300 }), @"changed `1e-300` to `0.0f32` at `.x`");
    assert_snapshot!(report::<One<Wrap<f32>>>(&One { x: 16777217i64 }), @"changed `16777217i64` to `Wrap(*)` at `.x`, `16777217i64` to `16777216.0f32` at `.x.0`");
    assert_snapshot!(report::<One<Wrap<i64>>>(&One { x: 16777217i64 }), @"changed `16777217i64` to `Wrap(*)` at `.x`");
    assert_snapshot!(report::<One<Clamped>>(&One { x: 300u64 }), @"changed `300u64` to `255u8` at `.x`");
    assert_snapshot!(report::<One<Doubled>>(&One { x: 4u64 }), @"changed `4u64` to `8u64` at `.x`");
    assert_snapshot!(report::<One<Short>>(&One { x: "abcdef" }), @r#"changed `"abcdef"` to `"abc"` at `.x`"#);
    assert_snapshot!(report::<One<Lower>>(&One { x: "Abc" }), @r#"changed `"Abc"` to `"abc"` at `.x`"#);
    assert_snapshot!(report::<One<Lower>>(&One { x: "abc" }), @"");
    assert_snapshot!(report::<Renamed<f32>>(&One { x: 16777217i64 }), @"renamed `.x` to `.y`; changed `16777217i64` to `16777216.0f32` at `.y`");
    assert_snapshot!(report::<Renamed<f32>>(&One { x: 0.1f64 }), @"renamed `.x` to `.y`; changed f64 to f32 at `.y`");
    assert_snapshot!(report::<Renamed<Narrow>>(&One { x: 1e300 }), @"renamed `.x` to `.y`; changed `1e300` to `inff32` at `.y`");
    assert_snapshot!(report::<Renamed<Wrap<f32>>>(&One { x: 16777217i64 }), @"renamed `.x` to `.y.0`; changed `16777217i64` to `16777216.0f32` at `.y.0`");
    assert_snapshot!(report::<Renamed<Doubled>>(&One { x: 4u64 }), @"filled `.y`; dropped `.x`");
    assert_snapshot!(report::<Renamed<Short>>(&One { x: "abcdef" }), @"filled `.y`; dropped `.x`");
    assert_snapshot!(report::<Renamed<Short>>(&One { x: "abc" }), @"filled `.y`; dropped `.x`");
    assert_snapshot!(report::<Renamed<Lower>>(&One { x: "abc" }), @"renamed `.x` to `.y`");
}

#[test]
fn elements() {
    assert_snapshot!(report::<Small>(&[1u64, 300, 3].to_vec()), @"dropped `[1]`; changed 3 children to 2 children at the root");
    assert_snapshot!(report::<One<Even>>(&One { x: vec![1u64, 2, 3, 4] }), @"dropped `.x[*]` (×2); changed 4 children to 2 children at `.x`");
    assert_snapshot!(report::<Renamed<Small>>(&One { x: vec![1u64, 300, 3] }), @"dropped `.x[1]`; renamed `.x` to `.y`; changed 3 children to 2 children at `.y`");
    assert_snapshot!(report::<Sorted>(&vec![3u64, 1, 2]), @"changed `3u64` to `1u64` at `[0]`, `1u64` to `2u64` at `[1]`, `2u64` to `3u64` at `[2]`");
    assert_snapshot!(report::<SortedSmall>(&vec![3u64, 300, 1, 2]), @"dropped `[1]`; changed 4 children to 3 children at the root");
    assert_snapshot!(report::<Reversed>(&vec![1u64, 2, 1]), @"");
    assert_snapshot!(report::<Reversed>(&vec![1u64, 2, 3]), @"changed `1u64` to `3u64` at `[0]`, `3u64` to `1u64` at `[2]`");
    assert_snapshot!(report::<BTreeSet<u64>>(&vec![1u64, 1, 2]), @"dropped `[1]`; changed 3 children to 2 children at the root");
    assert_snapshot!(report::<BTreeSet<u64>>(&vec![3u64, 1, 1, 2]), @"dropped `[2]`; renamed `[0]` to `[2]`; changed 4 children to 3 children at the root");
    assert_snapshot!(report::<BTreeSet<u64>>(&vec![1u64, 2]), @"");
    assert_snapshot!(report::<BTreeSet<bool>>(&vec![true, true]), @"dropped `[1]`; changed 2 children to 1 child at the root");
    assert_snapshot!(report::<One<First>>(&One { x: vec![5u64, 6] }), @"dropped `.x[1]`; renamed `.x[0]` to `.x`; changed `[*, *]` to `5u64` at `.x`");
    assert_snapshot!(report::<One<First>>(&One { x: vec![5u64] }), @"changed `[*]` to `5u64` at `.x`");
    let layers = [1.0, 0.0, 2.0].map(|bias| Layer { w: bias + 0.5, bias });
    assert_snapshot!(report::<Positive>(&layers.to_vec()), @"dropped `[1]`; changed 3 children to 2 children at the root");
    assert_snapshot!(report::<Layers>(&layers.to_vec()), @"filled `[*]` (×2); dropped `[*]` (×3); changed 3 children to 2 children at the root");
    assert_snapshot!(report::<Layers>(&layers[..1].to_vec()), @"renamed `[0].w` to `[0].weight`");
}

#[test]
fn maps() {
    let map = |entries: &[(&str, u64)]| -> BTreeMap<String, u64> {
        entries.iter().map(|(key, value)| ((*key).to_owned(), *value)).collect()
    };
    assert_snapshot!(report::<Keyed>(&map(&[("A", 1), ("a", 2)])), @r#"dropped `["A"]`"#);
    assert_snapshot!(report::<Keyed>(&map(&[("A", 1), ("a", 1)])), @r#"dropped `["A"]`"#);
    assert_snapshot!(report::<Keyed>(&map(&[("A", 1), ("b", 2)])), @r#"renamed `["A"]` to `["a"]`"#);
    assert_snapshot!(report::<BTreeMap<u64, bool>>(&BTreeMap::from([(1u8, true), (200, false)])), @"");
    // The keys of a document are texts.
    #[derive(PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    enum Kind {
        A,
        B,
    }
    let document = map(&[("A", 1), ("B", 2)]);
    assert_snapshot!(report::<BTreeMap<Kind, u64>>(&document), @"");
    assert_snapshot!(report::<BTreeMap<char, u64>>(&document), @"");
    assert_snapshot!(report::<Pairs>(&vec![("a", 5u64), ("b", 6)]), @r#"dropped `[*]` (×2); changed `[(*, *); 2]` to `{"a": *, "b": *}` at the root, `(*, *)` to `5u64` at `["a"]`, `(*, *)` to `6u64` at `["b"]`"#);
    assert_snapshot!(report::<Pairs>(&vec![("a", 5u64), ("a", 6)]), @r#"dropped `[*]` (×2); changed `[(*, *); 2]` to `{"a": *}` at the root, `(*, *)` to `6u64` at `["a"]`"#);
}

#[test]
fn defaults_and_options() {
    fn seven() -> u64 {
        7
    }
    #[derive(Serialize)]
    struct Before {
        seed: u64,
        w: u64,
    }
    #[derive(Serialize, Deserialize)]
    struct After {
        #[serde(default = "seven")]
        id: u64,
        #[serde(skip_deserializing, default = "seven")]
        w2: u64,
        w: u64,
    }
    assert_snapshot!(report::<After>(&Before { seed: 7, w: 1 }), @"filled `.id`, `.w2`; dropped `.seed`");
    #[derive(Serialize, Deserialize)]
    struct Exchanged {
        #[serde(rename(deserialize = "w"))]
        seed: u64,
        #[serde(rename(deserialize = "seed"))]
        w: u64,
    }
    assert_snapshot!(report::<Exchanged>(&Before { seed: 7, w: 1 }), @"changed `7u64` to `1u64` at `.seed`, `1u64` to `7u64` at `.w`");
    assert_snapshot!(report::<One<Or0>>(&One { x: Some(5u64) }), @"");
    assert_snapshot!(report::<One<Or0>>(&One { x: None::<u64> }), @"changed `None` to `0u64` at `.x`");
    assert_snapshot!(report::<One<Never>>(&One { x: 5u64 }), @"changed `5u64` to `None` at `.x`");
    assert_snapshot!(report::<One<()>>(&One { x: () }), @"");
    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Many {
        One(u64),
        Many(Vec<u64>),
    }
    #[derive(Serialize, Deserialize)]
    #[serde(from = "Many")]
    struct List(Vec<u64>);
    impl From<Many> for List {
        fn from(many: Many) -> Self {
            match many {
                Many::One(one) => List(vec![one]),
                Many::Many(many) => List(many),
            }
        }
    }
    assert_snapshot!(report::<One<List>>(&One { x: 5u64 }), @"changed `5u64` to `List([*])` at `.x`");
    assert_snapshot!(report::<Renamed<List>>(&One { x: 5u64 }), @"renamed `.x` to `.y.0[0]`");
    assert_snapshot!(report::<One<Many>>(&One { x: 5u64 }), @"");
}

#[test]
fn kinds_of_nodes() {
    #[derive(Serialize)]
    struct Pair(f64, f64);
    #[derive(Serialize, Deserialize)]
    struct Point {
        x: f32,
        y: f64,
    }
    assert_snapshot!(report::<Point>(&Pair(0.1, 0.2)), @"changed `Pair(*, *)` to `Point { x: *, y: * }` at the root, f64 to f32 at `.x`");
    assert_snapshot!(report::<Point>(&vec![0.1, 0.2]), @"changed `[*, *]` to `Point { x: *, y: * }` at the root, f64 to f32 at `.x`");
    assert_snapshot!(report::<(f32, f64)>(&Pair(0.1, 0.2)), @"changed f64 to f32 at `.0`");
    #[derive(Serialize)]
    enum Before {
        Adam { lr: f64, beta: f64 },
        Off,
        Fixed(u64),
    }
    #[derive(Serialize, Deserialize)]
    enum After {
        #[serde(alias = "Adam")]
        Lion { lr: Narrow, beta: f64 },
        #[serde(alias = "Off")]
        Nothing,
        #[serde(alias = "Fixed")]
        Constant(Halved),
    }
    assert_snapshot!(report::<After>(&Before::Adam { lr: 1e300, beta: 0.5 }), @"changed `Before::Adam { lr: *, beta: * }` to `After::Lion { lr: *, beta: * }` at the root, `1e300` to `inff32` at `::Lion.lr`");
    assert_snapshot!(report::<After>(&Before::Off), @"changed `Before::Off` to `After::Nothing` at the root");
    assert_snapshot!(report::<After>(&Before::Fixed(9)), @"changed `Before::Fixed(*)` to `After::Constant(*)` at the root, `9u64` to `4u64` at `::Constant.0`");
    #[derive(Serialize, Deserialize)]
    #[serde(from = "u64")]
    struct Twice(u64);
    impl From<u64> for Twice {
        fn from(number: u64) -> Self {
            Twice(number * 2)
        }
    }
    assert_snapshot!(report::<One<Twice>>(&One { x: 4u64 }), @"changed `4u64` to `Twice(*)` at `.x`, `4u64` to `8u64` at `.x.0`");
    #[derive(Serialize, Deserialize)]
    #[serde(from = "u64")]
    struct Parts {
        high: u64,
        low: u64,
    }
    impl From<u64> for Parts {
        fn from(number: u64) -> Self {
            Parts { high: number / 10, low: number % 10 }
        }
    }
    assert_snapshot!(report::<One<Parts>>(&One { x: 42u64 }), @"changed `42u64` to `Parts { high: *, low: * }` at `.x`");
    assert_snapshot!(report::<Renamed<Parts>>(&One { x: 42u64 }), @"filled `.y`; dropped `.x`");
    #[derive(Serialize, Deserialize)]
    #[serde(tag = "type")]
    enum Tagged {
        #[serde(alias = "Old")]
        New { a: Clamped },
    }
    #[derive(Serialize)]
    #[serde(tag = "type")]
    enum Untouched {
        Old { a: u64, gone: bool },
        New { a: u8 },
    }
    assert_snapshot!(report::<Tagged>(&Untouched::Old { a: 300, gone: true }), @r#"dropped `.gone`; changed `"Old"` to `"New"` at `.type`, `300u64` to `255u8` at `.a`"#);
    assert_snapshot!(report::<Tagged>(&Untouched::New { a: 3 }), @"");
    #[derive(Serialize, Deserialize)]
    struct Flat {
        #[serde(flatten)]
        inner: BTreeMap<String, Clamped>,
    }
    assert_snapshot!(report::<Flat>(&One { x: 300u64 }), @r#"changed `300u64` to `255u8` at `["x"]`"#);
}

#[test]
fn statics_opaque_leaves_and_arrays() {
    #[derive(Serialize, Deserialize)]
    struct Marked<T: Serialize> {
        #[serde(serialize_with = "treedef::as_static")]
        x: T,
    }
    #[derive(Serialize, Deserialize)]
    struct Opaque<T: Serialize> {
        #[serde(serialize_with = "treedef::as_opaque", alias = "x")]
        y: T,
    }
    assert_snapshot!(report::<Marked<Clamped>>(&One { x: 300u64 }), @"changed `300u64` to `255u8` at `.x`");
    assert_snapshot!(report::<Marked<Clamped>>(&Marked { x: 300u64 }), @"changed `300u64` to `255u8` at `.x`");
    assert_snapshot!(report::<One<Clamped>>(&Marked { x: 300u64 }), @"changed `300u64` to `255u8` at `.x`");
    assert_snapshot!(report::<Opaque<Small>>(&One { x: vec![1u64, 300, 3] }), @"dropped `.x[1]`; renamed `.x` to `.y`; changed 3 children to 2 children at `.y`");
    assert_snapshot!(report::<Opaque<Small>>(&Opaque { y: vec![1u64, 300, 3] }), @"dropped `.y[1]`; changed 3 children to 2 children at `.y`");
    let arrays = Flattener::new().arrays(true);
    assert_snapshot!(reported::<One<Small>>(&arrays.tree(&One { x: vec![1u64, 300, 3] }).unwrap()), @"dropped `.x[1]`; changed 3 children to 2 children at `.x`");
    let zeros = arrays.tree(&(One { x: vec![0.0; 3] }, One { x: vec![0.0; 3] })).unwrap();
    assert_snapshot!(reported::<(One<Vec<f64>>, Renamed<Vec<f64>>)>(&zeros), @"renamed `.1.x` to `.1.y`");
    assert_snapshot!(reported::<(One<Vec<f32>>, One<Vec<f64>>)>(&zeros), @"changed f64 to f32 at `.0.x`");
}

#[test]
fn a_key_that_a_type_does_not_take_is_named() {
    fn refused<T: Serialize + DeserializeOwned>(old: &impl Serialize) -> String {
        Tree::of(old).unwrap().migrate::<T>().err().unwrap().to_string()
    }
    let numbers = One { x: BTreeMap::from([(7u32, true), (300, false)]) };
    assert_snapshot!(refused::<One<BTreeMap<String, bool>>>(&numbers), @"invalid type: integer `7`, expected a string at `.x[7u32]`");
    assert_snapshot!(refused::<One<BTreeMap<u8, bool>>>(&numbers), @"invalid value: integer `300`, expected u8 at `.x[300u32]`");
    assert_snapshot!(refused::<One<BTreeMap<char, bool>>>(&One { x: BTreeMap::from([("ab", 1)]) }), @r#"invalid value: string "ab", expected a character at `.x["ab"]`"#);
    assert_snapshot!(refused::<One<BTreeMap<(u8, u8), u8>>>(&One { x: BTreeMap::from([("ab", 1)]) }), @r#"invalid type: string "ab", expected a tuple of size 2 at `.x["ab"]`"#);
    assert_snapshot!(refused::<Renamed<BTreeMap<String, bool>>>(&numbers), @"invalid type: integer `7`, expected a string at `.x[7u32]`");
    #[derive(Serialize, Deserialize)]
    struct Flat {
        #[serde(flatten)]
        rest: One<BTreeMap<String, bool>>,
    }
    assert_snapshot!(refused::<Flat>(&numbers), @"invalid type: integer `7`, expected a string at the root");
}

/// A list may have more of them than anyone wants to read.
#[test]
fn neighbours_without_leaves_are_one_entry() {
    #[derive(Serialize)]
    struct Taken {
        a: (),
        b: u8,
    }
    impl<'de> Deserialize<'de> for Taken {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            serde::de::IgnoredAny::deserialize(deserializer).map(|_| Taken { a: (), b: 1 })
        }
    }
    let mut old = vec![None; 100_000];
    old[1] = Some(1u8);
    assert_snapshot!(report::<Taken>(&old), @"dropped `[2]`; changed `[None, Some(*), None; 99998]` to `Taken { a: (), b: * }` at the root, `None` to `()` at `.a`");
}
