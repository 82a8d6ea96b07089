//! Loads a safetensors file into a struct of arrays and saves it again: `-- FROM TO`.
//!
//! `python/load_save.py` writes such files, and compares what comes back.

use std::error::Error;
use std::fs;

use half::f16;
use ndarray::{Array0, Array1, Array2, Array3, ArrayD};
use serde::{Deserialize, Serialize};
use treedef::{Flattener, Tree};
use treedef_exchange::{Tensors, safetensors};

#[derive(Serialize, Deserialize)]
struct Layer {
    w: Array2<f32>,
    b: Option<Array1<f64>>,
    scale: Array1<f16>,
}

/// An array of a program that has no `ndarray`.
#[derive(Serialize, Deserialize)]
struct Matrix {
    shape: Vec<u32>,
    data: Vec<i16>,
}

#[derive(Serialize, Deserialize)]
struct Model {
    layers: Vec<Layer>,
    table: Matrix,
    colours: Array2<[u8; 3]>,
    cube: Array3<bool>,
    any: ArrayD<i64>,
    step: Array0<u64>,
    plain: Vec<[f32; 2]>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from, to] = arguments.as_slice() else { return Err("usage: load_save FROM TO".into()) };
    let model: Model = safetensors::load(&fs::read(from)?)?;
    let tree = Tree::of(&model)?;
    let tensors = Tensors::of(&tree)?;
    safetensors::save(&tensors, to)?;
    // Where arrays are leaves, the file is the same.
    let arrays = Flattener::new().arrays(true).tree(&model)?;
    assert_eq!(Tensors::of(&arrays)?, tensors);
    // The structure in the metadata makes the same tree.
    assert_eq!(safetensors::to_tree(&fs::read(to)?)?, tree);
    Ok(())
}
