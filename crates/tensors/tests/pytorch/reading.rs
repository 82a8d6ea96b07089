//! The faces of a file: its tree, its tensors, and typed values.

use insta::assert_snapshot;
use serde::{Deserialize, Serialize};
use treedef_tensors::{pytorch, safetensors};

use crate::{listed, vector};

#[test]
fn the_whole_tree_is_listed() {
    let (bytes, sparse) = (vector("odd.pt"), vector("sparse.pt"));
    let file = pytorch::from_bytes(&bytes).unwrap();
    assert_snapshot!(listed(&file), @r#"[0: f32[], 1: f32[0, 7], 2: f32[3], (1i64, "a", None, 2.5), {"a": 2i64, "b": 1i64}, {1i64: "one", "1": "two", (2i64, 3i64): "pair"}]"#);
    let file = pytorch::from_bytes(&sparse).unwrap();
    assert_snapshot!(listed(&file), @r#"{"d": d: f32[2], "s": `<torch.sparse_coo>` { indices: s.indices: i64[2, 2], values: s.values: f32[2], size: (2i64, 2i64), is_coalesced: false }}"#);
}

#[test]
fn tensors_of_one_place_are_tied_and_other_views_are_copies() {
    let bytes = vector("shared.pt");
    let source = pytorch::from_bytes(&bytes).unwrap().source().unwrap();
    let ties: Vec<_> = source.aliases().collect();
    assert_eq!(ties, [("head", "emb"), ("nested.again", "emb")]);
    assert_eq!(source.num_bytes(), 96);

    let bytes = vector("views.pt");
    let source = pytorch::from_bytes(&bytes).unwrap().source().unwrap();
    assert_eq!(source.aliases().collect::<Vec<_>>(), [("same", "all")]);
    // Any part of a view is read as the whole has it.
    for name in ["column", "transposed", "slice", "row"] {
        let stored = source.get(name).unwrap();
        let whole = stored.read_bytes().unwrap();
        for start in 0..whole.len() {
            for end in start..=whole.len() {
                let mut part = vec![0; end - start];
                stored.read_at(start as u64, &mut part).unwrap();
                assert_eq!(part, whole[start..end], "{name} {start}..{end}");
            }
        }
    }
}

#[test]
fn a_file_becomes_safetensors_and_a_typed_value() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Linear {
        weight: Vec<Vec<f32>>,
        bias: Vec<f32>,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Norm {
        weight: [f32; 4],
        bias: [f32; 4],
    }
    type Model = (Linear, Norm, Linear);

    let bytes = vector("state_dict.pt");
    let file = pytorch::from_bytes(&bytes).unwrap();
    let model: Model = file.source().unwrap().load().unwrap();
    assert_eq!(model.0.bias.len(), 4);
    let mut written = Vec::new();
    safetensors::write(file.source().unwrap(), &mut written).unwrap();
    assert_eq!(safetensors::from_bytes(&written).unwrap().load::<Model>().unwrap(), model);
    assert_eq!(
        safetensors::from_bytes(&written).unwrap().read().unwrap().metadata("format"),
        Some("pt")
    );
    // A whole module has the names of its `state_dict`.
    let bytes = vector("whole_model.pt");
    assert_eq!(
        pytorch::from_bytes(&bytes).unwrap().source().unwrap().load::<Model>().unwrap(),
        model
    );
    let bytes = vector("old_format.pt");
    assert_eq!(
        pytorch::from_bytes(&bytes).unwrap().source().unwrap().load::<Model>().unwrap(),
        model
    );
}

#[test]
fn a_type_that_does_not_fit_is_a_report() {
    let bytes = vector("state_dict.pt");
    let file = pytorch::from_bytes(&bytes).unwrap();
    let error = file.source().unwrap().load::<Vec<(Vec<f32>, [f32; 3])>>().unwrap_err();
    assert_snapshot!(error, @r"
    the tensors do not fit the type
    missing `0`: f32[2, _]
    missing `1`: f32[2, _]
    missing `2`: f32[2, _]
    unused `0.bias`: f32[4]
    unused `0.weight`: f32[4, 3]
    unused `1.bias`: f32[4]
    unused `1.weight`: f32[4]
    unused `2.bias`: f32[2]
    unused `2.weight`: f32[2, 4]
    ");
}

#[test]
fn a_checkpoint_becomes_a_typed_value_with_what_is_no_tensor() {
    #[derive(Debug, Deserialize)]
    struct Arguments {
        layers: Vec<u32>,
        big: u128,
        none: Option<u8>,
    }
    #[derive(Debug, Deserialize)]
    struct Checkpoint {
        epoch: u32,
        best: f64,
        args: Arguments,
    }
    let bytes = vector("checkpoint.pt");
    let tree = pytorch::from_bytes(&bytes).unwrap().tree().unwrap();
    let checkpoint: Checkpoint = tree.into_typed().unwrap();
    assert_eq!((checkpoint.epoch, checkpoint.best), (7, 0.25));
    let Arguments { layers, big, none } = checkpoint.args;
    assert_eq!((layers, big, none), (vec![1, 2], 1 << 70, None));
}

#[test]
fn a_folder_of_shards_is_one_source() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    let files = ["pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin"];
    write(files[0], &vector("state_dict.pt"));
    write(files[1], &vector("shared.pt"));
    write("training_args.bin", b"no file of a model");
    let names = ["0.weight", "0.bias", "1.weight", "1.bias", "2.weight", "2.bias"];
    let names = names.map(|name| (name, files[0])).into_iter();
    let names = names.chain(["emb", "head", "nested.again"].map(|name| (name, files[1])));
    let index: Vec<String> = names.map(|(name, file)| format!("{name:?}: {file:?}")).collect();
    let index = format!(r#"{{"weight_map": {{{}}}}}"#, index.join(", "));
    write("pytorch_model.bin.index.json", index.as_bytes());
    let source = pytorch::open_shards(folder.path(), &safetensors::OpenOptions::new()).unwrap();
    assert_eq!((source.iter().len(), source.aliases().count()), (7, 2));
    let sharded = folder.path().join("new");
    safetensors::save_sharded(&source, &sharded, 100).unwrap();
    assert_eq!(safetensors::open(&sharded).unwrap().iter().len(), 7);

    write(files[1], &vector("parameter.pt"));
    write("pytorch_model.bin", &vector("parameter.pt"));
    let error = pytorch::open_shards(folder.path(), &safetensors::OpenOptions::new())
        .unwrap_err()
        .to_string();
    let error = error.replace(&folder.path().display().to_string(), "folder");
    assert_snapshot!(error, @r#"
    3 faults
    folder/pytorch_model-00002-of-00002.bin: "emb": the index has it, and the file does not
    folder/pytorch_model-00002-of-00002.bin: "head": the index has it, and the file does not
    folder/pytorch_model-00002-of-00002.bin: "nested.again": the index has it, and the file does not
    "#);
}

#[test]
fn a_file_that_attacks_is_listed() {
    let bytes = vector("evil.pt");
    let file = pytorch::from_bytes(&bytes).unwrap();
    assert_snapshot!(listed(&file), @r#"{"w": w: f32[1], "x": `<posix.system>`("touch /tmp/treedef-evil",)}"#);
    assert_eq!(file.unknown().collect::<Vec<_>>(), ["posix.system"]);
    assert!(!std::path::Path::new("/tmp/treedef-evil").exists());
}
