//! Blocks against brute force, and the texts that show them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use proptest::prelude::*;
use serde::Serialize;
use treedef::{Flattener, LeafKind, NodeKind, NodeRef, Path, Tree, TreeDef, signature, structure};
use treedef_testing::cases::config;

use crate::data::{Data, data};

type Found = (String, Vec<usize>, std::ops::Range<usize>);

/// The shape of a node, by looking at every child.
fn shape(node: NodeRef<'_>) -> Option<Vec<usize>> {
    let first = || node.child(0).and_then(shape);
    match node.kind() {
        NodeKind::Leaf => Some(Vec::new()),
        NodeKind::NewtypeStruct => first(),
        NodeKind::Seq | NodeKind::Tuple | NodeKind::TupleStruct => {
            let texts: Vec<String> = node.children().map(|child| child.to_string()).collect();
            let alike = texts.windows(2).all(|pair| pair[0] == pair[1]);
            let mut shape = first().filter(|_| alike)?;
            shape.insert(0, texts.len());
            Some(shape)
        }
        _ => None,
    }
}

fn brute_force(
    node: NodeRef<'_>,
    path: &Path,
    one_kind: &dyn Fn(NodeRef<'_>) -> bool,
    found: &mut Vec<Found>,
) {
    if let Some(shape) = shape(node).filter(|_| one_kind(node)) {
        found.push((path.to_string(), shape, node.leaf_range()));
        return;
    }
    for (position, child) in node.children().enumerate() {
        let path = path.child(node.key(position).unwrap());
        brute_force(child, &path, one_kind, found);
    }
}

/// Nested sequences and tuples, most of them rectangular.
pub(crate) fn arrays() -> impl Strategy<Value = Data> {
    let number = prop_oneof![Just(Data::F32(0)), Just(Data::U8(1)), Just(Data::Unit)];
    let inside = number.prop_recursive(4, 64, 4, |inside| {
        let alike = (inside.clone(), 0..4usize).prop_map(|(child, count)| vec![child; count]);
        prop_oneof![
            4 => alike.clone().prop_map(Data::Seq),
            4 => alike.clone().prop_map(Data::Tuple),
            1 => alike.prop_map(|children| Data::TupleStruct("A", children)),
            1 => inside.clone().prop_map(|inside| Data::NewtypeStruct("A", Box::new(inside))),
            1 => prop::collection::vec(inside, 0..4).prop_map(Data::Tuple),
        ]
    });
    prop::collection::vec(inside, 0..4).prop_map(Data::Seq)
}

proptest! {
    #![proptest_config(config(5_000))]

    #[test]
    fn blocks_are_what_brute_force_finds(value in prop_oneof![data(), arrays()]) {
        let tree = Tree::of(&value).unwrap();
        let treedef = tree.treedef();
        let mut expected = Vec::new();
        brute_force(treedef.root(), &Path::root(), &|_| true, &mut expected);
        let found: Vec<Found> = treedef
            .blocks()
            .map(|block| (block.path.to_string(), block.shape, block.node.leaf_range()))
            .collect();
        prop_assert_eq!(&found, &expected);
        let covered: Vec<usize> = found.iter().flat_map(|(_, _, leaves)| leaves.clone()).collect();
        prop_assert!(covered.into_iter().eq(0..treedef.num_leaves()));

        let mut expected = Vec::new();
        let one_kind = |node: NodeRef<'_>| {
            let kinds: BTreeMap<_, ()> =
                tree.leaves()[node.leaf_range()].iter().map(|leaf| (leaf.kind(), ())).collect();
            kinds.len() == 1
        };
        brute_force(treedef.root(), &Path::root(), &one_kind, &mut expected);
        let found: Vec<Found> = tree
            .blocks()
            .map(|(block, leaves)| {
                assert_eq!(leaves, &tree.leaves()[block.node.leaf_range()]);
                (block.path.to_string(), block.shape, block.node.leaf_range())
            })
            .collect();
        prop_assert_eq!(&found, &expected);
    }

    #[test]
    fn a_signature_with_shapes_parses_back(value in prop_oneof![data(), arrays()]) {
        for flattener in [Flattener::new(), Flattener::new().none_is_leaf(true)] {
            let signature = flattener.signature(&value).unwrap();
            for text in [
                signature.with_shapes().to_string(),
                format!("{:#20}", signature.with_shapes()),
            ] {
                let parsed: Tree<LeafKind> = text.parse().unwrap();
                prop_assert_eq!(&parsed, &signature, "{}", text);
            }
        }
    }

    #[test]
    fn a_summary_without_long_arrays_is_the_tree(value in prop_oneof![data(), arrays()]) {
        let tree = Tree::of(&value).unwrap();
        let shortened = tree.blocks().any(|(_, leaves)| leaves.len() > 6);
        let summary = tree.summary().to_string();
        let has_mixed = summary.contains("number[");
        prop_assert_eq!(summary == tree.to_string(), !shortened && !has_mixed);
    }
}

#[test]
fn a_block_does_not_cost_what_its_leaves_count() {
    let treedef: TreeDef = "[(*, *, *); 100000000000]".parse().unwrap();
    let blocks: Vec<_> = treedef.blocks().collect();
    assert_eq!(blocks.len(), 1);
    assert_eq!(blocks[0].shape, [100_000_000_000, 3]);
    assert_eq!(blocks[0].node.leaf_range(), 0..300_000_000_000);
}

#[test]
fn leaves_of_one_type_are_not_asked_for_their_kinds() {
    let tree = Flattener::new().tree_as::<f32>(&vec![[0.5f32; 3]; 1_000_000]).unwrap();
    let time = || {
        let start = Instant::now();
        assert_eq!(tree.blocks().next().unwrap().0.shape, [1_000_000, 3]);
        start.elapsed()
    };
    let least = (0..9).map(|_| time()).min().unwrap();
    assert!(least < Duration::from_micros(500), "{least:?}");
}

#[test]
fn an_array_struct_has_the_shape_that_it_says() {
    let treedef = |text: &str| text.parse::<TreeDef>().unwrap();
    let shapes = |text: &str| -> Vec<Vec<usize>> {
        treedef(text).blocks().map(|block| block.shape).collect()
    };
    let of_ndarray = "Array { v: static 1u8, dim: static (2u64, 3u64), data: [*; 6] }";
    assert_eq!(shapes(of_ndarray), [[2, 3]]);
    assert_eq!(shapes("Tensor { shape: static [3u64, 2u64], data: (*; 6) }"), [[3, 2]]);
    assert_eq!(shapes("Tensor { shape: static 6u64, data: [*; 6] }"), [[6]]);
    // Something else is in the way: the array itself is the block.
    for other in [
        "Array { dim: static (2u64, 2u64), data: [*; 6] }",
        "Array { dim: static (-2, -3), data: [*; 6] }",
        "Array { dim: static 18446744073709551615u64, data: [*; 6] }",
        "Array { dim: static [[2u64, 3u64]], data: [*; 6] }",
        "Array { size: static (2u64, 3u64), data: [*; 6] }",
    ] {
        assert_eq!(shapes(other), [[6]], "{other}");
    }
    assert_eq!(shapes("Array { dim: static 6u64, data: [*; 6], step: * }"), [vec![6], vec![]]);
    assert_eq!(shapes("Array { dim: static 6u64, data: [[*; 3]; 2] }"), [[2, 3]]);
}

#[derive(Serialize)]
struct Layer {
    w: Vec<Vec<f32>>,
    b: [f32; 4],
    points: Vec<[f64; 3]>,
    step: u64,
    mask: Vec<bool>,
}

fn layer() -> Layer {
    Layer {
        w: (0..3u8).map(|row| (0..4u8).map(|col| f32::from(row * col) - 2.5).collect()).collect(),
        b: [0.0; 4],
        points: vec![[0.5, f64::INFINITY, 1e300]; 100],
        step: 7,
        mask: vec![true, false, true, true, true, true, true, true],
    }
}

#[test]
fn shapes_are_printed_in_the_notation_of_jax() {
    let signature = signature(&vec![layer(), layer()]).unwrap();
    assert_snapshot!(
        signature.with_shapes(),
        @"[Layer { w: f32[3, 4], b: f32(4), points: f64[100](3), step: u64[], mask: bool[8] }; 2]"
    );
    assert_snapshot!(
        signature.to_string(),
        @"[Layer { w: [[f32, f32, f32, f32]; 3], b: (f32, f32, f32, f32), points: [(f64, f64, f64); 100], step: u64, mask: [bool; 8] }; 2]"
    );
}

#[test]
fn a_summary_shortens_arrays() {
    assert_snapshot!(format!("{:#}", Tree::of(&layer()).unwrap().summary()), @"
    Layer {
      w: f32[3, 4] (mean -1, sd 1.89, -2.5 … 3.5),
      b: (0.0f32, 0.0f32, 0.0f32, 0.0f32),
      points: f64[100, 3] (mean 5e299, sd 5e299, 0.5 … 1e300, 100 infinite),
      step: 7u64,
      mask: bool[8] (7 true, 1 false),
    }
    ");
    let texts = vec!["a"; 9];
    assert_snapshot!(Tree::of(&(texts, vec![f64::NAN; 7])).unwrap().summary(), @"(str[9], f64[7] (7 NaN))");
    assert_snapshot!(Tree::of(&vec![(vec![1u8; 7], "x"); 3]).unwrap().summary(), @r#"[(u8[7] (mean 1, sd 0, 1 … 1), "x"); 3]"#);
}

#[test]
fn statistics_of_numbers_of_any_size() {
    let of = |numbers: [f64; 2]| {
        let numbers: Vec<f64> = numbers.into_iter().cycle().take(8).collect();
        Tree::of(&numbers).unwrap().summary().to_string()
    };
    assert_snapshot!(of([f64::MAX, -f64::MAX]), @"f64[8] (mean 0, sd 1.80e308, -1.80e308 … 1.80e308)");
    assert_snapshot!(of([f64::MAX, f64::MAX]), @"f64[8] (mean 1.80e308, sd 0, 1.80e308 … 1.80e308)");
    assert_snapshot!(of([1e308, 1.5e308]), @"f64[8] (mean 1.25e308, sd 2.5e307, 1e308 … 1.5e308)");
    assert_snapshot!(of([5e-324, 0.0]), @"f64[8] (mean 0, sd 5e-324, 0 … 5e-324, 4 zeros)");
    assert_snapshot!(of([1e-200, -1e-200]), @"f64[8] (mean 0, sd 1e-200, -1e-200 … 1e-200)");
    assert_snapshot!(of([0.1, 0.1]), @"f64[8] (mean 0.1, sd 0, 0.1 … 0.1)");
    assert_snapshot!(of([1e9, 1e9 + 1e-3]), @"f64[8] (mean 1e9, sd 5e-4, 1e9 … 1e9)");
    assert_snapshot!(of([f64::INFINITY, -0.0]), @"f64[8] (mean 0, sd 0, 0 … 0, 4 zeros, 4 infinite)");
    // As floats, neighbours are equal.
    let ids: Vec<i64> = (0..200).map(|id| 1_700_000_000_000_000_000 + id).collect();
    assert_snapshot!(Tree::of(&ids).unwrap().summary(), @"i64[200] (mean 1.7e18, sd 57.7, 1.7e18 … 1.7e18)");
    let ids: Vec<u64> = (0..200).map(|id| if id == 3 { 0 } else { u64::MAX - id }).collect();
    assert_snapshot!(Tree::of(&ids).unwrap().summary(), @"u64[200] (mean 1.84e19, sd 1.3e18, 0 … 1.84e19, 1 zero)");
    let mixed: Tree<treedef::Leaf> = serde_json::from_str("[-1, 2, 0.5, 0, 3, 4.5, 6]").unwrap();
    assert_snapshot!(mixed.summary(), @"number[7] (mean 2.14, sd 2.34, -1 … 6, 1 zero)");
}

#[test]
fn a_shape_that_cannot_be_is_an_error() {
    let error = |text: &str| text.parse::<Tree<LeafKind>>().unwrap_err().to_string();
    assert_snapshot!(error("f32[3, 0]"), @"expected a size above 0, found `0]` at byte 7");
    assert_snapshot!(error("f32[3"), @"expected `,` or the end of the shape, as in `f32[3, 4]`, found the end at byte 5");
    assert_snapshot!(error("f32(3]"), @"expected `,` or the end of the shape, as in `f32[3, 4]`, found `]` at byte 5");
    assert_snapshot!(error("f32(3, x)"), @"expected a number, found `x)` at byte 7");
    assert_snapshot!(error("f32[1000, 1000, 1000000000]"), @"999999972 nodes to visit, the limit is 16777216 at byte 27 (see `Limits::max_work`)");
    assert_snapshot!(error("[f32[99999999999, 99999999999, 99999999999]]"), @"99999999954 nodes to visit, the limit is 16777216 at byte 43 (see `Limits::max_work`)");
    assert!(structure(&1).unwrap().to_string() == "*" && "*[3]".parse::<TreeDef>().is_err());
}
