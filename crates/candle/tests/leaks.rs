//! Files, adapters and steps free their memory, with a model of another structure in each round.

use std::alloc::System;
use std::collections::BTreeMap;

use candle_core::{DType, Device, Tensor};
use cap::Cap;
use treedef_candle::lora::{Lora, lora};
use treedef_candle::nn::{Initialiser, Linear};
use treedef_candle::optim::{Optimiser, adamw};
use treedef_candle::{
    latest_checkpoint, load, load_like, mean, save, save_checkpoint, summary, to_dtype,
    value_and_grad,
};

#[path = "../../testing/src/leaks.rs"]
#[allow(unreachable_pub, reason = "it is a module of a library, too")]
mod leaks;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

type Model = BTreeMap<String, Linear>;

fn model(round: usize) -> Model {
    let mut init = Initialiser::new(0);
    let mut layer =
        |index| (format!("layer{index}of{round:06}"), Linear::new(4, 4, &mut init).unwrap());
    (0..3).map(&mut layer).collect()
}

fn loss(model: &Model) -> candle_core::Result<Tensor> {
    let squares = model.values().map(|layer| layer.weight.sqr()?.sum_all());
    squares.reduce(|a, b| a? + b?).unwrap()
}

fn files(round: usize) {
    let folder = tempfile::tempdir().unwrap();
    let (path, model) = (folder.path().join("model.safetensors"), model(round));
    save(&model, &path).unwrap();
    drop(load::<Model>(&path, &Device::Cpu).unwrap());
    drop(load_like(&model, &path).unwrap());
    drop(load_like(&self::model(round + 1), &path).err());
    (0..3).for_each(|step| drop(save_checkpoint(&model, folder.path(), step, 2).unwrap()));
    drop(latest_checkpoint(folder.path()).unwrap());
}

fn adapters(round: usize) {
    let folder = tempfile::tempdir().unwrap();
    let model = model(round);
    let adapters = lora(&model, "**", 2, 4.0, 0).unwrap();
    adapters.save_peft(folder.path(), "base").unwrap();
    let read = Lora::load_peft(folder.path(), &Device::Cpu).unwrap();
    drop(read.merge(&model).unwrap());
    drop(lora(&model, "nothing", 2, 4.0, 0).err());
}

fn steps(round: usize) {
    let mut model = model(round);
    let optimiser = adamw(0.1).decay_only("**.weight");
    let mut state = optimiser.init::<Tensor, _>(&model).unwrap();
    for _ in 0..2 {
        let (_, gradient) = value_and_grad(loss, &model).unwrap();
        optimiser.step_in_place(&mut model, &gradient, &mut state).unwrap();
    }
}

fn parts(round: usize) {
    let model = model(round);
    drop(to_dtype(&model, "**", DType::BF16).unwrap());
    drop(summary(&model).unwrap().to_string());
    drop(mean([&model, &model]).unwrap());
}

type Run = (&'static str, fn(usize));

/// A test of its own binary, as all threads of a process share an allocator.
#[test]
fn models_give_back_their_memory() {
    let runs: [Run; 4] =
        [("files", files), ("adapters", adapters), ("steps", steps), ("parts", parts)];
    let grown = runs.iter().filter_map(|(name, run)| {
        let growth = leaks::growth(|| ALLOCATOR.allocated(), 40, run)?;
        Some(format!("{name}: {growth} bytes"))
    });
    assert_eq!(grown.collect::<Vec<_>>(), [] as [String; 0]);
}
