//! The metadata of files of tensors.

use std::fs;

use treedef_exchange::{Tensors, safetensors};

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
    let tensors = safetensors::from_bytes(&bytes).unwrap();
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
    let tensors = safetensors::from_bytes(&bytes).unwrap();
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
