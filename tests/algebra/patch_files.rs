//! Diffs in files of other formats.

use std::fmt::Debug;

use indexmap::IndexMap;
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use treedef::{Diff, Flattener, Leaf, MapOrder, Tree};
use treedef_testing::cases::all;

use crate::data::{Data, data};
use crate::structures::few;

/// The same diff from each format.
fn through_formats<T>(diff: &T) -> [(&'static str, T); 6]
where
    T: Serialize + DeserializeOwned + Debug + PartialEq,
{
    let config = bincode::config::standard();
    let bytes = bincode::serde::encode_to_vec(diff, config).unwrap();
    let json = serde_json::to_string(diff).unwrap();
    let read = [
        ("json", serde_json::from_str(&json).unwrap()),
        ("json value", serde_json::from_value(serde_json::to_value(diff).unwrap()).unwrap()),
        ("toml", toml::from_str(&toml::to_string(diff).unwrap()).unwrap()),
        ("msgpack", rmp_serde::from_slice(&rmp_serde::to_vec(diff).unwrap()).unwrap()),
        ("named msgpack", rmp_serde::from_slice(&rmp_serde::to_vec_named(diff).unwrap()).unwrap()),
        ("bincode", bincode::serde::decode_from_slice(&bytes, config).unwrap().0),
    ];
    for (format, again) in &read {
        assert_eq!(again, diff, "{format}");
    }
    read
}

/// The same data without maps in keys. A path has these in the order of their keys.
fn without_maps_in_keys(data: Data) -> Data {
    let each = |all: Vec<Data>| all.into_iter().map(without_maps_in_keys).collect();
    let boxed = |data: Box<Data>| Box::new(without_maps_in_keys(*data));
    let fields = |all: Vec<(&'static str, Data)>| {
        all.into_iter().map(|(name, data)| (name, without_maps_in_keys(data))).collect()
    };
    match data {
        Data::Some(data) => Data::Some(boxed(data)),
        Data::NewtypeStruct(name, data) => Data::NewtypeStruct(name, boxed(data)),
        Data::NewtypeVariant(name, variant, data) => {
            Data::NewtypeVariant(name, variant, boxed(data))
        }
        Data::Seq(all) => Data::Seq(each(all)),
        Data::Tuple(all) => Data::Tuple(each(all)),
        Data::TupleStruct(name, all) => Data::TupleStruct(name, each(all)),
        Data::TupleVariant(name, variant, all) => Data::TupleVariant(name, variant, each(all)),
        Data::Struct(name, all) => Data::Struct(name, fields(all)),
        Data::StructVariant(name, variant, all) => Data::StructVariant(name, variant, fields(all)),
        Data::Map(entries) => {
            let key = |key: Data| match format!("{key:?}") {
                text if text.contains("Map") => Data::Str(text),
                _ => key,
            };
            let entry = |(of, data)| (key(of), without_maps_in_keys(data));
            Data::Map(entries.into_iter().map(entry).collect())
        }
        scalar => scalar,
    }
}

/// Trees with leaves, statics and options of all kinds.
fn tree_of(data: &Data, way: u8) -> Tree<Leaf> {
    let flattener = match way % 6 {
        0 => Flattener::new(),
        1 => Flattener::new().none_is_leaf(true),
        2 => Flattener::new().map_order(MapOrder::Insertion),
        3 => Flattener::new().opaque_where(|path, _| path.keys().len() == 2),
        4 => Flattener::new().arrays(true),
        _ => Flattener::new()
            .mark_static("**.x")
            .unwrap()
            .mark_static("Point")
            .unwrap()
            .mark_opaque("A")
            .unwrap(),
    };
    flattener.tree(data).unwrap()
}

/// The bytes of a tree, which have the orders of its maps.
#[cfg(feature = "persist")]
fn in_full(tree: &Tree<Leaf>) -> Vec<u8> {
    tree.to_bytes().unwrap()
}

#[cfg(not(feature = "persist"))]
fn in_full(tree: &Tree<Leaf>) -> String {
    tree.to_string()
}

proptest! {
    #![proptest_config(few())]

    /// A diff that was written and read has the same effect as the diff itself, also on the order of entries and
    /// the bits of NaNs, which the bytes of a tree contain.
    #[test]
    fn a_diff_of_trees_comes_back(a in data(), b in data(), way in any::<u8>(), other in any::<u8>()) {
        let [a, b] = [a, b].map(without_maps_in_keys);
        for (old, new) in [(tree_of(&a, way), tree_of(&b, way)), (tree_of(&a, way), tree_of(&b, other))] {
            let diff = old.diff(&new);
            let patched = old.patch(&diff).unwrap();
            prop_assert_eq!(&patched, &new);
            let expected = in_full(&patched);
            for (format, again) in through_formats(&diff) {
                prop_assert_eq!(&in_full(&old.patch(&again).unwrap()), &expected, "{}", format);
            }
            let kinds = |tree: &Tree<Leaf>| tree.clone().map(|leaf| leaf.kind());
            through_formats(&kinds(&old).diff(&kinds(&new)));
            through_formats(&old.treedef().diff(new.treedef()));
        }
    }
}

#[derive(Clone, Serialize, Deserialize)]
struct Config {
    server: Server,
    rate: f32,
}

#[derive(Clone, Serialize, Deserialize)]
struct Server {
    host: String,
    port: u16,
}

fn config(port: u16, rate: f32) -> Tree<Leaf> {
    Tree::of(&Config { server: Server { host: "a".into(), port }, rate }).unwrap()
}

#[test]
fn a_patch_of_typed_data_fits_typed_data() {
    let (old, new) = (config(80, 0.5), config(443, f32::NAN));
    let diff = old.diff(&new);
    let json = serde_json::to_string_pretty(&diff).unwrap();
    insta::assert_snapshot!(json, @r#"
    {
      "changes": [
        {
          "path": ".server.port",
          "change": "replaced",
          "by": "leaf",
          "old": "80u16",
          "new": "443u16"
        },
        {
          "path": ".rate",
          "change": "replaced",
          "by": "leaf",
          "old": "0.5f32",
          "new": "nan(0x7fc00000)f32"
        }
      ]
    }
    "#);
    insta::assert_snapshot!(toml::to_string(&diff).unwrap(), @r#"
    [[changes]]
    path = ".server.port"
    change = "replaced"
    by = "leaf"
    old = "80u16"
    new = "443u16"

    [[changes]]
    path = ".rate"
    change = "replaced"
    by = "leaf"
    old = "0.5f32"
    new = "nan(0x7fc00000)f32"
    "#);
    for (format, diff) in through_formats(&diff) {
        let patched: Config = old.patch(&diff).unwrap().into_typed().unwrap();
        assert_eq!(patched.server.port, 443, "{format}");
        assert_eq!(patched.rate.to_bits(), f32::NAN.to_bits());
    }

    let diff = through_formats(&diff)[0].1.clone();
    let other = config(8080, 0.5).patch(&diff).unwrap_err();
    insta::assert_snapshot!(other, @"expected `80u16`, found `8080u16` at `.server.port`");
    let list: Tree<Leaf> = serde_json::from_str("[80, [1, 2]]").unwrap();
    let typed = Tree::of(&(80u16, (1u8, 2u8))).unwrap().diff(&Tree::of(&()).unwrap());
    insta::assert_snapshot!(list.patch(&typed).unwrap_err(), @"expected `(*, (*, *))`, found `[*, [*, *]]` at the root");
    let list = Tree::of(&(80u64, (1u8, 3u8))).unwrap();
    insta::assert_snapshot!(list.patch(&typed).unwrap_err(), @"expected `80u16`, found `80u64` at `.0`, and 1 more difference");
    assert_eq!(list.patch(&typed).unwrap_err().differences().len(), 2);
}

/// Also in maps of maps, in copies of maps, and inside of opaque leaves.
#[test]
fn what_was_added_keeps_the_order_of_its_entries() {
    let read = |text| serde_json::from_str::<Tree<Leaf>>(text).unwrap();
    let old = read(r#"{"z": 1}"#);
    let new = r#"{"z":1,"y":{"b":[{"d":1,"c":{"f":2,"e":3}},{"d":1,"c":{"f":2,"e":3}},{"c":{"f":2,"e":3},"d":1}],"a":2}}"#;
    let diff = old.diff(&read(new));
    assert_eq!(serde_json::to_string(&old.patch(&diff).unwrap()).unwrap(), new);
    for (format, diff) in through_formats(&diff) {
        assert_eq!(serde_json::to_string(&old.patch(&diff).unwrap()).unwrap(), new, "{format}");
    }
    let text = serde_json::to_value(&diff).unwrap()["changes"][0]["new"].clone();
    insta::assert_snapshot!(text.as_str().unwrap(), @r#"{"b": [{"d": 1u64, "c": {"f": 2u64, "e": 3u64}}; 2, {"c": {"f": 2u64, "e": 3u64}, "d": 1u64}], "a": 2u64}"#);

    let map =
        || IndexMap::from([("b", IndexMap::from([("d", 1), ("c", 2)])), ("a", IndexMap::new())]);
    let new = Flattener::new().mark_opaque("[1]").unwrap().tree(&vec![map(), map()]).unwrap();
    let old = Tree::of(&vec![map()]).unwrap();
    let json = serde_json::to_string(&new).unwrap();
    for (format, diff) in through_formats(&old.diff(&new)) {
        assert_eq!(serde_json::to_string(&old.patch(&diff).unwrap()).unwrap(), json, "{format}");
    }
}

/// Equal elements are one text with a count. The total of the counts in one diff is bounded; beyond, the
/// elements are written one by one.
#[test]
fn counts_stand_for_bounded_work() {
    let of = |count: usize| Tree::of(&vec![0u8; count]).unwrap();
    let (old, new) = (of(1), Tree::of(&(vec![0u8; 1 << 20], 1)).unwrap());
    let json = serde_json::to_string(&old.diff(&new)).unwrap();
    assert!(json.len() < 200, "{json}");
    if !all() {
        return;
    }
    // 16 bytes of text count as one leaf: no more than 16 of these are one text.
    let texts = Tree::of(&(vec!["x".repeat(1 << 24); 18], 1)).unwrap();
    let diff = of(1).diff(&texts);
    drop(texts);
    let json = serde_json::to_string(&diff).unwrap();
    assert_eq!(json.len() >> 24, 3);
    assert!(serde_json::from_str::<Diff<Tree<Leaf>>>(&json).unwrap() == diff);
    drop(diff);
    // All subtrees on both sides share the budget.
    let old = Tree::new("[*; 9000000]".parse().unwrap(), vec![true; 9_000_000]).unwrap();
    let new = Tree::new("{1: [*; 9000000]}".parse().unwrap(), vec![true; 9_000_000]).unwrap();
    let diff = old.diff(&new);
    let json = serde_json::to_string(&diff).unwrap();
    assert!(json.len() > 2_000_000);
    assert!(serde_json::from_str::<Diff<Tree<bool>>>(&json).unwrap() == diff);
}

/// A foreign file.
#[test]
fn a_text_that_is_no_diff_is_refused() {
    let refused =
        |text: &str| serde_json::from_str::<Diff<Tree<Leaf>>>(text).unwrap_err().to_string();
    let change = |rest: &str| refused(&format!(r#"{{"changes": [{{"path": "[0]", {rest}}}]}}"#));
    insta::assert_snapshot!(refused("{}"), @"missing field `changes` at line 1 column 2");
    insta::assert_snapshot!(refused(r#"{"change": []}"#), @"unknown field `change`, expected `changes` at line 1 column 9");
    insta::assert_snapshot!(refused("1"), @"invalid type: integer `1`, expected struct DiffRecord at line 1 column 1");
    insta::assert_snapshot!(change(r#""change": "removed""#), @"change 0: its fields do not fit together");
    insta::assert_snapshot!(change(r#""change": "removed", "old": "80u15""#), @"change 0: expected a number that its kind can hold, found `80u15` at byte 0");
    insta::assert_snapshot!(change(r#""change": "removed", "old": "[0u8; 100000000]""#), @"change 0: 99999983 nodes to visit, the limit is 16777216 at byte 15 (see `Limits::max_work`)");
    insta::assert_snapshot!(change(r#""change": "removed", "old": "opaque [(); 100000000]""#), @"change 0: 99999979 nodes to visit, the limit is 16777216 at byte 22 (see `Limits::max_work`)");
    // Each copy of the map needs its insertion order.
    let maps = r#""change": "removed", "old": "[{\"b\": None, \"a\": None}; 20000000]""#;
    insta::assert_snapshot!(change(maps), @"change 0: 19999965 nodes to visit, the limit is 16777216 at byte 33 (see `Limits::max_work`)");
    insta::assert_snapshot!(change(r#""change": "removed", "old": "[opaque [(); 100000]; 200]""#), @"change 0: 20000373 nodes to visit, the limit is 16777216 at byte 25 (see `Limits::max_work`)");
    let long = format!(r#""change": "removed", "old": "[\"{}\"; 100000]""#, "x".repeat(16_000));
    insta::assert_snapshot!(change(&long), @"change 0: 100082987 nodes to visit, the limit is 16777216 at byte 16011 (see `Limits::max_work`)");
    insta::assert_snapshot!(change(r#""change": "added", "position": 0, "new": "1", "old": "2""#), @"change 0: its fields do not fit together");
    insta::assert_snapshot!(change(r#""change": "removed", "old": "1", "old": "2""#), @"duplicate field `old` at line 1 column 73");
    insta::assert_snapshot!(refused(r#"{"changes": [{"path": "[0]", "path": "[1]", "change": "removed", "old": "1"}]}"#), @"duplicate field `path` at line 1 column 42");
    insta::assert_snapshot!(change(r#""change": "lost""#), @"change 0: its fields do not fit together");
    if !all() {
        return; // ten million leaves are read first
    }
    let small = r#"{"path": "[0]", "change": "removed", "old": "[0u8; 10000000]"}"#;
    insta::assert_snapshot!(refused(&format!(r#"{{"changes": [{small}, {small}]}}"#)), @"change 1: 9999984 nodes to visit, the limit is 6777232 at byte 14 (see `Limits::max_work`)");
}

/// Two patches in one file: which of two changes of a place counts, nobody knows.
#[test]
fn two_changes_of_one_place_are_refused() {
    let of =
        |text: &str| Tree::of(&serde_json::from_str::<serde_json::Value>(text).unwrap()).unwrap();
    let old = of(r#"{"a": [1, 2], "b": 3}"#);
    let said = |news: [&str; 2]| {
        let changes = news.map(|new| {
            let json = serde_json::to_value(old.diff(&of(new))).unwrap();
            json["changes"].as_array().unwrap().clone()
        });
        let json = serde_json::json!({ "changes": changes.concat() });
        let diff: Diff<Tree<Leaf>> = serde_json::from_value(json).unwrap();
        match old.patch(&diff) {
            Ok(patched) => patched.to_string(),
            Err(error) => error.to_string(),
        }
    };
    insta::assert_snapshot!(said([r#"{"a": [1, 5], "b": 3}"#, r#"{"a": [1, 2], "b": 7}"#]), @r#"{"a": [1u64, 5u64], "b": 7u64}"#);
    insta::assert_snapshot!(said([r#"{"a": [1, 2], "b": 4}"#, r#"{"a": [1, 2], "b": 5}"#]), @r#"a node cannot be replaced as a whole and also be changed inside, and the root can only be replaced at `["b"]`"#);
    insta::assert_snapshot!(said([r#"{"a": [1, 5], "b": 3}"#, r#"{"a": 0, "b": 3}"#]), @r#"a node cannot be replaced as a whole and also be changed inside, and the root can only be replaced at `["a"]`"#);
    insta::assert_snapshot!(said([r#"{"a": 0, "b": 3}"#, r#"{"a": [1, 5], "b": 3}"#]), @r#"a node cannot be replaced as a whole and also be changed inside, and the root can only be replaced at `["a"]`"#);
    insta::assert_snapshot!(said([r#"{"b": 3}"#, r#"{"b": 3}"#]), @r#"a node cannot be replaced as a whole and also be changed inside, and the root can only be replaced at `["a"]`"#);
    insta::assert_snapshot!(said(["0", r#"{"a": [1, 2], "b": 4}"#]), @"a node cannot be replaced as a whole and also be changed inside, and the root can only be replaced at the root");
}
