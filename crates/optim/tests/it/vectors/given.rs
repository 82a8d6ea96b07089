//! Gradients from a backward pass that is written by hand.

use std::marker::PhantomData;
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use treedef::Object;

use crate::leaves::Matrix;

use super::model::{Data, Layer, Mlp, Targets};
use super::{Kind, round_number};

#[test]
fn optax_is_met_with_given_gradients() {
    let kind = Kind {
        make: Mlp::clone,
        value_and_grad: |model: &Mlp<f64>, data: &Data| Ok(value_and_grad(model, data)),
        plain: Mlp::clone,
        round: round_number,
        leaf: PhantomData::<f64>,
    };
    assert_eq!(kind.replay(), 118);
    // With the schedules and the means of this crate, the rounding of optax remains as a difference.
    let numbers = super::runs().into_iter().enumerate().filter(|(_, run)| !run.is_factored());
    numbers.for_each(|(line, run)| kind.run(line, &run, false));
}

/// The parameters as arrays that know their shapes.
#[derive(Serialize, Deserialize)]
struct Arrays {
    scale: Object<Matrix>,
    layers: Vec<ArrayLayer>,
}

#[derive(Serialize, Deserialize)]
struct ArrayLayer {
    w: Object<Matrix>,
    b: Object<Matrix>,
}

fn arrays(model: &Mlp<f64>) -> Arrays {
    let array = |shape: Vec<usize>, numbers: &[f64]| {
        Object(Matrix { shape, data: Rc::new(numbers.to_vec()) })
    };
    let layer = |layer: &Layer<f64>| ArrayLayer {
        w: array(vec![layer.w.len(), layer.b.len()], &layer.w.concat()),
        b: array(vec![layer.b.len()], &layer.b),
    };
    let layers = model.layers.iter().map(layer).collect();
    Arrays { scale: array(vec![], &[model.scale]), layers }
}

fn plain(model: &Arrays) -> Mlp<f64> {
    let layer = |layer: &ArrayLayer| Layer {
        w: layer.w.data.chunks(layer.b.data.len()).map(<[f64]>::to_vec).collect(),
        b: layer.b.data.to_vec(),
    };
    Mlp { scale: model.scale.data[0], layers: model.layers.iter().map(layer).collect() }
}

#[test]
fn optax_is_met_by_arrays() {
    let kind = Kind {
        make: arrays,
        value_and_grad: |model: &Arrays, data: &Data| {
            let (loss, gradient) = value_and_grad(&plain(model), data);
            Ok((loss, arrays(&gradient)))
        },
        plain,
        round: |array: Matrix| {
            let rounded = array.data.iter().copied().map(round_number).collect();
            Matrix { data: Rc::new(rounded), ..array }
        },
        leaf: PhantomData::<Matrix>,
    };
    assert_eq!(kind.replay(), 122);
    assert!(super::runs().iter().filter(|run| run.is_factored()).count() >= 4);
}

fn act(kind: &str, z: f64) -> f64 {
    match kind {
        "tanh" => z.tanh(),
        "relu" => z.max(0.0),
        "sigmoid" => 1.0 / (1.0 + (-z).exp()),
        other => panic!("no activation `{other}`"),
    }
}

/// The derivative, from the activation.
fn slope(kind: &str, a: f64) -> f64 {
    match kind {
        "tanh" => 1.0 - a * a,
        "relu" => f64::from(a > 0.0),
        "sigmoid" => a * (1.0 - a),
        other => panic!("no activation `{other}`"),
    }
}

fn value_and_grad(model: &Mlp<f64>, data: &Data) -> (f64, Mlp<f64>) {
    let mut loss = 0.0;
    let mut gradient = Mlp {
        scale: 0.0,
        layers: model
            .layers
            .iter()
            .map(|layer| Layer {
                w: layer.w.iter().map(|row| vec![0.0; row.len()]).collect(),
                b: vec![0.0; layer.b.len()],
            })
            .collect(),
    };
    let rows = data.x.len() as f64;
    for (row, x) in data.x.iter().enumerate() {
        let mut inputs = vec![x.clone()];
        for (at, layer) in model.layers.iter().enumerate() {
            let input = inputs.last().unwrap();
            let mut z = layer.b.clone();
            for (x, weights) in input.iter().zip(&layer.w) {
                z.iter_mut().zip(weights).for_each(|(z, w)| *z += x * w);
            }
            if at + 1 < model.layers.len() {
                z.iter_mut().for_each(|z| *z = act(&data.act, *z));
            }
            inputs.push(z);
        }
        let raw = inputs.pop().unwrap();
        let y: Vec<f64> = raw.iter().map(|raw| model.scale * raw).collect();
        // The gradient of the loss with respect to the outputs.
        let outer: Vec<f64> = match &data.t {
            Targets::Numbers(t) => {
                let count = rows * y.len() as f64;
                let errors: Vec<f64> = y.iter().zip(&t[row]).map(|(y, t)| y - t).collect();
                loss += errors.iter().map(|error| error * error).sum::<f64>() / count;
                errors.iter().map(|error| 2.0 * error / count).collect()
            }
            Targets::Labels(labels) => {
                let most = y.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = y.iter().map(|y| (y - most).exp()).sum();
                loss += (sum.ln() + most - y[labels[row]]) / rows;
                let share = |(at, y): (usize, &f64)| {
                    ((y - most).exp() / sum - f64::from(u8::from(at == labels[row]))) / rows
                };
                y.iter().enumerate().map(share).collect()
            }
        };
        gradient.scale += outer.iter().zip(&raw).map(|(o, raw)| o * raw).sum::<f64>();
        let mut back: Vec<f64> = outer.iter().map(|o| o * model.scale).collect();
        for at in (0..model.layers.len()).rev() {
            let (layer, input, into) = (&model.layers[at], &inputs[at], &mut gradient.layers[at]);
            into.b.iter_mut().zip(&back).for_each(|(b, back)| *b += back);
            for (x, row) in input.iter().zip(&mut into.w) {
                row.iter_mut().zip(&back).for_each(|(w, back)| *w += x * back);
            }
            if at > 0 {
                let through = |(x, w): (&f64, &Vec<f64>)| {
                    w.iter().zip(&back).map(|(w, back)| w * back).sum::<f64>()
                        * slope(&data.act, *x)
                };
                back = input.iter().zip(&layer.w).map(through).collect();
            }
        }
    }
    (loss, gradient)
}
