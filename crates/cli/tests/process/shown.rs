//! `show` prints a structure that the file has: `check x --like <(show x)`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::checkpoints::sparse;
use crate::damage::run;
use crate::{Folder, fed, treedef};

/// All files of the tests, and all folders. Some of them are checkpoints.
fn paths(folder: &Path, to: &mut Vec<PathBuf>) {
    to.push(folder.to_owned());
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            paths(&path, to);
        } else {
            to.push(path);
        }
    }
}

/// Checks a file against the output of `show`. Returns whether there is any.
fn holds(path: &str, folder: &Folder) -> bool {
    let (code, shown, _) = run(&["show", path]);
    if code != Some(0) {
        return false;
    }
    // A name without an extension, such as the pipe of a shell.
    let like = folder.path("63");
    fs::write(&like, &shown).unwrap();
    let (code, violations, told) = run(&["check", path, "--like", &like]);
    assert_eq!((code, violations.as_str()), (Some(0), ""), "{path}: {told}{shown}");
    true
}

#[test]
fn each_file_has_the_structure_that_is_shown() {
    let folder = Folder::new("shown");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().parent().unwrap();
    let mut all = Vec::new();
    for tests in ["crates/cli/tests/commands", "crates/tensors/tests/vectors", "tests/persist"] {
        paths(&root.join(tests), &mut all);
    }
    // A structure is no document.
    all.retain(|path| path.extension().is_none_or(|end| end != "treedef"));
    let shown = all.iter().filter(|path| holds(path.to_str().unwrap(), &folder));
    assert!(shown.count() > 100);
}

/// Structures that the files of the tests do not have.
#[test]
fn large_and_odd_structures_are_read_again() {
    let folder = Folder::new("shown_odd");
    let at = |name: &str| folder.path(name);
    sparse(&at("large.safetensors"), &[("w".to_owned(), 50_000_000), ("e".to_owned(), 0)]);
    let long = "k".repeat(2_000);
    let numbers = vec!["1"; 5_000].join(",");
    for (name, text) in [
        ("key.json", format!("{{\"{long}\": 1}}")),
        ("wide.json", format!("{{\"a\": [{numbers}], \"b\": [], \"c\": [[1.5, 2], [1, null]]}}")),
        (
            "names.json",
            r##"{"# a": 1, "#[b]": {"f32[2]": [1, 2]}, "x: 2 documents": [], "int": "[*]"}"##
                .to_owned(),
        ),
        ("x: 1 document.json", "[1]".to_owned()),
        ("lines.jsonl", "[1, 2]\n[3, 4]\n".to_owned()),
        ("line.jsonl", "{\"a\": 1}\n".to_owned()),
        ("many.yaml", "a: 1\n---\n- 2\n".to_owned()),
    ] {
        fs::write(at(name), text).unwrap();
    }
    for entry in fs::read_dir(folder.path("")).unwrap() {
        let path = entry.unwrap().path();
        assert!(holds(path.to_str().unwrap(), &folder), "{path:?}");
    }
    let (_, shown, _) = run(&["show", &at("lines.jsonl")]);
    assert!(
        shown.contains("2 documents\n[[u64, u64]; 2]\n") || shown.contains("\nu64[2, 2]\n"),
        "{shown}"
    );
    // A structure with options, which begin as a comment does.
    fs::write(at("option.treedef"), "# One.\n#[insertion] {\"b\": *, \"a\": *}").unwrap();
    let (code, option, _) = run(&["show", &at("option.treedef")]);
    assert_eq!((code, option.lines().last()), (Some(0), Some("#[insertion] {\"b\": *, \"a\": *}")));
    fs::write(at("shown.treedef"), &option).unwrap();
    let again = run(&["show", &at("shown.treedef")]).1;
    assert_eq!(again.lines().last(), option.lines().last());
    // As before, no element is of any kind.
    fs::write(at("like.treedef"), "{\"a\": u64[5000]}").unwrap();
    fs::write(at("none.json"), "{\"a\": []}").unwrap();
    let args = ["check", &at("none.json"), "--fold-lengths", "--like", &at("like.treedef")];
    assert_eq!(run(&args).0, Some(0));
    // From standard input, too; and other numbers are violations.
    let piped = fed(
        &["check", &at("wide.json"), "--like", "-"],
        run(&["show", &at("wide.json")]).1.as_bytes(),
    );
    assert_eq!(piped.status.code(), Some(0));
    let check = |like: &str, options: &[&str]| {
        fs::write(at("like.treedef"), like).unwrap();
        let args = ["check", &at("wide.json"), "--like", &at("like.treedef")];
        let output = treedef(&[&args[..], options].concat()).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap().contains(".a: "))
    };
    let rest = "\"b\": [], \"c\": [[f64, u64], [u64, null]]";
    for (a, options, expected) in [
        ("u64[5000]", &[][..], Some(0)),
        ("u64[5001]", &[], Some(1)),
        ("f64[5000]", &[], Some(1)),
        ("u64[5000, 1]", &[], Some(1)),
        ("q8_0[5000]", &[], Some(1)),
        ("u8[5000]", &["--fold-widths"], Some(0)),
        ("f64[5000]", &["--fold-numbers"], Some(0)),
        ("u64[6000]", &["--fold-lengths"], Some(0)),
        ("u64[0]", &["--fold-lengths"], Some(0)),
    ] {
        let found = check(&format!("{{\"a\": {a}, {rest}}}"), options);
        assert_eq!(found, (expected, expected == Some(1)), "{a} {options:?}");
    }
}

/// A quote that is a character opens no text.
#[test]
fn a_quote_as_a_character_hides_nothing() {
    let folder = Folder::new("quote");
    let [file, like] = ["a.ron", "like.treedef"].map(|name| folder.path(name));
    fs::write(&file, r#"(a: '"', b: 7, c: '\'', d: ())"#).unwrap();
    let (_, text, _) = run(&["summary", &file]);
    assert_eq!(text, "{\"a\": '\"', \"b\": 7, \"c\": '\\'', \"d\": ()}\n");
    fs::write(&file, r#"{'"': [1, 2, 3], 'b': {1: 2}}"#).unwrap();
    fs::write(&like, run(&["show", "--fold-lengths", &file]).1).unwrap();
    let checked = run(&["check", &file, "--like", &like]);
    assert_eq!(checked, (Some(0), String::new(), String::new()));
}

/// A structure has no values, so no patch is made of it.
#[test]
fn no_patch_is_made_of_a_structure() {
    let folder = Folder::new("unpatched");
    let [file, like] = ["a.json", "a.treedef"].map(|name| folder.path(name));
    fs::write(&file, "[1]").unwrap();
    fs::write(&like, run(&["show", &file]).1).unwrap();
    assert_eq!(run(&["diff", &file, &like]), (Some(0), String::new(), String::new()));
    let (code, text, told) = run(&["diff", "--patch", &file, &like]);
    assert_eq!((code, text.as_str()), (Some(2), ""));
    assert!(told.contains("a patch has values"), "{told}");
}

/// Two models of different depth have one text without lengths.
#[test]
fn lengths_are_left_out_of_tensors_and_at_a_depth() {
    let folder = Folder::new("fold");
    let text = |name: &str, layers: usize, args: &[&str]| {
        let layer = r#"{"w": [1.5, 2.5], "b": [[1]]}"#;
        let file = folder.path("a.json");
        fs::write(&file, format!("{{\"layers\": [{}]}}", vec![layer; layers].join(","))).unwrap();
        let made = folder.path(name);
        assert_eq!(run(&["convert", &file, "-o", &made]).0, Some(0));
        let (_, text, _) = run(&[&["show", "--fold-lengths", &made], args].concat());
        text.split_once('\n').unwrap().1.to_owned()
    };
    let tensors = "{\"layers\": [{\"b\": u64[1, 1], \"w\": f64[2]}; _]}\n";
    assert_eq!(text("a.safetensors", 2, &[]), tensors);
    assert_eq!(text("a.safetensors", 5, &[]), tensors);
    assert_eq!(text("a.yaml", 5, &["--depth", "2"]), "{\"layers\": [{…}; _]}\n");
    assert_eq!(text("a.safetensors", 5, &["--depth", "2"]), "{\"layers\": [{…}; _]}\n");
}
