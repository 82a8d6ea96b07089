//! The scale of a loss in halves.

use candle_core::{DType, Result, Tensor};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use treedef::{Object, Tree};
use treedef_optim::{Error, tree};

/// Multiplies the loss of a model in `f16`, so that small gradients are not rounded to zero, and divides
/// the gradient: torch's `GradScaler`, with its numbers. If the gradient overflows, the step is skipped and
/// the scale halved; after many steps without overflow, it is doubled.
///
/// The parameters stay `f32`, and the loss converts them. Make the scaler a part of the training, like its
/// optimiser, and save it with it.
///
/// ```
/// use candle_core::{DType, Device, Module, Tensor};
/// use treedef_candle::nn::Linear;
/// use treedef_candle::optim::{Optimiser, sgd};
/// use treedef_candle::{GradScaler, to_dtype, value_and_grad};
///
/// let mut model = Linear { weight: Tensor::new(&[[1f32]], &Device::Cpu)?, bias: None };
/// let x = Tensor::new(&[[1e-4f32]], &Device::Cpu)?.to_dtype(DType::F16)?;
/// // The gradient is 2e-8, and `f16` ends at 6e-8.
/// let loss = |model: &Linear| {
///     let y = to_dtype(model, "**", DType::F16)?.forward(&x)?;
///     y.to_dtype(DType::F32)?.sqr()?.mean_all() // the loss itself is no half
/// };
///
/// let mut scaler = GradScaler::default();
/// let scaled = |model: &Linear| scaler.scale(&loss(model)?);
/// let (_, gradient) = value_and_grad(scaled, &model)?;
/// let gradient = scaler.unscale(gradient)?.expect("no overflow");
/// let found = gradient.weight.to_vec2::<f32>()?[0][0];
/// assert!((found - 2e-8).abs() < 1e-10);
/// let (_, lost) = value_and_grad(loss, &model)?;
/// assert_eq!(lost.weight.to_vec2::<f32>()?, [[0.0]]);
/// # let mut state = sgd(0.1).init::<Tensor, _>(&model)?;
/// # sgd(0.1).step_in_place(&mut model, &gradient, &mut state)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GradScaler {
    /// The factor of the loss: 65,536 at the beginning.
    pub scale: f64,
    /// The factor of the scale after [`growth_interval`](Self::growth_interval) steps: 2.
    pub growth_factor: f64,
    /// The factor of the scale if a gradient is not finite: 0.5.
    pub backoff_factor: f64,
    /// The number of consecutive steps with finite gradients after which the scale grows: 2,000.
    pub growth_interval: u64,
    /// The number of such steps so far.
    pub growth_tracker: u64,
}

impl Default for GradScaler {
    fn default() -> Self {
        GradScaler {
            scale: 65_536.0,
            growth_factor: 2.0,
            backoff_factor: 0.5,
            growth_interval: 2_000,
            growth_tracker: 0,
        }
    }
}

impl GradScaler {
    /// The loss to differentiate: times the scale, in `f32` or wider.
    /// [`value_and_grad`](crate::value_and_grad) then returns the scaled loss.
    ///
    /// # Errors
    ///
    /// Returns an error of the device.
    pub fn scale(&self, loss: &Tensor) -> Result<Tensor> {
        let dtype = if loss.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
        loss.to_dtype(dtype)? * self.scale
    }

    /// The gradient of the loss itself. `None` if one of its numbers is not finite: skip this step; the
    /// next one has a smaller scale.
    ///
    /// # Errors
    ///
    /// - When the gradient is not finite although the scale is 1 or less, with the path: the scale is not the
    ///   cause.
    /// - When a parameter is `f16`: the gradient would be rounded to zero.
    /// - When a field has no valid number.
    pub fn unscale<T>(&mut self, gradient: T) -> treedef_optim::Result<Option<T>>
    where
        T: Serialize + DeserializeOwned,
    {
        self.expect_sensible()?;
        let tree = Tree::<Tensor>::of_objects(&gradient)?;
        if let Some((path, _)) = tree.iter().find(|(_, tensor)| tensor.dtype() == DType::F16) {
            let why = "a gradient of f16 cannot be unscaled: keep the parameters in f32, and convert \
                       them in the loss by `to_dtype`";
            return Err(Error::Operation { path, source: why.into() });
        }
        if let Some(path) = first_not_finite(&gradient, &tree)? {
            if self.scale <= 1.0 {
                return Err(Error::NotFinite { what: "the gradient", path });
            }
            self.scale *= self.backoff_factor;
            self.growth_tracker = 0;
            return Ok(None);
        }
        let gradient = tree::scale::<Tensor, T>(1.0 / self.scale, gradient)?;
        self.growth_tracker = self.growth_tracker.saturating_add(1);
        if self.growth_tracker >= self.growth_interval {
            let grown = self.scale * self.growth_factor;
            self.scale = if grown <= f64::from(f32::MAX) { grown } else { self.scale };
            self.growth_tracker = 0;
        }
        Ok(Some(gradient))
    }

    fn expect_sensible(&self) -> treedef_optim::Result<()> {
        let fields = [
            ("scale", "above 0", self.scale, self.scale > 0.0),
            ("growth factor", "above 1", self.growth_factor, self.growth_factor > 1.0),
            (
                "backoff factor",
                "between 0 and 1",
                self.backoff_factor,
                self.backoff_factor > 0.0 && self.backoff_factor < 1.0,
            ),
        ];
        match fields.into_iter().find(|(.., found, holds)| !holds || !found.is_finite()) {
            None => Ok(()),
            Some((what, range, found, _)) => {
                Err(Error::Argument(format!("expected a {what} {range}, found {found}")))
            }
        }
    }
}

fn first_not_finite(
    gradient: &impl Serialize,
    tree: &Tree<Tensor>,
) -> treedef_optim::Result<Option<treedef::Path>> {
    if tree::is_finite::<Tensor, _>(gradient)? {
        return Ok(None);
    }
    for (path, tensor) in tree.iter() {
        if !tree::is_finite::<Tensor, _>(&Object(tensor.clone()))? {
            return Ok(Some(path));
        }
    }
    Ok(None)
}
