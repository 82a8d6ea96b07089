//! Parts of documents and checkpoints: comparisons, and values beside tensors.

use std::fs;
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use treedef::{Object, Tree};
use treedef_tensors::{Dtype, Error, Export, StoredTensor, Tensor, safetensors};

use crate::{Folder, treedef};

/// The standard output, the standard error and the exit code.
fn run(args: &[&str]) -> (String, String, Option<i32>) {
    let output = treedef(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code())
}

#[test]
fn a_model_is_compared_with_that_in_a_training() {
    let folder = Folder::new("parts");
    let [model, training] = ["model.json", "training.json"].map(|name| folder.path(name));
    fs::write(&model, r#"{"w": [1, 2], "b": {"x": 1, "y": 2}}"#).unwrap();
    let all = r#"{"step": 3, "model": {"w": [1, 3], "b": {"x": 1, "y": 5}}, "opt": [1]}"#;
    fs::write(&training, all).unwrap();
    let (w, y) = ("~ .w[1]: 2 → 3\n", "~ .b.y: 2 → 5\n");
    for (options, lines) in [
        (vec!["--at", "model"], format!("{y}{w}")),
        (vec!["--at", "model", "--only", "w"], w.to_owned()),
        (vec!["--at", "model", "--only", "b.*", "--only", "w[0]"], y.to_owned()),
        (vec!["--at", "model", "--ignore", "w"], y.to_owned()),
        (vec!["--at", "model", "--only", "b", "--ignore", "b.y"], String::new()),
        (vec!["--at", "model", "--structure"], String::new()),
        // A part that only one of them has is reported as a whole, unless the request excludes all of it.
        (
            vec!["--only", "model.w"],
            "+ .model: {\"b\": {\"x\": 1, \"y\": 5}, \"w\": [1, 3]}\n".to_owned(),
        ),
        (vec!["--only", "model", "--ignore", "model"], String::new()),
        (vec!["--ignore", "model", "--ignore", "{opt,step,w,b}"], String::new()),
    ] {
        let args = [&["diff", &model, &training], &options[..]].concat();
        let (found, said, code) = run(&args);
        assert_eq!((found, said.as_str()), (lines.clone(), ""), "{options:?}");
        assert_eq!(code, Some(i32::from(!lines.is_empty())), "{options:?}");
    }
    // On either side, but not on none.
    assert_eq!(
        run(&["diff", &training, &model, "--at", "model"]).0,
        "~ .b.y: 5 → 2\n~ .w[1]: 3 → 2\n"
    );
    assert_eq!(run(&["diff", &training, &training, "--at", "model"]).2, Some(0));
    let (_, said, code) = run(&["diff", &model, &training, "--at", "modle"]);
    assert!(code == Some(2) && said.contains("(did you mean `.model`?)"), "{said}");
    let only = "`--only`: no match: nothing in `.model` fits `.v`; there are `.b`, `.w`";
    for options in [&["--only", "model.v"][..], &["--only", "model.w", "--only", "model.v"]] {
        let (found, said, code) = run(&[&["diff", &model, &training], options].concat());
        assert!(found.is_empty() && code == Some(2) && said.contains(only), "{said}");
        let (_, said, code) = run(&[&["check", &model, "--like", &training], options].concat());
        assert!(code == Some(2) && said.contains(only), "{said}");
    }
    let (_, said, code) = run(&["diff", &model, &training, "--patch", "--at", "model"]);
    assert!(code == Some(2) && said.contains("cannot be used with"), "{said}");
}

#[test]
fn a_part_of_a_document_is_checked() {
    let folder = Folder::new("checked-parts");
    let [model, training, schema] =
        ["model.json", "training.json", "schema.json"].map(|name| folder.path(name));
    fs::write(&model, r#"{"w": [1, 2], "b": {"x": 1, "y": 2}}"#).unwrap();
    fs::write(&training, r#"{"step": 3, "model": {"w": [1, "a"], "b": {"x": 1}}}"#).unwrap();
    fs::write(&schema, r#"{"properties": {"w": {"items": {"type": "integer"}}}}"#).unwrap();
    for (options, paths) in [
        (vec!["--like", &model, "--at", "model"], vec![".b.y: missing", ".w[1]: expected u64"]),
        (vec!["--like", &model, "--at", "model", "--only", "w"], vec![".w[1]: expected u64"]),
        (vec!["--like", &model, "--at", "model", "--only", "b.y"], vec![".b.y: missing"]),
        (vec!["--like", &model, "--at", "model", "--ignore", "w", "--ignore", "b.y"], vec![]),
        (vec!["--schema", &schema, "--at", "model"], vec![".w[1]: "]),
        (vec!["--schema", &schema, "--at", "model", "--ignore", "w[1:]"], vec![]),
    ] {
        let (found, said, code) = run(&[&["check", &training], &options[..]].concat());
        assert_eq!(found.lines().count(), paths.len(), "{options:?}: {found}{said}");
        for (line, path) in found.lines().zip(&paths) {
            assert!(line.contains(&format!("training.json: {path}")), "{line}");
        }
        assert_eq!(code, Some(i32::from(!paths.is_empty())), "{options:?}");
    }
    // One of the files has to match each `--only`.
    let only = |path| run(&["check", &model, &training, "--schema", &schema, "--only", path]);
    assert_eq!((only("model").2, only("w[1]").2), (Some(0), Some(0)));
    let (_, said, code) = only("model.v");
    let told = "treedef: `--only`: no match: nothing in the documents fits `.model.v`\n";
    assert_eq!((said.as_str(), code), (told, Some(2)));
    assert_eq!(run(&["check", &model, "--like", &training, "--at", "model"]).2, Some(1));
    assert_eq!(run(&["check", &model, "--like", &model, "--at", "model"]).2, Some(2));
}

/// The lines of a file have an `--only` together, and an error of one line names it.
#[test]
fn a_part_that_only_some_lines_have_is_checked() {
    let folder = Folder::new("parts-of-lines");
    let [lines, like, schema] =
        ["log.jsonl", "like.json", "schema.json"].map(|name| folder.path(name));
    fs::write(&lines, "{\"id\": 1}\n{\"id\": 2, \"extra\": \"x\"}\n{\"id\": \"3\"}\n").unwrap();
    fs::write(&like, r#"{"id": 1}"#).unwrap();
    let objects = r#"{"properties": {"id": {"type": "integer"}, "extra": {"type": "integer"}}}"#;
    fs::write(&schema, objects).unwrap();
    for (reference, found) in
        [(["--like", &like], ".extra: not expected here"), (["--schema", &schema], ".extra: ")]
    {
        let of = |options: &[&str]| run(&[&["check", &lines], &reference[..], options].concat());
        let (violations, said, code) = of(&["--only", "extra"]);
        let expected = format!("{lines}:2: {found}");
        assert!(violations.starts_with(&expected) && code == Some(1), "{violations}{said}");
        assert_eq!(violations.lines().count(), 1);
        // The violations are printed, and the mistake is told.
        let (violations, said, code) = of(&["--only", "id", "--only", "typo"]);
        let told = "`--only`: no match: nothing in the documents fits `.typo`";
        assert!(violations.starts_with(&format!("{lines}:3: .id: ")), "{violations}");
        assert!(said.contains(told) && code == Some(2), "{said}");
        let (_, said, code) = of(&["--at", "extra"]);
        assert!(said.starts_with(&format!("treedef: {lines}:1: `--at`: ")), "{said}");
        assert_eq!(code, Some(2));
    }
}

/// A key of each side is spelled as the other side has it.
#[test]
fn a_part_of_another_format_has_the_paths_of_the_old_file() {
    let folder = Folder::new("spelled-parts");
    let [yaml, json] = ["a.yaml", "b.json"].map(|name| folder.path(name));
    fs::write(&yaml, "200: 1\n").unwrap();
    fs::write(&json, r#"{"200": 2}"#).unwrap();
    for (files, path, other) in
        [([&yaml, &json], "[200]", "[\"200\"]"), ([&json, &yaml], "[\"200\"]", "[200]")]
    {
        let only = |path| run(&["diff", files[0], files[1], "--only", path]);
        assert!(only(path).2 == Some(1) && only(path).0.starts_with("~ "), "{:?}", only(path));
        assert_eq!((only(other).0, only(other).2), (String::new(), Some(2)));
    }
}

/// A training whose tensors are objects: its other values are in the structure.
#[derive(Serialize, Deserialize)]
struct Training {
    step: u64,
    name: String,
    losses: Vec<f64>,
    model: Model,
}

#[derive(Serialize, Deserialize)]
struct Model {
    w: Object<Rc<[u8]>>,
}

fn save(path: &str, value: &impl Serialize) {
    let tree = Tree::<Rc<[u8]>>::of_objects(value).unwrap();
    let stored = |name: &str, bytes: &Rc<[u8]>| {
        let tensor = Tensor::new(Dtype::U8, vec![bytes.len()], bytes.to_vec())?;
        Ok::<_, Error>(StoredTensor::of(name, tensor))
    };
    let source = Export::new().objects(&tree, |bytes| bytes.as_ptr() as usize, stored).unwrap();
    safetensors::save(&source, path).unwrap();
}

#[test]
fn plain_values_of_a_checkpoint_are_found_and_compared() {
    let folder = Folder::new("plain-values");
    let [old, new, model] =
        ["old.safetensors", "new.safetensors", "model.safetensors"].map(|name| folder.path(name));
    let w = |last| Object(Rc::from([1, last]));
    let training = |step, last| Training {
        step,
        name: "net".to_owned(),
        losses: vec![0.5, 0.25],
        model: Model { w: w(last) },
    };
    save(&old, &training(3, 2));
    save(&new, &training(4, 7));
    save(&model, &Model { w: w(7) });
    for (pattern, lines) in [
        ("step", ".step: 3\n"),
        ("name", ".name: \"net\"\n"),
        ("losses[1]", ".losses[1]: 0.25\n"),
        ("model", ".model.w: [1,2]\n"),
        ("model.w[1]", ".model.w[1]: 2\n"),
        ("**", ".step: 3\n.name: \"net\"\n.losses[0]: 0.5\n.losses[1]: 0.25\n.model.w: [1,2]\n"),
    ] {
        assert_eq!(run(&["select", pattern, &old]).0, lines, "{pattern}");
    }
    let (_, said, code) = run(&["select", "stp", &old]);
    assert!(code == Some(1) && said.contains("did you mean `.step`?"), "{said}");

    let numbers = "1 of 2 numbers differ, most at [1]: 2 → 7";
    let (found, _, code) = run(&["diff", &old, &new]);
    assert_eq!(found, format!("~ .step: 3 → 4\n~ .model.w: u8[2]: {numbers}\n"));
    assert_eq!(code, Some(1));
    assert_eq!(run(&["diff", &old, &new, "--only", "step"]).0, "~ .step: 3 → 4\n");
    assert_eq!(run(&["diff", &old, &new, "--ignore", "step", "--ignore", "model"]).2, Some(0));
    let (found, _, code) = run(&["diff", &model, &old, "--at", "model"]);
    assert_eq!(found, format!("~ .w: u8[2]: {}\n", numbers.replace("2 → 7", "7 → 2")));
    assert_eq!(code, Some(1));
    assert_eq!(
        run(&["diff", &model, &new, "--at", "model"]),
        (String::new(), String::new(), Some(0))
    );
    assert_eq!(run(&["check", &new, "--like", &model, "--at", "model"]).2, Some(0));
}
