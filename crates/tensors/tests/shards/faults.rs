//! One error lists all faults of a folder.

use std::fs;

use insta::assert_snapshot;
use treedef_tensors::safetensors::{self, OpenOptions};
use treedef_tensors::{ErrorKind, Source};

use crate::{Folder, file};

/// A checkpoint of two files.
fn sound() -> Folder {
    let folder = Folder::new();
    folder.shard("model-00001-of-00002.safetensors", &[("a", &[1, 2]), ("b", &[3])]);
    folder.shard("model-00002-of-00002.safetensors", &[("c", &[4, 5, 6])]);
    folder.index(
        &[
            ("a", "model-00001-of-00002.safetensors"),
            ("b", "model-00001-of-00002.safetensors"),
            ("c", "model-00002-of-00002.safetensors"),
        ],
        6,
    );
    folder
}

fn names(source: &Source<'_>) -> Vec<String> {
    source.iter().map(|stored| format!("{}: {}", stored.name(), stored.descriptor())).collect()
}

#[test]
fn a_folder_an_index_and_files_are_opened() {
    let folder = sound();
    let expected = ["a: u8[2]", "b: u8[1]", "c: u8[3]"];
    let source = safetensors::open(folder.path()).unwrap();
    assert_eq!(names(&source), expected);
    assert_eq!(source.get("c").unwrap().read().unwrap().bytes(), [4, 5, 6]);
    assert_eq!(
        source.get("c").unwrap().file().unwrap(),
        folder.join("model-00002-of-00002.safetensors")
    );
    let index = safetensors::open(folder.join("model.safetensors.index.json")).unwrap();
    assert_eq!(names(&index), expected);
    let files = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
    let paths = files.map(|name| folder.join(name));
    assert_eq!(names(&safetensors::open_files(&paths).unwrap()), expected);
    let bytes = paths.map(|path| fs::read(path).unwrap());
    let slices = bytes.iter().map(|bytes| safetensors::from_bytes(bytes).unwrap());
    let tensors = slices.flat_map(|source| source.iter().cloned().collect::<Vec<_>>());
    assert_eq!(names(&Source::of(tensors, []).unwrap()), expected);
}

#[test]
fn all_faults_are_told_together() {
    let folder = sound();
    folder.shard("model-00001-of-00002.safetensors", &[("a", &[1, 2]), ("c", &[3]), ("d", &[])]);
    folder.shard("stray.safetensors", &[("e", &[1])]);
    folder.index(
        &[
            ("a", "model-00001-of-00002.safetensors"),
            ("b", "model-00001-of-00002.safetensors"),
            ("c", "model-00002-of-00002.safetensors"),
            ("f", "model-00003-of-00003.safetensors"),
            ("g", "../g.safetensors"),
            ("h", "/h.safetensors"),
        ],
        6,
    );
    let error = OpenOptions::new().strict(true).open(folder.path()).unwrap_err();
    let ErrorKind::Faults(faults) = error.kind() else { panic!("{error}") };
    assert_eq!(faults.len(), 7);
    assert_eq!(faults[6].file, folder.join("stray.safetensors").display().to_string());
    let mut lines: Vec<_> = folder.told(&error).lines().map(str::to_owned).collect();
    lines.sort();
    assert_snapshot!(lines.join("\n"), @r#"
    7 faults
    model-00001-of-00002.safetensors: "b": the index has it, and the file does not
    model-00001-of-00002.safetensors: "c": passed over, as the index has it in "model-00002-of-00002.safetensors"
    model-00001-of-00002.safetensors: "d": left out, as the index does not name it
    model-00003-of-00003.safetensors: there is no such file
    model.safetensors.index.json: "g": "../g.safetensors" is not a file below the folder
    model.safetensors.index.json: "h": "/h.safetensors" is not a file below the folder
    stray.safetensors: left out, as the index does not name it
    "#);
}

#[test]
fn what_is_no_checkpoint_is_told() {
    let folder = Folder::new();
    let told = || folder.refused(safetensors::open(folder.path()));
    assert_snapshot!(told(), @"FOLDER: there is no file `*.safetensors` in it");
    // The leftovers of an interrupted save must not be read as the model.
    folder.shard("model-00001-of-00002.safetensors", &[("a", &[1])]);
    assert_snapshot!(told(), @r#"FOLDER: "model-00001-of-00002.safetensors" is one of 2 shards, and number 2 is not there"#);
    let folder = Folder::new();
    let told = || folder.refused(safetensors::open(folder.path()));
    folder.shard("one.safetensors", &[("a", &[1])]);
    folder.shard("other.safetensors", &[("b", &[1])]);
    assert_snapshot!(told(), @r#"FOLDER: several files and no index, "one.safetensors", "other.safetensors": which belong together? Open these with `open_files`"#);
    fs::rename(folder.join("other.safetensors"), folder.join("llama-3.1.safetensors")).unwrap();
    assert_snapshot!(told(), @r#"FOLDER: several files and no index, "llama-3.1.safetensors", "one.safetensors": which belong together? Open these with `open_files`"#);
    fs::rename(folder.join("llama-3.1.safetensors"), folder.join("other.safetensors")).unwrap();
    let index = |name: &str| folder.write(name, r#"{"weight_map": {"b": "other.safetensors"}}"#);
    index("one.safetensors.index.json");
    index("other.safetensors.index.json");
    assert_snapshot!(told(), @r#"FOLDER: several indexes, "one.safetensors.index.json", "other.safetensors.index.json": open one of them"#);
    index("model.safetensors.index.json");
    let source = safetensors::open(folder.path()).unwrap();
    assert_snapshot!(folder.warned(&source), @"one.safetensors: left out, as the index does not name it");
    folder.write("model.safetensors.index.json", "version https://git-lfs.github.com/spec/v1\n");
    assert_snapshot!(told(), @"model.safetensors.index.json: a pointer of git-lfs and not the file: `git lfs pull` brings it");
    let missing = folder.refused(safetensors::open(folder.join("none")));
    assert_snapshot!(missing, @"none: No such file or directory (os error 2)");
    assert!(safetensors::open(folder.join("none")).unwrap_err().is_not_found());
}

#[test]
fn a_damaged_index_is_told() {
    let folder = Folder::new();
    folder.shard("a.safetensors", &[("a", &[1])]);
    let told = |json: &str| {
        folder.write("model.safetensors.index.json", json);
        folder.refused(OpenOptions::new().strict(true).open(folder.path()))
    };
    let told: Vec<String> = [
        "",
        "[]",
        "{}",
        r#"{"weight_map": []}"#,
        r#"{"weight_map": {"a": "a.safetensors", "a": "a.safetensors"}}"#,
        r#"{"weight_map": {"a": 1, "b": ""}}"#,
        r#"{"weight_map": {"a": "."}}"#,
        r#"{"metadata": {"total_size": 2}, "weight_map": {"a": "a.safetensors"}}"#,
        r#"{"metadata": {"total_size": -1}, "weight_map": {"a": "a.safetensors"}}"#,
    ]
    .map(told)
    .into();
    assert_snapshot!(told.join("\n--\n"), @r#"
    model.safetensors.index.json: EOF while parsing a value at line 1 column 0 at byte 0
    --
    model.safetensors.index.json: it has no object `weight_map`
    --
    model.safetensors.index.json: it has no object `weight_map`
    --
    model.safetensors.index.json: it has no object `weight_map`
    --
    model.safetensors.index.json: the key "a" occurs twice at line 1 column 59 at byte 58
    --
    3 faults
    model.safetensors.index.json: "a": its file is not a string
    model.safetensors.index.json: "b": "" is not a file below the folder
    a.safetensors: left out, as the index does not name it
    --
    2 faults
    model.safetensors.index.json: "a": "." is not a file below the folder
    a.safetensors: left out, as the index does not name it
    --
    model.safetensors.index.json: `total_size` is 2, and the tensors have 1 bytes
    --
    model.safetensors.index.json: `total_size` is not a number of bytes
    "#);
    let json = r#"{"metadata": {"total_size": 2}, "weight_map": {"a": "a.safetensors"}}"#;
    folder.write("model.safetensors.index.json", json);
    let source = safetensors::open(folder.path()).unwrap();
    assert_snapshot!(folder.warned(&source), @"model.safetensors.index.json: `total_size` is 2, and the tensors have 1 bytes");
    let json = json.replace('2', "\"1\"");
    folder.write("model.safetensors.index.json", json);
    let source = safetensors::open(folder.path()).unwrap();
    assert_snapshot!(folder.warned(&source), @"model.safetensors.index.json: `total_size` is not a number of bytes");
    // As older versions of transformers wrote it.
    let json = r#"{"metadata": {"total_size": 1.0}, "weight_map": {"a": "a.safetensors"}}"#;
    folder.write("model.safetensors.index.json", json);
    assert!(safetensors::open(folder.path()).is_ok());
    // As PowerShell and scripts write it.
    let json = "\u{feff}{\"weight_map\": {\"a\": \"./a.safetensors\"}}";
    folder.write("model.safetensors.index.json", json);
    assert!(OpenOptions::new().strict(true).open(folder.path()).is_ok());
}

/// Folders as in practice: files beside the model, variants, and changed tensors on top of a checkpoint.
#[test]
fn the_index_or_the_names_decide() {
    let folder = sound();
    folder.shard("consolidated.safetensors", &[("other", &[1])]);
    folder.shard("adapter_model.safetensors", &[("lora", &[1])]);
    folder.shard("overlay.safetensors", &[("b", &[9])]);
    folder.write("config.json", "{}");
    let [first, second] = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
    folder.index(&[("a", first), ("b", "overlay.safetensors"), ("c", second)], 6);
    let source = safetensors::open(folder.path()).unwrap();
    assert_eq!(source.get("b").unwrap().read().unwrap().bytes(), [9]);
    assert_snapshot!(folder.warned(&source), @r#"
    model-00001-of-00002.safetensors: "b": passed over, as the index has it in "overlay.safetensors"
    adapter_model.safetensors: left out, as the index does not name it
    consolidated.safetensors: left out, as the index does not name it
    "#);
    // Of a tied pair in one file, the index has one name in another.
    let header =
        r#"{"__metadata__":{"head":"wte"},"wte":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#;
    let length = u64::try_from(header.len()).unwrap().to_le_bytes();
    let file = [&length[..], header.as_bytes(), &[7]].concat();
    for (over, expected) in [("wte", [9, 7]), ("head", [7, 9])] {
        let folder = Folder::new();
        folder.write(first, &file);
        folder.shard("overlay.safetensors", &[(over, &[9])]);
        let of = |name| (name, if name == over { "overlay.safetensors" } else { first });
        folder.index(&[of("wte"), of("head")], 2);
        let source = safetensors::open(folder.path()).unwrap();
        let bytes =
            ["wte", "head"].map(|name| source.get(name).unwrap().read().unwrap().bytes()[0]);
        assert_eq!(bytes, expected);
        // Tensors that the index does not name are left out, and other names of those that it has are not.
        let folder = Folder::new();
        folder.write(first, &file);
        folder.index(&[(over, first)], 1);
        let source = safetensors::open(folder.path()).unwrap();
        assert!(source.get(over).is_some());
        assert_eq!(source.get("head").is_some() && source.get("wte").is_some(), over == "wte");
        assert_eq!(source.warnings().len(), usize::from(over == "head"));
    }
    // Without an index, their names show that they belong together.
    let folder = Folder::new();
    folder.shard(first, &[("a", &[1])]);
    folder.shard(second, &[("b", &[2])]);
    assert_eq!(names(&safetensors::open(folder.path()).unwrap()), ["a: u8[1]", "b: u8[1]"]);
    folder.shard("adapter_model.safetensors", &[("lora", &[1])]);
    let source = safetensors::open(folder.path()).unwrap();
    assert_snapshot!(folder.warned(&source), @r#"adapter_model.safetensors: left out, as "model-00001-of-00002.safetensors" and the other shards are the model"#);
    // The variants of diffusers and transformers.
    folder.shard("model.fp16.safetensors", &[("a", &[5])]);
    folder.write("model.safetensors.index.ema.json", r#"{"weight_map": {"b": "x.safetensors"}}"#);
    folder.shard("x.safetensors", &[("b", &[7])]);
    let open = |name: &str| OpenOptions::new().variant(name).open(folder.path());
    assert_eq!(open("fp16").unwrap().get("a").unwrap().read().unwrap().bytes(), [5]);
    assert_eq!(open("ema").unwrap().get("b").unwrap().read().unwrap().bytes(), [7]);
    assert_snapshot!(folder.refused(open("fp8")), @r#"FOLDER: there is no variant "fp8", only "ema", "fp16""#);
    for name in [first, second, "x.safetensors", "adapter_model.safetensors"] {
        fs::remove_file(folder.join(name)).unwrap();
    }
    assert_snapshot!(folder.refused(safetensors::open(folder.path())), @r#"FOLDER: several variants of a model, "ema", "fp16": choose one (`OpenOptions::variant`)"#);
}

/// To open a pipe would wait for a writer that never comes.
#[cfg(unix)]
#[test]
fn a_pipe_is_refused() {
    let pipes = ["model.safetensors", "model.safetensors.index.json"];
    for pipe in pipes {
        let folder = Folder::new();
        let path = folder.join(pipe);
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        for path in [folder.path().to_owned(), path] {
            let (to, from) = std::sync::mpsc::channel();
            std::thread::spawn(move || {
                let opened = safetensors::open(&path).map(drop);
                let saved = safetensors::save_sharded(Source::default(), &path, 1).map(drop);
                to.send((opened, saved)).unwrap();
            });
            let (opened, saved) = from.recv_timeout(std::time::Duration::from_secs(20)).unwrap();
            assert_eq!(folder.refused(opened), format!("{pipe}: not a file"));
            assert!(saved.is_err() || pipe == pipes[0]);
        }
    }
}

/// A file with one tensor of one byte, and a text in the metadata.
fn noted(name: &str, byte: u8, key: &str, text: &str) -> Vec<u8> {
    let metadata = serde_json::json!({key: text});
    let header = format!(
        r#"{{"__metadata__":{metadata},"{name}":{{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}}}"#
    );
    let length = u64::try_from(header.len()).unwrap().to_le_bytes();
    [&length[..], header.as_bytes(), &[byte]].concat()
}

#[test]
fn two_files_may_not_have_one_name_of_a_tied_tensor() {
    let [first, second] = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
    for is_indexed in [false, true] {
        let folder = Folder::new();
        if is_indexed {
            folder.index(&[("w", first), ("v", second)], 2);
        }
        let open = |files: [Vec<u8>; 2]| {
            [first, second].iter().zip(files).for_each(|(name, file)| folder.write(name, file));
            safetensors::open(folder.path())
        };
        // Two tensors are both `h`.
        let refused = open([noted("w", 1, "h", "w"), noted("v", 3, "h", "v")]);
        let error = folder.refused(refused);
        assert_eq!(error, format!("{second}: \"h\": it is also in \"{first}\""));
        // Some writers put the texts of the whole into each file.
        for files in [
            [noted("w", 1, "h", "w"), noted("v", 3, "h", "w")],
            [noted("w", 1, "h", "v"), noted("v", 3, "h", "v")],
            [noted("w", 1, "h", "a text"), noted("v", 3, "h", "v")],
        ] {
            let expected = if files[0] == noted("w", 1, "h", "w") { "w" } else { "v" };
            let source = open(files).unwrap();
            assert_eq!(source.aliases().collect::<Vec<_>>(), [("h", expected)]);
        }
    }
    // Without an index, nothing decides which of the two is `h`.
    let folder = Folder::new();
    for files in [[first, second], [second, first]] {
        folder.write(files[0], noted("w", 1, "h", "w"));
        folder.shard(files[1], &[("h", &[9])]);
        let error = folder.refused(safetensors::open(folder.path()));
        assert_eq!(error, format!("{second}: \"h\": it is also in \"{first}\""));
    }
}

/// The faults of a file with this header and this number of bytes after it.
fn faults_of(header: &str, size: usize) -> String {
    let folder = Folder::new();
    let length = u64::try_from(header.len()).unwrap().to_le_bytes();
    folder.write("a.safetensors", [&length[..], header.as_bytes(), &vec![0; size]].concat());
    folder.refused(safetensors::open(folder.path()))
}

#[test]
fn damaged_files_are_told() {
    let tensor = |name: &str, dtype: &str, shape: &str, start: usize, end: usize| {
        format!(
            r#""{name}": {{"dtype": "{dtype}", "shape": {shape}, "data_offsets": [{start}, {end}]}}"#
        )
    };
    let of = |tensors: &[String], size| faults_of(&format!("{{{}}}", tensors.join(",")), size);
    let told = [
        faults_of("[]", 0),
        of(&[tensor("a", "U8", "[1]", 1, 2)], 2),
        of(&[tensor("a", "U8", "[2]", 0, 2), tensor("b", "U8", "[2]", 1, 3)], 3),
        of(&[tensor("a", "U8", "[2]", 0, 2)], 1),
        of(&[tensor("a", "U8", "[2]", 0, 2)], 5),
        of(&[tensor("a", "F32", "[3]", 0, 8), tensor("b", "F9", "[]", 8, 9)], 9),
        of(&[tensor("a", "F4", "[3]", 0, 1)], 1),
        of(&[tensor("a", "U8", "[18446744073709551615, 2]", 0, 1)], 1),
        of(&[tensor("a", "U8", "[0]", 5, 4)], 1),
    ];
    assert_snapshot!(told.join("\n--\n"), @r#"
    a.safetensors: not a safetensors file: the header does not begin with `{` at byte 8
    --
    a.safetensors: "a": the data has a hole
    --
    a.safetensors: "b": the data has an overlap
    --
    a.safetensors: "a": cut off by the end of the file
    --
    a.safetensors: 3 bytes behind the last tensor
    --
    2 faults
    a.safetensors: "a": 8 bytes cannot be f32[3]
    a.safetensors: "b": the dtype F9 is not supported
    --
    a.safetensors: "a": 1 bytes cannot be f4[3]
    --
    a.safetensors: "a": 1 bytes cannot be u8[18446744073709551615, 2]
    --
    a.safetensors: "a": the data has a hole
    "#);
    let folder = Folder::new();
    folder.write("a.safetensors", [9, 0, 0, 0, 0, 0, 0, 0, b'{']);
    let cut = folder.refused(safetensors::open(folder.path()));
    assert_snapshot!(cut, @"a.safetensors: the file ends inside its header at byte 9");
    folder.write("a.safetensors", [255; 20]);
    let other = folder.refused(safetensors::open(folder.path()));
    assert_snapshot!(other, @"a.safetensors: not a safetensors file: a header of more than 100000000 bytes");
    for (start, what) in [
        (&b"PK\x03\x04\x14\0\0\0"[..], "numpy"),
        (b"\x80\x02\x8a\x0al\xfc\x9cF", "pytorch"),
        (b"GGUF\x03", "gguf"),
        (b"\x93NUMPY\x01", "numpy"),
    ] {
        let file = [start, &[0; 20]].concat();
        folder.write("a.safetensors", &file);
        let other = folder.refused(safetensors::open(folder.path()));
        assert!(other.ends_with(&format!("with the feature `{what}`")), "{other}");
        let in_memory = safetensors::from_bytes(&file).unwrap_err().to_string();
        assert_eq!(other, format!("a.safetensors: {in_memory}"));
    }
    folder.write(
        "a.safetensors",
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
    );
    let pointer = folder.refused(safetensors::open(folder.path()));
    assert_snapshot!(pointer, @"a.safetensors: a pointer of git-lfs and not the file: `git lfs pull` brings it");
    folder.write("a.safetensors", "Entry not found");
    let answer = folder.refused(safetensors::open(folder.path()));
    assert_snapshot!(answer, @r#"a.safetensors: not a safetensors file: it begins with the text "Entry no""#);
    folder.write("a.safetensors", "\u{feff}\n<!DOCTYPE html><html>");
    let page = folder.refused(safetensors::open(folder.path()));
    assert_snapshot!(page, @"a.safetensors: a page of HTML and not the file, as a download without a login may be: get it again");
    assert_snapshot!(faults_of(r#"{"__metadata__": []}"#, 0), @"a.safetensors: not a safetensors file: the metadata is not an object of strings at line 1 column 20 at byte 27");
    let header = br#"{"__metadata__":null}"#;
    folder.write("a.safetensors", [&(header.len() as u64).to_le_bytes()[..], header].concat());
    assert_eq!(safetensors::open(folder.path()).unwrap().metadata_keys().len(), 0);
}

#[cfg(unix)]
#[test]
fn links_may_not_lead_out_of_the_folder() {
    use std::os::unix::fs::symlink;
    let (folder, other) = (sound(), Folder::new());
    let name = "model-00002-of-00002.safetensors";
    fs::rename(folder.join(name), other.join("c.safetensors")).unwrap();
    symlink(other.join("c.safetensors"), folder.join(name)).unwrap();
    let told = folder.refused(safetensors::open(folder.path()));
    let told =
        told.replace(&fs::canonicalize(other.path()).unwrap().display().to_string(), "OTHER");
    assert_snapshot!(told, @r#"model-00002-of-00002.safetensors: a link out of the folder, to "OTHER/c.safetensors" (see `OpenOptions::follow_links`)"#);
    assert!(OpenOptions::new().follow_links(true).open(folder.path()).is_ok());

    // Links inside of the folder lead nowhere else, and a link to the folder is the folder.
    fs::remove_file(folder.join(name)).unwrap();
    fs::rename(other.join("c.safetensors"), folder.join("c.bin")).unwrap();
    symlink("c.bin", folder.join(name)).unwrap();
    symlink(folder.path(), other.join("link")).unwrap();
    assert!(safetensors::open(other.join("link")).is_ok());

    // The index of a folder is one of its files.
    let index = "model.safetensors.index.json";
    fs::rename(folder.join(index), other.join(index)).unwrap();
    symlink(other.join(index), folder.join(index)).unwrap();
    let told = folder.refused(safetensors::open(folder.path()));
    assert!(told.starts_with("model.safetensors.index.json: a link out of the folder"), "{told}");
    assert!(OpenOptions::new().follow_links(true).open(folder.path()).is_ok());
}

/// The layout of the hub's cache on this machine: `snapshots/REVISION/NAME` is a link to `blobs/HASH`.
#[cfg(unix)]
#[test]
fn the_cache_of_the_hub_is_opened() {
    use std::os::unix::fs::symlink;
    let cache = Folder::new();
    let snapshot = cache.join("snapshots/0123abcd");
    fs::create_dir_all(&snapshot).unwrap();
    fs::create_dir_all(cache.join("blobs")).unwrap();
    fs::create_dir_all(cache.join("others")).unwrap();
    for (name, blob) in [("a.safetensors", "blobs/aa"), ("b.safetensors", "others/bb")] {
        cache.shard(blob, &[(&name[..1], &[1])]);
        symlink(format!("../../{blob}"), snapshot.join(name)).unwrap();
    }
    let index = |pairs: &str| {
        let json = format!(r#"{{"weight_map": {pairs}}}"#);
        fs::write(snapshot.join("model.safetensors.index.json"), json).unwrap();
        safetensors::open(snapshot.join("model.safetensors.index.json"))
    };
    assert_eq!(names(&index(r#"{"a": "a.safetensors"}"#).unwrap()), ["a: u8[1]"]);
    let told = cache.refused(index(r#"{"b": "b.safetensors"}"#));
    assert_snapshot!(told, @r#"snapshots/0123abcd/b.safetensors: a link out of the folder, to "others/bb" (see `OpenOptions::follow_links`)"#);
}

#[test]
fn a_file_that_was_replaced_is_not_mixed() {
    // More files than stay open.
    let folder = Folder::new();
    let names: Vec<String> = (0..70).map(|number| format!("{number:02}.safetensors")).collect();
    for (number, name) in (0..).zip(&names) {
        folder.shard(name, &[(&name[..2], &[number, 0, 0])]);
    }
    let source = safetensors::open_files(names.iter().map(|name| folder.join(name))).unwrap();
    for (number, name) in (0_u8..).zip(&names) {
        let read = source.get(&name[..2]).unwrap().read().unwrap();
        assert_eq!(read.bytes(), [number, 0, 0]);
    }
    for number in [0, 69] {
        let other = folder.join("other");
        fs::write(&other, file(&[("other", &[9; 3])])).unwrap();
        fs::rename(other, folder.join(&names[number])).unwrap();
    }
    assert_eq!(source.get("00").unwrap().read().unwrap().bytes(), [0, 0, 0]); // it stayed open
    let told = folder.refused(source.get("69").unwrap().read());
    assert_snapshot!(told, @"69.safetensors: it was changed since it was opened");
    // A file that became shorter is no value.
    fs::write(folder.join(&names[1]), b"").unwrap();
    let told = folder.refused(source.get("01").unwrap().read());
    assert_snapshot!(told, @"01.safetensors: it became shorter while it was open");
}

/// An opened folder has all tensors that it lists, inside of its files.
fn use_source(source: &Source<'_>, most: u64) {
    assert!(source.num_bytes() <= most);
    for stored in source.iter() {
        let bytes = stored.read_bytes().unwrap();
        assert_eq!(stored.descriptor().num_bytes(), Some(bytes.len() as u64));
    }
    let _ = source.load::<std::collections::BTreeMap<String, Vec<u8>>>();
}

/// `SHARDS_DAMAGES=1000000` damages more.
#[test]
fn damaged_indexes_and_headers_are_read_or_refused() {
    let damages = std::env::var("SHARDS_DAMAGES").map_or(10_000, |text| text.parse().unwrap());
    let mut rng = fastrand::Rng::with_seed(1);
    let index = br#"{"metadata": {"total_size": 6}, "weight_map": {"a": "1.safetensors", "b": "1.safetensors", "c": "2.safetensors"}}"#;
    let parts = [index.to_vec(), file(&[("a", &[1, 2]), ("b", &[3])]), file(&[("c", &[4, 5, 6])])];
    let opened = |parts: &[Vec<u8>; 3]| {
        let files = [("1.safetensors", parts[1].as_slice()), ("2.safetensors", &parts[2])];
        safetensors::open_indexed_slices(&parts[0], files).map(|source| {
            use_source(&source, (parts[1].len() + parts[2].len()) as u64);
            names(&source)
        })
    };
    let expected = opened(&parts).unwrap();
    let mut refused = 0;
    for _ in 0..damages {
        let mut damaged = parts.clone();
        let part = &mut damaged[rng.usize(..3)];
        for _ in 0..rng.usize(1..3) {
            let at = rng.usize(..part.len());
            match rng.u8(..5) {
                0 => part.truncate(at.max(1)),
                1 => part[at] = b"\"{}[]:,0129az\\\0\xff"[rng.usize(..16)],
                2 => part[at] ^= 1 << rng.u8(..8),
                3 => part.insert(at, rng.u8(32..127)),
                _ => drop(part.remove(at)),
            }
            if part.is_empty() {
                break;
            }
        }
        match opened(&damaged) {
            // Blanks, another text of the metadata, other numbers: never other names or shapes in silence,
            // unless both the index and a header were damaged alike.
            Ok(found) => assert_eq!(found.len(), expected.len()),
            Err(error) => {
                assert!(!error.to_string().is_empty());
                refused += 1;
            }
        }
    }
    assert!(refused > damages / 2, "{refused} of {damages}");
}
