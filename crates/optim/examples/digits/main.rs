//! Trains a perceptron and a small convolution on the digits of scikit-learn. Every fifth image is
//! held out. `python/digits_jax.py` is the same program in JAX.
//!
//! `cargo run --release --features candle --example digits`

use std::time::Instant;

use candle_core::{D, DType, Device, Tensor};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use treedef_optim::candle::{Gradient, value_and_grad_with};
use treedef_optim::schedules::warmup_cosine;
use treedef_optim::transform::clip_by_global_norm;
use treedef_optim::{Optimiser, adamw, chain, tree};
use treedef_tensors::npz;

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

#[derive(Clone, Serialize, Deserialize)]
struct Linear {
    #[serde(with = "treedef::object")]
    w: Tensor,
    #[serde(with = "treedef::object")]
    b: Tensor,
}

impl Linear {
    fn new(random: &mut fastrand::Rng, inputs: usize, outputs: usize) -> Result<Self> {
        let limit = (6.0 / (inputs + outputs) as f32).sqrt();
        let w = uniform(random, limit, inputs * outputs).reshape((inputs, outputs))?;
        Ok(Linear { w, b: Tensor::zeros(outputs, DType::F32, &Device::Cpu)? })
    }

    fn forward(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        x.matmul(&self.w)?.broadcast_add(&self.b)
    }
}

#[derive(Clone, Serialize, Deserialize)]
struct Conv {
    #[serde(with = "treedef::object")]
    w: Tensor,
    #[serde(with = "treedef::object")]
    b: Tensor,
}

impl Conv {
    fn new(random: &mut fastrand::Rng, inputs: usize, outputs: usize) -> Result<Self> {
        let limit = (6.0 / (9 * (inputs + outputs)) as f32).sqrt();
        let w = uniform(random, limit, 9 * inputs * outputs).reshape((outputs, inputs, 3, 3))?;
        Ok(Conv { w, b: Tensor::zeros((1, outputs, 1, 1), DType::F32, &Device::Cpu)? })
    }

    fn forward(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        x.conv2d(&self.w, 1, 1, 1, 1)?.broadcast_add(&self.b)
    }
}

fn uniform(random: &mut fastrand::Rng, limit: f32, count: usize) -> Tensor {
    let numbers: Vec<f32> = (0..count).map(|_| limit * (2.0 * random.f32() - 1.0)).collect();
    Tensor::new(numbers, &Device::Cpu).expect("a vector is a tensor")
}

/// Images in, a score for each digit out.
trait Classifier: Clone + Serialize + DeserializeOwned {
    fn forward(&self, images: &Tensor) -> candle_core::Result<Tensor>;
}

#[derive(Clone, Serialize, Deserialize)]
struct Mlp {
    layers: Vec<Linear>,
}

impl Classifier for Mlp {
    fn forward(&self, images: &Tensor) -> candle_core::Result<Tensor> {
        let mut x = images.flatten_from(1)?;
        for (at, layer) in self.layers.iter().enumerate() {
            x = layer.forward(&x)?;
            if at + 1 < self.layers.len() {
                x = x.relu()?;
            }
        }
        Ok(x)
    }
}

#[derive(Clone, Serialize, Deserialize)]
struct Cnn {
    convs: Vec<Conv>,
    head: Linear,
}

impl Classifier for Cnn {
    fn forward(&self, images: &Tensor) -> candle_core::Result<Tensor> {
        let mut x = images.unsqueeze(1)?;
        for conv in &self.convs {
            x = conv.forward(&x)?.relu()?.max_pool2d(2)?;
        }
        self.head.forward(&x.flatten_from(1)?)
    }
}

/// The mean cross-entropy, and beside it how many images are classified rightly.
fn loss<M: Classifier>(
    model: &M,
    images: &Tensor,
    labels: &Tensor,
) -> candle_core::Result<(Tensor, f32)> {
    let scores = model.forward(images)?;
    let chosen = scores.gather(&labels.unsqueeze(1)?, 1)?.squeeze(1)?;
    let loss = (scores.log_sum_exp(D::Minus1)? - chosen)?.mean_all()?;
    let right = scores.argmax(D::Minus1)?.eq(labels)?.to_dtype(DType::F32)?.sum_all()?;
    Ok((loss, right.to_scalar()?))
}

struct Data {
    images: Tensor,
    labels: Tensor,
}

impl Data {
    fn at(&self, rows: &[u32]) -> Result<Data> {
        let rows = Tensor::new(rows, &Device::Cpu)?;
        let images = self.images.index_select(&rows, 0)?;
        Ok(Data { images, labels: self.labels.index_select(&rows, 0)? })
    }
}

/// All digits: the images for training, and every fifth one for the test.
fn digits() -> Result<(Data, Data)> {
    let file = npz::from_bytes(include_bytes!("digits.npz"))?.read()?;
    let bytes =
        |name: &str| file.get(name).map(|tensor| tensor.bytes().to_vec()).ok_or(name.to_owned());
    let labels: Vec<u32> = bytes("labels")?.into_iter().map(u32::from).collect();
    let count = labels.len() as u32;
    let images = Tensor::from_vec(bytes("images")?, (labels.len(), 8, 8), &Device::Cpu)?;
    let images = (images.to_dtype(DType::F32)? / 16.0)?;
    let all = Data { images, labels: Tensor::new(labels, &Device::Cpu)? };
    let (test, train): (Vec<u32>, Vec<u32>) = (0..count).partition(|row| row % 5 == 0);
    Ok((all.at(&train)?, all.at(&test)?))
}

fn train<M: Classifier>(
    what: &str,
    mut model: M,
    epochs: u64,
    (data, test): &(Data, Data),
) -> Result {
    const BATCH: usize = 32;
    let begin = Instant::now();
    let rows = data.labels.elem_count();
    let steps = epochs * (rows / BATCH) as u64;
    let rate = warmup_cosine(0.0, 3e-3, steps / 10, steps, 0.0);
    let adamw = adamw(rate).weight_decay(0.1).decay_only("**.w");
    let optimiser = chain!(clip_by_global_norm(1.0), adamw);
    let mut state = optimiser.init::<Tensor, _>(&model)?;
    let mut average = model.clone();
    let all = Gradient::new();
    let mut order: Vec<u32> = (0..rows as u32).collect();
    let mut random = fastrand::Rng::with_seed(1);
    for epoch in 1..=epochs {
        random.shuffle(&mut order);
        let (mut sum, mut right) = (0.0, 0.0);
        for batch in order.chunks_exact(BATCH) {
            let batch = data.at(batch)?;
            let on_batch = |model: &M| loss(model, &batch.images, &batch.labels);
            let (loss, found, gradient) = value_and_grad_with(&all, on_batch, &model)?;
            model = optimiser.step(model, gradient, &mut state)?;
            tree::incremental_update::<Tensor, _>(&model, &mut average, 0.01)?;
            (sum, right) = (sum + loss, right + found);
        }
        if epoch % 10 == 0 {
            let batches = (rows / BATCH) as f64;
            let share = f64::from(right) / batches / BATCH as f64;
            println!("{what} epoch {epoch:3}: loss {:.4}, {:.1} %", sum / batches, 100.0 * share);
        }
    }
    for (which, model) in [("last", &model), ("average", &average)] {
        let (_, right) = loss(model, &test.images, &test.labels)?;
        let share = 100.0 * right / test.labels.elem_count() as f32;
        println!("{what} {which}: {share:.1} % of the held-out images, {:.1?}", begin.elapsed());
        if share < 97.0 {
            return Err("expected 97 % or more".into());
        }
    }
    Ok(())
}

fn main() -> Result {
    let data = digits()?;
    let mut random = fastrand::Rng::with_seed(0);
    let layers = [(64, 128), (128, 64), (64, 10)];
    let layers = layers.map(|(inputs, outputs)| Linear::new(&mut random, inputs, outputs));
    let mlp = Mlp { layers: layers.into_iter().collect::<Result<_>>()? };
    train("mlp", mlp, 40, &data)?;
    let convs = vec![Conv::new(&mut random, 1, 16)?, Conv::new(&mut random, 16, 32)?];
    train("cnn", Cnn { convs, head: Linear::new(&mut random, 128, 10)? }, 20, &data)
}
