//! The metadata of files of tensors.

use std::fs;

use treedef_tensors::{Tensors, safetensors};

use crate::{Folder, printed, treedef};

/// Only the keys of the library are about the structure, but all of them.
#[test]
fn metadata_of_the_structure_is_told_from_that_of_users() {
    let folder = Folder::new("keys");
    let [json, ours, other, plain, patch, made] =
        ["a.json", "a.safetensors", "b.safetensors", "c.safetensors", "p.json", "d.safetensors"]
            .map(|name| folder.path(name));
    fs::write(&json, r#"{"w": [1.5, 2.5]}"#).unwrap();
    assert!(treedef(&["convert", &json, "-o", &ours]).status().unwrap().success());
    let bytes = fs::read(&ours).unwrap();
    let tensors = safetensors::from_bytes(&bytes).unwrap().read().unwrap();
    let write = |path: &str, keys: &[&str]| {
        let with = |tensors: Tensors<'static>, key: &&str| tensors.with_metadata(*key, "[]");
        let tensors = keys.iter().fold(tensors.clone().into_owned(), with);
        safetensors::save(&tensors, path).unwrap();
    };
    write(&other, &["treedef.matrices"]);
    assert_eq!(printed(&["diff", &ours, &other]), "");
    write(&other, &["treedef.matrices", "treedef.x"]);
    assert_eq!(printed(&["diff", &ours, &other]), "+ metadata \"treedef.x\": \"[]\"\n");

    // Also if one of them has no structure.
    let numbers = tensors.iter().map(|(name, tensor)| (name.to_owned(), tensor.clone()));
    safetensors::save(&Tensors::new(numbers).unwrap(), &plain).unwrap();
    let lines = "- metadata \"treedef.x\": \"[]\"\n";
    assert_eq!(printed(&["diff", &other, &plain]), lines);

    // A user's key survives a patch.
    fs::write(&patch, r#"{"changes": []}"#).unwrap();
    let apply = treedef(&["apply", &other, &patch, "-o", &made]).output().unwrap();
    assert_eq!((apply.status.code(), apply.stderr), (Some(0), vec![]));
    let bytes = fs::read(&made).unwrap();
    let tensors = safetensors::from_bytes(&bytes).unwrap().read().unwrap();
    assert_eq!(tensors.metadata("treedef.x"), Some("[]"));
}

/// A checkpoint with a patch has the metadata and the ties of that without.
#[test]
fn a_patched_checkpoint_keeps_its_metadata() {
    let folder = Folder::new("patched");
    let input = |name: &str| format!("tests/commands/checkpoints.in/{name}");
    let [patch, patched, json] =
        ["p.json", "p.safetensors", "p.json.json"].map(|it| folder.path(it));
    let diff = treedef(&["diff", "--patch", &input("llama"), &input("tuned")]).output().unwrap();
    fs::write(&patch, diff.stdout).unwrap();
    let apply = |to: &str| {
        let output = treedef(&["apply", &input("llama"), &patch, "-o", to]).output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(apply(&patched), "");
    let shown = String::from_utf8_lossy(&fs::read(&patched).unwrap()).into_owned();
    assert!(
        shown.contains(r#""lm_head.weight":"model.embed_tokens.weight""#)
            && shown.contains(r#""format":"pt""#)
    );
    assert_eq!(printed(&["diff", &patched, &input("tuned")]), "");
    let said = apply(&json);
    for lost in
        ["the metadata `format`", "the tie of `lm_head.weight` to `model.embed_tokens.weight`"]
    {
        assert!(said.contains(lost), "{said}");
    }
}

/// Small floats are `f32` in the tree of the structure, and keep their type where they change.
#[test]
fn small_floats_beside_a_structure_keep_their_type() {
    let folder = Folder::new("metadata_small");
    let [old, new, json, patch] =
        ["old.safetensors", "new.safetensors", "new.json", "patch.json"].map(|it| folder.path(it));
    let header = r#"{"__metadata__":{"treedef":"{\"w\": [*, *]}"},"w":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]}}"#;
    let file = |bytes: &[u8]| {
        let length = header.len() as u64;
        [&length.to_le_bytes()[..], header.as_bytes(), bytes].concat()
    };
    fs::write(&old, file(&[0x3c, 0x42])).unwrap();
    fs::write(&json, r#"{"w": [1.5, 3.5]}"#).unwrap();
    let run = |args: &[&str]| {
        let output = treedef(args).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr))
    };
    fs::write(&patch, run(&["diff", "--patch", &old, &json]).0).unwrap();
    assert_eq!(run(&["apply", &old, &patch, "-o", &new]), Default::default());
    assert!(fs::read(&new).unwrap().ends_with(&[0x3c, 0x46]));
    // The patch of two such files has all that differs.
    let (text, told) = run(&["diff", "--patch", &old, &new]);
    assert_eq!(told, "");
    fs::write(&patch, text).unwrap();
    assert_eq!(run(&["apply", &old, &patch, "-o", &old]), Default::default());
    assert_eq!(fs::read(&old).unwrap(), fs::read(&new).unwrap());
    fs::write(&json, r#"{"w": [1.5, 3.6]}"#).unwrap();
    fs::write(&patch, run(&["diff", "--patch", &old, &json]).0).unwrap();
    let (_, told) = run(&["apply", &old, &patch, "-o", &new]);
    assert!(told.contains("the type of `w`, f8_e4m3, which is f64 there"), "{told}");
}

/// A page has the changes of the metadata, which are in no tree.
#[test]
fn a_page_counts_the_changes_of_metadata() {
    let folder = Folder::new("page-metadata");
    let [old, new, page] = ["a.safetensors", "b.safetensors", "p.html"].map(|it| folder.path(it));
    for (path, value) in [(&old, "pt"), (&new, "np")] {
        let header = format!(
            "{{\"__metadata__\":{{\"format\":\"{value}\"}},\"w\":{{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}}}"
        );
        let length = u64::try_from(header.len()).unwrap().to_le_bytes();
        std::fs::write(path, [&length, header.as_bytes(), &[7]].concat()).unwrap();
    }
    let changes = |old: &str, new: &str| {
        let report = printed(&["view", "--json", "-o", &page, old, new]);
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        report["changes"].as_u64().unwrap()
    };
    assert_eq!((changes(&old, &old), changes(&old, &new)), (0, 1));
    let page = std::fs::read_to_string(&page).unwrap();
    let note = r#""changes":1,"notes":["~ metadata \"format\": \"pt\" → \"np\""]"#;
    assert!(page.contains(note));
}
