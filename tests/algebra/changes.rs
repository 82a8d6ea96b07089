//! Diffs as data, as reports and as patches.

use proptest::prelude::*;
use treedef::{ChangeKind, DifferenceKind, Edit, Limits, NodeKind, NodeRef, Tree, TreeDef};

use crate::data::data;
use crate::structures::{few, numbered, small};

pub(crate) fn parsed(text: &str) -> TreeDef {
    text.parse().unwrap()
}

/// The same tree with about one node in eight changed: gone, replaced, or a leaf with another
/// number.
fn mutated(tree: &Tree<usize>, mut random: u64) -> Tree<usize> {
    let mut next = || {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) as usize
    };
    let loses = |node: NodeRef<'_>| {
        !matches!(node.kind(), NodeKind::NewtypeStruct | NodeKind::NewtypeVariant)
    };
    let changed = tree.clone().edit(|path, node, _| {
        let parent = path.parent().map(|path| tree.treedef().node(&path).unwrap());
        Ok(match (next() % 24, parent) {
            (0, Some(parent)) if loses(parent) => Edit::Remove,
            (1, _) => Edit::Replace(numbered(parsed("[*, (*, None)]"))),
            (2, _) if node.kind() == NodeKind::Leaf => Edit::Replace(Tree::leaf(next())),
            _ => Edit::Keep,
        })
    });
    changed.unwrap()
}

pub(crate) fn holds(a: &Tree<usize>, b: &Tree<usize>) -> Result<(), TestCaseError> {
    let diff = a.diff(b);
    prop_assert_eq!(&a.patch(&diff).unwrap(), b, "{:#}", diff);
    prop_assert_eq!(diff.changes.is_empty(), a == b);
    let (a, b) = (a.treedef(), b.treedef());
    let diff = a.diff(b);
    prop_assert_eq!(&a.patch(&diff).unwrap(), b, "{:#}", diff);
    prop_assert_eq!(diff.changes.is_empty(), a == b);
    for change in &diff.changes {
        match &change.kind {
            ChangeKind::Removed(old) | ChangeKind::Replaced { old, .. } => {
                prop_assert_eq!(&a.node(&change.path).unwrap().to_treedef(), old);
            }
            ChangeKind::Renamed { .. } => prop_assert!(a.node(&change.path).is_ok()),
            _ => {}
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(few())]

    #[test]
    fn patches_make_the_new_of_the_old(a in data(), seeds in any::<[u64; 2]>()) {
        let tree = numbered(Tree::of(&a).unwrap().treedef().clone());
        let [one, other] = seeds.map(|seed| mutated(&tree, seed));
        holds(&tree, &one)?;
        holds(&one, &tree)?;
        holds(&one, &other)?;
    }

    #[test]
    fn patches_join_any_two_trees(a in data(), b in data(), c in small(), d in small()) {
        holds(&numbered(Tree::of(&a).unwrap().treedef().clone()), &numbered(Tree::of(&b).unwrap().treedef().clone()))?;
        holds(&numbered(c.compose(&d).unwrap()), &numbered(d.compose(&c).unwrap()))?;
    }

    /// A patch is applied as a whole or refused, also for another tree than it was made for.
    #[test]
    fn patches_of_other_trees_are_refused_or_hold(a in data(), seeds in any::<[u64; 2]>()) {
        let tree = numbered(Tree::of(&a).unwrap().treedef().clone());
        let [one, other] = seeds.map(|seed| mutated(&tree, seed));
        let diff = tree.diff(&one);
        if let Ok(patched) = other.patch(&diff) {
            let treedef = patched.treedef();
            prop_assert_eq!(&treedef.to_string().parse::<TreeDef>().unwrap(), treedef);
            for change in &diff.changes {
                if let ChangeKind::Replaced { by: DifferenceKind::Leaf, old, .. } = &change.kind {
                    prop_assert_eq!(other.subtree(&change.path).unwrap(), old.clone());
                }
            }
        }
    }
}

/// The text of each kind of change.
#[test]
fn changes_read_well() {
    let report = |a: &str, b: &str| parsed(a).diff(&parsed(b)).to_string();
    insta::assert_snapshot!(report("*", "*"), @"no changes");
    insta::assert_snapshot!(report("*", "[*]"), @"
    1 change
    ~ the root: * → [*]
    ");
    insta::assert_snapshot!(report("#[insertion] [*]", "[*]"), @"
    1 change
    ~ the root: #[insertion] [*] → [*]
    ");
    insta::assert_snapshot!(report("A { x: *, y: (*, *) }", "A { y: (*, *), z: *, x: * }"), @"
    2 changes
    ~ the root: now in the order .y .x
    + .z: *
    ");
    insta::assert_snapshot!(report("A { x: *, y: (*, *) }", "B { why: (*, *), x: None }"), @"
    4 changes
    ~ the root: type `A` → `B`
    ~ the root: now in the order .why .x
    ~ .x: * → None
    ~ .y is now .why
    ");
    insta::assert_snapshot!(report("E::V(*, *)", "E::W(*, *)"), @"
    1 change
    ~ the root: E::V(*, *) → E::W(*, *)
    ");
    insta::assert_snapshot!(report("[E::V(*, *), *]", "[F::V(*, *), *]"), @"
    1 change
    ~ [0]: type `E` → `F`
    ");
    insta::assert_snapshot!(report("[static 1, (*, *), *, None]", "[static 2, *, None]"), @"
    2 changes
    ~ [0]: static 1 → static 2
    - [1]: (*, *)
    ");
    insta::assert_snapshot!(report("{1: *, 2: [*]}", "{1: *, 3: [*]}"), @"
    1 change
    ~ [2i32] is now [3i32]
    ");
    insta::assert_snapshot!(report("[[(*, *); 9]; 9]", "[[(*, None); 9]; 9]"), @"
    1 change
    ~ [0][0].1: * → None, and 80 more like it
    ");
    insta::assert_snapshot!(report("{\"a\": *, \"b\": *}", "{\"c\": *, \"d\": *}"), @r#"
    4 changes
    - ["a"]: *
    - ["b"]: *
    + ["c"]: *
    + ["d"]: *
    "#);
    insta::assert_snapshot!(report("#[insertion] {\"a\": *, \"b\": None}", "#[insertion] {\"b\": None, \"a\": *}"), @r#"
    1 change
    ~ the root: now in the order ["b"] ["a"]
    "#);
    insta::assert_snapshot!(report("P { f: [*], f: * }", "P { f: * }"), @"
    1 change
    ~ the root: P { f: [*], f: * } → P { f: * }
    ");
}

#[derive(serde::Serialize, Clone)]
struct Model {
    layers: Vec<Layer>,
    head: Head,
    step: u64,
}

#[derive(serde::Serialize, Clone)]
struct Layer {
    w: Vec<Vec<f32>>,
    b: Vec<f32>,
    norm: Option<(f32, f32)>,
}

#[derive(serde::Serialize, Clone)]
struct Head {
    kernel: Vec<f32>,
}

/// The text of three changes in a model of ten thousand numbers.
#[test]
fn three_changes_in_a_large_model_fit_on_a_screen() {
    let layer = |n: usize| Layer {
        w: (0..20).map(|i| (0..20).map(|j| (n * 400 + i * 20 + j) as f32).collect()).collect(),
        b: vec![n as f32; 20],
        norm: n.is_multiple_of(2).then_some((1.0, 0.0)),
    };
    let old = Model {
        layers: (0..24).map(layer).collect(),
        head: Head { kernel: vec![0.5; 64] },
        step: 12_000,
    };
    let mut new = old.clone();
    new.layers[7].w[3][11] += 0.25;
    new.layers.remove(12);
    new.layers[17].norm = None;
    let (old, new) = (Tree::of(&old).unwrap(), Tree::of(&new).unwrap());
    assert!(old.leaves().len() > 10_000);
    let diff = old.diff(&new);
    insta::assert_snapshot!(diff, @"
    3 changes
    ~ .layers[7].w[3][11]: 2871.0f32 → 2871.25f32
    - .layers[12]: Layer { w: [[4800.0f32, 4801.0f32, 4802.0f32, 4803.0f32, 480…
    ~ .layers[18].norm: Some((1.0f32, 0.0f32)) → None
    ");
    assert_eq!(old.patch(&diff).unwrap(), new);
}

#[test]
fn long_reports_are_cut_off_unless_all_is_asked_for() {
    let (old, new) =
        (numbered(parsed("[*; 50]")), numbered(parsed("[*; 50]")).map(|leaf| leaf + 100));
    let diff = old.diff(&new);
    assert_eq!(diff.changes.len(), 50);
    insta::assert_snapshot!(diff, @"
    50 changes
    ~ [0]: 0 → 100
    ~ [1]: 1 → 101
    ~ [2]: 2 → 102
    ~ [3]: 3 → 103
    ~ [4]: 4 → 104
    ~ [5]: 5 → 105
    ~ [6]: 6 → 106
    ~ [7]: 7 → 107
    ~ [8]: 8 → 108
    ~ [9]: 9 → 109
    ~ [10]: 10 → 110
    ~ [11]: 11 → 111
    ~ [12]: 12 → 112
    ~ [13]: 13 → 113
    ~ [14]: 14 → 114
    ~ [15]: 15 → 115
    ~ [16]: 16 → 116
    ~ [17]: 17 → 117
    ~ [18]: 18 → 118
    … and 31 more
    ");
    assert_eq!(format!("{diff:#}").lines().count(), 51);
}

/// A state dict whose names all have another prefix.
#[test]
fn any_number_of_children_is_renamed() {
    let of = |prefix: &str, value: &dyn Fn(usize) -> Option<usize>| {
        let entries = (0..1_000).map(|n| (format!("{prefix}{n:04}"), value(n)));
        Tree::of(&entries.collect::<std::collections::BTreeMap<_, _>>()).unwrap()
    };
    let renamed = |value: &dyn Fn(usize) -> Option<usize>| {
        let (old, new) = (of("a", value), of("b", value));
        let diff = old.diff(&new);
        assert_eq!(old.patch(&diff).unwrap(), new);
        let is_renamed =
            |it: &&_| matches!(it, treedef::Change { kind: ChangeKind::Renamed { .. }, .. });
        (diff.changes.len(), diff.changes.iter().filter(is_renamed).count())
    };
    assert_eq!(renamed(&Some), (1_000, 1_000));
    // Which of two equal children it was is unknown.
    assert_eq!(renamed(&|n| Some(n.min(998))), (1_002, 998));
    assert_eq!(renamed(&|n| (n == 7).then_some(7)), (1_999, 1));
}

/// Forty layers with one change each are one line; the changes stay as they are.
#[test]
fn the_same_change_in_many_elements_is_one_line() {
    let layer = |w: f64, name: &str| (vec![w, 0.5], name.to_owned());
    let old: Vec<_> = (0..40).map(|n| layer(1.0, &format!("{n}"))).collect();
    let mut new: Vec<_> = (0..40).map(|n| layer(2.0, &format!("{n}"))).collect();
    new[7].0[0] = 3.0;
    new[8].0[1] = 9.0;
    new[9].0[1] = 9.0;
    let (old, new) = (Tree::of(&(old, 1)).unwrap(), Tree::of(&(new, 2)).unwrap());
    let diff = old.diff(&new);
    assert_eq!(diff.changes.len(), 43);
    assert_eq!(old.patch(&diff).unwrap(), new);
    insta::assert_snapshot!(diff, @"
    43 changes
    ~ .0[*].0[0]: 1.0 → 2.0 (×39)
    ~ .0[7].0[0]: 1.0 → 3.0
    ~ .0[8].0[1]: 0.5 → 9.0
    ~ .0[9].0[1]: 0.5 → 9.0
    ~ .1: 1 → 2
    ");
    assert_eq!(format!("{diff:#}"), diff.to_string());

    // Structures, where runs are folded, too.
    let report = |old: &str, new: &str| parsed(old).diff(&parsed(new)).to_string();
    let (old, new) = (
        "[L { w: * }, None, L { w: * }, *, L { w: * }, L { w: * }]",
        "[L { v: * }, None, L { v: * }, *, L { v: * }, L { v: * }]",
    );
    insta::assert_snapshot!(report(old, new), @"
    3 changes
    ~ [*].w is now [*].v (×4)
    ");
    let (old, new) = (
        "[L { w: * }, None, L { w: * }, *, L { w: * }]",
        "[M { w: * }, None, M { w: * }, *, M { w: * }]",
    );
    insta::assert_snapshot!(report(old, new), @"
    3 changes
    ~ [*]: type `L` → `M` (×3)
    ");
    // The part that is cut off may differ.
    let long = |end: &str| Tree::of(&vec![format!("{}{end}", "a".repeat(80)); 3]).unwrap();
    assert_eq!(long("b").diff(&long("c")).to_string().lines().count(), 4);
}

#[test]
fn what_a_patch_does_not_fit_is_refused_with_the_path() {
    let refused = |old: &str, new: &str, other: &str| {
        let diff = numbered(parsed(old)).diff(&numbered(parsed(new)).map(|leaf| leaf + 100));
        numbered(parsed(other)).patch(&diff).unwrap_err().to_string()
    };
    insta::assert_snapshot!(refused("[*, *]", "[*, None]", "[*, [*]]"), @"expected `*`, found `[*]` at `[1]`");
    insta::assert_snapshot!(refused("[*, [(*, *)]]", "[*, None]", "[*, [(*,)]]"), @"expected 2 children, found 1 child at `[1][0]`");
    insta::assert_snapshot!(refused("[*, [*]]", "[None, [*]]", "*"), @"no child `[0]` in `*` at the root");
    insta::assert_snapshot!(refused("A { x: None, y: () }", "A { x: (), y: () }", "A { y: () }"), @"no child `.x` in `A { y: () }` at the root");
    insta::assert_snapshot!(refused("A { x: None, y: None }", "A { x: (), y: () }", "A { y: None, x: None }"), @"the order of the fields or keys differs at the root");
    insta::assert_snapshot!(refused("A { x: () }", "A { x: (), y: None }", "A { x: (), y: () }"), @"the new field or key exists already at `.y`");
    insta::assert_snapshot!(refused("[(), ()]", "[(), (), None]", "[]"), @"there are too few children before the added one at `[2]`");
    insta::assert_snapshot!(refused("[(); 9]", "[None; 9]", "[(); 8]"), @"expected 9 children from here on, found 8 at `[0]`");
    insta::assert_snapshot!(refused("A { x: (), y: None }", "A { y: None, x: () }", "A { x: (), z: None }"), @"the order of the fields or keys differs at the root");
}

/// A change of many elements is one of a run. The elements of another tree may differ where it
/// changes nothing.
#[test]
fn the_same_change_applies_to_elements_that_differ() {
    let diff = parsed("[(*, *); 5]").diff(&parsed("[(*, None); 5]"));
    let patched = |other: &str| match parsed(other).patch(&diff) {
        Ok(patched) => patched.to_string(),
        Err(error) => error.to_string(),
    };
    insta::assert_snapshot!(patched("[(*, *), (*, *), ([*], *), (*, *), (*, *)]"), @"[(*, None); 2, ([*], None), (*, None); 2]");
    insta::assert_snapshot!(patched("[(*, *), (*, *), ([*], *), (*, ()), (*, *)]"), @"expected `*`, found `()` at `[3].1`");
    insta::assert_snapshot!(patched("[(*, *), ([*], *), (*, *)]"), @"expected 5 children from here on, found 3 at `[0]`");
    let diff = parsed("[*, [[*, *]; 4]]").diff(&parsed("[*, [[]; 4]]"));
    let patched = |other: &str| parsed(other).patch(&diff).unwrap_err().to_string();
    insta::assert_snapshot!(patched("[*, [[*, *], [*, *], [*], [*, *]]]"), @"expected 2 children from here on, found 1 at `[1][2][0]`");
    let diff = parsed("[None; 3]").diff(&parsed("[(); 3]"));
    let patched = |other: &str| parsed(other).patch(&diff).unwrap_err().to_string();
    insta::assert_snapshot!(patched("[None, [()], None]"), @"expected `None`, found `[()]` at `[1]`");
}

/// A NaN leaf is no change that never ends, and can be patched away.
#[test]
fn what_is_not_equal_to_itself_is_patched() {
    let (old, new) = (Tree::leaf(f64::NAN), Tree::leaf(1.0));
    assert_eq!(old.patch(&old.diff(&new)).unwrap(), new);
}

#[test]
fn deep_and_wide_structures_are_compared_in_time_of_the_distinct() {
    let wide = |inner: &str| TreeDef::seq_of(&parsed(inner), 1 << 40).unwrap();
    let diff = wide("(*, *)").diff(&wide("(*, [*])"));
    assert_eq!(diff.changes.len(), 1);
    assert_eq!(diff.changes[0].places(), 1 << 40);
    assert_eq!(wide("(*, *)").patch(&diff).unwrap(), wide("(*, [*])"));
    let shorter = TreeDef::seq_of(&parsed("(*, *)"), (1 << 40) - 3).unwrap();
    let diff = wide("(*, *)").diff(&shorter);
    assert_eq!(diff.to_string(), "1 change\n- [1099511627773]: (*, *), and 2 more like it");
    assert_eq!(wide("(*, *)").patch(&diff).unwrap(), shorter);

    let deep = |inner: &str| {
        let text = format!("{}{inner}{}", "[".repeat(2_000), "]".repeat(2_000));
        TreeDef::parse_with(&text, Limits { max_depth: 2_000, ..Limits::default() }).unwrap()
    };
    let diff = deep("*").diff(&deep("None"));
    assert_eq!(diff.changes.len(), 1);
    assert_eq!(deep("*").patch(&diff).unwrap(), deep("None"));
}
