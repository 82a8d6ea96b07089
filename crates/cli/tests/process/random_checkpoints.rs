//! Laws of `diff` and `apply` over random checkpoints. The headers are the reference.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use treedef_tensors::{Dtype, Tensor, Tensors, npz};

use crate::{Folder, printed, treedef};

/// The type, the shape and the bytes of each tensor.
pub(crate) type Checkpoint = BTreeMap<String, (&'static str, Vec<usize>, Vec<u8>)>;

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

pub(crate) fn checkpoint(random: &mut fastrand::Rng, types: usize) -> Checkpoint {
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
pub(crate) fn write(folder: &Folder, name: &str, checkpoint: &Checkpoint, form: usize) -> String {
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
pub(crate) fn types_of(form: usize) -> usize {
    if form == 1 { 5 } else { TYPES.len() }
}

/// Two checkpoints in files.
struct Pair {
    form: usize,
    old: Checkpoint,
    new: Checkpoint,
    paths: [String; 2],
}

/// A random checkpoint and a changed one. `None` if one of them has no tensors.
fn pair(folder: &Folder, seed: u64) -> Option<Pair> {
    let mut random = fastrand::Rng::with_seed(seed);
    let form = random.usize(..3);
    let old = checkpoint(&mut random, types_of(form));
    let new = changed(&old, &mut random, types_of(form));
    if old.is_empty() || new.is_empty() {
        return None;
    }
    let paths = [write(folder, "old", &old, form), write(folder, "new", &new, form)];
    Some(Pair { form, old, new, paths })
}

/// `diff` reports exactly the names whose type, shape or bytes differ between the headers.
#[test]
fn diff_reports_the_tensors_that_differ() {
    let folder = Folder::new("random_diff");
    for seed in 0..300 {
        let Some(Pair { old, new, paths, .. }) = pair(&folder, seed) else { continue };
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

/// The tensors of a file of safetensors, by its header.
fn read(path: &str) -> Checkpoint {
    let file = fs::read(path).unwrap();
    let length = u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    let header: BTreeMap<String, serde_json::Value> =
        serde_json::from_slice(&file[8..8 + length]).unwrap();
    let tensor = |entry: &serde_json::Value| {
        let numbers = |key: &str| -> Vec<usize> {
            entry[key].as_array().unwrap().iter().map(|it| it.as_u64().unwrap() as usize).collect()
        };
        let dtype = entry["dtype"].as_str().unwrap();
        let dtype = TYPES.iter().find(|(known, _)| *known == dtype).unwrap().0;
        let offsets = numbers("data_offsets");
        let bytes = file[8 + length..][offsets[0]..offsets[1]].to_vec();
        (dtype, numbers("shape"), bytes)
    };
    let tensors = header.iter().filter(|(name, _)| *name != "__metadata__");
    tensors.map(|(name, entry)| (name.clone(), tensor(entry))).collect()
}

/// The tensors of a file of numpy.
fn read_npz(path: &str) -> Checkpoint {
    let file = fs::read(path).unwrap();
    let tensors = npz::from_bytes(&file).unwrap().read().unwrap();
    let tensor = |tensor: &Tensor<'_>| {
        let dtype = tensor.dtype().name().to_uppercase();
        let dtype = TYPES.iter().find(|(known, _)| *known == dtype).unwrap().0;
        (dtype, tensor.shape().to_vec(), tensor.bytes().to_vec())
    };
    tensors.iter().map(|(name, it)| (name.to_owned(), tensor(it))).collect()
}

/// Tensors that the patch does not name keep their name, type, shape and bytes. The others become the
/// tensors of the new file.
#[test]
fn apply_makes_the_new_checkpoint() {
    let folder = Folder::new("random_apply");
    for seed in 0..300 {
        let Some(Pair { form, old, new, paths }) = pair(&folder, seed) else { continue };
        let diff = treedef(&["diff", "--patch", &paths[0], &paths[1]]).output().unwrap();
        assert_eq!(String::from_utf8(diff.stderr).unwrap(), "", "{seed}");
        let patch = folder.path("patch.json");
        fs::write(&patch, &diff.stdout).unwrap();
        let to = folder.path(if form == 1 { "patched.npz" } else { "patched.safetensors" });
        let output = treedef(&["apply", &paths[0], &patch, "-o", &to]).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), told.as_str()), (Some(0), ""), "{seed}");
        let patched = if form == 1 { read_npz(&to) } else { read(&to) };
        assert_eq!(patched, new, "{seed}: {old:?} {}", String::from_utf8_lossy(&diff.stdout));
    }
}

/// A patch between a checkpoint and JSON has each number by itself, and the types of the checkpoint stay.
#[test]
fn a_patch_of_json_is_applied_to_tensors() {
    let folder = Folder::new("json_patch");
    let of = |dtype, shape: &[usize], bytes: &[u8]| (dtype, shape.to_vec(), bytes.to_vec());
    let old = Checkpoint::from([
        ("c".to_owned(), of("C64", &[1], &[0, 0, 128, 63, 0, 0, 0, 64])), // 1.0 and 2.0
        ("e.0".to_owned(), of("I32", &[2, 0], &[])),
        ("e.1".to_owned(), of("U8", &[1], &[5])),
        ("h".to_owned(), of("F16", &[2], &[0, 60, 0, 64])), // 1.0 and 2.0
        ("params.0".to_owned(), of("U8", &[2], &[1, 2])),
        ("params.1".to_owned(), of("U8", &[2], &[3, 4])),
        ("q.0".to_owned(), of("I32", &[], &[7, 0, 0, 0])),
        ("small".to_owned(), of("F8_E4M3", &[2], &[0x38, 0x7f])),
    ]);
    let path = write(&folder, "old", &old, 0);
    let [document, patch, new] =
        ["new.json", "patch.json", "new.safetensors"].map(|it| folder.path(it));
    let json = r#"{"c": [{"re": 1.0, "im": 2.5}], "e": [[], [6]], "h": [1.0, 1.5], "params": [[1, 2], [3, 255]], "q": [9],
        "small": [448, -0.0]}"#;
    fs::write(&document, json).unwrap();
    let diff = treedef(&["diff", "--patch", &path, &document]).output().unwrap();
    fs::write(&patch, diff.stdout).unwrap();
    printed(&["apply", &path, &patch, "-o", &new]);
    let mut expected = old;
    expected.insert("c".to_owned(), of("C64", &[1], &[0, 0, 128, 63, 0, 0, 32, 64]));
    expected.insert("e.1".to_owned(), of("U8", &[1], &[6]));
    expected.insert("h".to_owned(), of("F16", &[2], &[0, 60, 0, 62]));
    expected.insert("params.1".to_owned(), of("U8", &[2], &[3, 255]));
    expected.insert("small".to_owned(), of("F8_E4M3", &[2], &[0x7e, 0x80]));
    expected.insert("q.0".to_owned(), of("I32", &[], &[9, 0, 0, 0]));
    assert_eq!(read(&new), expected);
    // Over itself, too, and not if a type does not hold a number.
    fs::write(
        &document,
        json.replace("255", "256").replace("448", "449").replace("-0.0]}", "-0.0], \"x\": []}"),
    )
    .unwrap();
    let diff = treedef(&["diff", "--patch", &new, &document]).output().unwrap();
    fs::write(&patch, diff.stdout).unwrap();
    let strict = treedef(&["apply", &new, &patch, "-o", &new, "--strict"]).output().unwrap();
    let told = String::from_utf8(strict.stderr).unwrap().replace(&new, "new");
    assert_eq!(
        told,
        "treedef: new: not kept in safetensors: the type of `params.1`, u8, which is u64 there\n\
         treedef: new: not kept in safetensors: the type of `small`, f8_e4m3, which is f64 there\n\
         treedef: new: not kept in safetensors: `x`, which is empty, so that its type is not known\n\
         treedef: new: nothing was written, as something would be lost (`--strict`)\n"
    );
    assert_eq!(read(&new), expected);
}

/// A patch of files of PyTorch has the same result as `convert` of the new file: tied tensors stay tied.
#[test]
fn a_patch_of_pytorch_keeps_its_tensors() {
    let folder = Folder::new("pytorch_patch");
    let [patch, made, new] =
        ["patch.json", "made.safetensors", "new.safetensors"].map(|it| folder.path(it));
    let of =
        |name: &str| format!("{}/tests/commands/pytorch.in/{name}", env!("CARGO_MANIFEST_DIR"));
    for (old, is) in [
        ("checkpoint.pt", "later.ckpt"),
        ("dtypes.pt", "dtypes.pt"),
        ("shared.pt", "shared.pt"),
        ("shared.pt", "dtypes.pt"),
        ("pytorch_model.bin", "pytorch_model.bin"),
        ("numpy.pt", "dtypes.pt"),
    ] {
        let diff = treedef(&["diff", "--patch", &of(old), &of(is)]).output().unwrap();
        fs::write(&patch, diff.stdout).unwrap();
        for args in [["apply", &of(old), &patch].as_slice(), &["convert", &of(is)]] {
            let to = if args[0] == "apply" { &made } else { &new };
            let output = treedef(&[args, &["-o", to]].concat()).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{old} {is}: {output:?}");
        }
        let output = treedef(&["diff", "--json", &made, &new]).output().unwrap();
        let differ: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
        // The ties of the new file are metadata, which is in no patch.
        let is_tie = |it: &serde_json::Value| it["name"].is_null() && old != is;
        assert!(differ.iter().all(is_tie), "{old} {is}: {differ:?}");
    }
}

/// A patch of a format with widths has no type for empty tensors either.
#[test]
fn a_tensor_that_a_patch_empties_keeps_its_type() {
    let folder = Folder::new("patch_empty");
    let bytes = vec![0; 8];
    let old = Checkpoint::from([
        ("w".to_owned(), ("F32", vec![2], bytes)),
        ("x".to_owned(), ("I32", vec![], vec![1, 0, 0, 0])),
    ]);
    let path = write(&folder, "old", &old, 0);
    let [json, cbor, patch, new] =
        ["new.json", "new.cbor", "patch.json", "new.safetensors"].map(|it| folder.path(it));
    fs::write(&json, r#"{"w": [], "x": 1, "y": [], "z": {}}"#).unwrap();
    printed(&["convert", &json, "-o", &cbor]);
    let diff = treedef(&["diff", "--patch", &path, &cbor]).output().unwrap();
    fs::write(&patch, diff.stdout).unwrap();
    let output = treedef(&["apply", &path, &patch, "-o", &new]).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    for name in ["y", "z"] {
        let lost = format!("`{name}`, which is empty, so that its type is not known\n");
        assert!(told.contains(&lost), "{told}");
    }
    let mut expected = old;
    expected.insert("w".to_owned(), ("F32", vec![0], Vec::new()));
    assert_eq!(read(&new), expected);
}

/// Also where the rest of the patch fits the types of the file.
#[test]
fn a_list_that_a_patch_adds_is_one_tensor() {
    let folder = Folder::new("patch_added");
    let old = Checkpoint::from([("n".to_owned(), ("F32", vec![2], vec![0; 8]))]);
    let path = write(&folder, "old", &old, 0);
    let [json, patch, new] =
        ["new.json", "patch.json", "new.safetensors"].map(|it| folder.path(it));
    fs::write(&json, r#"{"n": [0.0, 0.0], "w": [[1.5, 2.0]]}"#).unwrap();
    let diff = treedef(&["diff", "--patch", &path, &json]).output().unwrap();
    fs::write(&patch, diff.stdout).unwrap();
    printed(&["apply", &path, &patch, "-o", &new]);
    let shown = printed(&["show", &new]);
    assert!(shown.contains(r#"{"n": f32[2], "w": f64[1, 2]}"#), "{shown}");
    // Tensors of single numbers of any type stay separate.
    let number = |at: usize, dtype: &'static str| (format!("w.{at}"), (dtype, vec![], vec![0; 8]));
    let all = Checkpoint::from([number(0, "I64"), number(1, "F64"), number(2, "I64")]);
    let plain = write(&folder, "plain", &all, 0);
    let diff = treedef(&["diff", "--patch", &path, &plain]).output().unwrap();
    fs::write(&patch, diff.stdout).unwrap();
    printed(&["apply", &path, &patch, "-o", &new]);
    assert_eq!(printed(&["diff", &plain, &new]), "");
}
