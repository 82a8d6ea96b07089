//! Transposed convolutions.

use candle_core::{Module, Result, Tensor};
use serde::{Deserialize, Serialize};

use super::convolution::{per_group, with_bias};
use super::{ConvOptions, Initialiser};

/// A transposed convolution of sequences.
///
/// ```
/// use candle_core::{DType, Device, Module, Tensor};
/// use treedef_candle::nn::{ConvOptions, ConvTranspose1d, Initialiser};
///
/// let options = ConvOptions { stride: 2, ..ConvOptions::default() };
/// let conv = ConvTranspose1d::new(3, 8, 2, options, &mut Initialiser::new(0))?;
/// let y = conv.forward(&Tensor::zeros((2, 3, 5), DType::F32, &Device::Cpu)?)?;
/// assert_eq!(y.dims(), [2, 8, 10]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConvTranspose1d {
    /// `[inputs, outputs / groups, kernel]`.
    #[serde(with = "treedef::object")]
    pub weight: Tensor,
    /// `[outputs]`.
    #[serde(with = "treedef::object::option", default)]
    pub bias: Option<Tensor>,
    /// The geometry.
    pub options: ConvOptions,
    /// The additional length of the output at its end.
    pub output_padding: usize,
}

/// A transposed convolution of images.
///
/// ```
/// use candle_core::{DType, Device, Module, Tensor};
/// use treedef_candle::nn::{ConvOptions, ConvTranspose2d, Initialiser};
///
/// let options = ConvOptions { stride: 2, padding: 1, ..ConvOptions::default() };
/// let mut conv = ConvTranspose2d::new(3, 8, [3, 3], options, &mut Initialiser::new(0))?;
/// conv.output_padding = 1;
/// let y = conv.forward(&Tensor::zeros((2, 3, 5, 4), DType::F32, &Device::Cpu)?)?;
/// assert_eq!(y.dims(), [2, 8, 10, 8]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConvTranspose2d {
    /// `[inputs, outputs / groups, height, width]`.
    #[serde(with = "treedef::object")]
    pub weight: Tensor,
    /// `[outputs]`.
    #[serde(with = "treedef::object::option", default)]
    pub bias: Option<Tensor>,
    /// The geometry.
    pub options: ConvOptions,
    /// The additional length of the output at its end, in both directions.
    pub output_padding: usize,
}

impl ConvTranspose1d {
    /// A layer with random weights and bias: uniform between ±1/√(outputs of one input).
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
        Ok(ConvTranspose1d { weight, bias: Some(bias), options, output_padding: 0 })
    }

    /// The same without its bias.
    #[must_use]
    pub fn without_bias(mut self) -> Self {
        self.bias = None;
        self
    }
}

impl ConvTranspose2d {
    /// A layer with random weights and bias: uniform between ±1/√(outputs of one input). The kernel is
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
        Ok(ConvTranspose2d { weight, bias: Some(bias), options, output_padding: 0 })
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
    let in_group = per_group(outputs, inputs, options.groups)?;
    let shape = [&[inputs, in_group], kernel].concat();
    let of_one = in_group * kernel.iter().product::<usize>();
    Ok((init.of_inputs(of_one, shape)?, init.of_inputs(of_one, outputs)?))
}

/// Whether there is something to go over, and something is left without the padding.
fn expect_output(
    x: &Tensor,
    weight: &Tensor,
    options: ConvOptions,
    output_padding: usize,
) -> Result<()> {
    let sizes = x.dims().iter().zip(weight.dims()).skip(2);
    for (&size, &kernel) in sizes {
        let moves = size.checked_sub(1).zip(kernel.checked_sub(1));
        let whole = moves.map(|(x, k)| x * options.stride + options.dilation * k + output_padding);
        if whole.is_none_or(|whole| whole < 2 * options.padding) {
            let (x, weight) = (x.shape(), weight.shape());
            candle_core::bail!(
                "a transposed kernel {weight:?} with {options:?} makes nothing of {x:?}"
            );
        }
    }
    Ok(())
}

/// Runs each group of channels on its own.
fn grouped(
    x: &Tensor,
    weight: &Tensor,
    groups: usize,
    run: impl Fn(&Tensor, &Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    per_group(x.dim(1)?, weight.dim(0)?, groups)?;
    if groups == 1 {
        return run(x, weight);
    }
    let parts = x.chunk(groups, 1)?.into_iter().zip(weight.chunk(groups, 0)?);
    let parts = parts.map(|(x, weight)| run(&x.contiguous()?, &weight.contiguous()?));
    Tensor::cat(&parts.collect::<Result<Vec<_>>>()?, 1)
}

/// With zeros at the end, and then without the padding at both sides.
fn trimmed(y: &Tensor, dimension: usize, padding: usize, end: usize) -> Result<Tensor> {
    let y = if end > 0 { y.pad_with_zeros(dimension, 0, end)? } else { y.clone() };
    let size = y.dim(dimension)?;
    let Some(kept) = size.checked_sub(2 * padding) else {
        candle_core::bail!(
            "a padding of {padding} takes more than the {size} places that there are"
        );
    };
    y.narrow(dimension, padding, kept)
}

/// From `[batch, inputs, time]` to `[batch, outputs, time]`.
impl Module for ConvTranspose1d {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        expect_output(x, &self.weight, self.options, self.output_padding)?;
        let ConvOptions { stride, padding, dilation, groups } = self.options;
        // As an image one high: candle's operation for sequences has no gradient. It would pad the height
        // too, so padding is taken off afterwards.
        let y = grouped(&x.unsqueeze(2)?, &self.weight.unsqueeze(2)?, groups, |x, weight| {
            x.conv_transpose2d(weight, 0, 0, stride, dilation)
        })?;
        let y = trimmed(&y.squeeze(2)?, 2, padding, self.output_padding)?;
        with_bias(y, self.bias.as_ref())
    }
}

/// From `[batch, inputs, height, width]` to `[batch, outputs, height, width]`.
impl Module for ConvTranspose2d {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        expect_output(x, &self.weight, self.options, self.output_padding)?;
        let ConvOptions { stride, padding, dilation, groups } = self.options;
        let end = self.output_padding;
        let run = |padding, end| {
            grouped(x, &self.weight, groups, |x, weight| {
                x.conv_transpose2d(weight, padding, end, stride, dilation)
            })
        };
        let y = if end < stride {
            run(padding, end)?
        } else {
            // The gradient of candle 0.11 would be larger than the input.
            trimmed(&trimmed(&run(0, 0)?, 2, padding, end)?, 3, padding, end)?
        };
        with_bias(y, self.bias.as_ref())
    }
}

impl From<candle_nn::ConvTranspose1d> for ConvTranspose1d {
    fn from(layer: candle_nn::ConvTranspose1d) -> Self {
        let &candle_nn::ConvTranspose1dConfig { padding, output_padding, stride, dilation, groups } =
            layer.config();
        ConvTranspose1d {
            weight: layer.weight().clone(),
            bias: layer.bias().cloned(),
            options: ConvOptions { stride, padding, dilation, groups },
            output_padding,
        }
    }
}

impl From<candle_nn::ConvTranspose2d> for ConvTranspose2d {
    fn from(layer: candle_nn::ConvTranspose2d) -> Self {
        let &candle_nn::ConvTranspose2dConfig { padding, output_padding, stride, dilation } =
            layer.config();
        ConvTranspose2d {
            weight: layer.weight().clone(),
            bias: layer.bias().cloned(),
            options: ConvOptions { stride, padding, dilation, groups: 1 },
            output_padding,
        }
    }
}

impl From<ConvTranspose1d> for candle_nn::ConvTranspose1d {
    fn from(layer: ConvTranspose1d) -> Self {
        let ConvOptions { stride, padding, dilation, groups } = layer.options;
        let output_padding = layer.output_padding;
        let config =
            candle_nn::ConvTranspose1dConfig { padding, output_padding, stride, dilation, groups };
        candle_nn::ConvTranspose1d::new(layer.weight, layer.bias, config)
    }
}

impl TryFrom<ConvTranspose2d> for candle_nn::ConvTranspose2d {
    type Error = candle_core::Error;

    /// # Errors
    ///
    /// Returns an error when there are several groups, which candle's layer does not have.
    fn try_from(layer: ConvTranspose2d) -> Result<Self> {
        let ConvOptions { stride, padding, dilation, groups } = layer.options;
        if groups != 1 {
            candle_core::bail!("candle has no transposed convolution of images in {groups} groups");
        }
        let output_padding = layer.output_padding;
        let config = candle_nn::ConvTranspose2dConfig { padding, output_padding, stride, dilation };
        Ok(candle_nn::ConvTranspose2d::new(layer.weight, layer.bias, config))
    }
}
