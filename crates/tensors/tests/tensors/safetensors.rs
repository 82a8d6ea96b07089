//! Files that are read and written.

use std::collections::BTreeMap;

use fastrand::Rng;
use treedef::{Leaf, Tree};
use treedef_tensors::{Dtype, ErrorKind, Export, Source, Tensors, safetensors};
use treedef_testing::structures;

use crate::{listed, refused};

/// A file with this header and this many bytes of data.
fn file(header: &str, data: usize) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.bytes());
    bytes.extend((0..data).map(|byte| byte as u8));
    bytes
}

#[test]
fn headers_are_checked() {
    let tensor = |rest: &str| format!(r#"{{"a": {{{rest}}}}}"#);
    let rows = [
        // Accepted by both.
        (r#"{}"#.to_owned(), 0, Ok("")),
        (r#"{"a": {"dtype": "F32", "shape": [2, 1], "data_offsets": [0, 8]}}   "#.to_owned(), 8, Ok("a: f32[2, 1]")),
        (r#"{"": {"dtype":"C64","shape":[],"data_offsets":[0,8]}}"#.to_owned(), 8, Ok(": c64[]")),
        (
            r#"{"b":{"dtype":"F32","shape":[],"data_offsets":[1,5]},"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"__metadata__":{"format":"pt"}}"#.to_owned(),
            5,
            Ok("a: u8[]; b: f32[]"),
        ),
        (tensor(r#""dtype":"BF16","shape":[0, 9223372036854775807, 3],"data_offsets":[0,0]"#), 0, Ok("a: bf16[0, 9223372036854775807, 3]")),
        // Refused by both.
        (tensor(r#""dtype":"F32","shape":[2],"data_offsets":[0,8]"#), 9, Err("1 bytes behind the last tensor at byte 71")),
        (tensor(r#""dtype":"F32","shape":[2],"data_offsets":[0,8]"#), 7, Err("cut off by the end of the file at the tensor `a` at byte 8")),
        (tensor(r#""dtype":"F32","shape":[2],"data_offsets":[4,12]"#), 12, Err("the data has a hole at the tensor `a` at byte 8")),
        (tensor(r#""dtype":"F32","shape":[2],"data_offsets":[8,0]"#), 8, Err("the data has a hole at the tensor `a` at byte 8")),
        (
            r#"{"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"b":{"dtype":"U8","shape":[3],"data_offsets":[2,5]}}"#.to_owned(),
            5,
            Err("the data has an overlap at the tensor `b` at byte 8"),
        ),
        (
            r#"{"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"b":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}}"#.to_owned(),
            3,
            Err("the data has an overlap at the tensor `b` at byte 8"),
        ),
        (tensor(r#""dtype":"F32","shape":[3],"data_offsets":[0,8]"#), 8, Err("8 bytes cannot be f32[3] at the tensor `a` at byte 8")),
        (
            tensor(r#""dtype":"F32","shape":[9223372036854775807, 9223372036854775807],"data_offsets":[0,4]"#),
            4,
            Err("4 bytes cannot be f32[9223372036854775807, 9223372036854775807] at the tensor `a` at byte 8"),
        ),
        (tensor(r#""dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]"#), 1, Err("\"a\" is f8_e4m3[1], whose numbers are read as f32, see `StoredTensor::widened`")),
        (tensor(r#""dtype":"F4","shape":[2],"data_offsets":[0,1]"#), 1, Err("\"a\" is f4[2], whose numbers are read as f32, see `StoredTensor::widened`")),
        (tensor(r#""dtype":"F32","shape":[-1],"data_offsets":[0,4]"#), 4, Err("invalid value: integer `-1`, expected usize at line 1 column 32 at byte 39")),
        (tensor(r#""dtype":"F32","shape":[1.0],"data_offsets":[0,4]"#), 4, Err("invalid type: floating point `1.0`, expected usize at line 1 column 33 at byte 40")),
        (tensor(r#""dtype":"F32","shape":[1]"#), 4, Err("missing field `data_offsets` at line 1 column 33 at byte 40")),
        (tensor(r#""dtype":"F32","shape":[1],"data_offsets":[0,4,8]"#), 4, Err("trailing characters at line 1 column 54 at byte 61")),
        (tensor(r#""dtype":"F32","shape":[1],"data_offsets":[0,4],"strides":[4]"#), 4, Err("unknown field `strides`, expected one of `dtype`, `shape`, `data_offsets` at line 1 column 63 at byte 70")),
        (
            r#"{"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[],"data_offsets":[1,2]}}"#.to_owned(),
            2,
            Err("the name \"a\" occurs twice at line 1 column 55 at byte 62"),
        ),
        (r#"{"__metadata__":{},"__metadata__":{}}"#.to_owned(), 0, Err("the name \"__metadata__\" occurs twice at line 1 column 33 at byte 40")),
        (r#"{"__metadata__":{"a":1}}"#.to_owned(), 0, Err("the metadata is not an object of strings at line 1 column 24 at byte 31")),
        (r#"{"__metadata__":["a"]}"#.to_owned(), 0, Err("the metadata is not an object of strings at line 1 column 22 at byte 29")),
        (r#"{"__metadata__":{"a":"1","a":"2"}}"#.to_owned(), 0, Err("the key \"a\" occurs twice at line 1 column 33 at byte 40")),
        (r#" {}"#.to_owned(), 0, Err("the header does not begin with `{` at byte 8")),
        (r#"[]"#.to_owned(), 0, Err("the header does not begin with `{` at byte 8")),
        (r#"{} x"#.to_owned(), 0, Err("trailing characters at line 1 column 4 at byte 11")),
        (format!(r#"{{"__metadata__":{}"#, "[".repeat(1_000)), 0, Err("recursion limit exceeded at line 1 column 143 at byte 150")),
    ];
    for (header, data, expected) in rows {
        let bytes = file(&header, data);
        match (safetensors::from_bytes(&bytes).and_then(|it| it.read()), expected) {
            (Ok(tensors), Ok(expected)) => assert_eq!(listed(&tensors).join("; "), expected),
            (Err(error), Err(expected)) => assert_eq!(error.to_string(), expected, "{header}"),
            (found, expected) => panic!("{header}: {found:?}, {expected:?}"),
        }
    }
}

#[test]
fn lengths_are_checked_before_anything_is_read() {
    refused(
        safetensors::from_bytes(b"").and_then(|it| it.read()),
        "the file ends inside its header at byte 0",
    );
    refused(
        safetensors::from_bytes(&[0; 7]).and_then(|it| it.read()),
        "the file ends inside its header at byte 7",
    );
    refused(
        safetensors::from_bytes(&[0; 8]).and_then(|it| it.read()),
        "the header does not begin with `{` at byte 8",
    );
    let length = |length: u64| [&length.to_le_bytes()[..], b"{}"].concat();
    refused(
        safetensors::from_bytes(&length(3)).and_then(|it| it.read()),
        "the file ends inside its header at byte 10",
    );
    for long in [100_000_001, u64::MAX] {
        let error = safetensors::from_bytes(&length(long)).and_then(|it| it.read()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "not a safetensors file: a header of more than 100000000 bytes"
        );
        assert!(matches!(error.kind(), ErrorKind::Limit { .. }));
    }
    refused(
        safetensors::from_bytes(&length(100_000_000)).and_then(|it| it.read()),
        "the file ends inside its header at byte 10",
    );
    refused(
        safetensors::from_bytes(b"\x03\0\0\0\0\0\0\0{\xff}").and_then(|it| it.read()),
        "the header is not UTF-8 at byte 9",
    );
}

/// The tensors borrow the file, and the data of the file is the leaves.
#[test]
fn nothing_is_copied() {
    let value = vec![([0.5f32; 3], [[1.5f32; 2]; 2]); 4];
    let tree = Tree::<f32>::of_as(&value).unwrap();
    let tensors = Tensors::of(&tree).unwrap();
    let bytes = safetensors::to_bytes(&tensors).unwrap();
    let leaves: &[u8] = bytemuck::cast_slice(tree.leaves());
    let begin = bytes.len() - leaves.len();
    assert_eq!(begin % 8, 0);
    assert_eq!(&bytes[begin..], leaves);
    let mut at = begin;
    for (_, tensor) in safetensors::from_bytes(&bytes).unwrap().read().unwrap().iter() {
        assert_eq!(tensor.bytes().as_ptr(), bytes[at..].as_ptr());
        at += tensor.bytes().len();
    }
    assert_eq!(at, bytes.len());
}

#[test]
fn files_are_text_that_anybody_reads() {
    let tree = Tree::of(&(1u8, [0.5f32])).unwrap();
    let tensors = Tensors::of(&tree).unwrap().with_metadata("format", "pt");
    let bytes = safetensors::to_bytes(&tensors).unwrap();
    let header = r#"{"__metadata__":{"treedef":"(*, (*,))","format":"pt"},"0":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"1":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}}"#;
    assert_eq!(str::from_utf8(&bytes[8..bytes.len() - 5]).unwrap().trim_end(), header);
    assert_eq!(safetensors::from_bytes(&bytes).unwrap().read().unwrap(), tensors);
    let mut written = Vec::new();
    safetensors::write(&tensors, &mut written).unwrap();
    assert_eq!(written, bytes);
}

#[test]
fn random_trees_come_back_from_files() {
    let mut rng = Rng::with_seed(11);
    let export = Export::new().rest_in_metadata(true);
    let mut files = 0;
    for _ in 0..3_000 {
        let treedef = structures::structure(&mut rng, 4);
        let leaves = (0..treedef.num_leaves()).map(|_| structures::leaf(&mut rng)).collect();
        let tree = Tree::new(treedef, leaves).unwrap();
        let Ok(tensors) = export.tensors(&tree) else { continue };
        let bytes = safetensors::to_bytes(&tensors).unwrap();
        assert_eq!(safetensors::from_bytes(&bytes).unwrap().read().unwrap(), tensors);
        assert_eq!(
            export.tree::<Leaf>(&safetensors::from_bytes(&bytes).unwrap().read().unwrap()).unwrap(),
            tree
        );
        assert_eq!(
            Export::new().tree(&safetensors::from_bytes(&bytes).unwrap().read().unwrap()).unwrap(),
            tree
        );
        files += 1;
    }
    assert!(files > 2_000, "{files}");
}

#[test]
fn saving_replaces_a_file_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let (old, new) = (Tree::of(&[1u8, 2]).unwrap(), Tree::of(&vec![0.5f64; 9]).unwrap());
    safetensors::save(&Tensors::of(&old).unwrap(), &path).unwrap();
    let read = || {
        Export::new()
            .tree(&safetensors::from_bytes(&std::fs::read(&path).unwrap()).unwrap().read().unwrap())
            .unwrap()
    };
    assert_eq!(read(), old);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        safetensors::save(&Tensors::of(&new).unwrap(), &link).unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(read(), new);
    }
    let reserved = Tensors::default().with_metadata("a", "b");
    safetensors::save(&reserved, &path).unwrap();
    assert_eq!(
        safetensors::from_bytes(&std::fs::read(&path).unwrap()).unwrap().read().unwrap(),
        reserved
    );
    let error = safetensors::save(&reserved, folder.path()).unwrap_err();
    assert!(error.to_string().ends_with(": a folder"), "{error}");
    let error = safetensors::save(&reserved, folder.path().join("none/file")).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Io(_)));
    // Nothing is left beside it.
    assert!(std::fs::read_dir(folder.path()).unwrap().count() <= 2);
}

/// A writer that fails hands its error on.
#[test]
fn errors_of_a_writer_are_told() {
    struct Full(usize);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let tree = Tree::of(&vec![1u8; 100]).unwrap();
    let tensors = Tensors::of(&tree).unwrap();
    let size = safetensors::to_bytes(&tensors).unwrap().len();
    assert!(safetensors::write(&tensors, Full(size)).is_ok());
    for room in [0, 20, size - 1] {
        let error = safetensors::write(&tensors, Full(room)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Io(_)));
    }
    assert_eq!(tensors.get("").unwrap().dtype(), Dtype::U8);
}

/// Links are not replaced, and devices and pipes are written to.
#[cfg(unix)]
#[test]
fn saving_leaves_links_and_pipes_where_they_are() {
    use std::fs;
    use std::os::unix::fs::{FileTypeExt, symlink};
    use std::path::Path;

    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let tree = Tree::of(&[1u8, 2]).unwrap();
    let tensors = Tensors::of(&tree).unwrap();
    let expected = safetensors::to_bytes(&tensors).unwrap();

    symlink("to_come", at("dangling")).unwrap();
    symlink("dangling", at("chain")).unwrap();
    safetensors::save(&tensors, at("chain")).unwrap();
    assert_eq!(fs::read(at("to_come")).unwrap(), expected);
    assert_eq!(fs::read_link(at("dangling")).unwrap(), Path::new("to_come"));
    assert_eq!(fs::read_link(at("chain")).unwrap(), Path::new("dangling"));
    symlink("loop", at("loop")).unwrap();
    let error = safetensors::save(&tensors, at("loop")).unwrap_err();
    assert!(error.to_string().contains("links"), "{error}");

    let made = std::process::Command::new("mkfifo").arg(at("pipe")).status();
    assert!(made.unwrap().success());
    let pipe = at("pipe");
    let reader = std::thread::spawn(move || fs::read(pipe).unwrap());
    safetensors::save(&tensors, at("pipe")).unwrap();
    assert_eq!(reader.join().unwrap(), expected);
    assert!(fs::metadata(at("pipe")).unwrap().file_type().is_fifo());

    safetensors::save(&tensors, "/dev/null").unwrap();
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    assert!(safetensors::save(&tensors, "/dev/full").is_err());
    // In memory, but files as any other.
    if let Ok(folder) = tempfile::tempdir_in("/dev/shm") {
        for _ in 0..2 {
            safetensors::save(&tensors, folder.path().join("new")).unwrap();
            assert_eq!(fs::read(folder.path().join("new")).unwrap(), expected);
        }
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 5); // nothing is left beside them
}

/// A file with one tensor of one byte, `w`, and this metadata.
fn noted(metadata: &str) -> Vec<u8> {
    let tensor = r#""w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}"#;
    file(&format!(r#"{{"__metadata__":{metadata},{tensor}}}"#), 1)
}

/// safetensors has two name spaces, and any program may put a text into one of them.
#[test]
fn texts_of_other_programs_are_no_values() {
    type Map = BTreeMap<String, Vec<u8>>;
    let expected = Map::from([("w".to_owned(), vec![0])]);
    for metadata in [
        r#"{"format":"pt","w":"frozen"}"#,
        r#"{"w":"{}"}"#,
        r#"{"format":"pt","config":"{}"}"#,
        r#"{"config":"null"}"#,
        r#"{"config":"\"sd15\""}"#,
        r#"{"config":"{}","author":"x"}"#,
    ] {
        let bytes = noted(metadata);
        let source = safetensors::from_bytes(&bytes).unwrap();
        assert_eq!(source.load::<Map>().unwrap(), expected, "{metadata}");
        assert_eq!(source.load::<BTreeMap<String, (u8,)>>().unwrap()["w"], (0,), "{metadata}");
    }
    // Values that `Export` puts there are marked, also beside other texts.
    let value = BTreeMap::from([("a".to_owned(), vec![1.5f32]), ("b".to_owned(), vec![])]);
    let both = (value, Some("x"), None::<u8>);
    let tree = Tree::of(&both).unwrap();
    let export = Export::new().rest_in_metadata(true).structure_in_metadata(false);
    let tensors = export.tensors(&tree).unwrap().with_metadata("author", "\"x\"");
    type Both = (BTreeMap<String, Vec<f32>>, Option<String>, Option<u8>);
    let (map, text, none): Both = tensors.load().unwrap();
    assert_eq!((map["a"].as_slice(), text.as_deref(), none), (&[1.5][..], Some("x"), None));
}

/// A copy of a part is read as the part.
#[test]
fn a_part_is_saved_as_a_part() {
    type Linear = BTreeMap<String, Vec<f32>>;
    type Whole = BTreeMap<String, Linear>;
    let linear = |numbers: &[f32]| Linear::from([("w".to_owned(), numbers.to_vec())]);
    let whole = Whole::from([
        ("a".to_owned(), linear(&[1.0, 2.0])),
        ("b".to_owned(), Linear::new()),
        ("c".to_owned(), linear(&[3.0])),
    ]);
    let tree = Tree::of(&whole).unwrap();
    let tensors = Tensors::of(&tree).unwrap();
    let part = Source::from(&tensors).select("a").unwrap();
    let expected = Whole::from([("a".to_owned(), linear(&[1.0, 2.0]))]);
    assert_eq!(part.load::<Whole>().unwrap(), expected);
    let mut saved = Vec::new();
    safetensors::write(&part, &mut saved).unwrap();
    let back = safetensors::from_bytes(&saved).unwrap();
    assert_eq!(back.load::<Whole>().unwrap(), expected);
    assert_eq!(back.select("a.w").unwrap().load::<Whole>().unwrap(), expected);
    assert_eq!(part.read().unwrap().load::<Whole>().unwrap(), expected);
    assert_eq!(tensors.load::<Whole>().unwrap(), whole);
}

/// What would be two texts of one key in a file is refused before it is written.
#[test]
fn a_key_occurs_once() {
    let texts = [("format", "pt"), ("a", "b"), ("format", "np")];
    let texts = texts.map(|(key, text)| (key.to_owned(), text.to_owned()));
    assert_eq!(
        Source::of([], texts).unwrap_err().to_string(),
        r#"the metadata has "format" twice"#
    );
}
