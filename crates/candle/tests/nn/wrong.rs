//! Wrong use, and the ways from and into candle's layers.

use candle_core::{DType, Device, Module, ModuleT, Tensor};
use treedef_candle::nn::{
    BatchNorm, Conv1d, Conv2d, ConvOptions, ConvTranspose1d, ConvTranspose2d, Dropout, Embedding,
    GroupNorm, Initialiser, LayerNorm, Linear, Lstm, MultiHeadAttention, RmsNorm, Rope,
};

fn zeros(shape: &[usize]) -> Tensor {
    Tensor::zeros(shape, DType::F32, &Device::Cpu).unwrap()
}

fn first_line(error: candle_core::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

#[test]
fn errors() {
    let init = &mut Initialiser::new(0);
    let linear = Linear::new(4, 3, init).unwrap();
    let norm = LayerNorm::new(4, 1e-5, init).unwrap();
    let groups = GroupNorm::new(2, 4, 1e-5, init).unwrap();
    let batch = BatchNorm::new(4, init).unwrap();
    let three = ConvOptions { groups: 3, ..ConvOptions::default() };
    let still = ConvOptions { stride: 0, ..ConvOptions::default() };
    let wide = ConvOptions { padding: 5, ..ConvOptions::default() };
    let conv = Conv1d::new(4, 6, 3, ConvOptions::default(), init).unwrap();
    let transposed = ConvTranspose1d::new(4, 6, 3, ConvOptions::default(), init).unwrap();
    let errors = [
        linear.forward(&zeros(&[2, 3])).unwrap_err(),
        linear.forward(&zeros(&[])).unwrap_err(),
        norm.forward(&zeros(&[2, 3])).unwrap_err(),
        groups.forward(&zeros(&[2, 6, 5])).unwrap_err(),
        groups.forward(&zeros(&[2])).unwrap_err(),
        batch.forward_t(&zeros(&[2, 3]), false).unwrap_err(),
        batch.forward_t(&zeros(&[1, 4]), true).unwrap_err(),
        Conv1d::new(4, 6, 3, three, init).unwrap_err(),
        conv.forward(&zeros(&[1, 4, 2])).unwrap_err(),
        Conv1d { options: still, ..conv }.forward(&zeros(&[1, 4, 9])).unwrap_err(),
        transposed.forward(&zeros(&[1, 4, 0])).unwrap_err(),
        ConvTranspose1d { options: wide, ..transposed }.forward(&zeros(&[1, 4, 5])).unwrap_err(),
        MultiHeadAttention::new(8, 3, 1, init).unwrap_err(),
        Dropout { rate: 1.0 }.forward_t(&zeros(&[2]), true).unwrap_err(),
    ];
    let errors: Vec<String> = errors.into_iter().map(first_line).collect();
    insta::assert_snapshot!(errors.join("\n"), @"
    a linear layer of 4 inputs got [2, 3]
    a linear layer takes at least one dimension, not a single number
    a norm of the last dimensions [4] got [2, 3]
    2 groups of 4 channels got [2, 6, 5]
    a norm of groups takes [batch, channels, …], and got [2]
    a batch norm of 4 channels takes [batch, 4, …], and got [2, 3]
    a batch norm needs more than one number of a channel, and got [1, 4]
    3 groups do not divide 4 and 6 channels
    a kernel of 3 with ConvOptions { stride: 1, padding: 0, dilation: 1, groups: 1 } does not fit into [1, 4, 2]
    a kernel of 3 with ConvOptions { stride: 0, padding: 0, dilation: 1, groups: 1 } does not fit into [1, 4, 9]
    a transposed kernel [4, 6, 3] with ConvOptions { stride: 1, padding: 0, dilation: 1, groups: 1 } makes nothing of [1, 4, 0]
    a transposed kernel [4, 6, 3] with ConvOptions { stride: 1, padding: 5, dilation: 1, groups: 1 } makes nothing of [1, 4, 5]
    3 heads with 1 keys do not divide a size of 8
    a rate of dropout is from 0 to below 1, not 1
    ");
}

/// Fields are public, so they may be anything.
#[test]
fn other_numbers_in_fields_are_no_panic() {
    let init = &mut Initialiser::new(0);
    let x = zeros(&[1, 2, 4]);
    let mut attention = MultiHeadAttention::new(4, 2, 1, init).unwrap();
    for (heads, kv_heads) in [(0, 1), (2, 0), (0, 0), (3, 1), (2, 3), (9, 9)] {
        (attention.heads, attention.kv_heads) = (heads, kv_heads);
        assert!(attention.forward(&x).is_err(), "{heads} {kv_heads}");
    }
    let norm = GroupNorm::new(2, 4, 1e-5, init).unwrap();
    assert!(GroupNorm { groups: 0, ..norm }.forward(&zeros(&[1, 4, 2])).is_err());
    let odd = Linear { weight: zeros(&[2]), bias: None };
    assert!(odd.forward(&x).is_err());
    let lstm = Lstm { weight_hh_l0: zeros(&[8, 3]), ..Lstm::new(4, 2, init).unwrap() };
    assert!(lstm.forward(&x).is_err());
    assert!(Rope::new(10.0).rotate(&zeros(&[1, 1, 2, 3]), 0).is_err());
}

#[test]
fn no_rows_are_no_error() {
    let init = &mut Initialiser::new(0);
    let x = Linear::new(4, 3, init).unwrap().forward(&zeros(&[0, 4])).unwrap();
    assert_eq!(x.dims(), [0, 3]);
}

#[test]
fn candles_layers_and_back() {
    let init = &mut Initialiser::new(0);
    let same = |ours: &dyn Module, candles: &dyn Module, x: &Tensor| {
        let [a, b] = [ours, candles].map(|layer| layer.forward(x).unwrap());
        assert_eq!(a.dims(), b.dims());
        let distance = (a - b).unwrap().abs().unwrap().max_all().unwrap();
        assert!(distance.to_scalar::<f32>().unwrap() < 1e-5);
    };
    macro_rules! both_ways {
        ($layer:ident, $new:expr, $x:expr) => {
            let ours: $layer = $new;
            let candles: candle_nn::$layer = ours.clone().try_into().unwrap();
            let x: Tensor = $x;
            same(&ours, &candles, &x);
            same(&$layer::try_from(candles.clone()).unwrap(), &candles, &x);
        };
    }
    let image = init.normal((2, 4, 5, 5)).unwrap();
    let sequence = init.normal((2, 4, 5)).unwrap();
    let options = ConvOptions { stride: 2, padding: 1, ..ConvOptions::default() };
    both_ways!(Linear, Linear::new(5, 3, init).unwrap(), sequence.clone());
    both_ways!(
        Embedding,
        Embedding::new(5, 3, init).unwrap(),
        Tensor::new(&[3u32, 0], &Device::Cpu).unwrap()
    );
    both_ways!(LayerNorm, LayerNorm::new(5, 1e-3, init).unwrap(), sequence.clone());
    both_ways!(RmsNorm, RmsNorm::new(5, 1e-3, init).unwrap(), sequence.clone());
    both_ways!(Conv1d, Conv1d::new(4, 6, 3, options, init).unwrap(), sequence.clone());
    both_ways!(Conv2d, Conv2d::new(4, 6, [3, 2], options, init).unwrap(), image.clone());
    let mut conv =
        ConvTranspose1d::new(4, 6, 3, ConvOptions { groups: 2, ..options }, init).unwrap();
    conv.output_padding = 1;
    both_ways!(ConvTranspose1d, conv, sequence.clone());
    both_ways!(
        ConvTranspose2d,
        ConvTranspose2d::new(4, 6, [3, 2], options, init).unwrap(),
        image.clone()
    );

    let keeps_mean = candle_nn::RmsNorm::new(zeros(&[3]), 1e-5).into_inner();
    let groups = ConvOptions { groups: 2, ..options };
    let errors = [
        LayerNorm::try_from(keeps_mean).unwrap_err(),
        candle_nn::LayerNorm::try_from(LayerNorm::new((2, 3), 1e-5, init).unwrap()).unwrap_err(),
        candle_nn::ConvTranspose2d::try_from(
            ConvTranspose2d::new(4, 6, [3, 3], groups, init).unwrap(),
        )
        .unwrap_err(),
    ];
    let errors: Vec<String> = errors.into_iter().map(first_line).collect();
    insta::assert_snapshot!(errors.join("\n"), @"
    a layer norm that keeps the mean is an `RmsNorm`
    a norm of candle is over one dimension, not [2, 3]
    candle has no transposed convolution of images in 2 groups
    ");

    let (mean, var) = (init.normal(4).unwrap(), init.constant(2.0, 4).unwrap());
    let candles = candle_nn::BatchNorm::new(
        4,
        mean,
        var,
        init.normal(4).unwrap(),
        init.normal(4).unwrap(),
        1e-3,
    );
    let candles = candles.unwrap();
    let mut ours = BatchNorm::try_from(candles.clone()).unwrap();
    for train in [false, true, false] {
        let y = ours.forward_train(&image).unwrap();
        let a = if train {
            ours.set_statistics(y.1);
            y.0
        } else {
            ours.forward_eval(&image).unwrap()
        };
        let b = candles.forward_t(&image, train).unwrap();
        let distance = (a - b).unwrap().abs().unwrap().max_all().unwrap();
        assert!(distance.to_scalar::<f32>().unwrap() < 1e-5);
    }
}
