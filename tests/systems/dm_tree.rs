//! DeepMind's `tree`.

use indexmap::IndexMap;
use insta::assert_snapshot;
use treedef::{Edit, NodeKind, Tree, TreeDef};

use crate::common::{def, of, said, tree};

/// `{"b": [1, (2, 3)], "a": {"z": 4}}`
fn value() -> Tree<i32> {
    tree(VALUE, [4, 1, 2, 3])
}

const VALUE: &str = "{\"b\": [*, (*, *)], \"a\": {\"z\": *}}";

#[test]
fn leaves_come_with_their_paths() {
    assert_eq!(value().leaves(), [4, 1, 2, 3]);
    let named: Vec<(String, i32)> =
        value().iter().map(|(path, leaf)| (path.to_string(), *leaf)).collect();
    let expected =
        [("[\"a\"][\"z\"]", 4), ("[\"b\"][0]", 1), ("[\"b\"][1].0", 2), ("[\"b\"][1].1", 3)];
    assert_eq!(named, expected.map(|(path, leaf)| (path.to_owned(), leaf)));
}

#[test]
fn flat_leaves_are_put_into_the_structure() {
    let unflattened = Tree::new(def(VALUE), vec!["w", "x", "y", "z"]).unwrap();
    assert_eq!(unflattened.to_string(), "{\"a\": {\"z\": w}, \"b\": [x, (y, z)]}");
    // Unflattening restores the order of the dict.
    let value = IndexMap::from([("b".to_owned(), 1), ("a".to_owned(), 4)]);
    let structure = treedef::structure(&value).unwrap();
    let back: IndexMap<String, i32> = treedef::unflatten(&structure, [40, 10]).unwrap();
    assert_eq!(back.into_iter().collect::<Vec<_>>(), [("b".to_owned(), 10), ("a".to_owned(), 40)]);
    assert_snapshot!(said(Tree::new(def(VALUE), vec![1, 2, 3])), @"expected 4 leaves, found 3");
    assert_snapshot!(said(Tree::new(TreeDef::leaf(), vec![1, 2])), @"expected 1 leaf, found 2");
}

#[test]
fn subtrees_come_with_their_paths() {
    let subtrees = value().flatten_up_to(&def("{\"a\": *, \"b\": [*, *]}")).unwrap();
    let named: Vec<String> =
        subtrees.iter().map(|(path, subtree)| format!("{path} {subtree}")).collect();
    assert_eq!(named, ["[\"a\"] {\"z\": 4}", "[\"b\"][0] 1", "[\"b\"][1] (2, 3)"]);
    let printed = subtrees.map(|subtree| subtree.to_string());
    assert_eq!(printed.to_string(), "{\"a\": {\"z\": 4}, \"b\": [1, (2, 3)]}");
    assert_eq!(printed.leaves(), ["{\"z\": 4}", "1", "(2, 3)"]);
}

#[test]
fn a_walk_from_the_root_down_is_cut_short() {
    let mut visited = Vec::new();
    let cut = value().map(|leaf| leaf.to_string()).edit(|_, node, leaves| {
        if node.kind() == NodeKind::Tuple {
            return Ok(Edit::Replace(Tree::leaf("CUT".to_owned())));
        }
        visited.push(Tree::new(node.to_treedef(), leaves.to_vec())?.to_string());
        Ok(Edit::Keep)
    });
    assert_eq!(cut.unwrap().to_string(), "{\"a\": {\"z\": 4}, \"b\": [1, CUT]}");
    assert_eq!(
        visited,
        ["{\"a\": {\"z\": 4}, \"b\": [1, (2, 3)]}", "{\"z\": 4}", "4", "[1, (2, 3)]", "1"]
    );
}

/// `MAP_TO_NONE`, which exists because None means that the node stays.
#[test]
fn a_leaf_becomes_none() {
    let none = || Tree::new(def("None"), Vec::new());
    // The leaves are at or below a node, so the kind has to be checked, too.
    let without = value().edit(|_, node, leaves| {
        let four = node.kind() == NodeKind::Leaf && leaves == [4];
        Ok(if four { Edit::Replace(none()?) } else { Edit::Keep })
    });
    assert_eq!(without.unwrap().to_string(), "{\"a\": {\"z\": None}, \"b\": [1, (2, 3)]}");
}

#[test]
fn a_walk_from_the_leaves_up_sees_what_has_become_of_them() {
    let summed = value().edit_up(|_, subtree| {
        Ok(match subtree.treedef().root().kind() {
            NodeKind::Tuple | NodeKind::Seq => {
                Edit::Replace(Tree::leaf(subtree.leaves().iter().sum()))
            }
            _ => Edit::Keep,
        })
    });
    assert_eq!(summed.unwrap().to_string(), "{\"a\": {\"z\": 4}, \"b\": 6}");
}

#[test]
fn a_walk_has_the_paths() {
    let depths = value().map_with_path(|path, _| path.keys().len());
    assert_eq!(depths.to_string(), "{\"a\": {\"z\": 2}, \"b\": [2, (3, 3)]}");
}

#[test]
fn walks_meet_nodes_in_both_orders() {
    let list = tree("[(*, *), [*], {\"a\": *}]", [1, 2, 3, 4]);
    let root = "[(1, 2), [3], {\"a\": 4}]";
    let mut down = Vec::new();
    let walked = list.clone().edit(|_, node, leaves| {
        down.push(Tree::new(node.to_treedef(), leaves.to_vec())?.to_string());
        Ok(Edit::Keep)
    });
    assert_eq!(walked.unwrap(), list);
    assert_eq!(down, [root, "(1, 2)", "1", "2", "[3]", "3", "{\"a\": 4}", "4"]);
    let mut up = Vec::new();
    let walked = list.clone().edit_up(|_, subtree| {
        up.push(subtree.to_string());
        Ok(Edit::Keep)
    });
    assert_eq!(walked.unwrap(), list);
    assert_eq!(up, ["1", "2", "(1, 2)", "3", "[3]", "4", "{\"a\": 4}", root]);
}

/// `map_structure_up_to` skips keys that the shallow tree does not have. Ours refuses them; the wanted
/// ones are selected first.
#[test]
fn extra_keys_are_refused_unless_they_are_dropped() {
    let x = tree("{\"a\": *, \"m\": None}", [1]);
    let y = tree("{\"a\": *, \"m\": None}", [2]);
    let z = tree("{\"a\": *}", [3]);
    assert_snapshot!(said(x.clone().flatten_up_to(&def("{\"a\": *}"))), @r#"the prefix has nothing, the tree `None` at `["m"]`"#);
    let only_a = |mut tree: Tree<i32>| {
        if tree.treedef().node("[\"m\"]").is_ok() {
            tree.remove("[\"m\"]").unwrap();
        }
        tree
    };
    let sums = Tree::stack([x, y, z].map(only_a)).unwrap().map(|column| column.iter().sum::<i32>());
    assert_eq!(sums.to_string(), "{\"a\": 6}");
}

/// There the recipe has no path when it fails at a key: `Could not find key 'b' in some
/// input_trees`.
#[test]
fn a_missing_key_is_told_with_its_place() {
    assert_snapshot!(said(tree("{\"a\": {\"z\": *}}", [1]).flatten_up_to(&def("{\"a\": {\"z\": *}, \"b\": *}"))), @r#"the prefix has `*`, the tree nothing at `["b"]`"#);
    assert_snapshot!(said(tree("{\"a\": *}", [1]).flatten_up_to(&def("{\"a\": [*]}"))), @r#"the prefix has `[*]`, the tree `*` at `["a"]`"#);
}

/// dm-tree accepts only attrs classes and namedtuples. Ours: every struct is a node, with its fields
/// in declared order.
#[test]
fn structs_are_nodes_without_registration() {
    #[derive(serde::Serialize)]
    struct State {
        w: Vec<f64>,
        b: f64,
    }
    assert_eq!(
        of(&State { w: vec![1.0, 2.0], b: 3.0 }).to_string(),
        "State { w: [1.0, 2.0], b: 3.0 }"
    );
}
