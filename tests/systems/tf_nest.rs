//! TensorFlow: `tf.nest` and `tensorflow.python.util.nest`.

use indexmap::IndexMap;
use insta::assert_snapshot;
use serde::{Deserialize, Serialize};
use serde_json::json;
use treedef::{Edit, Flattener, Leaf, NodeKind, NodeRef, Tree, TreeDef};

use crate::common::{def, of, pattern, said, tree};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Pt {
    x: i32,
    y: Vec<i32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Entry {
    Point(Pt),
    Dict { z: i32 },
    Empty(()),
}

type Dict = IndexMap<String, Entry>;

fn value() -> Dict {
    IndexMap::from([
        ("b".to_owned(), Entry::Point(Pt { x: 1, y: vec![2, 3] })),
        ("a".to_owned(), Entry::Dict { z: 4 }),
        ("c".to_owned(), Entry::Empty(())),
    ])
}

/// The numbers of the value. `Entry::Dict` is a struct variant without its tag, so a struct here
/// and a dict there.
fn numbers() -> Tree<i32> {
    of(&value()).try_map(i32::try_from).unwrap()
}

const SHALLOW: &str = "{\"a\": *, \"b\": *, \"c\": *}";

#[test]
fn leaves_come_in_the_order_of_the_keys() {
    assert_eq!(numbers().leaves(), [4, 1, 2, 3]);
}

#[test]
fn paths_are_joined_by_any_separator() {
    let joined = |separator: &str| -> Vec<(String, i32)> {
        numbers().iter().map(|(path, leaf)| (path.to_joined_string(separator), *leaf)).collect()
    };
    let expected = |paths: [&str; 4]| paths.map(str::to_owned).into_iter().zip([4, 1, 2, 3]);
    assert_eq!(joined("/"), expected(["a/z", "b/x", "b/y/0", "b/y/1"]).collect::<Vec<_>>());
    assert_eq!(joined("."), expected(["a.z", "b.x", "b.y.0", "b.y.1"]).collect::<Vec<_>>());
}

/// Leaves of another type make a tree, as the value's own type has no room for them.
#[test]
fn a_flat_sequence_is_packed_as_an_example() {
    let structure = treedef::structure(&value()).unwrap();
    let packed = Tree::new(structure.clone(), vec!["w", "x", "y", "z"]).unwrap();
    // As text, so that the order of the entries counts: it is the value's own.
    assert_eq!(
        serde_json::to_string(&packed).unwrap(),
        r#"{"b":{"x":"x","y":["y","z"]},"a":{"z":"w"},"c":null}"#
    );
    let typed: IndexMap<String, Entry> = treedef::unflatten(&structure, [40, 10, 20, 30]).unwrap();
    assert_eq!(typed.keys().collect::<Vec<_>>(), ["b", "a", "c"]);
    assert_eq!(typed["b"], Entry::Point(Pt { x: 10, y: vec![20, 30] }));
    assert_snapshot!(said(Tree::new(structure, vec![1, 2, 3])), @"expected 4 leaves, found 3");
    assert_snapshot!(said(treedef::unflatten::<i32>(&TreeDef::leaf(), [1, 2])), @"expected 1 leaf, found 2");
}

#[test]
fn structures_are_mapped_together() {
    let squares = numbers().zip_with(numbers(), |a, b| a * b).unwrap();
    let squares: Dict = squares.map(Leaf::from).into_typed().unwrap();
    let expected = [
        ("b", Entry::Point(Pt { x: 1, y: vec![4, 9] })),
        ("a", Entry::Dict { z: 16 }),
        ("c", Entry::Empty(())),
    ];
    assert!(squares.into_iter().eq(expected.map(|(key, entry)| (key.to_owned(), entry))));
}

#[test]
fn trees_are_flattened_up_to_a_shallow_one() {
    let subtrees = numbers().flatten_up_to(&def(SHALLOW)).unwrap();
    let printed: Vec<String> = subtrees.leaves().iter().map(Tree::to_string).collect();
    assert_eq!(printed, ["Entry { z: 4 }", "Pt { x: 1, y: [2, 3] }", "()"]);
    let sizes = subtrees.map(|subtree| subtree.leaves().len());
    assert_eq!(sizes.to_string(), "{\"a\": 1, \"b\": 3, \"c\": 0}");
}

/// `get_traverse_shallow_structure`: a function decides where to continue.
#[test]
fn a_shallow_structure_is_computed() {
    let shallow = numbers().map(|_| true).edit(|_, node, _| {
        Ok(match node.name() {
            Some("Pt") => Edit::Replace(Tree::leaf(false)),
            _ => Edit::Keep,
        })
    });
    let shallow = shallow.unwrap();
    assert_eq!(shallow.to_string(), "{\"a\": Entry { z: true }, \"b\": false, \"c\": ()}");
    let subtrees = numbers().flatten_up_to(shallow.treedef()).unwrap();
    let printed: Vec<String> = subtrees.leaves().iter().map(Tree::to_string).collect();
    assert_eq!(printed, ["4", "Pt { x: 1, y: [2, 3] }"]);
}

#[test]
fn lists_become_tuples() {
    let (treedef, leaves) = numbers().into_parts();
    let tuples = treedef.edit_up(|node| {
        Ok(match node.root().kind() {
            NodeKind::Seq => {
                Edit::Replace(TreeDef::tuple(node.root().children().map(NodeRef::to_treedef))?)
            }
            _ => Edit::Keep,
        })
    });
    let tuples = Tree::new(tuples.unwrap(), leaves).unwrap();
    assert_eq!(
        tuples.to_string(),
        "{\"a\": Entry { z: 4 }, \"b\": Pt { x: 1, y: (2, 3) }, \"c\": ()}"
    );
}

/// `flatten_dict_items`: a key that is a structure goes with a value of the same structure, leaf by
/// leaf.
#[test]
fn structured_keys_are_taken_apart_with_their_values() {
    let value = of(&IndexMap::from([((4, 5, (6, 8)), ("a", "b", ("c", "d")))]));
    let root = value.treedef().root();
    let items: Vec<(String, Leaf)> = root
        .entry_keys()
        .iter()
        .zip(root.children())
        .flat_map(|(key, child)| {
            key.root().to_treedef().check_equal(&child.to_treedef()).unwrap();
            let leaves = value.leaves()[child.leaf_range()].iter().cloned();
            key.leaves().iter().map(ToString::to_string).zip(leaves).collect::<Vec<_>>()
        })
        .collect();
    let expected = [("4", "a"), ("5", "b"), ("6", "c"), ("8", "d")];
    assert_eq!(items, expected.map(|(key, leaf)| (key.to_owned(), Leaf::from(leaf))));
}

#[test]
fn another_structure_is_refused_with_the_place() {
    let (first, second) = (of(&(1, (2, 3))), of(&(1, (2, 3, 4))));
    assert_snapshot!(said(second.treedef().check_equal(first.treedef())), @"expected 2 children, found 3 children at `.1`");
    let refused = |expected: &str, found: &str| said(def(found).check_equal(&def(expected)));
    assert_snapshot!(refused("{\"a\": [*, (*, *)]}", "{\"a\": [*, (*, *, *)]}"), @r#"expected 2 children, found 3 children at `["a"][1]`"#);
    assert_snapshot!(refused("[*, *]", "(*, *)"), @"expected `[*, *]`, found `(*, *)` at the root");
    assert_snapshot!(refused("{\"a\": *}", "{\"b\": *}"), @r#"expected `*`, found nothing at `["a"]`, and 1 more difference"#);
    assert_snapshot!(refused("{\"a\": [*, *]}", "{\"a\": *}"), @r#"expected `[*, *]`, found `*` at `["a"]`"#);
    let shallow = |shallow: &str, full: &str| {
        said(tree::<i32>(full, vec![0; def(full).num_leaves()]).flatten_up_to(&def(shallow)))
    };
    assert_snapshot!(shallow("{\"a\": [*]}", "{\"a\": *}"), @r#"the prefix has `[*]`, the tree `*` at `["a"]`"#);
    assert_snapshot!(shallow("[*, *]", "[*, *, *]"), @"the prefix has 2 children, the tree 3 children at the root");
    assert_snapshot!(shallow("{\"a\": *}", "{\"b\": *}"), @r#"the prefix has `*`, the tree nothing at `["a"]`, and 1 more difference"#);
    assert_snapshot!(shallow("[*]", "(*,)"), @"the prefix has `[*]`, the tree `(*,)` at the root");
}

/// `check_types=False`.
#[test]
fn kinds_of_containers_may_be_ignored() {
    #[derive(Serialize)]
    struct Ab {
        a: i32,
        b: i32,
    }
    #[derive(Serialize)]
    struct Other {
        a: i32,
        b: i32,
    }
    fn equivalent(a: &impl Serialize, b: &impl Serialize) {
        let structure = |value| treedef::structure(value).unwrap();
        structure(a).check_equivalent(&treedef::structure(b).unwrap()).unwrap();
    }
    equivalent(&vec![1, 2], &(1, 2));
    equivalent(&Ab { a: 1, b: 2 }, &Other { a: 3, b: 4 });
    equivalent(&Ab { a: 1, b: 2 }, &json!({"b": 1, "a": 2}));
    assert_snapshot!(said(def("(*, *)").check_equivalent(&def("[*, *, *]"))), @"expected 3 children, found 2 children at the root");
    // dict and OrderedDict are the same even with types checked: so they are here, in the order of
    // the keys.
    let sorted = std::collections::BTreeMap::from([("a", 1), ("b", 2)]);
    let ordered = IndexMap::from([("b", 1), ("a", 2)]);
    assert_eq!(of(&sorted).treedef(), of(&ordered).treedef());
    // Ours: namedtuples of equal names and fields are equal, of other names not.
    assert!(def("Ab { a: * }").check_equal(&def("Other { a: * }")).is_err());
}

/// The other modality, of `tf.data`: lists are atoms.
#[test]
fn lists_are_leaves_when_told_so() {
    let atoms = Flattener::new().opaque_where(|_, node| node.kind == NodeKind::Seq);
    let leaves = atoms.flatten(&(vec![1, 2], json!({"b": 3, "a": 4}))).unwrap().0;
    let printed: Vec<String> = leaves.iter().map(Leaf::to_string).collect();
    assert_eq!(printed, ["[1, 2]", "4u64", "3u64"]);
}

/// `expand_composites`: a leaf that is itself made of leaves.
#[test]
fn composites_are_expanded_and_put_back() {
    let composites = tree("[*, *]", ["ragged", "sparse"]);
    let outer = composites.treedef().clone();
    let expanded = composites.try_map(|leaf| match leaf {
        "ragged" => {
            Tree::new(def("Ragged { values: *, row_splits: * }"), vec!["[1, 2, 3]", "[0, 2, 3]"])
        }
        _ => Tree::new(
            def("Sparse { indices: *, values: *, dense_shape: * }"),
            vec!["[[0, 1]]", "[7]", "[1, 2]"],
        ),
    });
    let expanded = expanded.unwrap().compose().unwrap();
    assert_eq!((outer.num_leaves(), expanded.leaves().len()), (2, 5));
    let back = expanded.flatten_up_to(&outer).unwrap();
    assert_eq!(back.leaves()[0].to_string(), "Ragged { values: [1, 2, 3], row_splits: [0, 2, 3] }");
}

/// `map_structure_with_paths`.
#[test]
fn leaves_are_mapped_with_their_paths() {
    let y = pattern("**.y[*]");
    let mapped = numbers().map_with_path(|path, leaf| if y.matches(path) { -leaf } else { leaf });
    assert_eq!(mapped.leaves(), [4, 1, -2, -3]);
}
