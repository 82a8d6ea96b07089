//! penzai: selectors, and treescope's text.

use insta::assert_snapshot;
use treedef::{Edit, NodeKind, Path, Tree, TreeDef};

use crate::common::{def, numbered, path, pattern, said, tree};

/// `[1, [2, 3]]`
fn t() -> Tree<i32> {
    tree("[*, [*, *]]", [1, 2, 3])
}

/// `at_instances_of(int)`. Ours: a leaf is one of the tree's type.
#[test]
fn instances_are_mapped() {
    assert_eq!(t().map(|x| 10 * x).to_string(), "[10, [20, 30]]");
}

#[test]
fn one_place_is_set() {
    let mut set = t().map(|x| x.to_string());
    let old = set.replace("[1][0]", Tree::leaf("new".to_owned())).unwrap();
    assert_eq!((set.to_string().as_str(), old.leaves()), ("[1, [new, 3]]", &["2".to_owned()][..]));
}

#[test]
fn what_holds_is_listed_by_path() {
    let t = t();
    let large: Vec<(String, i32)> =
        t.iter().filter(|(_, x)| **x > 1).map(|(path, x)| (path.to_string(), *x)).collect();
    assert_eq!(large, [("[1][0]".to_owned(), 2), ("[1][1]".to_owned(), 3)]);
}

#[test]
fn a_sequence_is_set() {
    assert_eq!(Tree::new(def("[*, [*, *]]"), vec![7, 8, 9]).unwrap().to_string(), "[7, [8, 9]]");
    // There a bare `KeyError: (SequenceKey(idx=1), SequenceKey(idx=0))`.
    assert_snapshot!(said(Tree::new(def("[*, [*, *]]"), vec![7])), @"expected 3 leaves, found 1");
}

/// `NotInThisPartition`: a hole that is no value. Ours: `Option`.
#[test]
fn leaves_are_told_apart_with_holes() {
    let (large, rest) = t().partition(|_: &_, x: &i32| *x > 1).unwrap();
    assert_eq!(
        (large.leaves(), rest.leaves()),
        (&[None, Some(2), Some(3)][..], &[Some(1), None, None][..])
    );
    assert_eq!(Tree::combine([large, rest]).unwrap(), t());
    // A subtree is chosen by a mask that ends where it stands. Ours: the holes are always at the
    // leaves.
    let (inner, outer) = t().partition(&tree("[*, *]", [false, true])).unwrap();
    assert_eq!(
        (inner.leaves(), outer.leaves()),
        (&[None, Some(2), Some(3)][..], &[Some(1), None, None][..])
    );
}

/// There: `Expected the nodes at path [0] to have compatible structures … got 1 and 1, which are
/// incompatible`.
#[test]
fn parts_that_overlap_are_refused_with_the_place() {
    let part = || tree("[*, [*, *]]", [Some(1), None, None]);
    assert_snapshot!(said(Tree::combine([part(), part()])), @"two parts have this leaf at `[0]`");
    assert_snapshot!(said(Tree::combine([part()])), @"no part has this leaf at `[1][0]`");
    assert_snapshot!(said(Tree::combine([part(), tree("[*, *]", [None, None])])), @"expected `[*, *]`, found `*` at `[1]`");
}

/// `insert_after('N')` on the ints: an element before which others stand.
#[test]
fn elements_are_put_behind_others() {
    let inserted = t().map(|x| x.to_string()).edit_up(|_, subtree| {
        if subtree.treedef().root().kind() != NodeKind::Seq {
            return Ok(Edit::Keep);
        }
        let around = TreeDef::seq_of(&TreeDef::leaf(), subtree.treedef().root().num_children())?;
        let mut elements = Vec::new();
        for child in subtree.flatten_up_to(&around)?.into_parts().1 {
            let is_leaf = child.treedef().root().kind() == NodeKind::Leaf;
            elements.push(child);
            elements.extend(is_leaf.then(|| Tree::leaf("N".to_owned())));
        }
        let around = TreeDef::seq_of(&TreeDef::leaf(), elements.len())?;
        Ok(Edit::Replace(Tree::new(around, elements)?.compose()?))
    });
    assert_eq!(inserted.unwrap().to_string(), "[1, N, [2, N, 3, N]]");
}

/// `at_equal_to(2).remove_from_parent()`.
#[test]
fn what_is_equal_is_removed() {
    assert_eq!(t().filter(|_: &_, x: &i32| *x != 2).unwrap().to_string(), "[1, [3]]");
    let mut rest = t();
    let taken = rest.edit_at(pattern("[1][0]"), |_, _, _| Ok(Edit::Remove)).unwrap();
    assert_eq!((rest.to_string().as_str(), taken[0].1.leaves()), ("[1, [3]]", &[2][..]));
}

/// `.get()` of a selection of three: there the number, here the paths too.
#[test]
fn one_is_asked_for_by_a_path() {
    let t = t();
    assert_eq!(t.select(&pattern("**")).unwrap().count(), 3);
    assert_snapshot!(said(t.get(path("[1]"))), @"expected a leaf, found `[*, *]` at `[1]`");
    assert_snapshot!(said(t.get(path("[5]"))), @"no child `[5]` in `[*, [*, *]]` at the root");
}

/// `at_subtrees_where`, `at_children`, `at_childless`.
#[test]
fn subtrees_are_selected_by_what_they_are() {
    let selected = |holds: fn(&Path, NodeKind) -> bool| {
        let mut found = Vec::new();
        let walked = numbered("[*, [*, None], ()]").edit(|path, node, _| {
            if holds(path, node.kind()) {
                found.push(node.to_string());
            }
            Ok(Edit::Keep)
        });
        walked.unwrap();
        found
    };
    assert_eq!(selected(|_, kind| kind == NodeKind::Seq), ["[*, [*, None], ()]", "[*, None]"]);
    assert_eq!(selected(|path, _| path.keys().len() == 1), ["*", "[*, None]", "()"]);
    assert_eq!(selected(|_, kind| matches!(kind, NodeKind::None | NodeKind::Unit)), ["None", "()"]);
}

#[test]
fn text_is_as_wide_as_asked_for() {
    let value = tree(
        "{\"a\": [*, *, *], \"b\": {\"c\": (*, *), \"d\": *}}",
        ["1", "2", "3", "4", "5", "'xyz'"],
    );
    assert_snapshot!(format!("{value:#20}"), @r#"
    {
      "a": [1, 2, 3],
      "b": {
        "c": (4, 5),
        "d": 'xyz',
      },
    }
    "#);
}

/// There 40 numbers inside a dataclass stayed on one line of about 150 columns.
#[test]
fn no_line_is_longer_than_asked_for() {
    #[derive(serde::Serialize)]
    struct D {
        numbers: Vec<i32>,
    }
    let text = format!("{:#60}", crate::common::of(&D { numbers: (100..140).collect() }));
    assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
}
