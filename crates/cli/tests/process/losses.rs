//! Losses of a conversion are reported at any path.

use std::fs;

use crate::{Folder, treedef};

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
