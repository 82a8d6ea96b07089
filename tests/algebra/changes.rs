//! Diffs as data, as reports and as patches.

use proptest::prelude::*;
use treedef::{ChangeKind, Diff, DifferenceKind, Edit, Limits, NodeKind, NodeRef, Tree, TreeDef};

use crate::data::data;
use crate::structures::{few, numbered, small};

fn parsed(text: &str) -> TreeDef {
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

fn holds(a: &Tree<usize>, b: &Tree<usize>) -> Result<(), TestCaseError> {
    let diff = a.diff(b);
    prop_assert_eq!(&a.patch(&diff).unwrap(), b, "{:#}", diff);
    prop_assert_eq!(diff.is_empty(), a == b);
    let (a, b) = (a.treedef(), b.treedef());
    let diff = a.diff(b);
    prop_assert_eq!(&a.patch(&diff).unwrap(), b, "{:#}", diff);
    prop_assert_eq!(diff.is_empty(), a == b);
    for change in diff.changes() {
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

    /// Lists of which elements come, go and stay, with and without leaves that count.
    #[test]
    fn patches_join_lists(a in prop::collection::vec(0..4usize, 0..12), b in prop::collection::vec(0..4usize, 0..12)) {
        let list = |kinds: &[usize]| {
            let texts = ["*", "(*, *)", "None", "{\"a\": *, \"b\": [*]}"];
            let items: Vec<&str> = kinds.iter().map(|kind| texts[*kind]).collect();
            let treedef = parsed(&format!("[{}]", items.join(", ")));
            // Equal elements have equal leaves.
            let leaves = kinds.iter().flat_map(|kind| vec![*kind; parsed(texts[*kind]).num_leaves()]);
            Tree::new(treedef, leaves.collect()).unwrap()
        };
        holds(&list(&a), &list(&b))?;
        let kept = similar(&a, &b);
        if a.len() != b.len() {
            let places = list(&a).diff(&list(&b)).changes().iter().map(|change| change.places()).sum::<usize>();
            prop_assert!(places <= a.len() + b.len() - 2 * kept, "{}", list(&a).diff(&list(&b)));
        }
    }

    /// A patch does what it says or refuses; where it was made for another tree, too.
    #[test]
    fn patches_of_other_trees_are_refused_or_hold(a in data(), seeds in any::<[u64; 2]>()) {
        let tree = numbered(Tree::of(&a).unwrap().treedef().clone());
        let [one, other] = seeds.map(|seed| mutated(&tree, seed));
        let diff = tree.diff(&one);
        if let Ok(patched) = other.patch(&diff) {
            let treedef = patched.treedef();
            prop_assert_eq!(&treedef.to_string().parse::<TreeDef>().unwrap(), treedef);
            for change in diff.changes() {
                if let ChangeKind::Replaced { by: DifferenceKind::Leaf, old, .. } = &change.kind {
                    prop_assert_eq!(other.subtree(&change.path).unwrap(), old.clone());
                }
            }
        }
    }
}

/// The number of changes if all elements are paired by position, for lists of one length each, and
/// what else has no names.
fn by_position(a: NodeRef<'_>, b: NodeRef<'_>, leaves: [&[usize]; 2]) -> usize {
    if a.kind() != b.kind() {
        return 1;
    }
    if a.kind() == NodeKind::Leaf {
        return usize::from(leaves[0][a.leaf_range().start] != leaves[1][b.leaf_range().start]);
    }
    assert_eq!(a.num_children(), b.num_children());
    a.children().zip(b.children()).map(|(a, b)| by_position(a, b, leaves)).sum()
}

/// A list of lists of one length, with few different numbers, some of them in a tuple or missing.
fn rows(length: usize) -> impl Strategy<Value = Vec<Vec<(usize, usize)>>> {
    let row = prop::collection::vec((0..3usize, 0..4usize), length);
    prop::collection::vec(row, 4)
}

fn tree_of(rows: &[Vec<(usize, usize)>]) -> Tree<usize> {
    let text = |(kind, _): &(usize, usize)| ["*", "(*, *)", "None"][*kind];
    let row = |row: &Vec<_>| format!("[{}]", row.iter().map(text).collect::<Vec<_>>().join(", "));
    let treedef = parsed(&format!("[{}]", rows.iter().map(row).collect::<Vec<_>>().join(", ")));
    let leaves = rows.iter().flatten().flat_map(|(kind, leaf)| match kind {
        0 => vec![*leaf],
        1 => vec![*leaf, 9],
        _ => Vec::new(),
    });
    Tree::new(treedef, leaves.collect()).unwrap()
}

proptest! {
    #![proptest_config(few())]

    /// Lists of one length are paired by content only if there are fewer changes then.
    #[test]
    fn there_are_no_more_changes_than_by_position(
        (a, b) in (0..8usize).prop_flat_map(|length| (rows(length), rows(length))),
        (turn, by, with_kinds) in (0..4usize, 0..8usize, any::<bool>()),
    ) {
        let mut moved = a.clone();
        for row in &mut moved {
            let by = by.min(row.len());
            row.rotate_left(by);
        }
        moved.rotate_left(turn);
        for mut other in [b, moved] {
            if !with_kinds {
                let kinds = a.iter().flatten().map(|(kind, _)| *kind);
                other.iter_mut().flatten().zip(kinds).for_each(|((it, _), kind)| *it = kind);
            }
            let (old, new) = (tree_of(&a), tree_of(&other));
            holds(&old, &new)?;
            let most = by_position(old.treedef().root(), new.treedef().root(), [old.leaves(), new.leaves()]);
            let diff = old.diff(&new);
            prop_assert!(diff.changes().len() <= most, "{} by position: {:#}", most, diff);
            let structures = old.treedef().diff(new.treedef()).changes().len();
            let alike = vec![0; old.leaves().len().max(new.leaves().len())];
            let most = by_position(old.treedef().root(), new.treedef().root(), [&alike, &alike]);
            prop_assert!(structures <= most, "{} > {}", structures, most);
        }
    }
}

/// An element that is removed at the start and one that is appended leave the others alone.
#[test]
fn what_moved_in_a_list_of_one_length_did_not_change() {
    let report = |old: &Tree<treedef::Leaf>, new: &Tree<treedef::Leaf>| {
        let diff = old.diff(new);
        assert_eq!(&old.patch(&diff).unwrap(), new);
        diff.to_string()
    };
    let numbers = |numbers: &[i32]| Tree::of(numbers).unwrap();
    insta::assert_snapshot!(report(&numbers(&[1, 2, 3, 4]), &numbers(&[2, 3, 4, 5])), @"
    2 changes
    - [0]: 1
    + [3]: 5
    ");
    let many: Vec<i32> = (0..20_000).collect();
    assert_eq!(
        report(&numbers(&many[..19_999]), &numbers(&many[1..])),
        "2 changes\n- [0]: 0\n+ [19998]: 19999"
    );
    // By position there are as many changes.
    insta::assert_snapshot!(report(&numbers(&[1, 2, 3]), &numbers(&[1, 3, 2])), @"
    2 changes
    ~ [1]: 2 → 3
    ~ [2]: 3 → 2
    ");
    // All records have one structure; in one of them a list moved, too.
    let record = |name: &str, tags: &[&str]| {
        (name.to_owned(), tags.iter().map(|tag| tag.to_string()).collect::<Vec<_>>())
    };
    let old = vec![
        record("a", &["x", "y"]),
        record("b", &["x", "y"]),
        record("c", &["p", "q", "r", "s", "t"]),
        record("d", &["x", "z"]),
    ];
    let new = vec![
        record("b", &["x", "y"]),
        record("c", &["q", "r", "s", "t", "u"]),
        record("d", &["x", "z"]),
        record("e", &["y", "z"]),
    ];
    insta::assert_snapshot!(report(&Tree::of(&old).unwrap(), &Tree::of(&new).unwrap()), @r#"
    4 changes
    - [0]: ("a", ["x", "y"])
    - [2].1[0]: "p"
    + [2].1[4]: "u"
    + [3]: ("e", ["y", "z"])
    "#);
    // Records of several structures.
    let old = parsed("[(*, *), {1: *}, None, (*, [*]), ()]");
    let new = parsed("[{1: *}, None, (*, [*]), (), (*, *)]");
    insta::assert_snapshot!(old.diff(&new), @"
    2 changes
    - [0]: (*, *)
    + [4]: (*, *)
    ");
    // There may be more elements than fit into memory.
    let old = parsed("[[*; 2], {1: *}, (*, *), None, (); 1000000000000000000]");
    let new = parsed("[{1: *}, (*, *), [*, *, *], None, (); 1000000000000000000]");
    insta::assert_snapshot!(old.diff(&new), @"
    3 changes
    ~ [0]: [*, *] → {1: *}
    ~ [1]: {1: *} → (*, *)
    ~ [2]: (*, *) → [*, *, *]
    ");
    // The layers of a model.
    let layer = |n: usize| vec![vec![n as f32, 0.5, n as f32], vec![1.0, n as f32, 0.0]];
    let (old, new) =
        ((0..12).map(layer).collect::<Vec<_>>(), (1..13).map(layer).collect::<Vec<_>>());
    insta::assert_snapshot!(report(&Tree::of(&old).unwrap(), &Tree::of(&new).unwrap()), @"
    2 changes
    - [0]: [[0.0f32, 0.5f32, 0.0f32], [1.0f32, 0.0f32, 0.0f32]]
    + [11]: [[12.0f32, 0.5f32, 12.0f32], [1.0f32, 12.0f32, 0.0f32]]
    ");
    // A position in a tuple has a meaning.
    insta::assert_snapshot!(report(&Tree::of(&(1, 2, 3, 4)).unwrap(), &Tree::of(&(2, 3, 4, 5)).unwrap()), @"
    4 changes
    ~ .0: 1 → 2
    ~ .1: 2 → 3
    ~ .2: 3 → 4
    ~ .3: 4 → 5
    ");
}

/// Lists in each other, each of which moved: what is compared is bounded.
#[test]
fn lists_that_moved_in_lists_that_moved_are_compared_in_bounded_time() {
    let nested = |start: usize| {
        let mut tree = numbered(parsed("[*; 4]")).map(|leaf| leaf + start);
        for level in 0..300 {
            let others = (0..4)
                .map(|n| numbered(parsed("[*, *]")).map(|leaf| leaf + 10 * (n + start) + level));
            let others: Vec<_> = others.collect();
            let [a, b, c, d] = &others[..] else { unreachable!() };
            let items = if start == 0 { [a, b, &tree, c] } else { [a, &tree, b, d] };
            let text: Vec<String> = items.iter().map(|item| item.treedef().to_string()).collect();
            let treedef = TreeDef::parse_with(
                &format!("[{}]", text.join(", ")),
                Limits::default().max_depth(1_000),
            )
            .unwrap();
            let leaves = items.iter().flat_map(|item| item.leaves().to_vec()).collect();
            tree = Tree::new(treedef, leaves).unwrap();
        }
        tree
    };
    let (old, new) = (nested(0), nested(1));
    assert_eq!(old.patch(&old.diff(&new)).unwrap(), new);
}

/// The length of a longest common subsequence.
fn similar(a: &[usize], b: &[usize]) -> usize {
    let mut lengths = vec![0; b.len() + 1];
    for x in a {
        let mut diagonal = 0;
        for (at, y) in b.iter().enumerate() {
            let above = lengths[at + 1];
            lengths[at + 1] = if x == y { diagonal + 1 } else { above.max(lengths[at]) };
            diagonal = above;
        }
    }
    lengths[b.len()]
}

/// What each kind of change reads like.
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

/// What a reader sees when three things changed in a model of ten thousand numbers.
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
    assert_eq!(diff.changes().len(), 50);
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
    assert_eq!(diff.changes().len(), 43);
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
    // What is cut off may differ.
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
    insta::assert_snapshot!(refused("A { x: () }", "A { x: (), y: None }", "A { x: (), y: () }"), @"the added field or key exists already at `.y`");
    insta::assert_snapshot!(refused("[(), ()]", "[(), (), None]", "[]"), @"there are too few children before what was added at `[2]`");
    insta::assert_snapshot!(refused("[(); 9]", "[None; 9]", "[(); 8]"), @"expected 9 equal children, found 8 at `[0]`");
    insta::assert_snapshot!(refused("A { x: (), y: None }", "A { y: None, x: () }", "A { x: (), z: None }"), @"the order of the fields or keys differs at the root");
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
    assert_eq!(diff.changes().len(), 1);
    assert_eq!(diff.changes()[0].places(), 1 << 40);
    assert_eq!(wide("(*, *)").patch(&diff).unwrap(), wide("(*, [*])"));
    let shorter = TreeDef::seq_of(&parsed("(*, *)"), (1 << 40) - 3).unwrap();
    let diff = wide("(*, *)").diff(&shorter);
    assert_eq!(diff.to_string(), "1 change\n- [1099511627773]: (*, *), and 2 more like it");
    assert_eq!(wide("(*, *)").patch(&diff).unwrap(), shorter);

    let deep = |inner: &str| {
        let text = format!("{}{inner}{}", "[".repeat(2_000), "]".repeat(2_000));
        TreeDef::parse_with(&text, Limits::default().max_depth(2_000)).unwrap()
    };
    let diff = deep("*").diff(&deep("None"));
    assert_eq!(diff.changes().len(), 1);
    assert_eq!(deep("*").patch(&diff).unwrap(), deep("None"));
}

/// Lists of more than 2,048 elements are matched from one difference to the next.
#[test]
fn few_changes_in_a_long_list_are_few_changes() {
    let list = |numbers: &[usize]| {
        // The elements differ in structure, too, so that runs are short.
        let texts = ["(*, *)", "[*]", "*", "(*, None)"];
        let elements: Vec<&str> = numbers.iter().map(|number| texts[number % 4]).collect();
        let each = |number: &usize| vec![*number; if number.is_multiple_of(4) { 2 } else { 1 }];
        let leaves = numbers.iter().flat_map(each).collect();
        Tree::new(parsed(&format!("[{}]", elements.join(", "))), leaves).unwrap()
    };
    let plain = |numbers: &[usize]| Tree::<u64>::of_as(numbers).unwrap();
    fn holds<T: std::fmt::Display>(diff: &Diff<T>, most: usize) {
        let places = diff.changes().iter().map(|change| change.places()).sum::<usize>();
        assert!(places <= most, "{places} > {most}: {diff}");
    }
    let few = |old: &[usize], new: &[usize], most: usize| {
        let (a, b) = (list(old), list(new));
        let diff = a.diff(&b);
        assert_eq!(a.patch(&diff).unwrap(), b);
        holds(&diff, most);
        let structures = a.treedef().diff(b.treedef());
        assert_eq!(a.treedef().patch(&structures).unwrap(), *b.treedef());
        // There are four kinds of elements, so that it is not always clear what was removed.
        holds(&structures, 2 * most);
        let (a, b) = (plain(old), plain(new));
        let diff = a.diff(&b);
        assert_eq!(a.patch(&diff).unwrap(), b);
        holds(&diff, most);
    };
    let old: Vec<usize> = (0..20_000usize).map(|n| ((n * 2_654_435_761) >> 9) % 7_919).collect();
    let without = |gone: &dyn Fn(usize) -> bool| -> Vec<usize> {
        old.iter().enumerate().filter(|(at, _)| !gone(*at)).map(|(_, number)| *number).collect()
    };
    // Single elements, some of them close to each other.
    few(&old, &without(&|at| at % 1_000 == 7 || at % 1_000 == 11), 40);
    few(&without(&|at| at % 1_000 == 7 || at % 1_000 == 11), &old, 40);
    // A block that is longer than any window, at the start, within and at the end.
    for start in [0, 9_000, 15_000] {
        few(&old, &without(&|at| (start..start + 5_000).contains(&at)), 5_000);
        few(&without(&|at| (start..start + 5_000).contains(&at)), &old, 5_000);
    }
    // A block of others in its place, and one element that is gone.
    let mut other = without(&|at| at == 500);
    other[9_000..9_300].iter_mut().for_each(|number| *number += 8_000);
    few(&old, &other, 400); // elements of two numbers have two changes
    // Others are added here and removed there.
    let mut other = without(&|at| at % 500 == 3);
    (0..100).for_each(|at| other.insert(at * 190, 9_001));
    few(&old, &other, 140);
}

/// Nothing in common: what is compared is bounded.
#[test]
fn long_lists_without_anything_in_common_are_compared_by_position() {
    let numbers = |from: u64, count: u64| {
        Tree::<u64>::of_as(&(from..from + count).collect::<Vec<_>>()).unwrap()
    };
    let (old, new) = (numbers(0, 30_000), numbers(100_000, 30_001));
    let diff = old.diff(&new);
    assert_eq!(diff.changes().len(), 30_001);
    assert_eq!(old.patch(&diff).unwrap(), new);
}
