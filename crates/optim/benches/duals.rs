//! `cargo bench --features num-dual --bench duals`: what a gradient by dual numbers costs, beside the loop that one writes by hand.

mod turns;

use std::hint::black_box;

use num_dual::{Dual64, DualNum};
use serde::{Deserialize, Serialize};
use treedef_optim::dual;

use turns::{Result, least};

fn main() -> Result {
    for numbers in [4, 10, 100, 1_000] {
        against_a_loop(numbers)?;
    }
    Ok(())
}

/// A model with plain fields.
#[derive(Serialize, Deserialize)]
struct Model<T> {
    weights: Vec<T>,
    offset: T,
}

impl<T: DualNum<Primitive = f64> + Copy> Model<T> {
    fn loss(&self) -> T {
        self.weights.iter().map(|w| (*w - self.offset) * (*w - self.offset)).sum()
    }
}

fn against_a_loop(numbers: usize) -> Result {
    let weights: Vec<f64> = (1..numbers).map(|at| at as f64 * 0.25).collect();
    let model = Model { weights, offset: 0.5 };
    let [ours, by_hand] = least(
        15,
        (100_000 / numbers / numbers).max(1),
        [
            &mut || {
                black_box(dual::value_and_grad(|m: &Model<Dual64>| m.loss(), black_box(&model))?);
                Ok(())
            },
            &mut || {
                let duals = black_box(&model).weights.iter().map(|w| Dual64::from_re(*w)).collect();
                let mut m = Model { weights: duals, offset: Dual64::from_re(model.offset) };
                let mut gradient = Model { weights: Vec::with_capacity(numbers), offset: 0.0 };
                for at in 0..m.weights.len() {
                    m.weights[at] = m.weights[at].derivative();
                    gradient.weights.push(m.loss().eps);
                    m.weights[at] = Dual64::from_re(model.weights[at]);
                }
                m.offset = m.offset.derivative();
                gradient.offset = m.loss().eps;
                black_box(gradient);
                Ok(())
            },
        ],
    )?;
    println!("{numbers} f64: {ours:.0} ns, by hand {by_hand:.0} ns: {:.1} times", ours / by_hand);
    Ok(())
}
