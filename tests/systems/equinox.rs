//! Equinox: filtering, `tree_at`, checkpoints of leaves.

use std::cell::RefCell;
use std::rc::Rc;

use insta::assert_snapshot;
use serde::{Deserialize, Serialize};
use treedef::{Flattener, Leaf, LeafKind, Tolerance, Tree};

use crate::common::{def, numbered, of, path, paths, said, tree};

/// An array is one leaf.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Array {
    shape: Vec<usize>,
    data: Vec<f32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct L<B> {
    w: Array,
    b: B,
    #[serde(serialize_with = "treedef::as_static")]
    kind: String,
}

/// `{"enc": L(…), "head": [L(…), "tag"]}`: a list of different types is a tuple.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Model {
    enc: L<f64>,
    head: (L<Option<f64>>, String),
}

fn model() -> Model {
    let array = |shape: &[usize], x: f32| Array {
        shape: shape.to_vec(),
        data: vec![x; shape.iter().product()],
    };
    let enc = L { w: array(&[2, 3], 1.0), b: 0.5, kind: "dense".to_owned() };
    let head = L { w: array(&[2], 0.0), b: None, kind: "bias".to_owned() };
    Model { enc, head: (head, "tag".to_owned()) }
}

fn m() -> Tree<Leaf> {
    let (leaves, treedef) =
        Flattener::new().mark_opaque("Array").unwrap().flatten(&model()).unwrap();
    Tree::new(treedef, leaves).unwrap()
}

fn is_array(leaf: &Leaf) -> bool {
    leaf.kind() == LeafKind::Opaque
}

/// `f32[2,3]` for an array, other leaves as they are.
fn summary(leaf: &Leaf) -> String {
    match leaf.clone().into_typed::<Array>() {
        Ok(array) => format!("f32{:?}", array.shape).replace(' ', ""),
        Err(_) => leaf.to_string(),
    }
}

#[test]
fn a_module_prints_with_its_arrays_in_short() {
    let m = m();
    let short = m.as_ref().map(summary);
    assert_snapshot!(format!("{short:#}"), @r#"
    Model {
      enc: L { w: f32[2,3], b: 0.5, kind: static "dense" },
      head: (L { w: f32[2], b: None, kind: static "bias" }, "tag"),
    }
    "#);
    assert_snapshot!(m.treedef(), @r#"Model { enc: L { w: *, b: *, kind: static "dense" }, head: (L { w: *, b: None, kind: static "bias" }, *) }"#);
    assert_eq!(paths(m.treedef()), [".enc.w", ".enc.b", ".head.0.w", ".head.1"]);
}

#[test]
fn arrays_are_told_from_the_rest_and_joined_again() {
    let (dynamic, rest) = m().partition(|_: &_, leaf: &Leaf| is_array(leaf)).unwrap();
    let holes = |part: &Tree<Option<Leaf>>| part.leaves().iter().map(Option::is_none).collect();
    assert_eq!(
        (holes(&dynamic), holes(&rest)),
        (vec![false, true, false, true], vec![true, false, true, false])
    );
    // Ours: the None of `b` is a node of both, not a hole.
    assert_eq!((dynamic.treedef(), rest.treedef()), (m().treedef(), m().treedef()));
    assert_eq!(Tree::combine([dynamic, rest]).unwrap(), m());
}

#[test]
fn two_places_are_changed_at_once() {
    let mut m2 = m();
    for (place, leaf) in [(".enc.b", Leaf::from(9.0)), (".head.1", "new".into())] {
        *m2.get_mut(path(place)).unwrap() = leaf;
    }
    assert_eq!(m2.get(path(".enc.b")).unwrap(), &Leaf::F64(9.0));
    let typed: Model = m2.clone().into_typed().unwrap();
    assert_eq!((typed.enc.b, typed.head.1.as_str()), (9.0, "new"));
    assert_ne!(m2, m());
    assert_snapshot!(m().as_ref().map(summary).diff(&m2.as_ref().map(summary)), @r#"
    2 changes
    ~ .enc.b: 0.5 → 9.0
    ~ .head.1: "tag" → "new"
    "#);
}

/// `tree_deserialise_leaves(like=…)`: leaves that are neither arrays nor numbers are taken from the skeleton.
#[test]
#[cfg(feature = "persist")]
fn numbers_are_restored_and_the_rest_kept() {
    let flattener =
        || Flattener::new().mark_opaque("Array").unwrap().leaves_where(LeafKind::is_number);
    let (leaves, treedef) = flattener().flatten(&model()).unwrap();
    let saved = Tree::new(treedef, leaves).unwrap().to_bytes().unwrap();

    let mut m2 = model();
    (m2.enc.b, m2.head.1) = (9.0, "new".to_owned());
    let like = flattener().structure(&m2).unwrap();
    let loaded = Tree::from_bytes(&saved).unwrap();
    // "tag" and "new" belong to the structures, which therefore differ.
    assert_snapshot!(said(loaded.treedef().check_equal(&like)), @r#"expected `static "new"`, found `static "tag"` at `.head.1` (statics are part of the structure; to ignore them, see `Flattener::ignore_statics`)"#);
    let restored: Model = treedef::unflatten(&like, loaded.leaves()).unwrap();
    assert_eq!((restored.enc.b, restored.head.1.as_str()), (0.5, "new"));
}

/// `Deserialised leaf … has changed shape from (4,) in `like` to (3,) on disk.`, `… has changed
/// dtype from int64 …`.
#[test]
#[cfg(feature = "persist")]
fn shapes_and_kinds_are_checked_on_the_way_back() {
    let static_shape = || Flattener::new().mark_static("Array.shape").unwrap();
    let array = |n: usize| vec![Array { shape: vec![n], data: vec![0.5; n] }];
    let (leaves, treedef) = static_shape().flatten(&array(3)).unwrap();
    let saved = Tree::new(treedef, leaves).unwrap().to_bytes().unwrap();
    let loaded = Tree::from_bytes(&saved).unwrap();
    let like = static_shape().structure(&array(4)).unwrap();
    assert_snapshot!(said(loaded.treedef().check_equal(&like)), @"expected `static [4u64]`, found `static [3u64]` at `[0].shape`, and 1 more difference");
    assert_snapshot!(said(Tree::from_bytes_as::<i64>(&saved, treedef::Limits::default())), @"expected i64, found f32 at `[0].data[0]`");
    assert_eq!(loaded.into_typed::<Vec<Array>>().unwrap(), array(3));
}

#[test]
fn lists_are_told_apart_by_a_predicate() {
    let leaves: [Leaf; 2] = [1.into(), 2.5.into()];
    let ints = |_: &_, leaf: &Leaf| leaf.kind() == LeafKind::I32;
    let (ints, rest) = tree("[*, None, *]", leaves).partition(ints).unwrap();
    // Ours: None has no leaf, so there are two places, not three.
    assert_eq!(ints.leaves(), [Some(1.into()), None]);
    assert_eq!(rest.leaves(), [None, Some(2.5.into())]);
    let combined = Tree::combine([
        tree("[*, *, *]", [None, Some(1), Some(2)]),
        tree("[*, *, *]", [Some(0), None, None]),
    ]);
    assert_eq!(combined.unwrap().leaves(), [0, 1, 2]);
}

#[test]
fn masks_are_prefixes() {
    let value = tree("{\"a\": [*, *], \"b\": *}", [1, 2, 3]);
    let mask = tree("{\"a\": *, \"b\": *}", [true, false]);
    let (kept, rest) = value.partition(&mask).unwrap();
    assert_eq!(kept.leaves(), [Some(1), Some(2), None]);
    assert_eq!(rest.leaves(), [None, None, Some(3)]);
    // `filter([(arr, 1), 's'], [(False, False), True])`.
    let (kept, _) = tree("[(*, *), *]", ["arr", "1", "s"])
        .partition(&tree("[(*, *), *]", [false, false, true]))
        .unwrap();
    assert_eq!(kept.leaves(), [None, None, Some("s")]);
    let refused = numbered("[*, *]").partition(&tree("[*]", [true]));
    assert_snapshot!(said(refused), @"the prefix has 1 child, the tree 2 children at the root");
}

#[test]
fn a_subtree_is_replaced_by_its_path() {
    let value = tree("[*, [*, {\"a\": *, \"b\": *}]]", [1, 2, 3, 4]);
    let mut replaced = value;
    let old = replaced.replace(path("[1][1][\"a\"]"), Tree::leaf(5)).unwrap();
    assert_eq!(replaced.to_string(), "[1, [2, {\"a\": 5, \"b\": 4}]]");
    assert_eq!(old, Tree::leaf(3));
    // A path names one place, so the four errors of `tree_at` about `where` cannot happen.
    assert_snapshot!(said(replaced.replace(path("[2]"), Tree::leaf(5))), @r#"no child `[2]` in `[*, [*, {"a": *, "b": *}]]` at the root"#);
    // There, two Nones cannot be distinguished.
    let mut some = tree("[None, None]", []);
    let none = some.replace(path("[1]"), Tree::leaf("new")).unwrap();
    assert_eq!((some.to_string(), none.treedef()), ("[None, new]".to_owned(), &def("None")));
}

/// `tree_check` refuses a node that stands in two places. Ours: it is two equal nodes, as serde
/// sees no addresses.
#[test]
fn what_is_shared_becomes_two() {
    let shared = Rc::new(vec![1, 2]);
    let value = (shared.clone(), shared);
    let (leaves, treedef) = treedef::flatten_as::<i32>(&value).unwrap();
    assert_eq!(
        (leaves.as_slice(), treedef.to_string().as_str()),
        (&[1, 2, 1, 2][..], "([*, *]; 2)")
    );
    let back: (Rc<Vec<i32>>, Rc<Vec<i32>>) = treedef::unflatten(&treedef, [1, 2, 3, 4]).unwrap();
    assert_eq!(back, (Rc::new(vec![1, 2]), Rc::new(vec![3, 4])));
    // `Rc`s that hold themselves.
    #[derive(Serialize)]
    struct Node(RefCell<Option<Rc<Node>>>);
    let node = Rc::new(Node(RefCell::new(None)));
    *node.0.borrow_mut() = Some(node.clone());
    let refused = said(treedef::structure(&node));
    node.0.borrow_mut().take();
    assert!(refused.starts_with("nested deeper than 128 levels at `.0?.0?"), "{refused}");
}

/// `apply_updates`: None means no change.
#[test]
fn updates_are_applied_where_there_are_some() {
    let value = tree("[*, {\"a\": *}]", [1, 2]);
    let updates = tree("[*, {\"a\": *}]", [Some(10), None]);
    let updated = value.zip_with(updates, |x, update| x + update.unwrap_or(0)).unwrap();
    assert_eq!(updated.to_string(), "[11, {\"a\": 2}]");
}

#[test]
fn lines_break_where_they_get_long() {
    let value = tree(
        "{\"a\": [*, *, *], \"b\": {\"c\": (*, *), \"d\": *}}",
        ["1", "2", "3", "4", "5", "'xyz'"],
    );
    // Ours: an opener stays on its key's line, and there is a comma after the last; the widths are
    // theirs.
    assert_snapshot!(format!("{value:#20}"), @r#"
    {
      "a": [1, 2, 3],
      "b": {
        "c": (4, 5),
        "d": 'xyz',
      },
    }
    "#);
    assert_snapshot!(format!("{value:#30}"), @r#"
    {
      "a": [1, 2, 3],
      "b": {
        "c": (4, 5),
        "d": 'xyz',
      },
    }
    "#);
    assert_snapshot!(format!("{value:#80}"), @r#"{"a": [1, 2, 3], "b": {"c": (4, 5), "d": 'xyz'}}"#);
}

/// `tree_equal`: NaN is not equal to NaN there, and 1 is to 1.0.
#[test]
fn trees_are_equal_by_kind_and_bits_or_close() {
    assert_eq!(of(&[f64::NAN, 1.0]), of(&[f64::NAN, 1.0]));
    let (ints, floats) = (of(&[1, 2]), of(&[1.0, 2.0]));
    assert_ne!(ints, floats);
    let near = of(&[1.0, 2.001]);
    assert!(floats.check_close(&near, Tolerance { atol: 0.01, ..Tolerance::default() }).is_ok());
    assert_snapshot!(said(floats.check_close(&near, Tolerance::default())), @"expected 2.001, found 2.0 at `.1`");
    let (dense, bias) =
        (def("L { w: *, kind: static \"dense\" }"), def("L { w: *, kind: static \"bias\" }"));
    assert_snapshot!(said(bias.check_equal(&dense)), @r#"expected `static "dense"`, found `static "bias"` at `.kind` (statics are part of the structure; to ignore them, see `Flattener::ignore_statics`)"#);
}

/// `typematch=False`: numbers may be of different kinds.
#[test]
fn numbers_of_other_kinds_are_close_when_they_are_equal() {
    let exactly = Tolerance::default();
    assert!(of(&[1, 2]).check_close(&of(&[1.0, 2.0]), exactly).is_ok());
    assert!(of(&5i32).check_close(&of(&5i64), exactly).is_ok());
    // One apart, which an f64 does not see.
    let (a, b) = (of(&9_007_199_254_740_992i64), of(&9_007_199_254_740_993i64));
    assert!(a.check_close(&b, exactly).is_err());
    assert!(a.check_close(&b, Tolerance { atol: 1.0, ..exactly }).is_ok());
}
