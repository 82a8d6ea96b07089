//! optree: its features beyond JAX.

use std::collections::BTreeMap;
use std::net::IpAddr;

use indexmap::IndexMap;
use insta::assert_snapshot;
use serde::{Deserialize, Serialize};
use treedef::{
    Edit, Flattener, Leaf, Limits, MapOrder, NodeKind, NodeRef, Path, Tree, TreeDef, Value,
};

use crate::common::{def, numbered, of, path, paths, said, tree};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct NT {
    x: i32,
    y: (i32, i32),
}

/// optree's column of the table of strings: ours has names and options too, and parses back.
#[test]
fn values_print_with_their_names() {
    let io = Flattener::new().map_order(MapOrder::Insertion);
    let map = IndexMap::from([("b", 1), ("a", 2)]);
    let rows = [
        (treedef::structure(&map), "{\"a\": *, \"b\": *}"),
        (io.structure(&map), "#[insertion] {\"b\": *, \"a\": *}"),
        (Flattener::new().none_is_leaf(true).structure(&None::<u8>), "#[none_is_leaf] *"),
        (treedef::structure(&NT { x: 1, y: (2, 3) }), "NT { x: *, y: (*, *) }"),
        (treedef::structure(&BTreeMap::from([((1, 2), 0)])), "{(1, 2): *}"),
        (treedef::structure(&BTreeMap::from([(true, 0), (false, 1)])), "{false: *, true: *}"),
        (treedef::structure("text"), "*"),
    ];
    for (treedef, text) in rows {
        let treedef = treedef.unwrap();
        assert_eq!(treedef.to_string(), text);
        assert_eq!(def(text), treedef);
    }
    assert_eq!(def("{\"a\": *, 1: *}").to_string(), "{1: *, \"a\": *}");
}

#[test]
fn nones_are_replaced_by_a_sentinel() {
    let none_is_leaf = Flattener::new().none_is_leaf(true);
    let (leaves, treedef) = none_is_leaf.flatten(&vec![Some(1), None, Some(3)]).unwrap();
    let filled =
        leaves.into_iter().map(|leaf| if leaf == Leaf::None { Leaf::I32(0) } else { leaf });
    let filled: Vec<i32> = treedef::unflatten(&treedef, filled.collect::<Vec<_>>()).unwrap();
    assert_eq!(filled, [1, 0, 3]);
}

#[test]
fn both_sides_grow_to_their_common_suffix() {
    let (a, b) = (tree("(*, (*, *))", [1, 2, 3]), tree("((*, *), *)", [4, 5, 6]));
    let both = a.treedef().common_suffix(b.treedef()).unwrap();
    assert_eq!(a.broadcast_to(&both).unwrap().to_string(), "((1, 1), (2, 3))");
    assert_eq!(b.broadcast_to(&both).unwrap().to_string(), "((4, 5), (6, 6))");
    // `tree_broadcast_map`.
    let sums =
        a.broadcast_to(&both).unwrap().zip_with(b.broadcast_to(&both).unwrap(), |a, b| a + b);
    assert_eq!(sums.unwrap().to_string(), "((5, 6), (8, 9))");
}

/// `tree_transpose_map`: the inner structure is the structure of the outputs.
#[test]
fn outputs_are_transposed() {
    let inputs = tree("{\"a\": *, \"b\": *}", [1, 2]);
    let outer = inputs.treedef().clone();
    let inner = treedef::structure(&NT { x: 0, y: (0, 0) }).unwrap();
    let outputs = inputs.try_map(|x| Tree::new(inner.clone(), vec![x, 10 * x, 100 * x]));
    let outputs = outputs.unwrap().compose().unwrap();
    let inner = outputs.treedef().inner_of(&outer).unwrap();
    assert_eq!(
        outputs.transpose(&outer, &inner).unwrap().to_string(),
        "NT { x: {\"a\": 1, \"b\": 2}, y: ({\"a\": 10, \"b\": 20}, {\"a\": 100, \"b\": 200}) }"
    );
}

#[test]
fn trees_are_told_apart_by_a_predicate() {
    let (even, odd) =
        tree("[*, (*, *)]", [1, 2, 3]).partition(|_: &_, leaf: &i32| leaf % 2 == 0).unwrap();
    assert_eq!(even.leaves(), [None, Some(2), None]);
    assert_eq!(odd.leaves(), [Some(1), None, Some(3)]);
}

/// Ours: iterators over the slice of the leaves. Without leaves they return None where optree
/// raises.
#[test]
fn leaves_have_a_sum_a_least_and_a_largest() {
    let tree = tree("{\"a\": *, \"b\": [*, *]}", [3, 1, 2]);
    let leaves = tree.leaves().iter();
    assert_eq!(
        (leaves.clone().sum::<i32>(), leaves.clone().min(), leaves.max()),
        (6, Some(&1), Some(&3))
    );
    assert_eq!(numbered("[None, ()]").leaves().iter().max(), None);
    let names = of(&("ab", ["c", "d"]));
    assert_eq!(names.leaves().iter().filter_map(Leaf::as_str).collect::<String>(), "abcd");
}

#[test]
fn prefixes_are_a_partial_order() {
    let chain = ["*", "[*, *]", "[(*, *), *]", "[(*, *), {\"a\": *}]"].map(def);
    for (low, a) in chain.iter().enumerate() {
        for (high, b) in chain.iter().enumerate() {
            assert_eq!(a.is_prefix_of(b), low <= high, "{a} and {b}");
        }
    }
    let (a, b) = (def("[(*, *), *]"), def("[*, (*, *)]"));
    assert!(!a.is_prefix_of(&b) && !b.is_prefix_of(&a));
    // Ours: keys in another order are another structure only where the order is part of it.
    assert!(def("{\"b\": *, \"a\": *}").is_prefix_of(&def("{\"a\": *, \"b\": *}")));
    assert!(
        !def("#[insertion] {\"b\": *, \"a\": *}")
            .is_prefix_of(&def("#[insertion] {\"a\": *, \"b\": *}"))
    );
    // optree: dict and OrderedDict are interchangeable. Ours: their options have to agree.
    assert!(!def("{\"a\": *}").is_prefix_of(&def("#[insertion] {\"a\": *}")));
    // An operation with a prefix accepts other options, if no node of either depends on them.
    for (prefix, full, is_taken) in [
        ("{\"a\": *}", "#[none_is_leaf] {\"a\": *}", true),
        ("(*, [*])", "#[insertion] ({\"a\": *}, [*])", true),
        ("(*, None)", "#[none_is_leaf] (*, None)", false),
        ("({\"a\": *}, *)", "#[insertion] ({\"a\": *}, *)", false),
    ] {
        let (prefix, full) = (def(prefix), def(full));
        let leaves = vec![1; prefix.num_leaves()];
        let broadcast = Tree::new(prefix, leaves).unwrap().broadcast_to(&full);
        assert_eq!(broadcast.is_ok(), is_taken, "{full}");
    }
}

#[test]
fn a_structure_knows_its_paths_and_children() {
    let treedef = def("{\"a\": NT { x: *, y: (*, *) }, \"b\": [*]}");
    assert_eq!(paths(&treedef), ["[\"a\"].x", "[\"a\"].y.0", "[\"a\"].y.1", "[\"b\"][0]"]);
    let root = treedef.root();
    let entries: Vec<String> =
        (0..root.num_children()).filter_map(|at| root.key(at)).map(|key| key.to_string()).collect();
    assert_eq!(entries, ["[\"a\"]", "[\"b\"]"]);
    assert_eq!((root.kind(), root.num_children()), (NodeKind::Map, 2));
    assert_eq!((treedef.num_leaves(), treedef.num_nodes()), (4, 8));
    assert_eq!(root.child(0).unwrap().name(), Some("NT"));
    // Ours: no negative positions.
    assert!(root.child(2).is_none());
}

/// The docs of `is_prefix_of`: structures that are prefixes of each other are equal.
#[test]
fn prefixes_of_each_other_are_equal() {
    let (a, b) = (def("#[none_is_leaf] [*]"), def("[*]"));
    assert_eq!(a.is_prefix_of(&b) && b.is_prefix_of(&a), a == b);
    assert_eq!(a.check_equal(&b).is_ok(), a == b);
}

/// optree: `PyTreeSpecs must have the same none_is_leaf value.` Ours joins structures that do not depend
/// on an option, and must not lose an option on which one depends.
#[test]
fn the_compact_form_is_not_forgotten() {
    let address: IpAddr = "1.2.3.4".parse().unwrap();
    let (leaves, compact) = Flattener::new().compact(true).flatten(&address).unwrap();
    assert_eq!(compact, def("#[compact] IpAddr::V4((*, *, *, *))"));
    assert_eq!(treedef::unflatten::<IpAddr>(&compact, &leaves).unwrap(), address);
    let subtree = Tree::new(compact.clone(), leaves.clone()).unwrap();
    let mut list = tree("[*]", [Leaf::None]);
    let joined = [
        def("[*]").compose(&compact),
        TreeDef::seq([def("[]"), compact]),
        list.replace("[0]", subtree).map(|_| list.into_parts().0),
    ];
    for treedef in joined {
        assert!(treedef.unwrap().to_string().starts_with("#[compact] "));
    }
}

/// A leaf may be a None where None is a leaf.
#[test]
fn that_none_is_a_leaf_is_not_forgotten() {
    let none_is_leaf = Flattener::new().none_is_leaf(true);
    let value = (None::<i32>, Some(1));
    let pair = none_is_leaf.structure(&value).unwrap();
    // A map depends on the options, so the two do not go together; a sequence goes with any.
    let error = def("{\"a\": *}").compose(&pair).unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected no options, found `#[none_is_leaf]` at the root (one was flattened with `none_is_leaf`, the other without: use one `Flattener` for both)"
    );
    let composed = def("[*]").compose(&pair).unwrap();
    let mut leaves = Vec::<Leaf>::new();
    composed.flatten_like(&vec![value], &mut leaves).unwrap();
    assert_eq!(leaves, [Leaf::None, Leaf::I32(1)]);
    assert_eq!(
        treedef::unflatten::<Vec<(Option<i32>, Option<i32>)>>(&composed, leaves).unwrap(),
        [value]
    );
}

/// `one_level`: the node with leaves for children.
#[test]
fn a_node_is_seen_alone() {
    let treedef = def("{\"a\": NT { x: *, y: (*, *) }, \"b\": [*]}");
    // `map_structure` continues below a node that stays, so the root is the first node that it visits.
    let mut below = false;
    let one_level = treedef.edit(|_| {
        Ok(if std::mem::replace(&mut below, true) {
            Edit::Replace(TreeDef::leaf())
        } else {
            Edit::Keep
        })
    });
    assert_eq!(one_level.unwrap(), def("{\"a\": *, \"b\": *}"));
}

#[test]
fn structures_are_made_without_a_value() {
    let leaf = TreeDef::leaf;
    let rows = [
        (Ok(leaf()), "*"),
        ("None".parse(), "None"),
        (TreeDef::tuple([leaf(), leaf()]), "(*, *)"),
        (TreeDef::seq([leaf(), def("None")]), "[*, None]"),
        (
            TreeDef::map([(Value::of("b").unwrap(), leaf()), (Value::of("a").unwrap(), leaf())]),
            "{\"a\": *, \"b\": *}",
        ),
        (TreeDef::named_struct("NT", [("x", leaf()), ("y", leaf())]), "NT { x: *, y: * }"),
        // `from_collection`.
        (treedef::structure(&vec![(1, 2)]), "[(*, *)]"),
    ];
    for (made, text) in rows {
        assert_eq!(made.unwrap().to_string(), text);
    }
}

/// `transform(f_node, f_leaf)`.
#[test]
fn structures_are_rewritten_node_by_node() {
    let made = def("[*, [*, None]]").edit_up(|node| {
        Ok(match node.root().kind() {
            NodeKind::Leaf => Edit::Replace(def("{\"leaf\": *}")),
            NodeKind::Seq => {
                Edit::Replace(TreeDef::tuple(node.root().children().map(NodeRef::to_treedef))?)
            }
            _ => Edit::Keep,
        })
    });
    assert_eq!(made.unwrap(), def("({\"leaf\": *}, ({\"leaf\": *}, None))"));
}

/// optree's accessors fetch; ours set, too.
#[test]
fn paths_fetch_and_set() {
    let value = BTreeMap::from([("a".to_owned(), vec![NT { x: 1, y: (2, 3) }])]);
    let mut tree = of(&value);
    let y1: Path = tree.treedef().leaf_path(2).unwrap();
    assert_eq!(y1.to_string(), "[\"a\"][0].y.1");
    assert_eq!(tree.get(&y1).unwrap(), &Leaf::I32(3));
    *tree.get_mut(&y1).unwrap() = Leaf::I32(30);
    let value: BTreeMap<String, Vec<NT>> = tree.into_typed().unwrap();
    assert_eq!(value["a"][0].y, (2, 30));
    // `codify`: the same text. A name that is none in Python stands in backquotes.
    assert_eq!(path(".`bad name`[0]").to_string(), ".`bad name`[0]");
    let joined: Path = path("[\"a\"]").keys().iter().chain(path("[0].x").keys()).cloned().collect();
    assert_eq!(joined, path("[\"a\"][0].x"));
}

/// optree's list of texts, without paths.
#[test]
fn what_differs_is_told_with_its_path() {
    let refused = |expected: &str, found: &str| said(def(found).check_equal(&def(expected)));
    assert_snapshot!(refused("[*]", "(*,)"), @"expected `[*]`, found `(*,)` at the root");
    assert_snapshot!(refused("(*, *)", "(*, *, *)"), @"expected 2 children, found 3 children at the root");
    assert_snapshot!(refused("{\"a\": *, \"b\": *}", "{\"a\": *, \"c\": *}"), @r#"expected `*`, found nothing at `["b"]`, and 1 more difference"#);
    assert_snapshot!(refused("{\"a\": *}", "[*]"), @r#"expected `{"a": *}`, found `[*]` at the root"#);
    assert_snapshot!(refused("None", "*"), @"expected `None`, found `*` at the root");
    assert_snapshot!(refused("[A { x: * }]", "[B { x: * }]"), @"expected `A { x: * }`, found `B { x: * }` at `[0]`");
    assert_snapshot!(refused("[static \"m\"]", "[static \"n\"]"), @r#"expected `static "m"`, found `static "n"` at `[0]` (statics are part of the structure; to ignore them, see `Flattener::ignore_statics`)"#);
    assert_snapshot!(refused("#[insertion] {\"a\": *}", "{\"a\": *}"), @"expected `#[insertion]`, found no options at the root (use one `Flattener` for both)");
    assert_snapshot!(said(def("[*, *]").common_suffix(&def("[*, *, *]"))), @"expected 2 children, found 3 children at the root");
    assert_snapshot!(said(def("#[insertion] {\"a\": *}").compose(&def("{\"b\": *}"))), @"expected `#[insertion]`, found no options at the root (use one `Flattener` for both)");
    // Ours: options concern only the nodes that depend on them: maps and Nones.
    assert_eq!(
        def("#[none_is_leaf] [*]").compose(&def("(*, *)")).unwrap(),
        def("#[none_is_leaf] [(*, *)]")
    );
    assert_snapshot!(said(def("[*]").leaf_path(1)), @"no leaf 1, the treedef has 1 leaf");
    assert_snapshot!(said(numbered("(*, *)").transpose(&def("(*, *)"), &def("(*, *)"))), @"expected `(*, *)`, found `*` at `.0`");
}

/// `prefix_errors`: all of them.
#[test]
fn all_differences_from_a_prefix_are_told() {
    let (prefix, full) =
        ("{\"a\": [*], \"b\": None, \"c\": *}", "{\"a\": (*,), \"b\": *, \"c\": [*]}");
    let error = numbered(full).flatten_up_to(&def(prefix)).unwrap_err();
    let told: Vec<String> = error.differences().iter().map(|it| it.path.to_string()).collect();
    assert_eq!(told, ["[\"a\"]", "[\"b\"]"]);
}

#[test]
fn too_deep_is_an_error_with_a_limit_that_can_be_set() {
    #[derive(Serialize, Deserialize)]
    struct Nest(Option<Box<Nest>>);
    let nest = |levels: usize| (0..levels).fold(Nest(None), |nest, _| Nest(Some(Box::new(nest))));
    assert_snapshot!(said(treedef::structure(&nest(100))).rsplit(" at ").last().unwrap(), @"nested deeper than 128 levels");
    let deep = Flattener::new()
        .limits(Limits { max_depth: 400, ..Limits::default() })
        .structure(&nest(100))
        .unwrap();
    assert_eq!((deep.num_leaves(), deep.num_nodes()), (0, 202));
    // A structure may be deeper than the limit; printing, comparing and paths are loops.
    let deeper = format!("{}*{}", "[".repeat(2_000), "]".repeat(2_000));
    let deeper =
        TreeDef::parse_with(&deeper, Limits { max_depth: 2_000, ..Limits::default() }).unwrap();
    assert_eq!(paths(&deeper)[0].len(), 3 * 2_000);
}
