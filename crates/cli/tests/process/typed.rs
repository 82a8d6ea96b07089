//! Values that Rust saved with their types, beside other formats.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use serde::Serialize;
use treedef::Tree;
use treedef_tensors::{Export, Tensors, safetensors};

use crate::{Folder, treedef};

#[derive(Clone, Serialize)]
enum Act {
    Relu,
    Prelu { slope: f32 },
    Pair(u8, f32),
}

#[derive(Clone, Serialize)]
struct Port(u16);

#[derive(Clone, Serialize)]
struct Config {
    name: String,
    port: Port,
    tls: Option<Tls>,
    acts: Vec<Act>,
    w: [f32; 2],
    by_number: BTreeMap<u8, (bool, char)>,
}

#[derive(Clone, Serialize)]
struct Tls {
    key: String,
}

fn config() -> Config {
    Config {
        name: "net".to_owned(),
        port: Port(80),
        tls: None,
        acts: vec![Act::Relu, Act::Prelu { slope: 0.1 }, Act::Pair(1, 2.5)],
        w: [0.1, 2.0],
        by_number: BTreeMap::from([(7, (true, 'x'))]),
    }
}

fn save_tree(value: &impl Serialize, path: &str) {
    fs::write(path, Tree::of(value).unwrap().to_bytes().unwrap()).unwrap();
}

fn save_tensors(value: &impl Serialize, path: &str, more: &[(&str, &str)]) {
    let tree = Tree::of(value).unwrap();
    let mut tensors = Export::new().rest_in_metadata(true).tensors(&tree).unwrap().into_owned();
    for (key, text) in more {
        tensors = tensors.with_metadata(*key, *text);
    }
    fs::write(path, safetensors::to_bytes(&tensors).unwrap()).unwrap();
}

/// The standard output and the standard error.
fn run(args: &[&str]) -> (String, String) {
    let output = treedef(args).output().unwrap();
    assert_ne!(output.status.code(), Some(2), "{output:?}");
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn metadata_beside_a_structure_is_lost_with_a_word() {
    let folder = Folder::new("beside");
    let from = folder.path("s1.safetensors");
    save_tensors(&config(), &from, &[("format", "pt"), ("license", "mit")]);
    for to in ["tree", "npz", "json"] {
        let to_path = folder.path(&format!("s1.{to}"));
        let (_, said) = run(&["convert", &from, "-o", &to_path]);
        let expected = format!("not kept in {to}: the metadata ");
        let line = said.lines().find(|line| line.contains(&expected));
        let line = line.unwrap_or_else(|| panic!("{to}: {said}"));
        assert!(line.contains("`format`, `license`"), "{line}");
        assert_eq!(line.contains("`name`"), to == "npz", "{line}"); // texts are values elsewhere
    }
    // Tied tensors are apart in a tree.
    #[derive(Serialize)]
    struct Net {
        head: [f32; 2],
        embed: [f32; 2],
    }
    let tree = Tree::of(&Net { head: [1.0, 2.0], embed: [1.0, 2.0] }).unwrap();
    let tied = Tensors::of(&tree).unwrap().with_metadata("format", "pt");
    let tied = tied.tie("head", "embed").unwrap();
    fs::write(&from, safetensors::to_bytes(&tied).unwrap()).unwrap();
    let to = folder.path("net.tree");
    let (_, said) = run(&["convert", &from, "-o", &to]);
    let lost = format!("treedef: {from}: not kept in tree: ");
    let expected =
        [format!("{lost}the metadata `format`"), format!("{lost}the tie of `head` to `embed`")];
    assert_eq!(said.lines().collect::<Vec<_>>(), expected);
}

/// A patch of a text is applied in the file, and the values beside the tree are unchanged.
#[test]
fn a_patched_text_is_not_put_back() {
    let folder = Folder::new("patched-text");
    let [old, new, patch, to] =
        ["old.safetensors", "new.safetensors", "patch.json", "to.safetensors"]
            .map(|it| folder.path(it));
    save_tensors(&config(), &old, &[("license", "mit")]);
    save_tensors(&Config { name: "other".to_owned(), ..config() }, &new, &[]);
    fs::write(&patch, run(&["diff", "--patch", &old, &new]).0).unwrap();
    assert_eq!(run(&["apply", &old, &patch, "-o", &to]).1, "");
    let bytes = fs::read(&to).unwrap();
    let tensors = safetensors::from_bytes(&bytes).unwrap().read().unwrap();
    assert_eq!(tensors.metadata("name"), Some("\"other\""));
    assert_eq!(tensors.metadata("license"), Some("mit"));
}

#[test]
fn typed_values_are_compared_with_other_formats_by_field() {
    let folder = Folder::new("typed");
    let tree = folder.path("s1.tree");
    save_tree(&config(), &tree);
    for to in ["json", "yaml", "cbor", "msgpack", "toml", "ron"] {
        let other = folder.path(&format!("s1.{to}"));
        run(&["convert", &tree, "-o", &other]);
        for args in [&["diff"][..], &["diff", "--structure"]] {
            assert_eq!(run(&[args, &[&tree, &other]].concat()).0, "", "{to}: {args:?}");
        }
    }
    let json = folder.path("s1.json");
    let mut object: serde_json::Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    object["port"] = 81.into();
    object["acts"][1]["Prelu"]["slope"] = 0.5.into();
    object.as_object_mut().unwrap().remove("w");
    fs::write(&json, object.to_string()).unwrap();
    let (lines, _) = run(&["diff", &tree, &json]);
    let mut lines: Vec<&str> = lines.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "- .w: [0.10000000149011612, 2.0]",
            "~ .acts[1].Prelu.slope: 0.10000000149011612 → 0.5",
            "~ .port: 80 → 81"
        ]
    );
    assert_eq!(run(&["diff", "--structure", &tree, &json]).0, "- .w: [f32, f32]\n");
}

#[test]
fn what_is_absent_is_none_where_there_is_no_null() {
    let folder = Folder::new("none");
    let [old, new] = ["old.safetensors", "new.tree"].map(|it| folder.path(it));
    save_tensors(&config(), &old, &[]);
    save_tree(&Config { tls: Some(Tls { key: "k".to_owned() }), ..config() }, &new);
    assert_eq!(run(&["diff", &old, &new]).0, "~ .tls: None → {\"key\": \"k\"}\n");
}

/// A page is bytes for a browser.
#[test]
fn no_page_is_written_to_a_terminal() {
    let folder = Folder::new("page");
    let path = folder.path("a.json");
    fs::write(&path, "[1]").unwrap();
    let view = format!("{} view {path}", env!("CARGO_BIN_EXE_treedef"));
    // Not everybody has the command that makes a terminal.
    let Ok(output) = Command::new("script").args(["-qec", &view, "/dev/null"]).output() else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("pass `--output page.html`"), "{said}");
    assert!(run(&["view", &path]).0.contains("<html"));
}

/// A patch cannot have metadata and ties: they are reported, and count as a difference.
#[test]
fn what_a_patch_does_not_carry_is_told() {
    let folder = Folder::new("uncarried");
    let [old, new] = ["old.safetensors", "new.safetensors"].map(|name| folder.path(name));
    save_tensors(&config(), &old, &[("license", "MIT"), ("head", "w")]);
    save_tensors(&config(), &new, &[("license", "GPL")]);
    let diff = treedef(&["diff", "--patch", &old, &new]).output().unwrap();
    assert_eq!(
        String::from_utf8(diff.stderr).unwrap(),
        "treedef: not in the patch: - metadata \"head\": \"w\"\n\
         treedef: not in the patch: ~ metadata \"license\": \"MIT\" → \"GPL\"\n"
    );
    assert_eq!((diff.status.code(), &*diff.stdout), (Some(1), &b"{\n  \"changes\": []\n}\n"[..]));
}
