//! Random models as safetensors files to Python and back: `-- PYTHON COUNT SEED`.
//!
//! `python/tensors.py` compares what is written here, and writes what is read here.

use std::error::Error;
use std::fs;
use std::process::Command;

use fastrand::Rng;
use half::f16;
use serde::{Deserialize, Serialize};
use serde_json::json;
use treedef::{Leaf, Tree};
use treedef_tensors::{Export, Tensors, safetensors};
use treedef_testing::structures;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Layer {
    w: Vec<Vec<f32>>,
    b: Option<Vec<f64>>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Model {
    layers: Vec<Layer>,
    embed: Vec<[f16; 3]>,
    flags: [bool; 3],
    counts: (u64, i8, u16),
    last: Box<Layer>,
}

fn model(rng: &mut Rng) -> Model {
    fn layer(rng: &mut Rng) -> Layer {
        let (rows, columns) = (rng.usize(1..5), rng.usize(1..5));
        let bias = rng.bool().then(|| vec![rng.f64(); rows]);
        Layer { w: vec![vec![rng.f32(); columns]; rows], b: bias }
    }
    Model {
        layers: (0..rng.usize(1..13)).map(|_| layer(rng)).collect(),
        embed: vec![[f16::from_f32(rng.f32()); 3]; rng.usize(1..4)],
        flags: [rng.bool(), rng.bool(), true],
        counts: (rng.u64(..), rng.i8(..), rng.u16(..)),
        last: Box::new(layer(rng)),
    }
}

/// A tree of numbers, with distinct names.
fn tree(rng: &mut Rng, export: &Export) -> Result<Tree<Leaf>, treedef::Error> {
    loop {
        let treedef = structures::structure(rng, 4);
        let number = |rng: &mut Rng| loop {
            let leaf = structures::leaf(rng);
            if leaf.kind().is_number() && !matches!(leaf, Leaf::U128(_)) {
                return leaf;
            }
        };
        let leaves = (0..treedef.num_leaves()).map(|_| number(rng)).collect();
        let tree = Tree::new(treedef, leaves)?;
        if export.tensors(&tree).is_ok() {
            return Ok(tree);
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let python = arguments.next().unwrap_or_else(|| "python3".to_owned());
    let count = arguments.next().map_or(Ok(1_000), |count| count.parse::<usize>())?;
    let mut rng = Rng::with_seed(arguments.next().map_or(Ok(0), |seed| seed.parse())?);
    let folder = tempfile::tempdir()?;
    let path = |index: usize, end: &str| folder.path().join(format!("{index}.{end}"));

    // Half of them are random structures, and half are a type.
    let export = Export::new();
    let (mut trees, mut models) = (Vec::new(), Vec::new());
    for index in 0..count {
        let tree = match index % 2 {
            0 => tree(&mut rng, &export)?,
            _ => {
                let model = model(&mut rng);
                let tree = Tree::of(&model)?;
                models.push(model);
                tree
            }
        };
        let tensors = export.tensors(&tree)?.with_metadata("format", "pt");
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let listed = tensors.iter().map(|(name, tensor)| {
            json!([name, tensor.dtype().name(), tensor.shape(), hex(tensor.bytes())])
        });
        fs::write(path(index, "json"), json!(listed.collect::<Vec<_>>()).to_string())?;
        safetensors::save(&tensors, path(index, "safetensors"))?;
        trees.push(tree);
    }

    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/python/tensors.py");
    let status = Command::new(&python).arg(script).arg(folder.path()).status()?;
    if !status.success() {
        return Err(format!("{python} {script} failed: is safetensors installed?").into());
    }

    let mut models = models.into_iter();
    for (index, tree) in trees.iter().enumerate() {
        assert_eq!(
            &Export::new()
                .tree(&safetensors::from_bytes(&fs::read(path(index, "described"))?)?.read()?)?,
            tree
        );
        let bytes = fs::read(path(index, "python"))?;
        let there: Tensors<'_> = safetensors::from_bytes(&bytes)?.read()?;
        let ours = export.tensors(tree)?;
        assert_eq!(there.iter().len(), ours.iter().len());
        assert!(ours.iter().all(|(name, tensor)| there.get(name) == Some(tensor)));
        if index % 2 == 1 {
            assert_eq!(Some(there.load::<Model>()?), models.next());
        }
    }
    println!("{count} files of Python are the same here, {} of them in a struct", count / 2);
    Ok(())
}
