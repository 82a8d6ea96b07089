//! A Llama from a folder as Hugging Face writes it: generation, and fine-tuning of everything, of the last layer,
//! or of adapters, which goes on where it was when it is killed.
//!
//! ```sh
//! cargo run --release --example llama -- generate examples/llama/tiny 8 14 35 33
//! cargo run --release --example llama -- train lora examples/llama/tiny tokens.json out
//! ```
//!
//! The tokens to train on are a list of sequences of one length: `[[14, 35, 33], [2, 7, 1]]`. `out` gets the
//! checkpoint `WHAT.training.safetensors`, and at the end `model.safetensors`, or what PEFT reads as adapters.
//! `tiny` has a model of random numbers, and what JAX computes with it: the tests compare.

mod files;
mod model;
mod train;

#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;

use candle_core::{Device, Tensor};
use treedef_candle::lora::{Lora, lora};
use treedef_candle::save;

use model::Llama;
use train::{Rate, Recipe, Training};

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Result<T = ()> = std::result::Result<T, Failure>;

const RATE: Rate = Rate { peak: 0.02, warmup: 5, steps: 20, end: 0.002 };
const EVERY: u64 = 5;

fn main() -> Result {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["generate", folder, count, tokens @ ..] if !tokens.is_empty() => {
            let (_, model) = files::load_model(Path::new(folder))?;
            let tokens = tokens
                .iter()
                .map(|token| token.parse())
                .collect::<std::result::Result<Vec<_>, _>>()?;
            println!("{:?}", model.generate(&tokens, count.parse()?)?);
            Ok(())
        }
        ["train", what, folder, tokens, out] => {
            let tokens: Vec<Vec<u32>> = serde_json::from_slice(&fs::read(tokens)?)?;
            fs::create_dir_all(out)?;
            train(what, folder, &Tensor::new(tokens, &Device::Cpu)?, Path::new(out))
        }
        _ => Err(
            "expected `generate FOLDER COUNT TOKEN …` or `train all|last|lora FOLDER TOKENS OUT`"
                .into(),
        ),
    }
}

fn train(what: &str, folder: &str, tokens: &Tensor, out: &Path) -> Result {
    let (config, model) = files::load_model(Path::new(folder))?;
    let file = out.join(format!("{what}.training.safetensors"));
    let checkpoint = Some((file.as_path(), EVERY));
    let recipe = match what {
        "all" => Recipe::all(&config, RATE),
        "last" => Recipe::last(&config, RATE),
        "lora" => {
            let adapters = lora(&model, "**.{q_proj,v_proj}", 2, 4.0, 0)?;
            let recipe = Recipe::adapters(RATE);
            let mut training = Training::new(adapters, &recipe)?.resume(&file)?;
            let loss = |adapters: &Lora| adapters.merge(&model)?.loss(tokens);
            training.run(&recipe, RATE.steps, loss, checkpoint)?;
            return Ok(training.average.save_peft(out, folder)?);
        }
        other => return Err(format!("expected `all`, `last` or `lora`, found `{other}`").into()),
    };
    let mut training = Training::new(model, &recipe)?.resume(&file)?;
    training.run(&recipe, RATE.steps, |model: &Llama| model.loss(tokens), checkpoint)?;
    fs::copy(Path::new(folder).join("config.json"), out.join("config.json"))?;
    Ok(save(&training.average, out.join("model.safetensors"))?)
}
