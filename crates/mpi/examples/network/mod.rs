//! A network and its data, for the examples that train.

use serde::{Deserialize, Serialize};

const SAMPLES: usize = 20_000;
const WIDTH: usize = 48;

/// Two layers: `y = sum(out * tanh(w x + b)) + offset`.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Network {
    #[serde(with = "treedef::as_static")]
    pub(crate) activation: String,
    pub(crate) hidden: Vec<Neuron>,
    pub(crate) offset: f64,
}

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Neuron {
    pub(crate) w: [f64; 2],
    pub(crate) b: f64,
    pub(crate) out: f64,
}

/// The sums of a step over all samples, on all ranks.
#[derive(Serialize, Deserialize)]
pub(crate) struct Step {
    pub(crate) gradient: Network,
    pub(crate) loss: f64,
    pub(crate) samples: f64,
}

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Sample {
    pub(crate) x: [f64; 2],
    pub(crate) y: f64,
}

impl Network {
    pub(crate) fn new() -> Self {
        let mut random = fastrand::Rng::with_seed(7);
        let mut number = || random.f64() * 2.0 - 1.0;
        let hidden = (0..WIDTH).map(|_| Neuron {
            w: [number(), number()],
            b: number(),
            out: number() / WIDTH as f64,
        });
        Network { activation: "tanh".to_owned(), hidden: hidden.collect(), offset: 0.0 }
    }

    /// The loss and its gradient, summed over the samples.
    pub(crate) fn step(&self, samples: &[Sample], step: &mut Step) {
        step.loss = 0.0;
        step.samples = samples.len() as f64;
        step.gradient.offset = 0.0;
        for neuron in &mut step.gradient.hidden {
            *neuron = Neuron { w: [0.0; 2], b: 0.0, out: 0.0 };
        }
        for Sample { x, y } in samples {
            let active =
                |neuron: &Neuron| (neuron.w[0] * x[0] + neuron.w[1] * x[1] + neuron.b).tanh();
            let guess: f64 = self.hidden.iter().map(|neuron| neuron.out * active(neuron)).sum();
            let error = guess + self.offset - y;
            step.loss += error * error;
            step.gradient.offset += 2.0 * error;
            for (neuron, gradient) in self.hidden.iter().zip(&mut step.gradient.hidden) {
                let active = active(neuron);
                let inner = 2.0 * error * neuron.out * (1.0 - active * active);
                gradient.out += 2.0 * error * active;
                gradient.b += inner;
                gradient.w[0] += inner * x[0];
                gradient.w[1] += inner * x[1];
            }
        }
    }
}

pub(crate) fn samples() -> Vec<Sample> {
    let mut random = fastrand::Rng::with_seed(1);
    let sample = |_| {
        let x = [random.f64() * 4.0 - 2.0, random.f64() * 4.0 - 2.0];
        Sample { x, y: (x[0] * 2.0).sin() + x[1] * x[1] / 4.0 }
    };
    (0..SAMPLES).map(sample).collect()
}
