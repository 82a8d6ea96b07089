//! Files of tensors.

use std::fs;
use std::io::{Read, Write};
use std::process::Stdio;

use treedef_tensors::{Dtype, Tensor, Tensors, safetensors};

#[cfg(target_os = "linux")]
use crate::in_little_memory;
use crate::{Folder, fed, printed, recorded, treedef};

/// A file of numpy with these numbers in a row.
fn npy(numbers: u32) -> Vec<u8> {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({numbers},), }}");
    let header = format!("{header:<117}\n");
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(header.as_bytes());
    (0..numbers).for_each(|number| bytes.extend((number as f32).to_le_bytes()));
    bytes
}

#[test]
fn a_long_array_is_shortened_unless_asked_for() {
    let selected = |numbers: u32, args: &[&str]| {
        let args = [&["select", "**", "--format", "npy"], args].concat();
        String::from_utf8(fed(&args, &npy(numbers)).stdout).unwrap()
    };
    let all = |numbers: u32| {
        let all: Vec<String> = (0..numbers).map(|number| format!("{number}.0")).collect();
        format!("[{}]", all.join(","))
    };
    assert_eq!(selected(100, &[]), format!("the root: {}\n", all(100)));
    assert_eq!(selected(101, &[]), "the root: f32[101] [0.0,1.0,2.0,…]\n");
    assert_eq!(selected(101, &["--full"]), format!("the root: {}\n", all(101)));
    let json = format!("{{\"path\":\"\",\"value\":{}}}\n", all(101));
    assert_eq!(selected(101, &["--json"]), json);
}

/// A file of half floats with these bits.
fn npy_of_halves(bits: &[u16]) -> Vec<u8> {
    let header = format!(
        "{:<117}\n",
        format!("{{'descr': '<f2', 'fortran_order': False, 'shape': ({},), }}", bits.len())
    );
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(header.as_bytes());
    bits.iter().for_each(|bits| bytes.extend(bits.to_le_bytes()));
    bytes
}

/// 0x36e1 is 0.429931640625, and the nearest half float to 0.43. A document has the double.
#[test]
fn half_floats_are_printed_as_halves() {
    let folder = Folder::new("halves");
    let [old, new] = ["old.npy", "new.npy"].map(|name| folder.path(name));
    fs::write(&old, npy_of_halves(&[0x36e1, 0xb800, 0x7c00])).unwrap();
    fs::write(&new, npy_of_halves(&[0x36e2, 0xb800, 0x7c00])).unwrap();
    assert_eq!(printed(&["summary", &old]), "f16[3] [0.43, -0.5, inf]\n");
    assert_eq!(printed(&["select", "[0]", &old]), "[0]: 0.43\n");
    let change = "~ the root: f16[3]: 1 of 3 numbers differ, most at [0]: 0.43 → 0.4302\n";
    assert_eq!(printed(&["diff", &old, &new]), change);
    fs::write(&old, npy_of_halves(&[0x36e1; 7])).unwrap();
    assert_eq!(
        printed(&["select", "**", &old]),
        format!("the root: [0.43{}]\n", ",0.43".repeat(6))
    );
    let page = printed(&["view", &old]);
    assert!(page.contains("\"f16[7] (mean 0.43, sd 0, 0.43 … 0.43)\""), "{page}");
    assert!(page.contains(&format!("\"0.43{}\"", ", 0.43".repeat(6))), "{page}");
    assert_eq!(printed(&["convert", &old, "--to", "jsonl"]), "0.429931640625\n".repeat(7));
}

/// All numbers as text are about 25 MB, and a pipe has 64 kB: the rest is not written, and the numbers are
/// not collected as texts before.
#[test]
fn a_large_tensor_ends_with_its_reader() {
    let folder = Folder::new("pipe");
    let path = folder.path("long.npy");
    fs::write(&path, npy(3_000_000)).unwrap();
    for option in ["--full", "--json"] {
        let mut command = treedef(&["select", "**", option, &path]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut start = [0; 100];
        let mut out = child.stdout.take().unwrap();
        out.read_exact(&mut start).unwrap();
        drop(out);
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr), (Some(0), vec![]), "{option}");
        assert!(String::from_utf8_lossy(&start).contains("[0.0,1.0,2.0,"), "{option}");
    }
}

#[test]
fn tensors_come_back_from_each_format_that_holds_them() {
    let folder = Folder::new("tensors");
    let original = recorded("model.safetensors");
    let mut from = original.clone();
    for name in ["a.npz", "b.safetensors", "c.tree", "d.npz", "e.tree", "f.safetensors"] {
        let to = folder.path(name);
        assert!(treedef(&["convert", &from, "-o", &to]).status().unwrap().success(), "{name}");
        let values = |file: &str| treedef(&["select", "**", file]).output().unwrap().stdout;
        assert_eq!(values(&original), values(&to), "{name}");
        assert!(!values(&to).is_empty());
        from = to;
    }
    let dtypes = treedef(&["diff", "--structure", &original, &from]).output().unwrap();
    assert_eq!((dtypes.status.code(), dtypes.stdout), (Some(0), vec![]));
}

#[test]
fn what_is_no_number_comes_back_from_safetensors() {
    let folder = Folder::new("rest");
    let (old, there, back) =
        (folder.path("old.json"), folder.path("x.safetensors"), folder.path("back.json"));
    let text =
        r#"{"a": ["x", null, true], "b": {"c.d": [[0.5], [1.5]], "e": []}, "f": [[1], [2, 3]]}"#;
    fs::write(&old, text).unwrap();
    for (from, to) in [(&old, &there), (&there, &back)] {
        let convert = treedef(&["convert", from, "-o", to]).output().unwrap();
        assert_eq!(String::from_utf8(convert.stderr).unwrap(), "");
    }
    let json = |path| -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    };
    assert_eq!(json(&back), json(&old));
}

#[test]
fn what_npz_does_not_hold_is_told() {
    let folder = Folder::new("npz");
    let old = folder.path("old.json");
    fs::write(&old, r#"{"a": [1, 2], "b": [], "c": {"1": [0.5], "x.y": 1}}"#).unwrap();
    let to = folder.path("new.npz");
    let convert = treedef(&["convert", &old, "-o", &to, "--json"]).output().unwrap();
    let told: serde_json::Value = serde_json::from_slice(&convert.stdout).unwrap();
    let lost = told["lost"]
        .as_array()
        .unwrap()
        .iter()
        .map(|loss| format!("{} → {} at {}", loss["what"], loss["became"], loss["first"]));
    let lost: Vec<String> = lost.collect();
    assert_eq!(lost, [r#""3 entries" → "2" at """#]);
}

#[test]
fn the_numbers_of_large_tensors_are_not_read_for_their_names() {
    let folder = Folder::new("sparse");
    let rows: u64 = 40_000_000;
    let size = rows * 256 * 2;
    let header =
        format!(r#"{{"w":{{"dtype":"BF16","shape":[{rows},256],"data_offsets":[0,{size}]}}}}"#);
    let length = u64::try_from(header.len()).unwrap();
    let path = folder.path("model.safetensors");
    let mut file = std::fs::File::create(&path).unwrap();
    file.write_all(&length.to_le_bytes()).unwrap();
    file.write_all(header.as_bytes()).unwrap();
    file.set_len(8 + length + size).unwrap(); // without blocks on the disk
    for args in [
        &["show", &path][..],
        &["fingerprint", &path],
        &["check", &path, "--like", &path],
        &["diff", "--structure", &path, &path],
    ] {
        let start = std::time::Instant::now();
        assert!(treedef(args).stdout(Stdio::null()).status().unwrap().success(), "{args:?}");
        // Reading 20 GB takes longer on any disk.
        assert!(start.elapsed().as_secs_f64() < 1.0, "{args:?}: {:?}", start.elapsed());
    }
    let summary = treedef(&["summary", &path]).output().unwrap();
    let said = String::from_utf8(summary.stderr).unwrap();
    let expected = format!(
        "treedef: {path}: more than 4,294,967,296 bytes, `--max-bytes` allows more; `show` and \
         `diff --structure` read only the headers\n"
    );
    assert_eq!(said, expected);
}

/// A file of safetensors, whose data is `w`, as many zeros as `zeros`, and `b`, two numbers.
#[cfg(target_os = "linux")]
fn sparse(path: &str, zeros: u64, numbers: [f32; 2], metadata: &str) {
    let size = zeros * 2;
    let header = format!(
        r#"{{"__metadata__":{metadata},"b":{{"dtype":"F32","shape":[2],"data_offsets":[{size},{}]}},"w":{{"dtype":"BF16","shape":[{zeros}],"data_offsets":[0,{size}]}}}}"#,
        size + 8
    );
    let length = u64::try_from(header.len()).unwrap();
    let mut file = std::fs::File::create(path).unwrap();
    file.write_all(&length.to_le_bytes()).unwrap();
    file.write_all(header.as_bytes()).unwrap();
    file.set_len(8 + length + size).unwrap(); // without blocks on the disk
    let mut file = std::fs::File::options().append(true).open(path).unwrap();
    numbers.iter().for_each(|number| file.write_all(&number.to_le_bytes()).unwrap());
}

#[cfg(target_os = "linux")]
#[test]
fn only_the_tensors_that_are_asked_for_are_read() {
    let folder = Folder::new("one");
    let path = folder.path("model.safetensors");
    sparse(&path, 10_000_000_000, [0.5, 1.5], "{}");
    let printed = |args: &[&str]| {
        let (code, out, said) =
            in_little_memory(&[&["select", args[0], &path], &args[1..]].concat());
        assert_eq!((code, &*said), (Some(0), ""), "{args:?}");
        out
    };
    assert_eq!(printed(&["b"]), ".b: [0.5,1.5]\n");
    assert_eq!(printed(&["b[1]"]), ".b[1]: 1.5\n");
    assert_eq!(printed(&["b", "--json"]), "{\"path\":\".b\",\"value\":[0.5,1.5]}\n");
    let no_match = in_little_memory(&["select", "c", &path]);
    let said = "no match: nothing in the document fits `.c`; there are `.b`, `.w`";
    assert_eq!(no_match, (Some(1), String::new(), format!("treedef: {path}: {said}\n")));
    assert_eq!(printed(&["w"]), ".w: bf16[10000000000] [0.0,0.0,0.0,…]\n");
    let (code, _, said) = in_little_memory(&["select", "w[7]", &path]);
    assert_eq!(code, Some(2));
    let expected =
        format!("treedef: {path}: more than 4,294,967,296 bytes, `--max-bytes` allows more\n");
    assert_eq!(said, expected);
}

/// A tensor that is read in pieces has the text of one that is read as a whole.
#[cfg(target_os = "linux")]
#[test]
fn large_tensors_are_printed_piece_by_piece() {
    let folder = Folder::new("pieces");
    for (kind, shape) in [("F32", "[300000]"), ("F16", "[60,50,200]"), ("I64", "[5,40000]")] {
        let size = match kind {
            "F16" => 2,
            "F32" => 4,
            _ => 8,
        };
        let dims: Vec<usize> = serde_json::from_str(shape).unwrap();
        let count: usize = dims.iter().product();
        let length = size * count;
        let header =
            format!(r#"{{"w":{{"dtype":"{kind}","shape":{shape},"data_offsets":[0,{length}]}}}}"#);
        let mut bytes = u64::try_from(header.len()).unwrap().to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        // The numbers are small and whole.
        bytes.extend((0..count).flat_map(|at| match size {
            2 => [0, 0x3c].to_vec(),
            4 => f32::from(u16::try_from(at % 1000).unwrap()).to_le_bytes().to_vec(),
            _ => i64::try_from(at).unwrap().to_le_bytes().to_vec(),
        }));
        let path = folder.path("w.safetensors");
        fs::write(&path, bytes).unwrap();
        let json: serde_json::Value =
            serde_json::from_str(&printed(&["select", "w", "--json", &path])).unwrap();
        let number = |at: usize| match size {
            2 => serde_json::json!(1.0),
            4 => serde_json::json!(f64::from(u16::try_from(at % 1000).unwrap())),
            _ => serde_json::json!(at),
        };
        assert_eq!(json["path"], ".w");
        let (mut rows, mut at) = (vec![&json["value"]], 0);
        for dim in &dims {
            assert!(rows.iter().all(|row| row.as_array().unwrap().len() == *dim), "{kind}");
            rows = rows.iter().flat_map(|row| row.as_array().unwrap()).collect();
        }
        for found in rows {
            assert_eq!(*found, number(at), "{kind} {at}");
            at += 1;
        }
        let full = printed(&["select", "w", "--full", &path]);
        assert_eq!(full, format!(".w: {}\n", json["value"]));
        let shortened = printed(&["select", "w", &path]);
        let expected = match size {
            2 => ".w: f16[60, 50, 200] [[[1.0,1.0,1.0,…],[1.0,1.0,1.0,…],[1.0,1.0,1.0,…],…],",
            4 => ".w: f32[300000] [0.0,1.0,2.0,…]\n",
            _ => ".w: i64[5, 40000] [[0,1,2,…],[40000,40001,40002,…],[80000,80001,80002,…],…]\n",
        };
        assert!(shortened.starts_with(expected), "{shortened}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn only_the_tensors_that_differ_are_decoded() {
    let folder = Folder::new("differ");
    let [a, b, c] = ["a", "b", "c"].map(|name| folder.path(&format!("{name}.safetensors")));
    sparse(&a, 100_000_000, [0.5, 1.5], r#"{"format":"pt","step":"1"}"#);
    sparse(&b, 100_000_000, [0.5, 2.5], r#"{"format":"np","epoch":"2"}"#);
    sparse(&c, 100_000_001, [0.5, 1.5], r#"{"format":"pt","step":"1"}"#);
    assert_eq!(in_little_memory(&["diff", &a, &a]), (Some(0), String::new(), String::new()));
    let expected = "\
~ metadata \"format\": \"pt\" → \"np\"
- metadata \"step\": \"1\"
+ metadata \"epoch\": \"2\"
~ .b: f32[2]: 1 of 2 numbers differ, most at [1]: 1.5 → 2.5
";
    assert_eq!(in_little_memory(&["diff", &a, &b]), (Some(1), expected.to_owned(), String::new()));
    let (_, json, _) = in_little_memory(&["diff", &a, &b, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["metadata"], "format");
    assert_eq!(json[3]["numbers"], serde_json::json!({"count": 1, "of": 2}));
    let expected = "~ .w: bf16[100000000] → bf16[100000001]\n";
    assert_eq!(in_little_memory(&["diff", &a, &c]), (Some(1), expected.to_owned(), String::new()));
}

#[test]
fn a_page_of_tensors_has_shapes_and_counts() {
    let page = printed(&["view", &recorded("model.safetensors")]);
    assert!(page.contains("\"{weight: f32[2, 4]}\""), "{page}");
    assert!(page.contains("5 tensors, 22 parameters\""), "{page}");
}

/// A file with one tensor.
fn one_tensor(path: &str, tensor: &str, bytes: &[u8]) {
    let header = format!("{{\"w\":{tensor}}}");
    let length = u64::try_from(header.len()).unwrap().to_le_bytes();
    fs::write(path, [&length, header.as_bytes(), bytes].concat()).unwrap();
}

/// A name may have characters that a line or a pattern uses for something else.
#[test]
fn suggested_names_are_read_back() {
    let folder = Folder::new("suggested");
    let [old, new, renames] =
        ["old.safetensors", "new.safetensors", "renames.txt"].map(|name| folder.path(name));
    let file = |path: &str, name: &str| {
        let tensor = r#"{"dtype":"U8","shape":[1],"data_offsets":[0,1]}"#;
        let header = format!("{{{}:{tensor}}}", serde_json::Value::from(name));
        let length = u64::try_from(header.len()).unwrap().to_le_bytes();
        fs::write(path, [&length, header.as_bytes(), &[1]].concat()).unwrap();
    };
    for name in [
        "a#b", "c d.w", "it's", "p*q", "{x}", "*", "h.*.3.w", "x[0]", "\"y\"", "a\\b", "--rename",
        "é.0.w", "f..g", ".h", "[", "i.", "{a,b}", "#", "**",
    ] {
        file(&old, name);
        file(&new, &format!("new {name}"));
        let lines = printed(&["diff", "--suggest", &old, &new]);
        fs::write(&renames, &lines).unwrap();
        assert_eq!(printed(&["diff", "--renames", &renames, &old, &new]), "", "{lines}");
        // Each as an argument.
        let json = printed(&["diff", "--suggest", "--json", &old, &new]);
        let pairs: serde_json::Value = serde_json::from_str(&json).unwrap();
        let [from, to] = ["from", "to"].map(|key| pairs[0][key].as_str().unwrap());
        assert_eq!(printed(&["diff", "--rename", from, to, &old, &new]), "", "{from} {to}");
    }
    for name in ["t\tb", "a`b", ""] {
        file(&old, name);
        file(&new, "x");
        let output = treedef(&["diff", "--suggest", &old, &new]).output().unwrap();
        assert_eq!(output.stdout, b"", "{name}");
        let told = String::from_utf8(output.stderr).unwrap();
        let shown = name.escape_debug();
        let or = "or a name that no line can have";
        let expected =
            format!("treedef: no other name of the same shapes, {or}:\n- {shown}\n+ x\n");
        assert_eq!(told, expected);
    }
}

/// No leaf is an empty tensor, and it has a type and a shape.
#[test]
fn empty_tensors_are_in_a_page() {
    let folder = Folder::new("empty");
    let [old, new] = ["old", "new"].map(|name| folder.path(&format!("{name}.safetensors")));
    one_tensor(&old, r#"{"dtype":"F32","shape":[0,3],"data_offsets":[0,0]}"#, b"");
    one_tensor(&new, r#"{"dtype":"I32","shape":[0,4],"data_offsets":[0,0]}"#, b"");
    assert_eq!(printed(&["diff", &old, &new]), "~ .w: f32[0, 3] → i32[0, 4]\n");
    let page = printed(&["view", &old, &new]);
    assert!(page.contains(r#""note":"f32[0, 3] → i32[0, 4]""#), "{page}");
    assert!(page.contains(r#""{w: f32[0, 3]}""#), "{page}");
}

#[test]
fn another_type_of_the_same_numbers_is_told() {
    let folder = Folder::new("types");
    let [old, new] = ["old", "new"].map(|name| folder.path(&format!("{name}.safetensors")));
    one_tensor(&old, r#"{"dtype":"F32","shape":[2],"data_offsets":[0,8]}"#, &[0; 8]);
    one_tensor(&new, r#"{"dtype":"F64","shape":[2],"data_offsets":[0,16]}"#, &[0; 16]);
    let page = printed(&["view", &old, &new]);
    let note = r#""note":"f32[2] [0.0, 0.0] → f64[2] [0.0, 0.0]""#;
    assert!(page.contains(note), "{page}");
    let [old, new] = [old, new].map(|from| {
        let to = from.replace(".safetensors", ".tree");
        assert!(treedef(&["convert", &from, "-o", &to]).status().unwrap().success());
        to
    });
    let line = "~ .w: f32[2] [0.0, 0.0] → f64[2] [0.0, 0.0]\n";
    assert_eq!(printed(&["diff", &old, &new]), line);
    assert_eq!(printed(&["diff", &old, &new, "--atol", "1"]), line);
}

#[test]
fn a_page_of_kinds_has_no_texts() {
    let output = fed(&["view", "-", "--format", "treedef"], br#"{"a": u8, "b": [str]}"#);
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(page.contains(r#"5,"u8""#) && !page.contains(r#"\"u8\""#), "{page}");
}

/// A file that the command wrote has its structure, and the values that are not numbers, in the metadata.
#[test]
fn files_with_a_structure_are_compared_by_it() {
    let folder = Folder::new("structured");
    let mut files = Vec::new();
    for (name, text) in
        [("a", r#"{"w": [1.5, 2.5], "n": "x"}"#), ("b", r#"{"w": [1.5, 3.5], "n": "y"}"#)]
    {
        let [json, tensors] =
            ["json", "safetensors"].map(|format| folder.path(&format!("{name}.{format}")));
        fs::write(&json, text).unwrap();
        assert!(treedef(&["convert", &json, "-o", &tensors]).status().unwrap().success());
        files.push(tensors);
    }
    let [a, b] = &files[..] else { panic!("two files") };
    assert_eq!(printed(&["diff", a, a]), "");
    assert_eq!(printed(&["diff", a, a, "--json"]), "[]\n");
    let expected =
        "~ .n: \"x\" → \"y\"\n~ .w: f64[2]: 1 of 2 numbers differ, most at [1]: 2.5 → 3.5\n";
    assert_eq!(printed(&["diff", a, b]), expected);
    let piped = fed(&["diff", a, "-", "--format", "safetensors"], &std::fs::read(b).unwrap());
    assert_eq!(String::from_utf8(piped.stdout).unwrap(), expected);
    assert_eq!(printed(&["select", "n", a]), ".n: \"x\"\n");
}

/// A file that Python wrote again has the tensors, but not the structure in the metadata.
#[test]
fn a_file_with_a_structure_is_compared_with_one_without() {
    let folder = Folder::new("half_structured");
    let [json, ours, plain] =
        ["a.json", "a.safetensors", "b.safetensors"].map(|name| folder.path(name));
    fs::write(&json, r#"{"l": [{"w": [1.5, 2.5]}, {"w": [0.5, 3.5]}]}"#).unwrap();
    assert!(treedef(&["convert", &json, "-o", &ours]).status().unwrap().success());
    let bytes = fs::read(&ours).unwrap();
    let (length, rest) = bytes.split_first_chunk::<8>().unwrap();
    let (header, numbers) = rest.split_at(usize::try_from(u64::from_le_bytes(*length)).unwrap());
    let mut header: serde_json::Value = serde_json::from_slice(header).unwrap();
    assert!(header.as_object_mut().unwrap().remove("__metadata__").is_some());
    let header = header.to_string();
    let length = u64::try_from(header.len()).unwrap().to_le_bytes();
    let mut bytes = [&length, header.as_bytes(), numbers].concat();
    fs::write(&plain, &bytes).unwrap();
    assert_eq!(printed(&["diff", &ours, &plain]), "");
    assert_eq!(printed(&["diff", &plain, &ours, "--json"]), "[]\n");

    let last = bytes.len() - 8..;
    bytes.get_mut(last).unwrap().copy_from_slice(&7.0f64.to_le_bytes());
    fs::write(&plain, &bytes).unwrap();
    let changed = "~ .l[1].w: f64[2]: 1 of 2 numbers differ, most at [1]: 3.5 → 7.0\n";
    assert_eq!(printed(&["diff", &ours, &plain]), changed);
}

/// Only the header of a pipe is read, too: the rest may be cut off.
#[test]
fn the_header_of_a_pipe_is_shown() {
    let file = std::fs::read(recorded("model.safetensors")).unwrap();
    let shown = printed(&["show", &recorded("model.safetensors")]);
    let (_, shown) = shown.split_once('\n').unwrap();
    for input in [&file[..], &file[..file.len() - 70]] {
        let output = fed(&["show", "--format", "safetensors"], input);
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.split_once('\n').unwrap().1, shown);
    }
    let output = fed(&["show", "--format", "safetensors"], &file[..20]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, "treedef: standard input: the file ends inside its header at byte 20\n");
}

/// In a file of the library, parts that are damaged or beyond the limit are not read.
#[test]
fn only_the_parts_of_saved_trees_that_are_asked_for_are_read() {
    let folder = Folder::new("large_saved");
    let [json, tree] = ["a.json", "a.tree"].map(|name| folder.path(name));
    let zeros = vec!["0.5"; 200_000].join(",");
    fs::write(&json, format!(r#"{{"a": [{zeros}], "b": ["x"], "z": [1, 2]}}"#)).unwrap();
    assert!(treedef(&["convert", &json, "-o", &tree]).status().unwrap().success());
    let mut bytes = fs::read(&tree).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&tree, &bytes).unwrap();
    let select = |pattern: &str| {
        let output = treedef(&["select", "--max-bytes", "1MB", pattern, &tree]).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap().replace(&folder.path(""), "");
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let found = ".a[9]: 0.5\n.a[131000]: 0.5\n".to_owned();
    for (pattern, expected) in [("a[9]", &found[..11]), ("a[131000]", &found[11..])] {
        assert_eq!(select(pattern), (Some(0), expected.to_owned(), String::new()));
    }
    let (code, _, said) = select("z");
    let damage = "treedef: a.tree: damage in leaves 196608 to 200002, `.a[196608]` to `.z[1]`: the checksum does not match\n";
    assert_eq!((code, said.as_str()), (Some(2), damage));
    let (code, _, said) = select("zz");
    let nothing = "treedef: a.tree: no node matches `.zz` (did you mean `.z`?)\n";
    assert_eq!((code, said.as_str()), (Some(2), nothing));
}

/// A part of a file of the library equals the same part of the document.
#[test]
fn parts_of_saved_trees_are_selected() {
    let folder = Folder::new("saved");
    let [json, tree, safe] = ["a.json", "a.tree", "a.safetensors"].map(|name| folder.path(name));
    fs::write(&json, r#"{"net": [{"w": [1.5, 2.5], "name": "in"}, {"w": [0.5]}]}"#).unwrap();
    for made in [&tree, &safe] {
        let output = treedef(&["convert", &json, "-o", made]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    for pattern in ["net[0].name", "net[1]", "**.w[0]", "net[0]"] {
        let expected = printed(&["select", pattern, &json]);
        assert!(!expected.is_empty(), "{pattern}");
        assert_eq!(printed(&["select", pattern, &tree]), expected, "{pattern}");
        // Numbers of one list are one tensor there.
        if pattern != "net[1]" && pattern != "net[0]" {
            assert_eq!(printed(&["select", pattern, &safe]), expected, "{pattern}");
        }
    }
}

/// Without a tolerance, bytes that differ are a difference.
#[test]
fn zeros_of_two_signs_differ() {
    let folder = Folder::new("signs");
    let file = |name: &str, number: f32| {
        let header = r#"{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}  "#;
        let length = u64::try_from(header.len()).unwrap().to_le_bytes();
        let path = folder.path(name);
        let bytes = [&length[..], header.as_bytes(), &number.to_le_bytes()].concat();
        fs::write(&path, bytes).unwrap();
        path
    };
    let (old, new) = (file("a.safetensors", 0.0), file("b.safetensors", -0.0));
    let output = treedef(&["diff", &old, &new]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("~ .w: f32[1]: 1 of 1 number differs, most at [0]: 0.0 → -0.0"),
        "{text}"
    );
    let close = treedef(&["diff", &old, &new, "--atol", "1e-9"]).output().unwrap();
    assert_eq!(close.status.code(), Some(0));
}

/// `l.2` is `l[2]`, whether or not the file has `l.0` and `l.1`, as it has for a stage of a pipeline.
#[test]
fn numbers_in_names_are_indices_with_and_without_a_gap() {
    let folder = Folder::new("gaps");
    let save = |name: &str, tensors: &[(&str, u8)]| {
        let tensor = |&(name, byte): &(&str, u8)| {
            (name.to_owned(), Tensor::new(Dtype::U8, vec![1], vec![byte]).unwrap())
        };
        let tensors = Tensors::new(tensors.iter().map(tensor)).unwrap();
        safetensors::save(&tensors, folder.path(name)).unwrap();
        folder.path(name)
    };
    let old = save("old.safetensors", &[("l.1.w", 1), ("l.2.w", 2), ("l.10.w", 3), ("b", 4)]);
    let new = save("new.safetensors", &[("l.1.w", 1), ("l.2.w", 7), ("l.10.w", 3), ("b", 4)]);
    let whole = save("whole.safetensors", &[("l.0.w", 1), ("l.1.w", 1), ("l.2.w", 2), ("b", 4)]);
    let change = "~ .l[2].w: u8[1]: 1 of 1 number differs, most at [0]: 2 → 7\n";
    for options in [&[][..], &["--only", "l[2].w"], &["--only", "l[1:3]"], &["--only", "l[*].w"]] {
        assert_eq!(printed(&[&["diff", &old, &new], options].concat()), change, "{options:?}");
    }
    assert_eq!(printed(&["diff", "--at", "l[2]", &old, &new]), change.replace(".l[2]", ""));
    let is_equal = |args: &[&str]| {
        let output = treedef(args).output().unwrap();
        (output.status.code(), output.stdout) == (Some(0), Vec::new())
    };
    for part in [["--only", "l[2].w"], ["--at", "l[2]"], ["--only", "l[2:9]"]] {
        assert!(is_equal(&[&["diff", &whole, &old], &part[..]].concat()), "{part:?}");
    }
    assert!(is_equal(&["check", &whole, "--like", &old, "--at", "l[2]"]));
    assert_eq!(printed(&["diff", &whole, &old]), "- .l[0].w: u8[1]\n+ .l[10].w: u8[1]\n");
    assert_eq!(printed(&["select", "l[2:]", &old]), ".l[2].w: [2]\n.l[10].w: [3]\n");
    let missed = treedef(&["diff", "--only", "l[3]", &old, &new]).output().unwrap();
    assert_eq!(missed.status.code(), Some(2));
    assert_eq!(
        String::from_utf8(missed.stderr).unwrap(),
        "treedef: `--only`: no match: nothing in `.l` fits `[3]`; there are `[1]`, `[2]`, `[10]`\n"
    );
    // A document has the names themselves, and nothing is lost.
    let json = folder.path("old.json");
    let converted = treedef(&["convert", &old, "-o", &json]).output().unwrap();
    let said = String::from_utf8(converted.stderr).unwrap();
    assert!(!said.contains("key"), "{said}");
    assert_eq!(printed(&["select", "l[\"2\"].w", &json]), ".l[\"2\"].w[0]: 2\n");
    let patch = folder.path("p.json");
    fs::write(&patch, printed(&["diff", "--patch", &old, &new])).unwrap();
    let patched = folder.path("patched.safetensors");
    assert!(is_equal(&["apply", &old, &patch, "-o", &patched]));
    assert!(is_equal(&["diff", &patched, &new]));
}

/// npz has a tied tensor once for each name, and nothing is lost there.
#[test]
fn a_tie_is_no_difference_to_a_format_without_ties() {
    let folder = Folder::new("ties");
    let [tied, plain] = ["tied.safetensors", "plain.npz"].map(|name| folder.path(name));
    let tensor = |byte| Tensor::new(Dtype::U8, vec![1], vec![byte]).unwrap();
    let tensors = [("a.w".to_owned(), tensor(1)), ("b".to_owned(), tensor(2))];
    let tensors = Tensors::new(tensors).unwrap().with_metadata("head", "a.w");
    safetensors::save(&tensors, &tied).unwrap();
    let strict = treedef(&["convert", "--strict", &tied, "-o", &plain]).output().unwrap();
    assert_eq!(strict.status.code(), Some(0));
    for options in [&[][..], &["--structure"], &["--at", "head"], &["--only", "head"]] {
        for files in [[&tied, &plain], [&plain, &tied]] {
            let args = [&["diff", files[0], files[1]], options].concat();
            let output = treedef(&args).output().unwrap();
            assert_eq!((output.status.code(), output.stdout), (Some(0), vec![]), "{args:?}");
        }
    }
    for files in [[&tied, &plain], [&plain, &tied]] {
        let checked = treedef(&["check", files[0], "--like", files[1]]).output().unwrap();
        assert_eq!((checked.status.code(), checked.stdout), (Some(0), vec![]), "{files:?}");
    }
    let tensors = [("a.w".to_owned(), tensor(1)), ("b".to_owned(), tensor(2))];
    safetensors::save(&Tensors::new(tensors).unwrap(), &tied).unwrap();
    assert_eq!(printed(&["diff", &tied, &plain]), "+ .head: u8[1]\n");
    let checked = treedef(&["check", &plain, "--like", &tied]).output().unwrap();
    assert_eq!(checked.status.code(), Some(1));
}
