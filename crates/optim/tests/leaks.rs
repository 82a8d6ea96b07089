//! Training and fitting give back their memory, each time with a model of another structure.

use std::alloc::System;
use std::collections::BTreeMap;

use cap::Cap;
use serde::{Deserialize, Serialize};
use treedef_optim::transform::{Transform, clip_by_global_norm, partition};
use treedef_optim::{Optimiser, Parameters, adam, adamw, chain, finite, lion, rmsprop, sgd};

#[path = "../../testing/src/leaks.rs"]
#[allow(unreachable_pub, reason = "it is a module of a library, too")]
mod leaks;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Model {
    name: String,
    layers: BTreeMap<String, Layer>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Layer {
    w: Vec<f64>,
    b: f64,
}

fn model(round: usize) -> Model {
    let layer = |index| (format!("layer{index}of{round:06}"), Layer { w: vec![0.5; 4], b: 0.25 });
    Model { name: format!("{round:06}"), layers: (0..3).map(layer).collect() }
}

fn loss(model: &Model) -> f64 {
    model.layers.values().map(|layer| layer.w.iter().sum::<f64>() * layer.b).sum()
}

/// Some steps, with a state that goes to a file and back.
fn train(optimiser: impl Transform<f64> + Optimiser, round: usize) {
    let (mut model, gradient) = (model(round), model(round));
    let mut state = optimiser.init::<f64, _>(&model).unwrap();
    for _ in 0..3 {
        model = optimiser.step(model, gradient.clone(), &mut state).unwrap();
        optimiser.step_in_place(&mut model, &gradient, &mut state).unwrap();
    }
    let file = serde_json::to_string(&state).unwrap();
    drop(serde_json::from_str::<treedef_optim::State<Model, f64>>(&file).unwrap());
    drop(optimiser.step(self::model(round + 1), gradient, &mut state).unwrap_err());
}

fn fit(round: usize) {
    let model = model(round);
    let p = Parameters::new(&model).unwrap().positive("**.b").unwrap().fix("**.w[0]").unwrap();
    let x = p.initial().to_vec();
    let value = p.value(&x).unwrap();
    p.gradient(&x, &value).unwrap();
    p.jacobian(&x).unwrap();
    p.log_jacobian(&x, None).unwrap();
    drop(p.report(&x).to_string());
    drop(Parameters::new(&model).unwrap().fix("**.v").unwrap_err());
}

#[cfg(feature = "candle")]
fn differentiate(round: usize) {
    use candle_core::{Device, Tensor};
    use treedef_optim::candle::value_and_grad;

    type Tensors = BTreeMap<String, treedef::Object<Tensor>>;
    let tensor = |index| {
        let tensor = Tensor::new(&[1.0f64, 2.0], &Device::Cpu).unwrap();
        (format!("{index}of{round:06}"), treedef::Object(tensor))
    };
    let model: Tensors = (0..3).map(tensor).collect();
    let loss = |model: &Tensors| {
        let squares = model.values().map(|tensor| tensor.sqr()?.sum_all());
        squares.reduce(|a, b| a? + b?).unwrap()
    };
    let (_, gradient) = value_and_grad(loss, &model).unwrap();
    let mut state = adam(0.1).init::<Tensor, _>(&model).unwrap();
    adam(0.1).step(model, gradient, &mut state).unwrap();
}

type Run = (&'static str, fn(usize));

/// A test of its own binary, as all threads of a process share an allocator.
#[test]
fn training_and_fitting_give_back_their_memory() {
    #[cfg_attr(not(feature = "candle"), allow(unused_mut))]
    let mut runs: Vec<Run> = vec![
        ("sgd", |round| train(sgd(0.1).momentum(0.9), round)),
        ("adam", |round| train(adam(0.1), round)),
        ("adamw", |round| train(adamw(0.1).weight_decay(0.1).decay_only("**.w"), round)),
        ("lion", |round| train(lion(0.1), round)),
        ("rmsprop", |round| train(rmsprop(0.1).momentum(0.5), round)),
        ("chain", |round| train(chain!(clip_by_global_norm(1.0), adam(0.1)), round)),
        ("accumulate", |round| train(adam(0.1).accumulate(2).freeze("**.b"), round)),
        ("partition", |round| train(partition().group(["**.b"], sgd(0.5)).rest(adam(0.1)), round)),
        ("parameters", fit),
        ("differences", |round| drop(finite::gradient::<f64, _, _>(loss, &model(round)).unwrap())),
    ];
    #[cfg(feature = "candle")]
    runs.push(("tensors", differentiate));
    let grown = runs.iter().filter_map(|(name, run)| {
        let growth = leaks::growth(|| ALLOCATOR.allocated(), 60, run)?;
        Some(format!("{name}: {growth} bytes"))
    });
    assert_eq!(grown.collect::<Vec<_>>(), [] as [String; 0]);
}
