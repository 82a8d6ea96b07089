//! Layers that normalise each element of a batch separately.

use candle_core::{D, DType, Error, Module, Result, Shape, Tensor};
use serde::{Deserialize, Serialize};

use super::Initialiser;

/// Normalises the last dimensions to mean 0 and variance 1, then scales and shifts them.
///
/// ```
/// use candle_core::{Device, Module, Tensor};
/// use treedef_candle::nn::{Initialiser, LayerNorm};
///
/// let norm = LayerNorm::new(2, 0.0, &mut Initialiser::new(0))?;
/// let y = norm.forward(&Tensor::new(&[[1f32, 5.0]], &Device::Cpu)?)?;
/// assert_eq!(y.to_vec2::<f32>()?, [[-1.0, 1.0]]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LayerNorm {
    /// The shape of the last dimensions, which are normalised together.
    #[serde(with = "treedef::object")]
    pub weight: Tensor,
    /// The same shape.
    #[serde(with = "treedef::object::option", default)]
    pub bias: Option<Tensor>,
    /// The number that is added to the variance.
    pub eps: f64,
}

/// Divides the last dimensions by the root of their mean square, then scales them.
///
/// ```
/// use candle_core::{Device, Module, Tensor};
/// use treedef_candle::nn::{Initialiser, RmsNorm};
///
/// let norm = RmsNorm::new(2, 0.0, &mut Initialiser::new(0))?;
/// let y = norm.forward(&Tensor::new(&[[1f32, 7.0]], &Device::Cpu)?)?;
/// assert_eq!(y.to_vec2::<f32>()?, [[0.2, 1.4]]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RmsNorm {
    /// The shape of the last dimensions, which are normalised together.
    #[serde(with = "treedef::object")]
    pub weight: Tensor,
    /// The number that is added to the mean square.
    pub eps: f64,
}

/// Normalises groups of channels to mean 0 and variance 1, then scales and shifts each channel.
///
/// ```
/// use candle_core::{Device, Module, Tensor};
/// use treedef_candle::nn::{GroupNorm, Initialiser};
///
/// let norm = GroupNorm::new(2, 4, 0.0, &mut Initialiser::new(0))?;
/// let x = Tensor::new(&[[[1f32], [3.0], [0.0], [100.0]]], &Device::Cpu)?;
/// assert_eq!(norm.forward(&x)?.to_vec3::<f32>()?, [[[-1.0], [1.0], [-1.0], [1.0]]]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GroupNorm {
    /// `[channels]`.
    #[serde(with = "treedef::object")]
    pub weight: Tensor,
    /// `[channels]`.
    #[serde(with = "treedef::object")]
    pub bias: Tensor,
    /// The number of groups of channels.
    pub groups: usize,
    /// The number that is added to the variance.
    pub eps: f64,
}

impl LayerNorm {
    /// A layer with scale 1 and shift 0. PyTorch's default for `eps` is 1e-5.
    ///
    /// # Errors
    ///
    /// Returns an error of the device.
    pub fn new(shape: impl Into<Shape>, eps: f64, init: &mut Initialiser) -> Result<Self> {
        let weight = init.constant(1.0, shape)?;
        Ok(LayerNorm { bias: Some(init.constant(0.0, weight.shape())?), weight, eps })
    }

    /// The same without its bias.
    #[must_use]
    pub fn without_bias(mut self) -> Self {
        self.bias = None;
        self
    }
}

impl RmsNorm {
    /// A layer with scale 1.
    ///
    /// # Errors
    ///
    /// Returns an error of the device.
    pub fn new(shape: impl Into<Shape>, eps: f64, init: &mut Initialiser) -> Result<Self> {
        Ok(RmsNorm { weight: init.constant(1.0, shape)?, eps })
    }
}

impl GroupNorm {
    /// A layer with scale 1 and shift 0. PyTorch's default for `eps` is 1e-5.
    ///
    /// # Errors
    ///
    /// Returns an error of the device.
    pub fn new(groups: usize, channels: usize, eps: f64, init: &mut Initialiser) -> Result<Self> {
        let (weight, bias) = (init.constant(1.0, channels)?, init.constant(0.0, channels)?);
        Ok(GroupNorm { weight, bias, groups, eps })
    }
}

/// The type for normalising a tensor: halves are too imprecise for sums.
pub(super) fn wide(x: &Tensor) -> Result<Tensor> {
    match x.dtype() {
        DType::F16 | DType::BF16 => x.to_dtype(DType::F32),
        _ => Ok(x.clone()),
    }
}

/// Normalises the last dimension to mean 0 and variance 1.
pub(super) fn norm_last(x: &Tensor, eps: f64) -> Result<Tensor> {
    norm_last_square(&x.broadcast_sub(&x.mean_keepdim(D::Minus1)?)?, eps)
}

/// Normalises the last dimension to mean square 1.
fn norm_last_square(x: &Tensor, eps: f64) -> Result<Tensor> {
    let square = x.sqr()?.mean_keepdim(D::Minus1)?;
    x.broadcast_div(&(square + eps)?.sqrt()?)
}

/// Normalises the last dimensions together, as many as the weight has.
fn norm_together(
    x: &Tensor,
    weight: &Tensor,
    norm: impl FnOnce(&Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    if !x.dims().ends_with(weight.dims()) {
        candle_core::bail!(
            "a norm of the last dimensions {:?} got {:?}",
            weight.shape(),
            x.shape()
        );
    }
    let size = weight.elem_count();
    let rows = x.elem_count().checked_div(size).unwrap_or(0);
    let normed = norm(&wide(x)?.reshape((rows, size))?)?;
    normed.reshape(x.shape())?.to_dtype(x.dtype())?.broadcast_mul(weight)
}

/// From `[…, shape of the weight]` to the same.
impl Module for LayerNorm {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let y = norm_together(x, &self.weight, |x| norm_last(x, self.eps))?;
        self.bias.as_ref().map_or(Ok(y.clone()), |bias| y.broadcast_add(bias))
    }
}

/// From `[…, shape of the weight]` to the same.
impl Module for RmsNorm {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        norm_together(x, &self.weight, |x| norm_last_square(x, self.eps))
    }
}

/// From `[batch, channels, …]` to the same.
impl Module for GroupNorm {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let channels = self.weight.elem_count();
        let (&[batch, found, ..], groups) = (x.dims(), self.groups) else {
            candle_core::bail!(
                "a norm of groups takes [batch, channels, …], and got {:?}",
                x.shape()
            );
        };
        if found != channels || groups == 0 || !channels.is_multiple_of(groups) {
            candle_core::bail!("{groups} groups of {channels} channels got {:?}", x.shape());
        }
        let normed = norm_last(&wide(x)?.reshape((batch, groups, ()))?, self.eps)?;
        let normed = normed.reshape(x.shape())?.to_dtype(x.dtype())?;
        normed.broadcast_mul(&along(&self.weight, 1, x)?)?.broadcast_add(&along(&self.bias, 1, x)?)
    }
}

/// A vector that lies along a dimension of another tensor.
pub(super) fn along(vector: &Tensor, dimension: usize, of: &Tensor) -> Result<Tensor> {
    let mut shape = vec![1; of.rank()];
    if let Some(size) = shape.get_mut(dimension) {
        *size = vector.elem_count();
    }
    vector.reshape(shape)
}

impl TryFrom<candle_nn::LayerNorm> for LayerNorm {
    type Error = Error;

    /// # Errors
    ///
    /// Returns an error when the layer does not remove the mean: it is an [`RmsNorm`].
    fn try_from(layer: candle_nn::LayerNorm) -> Result<Self> {
        if !layer.remove_mean() {
            candle_core::bail!("a layer norm that keeps the mean is an `RmsNorm`");
        }
        Ok(LayerNorm {
            weight: layer.weight().clone(),
            bias: layer.bias().cloned(),
            eps: layer.eps(),
        })
    }
}

impl TryFrom<LayerNorm> for candle_nn::LayerNorm {
    type Error = Error;

    /// # Errors
    ///
    /// Returns an error when several dimensions are normed together.
    fn try_from(layer: LayerNorm) -> Result<Self> {
        expect_one_dimension(&layer.weight)?;
        Ok(match layer.bias {
            Some(bias) => candle_nn::LayerNorm::new(layer.weight, bias, layer.eps),
            None => candle_nn::LayerNorm::new_no_bias(layer.weight, layer.eps),
        })
    }
}

fn expect_one_dimension(weight: &Tensor) -> Result<()> {
    if weight.rank() != 1 {
        candle_core::bail!("a norm of candle is over one dimension, not {:?}", weight.shape());
    }
    Ok(())
}

impl From<candle_nn::RmsNorm> for RmsNorm {
    fn from(layer: candle_nn::RmsNorm) -> Self {
        RmsNorm { weight: layer.weight().clone(), eps: layer.eps() }
    }
}

impl TryFrom<RmsNorm> for candle_nn::RmsNorm {
    type Error = Error;

    /// # Errors
    ///
    /// Returns an error when several dimensions are normed together.
    fn try_from(layer: RmsNorm) -> Result<Self> {
        expect_one_dimension(&layer.weight)?;
        Ok(candle_nn::RmsNorm::new(layer.weight, layer.eps))
    }
}
