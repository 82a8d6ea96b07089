//! Errors for a file that is not the expected one.

use std::fs;
use std::path::Path;

use insta::assert_snapshot;
use treedef::{Leaf, Limits, Result, Tree, TreeDef, TreeReader};

use crate::layout::{HEADER, put, repair};

fn structure() -> Vec<u8> {
    "Point { x: *, y: * }".parse::<TreeDef>().unwrap().to_bytes().unwrap()
}

fn tree() -> Vec<u8> {
    Tree::of(&("weights", [vec![1.5, 2.5], vec![3.5]], true)).unwrap().to_bytes().unwrap()
}

/// Why something is not read as a treedef.
fn refusal(bytes: &[u8]) -> String {
    TreeDef::from_bytes(bytes).unwrap_err().to_string()
}

fn refusal_as_tree(bytes: &[u8]) -> String {
    Tree::<Leaf>::from_bytes(bytes).unwrap_err().to_string()
}

/// Why a structure is not read whose header was changed by somebody who knows the format.
fn refusal_with(at: usize, field: &[u8]) -> String {
    let mut bytes = structure();
    put(&mut bytes, at, field);
    repair(&mut bytes);
    refusal(&bytes)
}

#[test]
fn nothing() {
    assert_snapshot!(refusal(b""), @"expected a file with a treedef, found nothing");
    assert_snapshot!(refusal_as_tree(b""), @"expected a file with a tree, found nothing");
}

#[test]
fn files_of_other_programs() {
    assert_snapshot!(refusal(br#"{"x": 1.5, "y": 2.5}"#), @r#"expected a file with a treedef, found a text that begins with `{"x": 1.5, "y": 2.5}`"#);
    assert_snapshot!(refusal(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01"), @"expected a file with a treedef, found a PNG image");
    assert_snapshot!(refusal(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0"), @"expected a file with a treedef, found an ELF program");
    assert_snapshot!(refusal(b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xcb\xc8"), @"expected a file with a treedef, found a gzip archive");
    assert_snapshot!(refusal("Dear reader, this is a text.\n".as_bytes()), @"expected a file with a treedef, found a text that begins with `Dear reader, this is a t`");
    assert_snapshot!(refusal("Dear reader, this is a été.\n".as_bytes()), @"expected a file with a treedef, found a text that begins with `Dear reader, this is a`");
    assert_snapshot!(refusal("Größe: 3 m\n".as_bytes()), @"expected a file with a treedef, found a text that begins with `Größe: 3 m`");
    assert_snapshot!(refusal(&[0; 100]), @"expected a file with a treedef, found zeros");
}

#[test]
fn the_other_kind_of_file() {
    assert_snapshot!(refusal(&tree()), @"expected a treedef alone, found a tree with its leaves (`Tree::load` and `Tree::from_bytes` read it)");
    assert_snapshot!(refusal_as_tree(&structure()), @"expected a tree with its leaves, found a treedef alone (`TreeDef::load` and `TreeDef::from_bytes` read it)");
}

#[test]
fn files_of_later_releases() {
    let (format, kind, options) = (8, 10, 12);
    assert_snapshot!(refusal_with(format, &[2, 0]), @"unknown format 2: a later release wrote it, this one knows 1");
    assert_snapshot!(refusal_with(format, &[0, 0]), @"invalid file, the header: no release wrote this format");
    assert_snapshot!(refusal_with(kind, &[3]), @"unknown kind 3: a later release wrote it, this one knows 1 and 2");
    assert_snapshot!(refusal_with(options, &[8 + 1, 0]), @"unknown option 8: a later release wrote it, this one knows 1, 2 and 4");
}

#[test]
fn files_that_a_transfer_took_for_text() {
    let bytes = structure();
    let unix = bytes.iter().enumerate().filter(|(at, _)| bytes.get(*at..*at + 2) != Some(b"\r\n"));
    let unix: Vec<u8> = unix.map(|(_, byte)| *byte).collect();
    assert_snapshot!(refusal(&unix), @r"expected a file with a treedef, found bytes that begin with `\x89PYT\n\x1a\n\x01` (it was one, and a transfer or an editor changed it as text)");
    let dos: Vec<u8> = bytes
        .iter()
        .flat_map(|byte| if *byte == b'\n' { vec![b'\r', b'\n'] } else { vec![*byte] })
        .collect();
    assert_snapshot!(refusal(&dos), @r"expected a file with a treedef, found bytes that begin with `\x89PYT\r\r\n\x1a` (it was one, and a transfer or an editor changed it as text)");
    let encoded: String = bytes.iter().copied().map(char::from).collect();
    assert_snapshot!(refusal(encoded.as_bytes()), @r"expected a file with a treedef, found bytes that begin with `\xc2\x89PYT\r\n\x1a` (it was one, and a transfer or an editor changed it as text)");
    assert_snapshot!(refusal(String::from_utf8_lossy(&bytes).as_bytes()), @r"expected a file with a treedef, found bytes that begin with `\xef\xbf\xbdPYT\r\n` (it was one, and a transfer or an editor changed it as text)");
}

#[test]
fn files_that_are_cut_off() {
    assert_snapshot!(refusal(&structure()[..HEADER]), @"cut off: expected at least 210 bytes, found 96");
    assert_snapshot!(refusal(&structure()[..5]), @"cut off: expected at least 96 bytes, found 5");
    assert_snapshot!(refusal_as_tree(&tree()[..HEADER]), @"cut off: expected at least 359 bytes, found 96");
    assert_snapshot!(refusal(&[structure(), b"\n".to_vec()].concat()), @"expected the end after 210 bytes, found 1 byte more");
}

#[test]
fn files_with_a_changed_bit() {
    let changed = |mut bytes: Vec<u8>, at: usize| {
        bytes[at] ^= 4;
        bytes
    };
    assert_snapshot!(refusal(&changed(structure(), 20)), @"damage in the header: the checksum does not match");
    assert_snapshot!(refusal(&changed(structure(), HEADER + 20)), @"damage in the structure: the checksum does not match");
    let last = tree().len() - 1;
    assert_snapshot!(refusal_as_tree(&changed(tree(), last)), @"damage in leaves 0 to 4, `.0` to `.2`: the checksum does not match");
}

#[derive(serde::Serialize)]
struct Checkpoint {
    step: u64,
    layers: Vec<Layer>,
}

#[derive(serde::Serialize)]
struct Layer {
    w: Vec<f32>,
    name: String,
}

/// The leaves have a checksum for every 64 KiB.
#[test]
fn a_checkpoint_with_damaged_leaves() {
    let layer = |name: &str| Layer { w: vec![0.5; 200_000], name: name.to_owned() };
    let checkpoint = Checkpoint { step: 7, layers: ["in", "mid", "out"].map(layer).into() };
    let bytes = Tree::of(&checkpoint).unwrap().to_bytes().unwrap();
    let damaged = |from_end: &[usize]| {
        let mut bytes = bytes.clone();
        from_end.iter().for_each(|from_end| {
            let at = bytes.len() - from_end;
            bytes[at] ^= 1;
        });
        refusal_as_tree(&bytes)
    };
    assert_snapshot!(damaged(&[1]), @"damage in leaves 589823 to 600003, `.layers[2].w[189820]` to `.layers[2].name`: the checksum does not match");
    assert_snapshot!(damaged(&[1_200_000]), @"damage in leaves 294911 to 311295, `.layers[1].w[94909]` to `.layers[1].w[111293]`: the checksum does not match");
    assert_snapshot!(damaged(&[1, 1_200_000]), @"damage in leaves 294911 to 600003, `.layers[1].w[94909]` to `.layers[2].name`: the checksum does not match");
    assert_snapshot!(damaged(&[2_400_000]), @"damage in leaves 0 to 16382, `.step` to `.layers[0].w[16381]`: the checksum does not match");
    let text = Tree::of(&("a", "b".repeat(1 << 17))).unwrap().to_bytes().unwrap();
    let last = text.len() - 1;
    let text: Vec<u8> = [&text[..last], b"c"].concat();
    assert_snapshot!(refusal_as_tree(&text), @"damage in leaf 1, `.1`: the checksum does not match");
    let strings = Tree::of(&["a", "bc", "def"]).unwrap().to_bytes().unwrap();
    let last = strings.len() - 1;
    let strings: Vec<u8> = [&strings[..last], b"F"].concat();
    assert_snapshot!(refusal_as_tree(&strings), @"damage in leaves 0 to 2, `.0` to `.2`: the checksum does not match");
}

#[test]
fn leaves_of_another_kind() {
    let floats = Tree::from_bytes_as::<f64>(&tree(), Limits::default());
    assert_snapshot!(floats.unwrap_err(), @"expected f64, found str at `.0`");
}

/// The error of loading a file, without the folder.
fn loading<T: std::fmt::Debug>(
    name: &str,
    contents: Option<&[u8]>,
    load: fn(&Path) -> Result<T>,
) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wrong_files");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    if let Some(contents) = contents {
        fs::write(&path, contents).unwrap();
    }
    let error = load(&path).unwrap_err().to_string();
    error.replace(&format!("{}{}", folder.display(), std::path::MAIN_SEPARATOR), "")
}

#[test]
fn loading_names_the_file() {
    let treedef = |path: &Path| TreeDef::load(path);
    let as_tree = |path: &Path| Tree::<Leaf>::load(path);
    assert!(loading("missing", None, treedef).starts_with("`missing`: "));
    assert_snapshot!(loading("empty", Some(b""), treedef), @"`empty`: expected a file with a treedef, found nothing");
    assert_snapshot!(loading("notes.txt", Some(b"Dear reader"), as_tree), @"`notes.txt`: expected a file with a tree, found a text that begins with `Dear reader`");
    assert_snapshot!(loading("model.tree", Some(&tree()), treedef), @"`model.tree`: expected a treedef alone, found a tree with its leaves (`Tree::load` and `Tree::from_bytes` read it)");
    assert_snapshot!(loading("point.treedef", Some(&structure()), as_tree), @"`point.treedef`: expected a tree with its leaves, found a treedef alone (`TreeDef::load` and `TreeDef::from_bytes` read it)");
    assert_snapshot!(loading("cut.treedef", Some(&structure()[..HEADER]), treedef), @"`cut.treedef`: cut off: expected at least 210 bytes, found 96");
    assert_snapshot!(loading("longer.treedef", Some(&[&structure()[..], &[0; 9]].concat()), treedef), @"`longer.treedef`: expected the end after 210 bytes, found 9 bytes more");
    let last = tree().len() - 1;
    let damaged = [&tree()[..last], &[9]].concat();
    assert_snapshot!(loading("damaged.tree", Some(&damaged), as_tree), @"`damaged.tree`: damage in leaves 0 to 4, `.0` to `.2`: the checksum does not match");
    let floats = |path: &Path| TreeReader::open(path, Limits::default())?.subtree_as::<f64>("");
    assert_snapshot!(loading("typed.tree", Some(&tree()), floats), @"`typed.tree`: expected f64, found str at `.0`");
}
