//! Random parameters.

use candle_core::{DType, Device, Result, Shape, Tensor};

/// Makes the parameters of new layers: from a seed, of one type of numbers, on one device.
///
/// Each layer uses the next random numbers. They have the distributions of PyTorch's defaults, but not the
/// same values. In `f32` they are the rounded values of `f64`.
///
/// ```
/// use candle_core::DType;
/// use treedef_candle::nn::{Initialiser, Linear};
///
/// let mut init = Initialiser::new(7).dtype(DType::F64);
/// let (a, b) = (Linear::new(2, 3, &mut init)?, Linear::new(2, 3, &mut init)?);
/// let again = Linear::new(2, 3, &mut Initialiser::new(7).dtype(DType::F64))?;
/// let numbers = |layer: &Linear| layer.weight.to_vec2::<f64>();
/// assert_eq!(numbers(&a)?, numbers(&again)?);
/// assert_ne!(numbers(&a)?, numbers(&b)?);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Initialiser {
    /// None for parameters that are replaced afterwards.
    random: Option<fastrand::Rng>,
    dtype: DType,
    device: Device,
}

impl Initialiser {
    /// Numbers of `f32` on the CPU, from a seed.
    pub fn new(seed: u64) -> Self {
        let random = Some(fastrand::Rng::with_seed(seed));
        Initialiser { random, ..Initialiser::empty() }
    }

    /// Uses one zero for all places, which needs no memory, instead of random numbers: for a model that is
    /// loaded afterwards.
    pub fn empty() -> Self {
        Initialiser { random: None, dtype: DType::F32, device: Device::Cpu }
    }

    /// Sets the type of the parameters.
    #[must_use]
    pub fn dtype(mut self, dtype: DType) -> Self {
        self.dtype = dtype;
        self
    }

    /// Sets the device of the parameters.
    #[must_use]
    pub fn device(mut self, device: &Device) -> Self {
        self.device = device.clone();
        self
    }

    /// Numbers between `-limit` and `limit`.
    ///
    /// # Errors
    ///
    /// Returns an error of the device.
    pub fn uniform(&mut self, limit: f64, shape: impl Into<Shape>) -> Result<Tensor> {
        self.numbers(shape.into(), |random| limit * (2.0 * random.f64() - 1.0))
    }

    /// Numbers of the normal distribution with mean 0 and variance 1.
    ///
    /// # Errors
    ///
    /// As [`uniform`](Self::uniform).
    pub fn normal(&mut self, shape: impl Into<Shape>) -> Result<Tensor> {
        // By Box and Muller; `1 - x` is never 0.
        self.numbers(shape.into(), |random| {
            let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
            radius * (std::f64::consts::TAU * random.f64()).cos()
        })
    }

    /// The same number in all places.
    ///
    /// # Errors
    ///
    /// As [`uniform`](Self::uniform).
    pub fn constant(&self, number: f64, shape: impl Into<Shape>) -> Result<Tensor> {
        let all = Tensor::new(number, &Device::Cpu)?.to_dtype(self.dtype)?;
        all.broadcast_as(shape)?.contiguous()?.to_device(&self.device)
    }

    /// Numbers between ±1/√`inputs`: the weights and biases of most layers of PyTorch.
    #[allow(clippy::cast_precision_loss, reason = "a size")]
    pub(crate) fn of_inputs(&mut self, inputs: usize, shape: impl Into<Shape>) -> Result<Tensor> {
        self.uniform(1.0 / (inputs.max(1) as f64).sqrt(), shape)
    }

    fn numbers(
        &mut self,
        shape: Shape,
        next: impl Fn(&mut fastrand::Rng) -> f64,
    ) -> Result<Tensor> {
        let Some(random) = &mut self.random else {
            return Tensor::zeros((), self.dtype, &self.device)?.broadcast_as(shape);
        };
        let numbers: Vec<f64> = (0..shape.elem_count()).map(|_| next(random)).collect();
        Tensor::from_vec(numbers, shape, &Device::Cpu)?
            .to_dtype(self.dtype)?
            .to_device(&self.device)
    }

    /// A counter.
    pub(crate) fn count(&self) -> Result<Tensor> {
        Tensor::new(0i64, &self.device)
    }
}
