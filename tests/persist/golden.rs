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
const POINT: [u8; 178] = [
    // The header.
    0x89, b'P', b'Y', b'T', b'\r', b'\n', 0x1a, b'\n',
    1, 0, 1, 0, // format version, version of the writer
    1, 1, 0, 0, // a treedef, bincode, no flags
    114, 0, 0, 0, 0, 0, 0, 0, // bytes of the structure
    2, 0, 0, 0, 0, 0, 0, 0, // nodes
    2, 0, 0, 0, 0, 0, 0, 0, // leaves
    0, 0, 0, 0, 0, 0, 0, 0, // bytes after the structure
    0, 0, 0, 0, 0, 0, 0, 0, // reserved
    0x31, 0xcd, 0x50, 0xd2, // CRC32C of the structure
    0x44, 0x88, 0x2b, 0xa6, // CRC32C of the 60 bytes above
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
        ("*", "de7a293a1c97a562023d69adda046b77"),
        ("()", "090f5bcf55211773d6afb51aff6b9c9d"),
        ("[*; 1000000]", "6b6ebbd3acad1ca671c63d68d5f04e4f"),
        ("[(*, *); 3]", "b33dfdce6fc8b6f19ca528206793b34d"),
        ("Point { x: *, y: * }", "94e6f51a24f76c8006ca779fa110be59"),
        (r#"{"a": *, "b": [*], "é": None}"#, "0beff0efc71ad6b80ced30549c2406a5"),
        (
            "(Shape::Empty, Shape::Circle(*), Shape::Line(*, *), Shape::Box { w: *, h: * })",
            "bf3bd464b37846f7bd562192d61c2b46",
        ),
        (r#"Layer { activation: static "relu", w: * }"#, "61172503482238590bd0b94375bfbe7a"),
        (
            r#"#[insertion, none_is_leaf, compact] {"b": *, "a": Some(*)}"#,
            "d3c7b9f47bb093b3ff220d29458897e1",
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
