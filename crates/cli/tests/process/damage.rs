//! Files whose numbers are damaged, are not read, or would be read for ever.

use std::fs;
use std::process::Output;
use std::time::{Duration, Instant};

use ::treedef::{Leaf, Tree};

use crate::{Folder, treedef};

/// A file of PyTorch in its old form: `{"epoch": 7, "w": …}` with a storage of four floats, and the offset, the
/// shape and the strides of the tensor as instructions.
pub(crate) fn pytorch(view: &[u8]) -> Vec<u8> {
    let start: &[u8] = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}.";
    let storage: &[u8] =
        b"\x80\x02}(X\x05\0\0\0epochK\x07X\x01\0\0\0wctorch._utils\n_rebuild_tensor_v2\n\
        ((X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\x000X\x03\0\0\0cpuK\x04tQ";
    let end = [&b"\x89}tRu.](X\x01\0\0\x000e."[..], &4_u64.to_le_bytes(), &[0; 16]].concat();
    [start, storage, view, &end].concat()
}

pub(crate) const SOUND: &[u8] = b"K\0K\x04\x85K\x01\x85";

pub(crate) fn run(args: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = treedef(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

/// Commands that request numbers, types or shapes.
fn asking<'a>(path: &'a str, sound: &'a str, out: &'a str) -> Vec<Vec<&'a str>> {
    vec![
        vec!["diff", path, path],
        vec!["diff", path, sound],
        vec!["diff", "--patch", sound, path],
        vec!["diff", "--rename", "a", "b", path, path],
        vec!["fingerprint", "--tensors", path],
        vec!["select", "**", path],
        vec!["summary", path],
        vec!["view", path],
        vec!["convert", path, "-o", out],
    ]
}

/// Commands that request the structure.
fn outlines<'a>(path: &'a str, sound: &'a str) -> [Vec<&'a str>; 4] {
    [
        vec!["show", "--strict", path],
        vec!["check", path, "--like", sound],
        vec!["fingerprint", path],
        vec!["diff", "--structure", path, path],
    ]
}

#[test]
fn damage_is_an_error_wherever_the_tensor_is_asked_for() {
    let folder = Folder::new("damage");
    let (sound, out) = (folder.path("sound.pt"), folder.path("out.safetensors"));
    fs::write(&sound, pytorch(SOUND)).unwrap();
    let cut = pytorch(SOUND);
    let cases = [
        (
            "cut.pt",
            cut[..cut.len() - 1].to_vec(),
            "\"w\": the file ends inside of the storage \"0\"",
        ),
        (
            "missing.pt",
            cut[..cut.len() - 24].to_vec(),
            "\"w\": the file ends before the storage \"0\"",
        ),
        (
            "outside.pt",
            pytorch(b"K\x01K\x04\x85K\x01\x85"),
            "\"w\": its last byte is 20, and its storage has 16 bytes",
        ),
    ];
    for (name, bytes, why) in cases {
        let path = folder.path(name);
        fs::write(&path, &bytes).unwrap();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut gzip, &bytes).unwrap();
        let packed = folder.path(&format!("{name}.gz"));
        fs::write(&packed, gzip.finish().unwrap()).unwrap();
        for path in [&path, &packed] {
            let outlines = outlines(path, &sound);
            for args in asking(path, &sound, &out).into_iter().chain(outlines) {
                let (code, printed, told) = run(&args);
                assert_eq!((code, printed.as_str()), (Some(2), ""), "{args:?}: {told}");
                // Once, with the file once.
                assert_eq!(told.matches(why).count(), 1, "{args:?}: {told}");
                assert_eq!(told.matches(path.as_str()).count(), 1, "{args:?}: {told}");
            }
        }
        // The pickle describes the tensor.
        let (code, printed, told) = run(&["show", &path]);
        assert_eq!(code, Some(0));
        assert!(printed.ends_with("{\"epoch\": i64, \"w\": f32[4]}\n"), "{printed}");
        assert!(told.contains(why), "{told}");
    }
    assert!(!fs::exists(&out).unwrap());
}

/// A shape that the strides make of 16 bytes.
#[test]
fn repeated_elements_are_not_read_for_hours() {
    let folder = Folder::new("bomb");
    let (sound, out) = (folder.path("sound.pt"), folder.path("out.safetensors"));
    fs::write(&sound, pytorch(SOUND)).unwrap();
    let path = folder.path("bomb.pt");
    fs::write(&path, pytorch(b"K\0\x8a\x06\0\0\0\0\0\x01\x85K\0\x85")).unwrap();
    let begun = Instant::now();
    for args in asking(&path, &sound, &out) {
        let args = [args, vec!["--max-bytes", "10TB"]].concat();
        let (code, printed, told) = run(&args);
        assert_eq!((code, printed.as_str()), (Some(2), ""), "{args:?}: {told}");
        assert!(told.contains("the tensors have 4398046511104 bytes"), "{args:?}: {told}");
    }
    let shown = run(&["show", &path]).1;
    assert!(shown.ends_with("\"w\": f32[1099511627776]}\n"), "{shown}");
    assert_eq!(run(&["diff", "--structure", &path, &path]).0, Some(0));
    assert!(begun.elapsed() < Duration::from_secs(60));
    // Values that a file may contain are read.
    fs::write(&path, pytorch(b"K\0M\x10\x27\x85K\0\x85")).unwrap();
    assert_eq!(run(&["diff", &path, &path]), (Some(0), String::new(), String::new()));
}

/// A file and a patch have equal neighbours once.
#[test]
fn equal_neighbours_are_not_visited_for_ever() {
    let folder = Folder::new("neighbours");
    let many = 1_usize << 60;
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let tree = |text: &str, leaves: Vec<Leaf>| {
        Tree::new(text.parse().unwrap(), leaves).unwrap().to_bytes().unwrap()
    };
    let units = file("units.tree", &tree(&format!("[(); {many}]"), vec![]));
    let nones = file("nones.tree", &tree(&format!("[None; {many}]"), vec![]));
    let small = file("small.json", b"[1, [2]]");
    let none = format!("\"path\": \"[0]\", \"new\": \"None\", \"spans\": [{many}]");
    let patch = format!("{{\"changes\": [{{\"change\": \"added\", \"position\": 0, {none}}}]}}");
    let patch = file("patch.json", patch.as_bytes());
    let stored = file("stored.treedef", format!("(*, {{1: [*; {many}]}})").as_bytes());
    let tensors = |value: u8| {
        let structure = format!("(*, [None; {many}])");
        let shape = serde_json::json!({"dtype": "U8", "shape": [], "data_offsets": [0, 1]});
        let header =
            serde_json::json!({"__metadata__": {"treedef": structure}, "0": shape}).to_string();
        [&u64::try_from(header.len()).unwrap().to_le_bytes(), header.as_bytes(), &[value]].concat()
    };
    let (zero, one) = (file("0.safetensors", &tensors(0)), file("1.safetensors", &tensors(1)));

    let mut refused = Vec::new();
    for end in ["tree", "cbor", "toml", "json", "safetensors"] {
        let out = folder.path(&format!("out.{end}"));
        refused.push(format!("convert {nones} -o {out}"));
        refused.push(format!("apply {small} {patch} -o {out}"));
        if end != "safetensors" {
            refused.push(format!("convert {zero} -o {out}"));
        }
    }
    for path in [&units, &nones] {
        refused.push(format!("diff {path} {small}"));
        refused.push(format!("diff --structure {path} {small}"));
        refused.push(format!("view {path}"));
        refused.push(format!("check {path} --like {path}"));
        refused.push(format!("check {small} --fold-lengths --like {path}"));
        refused.push(format!("select x {path}"));
        refused.push(format!("select [*].a {path}"));
        refused.push(format!("select [*] {path}"));
        refused.push(format!("select --tree [0] {path}"));
    }
    refused.push(format!("view {small} {nones}"));
    refused.push(format!("check {small} --like {stored}"));
    refused.push(format!("diff {stored} {stored}"));
    refused.push(format!("diff {zero} {small}"));
    refused.push(format!("diff {zero} {one}"));
    refused.push(format!("diff --at [1] {zero} {one}"));
    refused.push(format!("view {zero}"));
    refused.push(format!("select x {zero}"));
    let begun = Instant::now();
    for line in &refused {
        let (code, printed, told) = run(&line.split(' ').collect::<Vec<_>>());
        assert_eq!((code, printed.as_str()), (Some(2), ""), "{line}: {told}");
        let limit = "nodes to visit, the limit is";
        assert!(told.contains(limit) && told.contains("(`--max-nodes` allows more)"), "{told}");
    }
    for line in ["show", "summary", "fingerprint", "shapes"] {
        for path in [&units, &zero] {
            assert_eq!(run(&[line, path]).0, Some(0), "{line} {path}");
        }
    }
    assert!(begun.elapsed() < Duration::from_secs(60));

    // A file with many leaves has as many nodes.
    let numbers = file("numbers.tree", &tree("[*; 300]", vec![Leaf::from(1.5); 300]));
    assert_eq!(run(&["diff", "--max-nodes", "100", &numbers, &numbers]).0, Some(0));
    let [old, new] = [1000, 1001]
        .map(|count| file(&format!("{count}.treedef"), format!("[{{1: *}}; {count}]").as_bytes()));
    assert!(run(&["diff", "--max-nodes", "1000", &old, &new]).2.contains("2001 nodes to visit"));
    assert_eq!(run(&["diff", "--max-nodes", "3000", &old, &new]).1, "+ [1000]: {1: *}\n");
}

/// A hash of nothing would be useless; `printf 7i64 | sha256sum` is the hash of the value.
#[test]
fn what_is_no_tensor_has_a_hash_of_its_text() {
    let folder = Folder::new("values");
    let path = folder.path("x.pt");
    fs::write(&path, pytorch(SOUND)).unwrap();
    let (code, printed, told) = run(&["fingerprint", "--tensors", &path]);
    assert_eq!((code, told.as_str()), (Some(0), ""));
    let expected = "\
        4fdac56da4781570410f2f55af224671f3caea90600f4848551b8e433df657e2  epoch  i64\n\
        374708fff7719dd5979ec875d56cd2286f6d3cf7ec317a3b25632aab28ec37bb  w  f32[4]\n";
    assert_eq!(printed, expected);
}

/// The arrays of orbax are in files of their own, which are not read.
#[test]
fn what_is_not_read_is_neither_equal_nor_different() {
    let folder = Folder::new("orbax_arrays");
    let recorded = "tests/commands/checkpoints.in/orbax/default/_METADATA";
    let recorded = format!("{}/{recorded}", env!("CARGO_MANIFEST_DIR"));
    let (one, other) = (folder.path("one"), folder.path("other"));
    for (item, byte) in [(&one, 1), (&other, 2)] {
        fs::create_dir_all(format!("{item}/d")).unwrap();
        fs::copy(&recorded, format!("{item}/_METADATA")).unwrap();
        fs::write(format!("{item}/d/0"), [byte]).unwrap();
    }
    let mut commands = asking(&one, &other, "/nowhere.json");
    commands.push(vec!["diff", "--json", &one, &other]);
    commands.push(vec!["diff", "--patch", &one, &one]);
    for args in commands {
        let (code, printed, told) = run(&args);
        assert_eq!((code, printed.as_str()), (Some(2), ""), "{args:?}: {told}");
        let reason = ["not read", "no values", "not converted"];
        assert!(reason.iter().any(|why| told.contains(why)), "{args:?}: {told}");
    }
    assert_eq!(
        run(&["diff", "--structure", &one, &other]),
        (Some(0), String::new(), String::new())
    );
    assert_eq!(run(&["check", &one, "--like", &other]), (Some(0), String::new(), String::new()));
}

/// A page has no numbers of some types, and still shows that their bytes differ.
#[test]
fn a_byte_that_is_no_bool_has_its_place_in_the_file() {
    let folder = Folder::new("damage_bool");
    let file = folder.path("a.safetensors");
    let header = r#"{"b":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}}"#;
    let size = (header.len() as u64).to_le_bytes();
    fs::write(&file, [&size[..], header.as_bytes(), &[1, 0, 2]].concat()).unwrap();
    for args in [
        &["select", "**"][..],
        &["select", "b", "--json"],
        &["convert", "--to", "json"],
        &["summary"],
        &["view"],
    ] {
        let (code, _, told) = run(&[args, &[&file]].concat());
        assert_eq!(code, Some(2), "{args:?}: {told}");
        let expected = format!("{file}: `b`: the byte 2 is not a bool at `[2]`");
        assert!(told.contains(&expected), "{args:?}: {told}");
    }
}

#[test]
fn a_page_of_two_files_compares_what_is_not_read() {
    let folder = Folder::new("pages");
    let at = |name: &str| folder.path(name);
    let header = "{'descr': '<f16', 'fortran_order': False, 'shape': (2,), }";
    let header = format!("{header:117}\n");
    let start = [b"\x93NUMPY\x01\0\x76\0", header.as_bytes()].concat();
    for (name, byte) in [("a.npy", 1), ("b.npy", 2), ("c.npy", 1)] {
        fs::write(at(name), [&start[..], &[byte; 32]].concat()).unwrap();
    }
    for (other, changes) in [("b.npy", 1), ("c.npy", 0)] {
        let (_, told, _) =
            run(&["view", &at("a.npy"), &at(other), "-o", &at("page.html"), "--json"]);
        assert!(told.contains(&format!("\"changes\": {changes}")), "{told}");
    }
    let gguf =
        format!("{}/tests/commands/checkpoints.in/quantised.gguf", env!("CARGO_MANIFEST_DIR"));
    let (code, _, told) = run(&["view", &gguf, &gguf, "-o", &at("page.html")]);
    assert_eq!(code, Some(2));
    assert!(told.contains("a page has no tensors of GGUF to compare"), "{told}");
}
