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
        ("*", "6fe073f88f9704d0d627b088ea96f582"),
        ("()", "05a04e0db01087551be0c49635d1f894"),
        ("[*; 1000000]", "9cf81c53cf7c5bdc1fad434974d8d30b"),
        ("[(*, *); 3]", "4d7846f07d9050d3f399239ce91d0a4b"),
        ("Point { x: *, y: * }", "294fa70e6693cfd45ec968c51d4dc5f2"),
        (r#"{"a": *, "b": [*], "é": None}"#, "13decc2a9812e834c108b6f71ee5caaf"),
        (
            "(Shape::Empty, Shape::Circle(*), Shape::Line(*, *), Shape::Box { w: *, h: * })",
            "e12b6e96b12d9e55dc08afbe008cd01f",
        ),
        (r#"Layer { activation: static "relu", w: * }"#, "c429c825f69ec6f685332cb6d42d4b67"),
        (
            r#"#[insertion, none_is_leaf, compact] {"b": *, "a": Some(*)}"#,
            "556a8e8dc68fa8e0839206f1eb0a7936",
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
