//! The training of the tiny Llama of the other example, with a part of the batch on each rank:
//! `mpirun -np 4 target/debug/examples/llama_ranks`.
//!
//! The losses are those of one process that has the whole batch, and all ranks end with the same bits.

#![allow(dead_code, reason = "the other example does more")]

#[path = "llama/files.rs"]
mod files;
#[path = "llama/model.rs"]
mod model;
#[path = "llama/train.rs"]
mod train;

use std::path::Path;

use candle_core::{DType, Device, Tensor};
use mpi::traits::Communicator;
use treedef::Tree;
use treedef_candle::mpi::AllReduce;
use treedef_candle::{to_dtype, value_and_grad};
use treedef_mpi::gather;

use model::{Config, Llama};
use train::{Rate, Recipe, Training};

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Result<T = ()> = std::result::Result<T, Failure>;

const TINY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/llama/tiny");
const RATE: Rate = Rate { peak: 0.02, warmup: 5, steps: 20, end: 0.002 };

fn tokens() -> Result<Tensor> {
    let text = std::fs::read(Path::new(TINY).join("expected.json"))?;
    let expected: serde_json::Value = serde_json::from_slice(&text)?;
    let tokens: Vec<Vec<u32>> = serde_json::from_value(expected["tokens"].clone())?;
    Ok(Tensor::new(tokens, &Device::Cpu)?)
}

/// The losses of all steps on some tokens, and the model at the end. `reduce` makes what all ranks have of a
/// loss and a gradient.
fn train(
    (config, model): (&Config, &Llama),
    tokens: &Tensor,
    mut reduce: impl FnMut((f64, Llama)) -> Result<(f64, Llama)>,
) -> Result<(Vec<f64>, Llama)> {
    let recipe = Recipe::all(config, RATE);
    let mut training = Training::new(model.clone(), &recipe)?;
    let mut losses = Vec::new();
    for _ in 0..RATE.steps {
        let own = value_and_grad(|model: &Llama| model.loss(tokens), &training.parameters)?;
        let (loss, gradient) = reduce(own)?;
        training.update(&recipe, &gradient)?;
        losses.push(loss);
    }
    Ok((losses, training.parameters))
}

/// The numbers of all tensors, which `f64` can hold.
fn numbers(model: &Llama) -> Result<Vec<f64>> {
    let tree = Tree::<Tensor>::of_objects(model)?;
    let numbers = |tensor: &Tensor| tensor.to_dtype(DType::F64)?.flatten_all()?.to_vec1::<f64>();
    let numbers = tree.leaves().iter().map(numbers).collect::<candle_core::Result<Vec<_>>>()?;
    Ok(numbers.concat())
}

fn main() -> Result {
    let universe = mpi::initialize().ok_or("MPI is running already")?;
    let world = universe.world();
    let (rank, ranks) = (usize::try_from(world.rank())?, usize::try_from(world.size())?);
    let (config, model) = files::load_model(Path::new(TINY))?;
    let all = tokens()?;
    if all.dim(0)? % ranks > 0 {
        return Err(
            format!("{} sequences cannot be dealt out to {ranks} ranks", all.dim(0)?).into()
        );
    }
    let part = all.chunk(ranks, 0)?[rank].contiguous()?;
    let mut wrong = Vec::new();
    // A unit in the last place of a loss of 4 in `f32` is 4.8e-7.
    for (dtype, allowed) in [(DType::F32, 1e-6), (DType::F64, 1e-13)] {
        let model = to_dtype(&model, "**", dtype)?;
        let mut all_reduce = AllReduce::new(&world, &model)?;
        let (losses, trained) = train((&config, &model), &part, |own| Ok(all_reduce.mean(own)?))?;
        let of_ranks = gather(&world, 0, &[numbers(&trained)?])?;
        if rank > 0 {
            continue;
        }
        let (alone, _) = train((&config, &model), &all, Ok)?;
        let far = losses.iter().zip(&alone).map(|(loss, alone)| (loss - alone).abs());
        let far = far.fold(0.0, f64::max);
        println!(
            "{ranks} ranks, {}: loss {:.6} to {:.6} in {} steps, at most {far:.1e} from those of one process",
            dtype.as_str(),
            losses[0],
            losses[losses.len() - 1],
            losses.len(),
        );
        if losses.len() != alone.len() || far > allowed || losses[losses.len() - 1] > losses[0] {
            wrong.push(format!("the losses {losses:?} are not those of one process, {alone:?}"));
        }
        if of_ranks.iter().any(|numbers| *numbers != of_ranks[0]) {
            wrong.push("the ranks have different models".to_owned());
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ").into()) }
}
