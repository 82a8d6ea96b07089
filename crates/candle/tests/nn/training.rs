//! A training with running statistics.

use candle_core::{Module, Result, Tensor};
use serde::{Deserialize, Serialize};
use treedef_candle::nn::{BatchNorm, BatchStatistics, Initialiser, Linear};
use treedef_candle::optim::{Optimiser, adamw};
use treedef_candle::{Gradient, value_and_grad_with};

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
