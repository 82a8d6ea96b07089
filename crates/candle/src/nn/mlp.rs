//! Layers one after the other.

use candle_core::{Module, Result, Tensor};
use candle_nn::Activation;
use serde::{Deserialize, Serialize};

use super::{Initialiser, Linear};

/// Affine layers with an activation between them.
///
/// ```
/// use candle_core::{DType, Device, Module, Tensor};
/// use candle_nn::Activation;
/// use treedef_candle::nn::{Initialiser, Mlp};
///
/// let mlp = Mlp::new(&[4, 16, 2], Activation::Gelu, &mut Initialiser::new(0))?;
/// assert_eq!(mlp.layers.len(), 2);
/// assert_eq!(mlp.forward(&Tensor::ones((3, 4), DType::F32, &Device::Cpu)?)?.dims(), [3, 2]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Mlp {
    /// The layers.
    pub layers: Vec<Linear>,
    /// The activation between two layers.
    pub activation: Activation,
}

/// The gated layers of Llama: `down_proj(silu(gate_proj(x)) · up_proj(x))`.
///
/// ```
/// use candle_core::{DType, Device, Module, Tensor};
/// use treedef_candle::nn::{Initialiser, SwiGlu};
///
/// let mlp = SwiGlu::new(4, 16, &mut Initialiser::new(0))?;
/// assert_eq!(mlp.forward(&Tensor::ones((3, 4), DType::F32, &Device::Cpu)?)?.dims(), [3, 4]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SwiGlu {
    /// `[hidden, size]`.
    pub gate_proj: Linear,
    /// `[hidden, size]`.
    pub up_proj: Linear,
    /// `[size, hidden]`.
    pub down_proj: Linear,
}

impl Mlp {
    /// Layers with these sizes.
    ///
    /// # Errors
    ///
    /// Returns an error of the device.
    pub fn new(sizes: &[usize], activation: Activation, init: &mut Initialiser) -> Result<Self> {
        let layers = sizes.iter().zip(sizes.iter().skip(1));
        let layers = layers.map(|(&inputs, &outputs)| Linear::new(inputs, outputs, init));
        Ok(Mlp { layers: layers.collect::<Result<_>>()?, activation })
    }
}

impl SwiGlu {
    /// Layers without biases.
    ///
    /// # Errors
    ///
    /// Returns an error of the device.
    pub fn new(size: usize, hidden: usize, init: &mut Initialiser) -> Result<Self> {
        Ok(SwiGlu {
            gate_proj: Linear::new(size, hidden, init)?.without_bias(),
            up_proj: Linear::new(size, hidden, init)?.without_bias(),
            down_proj: Linear::new(hidden, size, init)?.without_bias(),
        })
    }
}

/// From `[…, first size]` to `[…, last size]`.
impl Module for Mlp {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let Some((last, before)) = self.layers.split_last() else { return Ok(x.clone()) };
        let mut x = x.clone();
        for layer in before {
            x = self.activation.forward(&layer.forward(&x)?)?;
        }
        last.forward(&x)
    }
}

/// From `[…, size]` to `[…, size]`.
impl Module for SwiGlu {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let gate = self.gate_proj.forward(x)?.silu()?;
        self.down_proj.forward(&(gate * self.up_proj.forward(x)?)?)
    }
}
