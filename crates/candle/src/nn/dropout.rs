//! Dropout.

use candle_core::{ModuleT, Result, Tensor};
use serde::{Deserialize, Serialize};

use super::Initialiser;

/// Replaces a part of the numbers by 0, and scales the others so that the mean is unchanged.
///
/// As a `ModuleT` it does so in training, with candle's random numbers. To resume with the same bits after
/// a restart, pass a seed, such as the number of the step:
///
/// ```
/// use candle_core::{DType, Device, ModuleT, Tensor};
/// use treedef_candle::nn::Dropout;
///
/// let (dropout, x) = (Dropout { rate: 0.25 }, Tensor::ones(1000, DType::F32, &Device::Cpu)?);
/// assert_eq!(dropout.forward_t(&x, false)?.to_vec1::<f32>()?, x.to_vec1::<f32>()?);
/// let y = dropout.with_seed(&x, 7)?.to_vec1::<f32>()?;
/// assert_eq!(y, dropout.with_seed(&x, 7)?.to_vec1::<f32>()?);
/// let kept = y.iter().filter(|&&x| x == 4.0 / 3.0).count();
/// assert!((700..800).contains(&kept));
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dropout {
    /// The part of the numbers that is replaced: from 0 to below 1.
    pub rate: f64,
}

impl Dropout {
    /// Replaces the numbers that the seed selects.
    ///
    /// # Errors
    ///
    /// Returns an error when the rate is not from 0 to below 1.
    pub fn with_seed(&self, x: &Tensor, seed: u64) -> Result<Tensor> {
        let mut random = Initialiser::new(seed).device(x.device());
        self.keep(x, |rate| random.uniform(1.0, x.shape())?.abs()?.ge(rate))
    }

    fn keep(&self, x: &Tensor, mask: impl FnOnce(f64) -> Result<Tensor>) -> Result<Tensor> {
        if !(0.0..1.0).contains(&self.rate) {
            candle_core::bail!("a rate of dropout is from 0 to below 1, not {}", self.rate);
        }
        if self.rate == 0.0 {
            return Ok(x.clone());
        }
        x * (mask(self.rate)?.to_dtype(x.dtype())? / (1.0 - self.rate))?
    }
}

/// From any shape to the same.
impl ModuleT for Dropout {
    fn forward_t(&self, x: &Tensor, train: bool) -> Result<Tensor> {
        if !train {
            return Ok(x.clone());
        }
        self.keep(x, |rate| Tensor::rand(0f32, 1.0, x.shape(), x.device())?.ge(rate))
    }
}
