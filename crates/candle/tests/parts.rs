//! Parts of a model by patterns: types, the table, and what is trained.

use candle_core::{DType, Device};
use insta::assert_snapshot;
use serde::{Deserialize, Serialize};
use treedef_candle::nn::{BatchNorm, Initialiser, Linear};
use treedef_candle::{summary, to_device, to_dtype};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

#[derive(Clone, Serialize, Deserialize)]
struct Model {
    layers: Vec<Linear>,
    norm: BatchNorm,
}

fn model() -> candle_core::Result<Model> {
    let mut init = Initialiser::new(0);
    let (up, down) = (Linear::new(3, 8, &mut init)?, Linear::new(8, 12, &mut init)?.without_bias());
    Ok(Model { layers: vec![up, down], norm: BatchNorm::new(12, &mut init)? })
}

#[test]
fn a_table_of_the_tensors() -> Result {
    let model = model()?;
    let frozen = summary(&model)?.frozen("layers[0]")?;
    let frozen = frozen.frozen("norm.running_mean")?.frozen("norm.running_var")?;
    assert_snapshot!(frozen, @"
    layers.0.weight           f32[8, 3]   24
    layers.0.bias             f32[8]       8
    layers.1.weight           f32[12, 8]  96  trained
    norm.weight               f32[12]     12  trained
    norm.bias                 f32[12]     12  trained
    norm.running_mean         f32[12]     12
    norm.running_var          f32[12]     12
    norm.num_batches_tracked  i64[]        1
    177 numbers, 120 of them trained
    ");
    assert_snapshot!(summary(&model)?.frozen("layer").unwrap_err(), @"no node matches `.layer` (did you mean `.layers`?)");
    // What is in two places counts once.
    let twice = (model.clone(), model.clone());
    assert_eq!(summary(&twice)?.numbers(), summary(&model)?.numbers());
    assert_eq!(summary(&twice)?.rows().len(), 2 * summary(&model)?.rows().len());
    // A training has two parameters of it.
    assert_eq!(summary(&twice)?.trained_numbers(), 2 * summary(&model)?.trained_numbers());
    let weight = model.layers[1].weight.clone();
    let pair = [treedef::Object(weight.clone()), treedef::Object(weight)];
    assert_snapshot!(summary(&pair)?.frozen("[1]")?, @"
    0  f32[12, 8]  96  trained
    1  f32[12, 8]  96  shared with `0`
    96 numbers, 96 of them trained
    ");
    assert_snapshot!(summary(&pair)?, @"
    0  f32[12, 8]  96  trained
    1  f32[12, 8]  96  trained, apart from `0`
    96 numbers, 192 of them trained
    ");
    Ok(())
}

#[test]
fn a_part_in_another_type() -> Result {
    let mut model = model()?;
    model.layers.push(model.layers[0].clone());
    let halves = to_dtype(&model, "layers", DType::BF16)?;
    let types: Vec<DType> = summary(&halves)?.rows().iter().map(|row| row.dtype).collect();
    assert_eq!(types[..5], [DType::BF16; 5]);
    // Integers stay, and ties too.
    assert!(types[5..].iter().all(|dtype| matches!(dtype, DType::F32 | DType::I64)));
    assert_eq!(halves.layers[0].weight.id(), halves.layers[2].weight.id());
    let back = to_dtype(&halves, "**", DType::F32)?;
    assert_eq!(back.layers[0].weight.id(), back.layers[2].weight.id());
    let error = to_dtype(&model, "layers[*].wieght", DType::F16).map(drop).unwrap_err();
    assert_snapshot!(error, @"no node matches `.layers[*].wieght` (did you mean `.layers[*].weight`?)");
    let error = to_dtype(&model, "norm", DType::F4).map(drop).unwrap_err();
    assert!(error.to_string().contains("at `.norm.weight?`"), "{error}");
    to_device(&model, "norm.**", &Device::Cpu)?;
    let error = to_dtype(&model, "norm", DType::U8).map(drop).unwrap_err();
    assert_snapshot!(error, @"u8 is no type of floats");
    // What is no tensor is there, and has no type.
    let error = to_dtype(&model, "norm.eps", DType::F16).map(drop).unwrap_err();
    assert_snapshot!(error, @"`norm.eps` names no tensor");
    assert_snapshot!(summary(&model)?.frozen("norm.eps").unwrap_err(), @"`norm.eps` names no tensor");
    Ok(())
}
