//! Editing trees: by functions, paths and patterns; dropping and merging leaves.

use insta::assert_snapshot;
use proptest::prelude::*;
use treedef::{Edit, Leaf, Limits, NodeKind, Path, Pattern, Tree, TreeDef};

use crate::data::data;
use crate::structures::{few, numbered, small};

fn parsed(text: &str) -> TreeDef {
    text.parse().unwrap()
}

/// The nodes that a recursive walk over the values would keep of a tree, in pre-order.
fn visited(tree: &Tree<usize>) -> Vec<String> {
    let mut seen = Vec::new();
    tree.clone()
        .edit(|path, node, leaves| {
            seen.push(format!("{path} {node} {leaves:?}"));
            Ok(Edit::Keep)
        })
        .unwrap();
    seen
}

proptest! {
    #![proptest_config(few())]

    #[test]
    fn keeping_all_changes_nothing(a in data()) {
        let tree = numbered(Tree::of(&a).unwrap().treedef().clone());
        let mut nodes = 0;
        let same = tree.clone().edit(|path, node, leaves| {
            nodes += 1;
            assert_eq!(tree.treedef().node(path).unwrap().to_string(), node.to_string());
            assert_eq!(leaves, &tree.leaves()[node.leaf_range()]);
            Ok(Edit::Keep)
        });
        prop_assert_eq!(same.unwrap(), tree.clone());
        prop_assert_eq!(nodes, tree.treedef().num_nodes());
        let same = tree.clone().edit_up(|path, subtree| {
            assert_eq!(&tree.subtree(path).unwrap(), subtree);
            Ok(Edit::Keep)
        });
        prop_assert_eq!(same.unwrap(), tree.clone());
        let treedef = tree.treedef();
        prop_assert_eq!(&treedef.edit(|_| Ok(Edit::Keep)).unwrap(), treedef);
        prop_assert_eq!(&treedef.edit_up(|_| Ok(Edit::Keep)).unwrap(), treedef);
        prop_assert_eq!(&tree.clone().filter(|_: &_, _: &_| true).unwrap(), &tree);
    }

    #[test]
    fn leaves_replaced_by_trees_are_composed(outer in small(), inner in small()) {
        let expected = outer.compose(&inner).unwrap();
        let by_hand = numbered(outer.clone()).edit(|_, node, _| Ok(match node.kind() {
            NodeKind::Leaf => Edit::Replace(numbered(inner.clone())),
            _ => Edit::Keep,
        }));
        prop_assert_eq!(by_hand.unwrap().into_parts().0, expected.clone());
        let composed = numbered(outer.clone()).map(|_| numbered(inner.clone())).compose().unwrap();
        prop_assert_eq!(composed.treedef(), &expected);
        let inside = composed.flatten_up_to(&outer).unwrap();
        prop_assert_eq!(inside.treedef(), &outer);
        prop_assert!(inside.leaves().iter().all(|tree| *tree == numbered(inner.clone())));
        prop_assert_eq!(inside.compose().unwrap(), composed);
        let structure = outer.edit(|node| Ok(match node.kind() {
            NodeKind::Leaf => Edit::Replace(inner.clone()),
            _ => Edit::Keep,
        }));
        prop_assert_eq!(structure.unwrap(), expected);
    }

    /// Removing nodes one by one and filtering agree with the paths that are left.
    #[test]
    fn what_is_dropped_is_gone_and_nothing_else(a in data(), bits in any::<u64>()) {
        let tree = numbered(Tree::of(&a).unwrap().treedef().clone());
        let stays = |leaf: &usize| bits >> (leaf % 64) & 1 == 1;
        let expected: Vec<usize> = tree.leaves().iter().copied().filter(stays).collect();
        match tree.clone().filter(|_: &_, leaf: &_| stays(leaf)) {
            Ok(left) => {
                prop_assert_eq!(left.leaves(), &expected[..]);
                prop_assert_eq!(left.treedef().to_string().parse::<TreeDef>().unwrap(), left.treedef().clone());
            }
            Err(error) => prop_assert!(
                error.to_string() == "nothing is left of the tree" || error.to_string().contains("cannot lose its child"),
                "{}", error
            ),
        }
    }

    /// In structs and maps nothing moves, so a split can be undone.
    #[test]
    fn merging_undoes_splitting(keys in prop::collection::btree_map("[a-d]{1,2}", prop::collection::btree_map("[a-c]", 0..9u8, 0..4), 0..5), bits in any::<u32>()) {
        let tree = Tree::of(&keys).unwrap();
        let mut index = 0;
        let (yes, no) = tree.clone().split(|_: &_, _: &_| { index += 1; bits >> (index % 32) & 1 == 1 }).unwrap();
        prop_assert_eq!(Tree::merge([yes.clone(), no.clone()]).unwrap(), tree.clone());
        prop_assert_eq!(Tree::merge([no, yes]).unwrap(), tree);
    }

    #[test]
    fn what_is_taken_can_be_put_back(a in data(), pick in any::<prop::sample::Index>()) {
        let tree = numbered(Tree::of(&a).unwrap().treedef().clone());
        let mut paths = Vec::new();
        tree.clone().edit(|path, _, _| { paths.push(path.clone()); Ok(Edit::Keep) }).unwrap();
        let path = &paths[pick.index(paths.len())];
        let there = tree.subtree(path).unwrap();
        let mut rest = tree.clone();
        match rest.remove(path) {
            Ok(taken) => {
                prop_assert_eq!(&taken, &there);
                prop_assert_eq!(rest.leaves().len() + taken.leaves().len(), tree.leaves().len());
                let parent = path.parent().unwrap();
                let (before, now) = (tree.treedef().node(&parent).unwrap(), rest.treedef().node(&parent).unwrap());
                prop_assert_eq!(now.num_children() + 1, before.num_children());
            }
            Err(error) => {
                prop_assert!(path.is_root() || error.to_string().contains("cannot lose its child"));
                prop_assert_eq!(&rest, &tree);
            }
        }
        let mut replaced = tree.clone();
        let old = replaced.replace(path, Tree::leaf(7)).unwrap();
        prop_assert_eq!(&old, &there);
        let only = tree.edit(|at, _, _| Ok(if at == path { Edit::Replace(Tree::leaf(7)) } else { Edit::Keep }));
        prop_assert_eq!(only.unwrap(), replaced);
    }
}

#[test]
fn nodes_are_met_from_the_root_down_and_from_the_leaves_up() {
    let tree = numbered(parsed("[(*, *), Some(*)]"));
    assert_eq!(
        visited(&tree),
        [
            " [(*, *), Some(*)] [0, 1, 2]",
            "[0] (*, *) [0, 1]",
            "[0].0 * [0]",
            "[0].1 * [1]",
            "[1] Some(*) [2]",
            "[1]? * [2]",
        ]
    );
    let mut up = Vec::new();
    let met = tree.edit_up(|path, subtree| {
        up.push(format!("{path} {subtree}"));
        Ok(Edit::Keep)
    });
    met.unwrap();
    assert_eq!(
        up,
        ["[0].0 0", "[0].1 1", "[0] (0, 1)", "[1]? 2", "[1] Some(2)", " [(0, 1), Some(2)]"]
    );
}

/// Each kind of node without a child.
#[test]
fn every_kind_of_node_loses_a_child() {
    let cases = [
        ("[*, (), *]", "[0]", "[(), *]"),
        ("(*, ())", ".0", "((),)"),
        ("((),)", ".0", "(,)"),
        ("Rgb(*, ())", ".1", "Rgb(*,)"),
        ("E::V(*, ())", "::V.1", "E::V(*,)"),
        ("P { x: *, y: (), z: * }", ".y", "P { x: *, z: * }"),
        ("P { x: * }", ".x", "P {}"),
        ("E::V { x: *, y: () }", "::V.x", "E::V { y: () }"),
        (r#"{"a": *, 1: (), 'c': *}"#, "[1i32]", r#"{'c': *, "a": *}"#),
        ("Some(*)", "?", "None"),
        ("[Some(*), Some(*)]", "[1]?", "[Some(*), None]"),
        (
            "#[insertion] {\"b\": *, \"a\": *, \"c\": *}",
            "[\"a\"]",
            "#[insertion] {\"b\": *, \"c\": *}",
        ),
    ];
    for (before, path, after) in cases {
        let path: Path = path.parse().unwrap();
        let mut rest = numbered(parsed(before));
        let taken = rest.remove(&path).unwrap();
        assert_eq!(rest.treedef().to_string(), after);
        assert_eq!(taken.treedef(), &parsed(before).node(&path).unwrap().to_treedef(), "{before}");
        let pattern: Pattern = path.to_string().parse().unwrap();
        let mut also = numbered(parsed(before));
        let all = also.edit_at(&pattern, |_, _, _| Ok(Edit::Remove)).unwrap();
        assert_eq!((also, all), (rest, vec![(path, taken)]));
    }
    for (treedef, path) in [("Meters(*)", ".0"), ("[E::Circle(*)]", "[0]::Circle.0")] {
        let error = numbered(parsed(treedef)).remove(path).unwrap_err();
        assert!(error.to_string().contains("cannot lose its child"), "{error}");
    }
    let error = numbered(parsed("[*]")).remove(Path::root()).unwrap_err();
    assert_eq!(error.to_string(), "nothing is left of the tree");
}

/// Runs are split where a path leads into them, whether they have leaves or not.
#[test]
fn one_of_many_equal_siblings_is_taken() {
    let mut rest = numbered(parsed("[(); 7]"));
    rest.remove("[3]").unwrap();
    assert_eq!(rest.treedef().to_string(), "[(); 6]");
    let mut rest = numbered(parsed("[(*, *); 3]"));
    let taken = rest.remove("[1].0").unwrap();
    assert_eq!(rest.to_string(), "[(0, 1), (3,), (4, 5)]");
    assert_eq!(taken.leaves(), [2]);
    let mut replaced = numbered(parsed("[(); 3]"));
    replaced.edit_at("[1]", |_, _, _| Ok(Edit::Replace(Tree::leaf(1)))).unwrap();
    assert_eq!(replaced.to_string(), "[(), 1, ()]");
}

#[test]
fn structures_are_rewritten_a_run_at_a_time() {
    let huge = TreeDef::seq_of(&parsed("Point { x: *, y: * }"), 1 << 40).unwrap();
    let mut met = 0;
    let widened = huge.edit(|node| {
        met += 1;
        Ok(match node.kind() {
            NodeKind::Leaf => Edit::Replace(parsed("(*, *)")),
            _ => Edit::Keep,
        })
    });
    assert_eq!(widened.unwrap().to_string(), "[Point { x: (*, *), y: (*, *) }; 1099511627776]");
    assert_eq!(met, 3);
    let gone = huge.edit_up(|node| {
        Ok(if node.root().kind() == NodeKind::Leaf { Edit::Remove } else { Edit::Keep })
    });
    assert_eq!(gone.unwrap().to_string(), "[Point {}; 1099511627776]");
}

#[test]
fn errors_of_edits_say_where() {
    let options = |text: &str| numbered(parsed(text));
    let error = |result: treedef::Result<Tree<usize>>| result.unwrap_err().to_string();
    let other = || Ok(Edit::Replace(options("#[insertion] {\"b\": *, \"a\": *}")));
    insta::assert_snapshot!(error(options("[*, {1: ()}]").edit(|_, node, _| {
        if node.kind() == NodeKind::Leaf { other() } else { Ok(Edit::Keep) }
    })), @"expected no options, found `#[insertion]` at the root (use one `Flattener` for both)");
    insta::assert_snapshot!(error(options("[N(N(*))]").edit(|_, node, _| Ok(
        if node.kind() == NodeKind::Leaf { Edit::Remove } else { Edit::Keep }
    ))), @"`N(*)` cannot lose its child at `[0].0`");
    insta::assert_snapshot!(error(options("[*, [*]]").edit_up(|path, _| match path.keys().len() {
        2 => Err(f64::try_from(Leaf::from("a")).unwrap_err()),
        _ => Ok(Edit::Keep),
    })), @"expected f64, found str at `[1][0]`");
    insta::assert_snapshot!(error(Tree::merge([options("{\"a\": *}"), options("{\"a\": [*]}")])), @r#"expected `*`, found `[*]` at `["a"]`"#);
    insta::assert_snapshot!(error(Tree::merge([options("A { x: [*, ()] }"), options("A { x: [*] }")])), @"expected 2 children, found 1 child at `.x`");
    insta::assert_snapshot!(error(Tree::merge([options("A { x: * }"), options("B { y: * }")])), @"expected `A { x: * }`, found `B { y: * }` at the root");
    insta::assert_snapshot!(error(Tree::merge(Vec::<Tree<usize>>::new())), @"there are no parts to merge");
    let bomb = numbered_bomb();
    insta::assert_snapshot!(error(bomb.clone().edit(|_, _, _| Ok(Edit::Keep))), @"1152921504606846977 nodes to visit, the limit is 16777216 (see `Limits::max_work`)");
    insta::assert_snapshot!(error(bomb.clone().filter(|_: &_, _: &_| true)), @"1152921504606846977 nodes to visit, the limit is 16777216 (see `Limits::max_work`)");
    assert_eq!(Tree::merge([bomb.clone(), bomb.clone()]).unwrap(), bomb);
}

fn numbered_bomb() -> Tree<usize> {
    numbered(parsed("[(); 1152921504606846976]"))
}

#[test]
fn merging_joins_what_stands_in_the_same_place() {
    let merge = |a: &str, b: &str| {
        Tree::merge([numbered(parsed(a)), numbered(parsed(b))]).unwrap().to_string()
    };
    assert_eq!(
        merge("P { a: *, s: static 1 }", "P { s: static 1, b: * }"),
        "P { a: 0, s: static 1, b: 0 }"
    );
    assert_eq!(
        merge("[{\"a\": *}, {\"b\": *}]", "[{\"b\": *}, {}]"),
        "[{\"a\": 0, \"b\": 0}, {\"b\": 1}]"
    );
    assert_eq!(
        merge("{\"a\": {1: *}}", "{\"a\": {0: *}, 2: [*]}"),
        "{2: [0], \"a\": {0: 1, 1: 0}}"
    );
    assert_eq!(
        merge("#[insertion] {\"b\": *}", "#[insertion] {\"a\": *}"),
        "#[insertion] {\"b\": 0, \"a\": 0}"
    );
    assert_eq!(merge("E::V { a: * }", "E::V { b: * }"), "E::V { a: 0, b: 0 }");
    assert_eq!(
        merge("Some(N({\"a\": *}))", "Some(N({\"b\": *}))"),
        "Some(N({\"a\": 0, \"b\": 0}))"
    );
}

#[test]
fn leaves_of_other_types_are_edited_alike() {
    let tree = Tree::of(&(1, "a")).unwrap();
    let edited = tree.edit(|_, _, leaves| {
        Ok(match leaves {
            [Leaf::Str(text)] => Edit::Replace(Tree::of(&text.len())?),
            _ => Edit::Keep,
        })
    });
    assert_eq!(edited.unwrap().to_string(), "(1, 1u64)");
}

/// Options concern only the nodes that depend on them: a struct of numbers can be combined with everything.
#[test]
fn options_bind_what_depends_on_them() {
    let ordered = parsed("#[insertion] {\"b\": *, \"a\": [*, *]}");
    let rates = Tree::leaf(1).broadcast_to(&ordered).unwrap();
    assert_eq!(rates.to_string(), "#[insertion] {\"b\": 1, \"a\": [1, 1]}");
    assert!(TreeDef::leaf().is_prefix_of(&ordered));
    let mut replaced = rates;
    replaced.replace("[\"a\"]", Tree::leaf(7)).unwrap();
    assert_eq!(replaced.to_string(), "#[insertion] {\"b\": 1, \"a\": 7}");
    assert_eq!(TreeDef::leaf().compose(&ordered).unwrap(), ordered);
    let pair = TreeDef::tuple([TreeDef::leaf(), ordered.clone()]).unwrap();
    assert_eq!(pair.to_string(), "#[insertion] (*, {\"b\": *, \"a\": [*, *]})");
    let zipped = numbered(parsed("[*, *]")).zip(numbered(parsed("#[compact] [*, *]"))).unwrap();
    assert_eq!(zipped.treedef(), &parsed("#[compact] [*, *]"));

    let absent = parsed("#[none_is_leaf] [*, Some(())]");
    let error = TreeDef::seq([ordered.clone(), absent.clone()]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected `#[insertion]`, found `#[none_is_leaf]` at the root (use one `Flattener` for both)"
    );
    assert!(ordered.compose(&absent).is_err() && absent.compose(&ordered).is_err());
    assert!(!parsed("None").is_prefix_of(&absent));
    // Trees with options are combined only with such trees: their leaves may be absent values, their maps
    // unsorted.
    let entries = [("b", parsed("#[insertion] [*]")), ("a", parsed("{1: *}"))];
    let entries = entries.map(|(key, child)| (treedef::Value::of(key).unwrap(), child));
    assert!(TreeDef::map(entries).is_err());
    let (plain, marked) = (parsed("[*]"), parsed("#[none_is_leaf] [*]"));
    assert!(plain.is_prefix_of(&marked) && !marked.is_prefix_of(&plain));
    assert!(plain.check_equal(&marked).is_err());
}

#[test]
fn a_transposed_tree_is_within_its_limits() {
    let (outer, inner) = (parsed("[*; 1000]"), parsed("(*, None, *, None, *)"));
    let treedef = outer.compose(&inner).unwrap();
    let tree = |max_nodes| {
        let limits = Limits { max_nodes, ..Limits::default() };
        numbered(treedef.clone().with_limits(limits)).transpose(&outer, &inner)
    };
    assert!(tree(9).is_ok());
    assert_snapshot!(tree(8).unwrap_err(), @"9 nodes, the limit is 8 (see `Limits::max_nodes`)");
}

/// A walk over each of them would exceed the limits.
#[test]
fn an_entry_is_removed_from_beside_many_nodes_without_leaves() {
    let beside = "[None; 100000000]";
    let mut tree = numbered(parsed(&format!("M {{ a: {beside}, b: {{1: *, 2: *}} }}")));
    assert_eq!(tree.remove("b[1]").unwrap().leaves(), [0]);
    assert_eq!(tree.to_string(), format!("M {{ a: {beside}, b: {{2: 1}} }}"));
    tree.remove("a[7]").unwrap();
    assert_eq!(tree.treedef().to_string(), "M { a: [None; 99999999], b: {2: *} }");
}

/// A value may nest deeper than the default limit, and so may its parts.
#[test]
fn limits_go_with_the_parts() {
    let deep = TreeDef::parse_with(
        &format!("{}*{}", "[".repeat(300), "]".repeat(300)),
        Limits { max_depth: 400, ..Limits::default() },
    );
    let tree = numbered(deep.unwrap());
    let (treedef, path) = (tree.treedef(), "[0]".parse::<Path>().unwrap());
    let map = |key: &str| Tree::new(parsed(&format!("{{\"{key}\": *}}")), vec![0]).unwrap();
    let (mut replaced, mut grown) = (map("a"), map("a"));
    replaced.replace("a", tree.clone()).unwrap();
    grown.insert("b", tree.clone()).unwrap();
    let parts = [
        tree.subtree(&path).unwrap(),
        tree.flatten_up_to(&parsed("[*]")).unwrap().leaves()[0].clone(),
        tree.clone().replace(&path, Tree::leaf(1)).unwrap(),
        tree.clone().remove(&path).unwrap(),
        tree.clone().edit_at("[0]", |_, _, _| Ok(Edit::Remove)).unwrap()[0].1.clone(),
        numbered(treedef.root().child(0).unwrap().to_treedef()),
        numbered(treedef.inner_of(&parsed("[*]")).unwrap()),
        numbered(TreeDef::tuple([parsed("None"), treedef.clone()]).unwrap()),
        tree.flatten_up_to(&parsed("[[*]]")).unwrap().compose().unwrap(),
        Tree::merge([map("b"), replaced.clone()]).unwrap(),
        replaced,
        grown,
    ];
    for part in parts {
        assert_eq!(part.treedef().limits().max_depth, 400, "{part}");
    }
}

#[test]
fn what_is_split_into_many_is_named_for_each_leaf() {
    let tree = numbered(parsed("{\"a\": [*, *, *], \"b\": {\"c\": *}}"));
    let error = tree.clone().split_into(2, |_, leaf| *leaf).unwrap_err();
    assert_eq!(error.to_string(), "there is no part 2 among 2 at `[\"a\"][2]`");
    let parts = tree.clone().split_into(3, |_, leaf| leaf % 3).unwrap();
    assert_eq!(parts[0].to_string(), "{\"a\": [0], \"b\": {\"c\": 3}}");
    let (even, odd) = tree.clone().split(|_: &_, leaf: &usize| leaf.is_multiple_of(2)).unwrap();
    assert_eq!((even.leaves(), odd.leaves()), (&[0, 2][..], &[1, 3][..]));
    assert_eq!(parts[1], tree.filter(|_: &_, leaf: &usize| *leaf == 1).unwrap());
}

#[test]
fn parts_are_counted_with_the_nodes_that_have_no_leaves() {
    let tree = Tree::new("([(); 100000], *)".parse().unwrap(), vec![1u8]).unwrap();
    let error = tree.split_into(4096, |_, _| 0).unwrap_err();
    assert!(error.to_string().contains("nodes to visit"), "{error}");
}

#[test]
fn a_diff_of_leaves_without_a_size_has_no_more_changes_than_one_of_structures() {
    let [old, new] = ["[(*, ()); 1000000]", "[(*, []); 1000000]"]
        .map(|text| Tree::new(text.parse().unwrap(), vec![(); 1_000_000]).unwrap());
    let diff = old.diff(&new);
    assert!(diff.changes.len() <= 1 << 16, "{}", diff.changes.len());
    assert_eq!(old.patch(&diff).unwrap(), new);
}

/// A structure without options may equal one with options: the result has them, in either order.
#[test]
fn operations_on_two_trees_keep_the_options_of_both() {
    let (plain, marked) = (parsed("[*, *]"), parsed("#[none_is_leaf] [*, *]"));
    for (first, second) in [(&plain, &marked), (&marked, &plain)] {
        let tree = |treedef: &TreeDef, leaf| Tree::new(treedef.clone(), vec![leaf; 2]).unwrap();
        let zipped = tree(first, 1).zip_with(tree(second, 2), |a, b| a + b).unwrap();
        assert_eq!(zipped.treedef().to_string(), "#[none_is_leaf] [*, *]");
        let stacked = Tree::stack([tree(first, 1), tree(second, 2)]).unwrap();
        assert_eq!(stacked.treedef(), &marked);
        let parts = [(first, [Some(1), None]), (second, [None, Some(2)])];
        let parts = parts.map(|(part, leaves)| Tree::new(part.clone(), leaves.into()).unwrap());
        assert_eq!(Tree::combine(parts).unwrap().treedef(), &marked);
    }
    let rows = Tree::new(parsed("#[none_is_leaf] [(*, *); 3]"), vec![1; 6]).unwrap();
    let transposed = rows.transpose(&parsed("[*; 3]"), &parsed("(*, *)")).unwrap();
    assert_eq!(transposed.treedef().to_string(), "#[none_is_leaf] ([*, *, *]; 2)");
}

#[test]
fn a_number_that_becomes_a_key_of_the_others_type_is_one_entry() {
    for (keys, path, whole) in [
        ("{0.5: *}", "[3]", "{0.5: 1, 3.0: 9}"),
        ("{0.5: *}", "[0.1f32]", "{0.1: 9, 0.5: 1}"),
        ("{0.5f32: *}", "[0.1f64]", "{0.1f32: 9, 0.5f32: 1}"),
        ("{7u8: *}", "[3]", "{3u8: 9, 7u8: 1}"),
    ] {
        let mut tree = Tree::new(parsed(keys), vec![1]).unwrap();
        assert_eq!(tree.insert(path, Tree::leaf(2)).unwrap(), None);
        assert_eq!(tree.insert(path, Tree::leaf(9)).unwrap(), Some(Tree::leaf(2)), "{keys} {path}");
        assert_eq!(tree.to_string(), whole);
    }
    // A rounded number is another key.
    for (keys, path) in [
        ("{16777216.0f32: *}", "[16777217]"),
        ("{9007199254740992.0: *}", "[9007199254740993]"),
        ("{0.1f32: *}", "[0.1000000001]"),
        ("{0.5: *}", "[170141183460469231731687303715884105727i128]"),
    ] {
        let mut tree = Tree::new(parsed(keys), vec![1]).unwrap();
        let error = tree.insert(path, Tree::leaf(2)).unwrap_err().to_string();
        assert!(error.starts_with("expected a key such as"), "{error}");
    }
}

#[test]
fn a_part_has_the_limits_of_the_whole() {
    let limits = Limits { max_depth: 1_000, ..Limits::default() };
    let deep = format!("{}*{}", "[".repeat(130), "]".repeat(130));
    let treedef = TreeDef::parse_with(&deep, limits).unwrap();
    let tuples = treedef.edit_up(|node| {
        assert_eq!(node.limits(), limits);
        Ok(match node.root().kind() {
            NodeKind::Seq => Edit::Replace(TreeDef::tuple(
                node.root().children().map(|child| child.to_treedef()),
            )?),
            _ => Edit::Keep,
        })
    });
    assert_eq!(tuples.unwrap().to_string(), format!("{}*{}", "(".repeat(130), ",)".repeat(130)));
}
