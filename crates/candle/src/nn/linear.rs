//! The affine layer.

use candle_core::{Module, Result, Tensor};
use serde::{Deserialize, Serialize};

use super::Initialiser;

/// A linear layer: `y = x · weightᵀ + bias`.
///
/// ```
/// use candle_core::{Device, Module, Tensor};
/// use treedef_candle::nn::Linear;
///
/// let linear = Linear {
///     weight: Tensor::new(&[[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]], &Device::Cpu)?,
///     bias: Some(Tensor::new(&[0.5, 0.0, 0.0], &Device::Cpu)?),
/// };
/// let y = linear.forward(&Tensor::new(&[[1.0, -1.0]], &Device::Cpu)?)?;
/// assert_eq!(y.to_vec2::<f64>()?, [[-0.5, -1.0, -1.0]]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Linear {
    /// `[outputs, inputs]`.
    #[serde(with = "treedef::object")]
    pub weight: Tensor,
    /// `[outputs]`.
    #[serde(with = "treedef::object::option", default)]
    pub bias: Option<Tensor>,
}

impl Linear {
    /// A layer with random weights and bias: uniform between ±1/√inputs.
    ///
    /// # Errors
    ///
    /// Returns an error of the device.
    pub fn new(inputs: usize, outputs: usize, init: &mut Initialiser) -> Result<Self> {
        let weight = init.of_inputs(inputs, (outputs, inputs))?;
        Ok(Linear { weight, bias: Some(init.of_inputs(inputs, outputs)?) })
    }

    /// The same without its bias.
    #[must_use]
    pub fn without_bias(mut self) -> Self {
        self.bias = None;
        self
    }
}

/// From `[…, inputs]` to `[…, outputs]`.
impl Module for Linear {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let mut shape = x.dims().to_vec();
        let Some(last) = shape.last_mut() else {
            candle_core::bail!("a linear layer takes at least one dimension, not a single number");
        };
        let (outputs, inputs) = self.weight.dims2()?;
        if *last != inputs {
            candle_core::bail!("a linear layer of {inputs} inputs got {:?}", x.shape());
        }
        *last = outputs;
        // One product of matrices is faster than one for each element of a batch.
        let rows = x.elem_count().checked_div(inputs).unwrap_or(0);
        let y = x.reshape((rows, inputs))?.matmul(&self.weight.t()?)?;
        let y = match &self.bias {
            Some(bias) => y.broadcast_add(bias)?,
            None => y,
        };
        y.reshape(shape)
    }
}

impl From<candle_nn::Linear> for Linear {
    fn from(layer: candle_nn::Linear) -> Self {
        Linear { weight: layer.weight().clone(), bias: layer.bias().cloned() }
    }
}

impl From<Linear> for candle_nn::Linear {
    fn from(layer: Linear) -> Self {
        candle_nn::Linear::new(layer.weight, layer.bias)
    }
}
