//! Every treedef and tree round-trips through its file, which has one form.

use std::collections::HashSet;

use treedef::{Fingerprint, Flattener, Tree, TreeDef};

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

#[test]
fn a_fingerprint_comes_back_from_its_text_and_its_bits() {
    let distinct: HashSet<Fingerprint> =
        structures().iter().map(|(_, treedef)| treedef.fingerprint().unwrap()).collect();
    assert_eq!(distinct.len(), structures().len());
    for fingerprint in distinct {
        let text = fingerprint.to_string();
        assert_eq!(text.parse::<Fingerprint>().unwrap(), fingerprint);
        assert_eq!(Fingerprint::from_bits(fingerprint.to_bits()), fingerprint);
        assert_eq!(format!("{fingerprint:?}"), format!("Fingerprint({text})"));
        assert!(
            text.to_uppercase().parse::<Fingerprint>().is_err()
                || !text.contains(char::is_alphabetic)
        );
    }
    for text in ["", "0", "+0000000000000000000000000000000", &"é".repeat(16), &"0".repeat(33)] {
        let error = text.parse::<Fingerprint>().unwrap_err().to_string();
        assert!(
            error.starts_with("expected 32 hexadecimal digits in lower case, found"),
            "{error}"
        );
    }
}

/// Text and bytes in formats that distinguish them, and bytes as a list of numbers in a format
/// without bytes.
#[test]
fn a_structure_comes_back_from_other_formats() {
    let config = bincode::config::standard();
    for (name, treedef) in structures() {
        let json = serde_json::to_value(&treedef).unwrap();
        assert_eq!(json, treedef.to_string());
        assert_eq!(serde_json::from_value::<TreeDef>(json).unwrap(), treedef, "{name}");
        let bytes = bincode::serde::encode_to_vec(&treedef, config).unwrap();
        let (back, _): (TreeDef, _) = bincode::serde::decode_from_slice(&bytes, config).unwrap();
        assert_eq!(back, treedef, "{name}");
        let list = serde_json::to_value(treedef.to_bytes().unwrap()).unwrap();
        let compact = Flattener::new().compact(true).flatten(&list).unwrap();
        assert_eq!(
            treedef::unflatten::<TreeDef>(&compact.1, compact.0).unwrap(),
            treedef,
            "{name}"
        );
    }
    let error = serde_json::from_value::<TreeDef>(serde_json::json!(5)).unwrap_err();
    assert!(error.to_string().contains("expected a treedef, as text or bytes"), "{error}");
    assert!(serde_json::from_value::<TreeDef>(serde_json::json!("[*")).is_err());
}
