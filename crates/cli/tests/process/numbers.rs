//! Numbers that 64 bits do not hold are the same behind each subcommand.

use std::fs;

use crate::{Folder, treedef};

/// The output of the command, and its messages.
#[track_caller]
fn run(arguments: &[&str]) -> (String, String) {
    let output = treedef(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr))
}

const LONG: &str = r#"{"a":18446744073709551616,"b":-9223372036854775809,"c":340282366920938463463374607431768211455}"#;

#[test]
fn integers_of_128_bits_come_back_from_each_format_that_has_them() {
    let folder = Folder::new("numbers_integers");
    let file = folder.path("a.json");
    fs::write(&file, LONG).unwrap();
    for to in ["json", "yaml", "toml", "cbor", "ron", "tree"] {
        let made = folder.path(&format!("made.{to}"));
        assert_eq!(run(&["convert", &file, "-o", &made]).1, "", "{to}");
        assert_eq!(run(&["diff", &file, &made]), Default::default(), "{to}");
        let back = run(&["convert", &made, "--to", "json"]).0;
        assert_eq!(back.replace([' ', '\n'], ""), LONG, "{to}");
    }
    let (_, told) = run(&["convert", &file, "-o", &folder.path("made.msgpack")]);
    assert!(told.contains("i128 became f64 of another value, 1 time, first at .b"), "{told}");
}

#[test]
fn other_numbers_keep_their_digits_and_are_compared_by_value() {
    let folder = Folder::new("numbers_digits");
    let [old, new, lines] = ["old.json", "new.json", "both.jsonl"].map(|name| folder.path(name));
    let text = r#"{"a":0.12345678901234567890123,"b":1e400,"c":[1e-400,1.00]}"#;
    let other = r#"{"a":0.123456789012345678901230,"b":10E+399,"c":[2e-400,1.0]}"#;
    fs::write(&old, text).unwrap();
    fs::write(&new, other).unwrap();
    fs::write(&lines, format!("{text}\n{other}\n")).unwrap();
    assert_eq!(run(&["diff", &old, &new]).0, "~ .c[0]: 1e-400 → 2e-400\n");
    assert_eq!(run(&["diff", &old, &new, "--rtol", "1e-9"]).0, "");
    // The output has the digits of the input, except for floats.
    let kept = |text: &str| text.replace("1.00", "1.0") + "\n";
    let copied = run(&["convert", &lines, "--to", "jsonl"]);
    assert_eq!(copied, (kept(text) + &kept(other), String::new()));
    assert!(run(&["summary", &old]).0.contains("0.12345678901234567890123"));
    assert!(run(&["select", "b", &old]).0.contains("1e400"));
    assert!(run(&["shapes", &lines]).0.starts_with("2 documents, 1 structure\n"));
    assert!(run(&["show", &old]).0.contains("\"b\": f64"));
    // A patch names the differences, and is applied to the digits in the file.
    let patch = folder.path("patch.json");
    fs::write(&patch, run(&["diff", &old, &new, "--patch"]).0).unwrap();
    let patched = run(&["apply", &old, &patch]).0.replace([' ', '\n'], "");
    assert_eq!(patched, text.replace("1e-400,1.00", "2e-400,1.0"));
    let yaml = folder.path("old.yaml");
    fs::write(&yaml, text.replace(['"'], " ")).unwrap();
    assert_eq!(run(&["diff", &old, &yaml]).0, "");
    for to in ["yaml", "ron", "toml"] {
        let made = folder.path(&format!("made.{to}"));
        assert_eq!(run(&["convert", &old, "-o", &made]).1, "", "{to}");
        assert_eq!(run(&["diff", &old, &made]), Default::default(), "{to}");
        let digits = fs::read_to_string(&made).unwrap();
        assert!(digits.contains("0.12345678901234567890123"), "{digits}");
    }
    let (_, told) = run(&["convert", &old, "-o", &folder.path("made.cbor")]);
    let loss = "changed in cbor: number of more digits became f64 of another value, 3 times";
    assert!(told.contains(loss), "{told}");
    // `shapes` distinguishes them with an option.
    let told = run(&["shapes", "--decimals", &lines]).0;
    let structure = "{\"a\": decimal(f64), \"b\": decimal(f64), \"c\": [decimal(f64), f64]}";
    assert!(told.contains(structure) && told.contains("1 structure\n"), "{told}");
    let told = run(&["shapes", "--decimals", &folder.path("made.toml")]).0;
    assert!(told.contains(structure), "{told}");
}

/// A patch that was made of one format has other spellings than the document of the other.
#[test]
fn a_patch_of_a_long_number_is_applied_to_each_spelling() {
    let folder = Folder::new("numbers_patch");
    let [old, new, patch, other] =
        ["old.json", "new.json", "patch.json", "other.yaml"].map(|name| folder.path(name));
    for (number, spelling) in [
        ("1E400", "1.0e+400"),
        ("1.50e400", "15e399"),
        ("0.1234567890123456789000", "0.1234567890123456789"),
        ("18446744073709551616.0", "18446744073709551616.00"),
    ] {
        fs::write(&old, format!("{{\"a\":{number},\"b\":[1,{number},null],\"c\":{number}}}"))
            .unwrap();
        fs::write(&new, format!("{{\"a\":1e401,\"b\":[1,2,{number},null]}}")).unwrap();
        fs::write(&patch, run(&["diff", &old, &new, "--patch"]).0).unwrap();
        let text = format!("a: {spelling}\nb: [1, {spelling}, null]\nc: {spelling}\n");
        fs::write(&other, &text).unwrap();
        let (made, told) = run(&["apply", &other, &patch, "--to", "json"]);
        assert_eq!(told, "", "{number}");
        fs::write(&old, made).unwrap();
        assert_eq!(run(&["diff", &old, &new]).0, "", "{number}");
        // Also in the format of the patch.
        let respelled = text.replace("a:", "{\"a\":").replace("\nb:", ",\"b\":");
        let respelled = respelled.replace("\nc:", ",\"c\":").replace("\n", "}");
        fs::write(&old, respelled).unwrap();
        assert_eq!(run(&["apply", &old, &patch]).1, "", "{number}");
        fs::write(&old, format!("{{\"a\":1e402,\"b\":[1,{number},null],\"c\":{number}}}")).unwrap();
        let told = run(&["apply", &old, &patch]).1;
        let expected = format!("{old}: expected `{number}`, found `1e402` at `.a`");
        assert_eq!(told, format!("treedef: {expected}\n"));
    }
}

/// The kind is `f64`, and no name of a crate is shown.
#[test]
fn the_kind_of_a_long_number_is_a_float_in_each_command() {
    let folder = Folder::new("numbers_kind");
    let file = folder.path("a.json");
    fs::write(&file, r#"{"a":1e401}"#).unwrap();
    assert!(run(&["summary", "--json", &file]).0.contains(r#""kind": "f64""#));
    let told = run(&["select", "a.b", &file]).1;
    assert!(told.contains("`.a`, which is f64"), "{told}");
    let page = run(&["view", &file]).0;
    assert!(page.contains(r#"3,"1e401""#), "its class is not that of a number: {page}");
    let saved = folder.path("a.tree");
    assert_eq!(run(&["convert", &file, "-o", &saved]).1, "");
    for to in ["yaml", "json", "ron"] {
        assert_eq!(run(&["convert", &saved, "--to", to]).1, "", "{to}");
    }
    let told = run(&["convert", &saved, "-o", &folder.path("a.msgpack")]).1;
    assert!(!told.contains("opaque"), "{told}");
}

#[test]
fn numbers_of_toml_are_found_outside_of_texts_comments_and_keys() {
    let folder = Folder::new("numbers_toml");
    let file = folder.path("a.toml");
    let text = r#"a = +1_0e400 # 1e401
"b 1e402" = "\"1e403"
c = [1e404, '1e405', """
1e406 " """, '''1e407 ' ''']
12345678901234567890123456789012345678901 = 0x10
d = -340282366920938463463374607431768211456
e = 1979-05-27
"#;
    fs::write(&file, text).unwrap();
    let json = run(&["convert", &file, "--to", "json"]).0.replace("\n", "").replace("  ", "");
    assert_eq!(
        json,
        r#"{"a": 10e400,"b 1e402": "\"1e403","c": [1e404,"1e405","1e406 \" ","1e407 ' "],"12345678901234567890123456789012345678901": 16,"d": -340282366920938463463374607431768211456,"e": "1979-05-27"}"#
    );
    fs::write(&file, "a = 1e400\nb = x").unwrap();
    let (_, told) = run(&["show", &file]);
    assert!(told.contains("a.toml:2:5: "), "{told}");
}

#[test]
fn keys_that_are_long_numbers_keep_their_digits() {
    let folder = Folder::new("numbers_keys");
    let long = "12345678901234567890123456789012345678901234";
    let [yaml, ron] = ["a.yaml", "a.ron"].map(|name| folder.path(name));
    let text = format!(
        "1e400: x\n{long}: &a 1e401\n.12345678901234567890123: {{+1e402: 0.5e400}}\n\
         ? 1e403\n: &m {{1e404: 1}}\nmerged:\n  <<: *m\n*a : 2\n\"a 1e400 b\": 1e405\n\
         12345678901234567890123: 3\n"
    );
    fs::write(&yaml, text).unwrap();
    fs::write(
        &ron,
        format!(
            "{{1e400: \"x\", {long} : 1e401, .12345678901234567890123: {{+1e402: 0.5e400}}, \
             1e403: {{1e404f64: 1}}, \"merged\": {{\"1e404\": 1}}, 1e401: 2, \"a 1e400 b\": 1e405f64, \
             12345678901234567890123: 3}}"
        ),
    )
    .unwrap();
    let json = format!(
        r#"{{"1e400":"x","{long}":1e401,"0.12345678901234567890123":{{"1e402":0.5e400}},"1e403":{{"1e404":1}},"merged":{{"1e404":1}},"1e401":2,"a 1e400 b":1e405,"12345678901234567890123":3}}"#
    );
    for file in [&yaml, &ron] {
        let made = run(&["convert", file, "--to", "json"]).0;
        assert_eq!(made.replace(": ", ":").replace(['\n'], "").replace("  ", ""), json, "{file}");
        for to in ["yaml", "ron"] {
            let made = folder.path(&format!("made.{to}"));
            let lost = format!(
                "{file}: not kept in {to}: anchors and merge keys, which are written out there"
            );
            let told = if file == &yaml { format!("treedef: {lost}\n") } else { String::new() };
            assert_eq!(run(&["convert", file, "-o", &made]).1, told, "{file} {to}");
            assert_eq!(run(&["diff", file, &made]), Default::default(), "{file} {to}");
        }
    }
    // Two keys of one value are not two keys.
    fs::write(&yaml, "1.0: 1\n1.00: 2\n").unwrap();
    let (made, told) = run(&["convert", &yaml, "--to", "json"]);
    assert!(made.is_empty() && told.contains("the key `1.0` occurs twice in one map"), "{told}");
    fs::write(&ron, "{(1e400, 2): 3}").unwrap();
    let (_, told) = run(&["show", &ron]);
    assert!(told.ends_with("64 bits hold: put quotes around it\n"), "{told}");
}

#[cfg(feature = "schema")]
#[test]
fn a_schema_compares_nothing_wrong_without_a_word() {
    let folder = Folder::new("numbers_rounded");
    let [document, schema] = ["a.json", "schema.json"].map(|name| folder.path(name));
    let check = |id: &str, rule: &str, args: &[&str]| {
        fs::write(&document, format!("{{\"id\": {id}}}")).unwrap();
        fs::write(&schema, format!("{{\"properties\": {{\"id\": {{{rule}}}}}}}")).unwrap();
        let told = run(&[&["check", &document, "--schema", &schema], args].concat()).1;
        told.replace(&document, "a.json").replace(&schema, "schema.json")
    };
    let of_document = "treedef: a.json: `.id`: more digits than 64 bits hold, so the nearest number is compared, and \
         the answer may be wrong\n";
    let of_schema = of_document.replace("a.json: `.id`", "schema.json: `.properties.id.maximum`");
    let long = "12345678901234567890123";
    for (rule, told) in [
        ("\"minimum\": 0", String::new()),
        ("\"type\": \"integer\"", String::new()),
        ("\"const\": 1", "treedef: 1 violation\n".to_owned()),
        ("\"maximum\": 12345678901234567890124", of_schema + of_document),
        ("\"const\": 1.2345678901234568e22", of_document.to_owned()),
        ("\"multipleOf\": 1", of_document.to_owned()),
    ] {
        assert_eq!(check(long, rule, &[]), told, "{rule}");
    }
    assert_eq!(check("1.00000000000000000000001", "\"type\": \"integer\"", &[]), of_document);
    assert_eq!(check(long, "\"multipleOf\": 1", &["--strict"]), of_document);
    let strict = check(long, "\"maximum\": 12345678901234567890124", &["--strict"]);
    assert!(strict.starts_with("treedef: schema.json: `.properties.id.maximum`: "), "{strict}");
}

#[test]
fn words_that_look_like_numbers_stay_words() {
    let folder = Folder::new("numbers_words");
    let [yaml, ron] = ["a.yaml", "a.ron"].map(|name| folder.path(name));
    let text =
        "a: 1e401 # 1e402\nb: '1e403'\nc: x 1e404\nk: {\"d\":1e406, e: [1e407,0.5]}\nnumber0x: 5\n";
    fs::write(&yaml, text).unwrap();
    let (json, told) = run(&["convert", &yaml, "--to", "json", "--duplicate-keys", "warn"]);
    let json = json.replace([' ', '\n'], "");
    assert!(told.contains("not kept in json: comments"), "{told}");
    for part in [r#""a":1e401"#, r#""b":"1e403""#, r#""c":"x1e404""#, r#""d":1e406"#, "[1e407,0.5]"]
    {
        assert!(json.contains(part), "{part}: {json}");
    }
    let copy = run(&["convert", &yaml, "--to", "yaml"]).0;
    assert!(copy.contains("a: 1.0e+401\n") && copy.contains("number0x: 5\n"), "{copy}");
    fs::write(&ron, r#"(a:1e401,b:"1e402",c:[0.5,-1e403],d:Some(1e404)) // 1e405"#).unwrap();
    let copy = run(&["convert", &ron, "--to", "ron"]).0.replace([' ', '\n'], "");
    assert_eq!(copy, r#"{"a":1e401,"b":"1e402","c":[0.5,-1e403,],"d":Some(1e404),}"#);
}

#[test]
fn integers_of_any_length_are_read_in_cbor() {
    let folder = Folder::new("numbers_bignums");
    let [cbor, json] = ["a.cbor", "a.json"].map(|name| folder.path(name));
    let least = [&[0xc3, 0x50, 0x80][..], &[0; 15]].concat();
    let most = [&[0xc2, 0x51, 1][..], &[0; 16]].concat();
    // Bytes that look like a number stay bytes.
    let bytes = [&[0x52][..], &least].concat();
    let map =
        [&[0xa3, 0x61, b'a'][..], &least, &[0x61, b'b'], &most, &[0x61, b'c'], &bytes].concat();
    fs::write(&cbor, &map).unwrap();
    let text =
        "-170141183460469231731687303715884105729,\"b\":340282366920938463463374607431768211456";
    let bytes = least.iter().map(|byte| byte.to_string()).collect::<Vec<_>>().join(",");
    fs::write(&json, format!("{{\"a\":{text},\"c\":[{bytes}]}}")).unwrap();
    let copy = run(&["convert", &cbor, "--to", "json"]).0.replace([' ', '\n'], "");
    assert_eq!(copy, fs::read_to_string(&json).unwrap());
    assert_eq!(run(&["select", "a", &cbor]).0, ".a: -170141183460469231731687303715884105729\n");
    // The head of a tag need not be the shortest.
    let heads: [&[u8]; 5] =
        [&[0xc2], &[0xd8, 2], &[0xd9, 0, 2], &[0xda, 0, 0, 0, 2], &[0xdb, 0, 0, 0, 0, 0, 0, 0, 2]];
    for head in heads {
        let number = [head, &most[1..]].concat();
        let in_pieces = [head, &[0x5f, 0x41, 1, 0x50], &[0; 16], &[0xff]].concat();
        for number in [number, in_pieces] {
            fs::write(&cbor, [&[0xa2, 0x61, b'a'][..], &number, &number, &[0x18, 7]].concat())
                .unwrap();
            let copy = run(&["convert", &cbor, "--to", "json"]).0.replace([' ', '\n'], "");
            let digits = "340282366920938463463374607431768211456";
            assert_eq!(copy, format!("{{\"a\":{digits},\"{digits}\":7}}"), "{head:x?}");
        }
    }
    fs::write(&cbor, &map).unwrap();
    // They are written as they are read.
    let copy = folder.path("copy.cbor");
    for file in [&cbor, &json] {
        assert_eq!(run(&["convert", file, "-o", &copy]), Default::default());
        let written = fs::read(&copy).unwrap();
        assert!(written.windows(least.len()).any(|it| it == least), "{written:x?}");
        assert!(written.windows(most.len()).any(|it| it == most), "{written:x?}");
    }
    // A key is the text of its digits, wherever it is.
    let keys = [
        &[0xa2][..],
        &most,
        &[0x9f, 0xff],
        &[0x82, 0xa1],
        &most,
        &least,
        &[0xbf],
        &most,
        &most,
        &[0xff],
        &most,
    ];
    fs::write(&cbor, keys.concat()).unwrap();
    let digits = "340282366920938463463374607431768211456";
    let key = format!("[[{{\"{digits}\": \"-170141183460469231731687303715884105729\"}}, ");
    let told = run(&["select", "**", &cbor]).0;
    assert!(told.contains(&format!("[\"{digits}\"]: []\n")), "{told}");
    assert!(told.contains(&format!("{key}{{\"{digits}\": \"{digits}\"}}]]: {digits}\n")), "{told}");
    // The bytes of a number may be in pieces, of a key's too.
    let in_pieces = |tag: u8, pieces: &[&[u8]]| {
        let mut bytes = vec![tag, 0x5f];
        for piece in pieces {
            bytes.extend([&[0x40 | u8::try_from(piece.len()).unwrap()], *piece].concat());
        }
        [bytes, vec![0xff]].concat()
    };
    let numbers = [
        in_pieces(0xc2, &[&[1], &[0; 10], &[0; 6]]),
        in_pieces(0xc3, &[&[0, 1], &[0; 8]]),
        in_pieces(0xc2, &[&[7]]),
        in_pieces(0xc2, &[]),
    ];
    let keys = [&[0xa2][..], &numbers[2], &[1], &numbers[0], &[2]].concat();
    fs::write(&cbor, [&[0x85][..], &numbers.concat(), &keys].concat()).unwrap();
    let told = run(&["convert", &cbor, "--to", "yaml"]).0;
    let integers = format!("- {digits}\n- -18446744073709551617\n- 7\n- 0\n- ");
    assert!(told.starts_with(&integers), "{told}");
    assert!(told.contains("7: 1\n") && told.contains(&format!("{digits}\": 2\n")), "{told}");
    // A fault is where it is in the file.
    fs::write(&cbor, [&map[..], &[0]].concat()).unwrap();
    let told = run(&["summary", &cbor]).1;
    assert!(told.ends_with(&format!("which ends at byte {}\n", map.len())), "{told}");
}

#[cfg(feature = "schema")]
/// As the tag of a value, it is not seen, but it is not written back.
#[test]
fn a_tag_of_a_key_is_passed_over_in_cbor() {
    let folder = Folder::new("numbers_key_tags");
    let [cbor, copy] = ["a.cbor", "copy.cbor"].map(|name| folder.path(name));
    let cases: [(&[u8], &str); 6] = [
        (b"\xa1\xc1\x61a\x02", r#"{"a":2}"#),
        (
            b"\xd9\xd9\xf7\xa2\xd9\xd9\xf7\xc1\x61a\xc1\x02\x61b\xa1\xd8\x20\x01\x03",
            r#"{"a":2,"b":{"1":3}}"#,
        ),
        (b"\xbf\xc1\x61a\x82\xc1\x02\x03\xff", r#"{"a":[2,3]}"#),
        (b"\xa1\x82\xc1\x01\xc1\x61x\x02", ""),
        (b"\xa1\xc2\x41\x07\x02", r#"{"7":2}"#),
        (
            b"\xa1\xc1\xc2\x51\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x02",
            r#"{"340282366920938463463374607431768211456":2}"#,
        ),
    ];
    for (bytes, expected) in cases {
        fs::write(&cbor, bytes).unwrap();
        let shown = run(&["show", &cbor]);
        assert!(!shown.0.contains("@@") && shown.1.is_empty(), "{shown:?}");
        let json = run(&["convert", &cbor, "--to", "json"]).0.replace([' ', '\n'], "");
        assert_eq!(json, expected, "{bytes:x?}");
        let has_tag = bytes[1] != 0xc2;
        let told = run(&["convert", &cbor, "-o", &copy]).1;
        assert_eq!(told.contains("not kept in cbor: tags of CBOR"), has_tag, "{told}");
        assert_eq!(run(&["diff", &cbor, &copy]).0, "");
    }
    // Without their tags, both are one key.
    fs::write(&cbor, b"\xa2\xc1\x61a\x02\x61a\x03").unwrap();
    let told = run(&["show", &cbor]).1;
    assert!(told.contains("the key `a` occurs twice in one map"), "{told}");
}

#[test]
fn a_number_beyond_64_bits_is_one_to_a_schema() {
    let folder = Folder::new("numbers_schema");
    let [schema, json] = ["schema.json", "a.json"].map(|name| folder.path(name));
    fs::write(&schema, r#"{"items":{"type":"number","exclusiveMinimum":0}}"#).unwrap();
    fs::write(&json, "[1e400,1e-400,18446744073709551616]").unwrap();
    assert_eq!(run(&["check", "--schema", &schema, &json]), Default::default());
}

#[test]
fn a_patch_of_null_is_applied_to_the_cbor_that_it_is_from() {
    let folder = Folder::new("numbers_null");
    let [old, new, cbor, patch] =
        ["old.json", "new.json", "old.cbor", "patch.json"].map(|name| folder.path(name));
    fs::write(&old, r#"{"a":null,"b":18446744073709551616}"#).unwrap();
    fs::write(&new, r#"{"a":5,"b":18446744073709551616}"#).unwrap();
    run(&["convert", &old, "-o", &cbor]);
    fs::write(&patch, run(&["diff", &cbor, &new, "--patch"]).0).unwrap();
    let (_, told) = run(&["apply", &cbor, &patch, "-o", &cbor]);
    assert_eq!(told, "");
    assert_eq!(run(&["diff", &cbor, &new]), Default::default());
}

#[test]
fn what_is_behind_a_member_of_gzip_is_named() {
    use std::io::Write;

    let folder = Folder::new("numbers_gzip");
    let file = folder.path("a.json.gz");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(b"[1,\n").unwrap();
    let first = gzip.finish().unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(b"2]").unwrap();
    let second = gzip.finish().unwrap();
    let show = |behind: &[u8]| {
        fs::write(&file, [&first, &second, behind].concat()).unwrap();
        run(&["summary", &file])
    };
    assert_eq!(show(b""), ("[1, 2]\n".to_owned(), String::new()));
    assert_eq!(show(&[0; 600]), show(b""));
    for behind in [&b"more"[..], b"\0\0more"] {
        let message = "damaged: behind a member of gzip are bytes that are none";
        assert_eq!(show(behind).1, format!("treedef: {file}: {message}\n"));
    }
}

#[test]
fn texts_of_windows_are_read() {
    let folder = Folder::new("numbers_utf16");
    for (name, text) in [
        ("a.json", "{\"a\": \"ü\"}"),
        ("a.jsonl", "{\"a\": \"ü\"}\r\n"),
        ("a.yaml", "a: ü\r\n"),
        ("a.toml", "a = \"ü\"\r\n"),
    ] {
        let file = folder.path(name);
        let units = format!("\u{feff}{text}").encode_utf16().collect::<Vec<_>>();
        fs::write(&file, units.iter().flat_map(|unit| unit.to_le_bytes()).collect::<Vec<_>>())
            .unwrap();
        let shown = run(&["select", "**.a", &file]);
        assert!(shown.0.contains("\"ü\"") && shown.1.is_empty(), "{name}: {shown:?}");
    }
}

#[test]
fn a_short_float_is_the_double_of_its_value() {
    let folder = Folder::new("numbers_floats");
    let [json, cbor, msgpack] = ["a.json", "a.cbor", "a.msgpack"].map(|name| folder.path(name));
    fs::write(&json, "[2147483648.0,0.10000000149011612]").unwrap();
    fs::write(&cbor, b"\x82\xfa\x4f\0\0\0\xfa\x3d\xcc\xcc\xcd").unwrap();
    fs::write(&msgpack, b"\x92\xca\x4f\0\0\0\xca\x3d\xcc\xcc\xcd").unwrap();
    for [old, new] in [[&json, &cbor], [&json, &msgpack], [&cbor, &msgpack]] {
        assert_eq!(run(&["diff", old, new]), Default::default(), "{old} {new}");
    }
    for file in [&cbor, &msgpack] {
        let (text, told) = run(&["convert", file, "--to", "json"]);
        let text = text.replace([' ', '\n'], "");
        assert_eq!((&*text, &*told), ("[2147483648.0,0.10000000149011612]", ""), "{file}");
        assert!(run(&["summary", file]).0.contains("2147483648.0"), "{file}");
    }
    // MessagePack keeps its widths.
    let copy = folder.path("copy.msgpack");
    run(&["convert", &msgpack, "-o", &copy]);
    assert_eq!(fs::read(&copy).unwrap(), fs::read(&msgpack).unwrap());
}

#[test]
fn a_short_float_of_a_tensor_is_the_double_of_its_value() {
    let folder = Folder::new("numbers_tensors");
    let file = folder.path("a.safetensors");
    let header = r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"BF16","shape":[1],"data_offsets":[8,10]},"c":{"dtype":"F16","shape":[],"data_offsets":[10,12]}}"#;
    let data = b"\0\0\0\x4f\xcd\xcc\xcc\x3d\xcd\x3d\xff\x7b";
    let length = u64::try_from(header.len()).unwrap().to_le_bytes();
    fs::write(&file, [&length, header.as_bytes(), data].concat()).unwrap();
    let exact = r#"{"a":[2147483648.0,0.10000000149011612],"b":[0.10009765625],"c":65504.0}"#;
    for to in ["json", "yaml", "toml", "ron", "cbor", "msgpack", "tree"] {
        let made = folder.path(&format!("made.{to}"));
        run(&["convert", &file, "-o", &made]);
        assert_eq!(run(&["diff", &file, &made]), Default::default(), "{to}");
        let back = run(&["convert", &made, "--to", "json"]).0;
        assert_eq!(back.replace([' ', '\n'], ""), exact, "{to}");
    }
    let lost = "the types of values: bf16, f16, f32";
    assert!(run(&["convert", &file, "--to", "yaml"]).1.ends_with(&format!("{lost}\n")));
    let selected = run(&["select", "**", "--json", &file]).0;
    assert!(selected.contains(r#""value":[2147483648.0,0.10000000149011612]}"#), "{selected}");
    assert!(selected.contains("0.10009765625") && selected.contains("65504.0"), "{selected}");
}

/// RON and MessagePack have no widths that somebody chose: today's value of a counter is no structure.
#[test]
fn a_counter_of_ron_and_messagepack_has_no_width() {
    let folder = Folder::new("numbers_widths");
    // {"a": 200, "b": [1, 300]} and {"a": 300, "b": [1, 2]}
    let cases: [(&str, &[u8], &[u8]); 2] = [
        ("ron", b"(a: 200, b: [1, 300])", b"(a: 300, b: [1, 2])"),
        (
            "msgpack",
            b"\x82\xa1a\xcc\xc8\xa1b\x92\x01\xcd\x01\x2c",
            b"\x82\xa1a\xcd\x01\x2c\xa1b\x92\x01\x02",
        ),
    ];
    for (format, a, b) in cases {
        let [old, new] = ["old", "new"].map(|name| folder.path(&format!("{name}.{format}")));
        fs::write(&old, a).unwrap();
        fs::write(&new, b).unwrap();
        assert_eq!(run(&["check", &old, "--like", &new]), Default::default(), "{format}");
        assert_eq!(run(&["diff", "--structure", &old, &new]), Default::default(), "{format}");
        assert!(run(&["show", &old]).0.contains("u64"), "{format}");
    }
    let zeros = ["a.ron", "b.ron"].map(|name| folder.path(name));
    fs::write(&zeros[0], "(a: -0)").unwrap();
    fs::write(&zeros[1], "(a: 0)").unwrap();
    assert_eq!(run(&["diff", &zeros[0], &zeros[1]]), Default::default());
    // 2⁶⁴ in JSON and in CBOR
    let long = ["a.json", "a.cbor"].map(|name| folder.path(name));
    fs::write(&long[0], "18446744073709551616").unwrap();
    fs::write(&long[1], b"\xc2\x49\x01\0\0\0\0\0\0\0\0").unwrap();
    assert_eq!(run(&["check", &long[0], "--like", &long[1]]), Default::default());
}

/// The error of a patch names the value that differs, not one that has only another form.
#[test]
fn the_value_that_a_patch_does_not_find_is_named_in_each_format() {
    let folder = Folder::new("numbers_named");
    let [old, new, patch] = ["old.json", "new.json", "p.json"].map(|name| folder.path(name));
    fs::write(&old, r#"{"a": null, "b": 1, "e": 1}"#).unwrap();
    fs::write(&new, r#"{"a": 2, "b": 2, "e": 5}"#).unwrap();
    fs::write(&patch, run(&["diff", "--patch", &old, &new]).0).unwrap();
    // {"a": null, "b": 1, "e": 3}
    let cases: [(&str, &[u8]); 4] = [
        ("yaml", b"a: null\nb: 1\ne: 3\n"),
        ("ron", b"(a: None, b: 1, e: 3)"),
        ("cbor", b"\xa3\x61a\xf6\x61b\x01\x61e\x03"),
        ("msgpack", b"\x83\xa1a\xc0\xa1b\x01\xa1e\x03"),
    ];
    for (format, bytes) in cases {
        let file = folder.path(&format!("target.{format}"));
        fs::write(&file, bytes).unwrap();
        let told = run(&["apply", &file, &patch]).1;
        assert_eq!(told, format!("treedef: {file}: expected `1`, found `3` at `.e`\n"));
    }
}
