//! Loads a safetensors file into a struct of arrays of other crates and saves it again: `-- FROM TO`.
//!
//! `load_save.py` of the package `treedef-tensors` writes such files, and compares what comes back.

use std::error::Error;
use std::fs;

use burn_tensor::TensorData;
use half::f16;
use nalgebra::{DMatrix, DVector, SMatrix};
use ndarray::{Array0, Array1, Array2, Array3, ArrayD};
use serde::{Deserialize, Serialize};
use treedef::{ArrayRule, Flattener, Leaf, Tree};
use treedef_tensors::{Export, Loader, Tensors, safetensors};

#[derive(Serialize, Deserialize)]
struct Layer {
    w: Array2<f32>,
    b: Option<Array1<f64>>,
    scale: Array1<f16>,
    burn: TensorData,
}

/// An array of a program that has no `ndarray`.
#[derive(Serialize, Deserialize)]
struct Matrix {
    shape: Vec<u32>,
    data: Vec<i16>,
}

/// serde does not say what these ask for.
#[derive(Serialize, Deserialize)]
struct Flattened {
    mask: TensorData,
    gain: Array2<i32>,
    bias: Vec<f32>,
}

/// Matrices by columns: `[i, j]` is `10 i + j` there.
#[derive(Serialize, Deserialize)]
struct Columns {
    fixed: SMatrix<f64, 2, 3>,
    square: glam::Mat3,
    dynamic: DMatrix<f32>,
    vector: DVector<f16>,
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
    columns: Columns,
    #[serde(flatten)]
    flattened: Flattened,
}

/// Which arrays the type has below `flatten`. Sizes do not matter.
fn example() -> Model {
    Model {
        layers: Vec::new(),
        table: Matrix { shape: Vec::new(), data: Vec::new() },
        colours: Array2::from_elem((0, 0), [0; 3]),
        cube: Array3::from_elem((0, 0, 0), false),
        any: Array0::zeros(()).into_dyn(),
        step: Array0::zeros(()),
        plain: Vec::new(),
        columns: Columns {
            fixed: SMatrix::zeros(),
            square: glam::Mat3::IDENTITY,
            dynamic: DMatrix::zeros(0, 0),
            vector: DVector::from_vec(Vec::new()),
        },
        flattened: Flattened {
            mask: TensorData::from([[true]]),
            gain: Array2::zeros((1, 1)),
            bias: vec![0.0],
        },
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from, to] = arguments.as_slice() else { return Err("usage: load_save FROM TO".into()) };
    let file = fs::read(from)?;
    let loader = Loader::new().column_major("columns.*");
    let model: Model = loader.load_like(&example(), &safetensors::from_bytes(&file)?)?;
    let rules = Flattener::new()
        .arrays(true)
        .array_rule(ArrayRule::Matrix("**.fixed".parse()?, 2, 3))
        .array_rule(ArrayRule::Matrix("**.square".parse()?, 3, 3))
        .array_rule(ArrayRule::Nalgebra("**.dynamic".parse()?))
        .array_rule(ArrayRule::Nalgebra("**.vector".parse()?));
    let at = |row: usize, column: usize| (row * 10 + column) as f32;
    let Columns { fixed, square, dynamic, .. } = &model.columns;
    assert_eq!(*fixed, SMatrix::<f64, 2, 3>::from_fn(|row, column| f64::from(at(row, column))));
    assert_eq!(square.row(2).to_array(), [at(2, 0), at(2, 1), at(2, 2)]);
    assert_eq!(*dynamic, DMatrix::from_fn(dynamic.nrows(), dynamic.ncols(), at));
    let tree = rules.tree(&model)?;
    let tensors = Tensors::of(&tree)?;
    safetensors::save(&tensors, to)?;
    // The structure in the metadata makes the same tree.
    let saved = fs::read(to)?;
    let back: Tree<Leaf> = Export::new().tree(&safetensors::from_bytes(&saved)?.read()?)?;
    assert_eq!(back, tree.clone().without_arrays()?);
    Ok(())
}
