//! A training with running statistics.

use candle_core::{DType, Module, Result, Tensor};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use treedef_candle::nn::{
    BatchNorm, BatchStatistics, Conv2d, ConvOptions, ConvTranspose2d, Initialiser, Linear,
};
use treedef_candle::optim::{Optimiser, adamw, finite};
use treedef_candle::treedef::Object;
use treedef_candle::{Gradient, value_and_grad, value_and_grad_with};

#[derive(Clone, Serialize, Deserialize)]
struct Model {
    up: Linear,
    norm: BatchNorm,
    down: Linear,
}

impl Model {
    fn loss(&self, x: &Tensor, y: &Tensor) -> Result<(Tensor, BatchStatistics)> {
        let (h, statistics) = self.norm.forward_train(&self.up.forward(x)?)?;
        Ok(((self.down.forward(&h.relu()?)? - y)?.sqr()?.mean_all()?, statistics))
    }

    fn at_rest(&self, x: &Tensor) -> Result<Tensor> {
        let h = self.norm.forward_eval(&self.up.forward(x)?)?;
        self.down.forward(&h.relu()?)
    }
}

#[test]
fn statistics_are_kept_and_not_trained() {
    let init = &mut Initialiser::new(2);
    let mut model = Model {
        up: Linear::new(3, 16, init).unwrap(),
        norm: BatchNorm::new(16, init).unwrap(),
        down: Linear::new(16, 1, init).unwrap(),
    };
    let x = init.normal((64, 3)).unwrap();
    let y = x.sum_keepdim(1).unwrap().abs().unwrap();
    let optimiser = adamw(0.02).weight_decay(0.1);
    let mut state = optimiser.init::<Tensor, _>(&model).unwrap();
    for step in 0..150 {
        let loss = |model: &Model| model.loss(&x, &y);
        let (_, statistics, gradient) =
            value_and_grad_with(&Gradient::new(), loss, &model).unwrap();
        for gradient in [&gradient.norm.running_mean, &gradient.norm.running_var] {
            assert_eq!(gradient.to_vec1::<f32>().unwrap(), [0.0; 16]);
        }
        let before = model.norm.running_var.to_vec1::<f32>().unwrap();
        model = optimiser.step(model, gradient, &mut state).unwrap();
        assert_eq!(model.norm.running_var.to_vec1::<f32>().unwrap(), before);
        model.norm.set_statistics(statistics);
        let count = model.norm.num_batches_tracked.to_scalar::<i64>().unwrap();
        assert_eq!(count, step + 1);
    }
    let number = |x: Result<Tensor>| x.unwrap().to_scalar::<f32>().unwrap();
    let trained = number(model.loss(&x, &y).map(|(loss, _)| loss));
    let at_rest = (model.at_rest(&x).unwrap() - &y).unwrap().sqr().unwrap();
    let at_rest = number(at_rest.mean_all());
    assert!(trained < 0.05 && at_rest < 0.1, "{trained} {at_rest}");
}

/// The gradient of candle alone has another size than the input.
#[test]
fn an_output_padding_that_is_not_less_than_the_stride() {
    let init = &mut Initialiser::new(5).dtype(DType::F64);
    let plain = ConvOptions::default();
    for (options, output_padding) in [
        (ConvOptions { dilation: 2, ..plain }, 1),
        (ConvOptions { dilation: 3, padding: 2, ..plain }, 2),
        (ConvOptions { dilation: 3, stride: 2, groups: 2, ..plain }, 2),
    ] {
        let conv = ConvTranspose2d::new(2, 4, [2, 2], options, init).unwrap().without_bias();
        let conv = ConvTranspose2d { output_padding, ..conv };
        let x = init.normal((2, 2, 3, 4)).unwrap();
        if options.groups == 1 {
            let ConvOptions { stride, padding, dilation, .. } = options;
            let candles =
                x.conv_transpose2d(&conv.weight, padding, output_padding, stride, dilation);
            let off = (conv.forward(&x).unwrap() - candles.unwrap()).unwrap().abs().unwrap();
            assert!(off.max_all().unwrap().to_scalar::<f64>().unwrap() < 1e-12, "{options:?}");
        }
        check_gradient(conv, x);
    }
}

#[test]
fn more_places_that_no_kernel_reaches_than_there_are() {
    let init = &mut Initialiser::new(5).dtype(DType::F64);
    for (kernel, padding, stride) in [(1, 1, 3), (3, 3, 5)] {
        let options = ConvOptions { stride, padding, ..ConvOptions::default() };
        let conv = Conv2d::new(1, 2, [kernel, kernel], options, init).unwrap();
        check_gradient(conv, init.normal((1, 1, 1, 1)).unwrap());
    }
}

/// Of the layer, and of its input.
fn check_gradient<L: Module + Serialize + DeserializeOwned>(layer: L, x: Tensor) {
    let model = (layer, Object(x));
    let loss = |(layer, x): &(L, Object<Tensor>)| layer.forward(x)?.sin()?.sqr()?.sum_all();
    let (_, gradient) = value_and_grad(loss, &model).unwrap();
    let number = |model: &(L, Object<Tensor>)| loss(model)?.to_scalar::<f64>();
    let worst = finite::check_gradient::<Tensor, _, _>(number, &model, &gradient).unwrap();
    assert!(worst.error < 1e-8, "{worst}");
}
