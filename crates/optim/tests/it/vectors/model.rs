//! The model of the vectors.

use serde::{Deserialize, Serialize};

/// A perceptron. The fields are in another order than in the vectors.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Mlp<T> {
    pub(crate) scale: T,
    pub(crate) layers: Vec<Layer<T>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Layer<T> {
    pub(crate) w: Vec<Vec<T>>,
    pub(crate) b: Vec<T>,
}

/// What the loss is about.
#[derive(Clone, Deserialize)]
pub(crate) struct Data {
    pub(crate) act: String,
    pub(crate) x: Vec<Vec<f64>>,
    pub(crate) t: Targets,
}

#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum Targets {
    Labels(Vec<usize>),
    Numbers(Vec<Vec<f64>>),
}
