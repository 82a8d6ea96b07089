//! The traits that users of a Rust library expect of its types.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Debug;

use treedef::{
    Array, Blocks, Change, Children, Diff, DifferenceKind, Error, Flattener, Key, Leaf, LeafKind,
    LeafPaths, Limits, Migration, NodeKind, NodeRef, Nodes, Path, Pattern, Ravel, Tree, TreeDef,
    TreeDefBuilder, TreeSeed, Unique, Value,
};
use treedef_structures::Structures;

fn crosses_threads<T: Send + Sync>() {}

#[test]
fn types_cross_threads() {
    crosses_threads::<Error>();
    crosses_threads::<Flattener>();
    crosses_threads::<Leaf>();
    crosses_threads::<NodeRef<'static>>();
    crosses_threads::<Path>();
    crosses_threads::<Pattern>();
    crosses_threads::<Tree<Leaf>>();
    crosses_threads::<Tree<f64>>();
    crosses_threads::<TreeDef>();
    crosses_threads::<TreeDefBuilder>();
    crosses_threads::<TreeSeed>();
    crosses_threads::<Unique<Leaf>>();
    crosses_threads::<Value>();
    crosses_threads::<Diff<TreeDef>>();
    crosses_threads::<Array>();
    crosses_threads::<Blocks<'static>>();
    crosses_threads::<Change<TreeDef>>();
    crosses_threads::<Children<'static>>();
    crosses_threads::<LeafPaths<'static>>();
    crosses_threads::<Migration>();
    crosses_threads::<Nodes<'static>>();
    crosses_threads::<Ravel>();
    crosses_threads::<Structures>();
}

fn can_be_printed<T: Debug>() {}

#[test]
fn types_can_be_printed() {
    can_be_printed::<Children<'static>>();
    can_be_printed::<Flattener>();
    can_be_printed::<LeafPaths<'static>>();
    can_be_printed::<Migration>();
    can_be_printed::<Nodes<'static>>();
    can_be_printed::<Unique<u8>>();
    let treedef: TreeDef = "[(*, *); 3]".parse().unwrap();
    assert_eq!(format!("{:?}", treedef.root().children()), "Children { left: 3, .. }");
    let mut paths = treedef.leaf_paths();
    assert_eq!(paths.by_ref().nth(2), Some("[1].0".parse().unwrap()));
    assert_eq!(format!("{paths:?}"), "LeafPaths { at: Path([1].0), .. }");
}

#[test]
fn paths_are_keys_of_maps_and_lists_of_keys() {
    let paths =
        |text: &str| text.split(' ').map(|path| path.parse().unwrap()).collect::<Vec<Path>>();
    let sorted: BTreeMap<Path, usize> =
        paths(".b .a[10] .a[9] .a .a[9].w").into_iter().zip(0..).collect();
    let order: Vec<String> = sorted.keys().map(Path::to_string).collect();
    assert_eq!(order, [".a", ".a[9]", ".a[9].w", ".a[10]", ".b"]);
    let mut path: Path = vec![Key::Index(1)].into();
    path.extend([Key::Some]);
    path.push(Key::Position(0));
    assert_eq!(path.to_string(), "[1]?.0");
    assert_eq!(path.as_ref(), path.keys());
    assert_eq!((&path).into_iter().count(), 3);
    assert_eq!(path.clone().into_iter().collect::<Path>(), path);
    assert_eq!(path.pop(), Some(Key::Position(0)));
    assert_eq!(Path::root().pop(), None);
    assert_eq!(path.join(&Path::root()), path);
    assert_eq!(Path::root().join(&path), path);
}

#[test]
fn texts_travel_in_documents() {
    fn there_and_back<T>(value: T, text: &str)
    where
        T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + Debug,
    {
        assert_eq!(serde_json::to_value(&value).unwrap(), serde_json::json!(text));
        assert_eq!(serde_json::from_value::<T>(serde_json::json!(text)).unwrap(), value);
        let bytes = bincode::serde::encode_to_vec(&value, bincode::config::standard()).unwrap();
        let (back, _) =
            bincode::serde::decode_from_slice(&bytes, bincode::config::standard()).unwrap();
        assert_eq!(value, back);
    }
    there_and_back("?".parse::<Key>().unwrap(), "?");
    there_and_back(r#".a["b c"]"#.parse::<Path>().unwrap(), r#".a["b c"]"#);
    there_and_back("**.w".parse::<Pattern>().unwrap(), "**.w");
    there_and_back(LeafKind::F32, "f32");
    for kind in LeafKind::ALL {
        assert_eq!(kind.name().parse::<LeafKind>().unwrap(), *kind);
    }
    let error = serde_json::from_str::<Path>("\"[\"").unwrap_err().to_string();
    assert!(error.starts_with("expected "), "{error}");
    let error = "f16".parse::<LeafKind>().unwrap_err();
    assert_eq!(error.to_string(), "expected the kind of a leaf, found `f16` at byte 0");
}

#[test]
fn numbers_come_out_of_leaves() {
    let numbers: [(Leaf, Option<i128>, Option<f64>); 9] = [
        (Leaf::I8(-1), Some(-1), None),
        (Leaf::U8(255), Some(255), None),
        (Leaf::from(7usize), Some(7), None),
        (Leaf::from(-7isize), Some(-7), None),
        (Leaf::from(i128::MIN), Some(i128::MIN), None),
        (Leaf::from(u128::MAX), None, None),
        (Leaf::F32(0.1), None, Some(f64::from(0.1f32))),
        (Leaf::F64(0.1), None, Some(0.1)),
        (Leaf::from(Some(true)), None, None),
    ];
    for (leaf, integer, float) in numbers {
        assert_eq!((leaf.as_i128(), leaf.as_f64()), (integer, float), "{leaf}");
        assert_eq!(
            leaf.as_i64().map(i128::from),
            integer.filter(|value| i64::try_from(*value).is_ok())
        );
        assert_eq!(
            leaf.as_u64().map(i128::from),
            integer.filter(|value| u64::try_from(*value).is_ok())
        );
    }
    assert_eq!(Leaf::from(u128::MAX).as_u128(), Some(u128::MAX));
    assert_eq!(Leaf::I8(-1).as_u128(), None);
    assert_eq!(Leaf::from(true).as_bool(), Some(true));
    assert_eq!(Leaf::from(&b"ab"[..]).as_bytes(), Some(&b"ab"[..]));
    assert_eq!(Leaf::from(None::<u8>), Leaf::None);
    assert_eq!(Leaf::from(std::borrow::Cow::Borrowed("a")).as_str(), Some("a"));
}

#[test]
fn every_node_is_met_once() {
    let treedef: TreeDef =
        r#"Model { a: [(*, None); 2], b: {"x": Some(())}, c: static 7 }"#.parse().unwrap();
    let nodes: Vec<(Path, NodeKind)> =
        treedef.nodes().map(|(path, node)| (path, node.kind())).collect();
    assert_eq!(nodes.len(), treedef.num_nodes());
    assert_eq!(nodes.iter().map(|(path, _)| path).collect::<HashSet<_>>().len(), nodes.len());
    for (path, kind) in &nodes {
        assert_eq!(treedef.node(path).unwrap().kind(), *kind);
    }
    let leaves: Vec<Path> = treedef.leaf_paths().collect();
    assert!(treedef.nodes().filter(|(_, node)| node.is_leaf()).map(|(path, _)| path).eq(leaves));
}

#[test]
fn trees_are_iterated() {
    let mut tree = Tree::new("[(*, *); 2]".parse().unwrap(), vec![1, 2, 3, 4]).unwrap();
    for (path, leaf) in &mut tree {
        if path.keys().starts_with(&[Key::Index(1)]) {
            *leaf = 0;
        }
    }
    let mut sum = 0;
    for (_, leaf) in &tree {
        sum += leaf;
    }
    assert_eq!(sum, 3);
}

fn comes_back<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> String {
    let json = serde_json::to_string(value).unwrap();
    let again: T = serde_json::from_str(&json).unwrap();
    assert_eq!(serde_json::to_string(&again).unwrap(), json);
    let config = bincode::config::standard();
    let bytes = bincode::serde::encode_to_vec(value, config).unwrap();
    let (again, _): (T, usize) = bincode::serde::decode_from_slice(&bytes, config).unwrap();
    assert_eq!(serde_json::to_string(&again).unwrap(), json);
    json
}

#[test]
fn reports_are_data() {
    let limits = comes_back(&Limits { max_depth: 7, ..Limits::default() });
    assert!(limits.starts_with(r#"{"max_depth":7,"max_work":"#), "{limits}");
    let error = serde_json::from_str::<Limits>(r#"{"max_depth": 7}"#).unwrap_err();
    assert!(error.to_string().starts_with("missing field `max_work`"), "{error}");

    let structure = |text: &str| text.parse::<TreeDef>().unwrap();
    let error = structure("[(*, *), *]").check_equal(&structure("[(*, ()), *]")).unwrap_err();
    insta::assert_snapshot!(
        comes_back(&error.differences().to_vec()),
        @r#"[{"path":"[0].1","kind":"node","expected":"`()`","found":"`*`"}]"#
    );

    let (_, migration) = Tree::of(&(1, 2.5f32)).unwrap().migrate::<(i64, f32)>().unwrap();
    comes_back(&migration);
    assert_eq!("node".parse::<DifferenceKind>().unwrap(), DifferenceKind::Node);
    assert_eq!(
        "nod".parse::<DifferenceKind>().unwrap_err().to_string(),
        "expected the kind of a difference, found `nod` at byte 0"
    );
}

#[cfg(feature = "persist")]
#[test]
fn a_diff_comes_back_and_still_applies() {
    let structure = |text: &str| text.parse::<TreeDef>().unwrap();
    let pairs = [
        ("[(*, *); 12]", "[(*, *); 9]"),
        ("A { a: *, b: (), c: [*; 5] }", "A { c: [*; 5], b: (), a: * }"),
        ("A { w: [*; 5] }", "A { weight: [*; 5], new: [None; 3] }"),
        ("A { x: static 1 }", "B { x: static 2 }"),
        (r#"{"a": *, "b": None}"#, r#"{"a": (*, *), "c": *}"#),
        ("*", "[*]"),
    ];
    for (old, new) in pairs {
        let (old, new) = (structure(old), structure(new));
        let diff = old.diff(&new);
        let json = comes_back(&diff);
        let again: Diff<TreeDef> = serde_json::from_str(&json).unwrap();
        assert_eq!(again, diff);
        assert_eq!(old.patch(&again).unwrap(), new);
    }
}

/// In a format that has nothing but null, a subtree that is null is not one that is missing.
#[test]
fn a_diff_to_and_from_nothing_comes_back() {
    let read = |text| serde_json::from_str::<Tree<Leaf>>(text).unwrap();
    let (old, new) = (read(r#"{"a": null, "b": 1}"#), read(r#"{"b": null, "c": null}"#));
    for (old, new) in [(&old, &new), (&new, &old)] {
        let json = serde_json::to_string(&old.diff(new)).unwrap();
        let diff: Diff<Tree<Leaf>> = serde_json::from_str(&json).unwrap();
        assert_eq!(&old.patch(&diff).unwrap(), new);
    }
}

/// A patch of many elements without leaves fits elements with leaves wherever it changes nothing.
#[test]
fn a_change_of_many_elements_is_applied_to_each() {
    let read = |text: &str| serde_json::from_str::<Tree<Leaf>>(text).unwrap();
    let patched = |old: &str, new: &str, document: &str| {
        let json = serde_json::to_string(&read(old).diff(&read(new))).unwrap();
        assert!(json.contains("spans"), "{json}");
        let diff: Diff<Tree<Leaf>> = serde_json::from_str(&json).unwrap();
        match read(document).patch(&diff) {
            Ok(patched) => serde_json::to_string(&patched).unwrap(),
            Err(error) => error.to_string(),
        }
    };
    let removed = |document| patched("[null, null, null, 5]", "[5]", document);
    assert_eq!(removed("[null, null, null, 7]"), "[7]");
    insta::assert_snapshot!(removed("[1, 2, 3, 5]"), @"expected `()`, found `*` at `[0]`");
    insta::assert_snapshot!(removed("[null, 2, 2, 5]"), @"expected `()`, found `*` at `[1]`");
    insta::assert_snapshot!(removed("[1, null, null, 5]"), @"expected `()`, found `*` at `[0]`");
    fn elements(of: [&str; 3]) -> String {
        format!("[{}]", of.map(|it| format!("{{{it}}}")).join(", "))
    }
    let inside = |document: [&str; 3]| {
        let (old, new) = ([r#""a": null, "b": null"#; 3], [r#""b": null"#; 3]);
        patched(&elements(old), &elements(new), &elements(document))
    };
    let others = inside([r#""a": null, "b": 1"#, r#""a": null, "b": 2"#, r#""a": null, "b": "x""#]);
    assert_eq!(others, r#"[{"b":1},{"b":2},{"b":"x"}]"#);
    insta::assert_snapshot!(inside([r#""a": null"#, r#""a": 1"#, r#""a": 1"#]), @r#"expected `()`, found `*` at `[1]["a"]`"#);
}

/// A foreign file may have changes that no diff makes.
#[test]
fn a_diff_that_lies_is_refused() {
    let tree: Tree<Leaf> =
        serde_json::from_str(r#"{"a": [null, null, 1], "b": {"c": 2}}"#).unwrap();
    let change = |path: &str, spans: &str, rest: &str| {
        let record = format!(r#"{{"path": {path:?}, "spans": {spans}, {rest}}}"#);
        serde_json::from_str::<Diff<Tree<Leaf>>>(&format!(r#"{{"changes": [{record}]}}"#))
            .map_err(|error| error.to_string())
            .and_then(|diff| tree.patch(&diff).map_err(|error| error.to_string()))
            .map(|tree| tree.to_string())
    };
    let path = r#"["a"][0]"#;
    let incomplete = "change 0: its fields do not fit together".to_owned();
    let removed = r#""change": "removed", "old": "None""#;
    assert_eq!(change(path, "[1]", removed), Err(incomplete.clone()));
    assert_eq!(change(path, "[1, 0]", removed), Err(incomplete.clone()));
    assert_eq!(change(path, "[1, 1]", r#""change": "removed""#), Err(incomplete.clone()));
    assert_eq!(change(path, "[1, 1]", r#""change": "lost""#), Err(incomplete.clone()));
    assert_eq!(
        change(r#"["b"]"#, "[1]", r#""change": "renamed", "to": ".w""#),
        Err("no place for the new field or key at `[\"b\"]`".to_owned())
    );
    let added = |spans: &str, position: usize, new: &str| {
        change(
            path,
            spans,
            &format!(r#""change": "added", "position": {position}, "new": "{new}""#),
        )
    };
    assert!(added("[1, 1]", 0, "1u64").is_ok());
    assert_eq!(
        added("[1, 3]", 0, "1u64"),
        Err("a change repeats a subtree with leaves at the root".to_owned())
    );
    assert!(added("[1, 1]", 18446744073709551615, "[]").is_err());
    let refused = |document: &str, changes: &str| {
        let tree: Tree<Leaf> = serde_json::from_str(document).unwrap();
        let diff: Diff<_> =
            serde_json::from_str(&format!(r#"{{"changes": [{changes}]}}"#)).unwrap();
        tree.patch(&diff).unwrap_err().to_string()
    };
    let renamed = r#"{"path": "[\"a\"]", "change": "renamed", "to": "[\"b\"]""#;
    let change = format!("{renamed}, \"spans\": [2]}}");
    insta::assert_snapshot!(refused(r#"{"a": 1, "c": 2}"#, &change), @r#"a field or a key has one child, not 2 at `["a"]`"#);
    let change =
        r#"{"path": "[\"c\"]", "change": "added", "position": 1, "new": "[]", "spans": [2]}"#;
    insta::assert_snapshot!(refused(r#"{"a": []}"#, change), @r#"a field or a key has one child, not 2 at `["c"]`"#);
    insta::assert_snapshot!(refused(r#"{"a": 1, "b": 2}"#, &format!("{renamed}}}")), @r#"the new field or key exists already at `["a"]`"#);
    let change = r#"{"path": "[0]", "change": "removed", "old": "1u64", "spans": [3]}"#;
    insta::assert_snapshot!(refused("[1, 2, 3]", change), @"expected `1u64`, found `2u64` at `[1]`");
    let change = r#"{"path": "[0][\"a\"]", "change": "removed", "old": "1u64", "spans": [3, 1]}"#;
    insta::assert_snapshot!(refused(r#"[{"a": 1}, {"a": 2}, {"a": 3}]"#, change), @r#"expected `1u64`, found `2u64` at `[1]["a"]`"#);
    // Changes of one element that are about different numbers of elements.
    let change = |field: &str, spans: &str| {
        let path = format!("[0][{field:?}]");
        format!(r#"{{"path": {path:?}, "change": "removed", "old": "None"{spans}}}"#)
    };
    let changes = format!("{}, {}", change("a", ""), change("b", r#", "spans": [3, 1]"#));
    let document = r#"[{"a": null, "b": null}, {"a": null, "b": null}, {"a": null, "b": null}]"#;
    insta::assert_snapshot!(refused(document, &changes), @r#"the changes of one child are about different numbers of its siblings at `[0]["b"]`"#);
    // Only fields and entries have names.
    let renamed = |path: &str, to: &str| {
        format!(r#"{{"path": "{path}", "change": "renamed", "to": "{to}"}}"#)
    };
    insta::assert_snapshot!(refused("[1, 2, 3]", &renamed("[0]", "[5]")), @"no place for the new field or key at `[0]`");
    let variant = Tree::new("Shape::Box { w: * }".parse().unwrap(), vec![1]).unwrap();
    let diff: Diff<Tree<i32>> =
        serde_json::from_str(&format!(r#"{{"changes": [{}]}}"#, renamed("::Box.w", "::Other.x")))
            .unwrap();
    insta::assert_snapshot!(variant.patch(&diff).unwrap_err(), @"no place for the new field or key at `::Box.w`");
    // Each alone is within the limits.
    let removed =
        |count| format!(r#"{{"path": "[[1u8; {count}]]", "change": "removed", "old": "1u64"}}"#);
    let long = format!(r#"{{"changes": [{}, {}]}}"#, removed(400_000), removed(16_500_000));
    let long = serde_json::from_str::<Diff<Tree<Leaf>>>(&long).unwrap_err().to_string();
    insta::assert_snapshot!(long, @"change 1: 16499982 nodes to visit, the limit is 16377231 at byte 15 (see `Limits::max_work`)");
    let old = "#[insertion] [1u64, 2u64, 3u64]";
    let change = format!(
        r#"{{"path": "", "change": "replaced", "by": "options", "old": "{old}", "new": "1u64"}}"#
    );
    insta::assert_snapshot!(refused("[1, 2, 3]", &change), @"expected `#[insertion]`, found no options at the root (use one `Flattener` for both)");
}
