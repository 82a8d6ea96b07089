//! Tensors beside documents of the same numbers.

use std::fs;

use crate::damage::run;
use crate::{Folder, fed, printed};

/// A file of safetensors: the name, the type, the shape and the bytes of each tensor.
fn tensors(path: &str, all: &[(&str, &str, &[usize], &[u8])]) {
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    for (name, dtype, shape, bytes) in all {
        let offsets = [data.len(), data.len() + bytes.len()];
        let stored = serde_json::json!({"dtype": dtype, "shape": shape, "data_offsets": offsets});
        header.insert((*name).to_owned(), stored);
        data.extend(*bytes);
    }
    let header = serde_json::to_string(&header).unwrap();
    let length = u64::try_from(header.len()).unwrap().to_le_bytes();
    fs::write(path, [&length, header.as_bytes(), &data].concat()).unwrap();
}

fn bytes_of<const N: usize>(numbers: [f32; N]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// JSON has null for each of them, and the text for people has their names.
#[test]
fn numbers_that_are_not_finite_have_their_names_in_a_text() {
    let text = b"a: .nan\nb: .inf\nc: [-.inf, null, 'NaN']\n";
    let selected = |args: &[&str]| {
        String::from_utf8(fed(&[&["select", "**", "-f", "yaml"], args].concat(), text).stdout)
    };
    let expected = ".a: NaN\n.b: inf\n.c[0]: -inf\n.c[1]: null\n.c[2]: \"NaN\"\n";
    assert_eq!(selected(&[]).unwrap(), expected);
    assert_eq!(selected(&["--json"]).unwrap().matches("\"value\":null").count(), 4);

    let folder = Folder::new("infinite");
    let file = folder.path("a.safetensors");
    let nan = bytes_of([1.0, f32::NAN, f32::NEG_INFINITY]);
    let long = bytes_of([f32::INFINITY; 200]);
    let (halves, complex) = ([0x80, 0x3f, 0xc0, 0x7f], bytes_of([f32::NAN, 1.0]));
    tensors(
        &file,
        &[
            ("c", "C64", &[1], &complex),
            ("h", "BF16", &[2], &halves),
            ("l", "F32", &[200], &long),
            ("w", "F32", &[3], &nan),
        ],
    );
    let expected = ".c: [{\"re\":NaN,\"im\":1.0}]\n.h: [1.0,NaN]\n.l: f32[200] [inf,inf,inf,…]\n.w: [1.0,NaN,-inf]\n";
    assert_eq!(printed(&["select", "**", &file]), expected);
    assert_eq!(printed(&["select", "w[1]", &file]), ".w[1]: NaN\n");
    let json = printed(&["select", "{h,w}", "--json", &file]);
    assert_eq!(json, printed(&["select", "{h,w}", "--json", &file]).replace("NaN", "null"));
}

/// The next number of a half float is one step away.
#[test]
fn steps_are_steps_of_the_type_of_the_tensor() {
    let folder = Folder::new("ulps");
    let [old, new] = ["old.safetensors", "new.safetensors"].map(|name| folder.path(name));
    // 1.0 and the third number after it, the smallest number of both signs, NaN
    for (dtype, one) in [("BF16", 0x3f80_u16), ("F16", 0x3c00)] {
        let bytes =
            |bits: [u16; 2]| bits.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<_>>();
        for (a, b, steps) in [([one, 1], [one + 3, 1], 3), ([one, 1], [one, 0x8001], 2)] {
            tensors(&old, &[("w", dtype, &[2], &bytes(a))]);
            tensors(&new, &[("w", dtype, &[2], &bytes(b))]);
            let code = |ulps: u32| run(&["diff", "--ulps", &ulps.to_string(), &old, &new]).0;
            assert_eq!([code(steps - 1), code(steps)], [Some(1), Some(0)], "{dtype} {a:x?}");
        }
        tensors(&old, &[("w", dtype, &[2], &bytes([one, 0x7fff]))]);
        tensors(&new, &[("w", dtype, &[2], &bytes([one, 1]))]);
        assert_eq!(run(&["diff", "--ulps", "9", &old, &new]).0, Some(1), "{dtype}");
    }
}

/// A patch of the numbers of a tree applies to the tensors they came from, also to one without dimensions.
#[test]
fn a_patch_of_numbers_applies_to_tensors() {
    let folder = Folder::new("scalar");
    let [old, new, made] =
        ["old", "new", "made"].map(|it| folder.path(&format!("{it}.safetensors")));
    let [a, b, patch] = ["a.tree", "b.tree", "p.json"].map(|it| folder.path(it));
    for (file, tree, number) in [(&old, &a, 1.5_f64), (&new, &b, 2.5)] {
        let w = bytes_of([1.0, 2.0]);
        tensors(file, &[("s", "F64", &[], &number.to_le_bytes()), ("w", "F32", &[2], &w)]);
        assert_eq!(run(&["convert", file, "-o", tree]).0, Some(0));
    }
    fs::write(&patch, printed(&["diff", "--patch", &a, &b])).unwrap();
    let applied = run(&["apply", &old, &patch, "-o", &made]);
    assert_eq!(applied, (Some(0), String::new(), String::new()));
    assert_eq!(run(&["diff", &made, &new]), (Some(0), String::new(), String::new()));
    // The patch of the tensors applies to the numbers.
    fs::write(&patch, printed(&["diff", "--patch", &old, &new])).unwrap();
    assert_eq!(run(&["apply", &a, &patch, "-o", &a]), (Some(0), String::new(), String::new()));
    assert_eq!(run(&["diff", &a, &b]), (Some(0), String::new(), String::new()));
}

/// The number of a half float has the path of its element.
#[cfg(feature = "schema")]
#[test]
fn a_half_float_that_json_does_not_have_is_at_a_path_that_select_reads() {
    let folder = Folder::new("half_path");
    let [file, schema] = ["a.safetensors", "s.json"].map(|name| folder.path(name));
    tensors(&file, &[("h", "BF16", &[2], &[0x80, 0x3f, 0xc0, 0x7f])]);
    fs::write(&schema, "{}").unwrap();
    let (_, found, _) = run(&["check", "--schema", &schema, &file]);
    assert!(found.contains(": .h[1]: JSON cannot hold it"), "{found}");
}

/// A tree and the tensors it was made from have one structure, whichever is expected.
#[test]
fn tensors_are_like_the_tree_of_their_numbers() {
    let folder = Folder::new("like");
    let [file, other, tree] =
        ["a.safetensors", "b.safetensors", "a.tree"].map(|it| folder.path(it));
    let all = |dtype| -> [(&str, &str, &[usize], &[u8]); 4] {
        [
            ("e", "F32", &[0, 3], &[]),
            ("h", dtype, &[1, 2], &[0x80, 0x3f, 0xc0, 0x7f]),
            ("o", dtype, &[], &[0x80, 0x3f]),
            ("s", "F32", &[], &[0; 4]),
        ]
    };
    tensors(&file, &all("BF16"));
    tensors(&other, &all("F16"));
    assert_eq!(run(&["convert", &file, "-o", &tree]).0, Some(0));
    let count = |found: &str, like: &str| run(&["check", found, "--like", like]).1.lines().count();
    assert_eq!([count(&tree, &file), count(&file, &tree)], [0, 0]);
    assert_eq!([count(&tree, &other), count(&other, &tree)], [2, 2]);
}

/// A page has the changes that `diff` prints.
#[test]
fn a_page_of_equal_documents_has_no_changes() {
    let folder = Folder::new("page_equal");
    let json = folder.path("a.json");
    fs::write(&json, r#"{"l": [1, -2, 1.5, null, 1e400], "s": {"t": "x"}}"#).unwrap();
    let file = folder.path("t.safetensors");
    tensors(&file, &[("h", "BF16", &[2], &[0x81, 0x3f, 0, 0x40]), ("s", "F64", &[], &[0; 8])]);
    for (old, formats) in [(&json, &["ron", "yaml"][..]), (&file, &["tree", "yaml", "cbor", "npz"])]
    {
        for format in formats {
            let new = folder.path(&format!("new.{format}"));
            assert_eq!(run(&["convert", old, "-o", &new]).0, Some(0), "{format}");
            assert_eq!(run(&["diff", old, &new]).1, "", "{format}");
            let page = folder.path("page.html");
            let report = printed(&["view", "--json", "-o", &page, old, &new]);
            assert!(report.contains("\"changes\": 0"), "{format}: {report}");
        }
    }
    let other = folder.path("other.ron");
    fs::write(&other, "(l: [1, -2, 1.5, (), 1e399], s: (t: \"y\"))").unwrap();
    let report = printed(&["view", "--json", "-o", &folder.path("page.html"), &json, &other]);
    assert!(report.contains("\"changes\": 2"), "{report}");
    let spelled = folder.path("spelled.json");
    fs::write(&spelled, r#"{"l": [1, -2, 1.5, null, 10e399], "s": {"t": "x"}}"#).unwrap();
    let report = printed(&["view", "--json", "-o", &folder.path("page.html"), &json, &spelled]);
    assert!(report.contains("\"changes\": 0"), "{report}");
}
