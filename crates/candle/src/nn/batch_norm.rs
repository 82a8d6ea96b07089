//! Batch normalisation.

use candle_core::{ModuleT, Result, Tensor};
use serde::{Deserialize, Serialize};

use super::Initialiser;
use super::normalisation::{along, norm_last, wide};

/// Normalises each channel to mean 0 and variance 1, then scales and shifts it: with the statistics of the
/// batch in training, with the running statistics otherwise.
///
/// The running statistics are saved and loaded like other tensors, but they are not parameters: no gradient
/// reaches them, and no optimiser changes them, not even by weight decay. The same holds for the fields
/// `running_mean` and `running_var` of your own layers.
///
/// A training step returns the new statistics beside the output. Let the loss return them as its extra
/// result, and then replace the old ones:
///
/// ```
/// use candle_core::{Device, Tensor};
/// use treedef_candle::nn::{BatchNorm, Initialiser};
///
/// let mut norm = BatchNorm::new(1, &mut Initialiser::new(0))?;
/// let x = Tensor::new(&[[0f32], [10.0]], &Device::Cpu)?;
/// let (_y, statistics) = norm.forward_train(&x)?;
/// norm.set_statistics(statistics);
/// assert_eq!(norm.running_mean.to_vec1::<f32>()?, [0.5]); // a tenth of the way to 5
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BatchNorm {
    /// `[channels]`.
    #[serde(with = "treedef::object::option", default)]
    pub weight: Option<Tensor>,
    /// `[channels]`.
    #[serde(with = "treedef::object::option", default)]
    pub bias: Option<Tensor>,
    /// `[channels]`; not trained.
    #[serde(with = "treedef::object")]
    pub running_mean: Tensor,
    /// `[channels]`; not trained.
    #[serde(with = "treedef::object")]
    pub running_var: Tensor,
    /// `[]`, an `i64`; not trained.
    #[serde(with = "treedef::object")]
    pub num_batches_tracked: Tensor,
    /// The weight of the newest batch in the statistics.
    pub momentum: f64,
    /// The number that is added to the variance.
    pub eps: f64,
}

/// The running statistics of a [`BatchNorm`].
#[derive(Clone, Debug)]
pub struct BatchStatistics {
    /// `[channels]`.
    pub running_mean: Tensor,
    /// `[channels]`.
    pub running_var: Tensor,
    /// `[]`, an `i64`.
    pub num_batches_tracked: Tensor,
}

impl BatchNorm {
    /// A layer with scale 1 and shift 0, and initial statistics: mean 0, variance 1. `eps` is 1e-5 and the
    /// momentum 0.1, as in PyTorch.
    ///
    /// # Errors
    ///
    /// Returns an error of the device.
    pub fn new(channels: usize, init: &mut Initialiser) -> Result<Self> {
        let (one, zero) = (init.constant(1.0, channels)?, init.constant(0.0, channels)?);
        Ok(BatchNorm {
            weight: Some(one.copy()?),
            bias: Some(zero.copy()?),
            running_mean: zero,
            running_var: one,
            num_batches_tracked: init.count()?,
            momentum: 0.1,
            eps: 1e-5,
        })
    }

    /// Normalises `[batch, channels, …]` over all dimensions but the channels, and updates the statistics,
    /// which are not tracked.
    ///
    /// # Errors
    ///
    /// Returns an error when the number of channels differs, and when a channel has a single
    /// number.
    pub fn forward_train(&self, x: &Tensor) -> Result<(Tensor, BatchStatistics)> {
        self.expect_channels(x)?;
        let channels = wide(x)?.transpose(0, 1)?;
        let rows = channels.flatten_from(1)?;
        let count = rows.dim(1)?;
        if count < 2 {
            candle_core::bail!(
                "a batch norm needs more than one number of a channel, and got {:?}",
                x.shape()
            );
        }
        let normed = norm_last(&rows, self.eps)?.reshape(channels.shape())?.transpose(0, 1)?;
        let rows = rows.detach();
        let next = |old: &Tensor, new: Tensor| -> Result<Tensor> {
            let new = (new.to_dtype(old.dtype())? * self.momentum)?;
            (old.detach() * (1.0 - self.momentum))? + new
        };
        let statistics = BatchStatistics {
            running_mean: next(&self.running_mean, rows.mean(1)?)?,
            running_var: next(&self.running_var, rows.var(1)?)?,
            num_batches_tracked: (self.num_batches_tracked.detach() + 1.0)?,
        };
        Ok((self.scaled(normed.to_dtype(x.dtype())?)?, statistics))
    }

    /// Normalises `[batch, channels, …]` by the running statistics.
    ///
    /// # Errors
    ///
    /// Returns an error when the number of channels differs.
    pub fn forward_eval(&self, x: &Tensor) -> Result<Tensor> {
        self.expect_channels(x)?;
        let deviation = (self.running_var.detach() + self.eps)?.sqrt()?;
        let centred = x.broadcast_sub(&along(&self.running_mean.detach(), 1, x)?)?;
        self.scaled(centred.broadcast_div(&along(&deviation, 1, x)?)?)
    }

    /// Replaces the running statistics by the result of a training step.
    pub fn set_statistics(&mut self, statistics: BatchStatistics) {
        self.running_mean = statistics.running_mean;
        self.running_var = statistics.running_var;
        self.num_batches_tracked = statistics.num_batches_tracked;
    }

    fn expect_channels(&self, x: &Tensor) -> Result<()> {
        let channels = self.running_mean.elem_count();
        if x.dims().get(1) != Some(&channels) {
            candle_core::bail!(
                "a batch norm of {channels} channels takes [batch, {channels}, …], and got {:?}",
                x.shape()
            );
        }
        Ok(())
    }

    fn scaled(&self, x: Tensor) -> Result<Tensor> {
        let x = match &self.weight {
            Some(weight) => x.broadcast_mul(&along(weight, 1, &x)?)?,
            None => x,
        };
        match &self.bias {
            Some(bias) => x.broadcast_add(&along(bias, 1, &x)?),
            None => Ok(x),
        }
    }
}

/// From `[batch, channels, …]` to the same. In training, the new statistics are lost: see
/// [`forward_train`](BatchNorm::forward_train).
impl ModuleT for BatchNorm {
    fn forward_t(&self, x: &Tensor, train: bool) -> Result<Tensor> {
        if train { Ok(self.forward_train(x)?.0) } else { self.forward_eval(x) }
    }
}

impl TryFrom<candle_nn::BatchNorm> for BatchNorm {
    type Error = candle_core::Error;

    /// In training, the mean of the batch is removed, also if the layer had `remove_mean` off, which candle does not
    /// tell.
    ///
    /// # Errors
    ///
    /// Returns an error of the device.
    fn try_from(layer: candle_nn::BatchNorm) -> Result<Self> {
        let (weight, bias) = layer.weight_and_bias().unzip();
        Ok(BatchNorm {
            weight: weight.cloned(),
            bias: bias.cloned(),
            running_mean: layer.running_mean().copy()?.detach(),
            running_var: layer.running_var().copy()?.detach(),
            num_batches_tracked: Tensor::new(0i64, layer.running_mean().device())?,
            momentum: layer.momentum(),
            eps: layer.eps(),
        })
    }
}
