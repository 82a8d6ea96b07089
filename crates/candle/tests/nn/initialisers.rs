//! The distributions of new parameters are PyTorch's.

use candle_core::{DType, Device, Tensor};
use treedef_candle::nn::{
    BatchNorm, Conv2d, ConvOptions, ConvTranspose2d, Embedding, Gru, Initialiser, LayerNorm,
    Linear, Lstm, MultiHeadAttention,
};

fn numbers(tensor: &Tensor) -> Vec<f64> {
    tensor.to_dtype(DType::F64).unwrap().flatten_all().unwrap().to_vec1().unwrap()
}

/// Many numbers within the limit, some of them near it, with the variance of a uniform distribution.
fn is_uniform(tensor: &Tensor, limit: f64) {
    let numbers = numbers(tensor);
    let count = numbers.len() as f64;
    let largest = numbers.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
    assert!(largest <= limit && (count < 100.0 || largest > 0.95 * limit), "{largest} of {limit}");
    let mean = numbers.iter().sum::<f64>() / count;
    let square = numbers.iter().map(|x| x * x).sum::<f64>() / count;
    assert!(mean.abs() < 4.0 * limit / (3.0 * count).sqrt(), "{mean}");
    let spread = 4.0 * (4.0 / 45.0 / count).sqrt();
    assert!((square / (limit * limit) - 1.0 / 3.0).abs() < spread, "{square}");
}

#[test]
fn uniform_ones() {
    let init = &mut Initialiser::new(3);
    let linear = Linear::new(64, 50, init).unwrap();
    is_uniform(&linear.weight, 0.125);
    is_uniform(&linear.bias.unwrap(), 0.125);
    let options = ConvOptions { groups: 2, ..ConvOptions::default() };
    // 8 channels of 16, at 3 · 3 places; for the transposed one, 12 of 24.
    let conv = Conv2d::new(16, 24, [3, 3], options, init).unwrap();
    is_uniform(&conv.weight, 1.0 / 72f64.sqrt());
    is_uniform(&conv.bias.unwrap(), 1.0 / 72f64.sqrt());
    let conv = ConvTranspose2d::new(16, 24, [3, 3], options, init).unwrap();
    is_uniform(&conv.weight, 1.0 / 108f64.sqrt());
    is_uniform(&conv.bias.unwrap(), 1.0 / 108f64.sqrt());
    let lstm = Lstm::new(7, 25, init).unwrap();
    is_uniform(&lstm.weight_ih_l0, 0.2);
    is_uniform(&lstm.bias_hh_l0.unwrap(), 0.2);
    is_uniform(&Gru::new(7, 25, init).unwrap().weight_hh_l0, 0.2);
    let attention = MultiHeadAttention::new(32, 4, 2, init).unwrap();
    // PyTorch's packed matrix: 32 queries, 16 keys and 16 values of 32 inputs.
    is_uniform(&attention.q_proj.weight, (6f64 / 96.0).sqrt());
    is_uniform(&attention.v_proj.weight, (6f64 / 96.0).sqrt());
    is_uniform(&attention.o_proj.weight, 1.0 / 32f64.sqrt());
    assert!(numbers(&attention.o_proj.bias.unwrap()).iter().all(|&x| x == 0.0));
}

#[test]
fn normal_and_constant_ones() {
    let mut init = Initialiser::new(3).dtype(DType::F64);
    let embedding = numbers(&Embedding::new(500, 40, &mut init).unwrap().weight);
    let moment = |power| embedding.iter().map(|x: &f64| x.powi(power)).sum::<f64>() / 20_000.0;
    assert!(moment(1).abs() < 0.03, "{}", moment(1));
    assert!((moment(2) - 1.0).abs() < 0.04, "{}", moment(2));
    assert!((moment(4) - 3.0).abs() < 0.3, "{}", moment(4));
    let norm = LayerNorm::new((2, 3), 1e-5, &mut init).unwrap();
    assert_eq!(numbers(&norm.weight), [1.0; 6]);
    assert_eq!(numbers(&norm.bias.unwrap()), [0.0; 6]);
    let norm = BatchNorm::new(2, &mut init).unwrap();
    assert_eq!(
        (numbers(&norm.running_mean), numbers(&norm.running_var)),
        (vec![0.0; 2], vec![1.0; 2])
    );
    assert_eq!(norm.num_batches_tracked.dtype(), DType::I64);
}

#[test]
fn the_numbers_are_those_of_f64_rounded() {
    let of = |dtype| {
        let mut init = Initialiser::new(9).dtype(dtype).device(&Device::Cpu);
        Linear::new(5, 4, &mut init).unwrap().weight
    };
    assert_eq!(
        of(DType::F64).to_dtype(DType::F32).unwrap().to_vec2::<f32>().unwrap(),
        of(DType::F32).to_vec2::<f32>().unwrap()
    );
    assert_eq!(of(DType::BF16).dtype(), DType::BF16);
}
