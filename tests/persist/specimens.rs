//! Structures and trees that between them use every row of every table of a file.

use serde::Serialize;
use treedef::{Flattener, Leaf, MapOrder, Tree, TreeDef};

/// Structures by their texts, which have all that a file of a treedef holds.
pub(crate) const STRUCTURES: [(&str, &str); 26] = [
    ("leaf", "*"),
    ("none", "None"),
    ("some", "Some(*)"),
    ("unit", "()"),
    ("unit_struct", "Marker"),
    ("newtype_struct", "Meters(*)"),
    ("seq", "[*, (*, *), None]"),
    ("empties", "([], (,), {}, Empty {}, Rgb())"),
    ("tuple_of_one", "(*,)"),
    ("tuple_struct", "Rgb(*, *, *)"),
    ("map", r#"{"a": *, "b": [*], "é": None}"#),
    (
        "keys_of_every_kind",
        r#"{true: *, -1i8: *, 1i16: *, 1: *, 1i64: *, 1i128: *, 1u8: *, 1u16: *, 1u32: *, 1u64: *, 340282366920938463463374607431768211455u128: *, 0.5f32: *, -0.0: *, nan(0x7ff8000000000001): *, 'c': *, "s": *, b"\x00\xff": *}"#,
    ),
    (
        "keys_that_are_trees",
        r#"{(1, "a"): *, (1, "b"): *, [[1, 2], [], [3]]: *, Point { x: 1, y: Some("q") }: *, {"k": {"inner": [true; 9]}}: *}"#,
    ),
    ("struct", "Point { x: *, y: * }"),
    ("names", "`odd name`::`` { `a\\nb`: *, ``: *, `x y`: `static` }"),
    ("variants", "(Shape::Empty, Shape::Circle(*), Shape::Line(*, *), Shape::Box { w: *, h: * })"),
    ("static_scalar", r#"Layer { activation: static "relu", w: * }"#),
    (
        "static_tree",
        r#"static Config { sizes: [1u8, 2u8, 3u8], flags: {"a": Some(true), "b": None}, kind: Kind::Of("x", 1.5f32) }"#,
    ),
    ("options", r#"#[insertion, none_is_leaf, compact] {"b": *, "a": Some(*)}"#),
    ("insertion", r#"#[insertion] {"b": {"z": *, "a": *}, "a": *}"#),
    ("run", "[*; 1000000]"),
    ("runs", "[Point { x: *, y: (*, *) }; 3, None; 7, Point { x: *, y: (*, *) }]"),
    ("runs_inside_runs", "[[[(*, None); 1000]; 1000]; 1000]"),
    ("zero_leaves", "[(); 1152921504606846976]"),
    ("equal_shapes", "(A { x: * }, B { x: * }, A { x: * }, A { x: [*] })"),
    ("deep", "[[[[[[[[[[[[[[[[Some(Some(Meters(Meters(*))))]]]]]]]]]]]]]]]]"),
];

/// The structure that a machine of 32 bits cannot count.
pub(crate) const COUNTED_BY_64_BITS: &str = "zero_leaves";

pub(crate) fn structures() -> Vec<(&'static str, TreeDef)> {
    let counts = |name: &str| cfg!(target_pointer_width = "64") || name != COUNTED_BY_64_BITS;
    let counted = STRUCTURES.iter().filter(|(name, _)| counts(name));
    counted.map(|(name, text)| (*name, text.parse().unwrap())).collect()
}

#[derive(Serialize)]
struct Model {
    #[serde(serialize_with = "treedef::as_static")]
    name: &'static str,
    layers: Vec<Layer>,
    step: u64,
}

#[derive(Serialize)]
struct Layer {
    w: Vec<f32>,
    b: [f64; 2],
}

/// Trees with leaves of every kind.
pub(crate) fn trees() -> Vec<(&'static str, Tree<Leaf>)> {
    let layer = |n: u8| Layer { w: (0..n).map(f32::from).collect(), b: [f64::from(n), -0.0] };
    let model = Model { name: "mlp", layers: vec![layer(3), layer(3), layer(2)], step: 7 };
    let unordered: indexmap::IndexMap<&str, _> =
        [("z", indexmap::IndexMap::from([("b", 1), ("a", 2)])), ("a", [("d", 1), ("c", 2)].into())]
            .into();
    let nan = f32::from_bits(0x7fa0_0001);
    let scalars = (
        (true, i8::MIN, i16::MIN, i32::MIN, i64::MIN, i128::MIN),
        (u8::MAX, u16::MAX, u32::MAX, u64::MAX, u128::MAX),
        (nan, -0.0, 'é', "text", serde_bytes::Bytes::new(b"\0\xff")),
    );
    let opaque = treedef::Opaque((&unordered, Some([1u8; 7]), "held"));
    let none_is_leaf = Flattener::new().none_is_leaf(true);
    let (leaves, treedef) = none_is_leaf.flatten(&[None, Some(1.5), None]).unwrap();
    let nones = Tree::new(treedef, leaves).unwrap();
    let ordered = Flattener::new().map_order(MapOrder::Insertion);
    let (leaves, treedef) = ordered.flatten(&unordered).unwrap();
    let inserted = Tree::new(treedef, leaves).unwrap();
    vec![
        ("model", Tree::of(&model).unwrap()),
        ("scalars", Tree::of(&scalars).unwrap()),
        ("unordered", Tree::of(&unordered).unwrap()),
        ("inserted", inserted),
        ("opaque", Tree::of(&[opaque]).unwrap()),
        ("nones", nones),
        ("no_leaves", Tree::of(&((), None::<u8>)).unwrap()),
        ("strings", Tree::of(&["", "a", "longer than the others", ""]).unwrap()),
    ]
}

/// The bytes of every specimen, with the name of its golden file.
pub(crate) fn files() -> Vec<(String, Vec<u8>)> {
    let structures = structures();
    let structures = structures
        .iter()
        .map(|(name, treedef)| (format!("{name}.treedef"), treedef.to_bytes().unwrap()));
    let trees = trees();
    let trees = trees.iter().map(|(name, tree)| (format!("{name}.tree"), tree.to_bytes().unwrap()));
    structures.chain(trees).collect()
}
