//! Parts of a model by patterns: types, the table, and trained parameters.

use candle_core::{DType, Device, Tensor};
use insta::assert_snapshot;
use serde::{Deserialize, Serialize};
use treedef_candle::nn::{BatchNorm, Initialiser, Linear};
use treedef_candle::optim::{Optimiser, adamw, sgd};
use treedef_candle::treedef::Object;
use treedef_candle::{
    GradScaler, Gradient, Unreached, mean, summary, to_device, to_dtype, value_and_grad_with,
};

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
    assert_snapshot!(frozen, @"
    layers.0.weight           f32[8, 3]   24
    layers.0.bias             f32[8]       8
    layers.1.weight           f32[12, 8]  96  trained
    norm.weight               f32[12]     12  trained
    norm.bias                 f32[12]     12  trained
    norm.running_mean         f32[12]     12  running statistics
    norm.running_var          f32[12]     12  running statistics
    norm.num_batches_tracked  i64[]        1
    177 numbers, 120 of them trained
    ");
    assert_snapshot!(frozen.clone().depth(1), @"
    layers  3 tensors  128  96 trained
    norm    5 tensors   49  24 trained
    177 numbers, 120 of them trained
    ");
    assert_snapshot!(frozen.clone().depth(2), @"
    layers.0                  2 tensors  32
    layers.1                  1 tensor   96  trained
    norm.weight               1 tensor   12  trained
    norm.bias                 1 tensor   12  trained
    norm.running_mean         1 tensor   12
    norm.running_var          1 tensor   12
    norm.num_batches_tracked  1 tensor    1
    177 numbers, 120 of them trained
    ");
    // A dot inside a key is no level.
    let adapters = std::collections::BTreeMap::from([("layers.0", model.layers[0].clone())]);
    assert_snapshot!(summary(&adapters)?.depth(2), @r"
    layers\.0.weight  1 tensor  24  trained
    layers\.0.bias    1 tensor   8  trained
    32 numbers, 32 of them trained
    ");
    assert_snapshot!(summary(&model)?.frozen("layer").unwrap_err(), @"no node matches `.layer` (did you mean `.layers`?)");
    // A tensor at two places counts once.
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
    // Leaves that are not tensors are listed, without a type.
    let error = to_dtype(&model, "norm.eps", DType::F16).map(drop).unwrap_err();
    assert_snapshot!(error, @"`norm.eps` names no tensor");
    assert_snapshot!(summary(&model)?.frozen("norm.eps").unwrap_err(), @"`norm.eps` names no tensor");
    Ok(())
}

/// No gradient reaches the running statistics, and no decay: they are no parameters.
#[test]
fn running_statistics_stay() -> Result {
    let mut model = model()?;
    let x = Tensor::randn(0f32, 1.0, (5, 3), &Device::Cpu)?;
    let loss = |model: &Model| -> candle_core::Result<_> {
        let hidden = model.layers.iter().try_fold(x.clone(), |x, layer| x.apply(layer))?;
        let (y, statistics) = model.norm.forward_train(&hidden)?;
        Ok((y.sqr()?.sqr()?.mean_all()?, statistics))
    };
    let optimiser = adamw(0.1).weight_decay(0.5);
    let mut state = optimiser.init::<Tensor, _>(&model)?;
    let strict = Gradient::new().unreached(Unreached::Error);
    let (_, statistics, gradient) = value_and_grad_with(&strict, loss, &model)?;
    let before = model.clone();
    optimiser.step_in_place(&mut model, &gradient, &mut state)?;
    let numbers = |tensor: &Tensor| tensor.to_vec1::<f32>().unwrap();
    assert_eq!(numbers(&model.norm.running_var), numbers(&before.norm.running_var));
    assert_eq!(numbers(&model.norm.running_mean), numbers(&before.norm.running_mean));
    let weight = |model: &Model| model.norm.weight.as_ref().map(numbers);
    assert_ne!(weight(&model), weight(&before));
    // The layer's own way changes them.
    model.norm.set_statistics(statistics);
    assert_ne!(numbers(&model.norm.running_var), numbers(&before.norm.running_var));
    Ok(())
}

#[derive(Clone, Serialize, Deserialize)]
struct Counted {
    layers: Vec<(Linear, Cache)>,
    #[serde(skip)]
    calls: u64,
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct Cache {
    #[serde(skip)]
    seen: Vec<u8>,
}

#[test]
fn what_serde_skips_stays_in_place() -> Result {
    let linear = Linear::new(2, 2, &mut Initialiser::new(0))?;
    let layer = |seen: u8| (linear.clone(), Cache { seen: vec![seen] });
    let mut model = Counted { layers: vec![layer(1), layer(2)], calls: 9 };
    let gradient = model.clone();
    let mut state = sgd(0.5).init::<Tensor, _>(&model)?;
    for _ in 0..2 {
        sgd(0.5).step_in_place(&mut model, &gradient, &mut state)?;
    }
    assert_eq!((model.calls, &*model.layers[1].1.seen), (9, &[2][..]));
    let halved = (&linear.weight * 0.0)?.to_vec2::<f32>()?;
    assert_eq!(model.layers[0].0.weight.to_vec2::<f32>()?, halved);
    Ok(())
}

#[test]
fn the_mean_of_models() -> Result {
    let numbers = |numbers: &[f32], dtype| -> candle_core::Result<_> {
        Ok(Object(Tensor::new(numbers, &Device::Cpu)?.to_dtype(dtype)?))
    };
    // The sum of halves is more than they can be, and so are the steps of a running mean too coarse.
    let halves = [[60_000.0, 1.0], [60_000.0, 2.0], [60_000.0, 4.0]];
    let halves = halves.map(|it| numbers(&it, DType::F16).unwrap());
    let found = mean(&halves)?.to_dtype(DType::F32)?.to_vec1::<f32>()?;
    assert_eq!(found, [60_000.0, 2.333_984_4]);
    // Integers and ties are from the first.
    let count = |count: i64| Object(Tensor::new(count, &Device::Cpu).unwrap());
    let model = |number: f32, steps| -> candle_core::Result<_> {
        let tied = numbers(&[number], DType::F32)?;
        Ok((tied.clone(), tied, count(steps), "name".to_owned()))
    };
    let found = mean([&model(1.0, 3)?, &model(2.0, 5)?])?;
    assert_eq!(found.0.to_vec1::<f32>()?, [1.5]);
    assert_eq!((found.0.id(), found.2.to_scalar::<i64>()?), (found.1.id(), 3));
    // So are other values, such as the number of an epoch.
    let at = |epoch: u32| (numbers(&[epoch as f32], DType::F32).unwrap(), epoch);
    let (tensor, epoch) = mean([&at(3), &at(4)])?;
    assert_eq!((tensor.to_vec1::<f32>()?, epoch), (vec![3.5], 3));

    let of = |error: candle_core::Error| error.to_string();
    let none: [&Model; 0] = [];
    assert_snapshot!(of(mean(none).map(drop).unwrap_err()).lines().next().unwrap(), @"there is no model to take the mean of");
    let other = [(numbers(&[1.0], DType::F32)?,), (numbers(&[1.0, 2.0], DType::F32)?,)];
    assert_snapshot!(of(mean(&other).map(drop).unwrap_err()), @"expected f32[1] as in the first model, found f32[2] at `.0`");
    let mut longer = self::model()?;
    longer.layers.pop();
    assert_snapshot!(of(mean([&self::model()?, &longer]).map(drop).unwrap_err()), @"model 2: expected 2 children, found 1 child at `.layers`");
    Ok(())
}

/// The scale as in torch's `GradScaler`: halved by gradients that are not finite, doubled after a number of finite steps.
#[test]
fn the_scale_of_a_loss() -> Result {
    let gradient = |number: f32| vec![Object(Tensor::new(&[1.0, number], &Device::Cpu).unwrap())];
    let mut scaler = GradScaler { growth_interval: 3, ..GradScaler::default() };
    assert_eq!(scaler.scale(&Tensor::new(0.5f32, &Device::Cpu)?)?.to_scalar::<f32>()?, 32_768.0);
    let infinite = f32::INFINITY;
    let steps = [infinite, f32::NAN, 2.0, 2.0, infinite, 2.0, 2.0, 2.0, 2.0];
    let mut scales = Vec::new();
    for number in steps {
        let scale = scaler.scale as f32;
        let found = scaler.unscale(gradient(number))?;
        assert_eq!(found.is_some(), number.is_finite());
        if let Some(found) = found {
            assert_eq!(found[0].to_vec1::<f32>()?, [1.0 / scale, 2.0 / scale]);
        }
        scales.push(scaler.scale);
    }
    assert_eq!(
        scales,
        [32768.0, 16384.0, 16384.0, 16384.0, 8192.0, 8192.0, 8192.0, 16384.0, 16384.0]
    );
    assert_eq!(scaler.growth_tracker, 1);
    // It is a part of the saved state.
    let tree = treedef::Tree::of(&scaler)?;
    assert_eq!(tree.into_typed::<GradScaler>()?, scaler);

    scaler.scale = 1.0;
    let mut sick = GradScaler { backoff_factor: f64::NAN, ..scaler.clone() };
    let halves = vec![Object(gradient(1.0)[0].to_dtype(DType::F16)?)];
    assert_snapshot!(scaler.unscale(gradient(f32::NAN)).unwrap_err(), @"the gradient is not finite at `[0]`");
    assert_snapshot!(scaler.unscale(halves).unwrap_err(), @"a gradient of f16 cannot be unscaled: keep the parameters in f32, and convert them in the loss by `to_dtype` at `[0]`");
    assert_snapshot!(sick.unscale(gradient(1.0)).unwrap_err(), @"expected a backoff factor between 0 and 1, found NaN");
    // The largest scale that there is.
    let mut large =
        GradScaler { scale: 2f64.powi(127), growth_interval: 1, ..GradScaler::default() };
    large.unscale(gradient(1.0))?;
    assert_eq!(large.scale, 2f64.powi(127));
    Ok(())
}
