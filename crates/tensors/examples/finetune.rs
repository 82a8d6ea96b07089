//! Weights from numpy, a step of training in Rust, and the weights in numpy again.
//!
//! `cargo run -p treedef-tensors --example finetune -- PYTHON`: a Python that has safetensors and numpy, such as the one
//! that `python/check` installs.

use std::error::Error;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};
use treedef::Tree;
use treedef_tensors::{Tensors, safetensors};

/// `layers.0.weight` of the file is `model.layers[0].weight`.
#[derive(Debug, Serialize, Deserialize)]
struct Model {
    layers: [Linear; 2],
}

#[derive(Debug, Serialize, Deserialize)]
struct Linear {
    weight: Vec<Vec<f32>>,
    bias: Vec<f32>,
}

#[derive(Serialize, Deserialize)]
struct Data {
    inputs: Vec<Vec<f32>>,
    targets: Vec<f32>,
}

impl Linear {
    fn forward(&self, input: &[f32]) -> Vec<f32> {
        let dot = |row: &Vec<f32>| row.iter().zip(input).map(|(weight, x)| weight * x).sum::<f32>();
        self.weight.iter().zip(&self.bias).map(|(row, bias)| dot(row) + bias).collect()
    }
}

fn loss(model: &Model, data: &Data) -> f32 {
    let errors = data.inputs.iter().zip(&data.targets).map(|(input, target)| {
        let output = model.layers.iter().fold(input.clone(), |x, layer| layer.forward(&x));
        (output[0] - target).powi(2)
    });
    errors.sum::<f32>() / data.targets.len() as f32
}

/// The slope of the loss in each weight, by small differences. An optimiser sees only numbers.
fn gradient(weights: &Tree<f32>, data: &Data) -> Result<Tree<f32>, treedef::Error> {
    const SMALL: f32 = 1e-2;
    let mut slopes = weights.clone();
    for index in 0..weights.leaves().len() {
        let moved = |by: f32| {
            let mut moved = weights.clone();
            moved.leaves_mut()[index] += by;
            Ok::<_, treedef::Error>(loss(&moved.into_typed()?, data))
        };
        slopes.leaves_mut()[index] = (moved(SMALL)? - moved(-SMALL)?) / (2.0 * SMALL);
    }
    Ok(slopes)
}

fn main() -> Result<(), Box<dyn Error>> {
    let python = std::env::args().nth(1).unwrap_or_else(|| "python3".to_owned());
    let folder = tempfile::tempdir()?;
    run(&python, "make", folder.path())?;

    // The struct says what the file has to have: a missing, extra or reshaped tensor is an error.
    let data: Data =
        safetensors::from_bytes(&std::fs::read(folder.path().join("data.safetensors"))?)?.load()?;
    let model: Model =
        safetensors::from_bytes(&std::fs::read(folder.path().join("model.safetensors"))?)?
            .load()?;

    let weights = Tree::<f32>::of_as(&model)?;
    let slopes = gradient(&weights, &data)?;
    let trained = weights.zip_with(slopes, |weight, slope| weight - 0.01 * slope)?;

    let tensors = Tensors::of(&trained)?.with_metadata("format", "pt");
    safetensors::save(&tensors, folder.path().join("finetuned.safetensors"))?;
    for (name, tensor) in tensors.iter() {
        println!("{name}: {tensor}");
    }
    let (before, after) = (loss(&model, &data), loss(&trained.into_typed()?, &data));
    println!("loss in Rust: {before:.3} before, {after:.3} after");
    assert!(after < before);
    run(&python, "check", folder.path())
}

fn run(python: &str, task: &str, folder: &Path) -> Result<(), Box<dyn Error>> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/python/finetune.py");
    let status = Command::new(python).args([script, task]).arg(folder).status();
    let status =
        status.map_err(|error| format!("{python}: {error} (see `crates/tensors/README.md`)"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{python} {script} failed: is safetensors installed?").into())
    }
}
