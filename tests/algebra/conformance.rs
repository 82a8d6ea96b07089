//! JAX's results for prefixes and broadcasts, compared with ours.

use treedef::{Leaf, Tree, structure};

use crate::vectors::{Vector, texts, vectors};

#[test]
fn prefixes_are_those_of_jax() {
    let mut prefixes = 0;
    for vector in vectors() {
        let value = structure(&Vector(&vector["value"])).unwrap();
        let other = Tree::of(&Vector(&vector["other"])).unwrap();
        let is_prefix = value.is_prefix_of(other.treedef());
        assert_eq!(is_prefix, vector["is_prefix"], "{value} and {}", other.treedef());
        let subtrees = other.flatten_up_to(&value);
        assert_eq!(subtrees.is_ok(), is_prefix);
        if let Ok(subtrees) = subtrees {
            let (_, subtrees) = subtrees.into_parts();
            assert_eq!(subtrees.len(), texts(&vector["other_up_to"]).len());
            let leaves: Vec<_> = subtrees.iter().flat_map(|tree| tree.leaves()).collect();
            assert_eq!(leaves, other.leaves().iter().collect::<Vec<_>>());
            prefixes += 1;
        }
    }
    assert!(prefixes > 30 && prefixes < 270, "{prefixes} of 300 are prefixes: this shows little");
}

#[test]
fn broadcasts_are_those_of_jax() {
    for vector in vectors() {
        let prefix = Tree::of(&Vector(&vector["value"])).unwrap();
        let full = structure(&Vector(&vector["full"])).unwrap();
        assert!(prefix.treedef().is_prefix_of(&full));
        let expected: Vec<Leaf> = vector["broadcast_prefix"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|leaf| treedef::flatten(leaf).unwrap().0)
            .collect();
        let broadcast = prefix.broadcast_to(&full).unwrap();
        assert_eq!((broadcast.leaves(), broadcast.treedef()), (&expected[..], &full));
        assert_eq!(prefix.treedef().common_suffix(&full).unwrap(), full);
        assert_eq!(full.common_suffix(prefix.treedef()).unwrap(), full);
    }
}
