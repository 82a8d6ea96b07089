//! Documents that their formats allow, and the errors for others.

use std::fs;

use treedef_cli::{Document, Format, read, write};

use crate::{Folder, fed, treedef};

/// A document as JSON by the command, or its error.
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
            // The document is read without a message, and round-trips.
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
        "1__0", "0x", "-.nan", "+.NaN", "-.NAN", ".nAn", "+.iNf",
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
    let floats = b"[.nan, .NaN, .NAN, -.inf, +.Inf, !!float -.nan]\n";
    let read = fed(&["convert", "-f", "yaml", "-t", "json5"], floats).stdout;
    let flat: String = String::from_utf8(read).unwrap().split_whitespace().collect();
    assert_eq!(flat, "[NaN,NaN,NaN,-Infinity,Infinity,NaN]");
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

/// The tag of integers is for integers of any length.
#[test]
fn a_long_integer_of_yaml_may_have_its_tag() {
    for (word, number) in [
        ("18446744073709551616", "18446744073709551616"),
        ("-9223372036854775809", "-9223372036854775809"),
        ("0x1FFFFFFFFFFFFFFFFF", "590295810358705651711"),
        ("0x1F", "31"),
    ] {
        let [tagged, text] = [format!("!!int {word}"), format!("'!!int {word}'")];
        assert_eq!(json("yaml", &tagged), number);
        let list = format!("[{number},{text:?},{number}]").replace('\'', "");
        assert_eq!(json("yaml", &format!("[!!int  {word}, {text}, !!int {word}]")), list);
    }
    let told = fed(&["convert", "-f", "yaml", "-t", "yaml"], b"!!int 18446744073709551616\n");
    assert_eq!(String::from_utf8(told.stderr).unwrap(), "");
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

#[test]
fn json_may_have_comments_where_its_name_says_so() {
    let folder = Folder::new("readers_json5");
    let text = "{\n  // the compiler\n  \"strict\": true, /* all */\n  \"n\": 0.12345678901234567890123,\n}\n";
    let run = |arguments: &[&str]| {
        let output = treedef(arguments).output().unwrap();
        [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap())
    };
    let plain = "{\"strict\": true,\"n\": 0.12345678901234567890123}";
    for name in ["a.jsonc", "a.json5"] {
        let file = folder.path(name);
        fs::write(&file, text).unwrap();
        let [printed, told] = run(&["convert", &file, "-t", "json"]);
        assert_eq!(printed.split_inclusive('\n').map(str::trim).collect::<String>(), plain);
        assert_eq!(told, format!("treedef: {file}: not kept in json: comments\n"));
        assert_eq!(run(&["diff", &file, &file]), ["", ""]);
    }
    let file = folder.path("tsconfig.json");
    fs::write(&file, text).unwrap();
    let reason = "key must be a string; the document has comments, trailing commas or more of JSON5: pass `--format json5`";
    assert_eq!(run(&["show", &file]), [String::new(), format!("treedef: {file}:2:3: {reason}\n")]);
    assert!(run(&["show", "-f", "json5", &file])[0].contains("\"strict\": bool"));
    // A document that is not JSON5 either has its own reason.
    assert_eq!(json("json", "{\"a\": x}"), "1:7: expected value");
    for (text, expected) in [
        (
            "{a: 'x', b: [+1, 0xFF, .5, 5.], 'c': \"\\\n\"}",
            r#"{"a": "x","b": [1,255,0.5,5.0],"c": ""}"#,
        ),
        ("[1, 2", "1:5: EOF while parsing a list"),
    ] {
        assert_eq!(json("json5", text), expected, "{text}");
    }
    let yaml = "a: [.inf, -.inf, .nan, 1e400, 1.5]\n";
    let written = fed(&["convert", "-f", "yaml", "-t", "json5"], yaml.as_bytes());
    assert_eq!(String::from_utf8_lossy(&written.stderr), "");
    let lines = String::from_utf8(written.stdout).unwrap();
    let flat: String = lines.split_inclusive('\n').map(str::trim).collect();
    assert_eq!(flat, r#"{"a": [Infinity,-Infinity,NaN,1e400,1.5]}"#);
    let twice = json("json5", "{a: 1, 'a': 2}");
    assert!(twice.starts_with("the key `a` occurs twice in one map"), "{twice}");
}

#[test]
fn numbers_of_one_value_are_equal_if_they_are_folded() {
    let folder = Folder::new("readers_folded");
    let [old, new, other] = ["old.json", "new.yaml", "other.json"].map(|it| folder.path(it));
    fs::write(&old, r#"{"a": [1, 2.0, 3.5, 1e22, -0.0], "b": 10000000000000000000000}"#).unwrap();
    fs::write(&new, "{a: [1.0, 2, 3.5, 10000000000000000000000, 0], b: 1e22}").unwrap();
    fs::write(&other, r#"{"a": [1.0, 2, 3.25, 1e22, 0], "b": "10000000000000000000000"}"#).unwrap();
    let diff = |arguments: &[&str]| {
        let output = treedef(&[&["diff"], arguments].concat()).output().unwrap();
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    assert_eq!(diff(&[&old, &new]).lines().count(), 5);
    assert_eq!(diff(&["--fold-numbers", &old, &new]), "");
    assert_eq!(diff(&["--fold-numbers", "--structure", &old, &new]), "");
    let expected =
        "~ .a[2]: 3.5 → 3.25\n~ .b: 10000000000000000000000 → \"10000000000000000000000\"\n";
    assert_eq!(diff(&["--fold-numbers", &old, &other]), expected);
    assert!(diff(&["--fold-numbers", "--structure", &old, &other]).starts_with("~ .b: i"));
    let check = treedef(&["check", "--fold-numbers", "--like", &old, &new]).output().unwrap();
    assert_eq!(check.status.code(), Some(0));
    // Texts of the document beside integers and floats of one value.
    for (old_number, new_number, is_equal) in [
        (
            "170141183460469231731687303715884105728",
            "170141183460469231731687303715884105728.0",
            true,
        ),
        ("18446744073709551616", "18446744073709551616.0", true),
        ("18446744073709551615", "18446744073709551615.0", true),
        ("-9223372036854775809", "-9223372036854775809.00", true),
        (
            "340282366920938463463374607431768211455",
            "340282366920938463463374607431768211455.0",
            true,
        ),
        (
            "340282366920938463463374607431768211456",
            "340282366920938463463374607431768211456.0",
            true,
        ),
        (
            "340282366920938463463374607431768211456",
            "3.402823669209384634633746074317682114560e38",
            true,
        ),
        (
            "340282366920938463463374607431768211455",
            "340282366920938463463374607431768211456",
            false,
        ),
        (
            "170141183460469231731687303715884105728",
            "170141183460469231731687303715884105729.0",
            false,
        ),
        (
            "1000000000000000000000000000000000000000000000000001",
            "1000000000000000000000000000000000000000000000000001.0",
            true,
        ),
    ] {
        let in_list = |number: &str| format!("[{number}]");
        fs::write(&old, in_list(old_number)).unwrap();
        fs::write(&other, in_list(new_number)).unwrap();
        for files in [[&old, &other], [&other, &old]] {
            let told = diff(&["--fold-numbers", files[0], files[1]]);
            assert_eq!(told.is_empty(), is_equal, "{old_number} {new_number}: {told}");
        }
    }
    // The two sides of a difference are not one text.
    fs::write(&old, "[18446744073709551616]").unwrap();
    fs::write(&other, "[18446744073709551616.0]").unwrap();
    assert_eq!(diff(&[&old, &other]), "~ [0]: 18446744073709551616 → 18446744073709551616.0\n");
}
