//! Texts of a few bytes that stand for more than there is memory or time.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use serde::de::{DeserializeOwned, IgnoredAny};
use treedef::{ErrorKind, Leaf, TreeDef, Value};
use treedef_testing::cases::all;

use super::{MIB, on_a_stack_of};

fn doublings(times: usize, inside: &str) -> String {
    (0..times).fold(inside.to_owned(), |text, _| format!("[{text}; 2]"))
}

const MANY: usize = 1 << 60;

#[test]
fn bombs_cost_what_their_text_costs() {
    let nested = |inside: &str| format!("[[{inside}; 1073741824]; 1073741824]");
    let many = |inside: &str| format!("[{inside}; {MANY}]");
    let leafless = ["()", "[]", "None", "a", "a::b", "static 1", "{}", "(,)", "a {}"];
    let texts =
        (leafless.iter().flat_map(|inside| [nested(inside), many(inside), doublings(60, inside)]))
            .chain([nested("*"), many("*"), many("(*, [{1: *}; 2])"), doublings(60, "*")])
            .chain([many("{1: {2: [{}; 2]}}"), format!("a(*, [(); {MANY}], Some([*; {MANY}]))")]);
    on_a_stack_of(2 * MIB, || {
        for text in texts {
            // Other tests share the processor: the best of five, and a wide margin.
            let took = (0..5).map(|_| operate_on_bomb(&text)).min().unwrap();
            assert!(took < Duration::from_millis(100), "{text} took {took:?}");
        }
    });
}

/// The counts of a structure are not trusted, even if the value has begun as it describes.
#[test]
fn a_bomb_is_no_room_for_leaves() {
    let rows = vec![vec![1.0], vec![1.0, 2.0]];
    let maps: Vec<HashMap<u8, Vec<f64>>> = vec![(0..20).map(|key| (key, vec![1.0])).collect()];
    let keys: Vec<String> = (0..20).map(|key| format!("{key}u8: [*; {MANY}]")).collect();
    for bomb in [format!("[[*], [*; {MANY}]]"), format!("[[*], [*; {}]]", 1u64 << 36)] {
        let bomb: TreeDef = bomb.parse().unwrap();
        let error = bomb.flatten_like(&rows, &mut Vec::<f64>::new()).unwrap_err();
        assert!(error.kind() == ErrorKind::Structure, "{error}");
        let error = bomb.flatten_like(&rows, &mut Vec::<Leaf>::new()).unwrap_err();
        assert!(error.kind() == ErrorKind::Structure, "{error}");
    }
    for few in 1..keys.len() {
        let beginning = keys[..few].iter().map(|key| key.replace(&format!("; {MANY}"), ""));
        let entries: Vec<String> = beginning.chain(keys[few..few + 1].iter().cloned()).collect();
        let bomb: TreeDef = format!("[{{{}}}]", entries.join(", ")).parse().unwrap();
        assert!(bomb.flatten_like(&maps, &mut Vec::<f64>::new()).is_err());
    }
}

fn operate_on_bomb(text: &str) -> Duration {
    let start = Instant::now();
    let treedef: TreeDef = text.parse().unwrap();
    let (plain, pretty) = (treedef.to_string(), format!("{treedef:#}"));
    assert!(plain.len() < 1 << 10 && pretty.len() < 8 << 10);
    assert_eq!(plain.parse::<TreeDef>().unwrap(), treedef);
    assert_eq!(pretty.parse::<TreeDef>().unwrap(), treedef);
    assert!(format!("{treedef:?}").len() < 2 << 10);
    let hashes = RandomState::new();
    assert_eq!(hashes.hash_one(&treedef), hashes.hash_one(treedef.clone()));
    assert!(treedef.num_nodes() > MANY / 2);

    let (root, leaves) = (treedef.root(), treedef.num_leaves());
    let last = root.child(root.num_children() - 1).unwrap();
    assert_eq!(last.leaf_range().end, leaves);
    assert!(root.child(usize::MAX).is_none());
    assert!(
        root.children().len() > 1 && root.children().nth(1).is_some() && root.runs().count() <= 3
    );
    for index in [0, 1, leaves / 2, leaves.saturating_sub(1)] {
        match treedef.leaf_path(index) {
            Ok(path) => assert_eq!(treedef.node(&path).unwrap().leaf_range(), index..index + 1),
            Err(error) => assert!(index >= leaves, "{error}"),
        }
    }
    assert_eq!(treedef.leaf_paths().take(3).count(), leaves.min(3));
    let path = treedef.node(format!("[{}]", root.num_children()));
    assert_eq!(path.unwrap_err().kind(), ErrorKind::Argument);

    fn errs<T: DeserializeOwned>(treedef: &TreeDef, leafless: bool) {
        let Err(error) = treedef::unflatten::<T>(treedef, Vec::<Leaf>::new()) else {
            panic!("rebuilt")
        };
        let expected = if leafless { ErrorKind::Limit } else { ErrorKind::Structure };
        assert_eq!(error.kind(), expected, "{error}");
    }
    errs::<Vec<()>>(&treedef, leaves == 0);
    errs::<[(); 0]>(&treedef, leaves == 0);
    errs::<HashSet<()>>(&treedef, leaves == 0);
    errs::<IgnoredAny>(&treedef, leaves == 0);
    errs::<Vec<Vec<IgnoredAny>>>(&treedef, leaves == 0);
    errs::<serde_json::Value>(&treedef, leaves == 0);
    start.elapsed()
}

#[test]
fn counts_that_overflow_err() {
    let max = usize::MAX;
    for text in [
        doublings(64, "*"),
        format!("[*; {max}0]"),
        format!("[*; {max}, *]"),
        format!("[*, *; {max}]"),
        format!("[(*, *); {max}]"),
        format!("[(*, {{}}); {max}, {{}}]"),
        format!("([*; {max}], [*; {max}])"),
        format!("[({{}}, {{}}); {max}]"),
        format!("[[{{}}; {max}]; 2]"),
    ] {
        let error = text.parse::<TreeDef>().unwrap_err();
        assert!(error.to_string().contains("too large"), "{text}: {error}");
    }
    for text in [
        doublings(63, "(*,)"),
        format!("[*; {max}]"),
        format!("[None; {max}]"),
        format!("[[None; {max}]; 9]"),
    ] {
        let treedef: TreeDef = text.parse().unwrap();
        assert_eq!(treedef.to_string(), text);
        assert!(treedef.num_nodes() >= 1 << 63);
    }
}

// Keys, statics and values have structures of their own, which `Limits::max_work` must bound as
// well. Printing and comparing take time in proportion to the distinct nodes.

const ALLOWED: usize = 1 << 23;

/// Checks that the least of five times is far below the time of a visit of all nodes.
#[track_caller]
fn assert_quick(what: &str, f: impl Fn()) {
    let time = || {
        let start = Instant::now();
        f();
        start.elapsed()
    };
    let least = (0..5).map(|_| time()).min().unwrap();
    assert!(least < Duration::from_millis(50), "{what} took {least:?}");
}

#[track_caller]
fn assert_too_much<T: std::fmt::Debug>(result: Result<T, treedef::Error>) {
    let error = result.unwrap_err();
    assert!(error.to_string().contains("nodes to visit"), "{error}");
}

#[test]
fn values_without_leaves_print_and_compare_at_once() {
    let text = format!("[(); {ALLOWED}]");
    let a: Value = text.parse().unwrap();
    let b: Value = format!("[(); {}]", ALLOWED + 1).parse().unwrap();
    assert_quick("printing", || assert_eq!(a.to_string(), text));
    assert_quick("comparing", || assert!(a < b && a == a.clone()));
    let inside: Value = format!("[({{}}, [None; {ALLOWED}]), 1]").parse().unwrap();
    let other: Value = format!("[({{}}, [None; {ALLOWED}]), 2]").parse().unwrap();
    assert_quick("comparing", || assert!(inside < other));
}

#[test]
fn keys_and_statics_without_leaves_are_bounded() {
    for text in ["{[(); 33554432]: *}", "static [(); 33554432]", "[static [(); 1000]; 100000]"] {
        match text.parse::<TreeDef>() {
            Err(error) => assert!(error.to_string().contains("nodes to visit"), "{error}"),
            // Each static is small: rebuilding all of them is not.
            Ok(treedef) => assert_quick("refusing", || {
                assert_too_much(treedef::unflatten::<IgnoredAny>(&treedef, Vec::<u8>::new()));
            }),
        }
    }
    assert_too_much("{[(); 33554432]: *}".parse::<TreeDef>());
    assert_too_much("static [(); 33554432]".parse::<TreeDef>());
    assert_too_much("[(); 33554432]".parse::<Value>());
}

/// One budget for all keys and statics of a text, and sums that are checked before entries are
/// sorted.
#[test]
fn a_short_text_never_stands_for_much() {
    if !all() {
        return;
    }
    let statics = (0..40).map(|i| format!("static [{i}; 1048000]")).collect::<Vec<_>>().join(", ");
    let keys =
        (0..20).map(|i| format!("[(); {}]: *", 1_048_000 + i)).collect::<Vec<_>>().join(", ");
    let path = (0..20).map(|i| format!("[[{i}; 1000000]]")).collect::<String>();
    for text in [format!("({statics})"), format!("{{{keys}}}")] {
        let error = text.parse::<TreeDef>().unwrap_err();
        assert!(error.to_string().contains("nodes to visit"), "{error}");
    }
    let error = path.parse::<treedef::Path>().unwrap_err();
    assert!(error.to_string().contains("nodes to visit"), "{error}");
    let text = format!(r#"{{"b": [*; {}], "a": *}}"#, usize::MAX);
    assert!(text.parse::<TreeDef>().unwrap_err().to_string().contains("too large"));
}
