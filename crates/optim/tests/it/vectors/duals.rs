//! Gradients from dual numbers. The model has nothing but serde's derives.

use std::marker::PhantomData;

use num_dual::{Dual64, DualNum};
use treedef_optim::{dual, losses};

use super::model::{Data, Mlp, Targets};
use super::{Kind, round_number};

#[test]
fn optax_is_met_with_duals() {
    let kind = Kind {
        make: Mlp::clone,
        value_and_grad: |model: &Mlp<f64>, data: &Data| {
            dual::value_and_grad(|model: &Mlp<Dual64>| loss(model, data), model)
        },
        plain: Mlp::clone,
        round: round_number,
        leaf: PhantomData::<f64>,
    };
    assert_eq!(kind.replay(), 118);
}

fn act(kind: &str, z: Dual64) -> Dual64 {
    match kind {
        "tanh" => z.tanh(),
        "relu" if z.re > 0.0 => z,
        "relu" => Dual64::from_re(0.0),
        "sigmoid" => ((-z).exp() + 1.0).recip(),
        other => panic!("no activation `{other}`"),
    }
}

fn loss(model: &Mlp<Dual64>, data: &Data) -> Dual64 {
    let mut loss = Dual64::from_re(0.0);
    let rows = data.x.len() as f64;
    for (row, x) in data.x.iter().enumerate() {
        let mut h: Vec<Dual64> = x.iter().copied().map(Dual64::from_re).collect();
        for (at, layer) in model.layers.iter().enumerate() {
            let mut z = layer.b.clone();
            for (x, weights) in h.iter().zip(&layer.w) {
                z.iter_mut().zip(weights).for_each(|(z, w)| *z += *x * *w);
            }
            if at + 1 < model.layers.len() {
                z.iter_mut().for_each(|z| *z = act(&data.act, *z));
            }
            h = z;
        }
        h.iter_mut().for_each(|y| *y *= model.scale);
        loss += match &data.t {
            Targets::Numbers(t) => {
                let squares = h.iter().zip(&t[row]).map(|(y, t)| (*y - *t).powi(2));
                squares.sum::<Dual64>() / (rows * h.len() as f64)
            }
            Targets::Labels(labels) => -losses::log_softmax(&h)[labels[row]] / rows,
        };
    }
    loss
}
