//! Every format frees its memory, with other names in each round: see `treedef_testing::leaks`.

use std::alloc::System;
use std::collections::BTreeMap;
use std::fs;

use cap::Cap;
use serde::{Deserialize, Serialize};
use treedef::{Leaf, Tree};
use treedef_tensors::{Export, Loader, Saver, Tensors, flax, gguf, npy, npz, pytorch, safetensors};
use treedef_testing::cases::cases;
use treedef_testing::leaks;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Model {
    layers: BTreeMap<String, Layer>,
    steps: u64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Layer {
    w: Vec<[f32; 2]>,
    b: f32,
}

fn model(round: usize) -> Model {
    let layer = |w| Layer { w: vec![[w; 2]; 3], b: w };
    let layers = (0..4).map(|index| (format!("layer{index}of{round:06}"), layer(0.5)));
    Model { layers: layers.collect(), steps: round as u64 }
}

fn tree(round: usize) -> Tree<Leaf> {
    Tree::of(&model(round)).unwrap()
}

/// Writes the tensors of a model, reads them, and loads the model.
fn round_trip(round: usize, through: impl Fn(&Tensors<'_>) -> Tensors<'static>) {
    let tree = tree(round);
    let tensors = Export::new().tensors(&tree).unwrap();
    let read = through(&tensors);
    assert_eq!(Loader::new().load::<Model>(&read).unwrap(), model(round));
    let renamed = Loader::new().rename("layers.*.w", "layers.*.weight");
    renamed.load_partial::<Model>(&read).unwrap_err();
}

fn vector(path: &str) -> Vec<u8> {
    fs::read(format!("{}/tests/vectors/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// A test of its own binary, as all threads of a process share an allocator.
#[test]
fn every_format_gives_back_its_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let torch_file = vector("torch/checkpoint.pt");
    type Run<'a> = Box<dyn Fn(usize) + 'a>;
    let runs: [(&str, Run<'_>); 8] = [
        (
            "safetensors",
            Box::new(|round| {
                round_trip(round, |tensors| {
                    let bytes = safetensors::to_bytes(tensors).unwrap();
                    safetensors::from_bytes(&bytes).unwrap().read().unwrap().into_owned()
                });
            }),
        ),
        (
            "npz",
            Box::new(|round| {
                round_trip(round, |tensors| {
                    npz::from_bytes(&npz::to_bytes(tensors).unwrap())
                        .unwrap()
                        .read()
                        .unwrap()
                        .into_owned()
                });
            }),
        ),
        (
            "flax",
            Box::new(|round| {
                round_trip(round, |tensors| {
                    flax::from_bytes(&flax::to_bytes(tensors).unwrap()).unwrap().into_owned()
                });
            }),
        ),
        (
            "npy",
            Box::new(|round| {
                let tree = tree(round);
                let tensors = Export::new().tensors(&tree).unwrap();
                for (_, tensor) in tensors.iter() {
                    npy::from_bytes(&npy::to_bytes(tensor).unwrap()).unwrap().read().unwrap();
                }
            }),
        ),
        (
            "files",
            Box::new(|round| {
                let tree = tree(round);
                safetensors::save(&Export::new().tensors(&tree).unwrap(), &path).unwrap();
                let stored = safetensors::open(&path).unwrap();
                assert_eq!(stored.load::<Model>().unwrap(), model(round));
                drop(stored.load::<Layer>().unwrap_err());
            }),
        ),
        (
            "background",
            Box::new(|_| {
                let saver = Saver::new();
                saver.save(|| Ok(())).unwrap().wait().unwrap();
                saver.finish().unwrap();
            }),
        ),
        ("pytorch", Box::new(|_| drop(pytorch::from_bytes(&torch_file).unwrap()))),
        (
            "gguf",
            Box::new(|round| {
                drop(gguf::read(std::io::Cursor::new(vec![0; round % 99]), None).err())
            }),
        ),
    ];
    let rounds = cases(300) as usize;
    let live = || ALLOCATOR.allocated();
    let grown = runs.iter().filter_map(|(name, run)| {
        let growth = leaks::growth(live, rounds, run)?;
        Some(format!("{name}: {growth} bytes in {rounds} rounds"))
    });
    assert_eq!(grown.collect::<Vec<_>>(), [] as [String; 0]);
}
