//! The law of `select`: it prints each node that `show` lists, or a reason why not.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::random_checkpoints::{checkpoint, types_of, write};
use crate::{Folder, printed, treedef};

/// The lines of `select --json`, and the messages.
fn selected(pattern: &str, file: &str) -> (Vec<Value>, String) {
    let output = treedef(&["select", "--json", pattern, file]).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), told)
}

/// Every path that is found is a pattern that finds it and nothing else.
fn expect_found_again(found: &[Value], file: &str) {
    for line in found {
        let again = selected(line["path"].as_str().unwrap(), file);
        assert_eq!(again, (vec![line.clone()], String::new()), "{file}");
    }
}

#[test]
fn every_tensor_that_show_lists_is_selected() {
    let folder = Folder::new("random_select");
    for seed in 0..30 {
        let mut random = fastrand::Rng::with_seed(seed);
        let form = random.usize(..3);
        let tensors = checkpoint(&mut random, types_of(form));
        if tensors.is_empty() {
            continue;
        }
        let path = write(&folder, "checkpoint", &tensors, form);
        let shown: Value = serde_json::from_str(&printed(&["show", "--json", &path])).unwrap();
        assert_eq!(shown["leaves"], tensors.len(), "{seed}");
        let (found, told) = selected("**", &path);
        // A complex number has two parts.
        let is_complex = |it: &&(&str, Vec<usize>, Vec<u8>)| it.0 == "C64" && it.1.is_empty();
        let lines = tensors.len() + tensors.values().filter(is_complex).count();
        assert_eq!((found.len(), told.as_str()), (lines, ""), "{seed}");
        expect_found_again(&found, &path);
    }
}

/// numpy's types without numbers are printed, too, and unread ones are reported.
#[test]
fn what_is_not_read_is_told() {
    let folder = Folder::new("select_unread");
    let array = |code: &str, shape: &str, data: &[u8]| {
        let header = format!("{{'descr': '{code}', 'fortran_order': False, 'shape': {shape}, }}");
        let length = (header.len() as u16).to_le_bytes();
        [b"\x93NUMPY\x01\0", &length[..], header.as_bytes(), data].concat()
    };
    for (code, shape, data, lines, is_told) in [
        ("<U1", "(2,)", &b"a\0\0\0b\0\0\0"[..], 2, false),
        ("<U1", "(0,)", b"", 1, false),
        ("<U1", "()", b"a\0\0\0", 1, false),
        ("<M8[D]", "(1, 0)", b"", 1, false),
        ("|S0", "(3,)", b"", 0, true),
        ("|V3", "(1,)", b"abc", 0, true),
        ("|V3", "(0,)", b"", 0, true),
        ("|O", "(1,)", b"\x80\x02]q\0Na.", 0, true),
    ] {
        let path = folder.path("array.npy");
        fs::write(&path, array(code, shape, data)).unwrap();
        printed(&["show", &path]);
        let (found, told) = selected("**", &path);
        assert_eq!((found.len(), !told.is_empty()), (lines, is_told), "{code} {shape}: {told}");
        if !is_told {
            expect_found_again(&found, &path);
        }
        let strict = treedef(&["select", "--strict", "**", &path]).output().unwrap();
        let is_refused = strict.status.code() == Some(2) && strict.stdout.is_empty();
        assert_eq!(is_refused, is_told, "{code} {shape}: {strict:?}");
    }
}

fn document(random: &mut fastrand::Rng, depth: usize) -> Value {
    let count = random.usize(..3);
    match random.u8(..if depth == 0 { 4 } else { 8 }) {
        0 => Value::Null,
        1 => random.bool().into(),
        2 => random.i8(..).into(),
        3 => random.choice(["", "a", "ü\n\"", "1"]).into(),
        4 | 5 => (0..count).map(|_| document(random, depth - 1)).collect(),
        _ => {
            let keys = ["", "a", "a.b", "0", "[0]", "*", "null", "x y", "\"", "é", "::A", "$"];
            let mut entry = |_| {
                let key = random.choice(keys).unwrap().to_owned();
                (key, document(random, depth - 1))
            };
            let entries: BTreeMap<String, Value> = (0..count).map(&mut entry).collect();
            entries.into_iter().collect()
        }
    }
}

/// Nodes without parts: scalars, null, and empty containers.
fn ends(value: &Value, to: &mut Vec<Value>) {
    match value {
        Value::Array(all) if !all.is_empty() => all.iter().for_each(|it| ends(it, to)),
        Value::Object(all) if !all.is_empty() => all.values().for_each(|it| ends(it, to)),
        other => to.push(other.clone()),
    }
}

#[test]
fn every_end_of_a_document_is_selected() {
    let folder = Folder::new("random_documents");
    for seed in 0..40 {
        let mut random = fastrand::Rng::with_seed(seed);
        let document = document(&mut random, 4);
        let json = folder.path("document.json");
        fs::write(&json, document.to_string()).unwrap();
        let to = *random.choice(&["json", "yaml", "cbor", "msgpack", "ron", "tree"]).unwrap();
        let path = folder.path(&format!("copy.{to}"));
        printed(&["convert", &json, "-o", &path]);
        printed(&["show", &path]);
        let (found, told) = selected("**", &path);
        let mut expected = Vec::new();
        ends(&document, &mut expected);
        let values: Vec<Value> = found.iter().map(|line| line["value"].clone()).collect();
        assert_eq!((values, told.as_str()), (expected, ""), "{seed} {to} {document}");
        expect_found_again(&found, &path);
    }
}
