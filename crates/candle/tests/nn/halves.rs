//! All layers in half floats: as in `f32`, up to the rounding.

use candle_core::{DType, Module, ModuleT, Tensor};
use candle_nn::Activation;
use treedef_candle::nn::{
    BatchNorm, Conv1d, Conv2d, ConvOptions, ConvTranspose1d, ConvTranspose2d, Dropout, GroupNorm,
    Gru, Initialiser, LayerNorm, Linear, Lstm, Mlp, MultiHeadAttention, RmsNorm, Rope, SwiGlu,
};

/// The outputs of each layer for the same input, in one type of numbers.
fn outputs(dtype: DType) -> candle_core::Result<Vec<(&'static str, Tensor)>> {
    let init = &mut Initialiser::new(5).dtype(dtype);
    let (sequence, image) = (init.normal((2, 6, 4))?, init.normal((2, 4, 5, 3))?);
    let options = ConvOptions { stride: 2, padding: 1, ..ConvOptions::default() };
    let mut attention = MultiHeadAttention::new(4, 2, 1, init)?;
    (attention.causal, attention.rope) = (true, Some(Rope::new(10_000.0)));
    Ok(vec![
        ("linear", Linear::new(4, 3, init)?.forward(&sequence)?),
        ("layer norm", LayerNorm::new(4, 1e-5, init)?.forward(&sequence)?),
        ("rms norm", RmsNorm::new(4, 1e-5, init)?.forward(&sequence)?),
        ("group norm", GroupNorm::new(2, 4, 1e-5, init)?.forward(&image)?),
        ("batch norm", BatchNorm::new(4, init)?.forward_t(&image, true)?),
        ("batch norm at rest", BatchNorm::new(4, init)?.forward_t(&image, false)?),
        ("conv1d", Conv1d::new(6, 2, 3, options, init)?.forward(&sequence)?),
        ("conv2d", Conv2d::new(4, 2, [3, 3], options, init)?.forward(&image)?),
        ("transposed", ConvTranspose1d::new(6, 2, 3, options, init)?.forward(&sequence)?),
        ("transposed image", ConvTranspose2d::new(4, 2, [3, 3], options, init)?.forward(&image)?),
        ("lstm", Lstm::new(4, 3, init)?.forward(&sequence)?),
        ("gru", Gru::new(4, 3, init)?.forward(&sequence)?),
        ("mlp", Mlp::new(&[4, 5, 2], Activation::Gelu, init)?.forward(&sequence)?),
        ("swiglu", SwiGlu::new(4, 5, init)?.forward(&sequence)?),
        ("attention", attention.forward(&sequence)?),
        ("dropout", Dropout { rate: 0.5 }.with_seed(&sequence, 3)?),
    ])
}

#[test]
fn halves() {
    let numbers = |x: &Tensor| -> Vec<f32> {
        x.to_dtype(DType::F32).unwrap().flatten_all().unwrap().to_vec1().unwrap()
    };
    let whole = outputs(DType::F32).unwrap();
    // candle has no product of matrices of `bf16` on the CPU.
    for ((name, half), (_, whole)) in outputs(DType::F16).unwrap().iter().zip(&whole) {
        assert_eq!((half.dtype(), half.dims()), (DType::F16, whole.dims()), "{name}");
        for (half, whole) in numbers(half).iter().zip(numbers(whole)) {
            assert!((half - whole).abs() < 0.01, "{name}: {half}, {whole}");
        }
    }
}
