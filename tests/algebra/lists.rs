//! Which elements of two lists a diff pairs.

use std::cell::Cell;

use proptest::prelude::*;
use treedef::{Diff, Limits, NodeKind, NodeRef, Tree, TreeDef};
use treedef_testing::cases::{all, cases};

use crate::changes::{holds, parsed};
use crate::structures::{few, numbered};

/// The number of changes if all elements are paired by position, for lists of equal length and other
/// nodes without names.
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

    /// Lists with inserted, removed and kept elements, with and without leaves that count.
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
            let places = list(&a).diff(&list(&b)).changes.iter().map(|change| change.places()).sum::<usize>();
            prop_assert!(places <= a.len() + b.len() - 2 * kept, "{}", list(&a).diff(&list(&b)));
        }
    }

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
            prop_assert!(diff.changes.len() <= most, "{} by position: {:#}", most, diff);
            let structures = old.treedef().diff(new.treedef()).changes.len();
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

/// Nested lists that all moved: the number of comparisons is bounded.
#[test]
fn lists_that_moved_in_lists_that_moved_are_compared_in_bounded_time() {
    let levels = cases(300).clamp(60, 900) as usize;
    let nested = |start: usize| {
        let mut tree = numbered(parsed("[*; 4]")).map(|leaf| leaf + start);
        for level in 0..levels {
            let others = (0..4)
                .map(|n| numbered(parsed("[*, *]")).map(|leaf| leaf + 10 * (n + start) + level));
            let others: Vec<_> = others.collect();
            let [a, b, c, d] = &others[..] else { unreachable!() };
            let items = if start == 0 { [a, b, &tree, c] } else { [a, &tree, b, d] };
            let text: Vec<String> = items.iter().map(|item| item.treedef().to_string()).collect();
            let treedef = TreeDef::parse_with(
                &format!("[{}]", text.join(", ")),
                Limits { max_depth: 1_000, ..Limits::default() },
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
        let places = diff.changes.iter().map(|change| change.places()).sum::<usize>();
        assert!(places <= most, "{places} > {most}: {diff}");
    }
    let few = |old: &[usize], new: &[usize], most: usize| {
        let (a, b) = (list(old), list(new));
        let diff = a.diff(&b);
        assert_eq!(a.patch(&diff).unwrap(), b);
        holds(&diff, most);
        let structures = a.treedef().diff(b.treedef());
        assert_eq!(a.treedef().patch(&structures).unwrap(), *b.treedef());
        // There are four kinds of elements, so that the removed one is not always clear.
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
    // A long block, at the start, within and at the end.
    for start in if all() { vec![0, 9_000, 15_000] } else { vec![9_000] } {
        let rest = without(&|at| (start..start + 5_000).contains(&at));
        few(&old, &rest, 5_000);
        few(&rest, &old, 5_000);
    }
    for start in [0, 500, 1_500, 1_800, 2_500, 3_000] {
        let (old, mut rest) = (&old[..4_000], old[..4_000].to_vec());
        rest.drain(start..start + 1_000);
        few(old, &rest, 1_000);
        few(&rest, old, 1_000);
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

/// Blocks of different lengths have as many changes as the longer one has elements.
#[test]
fn blocks_in_a_long_list_are_replaced_by_others() {
    let plain = |numbers: &[usize]| Tree::<u64>::of_as(numbers).unwrap();
    let old: Vec<usize> = (0..4_000).collect();
    // Where the blocks are, and by how many others each is replaced.
    for blocks in [
        &[(500..600, 101)][..],
        &[(500..550, 51)],
        &[(500..1_500, 1)],
        &[(500..501, 1_500)],
        &[(500..600, 101), (3_000..3_100, 90)],
        &[(500..600, 150), (1_500..1_600, 50), (3_000..3_100, 90)],
        &[(0..700, 2), (2_000..2_001, 800), (3_900..4_000, 1)],
    ] {
        let (mut new, mut most) = (old.clone(), 0);
        for (at, (block, others)) in blocks.iter().enumerate().rev() {
            let first = 10_000 * (at + 1);
            new.splice(block.clone(), first..first + others);
            most += block.len().max(*others);
        }
        for (a, b) in [(&old, &new), (&new, &old)] {
            let (a, b) = (plain(a), plain(b));
            let diff = a.diff(&b);
            assert_eq!(diff.changes.len(), most, "{blocks:?}");
            assert_eq!(a.patch(&diff).unwrap(), b);
        }
    }
}

/// Long lists with runs that are cut at any place, with and without leaves.
#[test]
fn any_blocks_of_long_lists_are_replaced() {
    for seed in 0..u64::from(cases(100).max(5)) {
        let mut random = fastrand::Rng::with_seed(seed);
        let length = random.usize(2_049..3_000);
        let mut kind = 0;
        let mut next = |number: usize, random: &mut fastrand::Rng| {
            if random.usize(..4) == 0 {
                kind = random.usize(..3);
            }
            (kind, number)
        };
        let old: Vec<_> = (0..length).map(|number| next(number, &mut random)).collect();
        let (mut new, mut most) = (old.clone(), 0);
        for block in 0..random.usize(1..5) {
            let start = random.usize(..new.len());
            let end = random.usize(start..new.len().min(start + 200));
            let first = 10_000 * (block + 1);
            let others = first..first + random.usize(..200);
            most += others.len() + (end - start);
            let others: Vec<_> = others.map(|number| next(number, &mut random)).collect();
            new.splice(start..end, others);
        }
        let list = |elements: &[(usize, usize)]| {
            let texts = elements.iter().map(|(kind, _)| ["*", "[*]", "None"][*kind]);
            let treedef = parsed(&format!("[{}]", texts.collect::<Vec<_>>().join(", ")));
            let leaves = elements.iter().filter(|(kind, _)| *kind < 2).map(|(_, number)| *number);
            Tree::new(treedef, leaves.collect()).unwrap()
        };
        let (a, b) = (list(&old), list(&new));
        let structures = a.treedef().diff(b.treedef());
        assert_eq!(&a.treedef().patch(&structures).unwrap(), b.treedef(), "{seed}");
        let diff = a.diff(&b);
        assert_eq!(a.patch(&diff).unwrap(), b, "{seed}");
        if old.len() != new.len() {
            let places = diff.changes.iter().map(|change| change.places()).sum::<usize>();
            assert!(places <= most, "{seed}: {places} > {most}");
        }
    }
}

/// The number of nodes in an element does not matter.
#[test]
fn large_elements_are_paired_by_their_content() {
    let record = |n: usize| {
        let kinds = (0..40).map(|at| if at % 2 == 0 { "[*], " } else { "*, " });
        let more = if n.is_multiple_of(2) { "None" } else { "()" };
        (format!("({}{more})", kinds.collect::<String>()), vec![n; 40])
    };
    let list = |numbers: &[usize]| {
        let (texts, leaves): (Vec<_>, Vec<_>) = numbers.iter().copied().map(record).unzip();
        Tree::new(parsed(&format!("[{}]", texts.join(", "))), leaves.concat()).unwrap()
    };
    let numbers: Vec<usize> = (0..1_000).collect();
    let (old, new) = (list(&numbers[1..]), list(&numbers));
    let last = new.leaves().len() - 1;
    let (treedef, mut leaves) = new.into_parts();
    leaves[last] = 7;
    let new = Tree::new(treedef, leaves).unwrap();
    let diff = old.diff(&new);
    let paths: Vec<String> = diff.changes.iter().map(|it| it.path.to_string()).collect();
    assert_eq!(paths, ["[998].39", "[0]"]);
    assert_eq!(old.patch(&diff).unwrap(), new);
}

/// Rows that begin alike: the number of compared leaves is bounded.
#[test]
fn long_rows_that_begin_alike_are_compared_in_bounded_work() {
    thread_local!(static COMPARED: Cell<usize> = const { Cell::new(0) });
    #[derive(Clone, Debug)]
    struct Counted(usize);
    impl PartialEq for Counted {
        fn eq(&self, other: &Self) -> bool {
            COMPARED.set(COMPARED.get() + 1);
            self.0 == other.0
        }
    }
    let rows = |first: usize, count: usize| {
        let row = |n: usize| (0..1_000).map(move |at| Counted(if at == 999 { n } else { 0 }));
        let leaves = (first..first + count).flat_map(row).collect();
        Tree::new(parsed(&format!("[[*; 1000]; {count}]")), leaves).unwrap()
    };
    let count = 600;
    let (old, new) = (rows(1, count), rows(10_000, count + 1));
    let diff = old.diff(&new);
    assert_eq!(diff.changes.len(), count + 1);
    let leaves = count * 1_000;
    assert!(COMPARED.get() <= (1 << 26) + 68 * leaves, "{} compared", COMPARED.get());
    assert_eq!(old.patch(&diff).unwrap(), new);
}

/// Nothing in common: the number of comparisons is bounded.
#[test]
fn long_lists_without_anything_in_common_are_compared_by_position() {
    let numbers = |from: u64, count: u64| {
        Tree::<u64>::of_as(&(from..from + count).collect::<Vec<_>>()).unwrap()
    };
    let count = cases(30_000).max(2_500).into();
    let (old, new) = (numbers(0, count), numbers(100_000, count + 1));
    let diff = old.diff(&new);
    assert_eq!(diff.changes.len() as u64, count + 1);
    assert_eq!(old.patch(&diff).unwrap(), new);
}

/// Pairs in pairs in pairs: nothing moved in any of them, so each is compared once. Each level that
/// is compared again would double the time.
#[test]
fn lists_in_lists_without_anything_in_common_are_compared_once() {
    let levels = if all() { 16 } else { 12 };
    let nested = (0..levels).fold("*".to_owned(), |inside, _| format!("[{inside}; 2]"));
    let old = numbered(parsed(&nested));
    let new = old.clone().map(|leaf| leaf + 1_000_000);
    let diff = old.diff(&new);
    assert_eq!(diff.changes.len(), 1 << levels);
    assert_eq!(old.patch(&diff).unwrap(), new);
}
