//! TensorFlow 1: `_FetchMapper`, which requests every fetch once.

use indexmap::IndexMap;
use insta::assert_snapshot;
use serde::{Deserialize, Serialize};
use treedef::{Leaf, Tree, Unique};

use crate::common::{of, said, tree};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct MyData<T> {
    a: T,
    b: T,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Fetch<T> {
    Data(MyData<T>),
    List(Vec<T>),
}

/// `{'k1': MyData(a, b), 'k2': [b, a, a, op]}`, by the names of the fetches: ours compares leaves by
/// equality, not by address.
fn fetches() -> Tree<String> {
    let value = IndexMap::from([
        ("k1", Fetch::Data(MyData { a: "a", b: "b" })),
        ("k2", Fetch::List(vec!["b", "a", "a", "op"])),
    ]);
    of(&value).try_map(String::try_from).unwrap()
}

#[test]
fn equal_fetches_are_made_once() {
    let Unique { leaves, inverse } = fetches().unique_by(Clone::clone);
    assert_eq!(leaves, ["a", "b", "op"]);
    // Ours: one table of all leaves, where `_value_indices` has one for each container: [[0, 1],
    // [1, 0, 2]].
    assert_eq!(inverse.to_string(), "{\"k1\": MyData { a: 0, b: 1 }, \"k2\": [1, 0, 0, 2]}");
}

#[test]
fn results_are_put_where_the_fetches_stood() {
    let unique = fetches().unique_by(Clone::clone);
    let results = unique.rebuild(&[Some("VA"), Some("VB"), None]).unwrap();
    assert_eq!(
        serde_json::to_string(&results).unwrap(),
        r#"{"k1":{"a":"VA","b":"VB"},"k2":["VB","VA","VA",null]}"#
    );
    // Into a type of one's own.
    let lengths = unique.rebuild(&[Leaf::from(7), Leaf::from(8), Leaf::from(9)]).unwrap();
    let lengths: IndexMap<String, Fetch<i32>> = lengths.into_typed().unwrap();
    assert_eq!(lengths["k1"], Fetch::Data(MyData { a: 7, b: 8 }));
    assert_eq!(lengths["k2"], Fetch::List(vec![8, 7, 7, 9]));
}

/// There an IndexError for too few, and nothing for too many.
#[test]
fn as_many_results_as_fetches_are_wanted() {
    let unique = fetches().unique_by(Clone::clone);
    assert_snapshot!(said(unique.rebuild(&["VA", "VB"])), @"expected 3 leaves, found 2");
    assert_snapshot!(said(unique.rebuild(&["VA", "VB", "VOP", "VMORE"])), @"expected 3 leaves, found 4");
}

/// A sparse tensor stands for three.
#[test]
fn one_leaf_fans_out_to_several() {
    let fetches = tree("[*, *, *]", ["st", "st", "a"]);
    let outer = fetches.treedef().clone();
    let parts = |name: &str| match name {
        "st" => Tree::new(
            "(*, *, *)".parse()?,
            ["indices", "values", "shape"].map(|part| format!("st.{part}")).to_vec(),
        ),
        _ => Ok(Tree::leaf(name.to_owned())),
    };
    let Unique { leaves, inverse } =
        fetches.try_map(parts).unwrap().compose().unwrap().unique_by(Clone::clone);
    assert_eq!(leaves, ["st.indices", "st.values", "st.shape", "a"]);
    let table: Vec<Vec<usize>> = inverse
        .flatten_up_to(&outer)
        .unwrap()
        .leaves()
        .iter()
        .map(|part| part.leaves().to_vec())
        .collect();
    assert_eq!(table, [vec![0, 1, 2], vec![0, 1, 2], vec![3]]);
    // `contraction_fn`: the three results of a leaf become one.
    let unique = Unique { leaves, inverse };
    let results = unique.rebuild(&["I", "V", "S", "A"]).unwrap().flatten_up_to(&outer).unwrap();
    let contracted = results.map(|parts| parts.leaves().concat());
    assert_eq!(contracted.to_string(), "[IVS, IVS, A]");
}

#[test]
fn aliases_are_one_fetch() {
    let fetches = tree("[*, *]", ["a:0", "a"]);
    let unique = fetches.unique_by(|name| name.trim_end_matches(":0").to_owned());
    assert_eq!(unique.leaves, ["a:0"]);
    assert_eq!(unique.inverse.leaves(), [0, 0]);
}

/// `_FetchHandler`: fetches that are fed or have no result are not requested.
#[test]
fn fed_and_void_fetches_are_filled_in() {
    let unique = tree("[*, *, *]", ["ph", "a", "op"]).unique_by(Clone::clone);
    let asked: Vec<&str> =
        unique.leaves.iter().copied().filter(|name| !["ph", "op"].contains(name)).collect();
    assert_eq!(asked, ["a"]);
    let mut answers = asked.iter().map(|name| format!("V{}", name.to_uppercase()));
    let results: Vec<Option<String>> = unique
        .leaves
        .iter()
        .map(|name| match *name {
            "ph" => Some("99".to_owned()),
            "op" => None,
            _ => answers.next(),
        })
        .collect();
    let results = unique.rebuild(&results).unwrap();
    assert_eq!(serde_json::to_string(&results).unwrap(), r#"["99","VA",null]"#);
}

/// There: a TypeError without a path, `Argument fetch = None has invalid type "NoneType"`.
#[test]
fn none_is_no_fetch_and_refused_with_its_place() {
    let wanted = IndexMap::from([("k1", vec![Some("a"), None]), ("k2", vec![Some("b")])]);
    let (leaves, treedef) = treedef::Flattener::new().none_is_leaf(true).flatten(&wanted).unwrap();
    let fetches = Tree::new(treedef, leaves).unwrap().try_map(String::try_from);
    assert_snapshot!(said(fetches), @r#"expected str, found none at `["k1"][1]`"#);
    // Ours: without the option None is a node without leaves, so there is nothing to fetch.
    assert_eq!(of(&wanted).unique_by(Clone::clone).leaves, [Leaf::from("a"), Leaf::from("b")]);
}

#[test]
fn empty_containers_stay() {
    let empty = of(&IndexMap::<String, u8>::new()).unique_by(Clone::clone);
    assert!(empty.leaves.is_empty());
    assert_eq!(empty.rebuild::<u8>(&[]).unwrap().to_string(), "{}");
}
