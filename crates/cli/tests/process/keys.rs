//! Keys that are no texts: one of a value is the same key in every command and in every format.

use std::fs;

use proptest::prelude::*;
use tempfile::TempDir;

use crate::{Folder, fed, printed, treedef};

const FORMATS: [&str; 6] = ["json", "toml", "yaml", "ron", "cbor", "msgpack"];

/// A folder with a document in each format that can store it, which the command converted from YAML.
struct Made {
    folder: TempDir,
    formats: Vec<&'static str>,
}

impl Made {
    fn of(yaml: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut made = Made { folder, formats: Vec::new() };
        fs::write(made.path("yaml"), yaml).unwrap();
        for format in FORMATS {
            let is_held = format == "yaml"
                || treedef(&["convert", &made.path("yaml"), "-o", &made.path(format)])
                    .output()
                    .unwrap()
                    .status
                    .success();
            made.formats.extend(is_held.then_some(format));
        }
        made
    }

    fn path(&self, format: &str) -> String {
        self.folder.path().join(format!("a.{format}")).display().to_string()
    }

    fn run(&self, args: &[&str]) -> (Option<i32>, String) {
        let output = treedef(args).current_dir(self.folder.path()).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    }
}

/// Of each pair of formats, neither differs from the other.
fn are_the_same(made: &Made) {
    for old in &made.formats {
        for new in &made.formats {
            let (a, b) = (format!("a.{old}"), format!("a.{new}"));
            assert_eq!(made.run(&["diff", &a, &b]), (Some(0), String::new()), "{a} {b}");
            assert_eq!(
                made.run(&["diff", "--structure", &a, &b]),
                (Some(0), String::new()),
                "{a} {b}"
            );
            assert_eq!(made.run(&["check", &a, "--like", &b]), (Some(0), String::new()), "{a} {b}");
            let patch = made.run(&["diff", "--patch", &a, &b]);
            assert_eq!(
                (patch.0, patch.1.contains("path")),
                (Some(0), false),
                "{a} {b}: {}",
                patch.1
            );
        }
    }
}

#[test]
fn integer_keys_are_the_same_in_each_pair_of_formats() {
    let yaml = "200: a\n-2: b\n300: c\n70000: d\n-40000: e\n5000000000: f\n0: {7: g, x: h}\n";
    let made = Made::of(yaml);
    assert_eq!(made.formats.len(), 6);
    are_the_same(&made);
    // JSON that another program wrote.
    fs::write(made.path("json"), r#"{"0": {"7": "g", "x": "h"}, "200": "a", "-2": "b", "300": "c", "70000": "d", "-40000": "e", "5000000000": "f"}"#).unwrap();
    are_the_same(&made);
}

#[test]
fn other_keys_are_the_same_in_each_pair_of_formats() {
    let made = Made::of("true: a\n1.5: b\n1e300: c\n-0.25: d\nx: e\n\"1.50\": f\n");
    assert_eq!(made.formats, ["json", "yaml", "ron", "cbor", "msgpack"]);
    are_the_same(&made);
    for number in ["1e300", "1e+300", "1E300", "10e299"] {
        let json = format!(
            r#"{{"true": "a", "1.5": "b", "{number}": "c", "-25e-2": "d", "x": "e", "1.50": "f"}}"#
        );
        fs::write(made.path("json"), json).unwrap();
        are_the_same(&made);
    }
    let yaml = "? null\n: a\n? [1, [-2, null]]\n: b\n? {1: [300], x: null}\n: c\n18446744073709551615: d\nx: e\n";
    let made = Made::of(yaml);
    assert_eq!(made.formats, ["yaml", "ron", "cbor", "msgpack"]);
    are_the_same(&made);
    assert_eq!(
        made.run(&["convert", "--strict", "a.yaml", "--to", "cbor", "-o", "b.cbor"]).0,
        Some(0)
    );
}

/// A number is never its text where a format has both.
#[test]
fn a_number_is_not_its_text() {
    let made = Made::of("1: a\n");
    fs::write(made.folder.path().join("b.yaml"), "\"1\": a\n").unwrap();
    let lines = "+ [1]: \"a\"\n- [\"1\"]: \"a\"\n";
    let (code, out) = made.run(&["diff", "b.yaml", "a.yaml"]);
    let mut found: Vec<&str> = out.lines().collect();
    found.sort_unstable();
    assert_eq!((code, found), (Some(1), lines.lines().collect()));
    for of in ["a.yaml", "a.cbor"] {
        let found = made.run(&["check", "b.yaml", "--like", of]);
        let lines = "b.yaml: [1]: missing\nb.yaml: [\"1\"]: not expected here\n";
        assert_eq!(found, (Some(1), lines.to_owned()));
    }
    assert_eq!(made.run(&["select", "[\"1\"]", "a.yaml"]).0, Some(1));
    assert_eq!(made.run(&["select", "[1]", "b.yaml"]).0, Some(1));
}

#[test]
fn a_patch_changes_the_document_in_any_format() {
    let made = Made::of("200: a\n? null\n: b\n? [1, 2]\n: c\n");
    fs::write(made.folder.path().join("new.yaml"), "200: x\n? null\n: y\n? [1, 2]\n: z\n").unwrap();
    for old in &made.formats {
        let (_, patch) = made.run(&["diff", "--patch", &format!("a.{old}"), "new.yaml"]);
        fs::write(made.folder.path().join("patch.json"), patch).unwrap();
        for to in &made.formats {
            let (to, out) = (format!("a.{to}"), format!("out.{to}"));
            assert_eq!(
                made.run(&["apply", &to, "patch.json", "-o", &out]).0,
                Some(0),
                "{old} {to}"
            );
            assert_eq!(
                made.run(&["diff", &out, "new.yaml"]),
                (Some(0), String::new()),
                "{old} {to}"
            );
        }
    }
}

/// A patch changes the same key in each format. The other keys are unchanged, in their
/// order.
#[test]
fn a_patch_of_one_format_applies_to_each_other() {
    let old = "z: q\n200: a\n7: {2: [x, {-5: y}], 10: gone, 9: o}\n1000: {3: {4: u}}\n-1: was\nlist: [{30: c}, {30: d}, {30: e}]\nnone: [{8: {}}, {8: {}}]\ntrue: t\n0: s\n";
    let new = "z: q\n200: b\n7: {2: [x, {-5: new}], 9: o}\n-2: was\nlist: [{30: c}, {30: other}]\nnone: [{8: []}, {8: []}]\ntrue: f\n0: s\n300: {5: n}\n";
    let (old, new) = (Made::of(old), Made::of(new));
    assert_eq!(old.formats.len(), 6);
    for from in FORMATS {
        let (_, patch) = old.run(&["diff", "--patch", &old.path(from), &new.path(from)]);
        // Another program has integers of another width.
        for patch in [patch.replace("u64", "u16"), patch] {
            fs::write(old.folder.path().join("patch.json"), patch).unwrap();
            for to in FORMATS {
                let (file, out) = (format!("a.{to}"), format!("out.{to}"));
                let applied = old.run(&["apply", &file, "patch.json", "-o", &out]);
                assert_eq!(applied, (Some(0), String::new()), "{from} {to}");
                let found = old.run(&["diff", &out, &new.path(from)]);
                assert_eq!(found, (Some(0), String::new()), "{from} {to}");
                if ["json", "toml"].contains(&to) {
                    let texts = [out, new.path(to)].map(|it| fs::read(old.folder.path().join(it)));
                    let [found, expected] = texts.map(|it| String::from_utf8(it.unwrap()).unwrap());
                    assert_eq!(found, expected, "{from} {to}");
                }
            }
        }
    }
}

#[test]
fn a_patch_changes_the_keys_that_it_names_alone() {
    let apply = |(from, old, new): (&str, &str, &str), (to, text): (&str, &str)| {
        let made = Made::of("{}\n");
        for (name, text) in [("old", old), ("new", new)] {
            fs::write(made.folder.path().join(format!("{name}.{from}")), text).unwrap();
        }
        let files = ["old", "new"].map(|name| format!("{name}.{from}"));
        let (_, patch) = made.run(&["diff", "--patch", &files[0], &files[1]]);
        fs::write(made.folder.path().join("patch.json"), patch).unwrap();
        let file = format!("a.{to}");
        fs::write(made.folder.path().join(&file), text).unwrap();
        let args = ["apply", &file, "patch.json"];
        let output = treedef(&args).current_dir(made.folder.path()).output().unwrap();
        let is_done = output.status.success();
        String::from_utf8(if is_done { output.stdout } else { output.stderr }).unwrap()
    };
    let yaml = ("yaml", "200: a\n", "200: b\n");
    let json = ("json", r#"{"200": "a"}"#, r#"{"200": "b"}"#);
    // Keys that the patch does not name are unchanged, both a number and its text.
    let found = apply(json, ("yaml", "x: 1\n300: c\n\"400\": d\n200: a\n7: e\n"));
    assert_eq!(found, "x: 1\n300: c\n\"400\": d\n200: b\n7: e\n");
    let found = apply(json, ("yaml", "\"200\": a\n200: a\n"));
    assert_eq!(found, "\"200\": b\n200: a\n");
    let found = apply(yaml, ("toml", "x = 1\n300 = 'c'\n200 = 'a'\n7 = 'e'\n"));
    assert_eq!(found, "x = 1\n300 = \"c\"\n200 = \"b\"\n7 = \"e\"\n");
    // A number is not its text where both formats have both.
    let found = apply(yaml, ("yaml", "\"200\": a\n"));
    assert_eq!(found, "treedef: a.yaml: no child `[200]` in `{\"200\": *}` at the root\n");
    // The value is another one.
    let found = apply(yaml, ("json", r#"{"200": "c"}"#));
    assert_eq!(found, "treedef: a.json: expected `\"a\"`, found `\"c\"` at `[\"200\"]`\n");
    // Two keys would become one.
    let added = ("yaml", "a: {200: a}\n", "a: {200: b, 1: c}\n");
    let found = apply(added, ("json", r#"{"a": {"1": "x", "200": "a"}}"#));
    let said =
        "json cannot hold it: the key becomes the text \"1\", which another key is, at `.a[1]`";
    assert_eq!(found, format!("treedef: a.json: {said}\n"));
    let both = ("yaml", "1: {x: a}\n\"1\": {y: b}\n", "1: {x: c}\n\"1\": {y: d}\n");
    let found = apply(both, ("json", r#"{"1": {"x": "a", "y": "b"}}"#));
    assert!(found.starts_with("treedef: a.json: no child `[1]` in"), "{found}");
}

#[test]
fn keys_that_are_the_same_are_one_structure() {
    let made = Made::of("1: a\n-300: b\n? null\n: c\n? [1]\n: d\n");
    let files: Vec<String> = made.formats.iter().map(|format| format!("a.{format}")).collect();
    let args: Vec<&str> = ["shapes"].into_iter().chain(files.iter().map(String::as_str)).collect();
    let (code, out) = made.run(&args);
    assert_eq!((code, out.lines().next()), (Some(0), Some("4 documents, 1 structure")), "{out}");
}

/// RON has two ways to write one key.
#[test]
fn a_key_that_is_written_in_two_ways_occurs_twice() {
    for text in
        ["{(): 1, None: 2}", "{'a': 1, \"a\": 2}", "{1: 1, Some(1): 2}", "{[1]: 1, (1,): 2}"]
    {
        let output = fed(&["select", "**", "--format", "ron", "-"], text.as_bytes());
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("occurs twice in one map"), "{text}: {said}");
        let output = fed(
            &["select", "**", "--format", "ron", "--duplicate-keys", "last", "-"],
            text.as_bytes(),
        );
        assert_eq!(output.stdout.iter().filter(|byte| **byte == b'\n').count(), 1, "{text}");
    }
}

/// A reader of TOML would refuse the file.
#[test]
fn a_key_that_occurs_twice_is_not_written_to_toml() {
    let text = br#"{"a": {"b": 1, "c": 2, "b": 3}}"#;
    let output = fed(&["convert", "--duplicate-keys", "warn", "-t", "toml"], text);
    let told = String::from_utf8(output.stderr).unwrap();
    let expected = "toml cannot hold it: the key `b` occurs twice in one map at `.a`";
    assert!(told.contains(expected), "{told}");
    assert_eq!((output.status.code(), output.stdout), (Some(2), Vec::new()));
}

#[test]
fn what_json_cannot_hold_is_a_violation_with_its_path() {
    let check = |schema: &str, ron: &str| {
        let made = Made::of("a: 1\n");
        fs::write(made.folder.path().join("s.json"), schema).unwrap();
        fs::write(made.folder.path().join("b.ron"), ron).unwrap();
        for to in ["cbor", "msgpack"] {
            let (file, text) =
                (format!("b.{to}"), made.run(&["check", "b.ron", "--schema", "s.json"]).1);
            assert_eq!(made.run(&["convert", "b.ron", "-o", &file]).0, Some(0));
            let found = made.run(&["check", &file, "--schema", "s.json"]);
            assert_eq!(found.1.replace(&file, "b.ron"), text, "{ron}");
        }
        let (code, out) = made.run(&["check", "b.ron", "--schema", "s.json"]);
        assert_eq!(code, Some(i32::from(!out.is_empty())));
        out.replace("b.ron: ", "")
    };
    let texts = r#"{"additionalProperties": {"type": "string"}}"#;
    let twice = |key: &str| {
        format!("JSON cannot hold it: the key becomes the text \"{key}\", which another key is\n")
    };
    let wrong = "is not of type \"string\"\n";
    let found = check(texts, r#"{200: 5, "200": "x"}"#);
    assert_eq!(found, format!("[200]: {}[200]: 5 {wrong}", twice("200")));
    let found = check(texts, r#"{true: "x", "true": 5}"#);
    assert_eq!(found, format!("[true]: {}[\"true\"]: 5 {wrong}", twice("true")));
    assert_eq!(check(texts, r#"{200: "x", -1: "y", true: "z"}"#), "");
    assert_eq!(check(texts, "{200: 5}"), format!("[200]: 5 {wrong}"));

    let small = r#"{"additionalProperties": {"type": ["number", "null"], "maximum": 100}}"#;
    let infinite = "JSON cannot hold it: inf is not a number there\n";
    assert_eq!(check(small, r#"{"a": inf, "b": 5, "c": ()}"#), format!(".a: {infinite}"));
    assert_eq!(check(small, r#"{"a": 101}"#), ".a: 101 is greater than the maximum of 100\n");
    let found = check(r#"{"additionalProperties": {"type": "number"}}"#, r#"{"a": NaN, 1: inf}"#);
    assert_eq!(
        found,
        format!("[1]: {infinite}.a: JSON cannot hold it: NaN is not a number there\n")
    );
    let found = check("{}", r#"{(): 1, [1]: {"x": {-inf: 2}}}"#);
    let none = "JSON cannot hold it: the key is not a text and cannot become one\n";
    assert_eq!(found, format!("[null]: {none}[[1]]: {none}[[1]].x[-inf]: {none}"));
}

/// The schema of documents allows them. If none can, none is written.
#[test]
fn a_schema_allows_its_documents() {
    for (yaml, said) in [
        ("200: 1\n-5: [2.5]\ntrue: x\n1e300: null\n", ""),
        ("a: [.inf]\n", "inf is not a number there, at `.a[0]`"),
        ("a: {? [1] : 2}\n", "the key is not a text and cannot become one, at `.a[[1]]`"),
        (
            "a: {1: 2, \"1\": 3}\n",
            "the key becomes the text \"1\", which another key is, at `.a[1]`",
        ),
    ] {
        let made = Made::of(yaml);
        let output = treedef(&["shapes", "--schema", &made.path("yaml")]).output().unwrap();
        if said.is_empty() {
            fs::write(made.folder.path().join("s.json"), output.stdout).unwrap();
            let found = made.run(&["check", "a.yaml", "--schema", "s.json"]);
            assert_eq!(found, (Some(0), String::new()));
            continue;
        }
        assert_eq!((output.status.code(), &*output.stdout), (Some(2), &b""[..]), "{yaml}");
        let error = String::from_utf8(output.stderr).unwrap();
        let expected = format!("no schema allows it, as JSON cannot hold it: {said}\n");
        assert!(error.ends_with(&expected), "{error}");
    }
}

#[test]
fn an_error_about_a_key_names_its_path() {
    let none = "cannot hold it: the key is not a text and cannot become one, at";
    for (yaml, to, said) in [
        ("a: [{? null : 1}]\n", "json", format!("json {none} `.a[0][null]`\n")),
        ("a: [{? {x: 1} : 1}]\n", "json", format!("json {none} `.a[0][{{\"x\": 1}}]`\n")),
        ("b: {.inf: 1}\n", "json", format!("json {none} `.b[inf]`\n")),
        ("- {.nan: 1}\n", "jsonl", format!("jsonl {none} `[0][nan(0x7ff8000000000000)]`\n")),
        ("a: [{1.5: 1}]\n", "toml", format!("toml {none} `.a[0][1.5]`\n")),
        ("a: {? [x] : 1}\n", "toml", format!("toml {none} `.a[[\"x\"]]`\n")),
    ] {
        let output = fed(&["convert", "--format", "yaml", "-", "--to", to], yaml.as_bytes());
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(error, format!("treedef: standard input: {said}"));
    }
}

/// A key of YAML.
fn key() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        any::<u64>().prop_map(|number| number.to_string()),
        any::<i128>().prop_map(|number| number.to_string()),
        (-3i8..3).prop_map(|number| number.to_string()),
        (-9i8..9, -30i16..30).prop_map(|(number, exponent)| format!("{number}.5e{exponent}")),
        Just("null".to_owned()),
        Just(".inf".to_owned()),
        any::<bool>().prop_map(|bool| bool.to_string()),
        "[ -~]{0,4}".prop_map(|text| serde_json::to_string(&text).unwrap()),
        "\\PC{1,2}".prop_map(|text| serde_json::to_string(&text).unwrap()),
    ];
    scalar.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3)
                .prop_map(|all| format!("[{}]", all.join(", "))),
            (inner.clone(), inner).prop_map(|(a, b)| format!("{{? {a} : {b}}}")),
        ]
    })
}

/// `select` finds each path that `select` and `diff` print, and the path leads to the same node.
#[test]
fn a_path_that_is_printed_is_found() {
    let config =
        ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(keys in prop::collection::vec(key(), 1..5))| {
        let document = |value: &str| -> String {
            let entries = keys.iter().enumerate();
            entries.map(|(at, key)| format!("- {{? {key} : [{value}{at}]}}\n")).collect()
        };
        let yaml = document("t");
        let all = fed(&["select", "**", "--format", "yaml", "-"], yaml.as_bytes());
        let all = String::from_utf8(all.stdout).unwrap();
        prop_assert_eq!(all.lines().count(), keys.len(), "{}", yaml);
        let folder = tempfile::tempdir().unwrap();
        let [old, new] = ["a", "b"].map(|name| folder.path().join(name).display().to_string());
        fs::write(&old, &yaml).unwrap();
        fs::write(&new, document("new ")).unwrap();
        let changed = treedef(&["diff", "--format", "yaml", &old, &new]).output().unwrap();
        let changed = String::from_utf8(changed.stdout).unwrap();
        let path = |line: &str| line.rsplit_once(": \"t").unwrap().0.to_owned();
        let changed: Vec<String> = changed.lines().map(|line| path(&line[2..])).collect();
        prop_assert_eq!(changed, all.lines().map(path).collect::<Vec<_>>(), "{}", yaml);
        for line in all.lines() {
            let (path, _) = line.rsplit_once(": ").unwrap();
            let found = fed(&["select", path, "--format", "yaml", "-"], yaml.as_bytes());
            prop_assert_eq!(String::from_utf8(found.stdout).unwrap(), format!("{line}\n"), "{}", yaml);
        }
    });
}

/// `--at` finds the part of each side by the value of the key.
#[test]
fn a_part_is_found_by_the_value_of_its_key() {
    let folder = Folder::new("keys_at");
    let [old, new] = ["a.yaml", "b.json"].map(|name| folder.path(name));
    fs::write(&old, "{2: {x: [a, b]}, 1: c}\n").unwrap();
    fs::write(&new, r#"{"2": {"x": ["a", "d"]}}"#).unwrap();
    for at in ["[2].x", "[\"2\"].x"] {
        assert_eq!(printed(&["diff", "--at", at, &old, &new]), "~ [1]: \"b\" → \"d\"\n", "{at}");
        let checked = treedef(&["check", "--at", at, &new, "--like", &old]).output().unwrap();
        assert_eq!((checked.status.code(), checked.stdout), (Some(0), vec![]), "{at}");
    }
}

/// A program chooses the width of a number, also of a key, and TOML has only one.
#[test]
fn widths_that_nobody_chose_do_not_matter() {
    let folder = Folder::new("free-widths");
    let files = [
        ("a.msgpack", &b"\x81\x02\x01"[..]),
        ("b.msgpack", b"\x81\xcd\x00\x02\x01"),
        ("c.cbor", b"\xa1\x02\x01"),
        ("d.yaml", b"2: 1\n"),
        ("e.ron", b"{2: 1}"),
    ];
    let paths: Vec<String> = files.iter().map(|(name, _)| folder.path(name)).collect();
    for (path, (_, bytes)) in paths.iter().zip(files) {
        std::fs::write(path, bytes).unwrap();
        assert_eq!(printed(&["show", path]).lines().last(), Some("{2u64: u64}"), "{path}");
    }
    let hash =
        |path: &String| printed(&["fingerprint", path]).split(' ').next().unwrap().to_owned();
    let hashes: Vec<_> = paths.iter().map(hash).collect();
    assert!(hashes.iter().all(|other| *other == hashes[0]), "{hashes:?}");
    // The patch is for either spelling.
    let patch = folder.path("p.json");
    std::fs::write(&paths[2], b"\xa1\x02\x05").unwrap();
    std::fs::write(&patch, printed(&["diff", "--patch", &paths[0], &paths[2]])).unwrap();
    let made = treedef(&["apply", &paths[1], &patch]).output().unwrap();
    assert_eq!(made.stdout, b"\x81\x02\x05");

    let [toml, json] = ["w.toml", "w.json"].map(|name| folder.path(name));
    std::fs::write(&toml, "port = 8080\nx = [1, -300]\n").unwrap();
    std::fs::write(&json, r#"{"port": 8080, "x": [1, -300]}"#).unwrap();
    for (file, like) in [(&toml, &json), (&json, &toml)] {
        assert_eq!(printed(&["check", file, "--like", like]), "");
    }
}
