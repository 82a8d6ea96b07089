//! JAX's statements about trees, checked against ours.

use treedef::{Flattener, Leaf, Tree};

use crate::vectors::{Vector, texts, vectors};

#[test]
fn there_are_300_vectors() {
    assert_eq!(vectors().len(), 300);
}

#[test]
fn leaves_and_counts_are_those_of_jax() {
    for vector in vectors() {
        let tree = Tree::of(&Vector(&vector["value"])).unwrap();
        let expected: Vec<Leaf> = vector["leaves"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|leaf| treedef::flatten(leaf).unwrap().0)
            .collect();
        assert_eq!(tree.leaves(), expected);
        assert_eq!(tree.treedef().num_leaves(), vector["num_leaves"]);
        assert_eq!(tree.treedef().num_nodes(), vector["num_nodes"]);
    }
}

#[test]
fn joined_paths_are_those_of_jax() {
    for vector in vectors() {
        let treedef = treedef::structure(&Vector(&vector["value"])).unwrap();
        let joined: Vec<_> = treedef.leaf_paths().map(|path| path.to_joined_string("/")).collect();
        assert_eq!(joined, texts(&vector["simple_keystr"]));
    }
}

#[test]
fn structures_are_equal_when_those_of_jax_are() {
    let mut equal = 0;
    for vector in vectors() {
        let (value, other) = (Vector(&vector["value"]), Vector(&vector["other"]));
        let same = treedef::structure(&value).unwrap() == treedef::structure(&other).unwrap();
        assert_eq!(
            same,
            vector["equal"].as_bool().unwrap(),
            "{} and {}",
            vector["value"],
            vector["other"]
        );
        equal += usize::from(same);
    }
    assert!(equal > 30 && equal < 270, "{equal} of 300 are equal, so this shows little");
}

/// JAX has an option that makes None a leaf: then a structure has an additional leaf for each None.
#[test]
fn none_is_a_leaf_when_told_so() {
    for vector in vectors() {
        let nones = vector["jax"].as_str().unwrap().matches("None").count();
        let flattener = Flattener::new().none_is_leaf(true);
        let (leaves, treedef) = flattener.flatten(&Vector(&vector["value"])).unwrap();
        assert_eq!(leaves.len(), vector["leaves"].as_array().unwrap().len() + nones);
        assert_eq!(treedef.num_leaves(), leaves.len());
    }
}
