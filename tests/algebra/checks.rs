//! Checks: equal, equivalent, close; and their errors.

use insta::assert_snapshot;
use proptest::prelude::*;
use serde::Serialize;
use treedef::{Leaf, Tolerance, Tree, TreeDef};
use treedef_testing::cases::cases;

use crate::data::data;
use crate::structures::few;

fn parsed(text: &str) -> TreeDef {
    text.parse().unwrap()
}

#[track_caller]
fn refused(found: &str, expected: &str) -> String {
    parsed(found).check_equivalent(&parsed(expected)).unwrap_err().to_string()
}

/// Trees that differ only in the kinds of containers, and trees with other differences.
#[test]
fn kinds_of_containers_may_differ() {
    let same = [
        ("[*, *]", "(*, *)"),
        ("Rgb(*, *)", "[*, *]"),
        ("Point { x: *, y: (*,) }", r#"{"y": [*], "x": *}"#),
        ("A { x: * }", "B { x: * }"),
        ("[]", "(,)"),
        ("Marker", "()"),
        ("E::V(*)", "F::V(*)"),
        ("[P { x: * }; 1000000]", "({\"x\": *}; 1000000)"),
        ("{}", "Empty {}"),
        (r#"{"A": *, "b": *}"#, "{'b': *, Kind::A: *}"),
        ("{1u8: *, (0.5f32, ()): *}", "{1: *, [0.5, None]: *}"),
    ];
    for (a, b) in same {
        parsed(a).check_equivalent(&parsed(b)).unwrap();
        parsed(b).check_equivalent(&parsed(a)).unwrap();
        assert!(parsed(a).check_equal(&parsed(b)).is_err());
    }
    assert_snapshot!(refused("[*, *]", "(*, *, *)"), @"expected 3 children, found 2 children at the root");
    assert_snapshot!(refused("[*, *]", "{0: *, 1: *}"), @"expected `{0: *, 1: *}`, found `[*, *]` at the root");
    assert_snapshot!(refused(r#"{"x": *, "z": *}"#, "P { x: *, y: * }"), @"expected `*`, found nothing at `.y`, and 1 more difference");
    assert_snapshot!(refused("{1: *}", r#"{"1": *}"#), @r#"expected `*`, found nothing at `["1"]`, and 1 more difference"#);
    assert_snapshot!(refused("N(*)", "*"), @"expected `*`, found `N(*)` at the root");
    assert_snapshot!(refused("Some(*)", "None"), @"expected `None`, found `Some(*)` at the root");
    assert_snapshot!(refused("E::V(*)", "E::W(*)"), @"expected `E::W(*)`, found `E::V(*)` at the root");
    assert_snapshot!(refused("E::V(*, *)", "E::V { x: *, y: * }"), @"expected `E::V { x: *, y: * }`, found `E::V(*, *)` at the root");
    assert_snapshot!(refused("[static 1]", "(static 2,)"), @"expected `static 2`, found `static 1` at `.0`");
    assert_snapshot!(refused("()", "[]"), @"expected `[]`, found `()` at the root");
}

/// Were each leaf looked up from the root, this would take minutes.
#[test]
fn each_of_many_leaves_is_found_where_the_last_one_was() {
    let count = cases(100_000).max(20_000);
    let rows = |by: f64| -> Vec<(bool, Vec<f64>)> {
        (0..count).map(|row| (true, vec![f64::from(row) + by; 1 + row as usize % 2])).collect()
    };
    let tree = |by| Tree::of(&rows(by)).unwrap();
    let error = tree(0.5).check_close(&tree(0.0), Tolerance::default()).unwrap_err();
    let paths: Vec<String> = error.differences().iter().map(|it| it.path.to_string()).collect();
    assert_eq!(paths.len() as u32, count + count / 2);
    assert_eq!((&*paths[0], &*paths[2]), ("[0].1[0]", "[1].1[1]"));
    assert_eq!(paths.last(), Some(&format!("[{}].1[1]", count - 1)));
}

proptest! {
    #![proptest_config(few())]

    #[test]
    fn each_difference_has_the_path_of_its_leaf(a in data()) {
        let tree = Tree::of(&a).unwrap();
        let mut other = tree.clone();
        for (_, leaf) in &mut other {
            *leaf = match leaf {
                Leaf::Bool(value) => (!*value).into(),
                _ => true.into(),
            };
        }
        let paths: Vec<_> = tree.treedef().leaf_paths().collect();
        let found: Vec<_> = match other.check_close(&tree, Tolerance::default()) {
            Ok(()) => Vec::new(),
            Err(error) => error.differences().iter().map(|it| it.path.clone()).collect(),
        };
        prop_assert_eq!(found, paths);
    }

    #[test]
    fn everything_is_close_to_itself(a in data()) {
        let tree = Tree::of(&a).unwrap();
        tree.check_close(&tree, Tolerance::default()).unwrap();
        tree.treedef().check_equal(tree.treedef()).unwrap();
        tree.treedef().check_equivalent(tree.treedef()).unwrap();
    }

    /// As NumPy's `isclose` and the distance in steps, computed otherwise.
    #[test]
    fn tolerances_are_what_they_say(a in any::<f32>(), steps in 0..4u32, allowed in 0..4u64, rtol in 0.0..0.1f64, atol in 0.0..0.1f64) {
        let close = |a: f64, b: f64, tolerance| Tree::of(&a).unwrap().check_close(&Tree::of(&b).unwrap(), tolerance).is_ok();
        let mut b = a;
        for _ in 0..steps {
            b = b.next_up();
        }
        let by_steps = Tree::of(&a).unwrap().check_close(&Tree::of(&b).unwrap(), Tolerance { ulps: allowed, ..Tolerance::default() });
        let expected = u64::from(steps) <= allowed || a == b || a.is_nan();
        prop_assert_eq!(by_steps.is_ok(), expected, "{} {}", a, b);

        let (a, b) = (f64::from(a % 100.0), f64::from(b % 90.0));
        let tolerance = Tolerance { rtol, atol, ..Tolerance::default() };
        prop_assert_eq!(close(a, b, tolerance), (a - b).abs() <= atol + rtol * b.abs() || a.is_nan());
    }
}

#[test]
fn numbers_are_close_or_not() {
    let close = |a: &Leaf, b: &Leaf, tolerance| {
        let tree = |leaf: &Leaf| Tree::leaf(leaf.clone());
        tree(a).check_close(&tree(b), tolerance).is_ok()
    };
    let (none, wide) = (Tolerance::default(), Tolerance { rtol: 1e-3, atol: 1e-3, ulps: 8 });
    let large = (1u128 << 120) + (1 << 66);
    let cases: [(Leaf, Leaf, bool, bool); 28] = [
        (1.0.into(), 1.0.into(), true, true),
        (1.0.into(), 1.0005.into(), false, true),
        (0.0.into(), (-0.0).into(), true, true),
        (f64::NAN.into(), (-f64::NAN).into(), true, true),
        (f64::NAN.into(), 1.0.into(), false, false),
        (f64::INFINITY.into(), f64::MAX.into(), false, false),
        (f64::INFINITY.into(), f64::INFINITY.into(), true, true),
        (f64::INFINITY.into(), f64::NEG_INFINITY.into(), false, false),
        (1.0.into(), 1.0f32.into(), true, true),
        (1.into(), 1.0.into(), true, true),
        (9007199254740993i64.into(), 9007199254740992i64.into(), false, true),
        (9007199254740993i64.into(), 9007199254740992.0.into(), false, true),
        ((-9007199254740993i64).into(), (-9007199254740994.0).into(), false, true),
        (u64::MAX.into(), 18446744073709551616.0.into(), false, true),
        (u128::MAX.into(), 340282366920938463463374607431768211456.0.into(), false, true),
        (f64::MAX.into(), (-f64::MAX).into(), false, false),
        (1.into(), 1u8.into(), true, true),
        (i128::MIN.into(), u128::MAX.into(), false, false),
        ((-1).into(), 1.into(), false, false),
        (u128::MAX.into(), (u128::MAX - 1).into(), false, true),
        (large.into(), (large + 1000).into(), false, true),
        (((1u128 << 108) + (1 << 54) + 1).into(), ((1u128 << 108) + (1 << 54)).into(), false, true),
        ((i128::MAX - (1 << 60)).into(), (i128::MAX - (1 << 60) - 1).into(), false, true),
        (large.into(), (2f64.powi(120) + 2f64.powi(66)).into(), false, true),
        ((1u128 << 127).into(), 2f64.powi(127).into(), true, true),
        ("a".into(), "a".into(), true, true),
        ("a".into(), "b".into(), false, false),
        (true.into(), 1u8.into(), false, false),
    ];
    for (a, b, exact, loose) in cases {
        assert_eq!(close(&a, &b, none), exact, "{a} and {b}");
        assert_eq!(close(&a, &b, wide), loose, "{a} and {b}, loosely");
    }
    // Twice the largest number is no infinity here.
    let apart = |rtol| {
        close(&f64::MAX.into(), &(-f64::MAX).into(), Tolerance { rtol, ..Tolerance::default() })
    };
    assert_eq!([1.5, 2.0, f64::INFINITY].map(apart), [false, true, true]);
}

#[derive(Serialize)]
struct Net {
    layers: Vec<Layer>,
    name: &'static str,
}

#[derive(Serialize)]
struct Layer {
    w: [f64; 2],
}

fn net(w: f64, count: usize, name: &'static str) -> Net {
    Net { layers: (0..count).map(|_| Layer { w: [w, 1.0] }).collect(), name }
}

/// The output of an `unwrap`: the first difference as everywhere, and the others in lines of their own.
#[test]
fn a_failed_check_says_what_and_where() {
    let structure = |value: &Net| Tree::of(value).unwrap().into_parts().0;
    let shorter = structure(&net(0.5, 2, "a")).check_equal(&structure(&net(0.5, 3, "a")));
    assert_snapshot!(format!("{:?}", shorter.unwrap_err()), @"expected 3 children, found 2 children at `.layers`");
    let lists = treedef::structure(&vec![vec![1], vec![2]]).unwrap();
    let found = treedef::structure(&([1, 2], 3)).unwrap();
    assert_snapshot!(format!("{:?}", found.check_equivalent(&lists).unwrap_err()), @"
    expected 1 child, found 2 children at `[0]`, and 1 more difference
      `[1]`: expected `[*]`, found `*`
    ");
    let close = |a: &Net, b: &Tree<Leaf>, tolerance| {
        format!("{:?}", Tree::of(a).unwrap().check_close(b, tolerance).unwrap_err())
    };
    let expected = Tree::of(&net(0.25, 30, "b")).unwrap();
    assert_snapshot!(close(&net(0.5, 30, "a"), &expected, Tolerance { atol: 0.1, ..Tolerance::default() }), @"
    expected 0.25, found 0.5 at `.layers[0].w.0`, and 30 more differences
      `.layers[1].w.0`: expected 0.25, found 0.5
      `.layers[2].w.0`: expected 0.25, found 0.5
      `.layers[3].w.0`: expected 0.25, found 0.5
      `.layers[4].w.0`: expected 0.25, found 0.5
      `.layers[5].w.0`: expected 0.25, found 0.5
      `.layers[6].w.0`: expected 0.25, found 0.5
      `.layers[7].w.0`: expected 0.25, found 0.5
      `.layers[8].w.0`: expected 0.25, found 0.5
      `.layers[9].w.0`: expected 0.25, found 0.5
      `.layers[10].w.0`: expected 0.25, found 0.5
      `.layers[11].w.0`: expected 0.25, found 0.5
      `.layers[12].w.0`: expected 0.25, found 0.5
      `.layers[13].w.0`: expected 0.25, found 0.5
      `.layers[14].w.0`: expected 0.25, found 0.5
      `.layers[15].w.0`: expected 0.25, found 0.5
      `.layers[16].w.0`: expected 0.25, found 0.5
      `.layers[17].w.0`: expected 0.25, found 0.5
      `.layers[18].w.0`: expected 0.25, found 0.5
      `.layers[19].w.0`: expected 0.25, found 0.5
      `.layers[20].w.0`: expected 0.25, found 0.5
      … and 10 more
    ");
    let expected = Tree::of(&[1.0]).unwrap();
    assert_snapshot!(close(&net(0.5, 2, "a"), &expected, Tolerance::default()), @"expected `(*,)`, found `Net { layers: [Layer { w: (*, *) }; 2], name: * }` at the root");
}
