//! Convolutions.

use candle_core::{Error, Module, Result, Tensor};
use serde::{Deserialize, Serialize};

use super::Initialiser;
use super::normalisation::along;

/// The geometry of a convolution, the same in all directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConvOptions {
    /// The stride.
    pub stride: usize,
    /// The number of zeros at each side.
    pub padding: usize,
    /// The distance of the elements of the kernel.
    pub dilation: usize,
    /// The number of groups of channels, which are convolved separately.
    pub groups: usize,
}

impl Default for ConvOptions {
    fn default() -> Self {
        ConvOptions { stride: 1, padding: 0, dilation: 1, groups: 1 }
    }
}

/// A convolution of sequences.
///
/// ```
/// use candle_core::{DType, Device, Module, Tensor};
/// use treedef_candle::nn::{Conv1d, ConvOptions, Initialiser};
///
/// let options = ConvOptions { stride: 2, padding: 1, ..ConvOptions::default() };
/// let conv = Conv1d::new(3, 8, 3, options, &mut Initialiser::new(0))?;
/// let y = conv.forward(&Tensor::zeros((2, 3, 10), DType::F32, &Device::Cpu)?)?;
/// assert_eq!(y.dims(), [2, 8, 5]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Conv1d {
    /// `[outputs, inputs / groups, kernel]`.
    #[serde(with = "treedef::object")]
    pub weight: Tensor,
    /// `[outputs]`.
    #[serde(with = "treedef::object::option", default)]
    pub bias: Option<Tensor>,
    /// The geometry.
    pub options: ConvOptions,
}

/// A convolution of images.
///
/// ```
/// use candle_core::{DType, Device, Module, Tensor};
/// use treedef_candle::nn::{Conv2d, ConvOptions, Initialiser};
///
/// let options = ConvOptions { padding: 1, groups: 3, ..ConvOptions::default() };
/// let conv = Conv2d::new(3, 6, [3, 3], options, &mut Initialiser::new(0))?.without_bias();
/// assert_eq!(conv.weight.dims(), [6, 1, 3, 3]);
/// let y = conv.forward(&Tensor::zeros((2, 3, 8, 8), DType::F32, &Device::Cpu)?)?;
/// assert_eq!(y.dims(), [2, 6, 8, 8]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Conv2d {
    /// `[outputs, inputs / groups, height, width]`.
    #[serde(with = "treedef::object")]
    pub weight: Tensor,
    /// `[outputs]`.
    #[serde(with = "treedef::object::option", default)]
    pub bias: Option<Tensor>,
    /// The geometry.
    pub options: ConvOptions,
}

impl Conv1d {
    /// A layer with random weights and bias: uniform between ±1/√(inputs of one output).
    ///
    /// # Errors
    ///
    /// Returns an error when the groups do not divide the channels, and of the device.
    pub fn new(
        inputs: usize,
        outputs: usize,
        kernel: usize,
        options: ConvOptions,
        init: &mut Initialiser,
    ) -> Result<Self> {
        let (weight, bias) = parameters(inputs, outputs, &[kernel], options, init)?;
        Ok(Conv1d { weight, bias: Some(bias), options })
    }

    /// The same without its bias.
    #[must_use]
    pub fn without_bias(mut self) -> Self {
        self.bias = None;
        self
    }
}

impl Conv2d {
    /// A layer with random weights and bias: uniform between ±1/√(inputs of one output). The kernel is
    /// `[height, width]`.
    ///
    /// # Errors
    ///
    /// Returns an error when the groups do not divide the channels, and of the device.
    pub fn new(
        inputs: usize,
        outputs: usize,
        kernel: [usize; 2],
        options: ConvOptions,
        init: &mut Initialiser,
    ) -> Result<Self> {
        let (weight, bias) = parameters(inputs, outputs, &kernel, options, init)?;
        Ok(Conv2d { weight, bias: Some(bias), options })
    }

    /// The same without its bias.
    #[must_use]
    pub fn without_bias(mut self) -> Self {
        self.bias = None;
        self
    }
}

fn parameters(
    inputs: usize,
    outputs: usize,
    kernel: &[usize],
    options: ConvOptions,
    init: &mut Initialiser,
) -> Result<(Tensor, Tensor)> {
    let inputs = per_group(inputs, outputs, options.groups)?;
    let shape = [&[outputs, inputs], kernel].concat();
    let of_one = inputs * kernel.iter().product::<usize>();
    Ok((init.of_inputs(of_one, shape)?, init.of_inputs(of_one, outputs)?))
}

/// The number of input channels of each group.
pub(super) fn per_group(channels: usize, others: usize, groups: usize) -> Result<usize> {
    if groups == 0 || !channels.is_multiple_of(groups) || !others.is_multiple_of(groups) {
        candle_core::bail!("{groups} groups do not divide {channels} and {others} channels");
    }
    Ok(channels / groups)
}

/// The number of places at the end of a padded dimension that no kernel reaches, because the stride is
/// greater than 1.
fn left_over(x: &Tensor, dimension: usize, kernel: usize, options: ConvOptions) -> Result<usize> {
    let size = x.dim(dimension)? + 2 * options.padding;
    let reach = options.dilation * kernel.saturating_sub(1) + 1;
    let moves = size.checked_sub(reach).and_then(|moves| moves.checked_rem(options.stride));
    moves.ok_or_else(|| {
        let shape = x.shape();
        Error::msg(format!("a kernel of {kernel} with {options:?} does not fit into {shape:?}"))
    })
}

/// A dimension with its padding, and without the unreached places.
fn fitted(x: &Tensor, dimension: usize, kernel: usize, options: ConvOptions) -> Result<Tensor> {
    let padding = options.padding;
    let used = x.dim(dimension)? + 2 * padding - left_over(x, dimension, kernel, options)?;
    x.pad_with_zeros(dimension, padding, padding)?.narrow(dimension, 0, used)
}

pub(super) fn with_bias(x: Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    match bias {
        Some(bias) => x.broadcast_add(&along(bias, 1, &x)?),
        None => Ok(x),
    }
}

/// From `[batch, inputs, time]` to `[batch, outputs, time]`.
impl Module for Conv1d {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        // As an image of height one: candle 0.11 computes wrong gradients of `conv1d` for batches of more
        // than one element.
        let ConvOptions { stride, dilation, groups, .. } = self.options;
        let x = fitted(x, 2, self.weight.dim(2)?, self.options)?.unsqueeze(2)?;
        let y = x.conv2d(&self.weight.unsqueeze(2)?, 0, stride, dilation, groups)?.squeeze(2)?;
        with_bias(y, self.bias.as_ref())
    }
}

/// From `[batch, inputs, height, width]` to `[batch, outputs, height, width]`.
impl Module for Conv2d {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let ConvOptions { stride, padding, dilation, groups } = self.options;
        let (_, _, height, width) = self.weight.dims4()?;
        let down = left_over(x, 2, height, self.options)?;
        let y = if down == left_over(x, 3, width, self.options)? && down <= x.dim(2)? {
            x.conv2d(&self.weight, padding, stride, dilation, groups)?
        } else {
            // The gradient of candle 0.11 assumes the same number of unreached places in both
            // directions, and not more than the input has.
            let x = fitted(&fitted(x, 2, height, self.options)?, 3, width, self.options)?;
            x.conv2d(&self.weight, 0, stride, dilation, groups)?
        };
        with_bias(y, self.bias.as_ref())
    }
}

macro_rules! conversions {
    ($($layer:ident, $config:ident;)*) => {$(
        impl From<candle_nn::$layer> for $layer {
            fn from(layer: candle_nn::$layer) -> Self {
                let &candle_nn::$config { padding, stride, dilation, groups, .. } = layer.config();
                $layer {
                    weight: layer.weight().clone(),
                    bias: layer.bias().cloned(),
                    options: ConvOptions { stride, padding, dilation, groups },
                }
            }
        }

        impl From<$layer> for candle_nn::$layer {
            fn from(layer: $layer) -> Self {
                let ConvOptions { stride, padding, dilation, groups } = layer.options;
                let config = candle_nn::$config { stride, padding, dilation, groups, cudnn_fwd_algo: None };
                candle_nn::$layer::new(layer.weight, layer.bias, config)
            }
        }
    )*};
}

conversions! { Conv1d, Conv1dConfig; Conv2d, Conv2dConfig; }
