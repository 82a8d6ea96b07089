//! What is written comes back, in the one form that it has.

use treedef::{Tree, TreeDef};

use crate::specimens::{structures, trees};

#[test]
fn a_structure_comes_back_from_its_bytes() {
    for (name, treedef) in structures() {
        let bytes = treedef.to_bytes().unwrap();
        println!("{name}: {}", bytes.len());
        let loaded = TreeDef::from_bytes(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(loaded, treedef, "{name}");
        assert_eq!(loaded.to_string(), treedef.to_string(), "{name}");
        assert_eq!(loaded.to_bytes().unwrap(), bytes, "{name}");
    }
}

#[test]
fn a_tree_comes_back_from_its_bytes() {
    for (name, tree) in trees() {
        let bytes = tree.to_bytes().unwrap();
        let loaded = Tree::from_bytes(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(loaded, tree, "{name}");
        assert_eq!(loaded.to_bytes().unwrap(), bytes, "{name}");
    }
}
