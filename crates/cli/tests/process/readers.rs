//! Documents that their formats allow, and what is said of others.

use std::fs;

use treedef_cli::{Document, Format, read, write};

use crate::{Folder, fed, treedef};

/// What the command makes of a document in JSON, or says.
fn json(format: &str, text: &str) -> String {
    let output = fed(&["convert", "-f", format, "-t", "json"], text.as_bytes());
    let [printed, told] = [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap());
    let text: String = printed.split_inclusive('\n').map(str::trim).collect();
    if text.is_empty() {
        told.trim_start_matches("treedef: standard input:").trim().to_owned()
    } else {
        text
    }
}

#[test]
fn a_key_of_yaml_is_its_tag_and_its_text() {
    for key in ["1", "1.5", "true", "1e3", ".inf", ".nan", "-1", "null", "0x1F"] {
        let pair = |open: &str, close: &str| {
            format!("? {open}{key}{close}\n: a\n? {open}\"{key}\"{close}\n: b\n")
        };
        for (open, close) in [("", ""), ("[", "]"), ("{a: ", "}"), ("{", ": 1}"), ("[{x: [", "]}]")]
        {
            let text = pair(open, close);
            let Document::Tree(tree) = read(text.as_bytes(), Format::Yaml).unwrap() else {
                panic!()
            };
            assert_eq!(tree.leaves().len(), 2, "{text}");
            // It is read without a word, and comes back from what is written.
            let shown = fed(&["show", "-f", "yaml"], text.as_bytes());
            assert_eq!(String::from_utf8_lossy(&shown.stderr), "", "{text}");
            for format in [Format::Yaml, Format::Cbor] {
                let Document::Tree(back) = read(&write(&tree, format).unwrap(), format).unwrap()
                else {
                    panic!()
                };
                assert_eq!(back.leaves(), tree.leaves(), "{text}");
                assert_eq!(back.treedef().root().num_children(), 2, "{text}");
            }
        }
    }
    let twice = |key: &str, at: &str| {
        let hint = "delete one, or pass `--duplicate-keys last` or `warn`";
        format!("{at}: the key `{key}` occurs twice in one map{hint}").replace("map", "map: ")
    };
    for (text, key, at) in [
        ("a: 1\n'a': 2\n", "a", "2:1"),
        ("1.5: a\n\"1.5\": b\n1.50: c\n", "1.5", "3:1"),
        ("0x1F: a\nb: 1\n31: b\n", "31", "3:1"),
        ("~: a\nnull: b\n", "null", "2:1"),
        ("[1, 2]: a\n[1, 0x2]: b\n", "[1, 2]", "2:1"),
        ("x\n---\na: 1\na: 2\n", "a", "4:1"),
    ] {
        assert_eq!(json("yaml", text), twice(key, at), "{text}");
    }
}

#[test]
fn numbers_of_yaml_are_those_of_version_1_2() {
    for word in [
        "0X1F", "0B1", "0O7", "0b1", "-0x1F", "+0o7", "-0b1", "1_000", "1_000.5", "0x1_F", "017",
        "1__0", "0x",
    ] {
        assert_eq!(json("yaml", word), format!("{word:?}"), "{word}");
        assert_eq!(
            json("yaml", &format!("{{{word}: [{word}]}}")),
            format!("{{{word:?}: [{word:?}]}}")
        );
    }
    for (word, number) in
        [("0x1F", "31"), ("0o7", "7"), ("-12", "-12"), ("1e3", "1000.0"), ("0", "0"), ("+1", "1")]
    {
        assert_eq!(json("yaml", word), number, "{word}");
        assert_eq!(json("yaml", &format!("\"{word}\"")), format!("{word:?}"));
    }
}

#[test]
fn a_scalar_that_is_not_as_tagged_is_named() {
    for (text, error) in [
        (
            "a: !!int \"011\"\n",
            "1:10: `\"011\"` is tagged as `!!int`, expected an integer such as `11`",
        ),
        ("a: !!int 1.0\n", "1:10: `1.0` is tagged as `!!int`, expected an integer such as `11`"),
        ("- 1\n- !!float x\n", "2:11: `x` is tagged as `!!float`, expected a number such as `1.5`"),
        (
            "---\na\n---\n- !!bool maybe\n",
            "4:10: `maybe` is tagged as `!!bool`, expected `true` or `false`",
        ),
    ] {
        assert_eq!(json("yaml", text), error);
    }
}

#[test]
fn a_text_that_begins_with_a_tab_is_no_block_of_yaml() {
    let folder = Folder::new("readers_tab");
    let file = folder.path("a.json");
    let document = r#"{"a": "\tb\n\"c\\", "b": ["\n\n\tx\n", "\t", "x\n\ty", "\n\t\u007f\u0085\ud83d\ude00"]}"#;
    fs::write(&file, document).unwrap();
    let made = folder.path("a.yaml");
    assert!(treedef(&["convert", &file, "-o", &made]).status().unwrap().success());
    let text = fs::read_to_string(&made).unwrap();
    assert!(text.contains(r#"a: "\tb\n\"c\\""#), "{text}");
    assert!(text.contains(r#"- "\n\n\tx\n""#), "{text}");
    assert_eq!(treedef(&["diff", &file, &made]).output().unwrap().stdout, b"");
}

#[test]
fn digits_may_be_keys_and_long_seconds_of_toml() {
    for (text, expected) in [
        ("[\"x\".1e400]\n", r#"{"x": {"1e400": {}}}"#),
        (
            "[\"servers\".12345678901234567890]\na = 1\n",
            r#"{"servers": {"12345678901234567890": {"a": 1}}}"#,
        ),
        ("[[1e400]]\n[[1e400]]\n", r#"{"1e400": [{},{}]}"#),
        ("1e400 = 1e400\n", r#"{"1e400": 1e400}"#),
        (
            "a = {1e400 = {}, 1e401.x = [1e402, {}, {1e403 = 1}, 1e404]}\nb = 1e405\n1e406 . c = 1\n",
            r#"{"a": {"1e400": {},"1e401": {"x": [1e402,{},{"1e403": 1},1e404]}},"b": 1e405,"1e406": {"c": 1}}"#,
        ),
        ("a = 12:30:07.12345678901234567890\n", r#"{"a": "12:30:07.123456789"}"#),
        (
            "a = [2024-01-01 12:30:07.12345678901234567890+01:00, 1e400]\n",
            r#"{"a": ["2024-01-01T12:30:07.123456789+01:00",1e400]}"#,
        ),
    ] {
        assert_eq!(json("toml", text), expected, "{text}");
    }
    let cut = "a = 12:30:07.1234567891\nb = 12:30:07.1234567890\n";
    let output = fed(&["convert", "-f", "toml", "-t", "toml"], cut.as_bytes());
    let loss = "treedef: standard input: not kept in toml: digits of seconds behind the ninth\n";
    assert_eq!(String::from_utf8(output.stderr).unwrap(), loss);
}
