//! Vectors for words.

use candle_core::{Module, Result, Tensor};
use serde::{Deserialize, Serialize};

use super::Initialiser;

/// A vector for each of some integers.
///
/// ```
/// use candle_core::{Device, Module, Tensor};
/// use treedef_candle::nn::Embedding;
///
/// let weight = Tensor::new(&[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], &Device::Cpu)?;
/// let words = Tensor::new(&[2u32, 0], &Device::Cpu)?;
/// let y = Embedding { weight }.forward(&words)?;
/// assert_eq!(y.to_vec2::<f64>()?, [[4.0, 5.0], [0.0, 1.0]]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Embedding {
    /// `[words, size]`.
    #[serde(with = "treedef::object")]
    pub weight: Tensor,
}

impl Embedding {
    /// Vectors of the normal distribution.
    ///
    /// # Errors
    ///
    /// Returns an error of the device.
    pub fn new(words: usize, size: usize, init: &mut Initialiser) -> Result<Self> {
        Ok(Embedding { weight: init.normal((words, size))? })
    }
}

/// From integers `[…]` to `[…, size]`.
impl Module for Embedding {
    fn forward(&self, words: &Tensor) -> Result<Tensor> {
        let mut shape = words.dims().to_vec();
        shape.push(self.weight.dim(1)?);
        self.weight.index_select(&words.flatten_all()?, 0)?.reshape(shape)
    }
}

impl From<candle_nn::Embedding> for Embedding {
    fn from(layer: candle_nn::Embedding) -> Self {
        Embedding { weight: layer.embeddings().clone() }
    }
}

impl From<Embedding> for candle_nn::Embedding {
    fn from(layer: Embedding) -> Self {
        let size = layer.weight.dims().last().copied().unwrap_or(0);
        candle_nn::Embedding::new(layer.weight, size)
    }
}
