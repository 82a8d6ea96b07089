//! Five structs of a configuration.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Model {
    pub name: String,
    pub layers: Vec<Layer>,
    pub optimizer: Optimizer,
    pub data: Data,
    pub scale: Option<f64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Layer {
    pub weights: Vec<Vec<f64>>,
    pub bias: Vec<f64>,
    pub norm: Option<Norm>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Norm {
    pub mean: f64,
    pub variance: f64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Optimizer {
    pub kind: String,
    pub rate: f64,
    pub steps: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Data {
    pub paths: Vec<String>,
    pub shuffle: bool,
    pub batch: u32,
}
