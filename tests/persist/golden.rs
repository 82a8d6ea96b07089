//! Files of format 1 as they were first written: every later release reads and writes these bytes.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use treedef::{Tree, TreeDef};

use crate::specimens::{COUNTED_BY_64_BITS, files, structures, trees};

fn folder() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "persist", "golden"].iter().collect()
}

fn golden(file: &str) -> Vec<u8> {
    fs::read(folder().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

#[test]
fn structures_are_read_and_written_as_ever() {
    for (name, treedef) in structures() {
        let bytes = golden(&format!("{name}.treedef"));
        let read = TreeDef::from_bytes(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(read, treedef, "{name}");
        assert_eq!(treedef.to_bytes().unwrap(), bytes, "{name}");
    }
}

#[test]
fn trees_are_read_and_written_as_ever() {
    for (name, tree) in trees() {
        let bytes = golden(&format!("{name}.tree"));
        let read = Tree::from_bytes(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(read, tree, "{name}");
        assert_eq!(tree.to_bytes().unwrap(), bytes, "{name}");
    }
}

#[test]
fn every_golden_file_is_of_a_specimen() {
    let mut found: BTreeSet<String> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    if cfg!(target_pointer_width = "32") {
        let name = format!("{COUNTED_BY_64_BITS}.treedef");
        assert!(found.remove(&name));
        let refusal = TreeDef::from_bytes(&golden(&name)).unwrap_err();
        assert!(refusal.to_string().contains("a count exceeds 32 bits"), "{refusal}");
    }
    let specimens: BTreeSet<String> = files().into_iter().map(|(name, _)| name).collect();
    assert_eq!(found, specimens);
}

/// `Point { x: *, y: * }`, as a reader in another language would have to read it.
#[rustfmt::skip]
const POINT: [u8; 210] = [
    // The header.
    0x89, b'P', b'Y', b'T', b'\r', b'\n', 0x1a, b'\n',
    1, 0, 1, 0, 0, 0, 0, 0, // format, a treedef, no options
    2, 0, 0, 0, 0, 0, 0, 0, // nodes
    2, 0, 0, 0, 0, 0, 0, 0, // leaves
    114, 0, 0, 0, 0, 0, 0, 0, // bytes of the structure
    0, 0, 0, 0, 0, 0, 0, 0, // of the orders,
    0, 0, 0, 0, 0, 0, 0, 0, // the values,
    0, 0, 0, 0, 0, 0, 0, 0, // the kinds,
    0, 0, 0, 0, 0, 0, 0, 0, // and the leaves
    0xf1, 0x8a, 0xd1, 0xaf, // CRC-32 of the structure
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // of the other parts
    0x04, 0xfd, 0x21, 0xf2, // CRC-32 of the 92 bytes above
    // The names, one after another, and the length of each.
    7, 0, 0, 0, 0, 0, 0, 0, b'P', b'o', b'i', b'n', b't', b'x', b'y',
    3, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0,
    // One row of node data: name 0, no variant, fields, 2 of them.
    1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 2, 0, 0, 0,
    // The labels: names 1 and 2.
    2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0,
    // Two rows of nodes: kind, data, span, repeat.
    2, 0, 0, 0, 0, 0, 0, 0,
    10, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, // a struct with data 0
    0, 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, // two leaves
];

#[test]
fn a_point_takes_these_bytes() {
    let point: TreeDef = "Point { x: *, y: * }".parse().unwrap();
    assert_eq!(point.to_bytes().unwrap(), POINT);
    assert_eq!(TreeDef::from_bytes(&POINT).unwrap(), point);
}

#[test]
fn fingerprints_are_as_ever() {
    for (text, fingerprint) in [
        ("*", "162692dfb89bd615d4655b9ad825020c"),
        ("()", "b76938aff964cf48159ca4a415ce216c"),
        ("[*; 1000000]", "f50ba324c88bcdfc6099d55ed3a09891"),
        ("[(*, *); 3]", "4b0a39d6e8035035ba00462d87214e74"),
        ("Point { x: *, y: * }", "c984b3bf55c3a1e38fbf30b5985f422c"),
        (r#"{"a": *, "b": [*], "é": None}"#, "a7a2f356d3d2cb50973b284ce36be7c6"),
        (
            "(Shape::Empty, Shape::Circle(*), Shape::Line(*, *), Shape::Box { w: *, h: * })",
            "ec57ac81ca86a39842600e8e56341923",
        ),
        (r#"Layer { activation: static "relu", w: * }"#, "4c08a8c3f971341425dc7c99812ee77c"),
        (
            r#"#[insertion, none_is_leaf, compact] {"b": *, "a": Some(*)}"#,
            "4bb01ed480396aba24a4d18a8da2234a",
        ),
    ] {
        let treedef: TreeDef = text.parse().unwrap();
        assert_eq!(treedef.fingerprint().unwrap().to_string(), fingerprint, "{text}");
    }
}

/// Files that are there stay as they are: a golden file is never written again.
#[test]
#[ignore = "writes the golden files of new specimens"]
fn write_missing_files() {
    fs::create_dir_all(folder()).unwrap();
    for (name, bytes) in files() {
        let path = folder().join(name);
        if !path.exists() {
            fs::write(path, bytes).unwrap();
        }
    }
}
