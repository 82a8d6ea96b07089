//! Defects of other systems, and our behaviour in the same cases.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashSet};
use std::hash::{Hash, Hasher};

use indexmap::IndexMap;
use insta::assert_snapshot;
use serde::{Deserialize, Serialize};
use treedef::{Edit, Flattener, Leaf, LeafKind, Limits, NodeKind, Static, Tree, TreeDef, Value};

use crate::common::{def, numbered, of, path, paths, said, tree};

fn hash(treedef: &TreeDef) -> u64 {
    let mut hasher = DefaultHasher::new();
    treedef.hash(&mut hasher);
    hasher.finish()
}

/// JAX: 4,000 dicts with different keys have one hash. optree leaves the metadata out.
#[test]
fn a_hash_is_of_keys_names_and_statics_too() {
    let dict = |number: usize| def(&format!("{{\"k{number}\": *}}"));
    let hashes: HashSet<u64> = (0..4_000).map(|number| hash(&dict(number))).collect();
    assert_eq!(hashes.len(), 4_000);
    let pairs = [
        ("A { x: * }", "B { x: * }"),
        ("A { x: * }", "A { y: * }"),
        ("static \"m\"", "static \"n\""),
        ("{1: *}", "{1u8: *}"),
        ("E::A(*)", "E::B(*)"),
    ];
    for (one, other) in pairs.map(|(one, other)| (def(one), def(other))) {
        assert_ne!(one, other);
        assert_ne!(hash(&one), hash(&other), "{one} and {other}");
    }
}

/// JAX: `{1: …}`, `{True: …}` and `{1.0: …}` are equal and print differently.
#[test]
fn keys_of_different_kinds_are_different() {
    let keys: HashSet<TreeDef> = ["{1: *}", "{true: *}", "{1.0: *}"].map(def).into();
    assert_eq!(keys.len(), 3);
}

/// JAX: 12 bytes, a dict without keys, are accepted and crash the process later. Arity 5 without
/// children, empty bytes likewise.
#[test]
#[cfg(feature = "persist")]
fn malformed_bytes_are_refused() {
    let read = |bytes: &[u8]| said(TreeDef::from_bytes(bytes));
    assert_snapshot!(read(&[]), @"expected a file with a treedef, found nothing");
    assert_snapshot!(read(&[0x0a, 0x02, 0x10, 0x01, 0x0a, 0x04, 0x08, 0x01, 0x10, 0x05, 0x00, 0x00]), @r"expected a file with a treedef, found bytes that begin with `\n\x02\x10\x01\n\x04\x08\x01`");
    let file = def("{\"a\": [*, (*, *)]}").to_bytes().unwrap();
    for end in 0..file.len() {
        assert!(TreeDef::from_bytes(&file[..end]).is_err(), "the first {end} bytes");
    }
    for at in 0..file.len() {
        let mut damaged = file.clone();
        damaged[at] ^= 1;
        assert!(TreeDef::from_bytes(&damaged).is_err(), "byte {at}");
    }
    assert_snapshot!(read(&file[..file.len() - 1]), @"cut off: expected at least 292 bytes, found 291");
}

#[derive(Serialize, Deserialize)]
struct Nest(Option<Box<Nest>>);

fn nest(levels: usize) -> Nest {
    (0..levels).fold(Nest(None), |nest, _| Nest(Some(Box::new(nest))))
}

/// JAX: the wrong error at Python's limit, a crash beyond it. torch, dm-tree: RecursionError.
/// optree: 1,000, fixed.
#[test]
fn what_is_too_deep_is_an_error() {
    let error = treedef::flatten(&nest(3_000)).unwrap_err();
    assert!(error.to_string().contains("nested deeper than 128 levels"), "{error}");
    assert!(error.path().to_string().starts_with(".0?.0?.0?"));
    let text = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    assert_snapshot!(said(text.parse::<TreeDef>()), @"nested deeper than 128 levels at byte 129 (see `Limits::max_depth`)");
    let deep =
        TreeDef::parse_with(&text, Limits { max_depth: 50_000, ..Limits::default() }).unwrap();
    assert_eq!((deep.to_string(), deep.num_nodes()), (text.clone(), 50_000));
    assert_eq!(
        deep,
        TreeDef::parse_with(&text, Limits { max_depth: 50_000, ..Limits::default() }).unwrap()
    );
    let shallow = deep.with_limits(Limits::default());
    let error = treedef::unflatten::<serde_json::Value>(&shallow, Vec::<f64>::new()).unwrap_err();
    assert!(error.to_string().contains("nested deeper than 128 levels"), "{error}");
}

/// Neither JAX nor optree reads its own text; `C[m]` may be the metadata 'm' or a type that prints
/// so.
#[test]
fn texts_are_read_back_and_tell_kinds_apart() {
    let texts = [
        "NT { x: *, y: None }",
        "C { x: *, op: static \"m\" }",
        "C { x: *, op: static 1 }",
        "C { x: *, op: static \"1\" }",
        "{\"it's\": *, (1, 2): *, 1.5: *, b\"k\": *, true: *}",
        "#[insertion, none_is_leaf] {\"b\": *, \"a\": [*, *]}",
        "(E::Unit, E::One(*), E::Two(*, *), E::Named { x: * })",
    ];
    let read: HashSet<TreeDef> = texts.iter().map(|text| def(text)).collect();
    assert_eq!(read.len(), texts.len());
    for treedef in read {
        assert_eq!(def(&treedef.to_string()), treedef);
        #[cfg(feature = "persist")]
        assert_eq!(TreeDef::from_bytes(&treedef.to_bytes().unwrap()).unwrap(), treedef);
    }
}

/// JAX: `[(1, 3, 5), (2, 4, 6)]`, as only 6 leaves are counted. optree likewise.
#[test]
fn both_sides_of_a_transposition_are_checked() {
    let value = || of(&vec![(1, 2, 3), (4, 5, 6)]);
    let (outer, inner) = (def("[*, *]"), def("(*, *, *)"));
    assert_eq!(value().transpose(&outer, &inner).unwrap().to_string(), "([1, 4], [2, 5], [3, 6])");
    assert_snapshot!(said(value().transpose(&inner, &outer)), @"expected `([*, *]; 3)`, found `[(*, *, *); 2]` at the root");
    assert_snapshot!(said(value().transpose(&outer, &def("(*, *, [*])"))), @"expected `[*]`, found `*` at `[0].2`");
    assert_snapshot!(said(value().transpose(&outer, &def("(*, *, *, None)"))), @"expected 4 children, found 3 children at `[0]`");
}

/// JAX: `IndexError: list index out of range`. optree: `Tree structures must have at least one
/// leaf.`
#[test]
fn what_is_empty_is_transposed_too() {
    let empty = || of(&Vec::<u8>::new());
    let turned = empty().transpose(&def("[]"), &def("(*, *)")).unwrap();
    assert_eq!(turned.to_string(), "([], [])");
    assert_snapshot!(said(empty().treedef().inner_of(&def("[]"))), @"a structure without leaves has no inner structure");
}

/// JAX blames `[0]['a']`, where None is a leaf on both sides; the difference is at `[1]`.
#[test]
fn the_right_node_is_blamed_when_none_is_a_leaf() {
    let none_is_leaf = Flattener::new().none_is_leaf(true);
    let first = (BTreeMap::from([("a", None::<i32>)]), vec![1, 2]);
    let second = (BTreeMap::from([("a", Some(5))]), vec![1]);
    let (expected, found) =
        (none_is_leaf.structure(&first).unwrap(), none_is_leaf.structure(&second).unwrap());
    assert_snapshot!(said(found.check_equal(&expected)), @"expected 2 children, found 1 child at `.1`");
    let mut leaves = vec![Leaf::None];
    assert_snapshot!(said(none_is_leaf.flatten_like(&expected, &second, &mut leaves)), @"expected 2 children, found 1 child at `.1`");
    let prefix = tree("#[none_is_leaf] ({\"a\": *}, [*, *])", [0, 1, 2]);
    assert_snapshot!(said(prefix.broadcast_to(&found)), @"the prefix has 2 children, the tree 1 child at `.1`");
}

/// JAX: `TypeError: <lambda>() missing 1 required positional argument` when `is_leaf` gets the path
/// and two trees differ.
#[test]
fn the_difference_is_told_when_a_rule_sees_paths() {
    let rule = Flattener::new()
        .opaque_where(|path, node| path.to_string() == ".0" && node.kind == NodeKind::Seq);
    let treedef = rule.structure(&(vec![1, 2], vec![3, 4])).unwrap();
    assert_eq!(treedef, def("(*, [*, *])"));
    let mut leaves = Vec::<Leaf>::new();
    rule.flatten_like(&treedef, &(vec![9], vec![3, 4]), &mut leaves).unwrap();
    assert_eq!(leaves.len(), 3);
    assert_snapshot!(said(rule.flatten_like(&treedef, &(vec![1, 2], vec![3]), &mut leaves)), @"expected 2 children, found 1 child at `.1`");
}

/// JAX: `{'a': 2, 'z': 1}`.
#[test]
fn a_map_comes_back_in_its_own_order() {
    let map = IndexMap::from([("z".to_owned(), 1), ("a".to_owned(), 2)]);
    let same = treedef::map(&map, |leaf: Leaf| leaf).unwrap();
    assert_eq!(same.into_iter().collect::<Vec<_>>(), [("z".to_owned(), 1), ("a".to_owned(), 2)]);
}

/// Ours: a map keeps its order, whether an operation works leaf by leaf or makes a new structure.
#[test]
fn a_map_keeps_its_order() {
    type Dict = IndexMap<String, i32>;
    let value = || of(&Dict::from([("z".to_owned(), 1), ("a".to_owned(), 2)]));
    let order =
        |tree: Tree<Leaf>| -> String { tree.into_typed::<Dict>().unwrap().into_keys().collect() };
    let (yes, no) = value().partition(|_: &_, leaf: &Leaf| *leaf == Leaf::I32(1)).unwrap();
    let kept = [
        value().map(|leaf| leaf),
        value().zip_with(value(), |leaf, _| leaf).unwrap(),
        Tree::combine([yes, no]).unwrap(),
        Tree::stack([value()]).unwrap().unstack().unwrap().remove(0),
        value().unique_by(Clone::clone).rebuild(&[Leaf::I32(2), Leaf::I32(1)]).unwrap(),
        Tree::leaf(Leaf::I32(0)).broadcast_to(value().treedef()).unwrap(),
        value().ravel().unwrap().1.unravel(&[2.0, 1.0]).unwrap(),
    ];
    assert_eq!(kept.map(order), ["za"; 7]);
    let one = || Tree::leaf(Leaf::I32(1));
    let mut replaced = value();
    replaced.replace("[\"z\"]", one()).unwrap();
    let made = [
        replaced,
        value().edit(|_, _, _| Ok(Edit::Keep)).unwrap(),
        value().edit_up(|_, _| Ok(Edit::Keep)).unwrap(),
        value().filter(|_: &_, _: &_| true).unwrap(),
    ];
    assert_eq!(made.map(order), ["za"; 4]);
}

/// JAX, tf.nest, dm-tree: keys have to be sortable, so `{1: 0, 'a': 1}` fails.
#[test]
fn keys_of_different_kinds_have_an_order() {
    #[derive(Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(untagged)]
    enum Key {
        Number(i64),
        Text(String),
        Pair((u8, bool)),
    }
    let map = IndexMap::from([
        (Key::Pair((1, true)), 1),
        (Key::Text("a".to_owned()), 2),
        (Key::Number(1), 3),
    ]);
    let tree = of(&map);
    assert_eq!(tree.to_string(), "{1i64: 3, \"a\": 2, (1u8, true): 1}");
    assert_eq!(tree.into_typed::<IndexMap<Key, i32>>().unwrap(), map);
}

/// optree: 9007199254740992. JAX: 16777216 of 2²⁴ + 1.
#[test]
fn integers_are_not_rounded() {
    let beside_a_float = |integer: i64| of(&(integer, 0.5));
    assert_snapshot!(said(beside_a_float((1 << 53) + 1).ravel()), @"9007199254740993i64 does not fit into f64 at `.0`");
    let (vector, ravel) = beside_a_float((1 << 24) + 1).ravel().unwrap();
    assert_eq!(vector, [16_777_217.0, 0.5]);
    assert_eq!(ravel.unravel(&vector).unwrap(), beside_a_float((1 << 24) + 1));
    // One vector of each kind: leaves of other kinds are static.
    let of_i64 = Flattener::new().leaves_where(|kind| kind == LeafKind::I64);
    let (integers, rest) = of_i64.flatten_as::<i64>(&((1i64 << 53) + 1, 0.5)).unwrap();
    assert_eq!(
        (&*integers, rest.to_string().as_str()),
        (&[9_007_199_254_740_993][..], "(*, static 0.5)")
    );
    assert_eq!(treedef::unflatten::<(i64, f64)>(&rest, integers).unwrap(), ((1 << 53) + 1, 0.5));
}

/// JAX: a dict of one key with two children is built, and fails later with `Number of keys and
/// entries does not match.`
#[test]
fn a_node_has_as_many_children_as_it_says() {
    let entries = [(Value::of("a").unwrap(), def("*")), (Value::of("b").unwrap(), def("[*]"))];
    let map = TreeDef::map(entries).unwrap();
    assert_eq!((map.root().entry_keys().len(), map.root().num_children()), (2, 2));
    assert_snapshot!(said("{\"a\": *, \"b\"}".parse::<TreeDef>()), @"expected `:`, found `}` at byte 12");
    // torch: a dict of one key without children is loaded; `zip() argument 2 is shorter than
    // argument 1` later.
    assert_snapshot!(said("{\"a\"}".parse::<TreeDef>()), @"expected `:`, found `}` at byte 4");
}

/// torch: keys that are tuples are restored as lists, so the spec is not equal and `unhashable type:
/// 'list'`. Constants and enums are not restored.
#[test]
fn keys_and_constants_go_through_files_and_text() {
    #[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    enum Act {
        Relu,
    }
    type Keyed = BTreeMap<(i32, String), (BTreeMap<Act, f64>, Static<Option<String>>)>;
    let value: Keyed = BTreeMap::from([(
        (1, "a".to_owned()),
        (BTreeMap::from([(Act::Relu, 0.5)]), Static(Some("mean".to_owned()))),
    )]);
    let (leaves, treedef) = treedef::flatten(&value).unwrap();
    let read = def(&treedef.to_string());
    assert_eq!(read, treedef);
    assert_eq!(treedef::unflatten::<Keyed>(&read, &leaves).unwrap(), value);
    #[cfg(feature = "persist")]
    for loaded in [
        TreeDef::from_bytes(&treedef.to_bytes().unwrap()).unwrap(),
        serde_json::from_str(&serde_json::to_string(&treedef).unwrap()).unwrap(),
    ] {
        assert_eq!(treedef::unflatten::<Keyed>(&loaded, &leaves).unwrap(), value);
    }
}

/// torch#109679: elements that the spec does not have are silently dropped. dm-tree:
/// `map_structure_up_to` skips extra keys.
#[test]
fn what_is_extra_is_refused() {
    let mut leaves = Vec::<i32>::new();
    let list = treedef::structure(&vec![1, 2]).unwrap();
    assert_snapshot!(said(list.flatten_like(&vec![1, 2, 3], &mut leaves)), @"expected 2 children, found 3 children at the root");
    let dict = treedef::structure(&BTreeMap::from([("a", 1)])).unwrap();
    let extra = BTreeMap::from([("a", 1), ("m", 2)]);
    assert_snapshot!(said(dict.flatten_like(&extra, &mut leaves)), @r#"expected nothing, found `*` at `["m"]`"#);
    assert!(leaves.is_empty());
}

/// dm-tree: `Structure is a scalar but len(flat_sequence) == 2 > 1`, also for an empty one.
#[test]
fn the_number_of_leaves_is_told_right() {
    assert_snapshot!(said(Tree::<u8>::new(TreeDef::leaf(), vec![])), @"expected 1 leaf, found 0");
    assert_snapshot!(said(treedef::unflatten::<u8>(&TreeDef::leaf(), [1u8, 2])), @"expected 1 leaf, found 2");
}

/// dm-tree: a range is flattened and cannot be rebuilt. torch, Detectron2: namedtuples, `Size` and
/// the like are rebuilt as other types.
#[test]
fn what_is_flattened_comes_back_as_what_it_was() {
    let range = treedef::flatten(&(3..7)).unwrap();
    assert_eq!(treedef::unflatten::<std::ops::Range<i32>>(&range.1, range.0).unwrap(), 3..7);
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Pair(u8, u8);
    let (leaves, treedef) = treedef::flatten(&Pair(1, 2)).unwrap();
    assert_eq!(treedef.to_string(), "Pair(*, *)");
    assert_eq!(treedef::unflatten::<Pair>(&treedef, leaves).unwrap(), Pair(1, 2));
}

/// Detectron2: `flatten_to_tuple([])[1]((1, 2))` is `[]`, and the schema of one leaf accepts three
/// values.
#[test]
fn a_structure_takes_only_its_own_leaves() {
    let (_, empty) = treedef::flatten(&Vec::<i32>::new()).unwrap();
    assert_snapshot!(said(treedef::unflatten::<Vec<i32>>(&empty, [1, 2])), @"expected 0 leaves, found 2");
    assert_snapshot!(said(treedef::unflatten::<i32>(&TreeDef::leaf(), [1, 2, 3])), @"expected 1 leaf, found 3");
}

/// Detectron2: the wrapper does not look at its inputs; an output is only looked at when it is
/// traced again.
#[test]
fn inputs_and_outputs_keep_their_structures() {
    #[derive(Serialize, Deserialize)]
    struct Input {
        a: f64,
        b: Vec<f64>,
    }
    let first_negative = |input: Input| input.b.iter().copied().find(|x| *x < input.a);
    let (_, inputs) = treedef::flatten_as::<f64>(&Input { a: 0.0, b: vec![1.0, -1.0] }).unwrap();
    let mut leaves = Vec::<f64>::new();
    let shorter = Input { a: 0.0, b: vec![1.0] };
    assert_snapshot!(said(inputs.flatten_like(&shorter, &mut leaves)), @"expected 2 children, found 1 child at `.b`");
    assert_snapshot!(said(treedef::unflatten::<Input>(&inputs, [0.0, 1.0])), @"expected 3 leaves, found 2");
    let output = |leaves: [f64; 3]| first_negative(treedef::unflatten(&inputs, leaves).unwrap());
    let (found, outputs) = treedef::flatten_as::<f64>(&output([0.0, 1.0, -1.0])).unwrap();
    assert_eq!(found, [-1.0]);
    assert_snapshot!(said(outputs.flatten_like(&output([0.0, 1.0, 1.0]), &mut leaves)), @"expected `Some(*)`, found `None` at the root");
}

/// Equinox: `[1, None, 2.5]` has a None that is a hole after a partition, and `combine` does not
/// know a sentinel of one's own.
#[test]
fn none_is_not_a_hole() {
    let none_is_leaf = Flattener::new().none_is_leaf(true);
    let (leaves, treedef) = none_is_leaf.flatten(&(1, None::<i32>, 2.5)).unwrap();
    let value = Tree::new(treedef, leaves).unwrap();
    let (nones, rest) = value.clone().partition(|_: &_, leaf: &Leaf| *leaf == Leaf::None).unwrap();
    assert_eq!(nones.leaves(), [None, Some(Leaf::None), None]);
    assert_eq!(rest.leaves(), [Some(1.into()), None, Some(2.5.into())]);
    assert_eq!(Tree::combine([nones.clone(), rest]).unwrap(), value);
    assert_snapshot!(said(Tree::combine([nones])), @"no part has this leaf at `.0`");
}

/// Equinox: a node that is passed to `tree_at` twice silently gets the last replacement.
#[test]
fn what_was_replaced_is_given_back() {
    let value = numbered("[*, *]");
    let mut once = value;
    let old = once.replace(path("[0]"), Tree::leaf(10)).unwrap();
    let mut twice = once;
    let replaced = twice.replace(path("[0]"), Tree::leaf(20)).unwrap();
    assert_eq!(
        (old.leaves(), replaced.leaves(), twice.leaves()),
        (&[0][..], &[10][..], &[20, 1][..])
    );
}

/// Equinox: a skeleton with fewer leaves reads the first ones; 1.5 is read as the integer 1.
#[test]
#[cfg(feature = "persist")]
fn a_checkpoint_knows_its_structure_and_kinds() {
    #[derive(Debug, Serialize, Deserialize)]
    struct Saved {
        w: (f64, f64),
        b: f64,
    }
    #[derive(Debug, Serialize, Deserialize)]
    struct Fewer {
        w: (f64,),
        b: f64,
    }
    #[derive(Debug, Serialize, Deserialize)]
    struct Other {
        w: (f64, f64),
        b: i32,
    }
    let bytes = of(&Saved { w: (0.5, 2.5), b: 1.5 }).to_bytes().unwrap();
    let load = || Tree::from_bytes(&bytes).unwrap();
    assert_snapshot!(said(load().into_typed::<Fewer>()), @"the type read 1 of 2 children at `.w`");
    assert_snapshot!(said(load().into_typed::<Other>()), @"invalid type: floating point `1.5`, expected i32 at `.b` (to keep integers exact, use `Tree::ravel`)");
    assert_snapshot!(said(Tree::from_bytes_as::<i32>(&bytes, Limits::default())), @"expected i32, found f64 at `.w.0`");
    let like = treedef::structure(&Fewer { w: (0.0,), b: 0.0 }).unwrap();
    assert_snapshot!(said(load().treedef().check_equal(&like)), @"expected `Fewer { w: (*,), b: * }`, found `Saved { w: (*, *), b: * }` at the root, and 1 more difference");
    // serde ignores a field that the type does not have; a strict call reports it.
    #[derive(Debug, Serialize, Deserialize)]
    struct OnlyB {
        b: f64,
    }
    assert_eq!(load().into_typed::<OnlyB>().unwrap().b, 1.5);
    let (treedef, leaves) = load().into_parts();
    assert_snapshot!(said(treedef::unflatten_strict::<OnlyB>(&treedef, leaves)), @"expected `(*, *)`, found nothing at `.w` (the type dropped `.w`)");
    let (_, migration) = load().migrate::<OnlyB>().unwrap();
    assert_snapshot!(migration, @"dropped `.w`");
}

/// FetchMapper: a short list is an IndexError, a long one is accepted, and None has no position.
#[test]
fn results_are_counted_and_nones_located() {
    let unique = tree("[*, (*, *)]", ["a", "b", "a"]).unique_by(Clone::clone);
    assert_snapshot!(said(unique.rebuild(&[1])), @"expected 2 leaves, found 1");
    assert_snapshot!(said(unique.rebuild(&[1, 2, 3])), @"expected 2 leaves, found 3");
    let wanted = tree("[*, (*, *)]", [Some("a"), None, Some("b")]);
    assert_snapshot!(said(wanted.try_map(|fetch| fetch.ok_or("cannot fetch None"))), @"cannot fetch None at `[1].0`");
}

/// flax: `{'a/b': 1, 'c': {'d': 2}}` is restored as `{'a': {'b': 1}, 'c': {'d': 2}}`.
#[test]
fn separators_in_keys_are_told_apart() {
    let flat = def("{\"a/b\": *, \"c\": {\"d\": *}}");
    let joined: Vec<String> = flat.leaf_paths().map(|path| path.to_joined_string("/")).collect();
    assert_eq!(joined, [r"a\/b", "c/d"]);
    let nested = def("{\"a\": {\"b\": *}, \"c\": {\"d\": *}}");
    assert_eq!(nested.leaf_paths().next().unwrap().to_joined_string("/"), "a/b");
    // The path itself can be read back.
    assert_eq!(paths(&flat), ["[\"a/b\"]", "[\"c\"][\"d\"]"]);
    assert_eq!(path("[\"a/b\"]"), flat.leaf_path(0).unwrap());
    // The leaf that is the whole tree has a path too (flax#5565), and keys need not be strings.
    assert_eq!(
        TreeDef::leaf().leaf_paths().map(|path| path.to_joined_string("/")).collect::<Vec<_>>(),
        [""]
    );
    assert_eq!(def("{1: {2: *}}").leaf_path(0).unwrap().to_joined_string("/"), "1/2");
}

/// Part of a separator at the end of one key and the beginning of the next.
#[test]
fn separators_across_keys_are_told_apart() {
    let joined = |text: &str| path(text).to_joined_string("::");
    assert_ne!(joined("[\"a:\"][\"b\"]"), joined("[\"a\"][\":b\"]"));
}

/// JAX: `simple` paths of the index 1, the key 1 and the key '1' are one text, and none is read
/// back.
#[test]
fn paths_are_read_back() {
    let texts =
        ["[1]", "[1i32]", "[\"1\"]", ".1", ".`1`", "[true]", "[(1i32, 2i32)]", "?", "::V.1"];
    for text in texts {
        assert_eq!(path(text).to_string(), text);
    }
    let distinct: HashSet<_> = texts.map(path).into();
    assert_eq!(distinct.len(), texts.len());
}

/// haiku: a merge at the wrong depth fails obscurely (dm-haiku#66), and the last of two values
/// wins.
#[test]
fn a_merge_that_does_not_fit_is_told_with_its_place() {
    let deep = || tree("{\"l\": {\"w\": *}}", [1]);
    assert_snapshot!(said(Tree::merge([deep(), tree("{\"l\": *}", [2])])), @r#"expected `{"w": *}`, found `*` at `["l"]`"#);
    assert_snapshot!(said(Tree::merge([deep(), tree("{\"l\": {\"w\": {\"x\": *}}}", [2])])), @r#"expected `*`, found `{"x": *}` at `["l"]["w"]`"#);
    assert_snapshot!(said(Tree::merge([deep(), deep()])), @r#"two parts have this leaf at `["l"]["w"]`"#);
}

/// penzai: a sequence that is too short is a bare KeyError.
#[test]
fn a_selection_that_does_not_fit_is_told() {
    let mut list = numbered("[*, [*, *]]");
    assert_snapshot!(said(Tree::new(list.treedef().clone(), vec![7])), @"expected 3 leaves, found 1");
    assert_snapshot!(said(list.get_mut(path("[1]"))), @"expected a leaf, found `[*, *]` at `[1]`");
}

/// JAX and chex stop at the first difference; the list of an error has them all.
#[test]
fn differences_below_another_name_are_told() {
    let (expected, found) = (def("A { x: *, y: * }"), def("B { x: *, y: [*] }"));
    assert_eq!(expected.diff(&found).changes.len(), 2);
    let error = found.check_equal(&expected).unwrap_err();
    assert_eq!(error.differences().len(), 2);
}

/// tf.nest calls any two sequences «the two namedtuples»; JAX and dm-tree do not name the node.
#[test]
fn a_mismatch_names_what_it_is_about() {
    assert_snapshot!(said(def("[*, (*, *)]").check_equal(&def("[*, [*, *]]"))), @"expected `[*, *]`, found `(*, *)` at `[1]`");
    assert_snapshot!(said(def("[*, P { x: * }]").check_equal(&def("[*, Q { x: * }]"))), @"expected `Q { x: * }`, found `P { x: * }` at `[1]`");
}
