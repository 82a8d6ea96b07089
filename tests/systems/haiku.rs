//! haiku: `data_structures`, for dicts of dicts. Ours: to any depth.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use treedef::{ChangeKind, Leaf, Path, Tree};

use crate::common::{def, numbered, of, pattern, said};

type Params = BTreeMap<String, BTreeMap<String, f64>>;

fn params(modules: &[(&str, &[(&str, f64)])]) -> Params {
    let module =
        |values: &[(&str, f64)]| values.iter().map(|(name, x)| ((*name).to_owned(), *x)).collect();
    modules.iter().map(|(name, values)| ((*name).to_owned(), module(values))).collect()
}

fn p() -> Params {
    params(&[("linear", &[("w", 1.0), ("b", 2.0)]), ("mlp/~/out", &[("w", 3.0)])])
}

fn back(tree: Tree<Leaf>) -> Params {
    tree.into_typed().unwrap()
}

#[test]
fn what_is_told_apart_is_dropped_and_merged_again() {
    let (weights, others) = of(&p()).split("**.w").unwrap();
    let expected = params(&[("linear", &[("w", 1.0)]), ("mlp/~/out", &[("w", 3.0)])]);
    assert_eq!(back(weights.clone()), expected);
    assert_eq!(back(others.clone()), params(&[("linear", &[("b", 2.0)])]));
    assert_eq!(back(Tree::merge([weights, others]).unwrap()), p());
}

/// `partition_n`: a filter for each part.
#[test]
fn three_parts_are_told_apart() {
    let part = |number: usize| {
        let parts = of(&p()).filter(|path: &Path, _: &_| {
            let name = path.keys().last().map(ToString::to_string);
            number
                == ["[\"w\"]", "[\"b\"]"]
                    .iter()
                    .position(|it| name.as_deref() == Some(*it))
                    .unwrap()
        });
        back(parts.unwrap())
    };
    assert_eq!(part(0), params(&[("linear", &[("w", 1.0)]), ("mlp/~/out", &[("w", 3.0)])]));
    assert_eq!(part(1), params(&[("linear", &[("b", 2.0)])]));
    assert_eq!(part(2), params(&[]));
    // `5 must be in range [0, 2)`.
    assert_snapshot!(said(numbered("[*]").split_into(2, |_, _| 5)), @"there is no part 5 among 2 at `[0]`");
}

#[test]
fn values_are_mapped_by_their_names() {
    let w = pattern("**.w");
    let doubled = of(&p()).map_with_path(|path, leaf| match leaf {
        Leaf::F64(x) if w.matches(path) => Leaf::F64(2.0 * x),
        other => other,
    });
    let expected = params(&[("linear", &[("b", 2.0), ("w", 2.0)]), ("mlp/~/out", &[("w", 6.0)])]);
    assert_eq!(doubled.into_typed::<Params>().unwrap(), expected);
}

/// Ours: a parameter in two of them is refused with its path; there, the last one wins.
#[test]
fn what_stands_in_two_is_refused() {
    let first = of(&params(&[("linear", &[("w", 1.0)])]));
    let second = of(&params(&[("linear", &[("w", 2.0), ("b", 3.0)])]));
    assert_snapshot!(said(Tree::merge([first.clone(), second.clone()])), @r#"two parts have this leaf at `["linear"]["w"]`"#);
    // The last one wins if it is removed from the first.
    let rest = first.filter(|path: &Path, _: &_| second.get(path).is_err()).unwrap();
    let merged = back(Tree::merge([rest, second]).unwrap());
    assert_eq!(merged, params(&[("linear", &[("w", 2.0), ("b", 3.0)])]));
}

#[test]
fn values_come_in_the_order_of_their_names() {
    let value = of(&p());
    let names: Vec<(String, Leaf)> =
        value.iter().map(|(path, leaf)| (path.to_joined_string(" "), leaf.clone())).collect();
    let expected = [("linear b", 2.0), ("linear w", 1.0), ("mlp/~/out w", 3.0)];
    assert_eq!(names, expected.map(|(name, x)| (name.to_owned(), Leaf::F64(x))));
}

/// `is_subset`. Ours: the diff from the one to the other removes nothing.
#[test]
fn a_part_is_known_as_one() {
    let is_subset = |subset: &str, superset: &str| {
        let diff = def(subset).diff(&def(superset));
        diff.changes.iter().all(|change| matches!(change.kind, ChangeKind::Added { .. }))
    };
    assert!(is_subset("{\"l\": {\"w\": *}}", "{\"l\": {\"b\": [*], \"w\": *}, \"m\": {}}"));
    assert!(!is_subset("{\"l\": {\"w\": *, \"b\": [*]}}", "{\"l\": {\"w\": *}}"));
    // There it is one, as only values count. Ours: an empty module is a node too.
    assert!(!is_subset("{\"a\": {}}", "{}"));
}

#[test]
fn numbers_and_bytes_are_counted() {
    let array = [[0.5f32; 3]; 2];
    assert_eq!(treedef::structure(&array).unwrap().num_leaves(), 6);
    let (leaves, _) = treedef::flatten_as::<f32>(&array).unwrap();
    assert_eq!(std::mem::size_of_val(&*leaves), 24);
}
