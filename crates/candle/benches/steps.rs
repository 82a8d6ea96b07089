//! `cargo bench`: the cost of a step of `adamw`, beside candle-nn's `AdamW` on the same tensors. Each figure is the least of
//! alternating rounds, because other work of the machine only adds to it.

#[path = "../../optim/benches/turns/mod.rs"]
mod turns;

use candle_core::{DType, Device, Tensor, Var};
use candle_nn::optim::{AdamW, Optimizer as _, ParamsAdamW};
use serde::{Deserialize, Serialize};
use treedef_optim::{Optimiser, adamw};

use turns::{Result, least};

fn main() -> Result {
    tensors("20 layers of 256 × 256", 20, 256)?;
    tensors("60 layers of 32 × 32", 60, 32)?;
    tensors("2 layers of 2,048 × 2,048", 2, 2_048)
}

#[derive(Clone, Serialize, Deserialize)]
struct Linear {
    #[serde(with = "treedef::object")]
    w: Tensor,
    #[serde(with = "treedef::object")]
    b: Tensor,
}

fn tensors(what: &str, layers: usize, size: usize) -> Result {
    let device = Device::Cpu;
    let layer = || -> Result<Linear> {
        let w = Tensor::randn(0.0f32, 0.1, (size, size), &device)?;
        Ok(Linear { w, b: Tensor::zeros(size, DType::F32, &device)? })
    };
    let mut model = (0..layers).map(|_| layer()).collect::<Result<Vec<Linear>>>()?;

    let mut variables = Vec::new();
    for layer in &model {
        variables.push(Var::from_tensor(&layer.w)?);
        variables.push(Var::from_tensor(&layer.b)?);
    }
    // Any gradients, the same for both.
    let mut loss = Tensor::zeros((), DType::F32, &device)?;
    for variable in &variables {
        loss = (loss + (variable.sin()? * 0.5)?.sum_all()?)?;
    }
    let store = loss.backward()?;
    let of = |at: usize| store.get(&variables[at]).cloned().ok_or("a gradient");
    let gradient = (0..layers)
        .map(|at| Ok(Linear { w: of(2 * at)?, b: of(2 * at + 1)? }))
        .collect::<Result<Vec<Linear>>>()?;

    let parameters = ParamsAdamW { lr: 1e-3, weight_decay: 0.01, ..ParamsAdamW::default() };
    let shared = variables.clone(); // the same tensors
    let mut theirs = AdamW::new(variables, parameters)?;
    let ours = adamw(1e-3).weight_decay(0.01);
    let mut state = ours.init::<Tensor, _>(&model)?;
    let [candle_nn, optim] = least(
        15,
        3,
        [&mut || Ok(theirs.step(&store)?), &mut || {
            model = ours.step(std::mem::take(&mut model), gradient.clone(), &mut state)?;
            Ok(())
        }],
    )?;
    // Both have done the same.
    for (theirs, ours) in shared.iter().zip(model.iter().flat_map(|layer| [&layer.w, &layer.b])) {
        let far = (theirs.as_tensor() - ours)?.abs()?.max_all()?.to_scalar::<f32>()?;
        if far > 1e-5 {
            return Err(format!("the parameters differ by {far}").into());
        }
    }
    println!("{what}: candle-nn {:.2} ms, ours {:.2} ×", candle_nn / 1e6, optim / candle_nn);
    Ok(())
}
