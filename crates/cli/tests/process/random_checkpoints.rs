//! Laws of `diff` and `apply` over random checkpoints, whose headers say what is right.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use treedef_exchange::{Dtype, Tensor, Tensors, npz};

use crate::{Folder, treedef};

/// The type, the shape and the bytes of each tensor.
type Checkpoint = BTreeMap<String, (&'static str, Vec<usize>, Vec<u8>)>;

const TYPES: [(&str, usize); 7] =
    [("F32", 4), ("I32", 4), ("U8", 1), ("BOOL", 1), ("F16", 2), ("F8_E4M3", 1), ("C64", 8)];
const SHAPES: [&[usize]; 6] = [&[], &[0], &[2, 0], &[1], &[2], &[2, 2]];

/// Names with gaps in their indices, beginnings of other names, and texts beside numbers.
fn name(random: &mut fastrand::Rng) -> String {
    let parts = ["l", "0", "1", "2", "x", "w", "l", "07", ""];
    let count = random.usize(1..=3);
    let parts: Vec<&str> = (0..count).filter_map(|_| random.choice(parts)).collect();
    parts.join(".")
}

fn tensor(random: &mut fastrand::Rng, types: usize) -> (&'static str, Vec<usize>, Vec<u8>) {
    let (dtype, width) = TYPES[random.usize(..types)];
    let shape = SHAPES[random.usize(..SHAPES.len())].to_vec();
    let bytes = (0..shape.iter().product::<usize>() * width).map(|_| random.u8(..2)).collect();
    (dtype, shape, bytes)
}

fn checkpoint(random: &mut fastrand::Rng, types: usize) -> Checkpoint {
    let count = random.usize(1..7);
    let named = (0..count).map(|_| (name(random), tensor(random, types)));
    let named: Checkpoint = named.collect();
    named.into_iter().filter(|(name, _)| !name.is_empty()).collect()
}

/// The same checkpoint with some of its tensors gone, changed and new.
fn changed(of: &Checkpoint, random: &mut fastrand::Rng, types: usize) -> Checkpoint {
    let mut all = of.clone();
    for name in of.keys() {
        match random.u8(..8) {
            0 => drop(all.remove(name)),
            1 => drop(all.insert(name.clone(), tensor(random, types))),
            _ => {}
        }
    }
    if random.bool() {
        all.extend(checkpoint(random, types));
    }
    all
}

fn to_safetensors(checkpoint: &Checkpoint) -> Vec<u8> {
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    for (name, (dtype, shape, bytes)) in checkpoint {
        let offsets = [data.len(), data.len() + bytes.len()];
        data.extend(bytes);
        let entry = serde_json::json!({"dtype": dtype, "shape": shape, "data_offsets": offsets});
        header.insert(name.clone(), entry);
    }
    let header = serde_json::to_vec(&header).unwrap();
    [&(header.len() as u64).to_le_bytes()[..], &header, &data].concat()
}

fn to_npz(checkpoint: &Checkpoint) -> Vec<u8> {
    let tensors = checkpoint.iter().map(|(name, (dtype, shape, bytes))| {
        let is = |it: &&Dtype| it.name() == dtype.to_lowercase();
        let dtype = Dtype::ALL.iter().find(is).unwrap();
        (name.clone(), Tensor::new(*dtype, shape.clone(), bytes.clone()).unwrap())
    });
    npz::to_bytes(&Tensors::new(tensors.collect::<Vec<_>>()).unwrap()).unwrap()
}

/// Writes a file, or a folder of two shards with an index, and returns its path.
fn write(folder: &Folder, name: &str, checkpoint: &Checkpoint, form: usize) -> String {
    let path = folder.path(name);
    match form {
        0 => {
            fs::write(path.clone() + ".safetensors", to_safetensors(checkpoint)).unwrap();
            path + ".safetensors"
        }
        1 => {
            fs::write(path.clone() + ".npz", to_npz(checkpoint)).unwrap();
            path + ".npz"
        }
        _ => {
            drop(fs::remove_dir_all(&path));
            fs::create_dir(&path).unwrap();
            let mut shards = [Checkpoint::new(), Checkpoint::new()];
            let mut map = BTreeMap::new();
            for (at, (name, tensor)) in checkpoint.iter().enumerate() {
                shards[at % 2].insert(name.clone(), tensor.clone());
                map.insert(name, format!("model-0000{}-of-00002.safetensors", at % 2 + 1));
            }
            for (at, shard) in shards.iter().enumerate().filter(|(_, shard)| !shard.is_empty()) {
                let file = format!("{path}/model-0000{}-of-00002.safetensors", at + 1);
                fs::write(file, to_safetensors(shard)).unwrap();
            }
            let index = serde_json::json!({"metadata": {}, "weight_map": map}).to_string();
            fs::write(format!("{path}/model.safetensors.index.json"), index).unwrap();
            path
        }
    }
}

/// Types that files of numpy have.
fn types_of(form: usize) -> usize {
    if form == 1 { 5 } else { TYPES.len() }
}

/// What `diff` reports are the names whose type, shape or bytes differ between the headers.
#[test]
fn diff_reports_the_tensors_that_differ() {
    let folder = Folder::new("random_diff");
    for seed in 0..300 {
        let mut random = fastrand::Rng::with_seed(seed);
        let form = random.usize(..3);
        let old = checkpoint(&mut random, types_of(form));
        let new = changed(&old, &mut random, types_of(form));
        if old.is_empty() || new.is_empty() {
            continue;
        }
        let paths = [write(&folder, "old", &old, form), write(&folder, "new", &new, form)];
        let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        let differ: BTreeSet<&str> = names
            .into_iter()
            .filter(|name| old.get(*name) != new.get(*name))
            .map(String::as_str)
            .collect();
        for [from, to] in [[0, 1], [1, 0]] {
            let output = treedef(&["diff", "--json", &paths[from], &paths[to]]).output().unwrap();
            let code = output.status.code();
            assert_eq!(code, Some(i32::from(!differ.is_empty())), "{seed}: {output:?}");
            let changes: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            let reported = changes.as_array().unwrap().iter();
            let reported: Vec<&str> =
                reported.map(|change| change["name"].as_str().unwrap()).collect();
            let distinct: BTreeSet<&str> = reported.iter().copied().collect();
            assert_eq!((distinct.len(), distinct), (reported.len(), differ.clone()), "{seed}");
        }
    }
}
