//! Copies of tensors in other formats: their content, and messages about missing parts.

use std::fs;

use treedef_tensors::{Dtype, Tensor, Tensors, npz, safetensors};

use crate::damage::{SOUND, pytorch, run};
use crate::{Folder, printed};

fn tensors(all: &[(&str, Dtype, &[usize], &[u8])]) -> Tensors<'static> {
    let tensor = |(name, dtype, shape, bytes): &(&str, Dtype, &[usize], &[u8])| {
        ((*name).to_owned(), Tensor::new(*dtype, shape.to_vec(), bytes.to_vec()).unwrap())
    };
    Tensors::new(all.iter().map(tensor)).unwrap()
}

/// A patch, which has the numbers as texts, preserves each bit of a NaN.
#[test]
fn signalling_nans_stay_what_they_are() {
    let folder = Folder::new("nans");
    let words = |words: &[u32]| words.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<u8>>();
    let nans = [0x7f80_0001, 0, 0xffa1_2345, 0x7fc0_0000];
    let (one, other) = (words(&nans), words(&[0x7f80_0001, 0x3f80_0000, 0xffa1_2345, 0x7fc0_0000]));
    let wide = words(&[1, 0x7ff0_0000, 0, 0, 5, 0xfff0_0000, 0, 0x3ff0_0000]);
    let old = tensors(&[("c", Dtype::C64, &[2], &one), ("f", Dtype::F32, &[4], &one)]);
    let new = [
        ("c", Dtype::C64, &[2][..], &*other),
        ("d", Dtype::C128, &[2], &wide),
        ("f", Dtype::F32, &[4], &other),
        ("s", Dtype::C64, &[], &other[..8]),
    ];
    let new = tensors(&new);
    let at = |name: &str| folder.path(name);
    npz::save(&old, at("old.npz")).unwrap();
    npz::save(&new, at("new.npz")).unwrap();
    let patch = run(&["diff", "--patch", &at("old.npz"), &at("new.npz")]).1;
    fs::write(at("patch.json"), patch).unwrap();
    printed(&["apply", &at("old.npz"), &at("patch.json"), "-o", &at("out.npz")]);
    let out = fs::read(at("out.npz")).unwrap();
    let out = npz::from_bytes(&out).unwrap().read().unwrap();
    let sorted = |tensors: &Tensors<'_>| {
        let tensors =
            tensors.iter().map(|(name, it)| (name.to_owned(), format!("{:x?}", it.bytes())));
        tensors.collect::<std::collections::BTreeMap<_, _>>()
    };
    assert_eq!(sorted(&out), sorted(&new));
}

/// A number is a tensor where the file has values that are none, too.
#[test]
fn a_patch_adds_tensors_without_dimensions() {
    let folder = Folder::new("scalars");
    let at = |name: &str| folder.path(name);
    fs::write(at("old.pt"), pytorch(SOUND)).unwrap();
    let five = 5.0_f32.to_le_bytes();
    let new = tensors(&[("s", Dtype::F32, &[], &five), ("w", Dtype::F32, &[4], &[0; 16])]);
    let new = new.with_metadata("format", "pt");
    safetensors::save(&new, at("new.safetensors")).unwrap();
    let (_, patch, _) = run(&["diff", "--patch", &at("old.pt"), &at("new.safetensors")]);
    fs::write(at("patch.json"), patch).unwrap();
    // The same tensors without the value.
    let args = ["convert", &at("old.pt"), "-o", &at("old.safetensors")];
    assert_eq!(run(&args).0, Some(0));
    for old in ["old.pt", "old.safetensors"] {
        let args = ["apply", &at(old), &at("patch.json"), "-o", &at("out.safetensors")];
        let (code, _, told) = run(&args);
        assert_eq!(code, Some(0), "{told}");
        assert_eq!(told.contains("`epoch`, which is not a tensor"), old == "old.pt", "{told}");
        assert_eq!(printed(&["diff", &at("new.safetensors"), &at("out.safetensors")]), "");
    }
}

#[test]
fn tied_tensors_are_in_npz_under_each_name() {
    let folder = Folder::new("npz_ties");
    let at = |name: &str| folder.path(name);
    let old = tensors(&[("emb", Dtype::U8, &[2], &[1, 2])]).with_metadata("head", "emb");
    safetensors::save(&old, at("old.safetensors")).unwrap();
    for options in [&[][..], &["--separate"]] {
        let args = ["convert", &at("old.safetensors"), "-o", &at("new.npz")];
        assert_eq!(run(&[&args, options].concat()), (Some(0), String::new(), String::new()));
        assert_eq!(printed(&["select", "**", &at("new.npz")]), ".emb: [1,2]\n.head: [1,2]\n");
    }
    // So many names that they are more than the file has bytes for.
    let names = (0..100).map(|at| (format!("head{at}"), "emb"));
    let many = names.fold(old, |tensors, (key, of)| tensors.with_metadata(key, of));
    safetensors::save(&many, at("many.safetensors")).unwrap();
    let (code, _, told) = run(&["convert", &at("many.safetensors"), "-o", &at("many.npz")]);
    assert_eq!(code, Some(2));
    assert!(told.contains("more than 64 times those of the tensors"), "{told}");
}

/// The rest of a file whose tensors have unknown types is not a document.
#[test]
fn nothing_is_no_copy() {
    let folder = Folder::new("nothing");
    let at = |name: &str| folder.path(name);
    let header = "{'descr': '<f16', 'fortran_order': False, 'shape': (2,), }";
    let header = format!("{header:117}\n");
    let start = [b"\x93NUMPY\x01\0\x76\0", header.as_bytes()].concat();
    fs::write(at("x.npy"), [&start[..], &[0; 32]].concat()).unwrap();
    assert!(printed(&["show", &at("x.npy")]).ends_with("float128[2]\n"));
    for (to, why) in [
        ("x.json", "nothing of it is read: the array, float128[2]: "),
        ("x.safetensors", "safetensors has no type for the array, float128[2]\n"),
    ] {
        let (code, _, told) = run(&["convert", &at("x.npy"), "-o", &at(to)]);
        assert_eq!(code, Some(2));
        assert!(told.contains(why), "{told}");
        assert!(!fs::exists(at(to)).unwrap());
    }
    let told = run(&["select", "**", &at("x.npy")]).2;
    assert!(told.contains("x.npy: the array is float128[2], "), "{told}");
}

/// Values without a leaf are reported, or kept as in JSON.
#[test]
fn what_is_empty_is_no_silent_loss() {
    let folder = Folder::new("empties");
    let at = |name: &str| folder.path(name);
    // `None` in the place of 7.
    let mut bytes = pytorch(SOUND);
    let place = bytes.windows(2).position(|two| two == b"K\x07").unwrap();
    bytes.splice(place..place + 2, *b"N");
    fs::write(at("x.pt"), bytes).unwrap();
    let args = ["convert", &at("x.pt"), "-o", &at("x.safetensors")];
    let (code, _, told) = run(&args);
    assert_eq!(code, Some(0));
    assert!(
        told.contains("not kept in safetensors: leaves that are not tensors, `epoch` ("),
        "{told}"
    );
    assert_eq!(run(&[&args[..], &["--strict"]].concat()).0, Some(2));
    assert_eq!(run(&[&args[..], &["--keep-values", "--strict"]].concat()).0, Some(0));
    let source = safetensors::open(at("x.safetensors")).unwrap();
    assert_eq!(source.metadata("epoch"), Some("null"));
}
