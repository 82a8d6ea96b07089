//! Pipes, full standard streams, and files whose names do not show their format.

use std::fs;
use std::process::{Command, Stdio};

use crate::{Folder, fed, printed, treedef};

fn recorded(name: &str) -> Vec<u8> {
    fs::read(format!("{}/tests/commands/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, bytes).unwrap();
    gzip.finish().unwrap()
}

/// Files of tensors, and their formats.
const TENSORS: [(&str, &str); 5] = [
    ("tensors.in/model.safetensors", "safetensors"),
    ("tensors.in/model.npz", "npz"),
    ("tensors.in/deep.npy", "npy"),
    ("pytorch.in/checkpoint.pt", "pytorch"),
    ("checkpoints.in/quantised.gguf", "gguf"),
];

/// The output of `show` below the line with the name.
fn structure(shown: &str) -> &str {
    shown.split_once('\n').unwrap().1
}

#[test]
fn tensors_are_told_by_their_first_bytes() {
    let folder = Folder::new("sniffed");
    for (name, format) in TENSORS {
        let bytes = recorded(name);
        let expected = fed(&["show", "--format", format], &bytes).stdout;
        let expected = String::from_utf8(expected).unwrap();
        assert!(expected.starts_with("# standard input: "), "{name}: {expected}");
        for (other, bytes) in [
            ("x", bytes.clone()),
            ("x.bin", bytes.clone()),
            ("x.ckpt", bytes.clone()),
            ("x.data", bytes.clone()),
            ("x.gz", gzip(&bytes)),
        ] {
            let path = folder.path(other);
            fs::write(&path, &bytes).unwrap();
            assert_eq!(
                structure(&printed(&["show", &path])),
                structure(&expected),
                "{name} {other}"
            );
        }
        let piped = String::from_utf8(fed(&["show"], &bytes).stdout).unwrap();
        assert_eq!(piped, expected, "{name}");
        // The option has the last word.
        let path = folder.path("x");
        let output = treedef(&["show", "--format", "json", &path]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{name}");
    }
    for (bytes, why) in [
        (&b"\x89HDF\r\n\x1a\n"[..], "it begins as HDF5, which is not read"),
        (b"[1]", "the format is not clear from the name"),
        (b"", "the format is not clear from the name"),
    ] {
        let path = folder.path("other");
        fs::write(&path, bytes).unwrap();
        let output = treedef(&["show", &path]).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.starts_with(&format!("treedef: {path}: {why}")), "{told}");
    }
}

/// A pipe can be opened once: a second open would wait for ever.
#[cfg(unix)]
#[test]
fn named_pipes_are_read_once() {
    let folder = Folder::new("fifos");
    let read = |name: &str, args: &[&str], bytes: Vec<u8>| {
        let path = folder.path(name);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let writer = std::thread::spawn({
            let path = path.clone();
            move || drop(fs::write(path, bytes))
        });
        let args = args.iter().map(|arg| if *arg == "PIPE" { path.as_str() } else { arg });
        let limited = [&["20", env!("CARGO_BIN_EXE_treedef")][..], &args.collect::<Vec<_>>()];
        let output = Command::new("timeout").args(limited.concat()).output().unwrap();
        fs::remove_file(&path).unwrap();
        writer.join().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, shown) = read("x.json", &["show", "PIPE"], b"{\"a\": 1}".to_vec());
    assert_eq!((code, structure(&shown)), (Some(0), "{\"a\": u64}\n"));
    for end in ["bin", "ckpt", "pt"] {
        let (code, shown) =
            read(&format!("x.{end}"), &["show", "PIPE"], recorded("pytorch.in/shared.pt"));
        assert_eq!(code, Some(0), "{end}");
        assert!(shown.contains("tensors"), "{shown}");
    }
    let args = ["fingerprint", "--tensors", "PIPE"];
    let (code, hashes) = read("x.safetensors", &args, recorded("tensors.in/model.safetensors"));
    assert_eq!((code, hashes.is_empty()), (Some(0), false));
    // A patch that is none makes the command look at the document again.
    let patch = folder.path("patch.json");
    fs::write(&patch, "{}").unwrap();
    assert_eq!(read("y.json", &["apply", "PIPE", &patch], b"[1]".to_vec()).0, Some(2));
}

#[test]
fn standard_input_is_one_file_of_any_kind() {
    let folder = Folder::new("stdin");
    let at = |name: &str, text: &str| {
        fs::write(folder.path(name), text).unwrap();
        folder.path(name)
    };
    let (old, new) = (at("old.json", "{\"a\": 1}"), at("new.json", "{\"a\": 2}"));
    let patch = treedef(&["diff", "--patch", &old, &new]).output().unwrap().stdout;
    let said = |args: &[&str], input: &[u8]| {
        let output = fed(args, input);
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    };
    assert_eq!(said(&["apply", &old, "-"], &patch), (Some(0), "{\n  \"a\": 2\n}\n".to_owned()));
    let (code, told) = said(&["check", &old, "--schema", "-"], b"{\"type\": \"array\"}");
    assert_eq!(code, Some(1), "{told}");
    for args in [
        vec!["apply", "-", "-"],
        vec!["diff", "-", "-"],
        vec!["check", "-", "--like", "-"],
        vec!["check", "-", "--schema", "-"],
    ] {
        let (code, told) = said(&args, b"{}");
        assert_eq!(code, Some(2), "{args:?}");
        assert!(told.contains("standard input `-` is one file"), "{args:?}: {told}");
    }
    let (_, told) = said(&["apply", &old, "-"], b"[");
    assert!(told.starts_with("treedef: standard input:"), "{told}");
}

#[cfg(target_os = "linux")]
#[test]
fn full_streams_are_errors() {
    let folder = Folder::new("full");
    let path = folder.path("x.json");
    fs::write(&path, "{\"a\": 1.5}").unwrap();
    let full = || fs::File::options().write(true).open("/dev/full").unwrap();
    let no_space = "treedef: standard output: no space left on the device\n";
    for args in [
        vec!["--help"],
        vec!["--version"],
        vec!["help", "show"],
        vec!["show", "--help"],
        vec!["show", &path],
        vec!["summary", &path],
        vec!["select", "**", &path],
        vec!["convert", &path, "--to", "yaml"],
        vec!["fingerprint", "--json", &path],
        vec!["man"],
    ] {
        let output = treedef(&args).stdout(full()).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), no_space, "{args:?}");
    }
    // Failures and losses cannot be reported.
    let toml = folder.path("x.toml");
    fs::write(&toml, "a = 2020-01-01").unwrap();
    for args in [
        vec!["show", "no such file.json"],
        vec!["no such command"],
        vec!["convert", &toml, "--to", "json"],
    ] {
        let output = treedef(&args).stdout(Stdio::piped()).stderr(full()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
    }
    // Nobody who reads it is no error.
    let mut child = treedef(&["convert", &toml, "--to", "json"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// A file that was cut to nothing must not be read as something else.
#[test]
fn names_of_compressed_files_are_believed() {
    let folder = Folder::new("compressed_names");
    for (name, bytes) in [
        ("x.cbor.zst", &b"\x28"[..]),
        ("x.cbor.zst", b""),
        ("x.json.gz", b"1"),
        ("x.npz.zstd", b"P"),
    ] {
        let path = folder.path(name);
        fs::write(&path, bytes).unwrap();
        let output = treedef(&["summary", &path]).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains("begins as none: it is damaged"), "{told}");
    }
    // Tensors are written as they are named, too.
    let input = folder.path("x.safetensors");
    fs::write(&input, recorded("tensors.in/model.safetensors")).unwrap();
    for (name, start) in [("o.safetensors.gz", [0x1f, 0x8b]), ("o.safetensors.zst", [0x28, 0xb5])] {
        let path = folder.path(name);
        printed(&["convert", &input, "-o", &path]);
        assert_eq!(fs::read(&path).unwrap()[..2], start);
        assert_eq!(printed(&["diff", &input, &path]), "");
    }
}

/// A gate fails although its reader has read enough, as with `| head -1`.
#[test]
fn a_closed_pipe_does_not_change_the_answer() {
    let folder = Folder::new("closed");
    let [old, new, lines] = ["old.json", "new.json", "bad.jsonl"].map(|name| folder.path(name));
    std::fs::write(&old, r#"{"a": 1}"#).unwrap();
    std::fs::write(&new, r#"{"a": "x"}"#).unwrap();
    std::fs::write(&lines, "{\"a\": 1}\nx\n").unwrap();
    for args in [
        &["diff", &old, &new][..],
        &["diff", &old, &new, "--json"],
        &["diff", &old, &new, "--patch"],
        &["check", &new, "--like", &old],
        &["check", &new, "--like", &old, "--json"],
        &["shapes", &lines],
        &["shapes", &lines, "--json"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let status = treedef(args).stdout(writer).stderr(Stdio::null()).status().unwrap();
        assert_eq!(status.code(), Some(1), "{args:?}");
    }
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    assert_eq!(treedef(&["diff", &old, &old]).stdout(writer).status().unwrap().code(), Some(0));
}
