//! The tests, each on several ranks. `../check` runs them.

mod allocations;
mod ends;
mod faults;
mod hostile;
mod launch;
mod reductions;
mod transfers;

use mpi::topology::SimpleCommunicator;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Layer {
    w: Vec<[f32; 2]>,
    b: f64,
    #[serde(with = "treedef::as_static")]
    activation: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Model {
    layers: Vec<Layer>,
    head: (f32, f64),
}

/// A model whose numbers are `rank + 1` times a small integer, so that sums of them are exact.
fn model(rank: i32) -> Model {
    let mut next = 0;
    let mut number = || {
        next += 1;
        (rank + 1) * next
    };
    let layers = (0..3).map(|_| Layer {
        w: (0..4).map(|_| [number() as f32, number() as f32]).collect(),
        b: number().into(),
        activation: "relu".to_owned(),
    });
    Model { layers: layers.collect(), head: (number() as f32, number().into()) }
}

/// The model with each number replaced.
fn mapped(model: &Model, f: impl Fn(f64) -> f64) -> Model {
    let mut model = model.clone();
    for layer in &mut model.layers {
        layer.w.iter_mut().flatten().for_each(|w| *w = f(f64::from(*w)) as f32);
        layer.b = f(layer.b);
    }
    model.head = (f(f64::from(model.head.0)) as f32, f(model.head.1));
    model
}

/// Checks that all ranks have the same text.
fn assert_same(world: &SimpleCommunicator, text: &str) {
    let first: String = treedef_mpi::broadcast(world, 0, Some(&text.to_owned())).unwrap();
    assert_eq!(text, first);
}
