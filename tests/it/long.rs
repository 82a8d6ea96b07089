//! Long sequences whose elements differ: their nodes are made while they are walked.

use std::collections::HashMap;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use treedef::{Flattener, Leaf, TreeDef};
use treedef_testing::cases::cases;

/// The elements flattened alone, and joined.
fn expected<T: Serialize>(elements: &[T]) -> (Vec<Leaf>, TreeDef) {
    let (mut leaves, mut texts) = (Vec::new(), Vec::new());
    let mut known = HashMap::new();
    for element in elements {
        let (own, treedef) = treedef::flatten(element).unwrap();
        let text = known.entry(treedef).or_insert_with_key(ToString::to_string).clone();
        leaves.extend(own);
        texts.push(text);
    }
    (leaves, format!("[{}]", texts.join(", ")).parse().unwrap())
}

fn holds<T: Serialize + for<'de> Deserialize<'de> + PartialEq + std::fmt::Debug>(elements: Vec<T>) {
    let (leaves, treedef) = expected(&elements);
    let walked = treedef::flatten(&elements).unwrap();
    assert!(walked.1 == treedef && walked.0 == leaves);
    // In a struct, after other fields, and once more.
    #[derive(Serialize)]
    struct Around<'a, T> {
        first: f64,
        elements: &'a [T],
        last: &'a [T],
    }
    let around = Around { first: 0.5, elements: &elements, last: &elements };
    for _ in 0..2 {
        let (all, around) = treedef::flatten(&around).unwrap();
        assert_eq!(all.len(), 1 + 2 * leaves.len());
        assert_eq!(around.node(".elements").unwrap().to_treedef(), treedef);
        assert_eq!(around.node(".last").unwrap().to_treedef(), treedef);
        assert!(all[1..].chunks(leaves.len()).all(|half| half == leaves));
    }
    let mut buffer = vec![Leaf::None; leaves.len()];
    for _ in 0..2 {
        treedef.flatten_like(&elements, &mut buffer).unwrap();
        assert!(buffer == leaves);
    }
    assert!(treedef::unflatten::<Vec<T>>(&walked.1, walked.0).unwrap() == elements);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Shape {
    Circle(f64),
    Square { side: f64, name: String },
    Point,
    Group(Vec<Shape>),
}

/// Neither a run nor a period.
fn irregular(at: usize) -> usize {
    at * at / 7 + at / 3
}

#[test]
fn elements_that_differ_are_what_each_is() {
    let shape = |at: usize| match irregular(at) % 5 {
        0 | 1 => Shape::Circle(at as f64),
        2 => Shape::Square { side: 0.5, name: format!("{at}") },
        3 => Shape::Point,
        _ => Shape::Group(vec![Shape::Circle(1.0); at % 4]),
    };
    let count = cases(20_000).max(4_000) as usize;
    holds((0..count).map(shape).collect());
    // Plain data, which is taken in rows, and serialized again where it differs.
    let pair = |at: usize| (at as f64, irregular(at / 9).is_multiple_of(2).then_some(0.5));
    holds((0..2 * count).map(pair).collect());
    let rows = |at: usize| vec![at as f32; irregular(at) % 6];
    holds((0..count).map(rows).collect());
}

/// An element is serialized again, and inside it a sequence that is taken in rows, too.
#[test]
fn elements_that_are_serialized_again_are_compared_with_the_last() {
    #[derive(Serialize)]
    struct Slot<'a> {
        x: f64,
        more: Option<&'a [Option<f32>]>,
    }
    let inner: Vec<Option<f32>> = (0..40).map(|n| (n % 9 != 8).then_some(0.5)).collect();
    let slot = |at: usize| Slot { x: 0.5, more: (at % 12 == 11).then_some(&inner[at % 7..]) };
    let slots: Vec<Slot<'_>> = (0..30_000).map(slot).collect();
    let (leaves, treedef) = expected(&slots);
    let walked = treedef::flatten(&slots).unwrap();
    assert!(walked.1 == treedef && walked.0 == leaves);
}

/// Leaves of maps whose keys were inserted in another order are sorted at the end.
#[test]
fn the_orders_of_maps_in_long_sequences_are_kept() {
    let keys = ["c", "a", "d", "b"];
    let map = |at: usize| -> IndexMap<String, usize> {
        let begin = irregular(at);
        (0..1 + at % 4).map(|n| (keys[(begin + n) % 4].to_owned(), at * 4 + n)).collect()
    };
    let maps: Vec<_> = (0..cases(20_000).max(4_000) as usize).map(map).collect();
    let (leaves, treedef) = treedef::flatten(&maps).unwrap();
    let back: Vec<IndexMap<String, usize>> = treedef::unflatten(&treedef, &leaves).unwrap();
    let in_order = |maps: &[IndexMap<String, usize>]| -> Vec<Vec<(String, usize)>> {
        maps.iter().map(|map| map.clone().into_iter().collect()).collect()
    };
    assert!(in_order(&back) == in_order(&maps));
    let (expected, _) = expected(&maps);
    assert!(leaves == expected);
}

/// The path of an error has the keys of the nodes around the sequence.
/// The keys of a large map are not looked up among the keys of other maps.
#[test]
fn large_maps_with_keys_of_each_other_are_what_each_is() {
    let map = |keys: &mut dyn Iterator<Item = usize>| -> IndexMap<String, f64> {
        keys.map(|key| (format!("key {key}"), key as f64 / 2.0)).collect()
    };
    holds(vec![
        map(&mut (0..200)),
        map(&mut (0..200).rev()),
        map(&mut (100..300)),
        map(&mut (190..195)),
        map(&mut (0..200)),
        map(&mut (190..195).rev()),
    ]);
}

#[test]
fn an_error_in_a_long_sequence_is_at_its_path() {
    struct Fails;
    impl Serialize for Fails {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("fails"))
        }
    }
    #[derive(Serialize)]
    enum Element {
        Number(f64),
        Texts { a: &'static str, b: Option<Fails> },
    }
    let element = |at: usize| match at % 3 {
        0 => Element::Number(0.5),
        _ => Element::Texts { a: "a", b: (at == 19_999).then_some(Fails) },
    };
    let elements: Vec<Element> = (0..20_000).map(element).collect();
    let value = HashMap::from([("all", vec![elements])]);
    let error = Flattener::new().flatten(&value).unwrap_err();
    assert_eq!(error.to_string(), r#"fails at `["all"][0][19999]::Texts.b?`"#);
    let value =
        HashMap::from([("all", value.into_values().flatten().flatten().collect::<Vec<_>>())]);
    let error = Flattener::new().flatten(&value).unwrap_err();
    assert_eq!(error.to_string(), r#"fails at `["all"][19999]::Texts.b?`"#);
}
