//! A training that is stopped half way and goes on from its file, as if nothing had happened.
//!
//! The file has the model, the moments of the optimiser, its step and the losses so far. Its tensors are ordinary safetensors.

use std::error::Error;
use std::path::Path;

use candle_core::{Device, Module, Tensor};
use serde::{Deserialize, Serialize};
use treedef_candle::nn::{Initialiser, Linear};
use treedef_candle::optim::{Optimiser, State, adamw};
use treedef_candle::{load, save, value_and_grad};

#[derive(Serialize, Deserialize)]
struct Model {
    up: Linear,
    down: Linear,
}

impl Model {
    fn loss(&self, x: &Tensor, y: &Tensor) -> candle_core::Result<Tensor> {
        (self.down.forward(&self.up.forward(x)?.tanh()?)? - y)?.sqr()?.mean_all()
    }
}

/// All that a training has.
#[derive(Serialize, Deserialize)]
struct Training {
    model: Model,
    state: State<Model, Tensor>,
    losses: Vec<f64>,
}

impl Training {
    fn begin() -> Result<Self, Box<dyn Error>> {
        let mut init = Initialiser::new(7); // a seed
        let (up, down) = (Linear::new(1, 16, &mut init)?, Linear::new(16, 1, &mut init)?);
        let model = Model { up, down };
        let state = adamw(0.01).init::<Tensor, _>(&model)?;
        Ok(Training { model, state, losses: Vec::new() })
    }

    fn train(&mut self, steps: usize) -> Result<(), Box<dyn Error>> {
        let x = Tensor::arange(-2f32, 2.0, &Device::Cpu)?.unsqueeze(1)?;
        let y = x.sin()?;
        let optimiser = adamw(0.01);
        for _ in 0..steps {
            let (loss, gradient) = value_and_grad(|model: &Model| model.loss(&x, &y), &self.model)?;
            optimiser.step_in_place(&mut self.model, &gradient, &mut self.state)?;
            self.losses.push(loss);
        }
        Ok(())
    }
}

/// What a second process would do.
fn resume(path: &Path) -> Result<Training, Box<dyn Error>> {
    let mut training: Training = load(path, &Device::Cpu)?;
    training.train(50)?;
    Ok(training)
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("training.safetensors");

    let mut first = Training::begin()?;
    first.train(50)?;
    save(&first, &path)?;
    let resumed = resume(&path)?;

    let mut at_once = Training::begin()?;
    at_once.train(100)?;
    println!("loss {:.4} at first, {:.4} at the end", resumed.losses[0], resumed.losses[99]);
    assert_eq!(resumed.losses, at_once.losses); // the same bits
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
