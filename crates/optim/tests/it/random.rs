//! A model with a loss, for tests that train.

use serde::{Deserialize, Serialize};

/// A perceptron with one hidden layer, and something that is no number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Net {
    pub(crate) name: String,
    pub(crate) layers: Vec<Dense>,
    pub(crate) scale: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Dense {
    pub(crate) w: Vec<f64>,
    pub(crate) b: f64,
}

pub(crate) fn net(seed: u64, widths: &[usize]) -> Net {
    let mut random = fastrand::Rng::with_seed(seed);
    let layer =
        |width: &usize| Dense { w: (0..*width).map(|_| random.f64() - 0.5).collect(), b: 0.1 };
    Net { name: "net".to_owned(), layers: widths.iter().map(layer).collect(), scale: 1.5 }
}

impl Net {
    /// A gradient that depends on the parameters and on the step, of a loss that nobody needs.
    pub(crate) fn gradient(&self, step: u64) -> Net {
        let mut random = fastrand::Rng::with_seed(step);
        let mut of = |x: f64| 0.3 * x + (random.f64() - 0.5);
        Net {
            name: String::new(),
            layers: self
                .layers
                .iter()
                .map(|layer| Dense { w: layer.w.iter().map(|w| of(*w)).collect(), b: of(layer.b) })
                .collect(),
            scale: of(self.scale),
        }
    }

    pub(crate) fn bits(&self) -> Vec<u64> {
        let numbers = self.layers.iter().flat_map(|layer| layer.w.iter().chain([&layer.b]));
        numbers.chain([&self.scale]).map(|number| number.to_bits()).collect()
    }
}
