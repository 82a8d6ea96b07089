//! Losses of a conversion are reported at any path.

use std::fs;

use crate::{Folder, printed, treedef};

/// Converts bytes to another format, and returns the messages.
#[track_caller]
fn told(name: &str, bytes: &[u8], to: &str) -> String {
    let folder = Folder::new(&format!("losses_{name}_{to}"));
    let (file, made) = (folder.path(name), folder.path(&format!("made.{to}")));
    fs::write(&file, bytes).unwrap();
    let output = treedef(&["convert", &file, "-o", &made]).output().unwrap();
    String::from_utf8(output.stderr).unwrap().replace(&format!("treedef: {file}: "), "")
}

#[test]
fn losses_below_a_key_that_is_no_text_are_told() {
    // {1: {"x": NaN, "y": h'00', "big": 2(h'400000000000000000')}}
    let bytes = b"\xa1\x01\xa3\x61x\xf9\x7e\0\x61y\x41\0\x63big\xc2\x49\x40\0\0\0\0\0\0\0\0";
    assert_eq!(
        told("a.cbor", bytes, "json"),
        "changed in json: a key became a text, 1 time, first at [1]
\
         changed in json: bytes became a sequence, 1 time, first at [1].y
\
         changed in json: f64 became null, 1 time, first at [1].x
"
    );
    // Another width of a key is no other key: [{200u8: 1}, {-1i8: "x"}].
    let bytes = b"\x92\x81\xcc\xc8\x01\x81\xff\xa1x";
    assert_eq!(told("a.msgpack", bytes, "cbor"), "");
    assert_eq!(told("a.msgpack", bytes, "yaml"), "");
    // The key is one of two that look alike.
    assert_eq!(told("b.yaml", b"{1: a, \"1\": b}", "cbor"), "");
}

#[test]
fn keys_that_become_one_text_are_refused() {
    for to in ["json", "toml"] {
        let message = "the key becomes the text \"1\", which another key is, at `.a[0][1]`\n";
        assert_eq!(
            told("a.yaml", b"a: [{1: a, \"1\": b}]", to),
            format!("{to} cannot hold it: {message}")
        );
    }
    assert_eq!(told("b.yaml", b"{1: a, \"1\": b}", "yaml"), "");
}

/// Keys that occur twice are kept, and each is compared with its own.
#[test]
fn keys_that_occur_twice_are_no_loss() {
    let folder = Folder::new("losses_twice");
    let (file, patch) = (folder.path("a.json"), folder.path("patch.json"));
    let json = r#"{"a": 1, "a": "x", "a": [2], "b": {"c": 1.5, "c": null}, "d": 1}"#;
    fs::write(&file, json).unwrap();
    fs::write(folder.path("b.json"), json.replace("\"d\": 1", "\"d\": 2")).unwrap();
    let twice = "the key `a` occurs twice in one map, and both are kept";
    let told = |args: &[&str]| {
        let output = treedef(&[args, &["--duplicate-keys", "warn"]].concat()).output().unwrap();
        (output.stdout, String::from_utf8(output.stderr).unwrap())
    };
    for to in ["json", "yaml", "cbor", "msgpack", "ron", "tree"] {
        let made = folder.path(&format!("made.{to}"));
        let (_, told) = told(&["convert", &file, "-o", &made]);
        assert_eq!(told, format!("treedef: {file}: {twice}\n"), "{to}");
    }
    let (diff, _) = told(&["diff", "--patch", &file, &folder.path("b.json")]);
    fs::write(&patch, diff).unwrap();
    let (new, told) = told(&["apply", &file, &patch]);
    assert_eq!(told, format!("treedef: {file}: {twice}\n"));
    let new: String = String::from_utf8(new).unwrap().split_whitespace().collect();
    assert_eq!(new, r#"{"a":1,"a":"x","a":[2],"b":{"c":1.5,"c":null},"d":2}"#);
}

#[test]
fn extensions_of_messagepack_are_told() {
    // {"a": 1.5, "b": [b"\xd6", "\x01\x02"], "t": the first second of 1970}, and null instead
    let head = b"\x83\xa1a\xcb\x3f\xf8\0\0\0\0\0\0\xa1b\x92\xc4\x01\xd6\xd9\x02\x01\x02\xa1t";
    let expected = "not kept in msgpack: extensions of MessagePack, which are lists there\n";
    assert_eq!(
        told("a.msgpack", &[&head[..], b"\xd6\xff\0\0\0\x01"].concat(), "msgpack"),
        expected
    );
    assert_eq!(told("a.msgpack", &[&head[..], b"\xc0"].concat(), "msgpack"), "");
}

#[test]
fn a_text_of_a_character_and_another_nan_are_no_losses() {
    assert_eq!(told("a.ron", b"(a: 'x', b: '\"')", "json"), "");
    // {"a": NaN in 32 bits}
    for to in ["cbor", "yaml", "json5", "ron", "toml"] {
        assert_eq!(told("a.msgpack", b"\x81\xa1a\xca\x7f\xc0\0\0", to), "", "{to}");
    }
    assert!(told("a.msgpack", b"\x81\xa1a\xca\x7f\xc0\0\0", "json").contains(" became null"));
}

/// MessagePack has bytes for integers of 128 bits, whatever their values.
#[test]
fn a_small_bignum_of_cbor_is_an_integer_in_messagepack() {
    let folder = Folder::new("bignum");
    let (file, made) = (folder.path("a.cbor"), folder.path("made.msgpack"));
    // [5, -6] as bignums
    fs::write(&file, b"\x82\xc2\x41\x05\xc3\x41\x05").unwrap();
    let output = treedef(&["convert", &file, "-o", &made]).output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(fs::read(&made).unwrap(), b"\x92\x05\xfa");
}

#[test]
fn the_order_of_keys_is_told_beside_other_losses() {
    let expected = "not kept in safetensors: the order of keys
changed in safetensors: number of more digits became f64 of another value, 1 time, first at .z
";
    assert_eq!(told("a.json", b"{\"z\": 1e400, \"a\": 1}", "safetensors"), expected);
    let expected = "changed in safetensors: number of more digits became f64 of another value, 1 time, first at .a
";
    assert_eq!(told("a.json", b"{\"a\": 1e400, \"z\": 1}", "safetensors"), expected);
}

/// Bytes that are a document keep their tag, alone and as one of several.
#[test]
fn bytes_at_the_root_of_yaml_are_kept() {
    let folder = Folder::new("binary");
    let (file, made) = (folder.path("a.yaml"), folder.path("made.yaml"));
    for text in ["!!binary AQID\n", "---\n!!binary AQID\n---\n1\n"] {
        fs::write(&file, text).unwrap();
        let output = treedef(&["convert", "--strict", &file, "-o", &made]).output().unwrap();
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
        assert_eq!(fs::read_to_string(&made).unwrap(), text);
    }
}

/// A tag belongs to one value, also if its key occurs twice.
#[test]
fn a_tag_of_cbor_does_not_move_to_a_twin() {
    let folder = Folder::new("twins");
    let [old, made] = ["old.cbor", "made.cbor"].map(|name| folder.path(name));
    // {"a": 1(1), "a": 2, "b": 1(3)}
    fs::write(&old, b"\xa3\x61a\xc1\x01\x61a\x02\x61b\xc1\x03").unwrap();
    let converted = |choice: &str| {
        let args = ["convert", "--duplicate-keys", choice, &old, "-o", &made];
        let output = treedef(&args).output().unwrap();
        (fs::read(&made).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(converted("last"), (b"\xa2\x61a\x02\x61b\xc1\x03".to_vec(), String::new()));
    let (bytes, told) = converted("warn");
    assert_eq!(bytes, b"\xa3\x61a\x01\x61a\x02\x61b\xc1\x03");
    assert!(told.ends_with("not kept in cbor: tags of CBOR\n"), "{told}");
}

/// The null of CBOR is the null of other formats, and no `None` of RON.
#[test]
fn null_of_cbor_is_the_null_of_json() {
    let folder = Folder::new("null");
    let [cbor, toml, list] = ["a.cbor", "b.toml", "c.cbor"].map(|name| folder.path(name));
    // {"a": 1, "z": null}, {"a": [null, 1]}
    fs::write(&cbor, b"\xa2\x61a\x01\x61z\xf6").unwrap();
    fs::write(&list, b"\xa1\x61a\x82\xf6\x01").unwrap();
    fs::write(&toml, "a = 1\n").unwrap();
    assert_eq!(printed(&["diff", &cbor, &toml]), "- .z: null\n");
    for (file, place) in [(&cbor, ".z"), (&list, ".a[0]")] {
        let output = treedef(&["convert", file, "--to", "toml"]).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        let expected = format!("it has no null, and there is one at `{place}`");
        assert!(told.contains(&expected), "{told}");
    }
    let made = folder.path("made.cbor");
    assert!(treedef(&["convert", &cbor, "-o", &made]).status().unwrap().success());
    assert_eq!(fs::read(&made).unwrap(), fs::read(&cbor).unwrap());
}

/// A text at the index of a removed date does not become one.
#[test]
fn a_date_of_toml_does_not_move_to_a_text() {
    let folder = Folder::new("moved");
    let [old, new, patch] = ["old.toml", "new.toml", "p.json"].map(|name| folder.path(name));
    let patched = |before: &str, after: &str| {
        fs::write(&old, before).unwrap();
        fs::write(&new, after).unwrap();
        fs::write(&patch, printed(&["diff", "--patch", &old, &new])).unwrap();
        let output = treedef(&["apply", &old, &patch]).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        (String::from_utf8(output.stdout).unwrap(), told.contains("not kept in toml: dates"))
    };
    let text = "d = [\"1979-05-28\"]\n";
    assert_eq!(patched("d = [1979-05-27, \"1979-05-28\"]\n", text), (text.to_owned(), true));
    let dates = "d = [1979-05-28]\n";
    assert_eq!(patched("d = [1979-05-27, 1979-05-28]\n", dates), (dates.to_owned(), false));
}

/// Parts that a reader drops are told, also under another format.
#[test]
fn what_no_tree_has_is_told() {
    let ron = b"Config(mode: Fast, p: (1, 2), w: Some(5), u: ())";
    let names = |to| format!("not kept in {to}: names of RON, such as `Config`\n");
    assert_eq!(told("a.ron", ron, "json"), names("json"));
    let structs = "not kept in ron: structs and tuples of RON, which are maps and lists there\n";
    assert_eq!(told("a.ron", ron, "ron"), names("ron") + structs);
    let plain = b"#![enable(implicit_some)] {\"a\": true, \"Fast(\": [None, Some('('), ()], /* F() */ \"f\": inf, \"r\": r\"A(1)\"}";
    assert_eq!(told("a.ron", plain, "ron"), "not kept in ron: comments\n");

    let anchors = "anchors and merge keys, which are written out there";
    for (text, has_some) in [
        ("d: &d {a: 1}\nw: {<<: *d, b: 2}\n", true),
        ("a: 1\n---\nb: &x 1\nt: !!timestamp 2001-01-01\n", true),
        ("a: \"&d {a: 1}\"\nb: x & y\nt: !!timestamp 2001-01-01\n", false),
    ] {
        assert_eq!(told("a.yaml", text.as_bytes(), "yaml").contains(anchors), has_some, "{text}");
    }

    // {"a": undefined}, and {"a": "\xf7"} with a byte
    let undefined = "not kept in cbor: `undefined` of CBOR, which is null there\n";
    assert_eq!(told("a.cbor", b"\xa1\x61a\xf7", "cbor"), undefined);
    assert_eq!(told("a.cbor", b"\xa1\x61a\x41\xf7", "cbor"), "");

    // {"a": a text of the byte ff}
    let damaged = "not kept in msgpack: texts that are not UTF-8, which are bytes there\n";
    assert_eq!(told("a.msgpack", b"\x81\xa1a\xa1\xff", "msgpack"), damaged);
    assert_eq!(told("a.msgpack", b"\x81\xa1a\xc4\x02\xa1\xff", "msgpack"), "");
}

/// A type that numpy alone has is told, in each format without it.
#[test]
fn types_of_numpy_are_told() {
    let header = |descr: &str| {
        let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (1,), }}");
        format!("{text:117}\n")
    };
    let array = |descr: &str, data: &[u8]| {
        [b"\x93NUMPY\x01\x00\x76\x00", header(descr).as_bytes(), data].concat()
    };
    for to in ["json", "cbor", "tree"] {
        let types = |name| format!("not kept in {to}: the types of values: {name}\n");
        assert_eq!(told("a.npy", &array("<M8[s]", &[0; 8]), to), types("datetime64[s]"));
        assert_eq!(told("a.npy", &array("<U1", b"x\0\0\0"), to), types("str"));
    }
}

/// A patch has no dates of TOML and no documents of YAML.
#[test]
fn what_no_patch_has_is_told() {
    let folder = Folder::new("patched");
    let told = |format: &str, before: &str, after: &str| {
        let [old, new] = ["old", "new"].map(|name| folder.path(&format!("{name}.{format}")));
        fs::write(&old, before).unwrap();
        fs::write(&new, after).unwrap();
        let output = treedef(&["diff", "--patch", &old, &new]).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        (told.replace("treedef: not in the patch: ", ""), output.status.code())
    };
    let date = |path| format!("the date at {path}, which is a text there\n");
    let (of_day, of_list) = ("d = 1979-05-27\n", "l = [1979-05-27]\n");
    assert_eq!(told("toml", of_day, "d = 1979-05-28\nn = 07:30:00\n"), (date(".n"), Some(1)));
    assert_eq!(told("toml", "d = \"1979-05-27\"\n", of_day), (date(".d"), Some(1)));
    let longer = "l = [1979-05-27, 1979-05-28]\n";
    assert_eq!(told("toml", of_list, longer), (String::new(), Some(1)));

    let (one, two, list) = ("a: 1\n", "a: 2\n---\nb: 1\n", "- a: 2\n- b: 1\n");
    let documents = "the documents, which are one list there\n".to_owned();
    assert_eq!(told("yaml", one, two), (documents.clone(), Some(1)));
    assert_eq!(told("yaml", list, two), (documents, Some(1)));
    let of_list = "the list, which is documents there\n".to_owned();
    assert_eq!(told("yaml", two, list), (of_list, Some(1)));
    for (before, after) in [(two, one), (one, list), (two, "a: 3\n---\nb: 1\n---\nc: 1\n")] {
        assert_eq!(told("yaml", before, after), (String::new(), Some(1)));
    }
}

/// A part is printed as JSON, which has neither numbers that are not finite nor bytes.
#[test]
fn losses_of_a_selected_part_are_told() {
    let folder = Folder::new("selected");
    let file = folder.path("a.yaml");
    fs::write(&file, "a: .nan\nb: 1\nc: !!binary AQ==\n").unwrap();
    let selected = |path: &str, options: &[&str]| {
        let output = treedef(&[&["select", "--tree", path, &file], options].concat());
        let output = { output }.output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        (told.replace(&format!("treedef: {file}: "), ""), output.status.code())
    };
    let nan = "changed in json: f64 became null, 1 time, first at .a\n";
    let bytes = "changed in json: bytes became a sequence, 1 time, first at .c\n";
    assert_eq!(selected("a", &[]), (nan.to_owned(), Some(0)));
    assert_eq!(selected("c", &[]), (bytes.to_owned(), Some(0)));
    assert_eq!(selected("b", &["--strict"]), (String::new(), Some(0)));
    let strict = format!("{nan}something would be lost (`--strict`)\n");
    assert_eq!(selected("a", &["--strict"]), (strict, Some(2)));
}

/// The message has the null of the format.
#[test]
fn a_patch_that_does_not_fit_names_null() {
    let folder = Folder::new("null-message");
    let [old, new, patch] = ["o.json", "n.json", "p.json"].map(|name| folder.path(name));
    fs::write(&old, r#"{"n": null}"#).unwrap();
    fs::write(&new, r#"{"n": {"z": []}}"#).unwrap();
    fs::write(&patch, printed(&["diff", "--patch", &old, &new])).unwrap();
    let output = treedef(&["apply", &new, &patch]).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("expected `null`, found `{\"z\": []}` at `.n`"), "{told}");
}
