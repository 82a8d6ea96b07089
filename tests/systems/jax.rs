//! JAX: `jax.tree`, `jax.tree_util`, `jax.flatten_util`.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use insta::assert_snapshot;
use serde::{Deserialize, Serialize};
use treedef::{Edit, Flattener, Leaf, MapOrder, NodeKind, NodeRef, Tree, TreeDef};

use crate::common::{def, numbered, of, path, paths, said, tree};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct NT<T> {
    x: u8,
    y: T,
}

#[test]
fn paths_render_as_in_the_table() {
    // Ours, `simple` with `/`.
    let rows = [
        ("", ""),
        ("[0]", "0"),
        ("[\"a\"]", "a"),
        ("[1i32]", "1"),
        ("[\"1\"]", "1"),
        ("[(1i32, 2i32)]", "(1, 2)"),
        ("[None]", "None"),
        (".x", "x"),
        ("[\"a\"].y.x", "a/y/x"),
        // Ours: nodes without field names have positions. JAX has `[<flat index 1>]` for nodes without
        // keys.
        ("[\"p\"].1[\"k\"]", "p/1/k"),
    ];
    for (ours, simple) in rows {
        let path = path(ours);
        assert_eq!(
            (path.to_string(), path.to_joined_string("/")),
            (ours.to_owned(), simple.to_owned())
        );
    }
}

#[test]
fn leaves_have_their_paths() {
    let value = BTreeMap::from([("a", NT { x: 1, y: (2, 3) }), ("b", NT { x: 4, y: (5, 6) })]);
    let named: Vec<(String, Leaf)> =
        of(&value).iter().map(|(path, leaf)| (path.to_string(), leaf.clone())).collect();
    let expected: [(&str, Leaf); 6] = [
        (r#"["a"].x"#, 1u8.into()),
        (r#"["a"].y.0"#, 2.into()),
        (r#"["a"].y.1"#, 3.into()),
        (r#"["b"].x"#, 4u8.into()),
        (r#"["b"].y.0"#, 5.into()),
        (r#"["b"].y.1"#, 6.into()),
    ];
    assert_eq!(named, expected.map(|(path, leaf)| (path.to_owned(), leaf)));
}

#[test]
fn a_tree_is_rebuilt_from_just_as_many_leaves() {
    let treedef = def("[*, (*, *)]");
    assert_eq!(said(Tree::new(treedef.clone(), vec![1, 2])), "expected 3 leaves, found 2");
    assert_eq!(said(Tree::new(treedef, vec![1, 2, 3, 4])), "expected 3 leaves, found 4");
    let rebuilt: NT<(u8, u8)> =
        treedef::unflatten(&def("NT { x: *, y: (*, *) }"), [1u8, 2, 3]).unwrap();
    assert_eq!(rebuilt, NT { x: 1, y: (2, 3) });
}

#[test]
fn none_is_a_node_without_leaves() {
    let full = numbered("[*, None]");
    // JAX: tree_map(f, [1, 2], [1, None]) passes None to f.
    let passed = full.flatten_up_to(&def("[*, *]")).unwrap();
    assert_eq!(passed.leaves()[1].treedef(), &def("None"));
    // Ours: the map of two trees is strict; another method accepts a prefix.
    assert_snapshot!(said(numbered("[*, *]").zip_with(full.clone(), |a, _| a)), @"expected `*`, found `None` at `[1]`");
    // JAX: tree_map(f, [1, None], [1, 2]) is an error, and so is it here.
    assert_snapshot!(said(numbered("[*, *]").flatten_up_to(full.treedef())), @"the prefix has `None`, the tree `*` at `[1]` (for a `None` in the place of a leaf, flatten the prefix with `none_is_leaf`)");
}

#[test]
fn none_is_a_leaf_when_told_so() {
    let none_is_leaf = Flattener::new().none_is_leaf(true);
    let leaf = none_is_leaf.structure(&vec![None::<u8>]).unwrap();
    assert_eq!(leaf, none_is_leaf.structure(&vec![1]).unwrap());
    // Ours: the option belongs to the structure, so that unflatten and comparison know of it.
    assert_eq!(leaf.to_string(), "#[none_is_leaf] [*]");
    assert_ne!(leaf, def("[*]"));
}

/// JAX: a function that returns None removes the leaf. Ours: holes are `Option`s, and leaves are dropped
/// by name.
#[test]
fn leaves_are_dropped_on_purpose_only() {
    let even = |_: &treedef::Path, leaf: &usize| leaf.is_multiple_of(2);
    let (kept, _) = numbered("[*, *, *]").partition(even).unwrap();
    assert_eq!(kept.leaves(), [Some(0), None, Some(2)]);
    assert_eq!(kept.treedef(), &def("[*, *, *]"));
    let dropped = numbered("{\"a\": *, \"b\": *, \"c\": *}").filter(even).unwrap();
    assert_eq!(dropped.to_string(), "{\"a\": 0, \"c\": 2}");
}

#[test]
fn maps_take_prefixes_when_told_so() {
    let (rates, full) = (tree("[*, *]", [10, 100]), tree("[(*, *), {\"a\": *}]", [1, 2, 3]));
    let each = rates.broadcast_to(full.treedef()).unwrap();
    assert_eq!(each.to_string(), "[(10, 10), {\"a\": 100}]");
    assert_eq!(each.zip_with(full.clone(), |a, b| a * b).unwrap().leaves(), [10, 20, 300]);
    let sizes = full.flatten_up_to(rates.treedef()).unwrap().map(|tree| tree.leaves().len());
    assert_eq!(rates.zip_with(sizes, |a, b| a + b as i32).unwrap().leaves(), [12, 101]);
}

/// JAX's four blocks about a structure that is no prefix.
#[test]
fn the_first_difference_is_told_with_its_path() {
    let refused = |prefix: &str, full: &str| said(numbered(prefix).broadcast_to(&def(full)));
    assert_snapshot!(refused("{\"a\": [*, *]}", "{\"a\": (*, *)}"), @r#"the prefix has `[*, *]`, the tree `(*, *)` at `["a"]`"#);
    assert_snapshot!(refused("{\"a\": [*, *]}", "{\"a\": [*]}"), @r#"the prefix has 2 children, the tree 1 child at `["a"]`"#);
    assert_snapshot!(refused("{\"q\": {\"a\": *}}", "{\"q\": {\"a\": *, \"c\": *}}"), @r#"the prefix has nothing, the tree `*` at `["q"]["c"]`"#);
    assert_snapshot!(refused("{\"q\": {\"a\": *, \"b\": *}}", "{\"q\": {\"a\": *, \"c\": *}}"), @r#"the prefix has `*`, the tree nothing at `["q"]["b"]`, and 1 more difference"#);
}

/// JAX's table for `flatten_up_to`, which has no paths.
#[test]
fn what_is_no_prefix_is_refused() {
    let refused = |prefix: &str, full: &str| said(numbered(full).flatten_up_to(&def(prefix)));
    assert_snapshot!(refused("[*]", "(*,)"), @"the prefix has `[*]`, the tree `(*,)` at the root");
    assert_snapshot!(refused("(*,)", "[*]"), @"the prefix has `(*,)`, the tree `[*]` at the root");
    assert_snapshot!(refused("(*, *)", "(*, *, *)"), @"the prefix has 2 children, the tree 3 children at the root");
    assert_snapshot!(refused("[*, *]", "[*, *, *]"), @"the prefix has 2 children, the tree 3 children at the root");
    assert_snapshot!(refused("{\"a\": *, \"b\": *}", "{\"a\": *, \"c\": *}"), @r#"the prefix has `*`, the tree nothing at `["b"]`, and 1 more difference"#);
    assert_snapshot!(refused("None", "*"), @"the prefix has `None`, the tree `*` at the root (for a `None` in the place of a leaf, flatten the prefix with `none_is_leaf`)");
    assert_snapshot!(refused("NT { x: *, y: * }", "(*, *)"), @"the prefix has `NT { x: *, y: * }`, the tree `(*, *)` at the root");
    assert_snapshot!(refused("NT { x: *, y: * }", "NT1 { only: * }"), @"the prefix has `NT { x: *, y: * }`, the tree `NT1 { only: * }` at the root, and 3 more differences");
    assert_snapshot!(refused("NT { x: *, y: * }", "Other { x: *, y: * }"), @"the prefix has `NT { x: *, y: * }`, the tree `Other { x: *, y: * }` at the root");
    assert_snapshot!(refused("D { x: *, op: static \"add\" }", "D { x: *, op: static \"mul\" }"), @r#"the prefix has `static "add"`, the tree `static "mul"` at `.op`"#);
    assert_snapshot!(refused("#[insertion] {\"a\": *, \"b\": *}", "#[insertion] {\"b\": *, \"a\": *}"), @r#"the prefix has `["a"]`, `["b"]`, the tree `["b"]`, `["a"]` at the root"#);
}

/// JAX's `equality_errors`: texts there, data here.
#[test]
fn all_differences_are_data() {
    let expected = def("{\"k\": [*, *], \"m\": {\"l\": *}, \"n\": (*, *)}");
    let found = def("{\"k\": [*], \"m\": {}, \"n\": [*, *]}");
    let error = found.check_equal(&expected).unwrap_err();
    let differences: Vec<String> = error
        .differences()
        .iter()
        .map(|it| format!("{} {:?} {} {}", it.path, it.kind, it.expected, it.found))
        .collect();
    assert_snapshot!(differences.join("\n"), @r#"
    ["k"] Length 2 children 1 child
    ["m"]["l"] Missing `*` nothing
    ["n"] Node `(*, *)` `[*, *]`
    "#);
}

#[test]
fn a_list_of_tuples_becomes_a_tuple_of_lists() {
    let points = of(&vec![(1, 2, 3), (4, 5, 6)]);
    let turned = points.transpose(&def("[*, *]"), &def("(*, *, *)")).unwrap();
    assert_eq!(turned.to_string(), "([1, 4], [2, 5], [3, 6])");
    // JAX: inner=None. Ours: `inner_of`.
    let inner = turned.treedef().inner_of(&def("(*, *, *)")).unwrap();
    assert_eq!(inner, def("[*, *]"));
    let back: Vec<(i32, i32, i32)> =
        turned.transpose(&def("(*, *, *)"), &inner).unwrap().into_typed().unwrap();
    assert_eq!(back, [(1, 2, 3), (4, 5, 6)]);
}

#[test]
fn numbers_are_ravelled_and_come_back_in_their_kinds() {
    let (vector, ravel) = of(&(vec![1, 2], 0.5f32)).ravel().unwrap();
    assert_eq!(vector, [1.0, 2.0, 0.5]);
    let back: (Vec<i32>, f32) = ravel.unravel(&[3.0, 4.0, 1.5]).unwrap().into_typed().unwrap();
    assert_eq!(back, (vec![3, 4], 1.5));
    let (empty, _) = of(&Vec::<f32>::new()).ravel().unwrap();
    assert!(empty.is_empty());
    assert_snapshot!(said(ravel.unravel(&[0.0; 7])), @"expected 3 leaves, found 7");
    // JAX: another dtype is a TypeError. Ours: a vector of `f64` whose numbers have to fit their
    // leaves.
    assert_snapshot!(said(ravel.unravel(&[0.5, 1.0, 1.0])), @"0.5 does not fit into i32 at `.0[0]`");
    let (_, same) = of(&(vec![7, 8], 9.5f32)).ravel().unwrap();
    assert_eq!(same, ravel);
}

/// Ours: the leaves are a slice, whose iterators fold, so there is no `tree_reduce`, `tree_all` and
/// so on.
#[test]
fn leaves_are_folded() {
    let tree = numbered("[*, {\"a\": (*, *)}]");
    assert_eq!(tree.leaves().iter().sum::<usize>(), 3);
    assert!(!tree.leaves().iter().all(|leaf| *leaf > 0));
    assert_eq!(numbered("[]").leaves().iter().copied().reduce(|a, b| a + b), None);
}

#[test]
fn structures_are_taken_apart_and_put_together() {
    let treedef = def("[*, (None, {\"a\": *})]");
    let children: Vec<TreeDef> = treedef.root().children().map(NodeRef::to_treedef).collect();
    assert_eq!(children, [def("*"), def("(None, {\"a\": *})")]);
    assert_eq!(TreeDef::seq(children).unwrap(), treedef);
    assert_eq!(TreeDef::tuple([def("*"), def("[]")]).unwrap(), def("(*, [])"));
    // `node_data` and `from_node_data_and_children`.
    let node = treedef.root().child(1).unwrap().child(1).unwrap();
    assert_eq!(
        (node.kind(), node.entry_keys()[0].to_string()),
        (NodeKind::Map, "\"a\"".to_owned())
    );
    let rebuilt = TreeDef::map(
        node.entry_keys().iter().cloned().zip(node.children().map(NodeRef::to_treedef)),
    );
    assert_eq!(rebuilt.unwrap(), node.to_treedef());
    assert_eq!((treedef.num_leaves(), treedef.num_nodes()), (2, 6));
    assert_eq!(def("[*, None]").compose(&def("(*, *)")).unwrap(), def("[(*, *), None]"));
    // JAX: `treedef_is_leaf` holds for `()` and None too, whose number of nodes is 1.
    let kinds = ["*", "()", "None"].map(|text| def(text).root().kind() == NodeKind::Leaf);
    assert_eq!(kinds, [true, false, false]);
}

/// JAX's `walk`: a fold from the leaves up.
#[test]
fn nodes_are_folded_from_the_leaves_up() {
    let summed = tree("[*, (*, *)]", [1, 2, 3]).edit_up(|_, subtree| {
        Ok(Edit::Replace(Tree::leaf(10 * subtree.leaves().iter().sum::<i32>())))
    });
    assert_eq!(summed.unwrap(), Tree::leaf(10 * (10 + 10 * (20 + 30))));
}

/// `is_leaf` in JAX gets the value; ours gets the path, the kind and the names of the node.
#[test]
fn subtrees_are_leaves_when_told_so() {
    let tuples = Flattener::new().opaque_where(|_, node| node.kind == NodeKind::Tuple);
    let (leaves, treedef) = tuples.flatten(&vec![(1, 2), (3, 4)]).unwrap();
    assert_eq!(treedef, def("[*, *]"));
    assert_eq!(leaves[1].clone().into_typed::<(i32, i32)>().unwrap(), (3, 4));
    let second = Flattener::new().opaque_where(|path, _| path.to_string() == "[1]");
    assert_eq!(second.structure(&vec![(1, 2), (3, 4)]).unwrap(), def("[(*, *), *]"));
}

/// JAX prints `CustomNode(OrderedDict[('b', 'a')], [*, *])`; ours is a dict that begins with its
/// order.
#[test]
fn a_map_keeps_its_order_in_the_structure_when_told_so() {
    let map = IndexMap::from([("b", 1), ("a", 2)]);
    let ordered = Flattener::new().map_order(MapOrder::Insertion);
    let treedef = ordered.structure(&map).unwrap();
    assert_eq!(treedef.to_string(), "#[insertion] {\"b\": *, \"a\": *}");
    assert_eq!(paths(&treedef), ["[\"b\"]", "[\"a\"]"]);
    assert_ne!(treedef, ordered.structure(&IndexMap::from([("a", 1), ("b", 2)])).unwrap());
}

/// `vmap(f, in_axes=(None, {"k1": None, "k2": 0}))`, from the documents of `vmap`.
#[test]
fn in_axes_are_a_prefix_with_none_as_a_leaf() {
    use std::collections::BTreeMap;

    let arguments =
        Tree::of(&(vec![1.0, 2.0], BTreeMap::from([("k1", [3.0]), ("k2", [4.0])]))).unwrap();
    let none_is_leaf = Flattener::new().none_is_leaf(true);
    let axes = (None::<i32>, BTreeMap::from([("k1", None), ("k2", Some(0))]));
    let axes = none_is_leaf.tree(&axes).unwrap();
    let broadcast = axes.broadcast_to(arguments.treedef()).unwrap();
    assert_eq!(broadcast.leaves(), [Leaf::None, Leaf::None, Leaf::None, Leaf::I32(0)]);
    assert_eq!(arguments.flatten_up_to(axes.treedef()).unwrap().leaves().len(), 3);

    let typed = Tree::of(&(None::<i32>, 0)).unwrap();
    let error = typed.broadcast_to(Tree::of(&([1.0], 2.0)).unwrap().treedef()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the prefix has `None`, the tree `(*,)` at `.0` (for a `None` in the place of a leaf, flatten the prefix with `none_is_leaf`)"
    );
}
