//! Repeated parts are visited once: the cost of huge structures is the cost of their distinct parts.

use allocation_counter::measure;
use treedef::{Edit, Limits, Tree, TreeDef, Value};

fn treedef(text: &str) -> TreeDef {
    text.parse().unwrap()
}

#[track_caller]
fn costs_little<R>(run: impl FnOnce() -> R) -> R {
    let mut result = None;
    let cost = measure(|| result = Some(run()));
    assert!(cost.bytes_max < 16 << 10, "{} bytes", cost.bytes_max);
    result.unwrap()
}

#[test]
fn runs_stay_runs() {
    let outer = treedef("[*; 1000000]");
    let inner = treedef("Point { x: *, y: (*, *) }");
    let composed = costs_little(|| outer.compose(&inner).unwrap());
    assert_eq!(composed.to_string(), "[Point { x: *, y: (*, *) }; 1000000]");
    assert_eq!(costs_little(|| composed.inner_of(&outer).unwrap()), inner);
    assert!(costs_little(|| outer.is_prefix_of(&composed)));
    assert_eq!(costs_little(|| outer.common_suffix(&composed).unwrap()), composed);
    let turned = costs_little(|| inner.compose(&outer).unwrap());
    assert_eq!(turned.to_string(), "Point { x: [*; 1000000], y: ([*; 1000000]; 2) }");

    let parted = treedef("[Point { x: *, y: (*, *) }; 999999]");
    let error = costs_little(|| parted.common_suffix(&composed).unwrap_err());
    assert_eq!(error.to_string(), "expected 999999 children, found 1000000 children at the root");
}

#[test]
fn entries_are_sorted_without_their_leaves() {
    let many = "[*; 1000000000000000]";
    let sorted = format!("{{\"a\": *, \"b\": {many}}}");
    let text = format!("{{\"b\": {many}, \"a\": *}}");
    assert_eq!(costs_little(|| treedef(&text)).to_string(), sorted);

    let entries =
        [(Value::of("b").unwrap(), treedef(many)), (Value::of("a").unwrap(), TreeDef::leaf())];
    assert_eq!(costs_little(|| TreeDef::map(entries).unwrap()).to_string(), sorted);
}

#[test]
fn leaves_without_a_size_are_not_compared() {
    let limits = Limits { max_work: usize::MAX, ..Limits::default() };
    let tree = |text| {
        let treedef = TreeDef::parse_with(text, limits).unwrap();
        let leaves = vec![(); treedef.num_leaves()];
        Tree::new(treedef, leaves).unwrap()
    };
    let old = tree("[[*; 1152921504606846976], None, [*; 3]]");
    let new = tree("[[*; 1152921504606846976], [*; 1000000000000], [*; 4]]");
    let diff = costs_little(|| old.diff(&new));
    assert_eq!(diff.changes.len(), 2);
}

#[test]
fn changes_of_runs_are_changes_of_one() {
    let old = treedef("Model { rows: [Point { x: *, y: (*, *) }; 1000000], scale: * }");
    let new = treedef("Model { rows: [Point { x: *, y: (*, None) }; 999990], scale: * }");
    let diff = costs_little(|| old.diff(&new));
    assert_eq!(
        diff.to_string(),
        "2 changes\n~ .rows[0].y.1: * → None, and 999989 more like it\n\
         - .rows[999990]: Point { x: *, y: (*, *) }, and 9 more like it"
    );
    assert_eq!(costs_little(|| old.patch(&diff).unwrap()), new);
    let swapped = costs_little(|| {
        old.edit(|node| {
            Ok(match node.name() {
                Some("Point") => Edit::Replace(treedef("()")),
                _ => Edit::Keep,
            })
        })
    });
    assert_eq!(swapped.unwrap().to_string(), "Model { rows: [(); 1000000], scale: * }");
    costs_little(|| old.check_equivalent(&old).unwrap());
}

#[test]
fn sixty_levels_of_two_are_sixty_nodes() {
    let pair = treedef("(*, *)");
    let mut tower = TreeDef::leaf();
    for _ in 0..60 {
        tower = costs_little(|| tower.compose(&pair).unwrap());
    }
    assert_eq!(tower.num_leaves(), 1 << 60);
    assert!(costs_little(|| pair.is_prefix_of(&tower)));
    assert_eq!(costs_little(|| tower.common_suffix(&pair).unwrap()), tower);
    let last = tower.compose(&treedef("(*, *, *, *, *, *, *, *)")).unwrap();
    let error = costs_little(|| last.compose(&treedef("[*; 100]")).unwrap_err());
    assert_eq!(error.to_string(), "too large: a count exceeds 64 bits at the root");
}

#[test]
fn neighbours_that_become_equal_become_a_run() {
    let composed = treedef("[*, (), *, ()]").compose(&treedef("()")).unwrap();
    assert_eq!(composed.to_string(), "[(), (), (), ()]");
    assert_eq!(composed, treedef("[(); 4]"));
    let common = treedef("[*, (*, *), *]").common_suffix(&treedef("[(*, *), *, (*, *)]")).unwrap();
    assert_eq!(common.to_string(), "[(*, *); 3]");
}
