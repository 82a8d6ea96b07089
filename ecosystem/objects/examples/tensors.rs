//! A model of candle's tensors: gradients as a model, weight decay of the weights alone, a frozen part, a running average,
//! norms by part, and a file that candle, torch and Python read.
//!
//! `cargo run --example tensors`, in this folder.

use candle_core::{DType, Device, Tensor, Var};
use serde::{Deserialize, Serialize};
use treedef::{Tree, object};
use treedef_ecosystem_objects::{described, read, stored};
use treedef_tensors::{Export, Loader, safetensors};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

#[derive(Serialize, Deserialize)]
struct Linear {
    #[serde(with = "object")]
    w: Tensor,
    #[serde(with = "object::option", default)]
    b: Option<Tensor>,
}

#[derive(Serialize, Deserialize)]
struct Model {
    body: Linear,
    head: Linear,
    /// Part of the structure: it is no tensor.
    slope: f64,
}

impl Model {
    fn loss(&self, x: &Tensor, y: &Tensor) -> candle_core::Result<Tensor> {
        let hidden = x.matmul(&self.body.w)?;
        let hidden = match &self.body.b {
            Some(b) => hidden.broadcast_add(b)?,
            None => hidden,
        };
        let hidden = hidden.maximum(&(&hidden * self.slope)?)?;
        (hidden.matmul(&self.head.w)? - y)?.sqr()?.mean_all()
    }
}

/// The loss, and its gradient as a tree like that of the parameters.
fn value_and_gradient(
    parameters: &Tree<Tensor>,
    loss: impl Fn(&Model) -> candle_core::Result<Tensor>,
) -> Result<(f32, Tree<Tensor>)> {
    let vars = parameters.clone().try_map(|tensor| Var::from_tensor(&tensor))?;
    let model = vars.clone().map(|var| var.as_tensor().clone()).into_objects::<Model>()?;
    let loss = loss(&model)?;
    let gradients = loss.backward()?;
    let of = |var: Var| gradients.get(&var).cloned().map_or_else(|| var.zeros_like(), Ok);
    Ok((loss.to_scalar()?, vars.try_map(of)?))
}

/// The Euclidean norm of all tensors that a pattern names.
fn norm(tree: &Tree<Tensor>, pattern: &str) -> Result<f64> {
    let mut sum = 0.0;
    for (_, tensor) in tree.select(pattern)? {
        sum += f64::from(tensor.sqr()?.sum_all()?.to_scalar::<f32>()?);
    }
    Ok(sum.sqrt())
}

fn main() -> Result<()> {
    let device = Device::Cpu;
    let numbers = |count: usize, shape: (usize, usize)| {
        let numbers: Vec<f32> = (0..count).map(|i| (i as f32 * 0.7).sin()).collect();
        Tensor::from_vec(numbers, shape, &device)
    };
    let b = Tensor::zeros(8, DType::F32, &device)?;
    let model = Model {
        body: Linear { w: numbers(24, (3, 8))?, b: Some(b) },
        head: Linear { w: numbers(8, (8, 1))?, b: None },
        slope: 0.1,
    };
    let (x, y) = (numbers(96, (32, 3))?, numbers(32, (32, 1))?);

    let mut parameters = Tree::<Tensor>::of_objects(&model)?;
    println!("{:#}", parameters.treedef());
    let weights = parameters.mask("**.w")?;
    let frozen = parameters.mask("body.b")?;
    let mut average = parameters.clone();
    let first = parameters.clone();
    let mut losses = Vec::new();
    for step in 0..200 {
        let (loss, gradient) = value_and_gradient(&parameters, |model| model.loss(&x, &y))?;
        losses.push(loss);
        if step % 50 == 0 {
            println!(
                "{step:3}  loss {loss:.4}  |gradient| body {:.4}, head {:.4}",
                norm(&gradient, "body.**")?,
                norm(&gradient, "head.**")?
            );
        }
        let marks = weights.clone().zip(frozen.clone())?;
        let pairs = parameters.zip(gradient)?.zip(marks)?;
        parameters = pairs.try_map(|((p, g), (is_weight, is_frozen))| {
            let step = if is_weight { (g + (&p * 0.001)?)? } else { g };
            if is_frozen { Ok(p) } else { p - (step * 0.05)? }
        })?;
        average = average.zip(parameters.clone())?.try_map(|(a, p)| (a * 0.9)? + (p * 0.1)?)?;
    }
    assert!(losses.last() < losses.first());
    let unmoved = |tree: &Tree<Tensor>| tree.get("body.b").map(Tensor::id).ok();
    assert_eq!(unmoved(&parameters), unmoved(&first));

    // The averaged model in a file, and back on a model of this type.
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("model.safetensors");
    safetensors::save(Export::new().objects(&average, Tensor::id, stored)?, &file)?;
    let names = candle_core::safetensors::load(&file, &device)?;
    assert_eq!(names["body.w"].dims(), [3, 8]);
    let source = safetensors::open(&file)?;
    let loaded = Loader::new().objects_like(&parameters, source, described, read)?;
    let loaded: Model = loaded.into_objects()?;
    println!("saved and loaded: loss {:.4}", loaded.loss(&x, &y)?.to_scalar::<f32>()?);
    Ok(())
}
