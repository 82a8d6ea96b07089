//! Schemas that refer to other files, and names that no URI has.

use std::fs;

use crate::{Folder, treedef};

/// The output of `check`, and its messages.
fn check(arguments: &[&str]) -> (String, String) {
    let output = treedef(&[&["check"], arguments].concat()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr))
}

fn written(folder: &Folder, files: &[(&str, &str)]) {
    for (name, text) in files {
        fs::write(folder.path(name), text).unwrap();
    }
}

#[test]
fn a_schema_refers_to_files_that_are_given() {
    let folder = Folder::new("schemas_files");
    fs::create_dir_all(folder.path("given/deep")).unwrap();
    let properties = r#"{
        "a": {"$ref": "other.json#/definitions/x y"},
        "b": {"$ref": "https://example.com/old/deep/näh%C3%A9r.json"},
        "c": {"$ref": "https://example.com/by-id"},
        "d": {"$ref": "other"}
    }"#;
    written(
        &folder,
        &[
            (
                "s.json",
                &format!(r#"{{"$id": "https://example.com/s.json", "properties": {properties}}}"#),
            ),
            ("other.json", r#"{"definitions": {"x y": {"type": "integer"}}, "minimum": 5}"#),
            ("given/deep/nähér.json", r#"{"type": "boolean"}"#),
            (
                "given/z.json",
                r#"{"$id": "https://example.com/by-id", "items": {"$ref": "deep/item.json"}}"#,
            ),
            ("given/deep/item.json", r#"{"type": "number"}"#),
            ("right.json", r#"{"a": 1, "b": true, "c": [1.5], "d": 5}"#),
            ("wrong.json", r#"{"a": "x", "b": 1, "c": [1, "2"], "d": 4}"#),
        ],
    );
    let [schema, right, wrong, given] =
        ["s.json", "right.json", "wrong.json", "given"].map(|it| folder.path(it));
    assert_eq!(check(&["--schema", &schema, "--schema-dir", &given, &right]), Default::default());
    let (printed, told) = check(&["--schema", &schema, "--schema-dir", &given, &wrong]);
    let lines: Vec<_> = printed.lines().map(|line| line.trim_start_matches(&wrong)).collect();
    let expected = [
        ": .a: \"x\" is not of type \"integer\"",
        ": .b: 1 is not of type \"boolean\"",
        ": .c[1]: \"2\" is not of type \"number\"",
        ": .d: 4 is less than the minimum of 5",
    ];
    assert_eq!((lines, told.as_str()), (expected.to_vec(), "treedef: 4 violations\n"));
    // All missing fields are reported, in the same order at each run.
    for _ in 0..5 {
        let (_, told) = check(&["--schema", &schema, &right]);
        let missing = "it refers to `https://example.com/by-id`, `https://example.com/old/deep/nähér.json`, \
            which is neither next to it nor in a `--schema-dir` (nothing is downloaded)";
        assert_eq!(told, format!("treedef: {schema}: {missing}\n"));
    }
    fs::write(folder.path("given/z.json"), r#"{"$id": "https://example.com/by-id", "type": 7}"#)
        .unwrap();
    let (_, told) = check(&["--schema", &schema, "--schema-dir", &given, &right]);
    assert!(told.contains("not a JSON Schema"), "{told}");
    fs::write(folder.path("other.json"), "{").unwrap();
    let (_, told) = check(&["--schema", &schema, "--schema-dir", &given, &right]);
    assert_eq!(
        told,
        format!("treedef: {}:1:1: EOF while parsing an object\n", folder.path("other.json"))
    );
}

#[test]
fn no_reference_leaves_its_folders() {
    let folder = Folder::new("schemas_outside");
    fs::create_dir(folder.path("in")).unwrap();
    fs::write(folder.path("secret.json"), r#"{"type": "string"}"#).unwrap();
    let absolute = format!("file://{}", folder.path("secret.json"));
    let document = folder.path("in/a.json");
    fs::write(&document, "7").unwrap();
    for reference in [
        "../secret.json",
        "a/%2e%2e/%2e%2e/secret.json",
        "..%2Fsecret.json",
        "..%5Csecret.json",
        &absolute,
    ] {
        let schema = folder.path("in/s.json");
        fs::write(&schema, serde_json::json!({"$ref": reference}).to_string()).unwrap();
        let (_, told) = check(&["--schema", &schema, &document]);
        assert!(told.contains("it refers to `"), "{reference}: {told}");
    }
}

#[test]
fn references_may_have_characters_that_no_uri_has() {
    let folder = Folder::new("schemas_names");
    let [schema, document] = ["s.json", "a.json"].map(|it| folder.path(it));
    fs::write(&document, "7").unwrap();
    for (name, reference) in [
        ("Inputs<alloc::string::String>", "Inputs<alloc::string::String>"),
        ("Inputs<alloc::string::String>", "Inputs%3Calloc::string::String%3E"),
        ("a b", "a b"),
        ("Größe", "Größe"),
        ("C#", "C#"),
        ("A[B]", "A[B]"),
        ("100%", "100%"),
        ("{x}|`^\\", "{x}|`^\\"),
        ("a/b~c", "a~1b~0c"),
    ] {
        for key in ["definitions", "$defs"] {
            let text = serde_json::json!({
                "$ref": format!("#/{key}/{reference}"),
                key: {name: {"type": "string"}},
            });
            fs::write(&schema, text.to_string()).unwrap();
            let (printed, told) = check(&["--schema", &schema, &document]);
            assert!(printed.ends_with(": 7 is not of type \"string\"\n"), "{name}: {told}");
        }
    }
    // A text in a value that looks like a reference is not a reference.
    fs::write(&schema, r#"{"properties": {"const": {"const": {"$ref": "a b"}}}}"#).unwrap();
    fs::write(&document, r#"{"const": {"$ref": "a b"}}"#).unwrap();
    assert_eq!(check(&["--schema", &schema, &document]), Default::default());
}
