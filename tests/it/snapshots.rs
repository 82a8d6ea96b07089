//! The macros of the feature `insta`.

use std::process::Command;
use std::{env, fs};

use insta::Settings;
use treedef::{Flattener, Tree, assert_signature_snapshot, assert_structure_snapshot, structure};

/// The value of these tests, with as many hosts as a test wants.
fn config(hosts: usize) -> serde_json::Value {
    serde_json::json!({"name": "a", "hosts": vec![("b", 80); hosts]})
}

#[test]
fn snapshots_stand_in_files_and_in_the_test() {
    let value = ("a", vec![(1u8, 0.5f32); 7]);
    let mut settings = Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        assert_structure_snapshot!("macro_structure", value);
        assert_signature_snapshot!("macro_signature", value);
        assert_structure_snapshot!(without_lengths: "macro_without_lengths", config(3));
        assert_structure_snapshot!(without_lengths: "macro_without_lengths", config(4),);
    });
    assert_structure_snapshot!(value, @"(*, [(*, *); 7])");
    assert_signature_snapshot!(value, @"(str, [(u8, f32); 7])");
    assert_structure_snapshot!(without_lengths: value, @"(*, [(*, *); _])");
    assert_signature_snapshot!(without_lengths: value, @"(str, [(u8, f32); _])",);
}

/// A snapshot in the folder that the variable names, under the name of this test.
#[test]
#[ignore = "started by `a_new_file_keeps_the_expression`"]
fn writes_a_file() {
    let mut settings = Settings::clone_current();
    settings.set_snapshot_path(env::var("SNAPSHOT_FOLDER").unwrap());
    settings.bind(|| {
        assert_structure_snapshot!(config(1 + 1));
        assert_signature_snapshot!("named", config(1 + 1));
    });
}

#[test]
fn a_new_file_keeps_the_expression() {
    let folder = env::temp_dir().join(format!("treedef-snapshots-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    let (passed, printed) = run("writes_a_file", |command| {
        command.env("SNAPSHOT_FOLDER", &folder).env("INSTA_UPDATE", "always")
    });
    assert!(passed, "{printed}");
    let mut texts: Vec<(String, String)> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            (path.file_name().unwrap().to_string_lossy().into(), fs::read_to_string(path).unwrap())
        })
        .collect();
    texts.sort();
    fs::remove_dir_all(&folder).unwrap();
    insta::assert_snapshot!(format!("{} {}", texts[0].0, texts[0].1), @r#"
    it__snapshots__named.snap ---
    source: tests/it/snapshots.rs
    expression: config(1 + 1)
    ---
    {"hosts": [[str, u64]; 2], "name": str}
    "#);
    insta::assert_snapshot!(format!("{} {}", texts[1].0, texts[1].1), @r#"
    it__snapshots__writes_a_file.snap ---
    source: tests/it/snapshots.rs
    expression: config(1 + 1)
    ---
    {"hosts": [[*, *]; 2], "name": *}
    "#);
}

#[test]
#[ignore = "started by `a_failure_shows_the_changes_by_path`"]
fn structure_differs() {
    assert_structure_snapshot!(config(2), @r#"{"hosts": [(*, *); 3], "name": *, "retries": *}"#);
}

#[test]
#[ignore = "started by `a_failure_shows_the_changes_by_path`"]
fn signature_differs() {
    assert_signature_snapshot!(config(1), @r#"{"hosts": [[str, u16]], "name": str}"#);
}

#[test]
#[ignore = "started by `a_failure_shows_the_changes_by_path`"]
fn form_without_lengths_differs() {
    assert_structure_snapshot!(without_lengths: config(5), @r#"{"hosts": [[*; _]; _], "nam": *}"#);
}

#[test]
#[ignore = "started by `a_failure_shows_the_changes_by_path`"]
fn snapshot_is_new() {
    assert_structure_snapshot!(config(5), @"");
}

#[test]
fn a_failure_shows_the_changes_by_path() {
    let shown = |test| {
        let (passed, printed) = run(test, |command| command.env("INSTA_UPDATE", "no"));
        assert!(!passed, "{test} passed");
        assert!(printed.contains("Snapshot Summary"), "insta shows its own: {printed}");
        let ours = printed.split_once("since the snapshot: ")?.1;
        Some(ours.lines().take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n"))
    };
    insta::assert_snapshot!(shown("structure_differs").unwrap(), @r#"
    3 changes
    ~ ["hosts"][0]: (*, *) → [*, *], and 1 more like it
    - ["hosts"][2]: (*, *)
    - ["retries"]: *
    "#);
    insta::assert_snapshot!(shown("signature_differs").unwrap(), @r#"
    1 change
    ~ ["hosts"][0][1]: u16 → u64
    "#);
    insta::assert_snapshot!(shown("form_without_lengths_differs").unwrap(), @r#"
    1 change
    ~ ["nam"] is now ["name"]
    "#);
    assert_eq!(shown("snapshot_is_new"), None);
}

/// Runs an ignored test of this module in a process of its own. Returns whether it passed, and its
/// output.
fn run(test: &str, setting: impl Fn(&mut Command) -> &mut Command) -> (bool, String) {
    let name = format!("{}::{test}", module_path!().split_once("::").unwrap().1);
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", &name, "--ignored", "--nocapture", "--test-threads=1"]);
    command.env_remove("INSTA_FORCE_PASS").env_remove("INSTA_OUTPUT").env("NO_COLOR", "1");
    let output = setting(&mut command).output().unwrap();
    let printed = [output.stderr, output.stdout].concat();
    let printed = String::from_utf8_lossy(&printed).into_owned();
    assert!(printed.contains("running 1 test"), "{printed}");
    (output.status.success(), printed)
}

#[derive(serde::Serialize)]
struct Layer {
    #[serde(serialize_with = "treedef::as_static")]
    name: &'static str,
    w: [f64; 2],
}

const LAYER: Layer = Layer { name: "a", w: [1.0, 2.0] };

/// Other formats get a text and a document: an assertion means the structure.
#[test]
fn treedefs_and_trees_are_taken_for_what_they_are() {
    let treedef = structure(&LAYER).unwrap();
    assert_structure_snapshot!(treedef, @r#"Layer { name: static "a", w: (*, *) }"#);
    assert_structure_snapshot!(&Box::new(&treedef), @r#"Layer { name: static "a", w: (*, *) }"#);
    assert_structure_snapshot!(without_lengths: structure(&vec![1; 9]).unwrap(), @"[*; _]");

    let rules = Flattener::new().mark_static("Layer.w").unwrap();
    let tree = rules.tree(&LAYER).unwrap();
    assert_structure_snapshot!(tree, @r#"Layer { name: static "a", w: static (1.0, 2.0) }"#);
    let tree = Flattener::new().mark_opaque("Layer.w").unwrap().tree(&(1u8, LAYER)).unwrap();
    assert_signature_snapshot!(tree, @r#"(u8, Layer { name: static "a", w: opaque })"#);

    // Inside of a value they are the text and the document that every format gets.
    assert_structure_snapshot!((&treedef, "b"), @"(*, *)");
    assert_structure_snapshot!(serde_json::to_string(&treedef).unwrap(), @"*");
    assert_structure_snapshot!([Tree::of(&LAYER).unwrap()], @r#"({"name": *, "w": (*, *)},)"#);
}

/// It serializes a treedef before it makes a text of it.
struct Inner(treedef::TreeDef);

impl serde::Serialize for Inner {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = serde_json::to_string(&self.0).map_err(serde::ser::Error::custom)?;
        serializer.serialize_str(&text)
    }
}

#[test]
fn a_treedef_that_another_serializer_sees_is_no_answer() {
    assert_signature_snapshot!(Inner(structure(&LAYER).unwrap()), @"str");
}

#[test]
fn a_treedef_has_no_kinds() {
    let treedef = structure(&LAYER).unwrap();
    let panic = std::panic::catch_unwind(|| assert_signature_snapshot!(treedef, @"*")).unwrap_err();
    insta::assert_snapshot!(panic.downcast_ref::<String>().unwrap(), @"a treedef has no kinds of leaves at the root (see `assert_structure_snapshot`)");
}
