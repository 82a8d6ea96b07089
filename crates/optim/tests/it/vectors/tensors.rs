//! Gradients from candle, of tensors in `f64`.

use std::marker::PhantomData;

use candle_core::{D, DType, Device, Tensor};
use serde::{Deserialize, Serialize};
use treedef_optim::candle;

use super::model::{Data, Layer, Mlp, Targets};
use super::{Kind, MATRICES, runs};

#[derive(Serialize, Deserialize)]
struct TensorMlp {
    layers: Vec<TensorLayer>,
    #[serde(with = "treedef::object")]
    scale: Tensor,
}

#[derive(Serialize, Deserialize)]
struct TensorLayer {
    #[serde(with = "treedef::object")]
    b: Tensor,
    #[serde(with = "treedef::object")]
    w: Tensor,
}

#[test]
fn optax_is_met_with_candle() {
    let kind = Kind {
        make,
        value_and_grad: |model: &TensorMlp, data: &Data| {
            candle::value_and_grad(|model: &TensorMlp| model.loss(data), model)
        },
        plain,
        round: |tensor: Tensor| tensor.to_dtype(DType::F32).unwrap().to_dtype(DType::F64).unwrap(),
        leaf: PhantomData::<Tensor>,
    };
    assert_eq!(kind.replay(), 122);

    // A test of shapes has the leaves of the `mask` in the runs of optax: the matrices `w`.
    let mut decayed = 0;
    for (line, mut run) in runs().into_iter().enumerate() {
        for adamw in run.optimiser.iter_mut().filter_map(|part| part.get_mut("adamw")) {
            assert_eq!(adamw["decay"], "**.w");
            adamw["decay"] = MATRICES.into();
            decayed += 1;
        }
        if run.optimiser.iter().any(|part| part.contains_key("adamw")) {
            kind.run(line, &run, true);
        }
    }
    assert!(decayed >= 10);
}

fn make(model: &Mlp<f64>) -> TensorMlp {
    let layer = |layer: &Layer<f64>| TensorLayer {
        b: Tensor::new(&*layer.b, &Device::Cpu).unwrap(),
        w: Tensor::new(layer.w.clone(), &Device::Cpu).unwrap(),
    };
    TensorMlp {
        layers: model.layers.iter().map(layer).collect(),
        scale: Tensor::new(model.scale, &Device::Cpu).unwrap(),
    }
}

fn plain(model: &TensorMlp) -> Mlp<f64> {
    let layer = |layer: &TensorLayer| Layer {
        b: layer.b.to_vec1().unwrap(),
        w: layer.w.to_vec2().unwrap(),
    };
    Mlp {
        layers: model.layers.iter().map(layer).collect(),
        scale: model.scale.to_scalar().unwrap(),
    }
}

impl TensorMlp {
    fn loss(&self, data: &Data) -> candle_core::Result<Tensor> {
        let mut h = Tensor::new(data.x.clone(), &Device::Cpu)?;
        for (at, layer) in self.layers.iter().enumerate() {
            h = h.matmul(&layer.w)?.broadcast_add(&layer.b)?;
            if at + 1 < self.layers.len() {
                h = match data.act.as_str() {
                    "tanh" => h.tanh()?,
                    "relu" => h.relu()?,
                    "sigmoid" => (h.neg()?.exp()? + 1.0)?.recip()?,
                    other => panic!("no activation `{other}`"),
                };
            }
        }
        let y = h.broadcast_mul(&self.scale)?;
        match &data.t {
            Targets::Numbers(t) => (y - Tensor::new(t.clone(), &Device::Cpu)?)?.sqr()?.mean_all(),
            Targets::Labels(labels) => {
                let labels: Vec<u32> = labels.iter().map(|label| *label as u32).collect();
                let labels = Tensor::new(labels, &Device::Cpu)?.unsqueeze(1)?;
                let chosen = y.gather(&labels, 1)?.squeeze(1)?;
                (y.log_sum_exp(D::Minus1)? - chosen)?.mean_all()
            }
        }
    }
}
