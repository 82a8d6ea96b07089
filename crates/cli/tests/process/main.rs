//! The command as a process: its input and output, pipes and exit codes.

mod arrays;
mod checkpoints;
mod copies;
mod counts;
mod damage;
mod keys;
mod lines;
mod losses;
mod metadata;
mod numbers;
mod parts;
mod random_checkpoints;
mod random_numbers;
mod random_select;
mod readers;
mod reserved;
#[cfg(feature = "schema")]
mod schemas;
mod shell;
mod shown;
mod streams;
mod tensors;
mod typed;

use std::io::{Read, Write};
use std::process::{Command, Output, Stdio};

fn treedef(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_treedef"));
    command.args(args);
    command
}

/// Runs the command with this text as standard input.
fn fed(args: &[&str], input: &[u8]) -> Output {
    let mut command = treedef(args);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // The command may end before it has read everything.
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().unwrap()
    })
}

#[test]
fn a_closed_pipe_is_silent() {
    let many = format!("[{}1]", "\"x\",".repeat(100_000));
    let mut command = treedef(&["select", "[*]"]);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    child.stdin.take().unwrap().write_all(many.as_bytes()).unwrap();
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
}

#[test]
fn a_byte_order_mark_is_passed_over() {
    let of_json = "# standard input: 2 nodes, 1 leaf\n{\"a\": u64}\n";
    let cases = [
        ("json", "{\"a\": 1}", of_json),
        ("yaml", "a: 1", of_json),
        ("yaml", "---\na: 1\n", of_json),
        ("toml", "a = 1", of_json),
        ("jsonl", "{\"a\": 1}", "# standard input: 3 nodes, 1 leaf, 1 document\n[{\"a\": u64}]\n"),
        ("ron", "{\"a\": 1}", "# standard input: 2 nodes, 1 leaf\n{\"a\": u64}\n"),
        ("treedef", "{\"a\": u64}", of_json),
    ];
    for (format, text, expected) in cases {
        let mut marked = b"\xef\xbb\xbf".to_vec();
        marked.extend(text.as_bytes());
        for text in [text.as_bytes(), &marked] {
            let output = fed(&["show", "--format", format], text);
            assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{format}");
            assert_eq!(String::from_utf8(output.stdout).unwrap(), expected, "{format}");
        }
        let tree = treedef_cli::Format::of_path(format!("x.{format}").as_ref()).unwrap();
        assert!(treedef_cli::read(&marked, tree).is_ok(), "{format}");
    }
    let shapes = fed(&["shapes"], b"\xef\xbb\xbf{\"a\": 1}\n{\"a\": 2}\n");
    assert_eq!(shapes.status.code(), Some(0));
    assert!(shapes.stdout.starts_with(b"2 documents, 1 structure\n"));
    // Where the mark ends, lines and columns begin.
    let wrong = fed(&["show"], b"\xef\xbb\xbf{x");
    assert!(wrong.stderr.starts_with(b"treedef: standard input:1:2: "));
}

#[test]
fn gzip_is_read_through() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(br#"{"a": [1, 2]}"#).unwrap();
    let output = fed(&["show", "--format", "json"], &gzip.finish().unwrap());
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text, "# standard input: 4 nodes, 2 leaves\n{\"a\": u64[2]}\n");
}

#[test]
fn zstd_is_read_through() {
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let zstd = ruzstd::encoding::compress_to_vec(&br#"{"a": [1, 2]}"#[..], level);
    let output = fed(&["summary"], &zstd);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "{\"a\": [1, 2]}\n");
}

/// All frames are read, skippable frames are skipped, and damage is an error.
#[test]
fn all_frames_of_zstd_are_read() {
    let frame = |text: &str| {
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        ruzstd::encoding::compress_to_vec(text.as_bytes(), level)
    };
    let skipped = b"\x53\x2a\x4d\x18\x03\0\0\0abc";
    let all = [skipped, &*frame("{\"a\": 1}\n"), skipped, &frame("[]\n{\"a\": 2}\n")].concat();
    let output = fed(&["shapes", "--json"], &all);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["structures"][0]["count"], 2);
    for end in [&b"garbage"[..], b"\x28\xb5\x2f\xfdxx"] {
        let output = fed(&["summary"], &[&*frame("1"), end].concat());
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(error.contains("damaged: expected a frame of zstd"), "{error}");
    }
    let mut damaged = frame("[1, 2, 3]");
    *damaged.last_mut().unwrap() ^= 1;
    let error = String::from_utf8(fed(&["summary"], &damaged).stderr).unwrap();
    assert!(error.contains("the checksum of a frame of zstd is another"), "{error}");
}

/// The output is compressed according to its name.
#[test]
fn outputs_are_compressed_as_they_are_named() {
    let folder = Folder::new("compressed");
    for (name, start) in [("o.json.gz", [0x1f, 0x8b]), ("o.yaml.zst", [0x28, 0xb5])] {
        let path = folder.path(name);
        assert_eq!(fed(&["convert", "-o", &path], b"{\"a\": [1, 2]}").status.code(), Some(0));
        assert_eq!(std::fs::read(&path).unwrap()[..2], start);
        assert_eq!(printed(&["summary", &path]), "{\"a\": [1, 2]}\n");
    }
}

/// RON hands out a number that an `f32` holds as one.
#[test]
fn numbers_of_ron_are_those_of_the_text() {
    let text = b"{\"x\": 18446744073709551616, \"y\": 0.30000001192092896}";
    let output = fed(&["convert", "-f", "ron", "-t", "json"], text);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found, serde_json::json!({"x": 18446744073709551616.0, "y": 0.30000001192092896}));
}

#[test]
fn a_tolerance_is_a_number_from_zero_on() {
    for wrong in ["nan", "-1", "x"] {
        let output = fed(&["diff", &format!("--rtol={wrong}"), "-", "-"], b"1");
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(error.contains("expected a number from 0 on"), "{error}");
    }
}

/// A folder that is removed with its content.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("treedef-cli-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A file of `tests/tensors.py`.
fn recorded(name: &str) -> String {
    format!("{}/tests/commands/tensors.in/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Runs the command with 150 MB of addresses.
#[cfg(target_os = "linux")]
fn in_little_memory(args: &[&str]) -> (Option<i32>, String, String) {
    let script = "ulimit -v 150000; exec \"$0\" \"$@\"";
    let exe = env!("CARGO_BIN_EXE_treedef");
    let output = Command::new("bash").args(["-c", script, exe]).args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn documents_as_deep_as_the_option_allows_are_converted() {
    let folder = Folder::new("deep");
    let old = folder.path("old.json");
    let text = format!("{}1{}", "{\"a\":".repeat(200), "}".repeat(200));
    std::fs::write(&old, &text).unwrap();
    let refused = treedef(&["show", &old]).output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.ends_with("(`--max-depth` allows more)\n"), "{said}");
    for format in ["json", "yaml", "cbor", "msgpack", "ron", "tree"] {
        let (new, back) = (folder.path(&format!("new.{format}")), folder.path("back.json"));
        for (from, to) in [(&old, &new), (&new, &back)] {
            let args = ["convert", "--max-depth", "200", from, "-o", to];
            let convert = treedef(&args).output().unwrap();
            assert_eq!(String::from_utf8(convert.stderr).unwrap(), "", "{format}");
        }
        let back: String = std::fs::read_to_string(&back).unwrap();
        assert_eq!(back.replace(char::is_whitespace, ""), text, "{format}");
    }
}

#[test]
fn dates_of_toml_stay_dates_in_toml() {
    let folder = Folder::new("dates");
    let [old, new, patch, made] =
        ["old.toml", "new.toml", "patch.json", "made.toml"].map(|name| folder.path(name));
    let text = "\
z = 1979-05-27
text = \"1979-05-27\"
at = [1979-05-27T07:32:00Z, 07:32:00, 1979-05-27 07:32:00.5]

[[list]]
when = 1979-05-27

[[list]]
when = 1980-05-27
";
    std::fs::write(&old, text).unwrap();
    let convert = treedef(&["convert", &old, "--to", "toml"]).output().unwrap();
    assert_eq!(String::from_utf8(convert.stderr).unwrap(), "");
    let converted = String::from_utf8(convert.stdout).unwrap();
    let value = |text: &str| text.parse::<toml::Table>().unwrap();
    assert_eq!(value(&converted), value(text));
    assert!(converted.find("z =").unwrap() < converted.find("text =").unwrap(), "{converted}");

    // Also where a list has become longer, and where a date is another one.
    let text = text.replace("1980", "2026") + "\n[[list]]\nwhen = 1981-05-27\n";
    std::fs::write(&new, &text).unwrap();
    let diff = treedef(&["diff", "--patch", &old, &new, "-o", &patch]).output().unwrap();
    assert_eq!((diff.status.code(), diff.stdout, diff.stderr), (Some(1), vec![], vec![]));
    let shown = treedef(&["diff", "--patch", &old, &new]).output().unwrap().stdout;
    assert_eq!(std::fs::read(&patch).unwrap(), shown);
    let apply = treedef(&["apply", &old, &patch, "-o", &made]).output().unwrap();
    assert_eq!((apply.status.code(), apply.stderr), (Some(0), vec![]));
    assert_eq!(value(&std::fs::read_to_string(&made).unwrap()), value(&text));

    let json = treedef(&["convert", &old, "--to", "json"]).output().unwrap();
    let said = String::from_utf8(json.stderr).unwrap();
    assert_eq!(said, format!("treedef: {old}: not kept in json: dates, which are texts there\n"));
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["z"], "1979-05-27");
    assert_eq!(printed(&["select", "z", &old]), ".z: \"1979-05-27\"\n");
}

/// As Kubernetes writes them.
#[test]
fn documents_of_yaml_stay_documents() {
    let folder = Folder::new("documents");
    let (yaml, patch) = (folder.path("m.yaml"), folder.path("patch.json"));
    std::fs::write(&yaml, "a: 1\n---\na: 2\n---\n- 3\n").unwrap();
    let all = "---\na: 1\n---\na: 2\n---\n- 3\n";
    assert_eq!(printed(&["convert", &yaml, "--to", "yaml"]), all);
    assert_eq!(printed(&["convert", &yaml, "--to", "jsonl"]), "{\"a\":1}\n{\"a\":2}\n[3]\n");
    let output = treedef(&["convert", &yaml, "--to", "json"]).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.ends_with("not kept in json: the documents, which are one list there\n"),
        "{told}"
    );

    let new = folder.path("n.yaml");
    std::fs::write(&new, all.replace("a: 2", "a: 7")).unwrap();
    std::fs::write(&patch, printed(&["diff", "--patch", &yaml, &new])).unwrap();
    assert_eq!(printed(&["apply", &yaml, &patch]), all.replace("a: 2", "a: 7"));
}

/// Nor do characters that reverse text.
#[test]
fn what_a_terminal_obeys_does_not_reach_it() {
    let hostile = r#"{"a": "x\u009b31m\u202e\u001b[0m\ud834\udd73", "b\u2028": ["y"]}"#;
    let text: serde_json::Value = serde_json::from_str(hostile).unwrap();
    for json in [hostile.to_owned(), text.to_string()] {
        for args in
            [&["select", "**"][..], &["select", "**", "--json"], &["show"], &["show", "--json"]]
        {
            let output = fed(args, json.as_bytes());
            let shown = String::from_utf8(output.stdout).unwrap();
            let obeyed =
                |c: &char| matches!(c, '\u{9b}' | '\u{202e}' | '\u{1b}' | '\u{1d173}' | '\u{2028}');
            assert_eq!(shown.chars().find(obeyed), None, "{args:?}: {shown}");
            if args.contains(&"--json") && args[0] == "select" {
                let line = shown.lines().next().unwrap();
                let read: serde_json::Value = serde_json::from_str(line).unwrap();
                assert_eq!(read["value"], text["a"]);
            }
        }
    }
}

/// A text that is cut off ends with a whole escape.
#[test]
fn escapes_are_not_cut() {
    let folder = Folder::new("escapes");
    let (old, new) = (folder.path("a.json"), folder.path("b.json"));
    std::fs::write(&new, r#"{"a": "b"}"#).unwrap();
    for text in ["\\u001b[31m", "\\u202e", "\\\\", "\\n"] {
        for before in 0..9 {
            let long = "x".repeat(before) + &text.repeat(90);
            std::fs::write(&old, format!("{{\"a\": \"{long}\"}}")).unwrap();
            let shown = printed(&["diff", &old, &new]);
            let (cut, _) = shown.split_once('…').unwrap();
            let (_, cut) = cut.split_once('"').unwrap();
            let whole = cut.replace(r"\\", "").replace(r"\u{1b}", "").replace(r"\u{202e}", "");
            assert!(!whole.replace(r"\n", "").contains('\\'), "{shown}");
        }
    }
}

#[test]
fn files_that_are_cut_off_are_said_to_be_so() {
    let cases: [(&str, &[u8], &str); 5] = [
        ("msgpack", b"\x92\x01", "cut off: the document ends too early"),
        ("msgpack", b"\xc1", "not MessagePack near byte 1"),
        ("cbor", b"\x82\xf6\xe0", "a simple value that has no meaning here, which ends at byte 3"),
        ("cbor", b"\xff", "not CBOR: the end of a list outside of a list"),
        ("json", b"\x28\xb5\x2f\xfdxx", "damaged: it begins like a file of zstd, but is not one"),
    ];
    for (format, bytes, expected) in cases {
        let output = fed(&["show", "--format", format], bytes);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said, format!("treedef: standard input: {expected}\n"));
    }
}

#[test]
fn a_tag_of_cbor_stays_one_in_cbor() {
    let folder = Folder::new("tag");
    let [old, new] = ["old.cbor", "new.cbor"].map(|name| folder.path(name));
    // {"when": 1(7)}
    let bytes = b"\xa1\x64when\xc1\x07";
    std::fs::write(&old, bytes).unwrap();
    let output = treedef(&["convert", &old, "-o", &new]).output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), vec![]));
    assert_eq!(std::fs::read(&new).unwrap(), bytes);
}

#[test]
fn tags_of_cbor_are_passed_over() {
    let folder = Folder::new("schema");
    let [file, schema] = ["t.cbor", "s.json"].map(|name| folder.path(name));
    // [1(5), 2(3({"a": 4(true)}))]
    let bytes = b"\x82\xc1\x05\xc2\xc3\xa1\x61a\xc4\xf5";
    std::fs::write(&file, bytes).unwrap();
    std::fs::write(&schema, printed(&["shapes", "--schema", &file])).unwrap();
    assert_eq!(printed(&["summary", &file]), "[5, {\"a\": true}]\n");
    let check = treedef(&["check", "--schema", &schema, &file]).output().unwrap();
    assert_eq!(check.status.code(), Some(0));
    let patched = |new: &str, expected: &[u8], told: &str| {
        let [json, patch, made] = ["new.json", "patch.json", "new.cbor"].map(|it| folder.path(it));
        std::fs::write(&json, new).unwrap();
        let diff = treedef(&["diff", "--patch", &file, &json]).output().unwrap();
        std::fs::write(&patch, diff.stdout).unwrap();
        let output = treedef(&["apply", &file, &patch, "-o", &made]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(told) && said.is_empty() == told.is_empty(), "{said}");
        assert_eq!(std::fs::read(&made).unwrap(), expected);
    };
    patched(r#"[6, {"a": true}]"#, b"\x82\xc1\x06\xc2\xc3\xa1\x61a\xc4\xf5", "");
    // An element with another index may be a different one.
    patched(r#"[{"a": true}]"#, b"\x81\xa1\x61a\xf5", "not kept in cbor: tags of CBOR");
}

#[test]
fn a_patch_leads_from_the_old_document_to_the_new() {
    let folder = Folder::new("patch");
    let path = |name: &str| folder.path(name);
    std::fs::write(path("old.json"), r#"{"a": [1, 2, 3], "b": null, "c": {"d": 0.1}}"#).unwrap();
    std::fs::write(path("new.json"), r#"{"a": [1, 3, null], "c": {"e": 0.1, "f": ""}}"#).unwrap();
    let diff =
        treedef(&["diff", "--patch", &path("old.json"), &path("new.json")]).output().unwrap();
    assert_eq!(diff.status.code(), Some(1));
    std::fs::write(path("patch.json"), diff.stdout).unwrap();
    let apply = ["apply", &path("old.json"), &path("patch.json"), "--output", &path("made.json")];
    assert!(treedef(&apply).status().unwrap().success());
    let again = treedef(&["diff", &path("new.json"), &path("made.json")]).output().unwrap();
    assert_eq!((again.status.code(), again.stdout), (Some(0), Vec::new()));
}

/// The output of the command, also if it fails.
fn printed(args: &[&str]) -> String {
    String::from_utf8(treedef(args).output().unwrap().stdout).unwrap()
}

/// The widths of numbers in MessagePack are a matter of the program that wrote it.
#[test]
fn widths_of_messagepack_are_no_difference() {
    let folder = Folder::new("widths");
    let [old, new, patch, made] =
        ["old.msgpack", "new.msgpack", "p.json", "made.msgpack"].map(|name| folder.path(name));
    // {"a": [5, 1.5], 200: "x"}
    std::fs::write(&old, b"\x82\xa1a\x92\x05\xca\x3f\xc0\0\0\xcc\xc8\xa1x").unwrap();
    let wide = b"\x82\xa1a\x92\xd2\0\0\0\x05\xcb\x3f\xf8\0\0\0\0\0\0\xcd\0\xc8\xa1x";
    std::fs::write(&new, wide).unwrap();
    for args in [&["diff"][..], &["diff", "--structure"]] {
        let diff = treedef(&[args, &[&old, &new]].concat()).output().unwrap();
        assert_eq!((diff.status.code(), diff.stdout), (Some(0), vec![]), "{args:?}");
    }
    // [5, 1.5] and [5i32, 2.5]
    std::fs::write(&old, b"\x92\x05\xca\x3f\xc0\0\0").unwrap();
    std::fs::write(&new, b"\x92\xd2\0\0\0\x05\xcb\x40\x04\0\0\0\0\0\0").unwrap();
    let text = printed(&["diff", "--patch", &old, &new]);
    assert_eq!(text.matches("path").count(), 1, "{text}");
    std::fs::write(&patch, text).unwrap();
    assert!(treedef(&["apply", &old, &patch, "-o", &made]).status().unwrap().success());
    assert_eq!(printed(&["diff", &made, &new]), "");
}

#[test]
fn a_patch_between_formats_applies() {
    let folder = Folder::new("between");
    let [json, patch] = ["new.json", "p.json"].map(|name| folder.path(name));
    std::fs::write(&json, r#"{"a": [2, -1, 2.5], "c": 3}"#).unwrap();
    // {"a": [1, -1, 1.5], "b": 5}
    let old: [(_, &[u8]); 4] = [
        ("toml", b"a = [1, -1, 1.5]\nb = 5\n"),
        ("yaml", b"a: [1, -1, 1.5]\nb: 5\n"),
        ("ron", b"{\"a\": (1, -1, 1.5), \"b\": 5}"),
        ("msgpack", b"\x82\xa1a\x93\x01\xff\xcb\x3f\xf8\0\0\0\0\0\0\xa1b\x05"),
    ];
    for (format, bytes) in old {
        let [old, made] = ["old", "made"].map(|name| folder.path(&format!("{name}.{format}")));
        std::fs::write(&old, bytes).unwrap();
        std::fs::write(&patch, printed(&["diff", "--patch", &old, &json])).unwrap();
        let apply = treedef(&["apply", &old, &patch, "-o", &made]).output().unwrap();
        let told = String::from_utf8(apply.stderr).unwrap();
        let tuple = "structs and tuples of RON, which are maps and lists there\n";
        let is_told = if format == "ron" { told.ends_with(tuple) } else { told.is_empty() };
        assert!(is_told && told.lines().count() <= 1, "{format}: {told}");
        assert_eq!(printed(&["diff", &made, &json]), "", "{format}");
    }
}
