//! Attention.

use candle_core::{D, DType, Device, Module, Result, Tensor};
use candle_nn::kv_cache::ConcatKvCache;
use serde::{Deserialize, Serialize};

use super::{Initialiser, Linear};

/// Attention with several heads, which may share keys and values in groups, and rotary positions.
///
/// As a `Module`, each position of a sequence attends to the whole sequence, or with `causal` only to
/// positions up to its own. [`attend`](Self::attend) also accepts another sequence and a mask, and
/// [`extend`](Self::extend) continues a sequence, for generation.
///
/// ```
/// use candle_core::{DType, Device, Module, Tensor};
/// use treedef_candle::nn::{Initialiser, MultiHeadAttention, Rope};
///
/// // 8 heads of 4 numbers; each pair of them shares its keys and values.
/// let mut attention = MultiHeadAttention::new(32, 8, 4, &mut Initialiser::new(0))?;
/// attention.causal = true;
/// attention.rope = Some(Rope::new(10_000.0));
/// assert_eq!(attention.q_proj.weight.dims(), [32, 32]);
/// assert_eq!(attention.k_proj.weight.dims(), [16, 32]);
/// let x = Tensor::ones((2, 5, 32), DType::F32, &Device::Cpu)?;
/// assert_eq!(attention.forward(&x)?.dims(), [2, 5, 32]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MultiHeadAttention {
    /// `[heads · head size, size]`.
    pub q_proj: Linear,
    /// `[groups · head size, size]`.
    pub k_proj: Linear,
    /// `[groups · head size, size]`.
    pub v_proj: Linear,
    /// `[size, heads · head size]`.
    pub o_proj: Linear,
    /// The number of heads.
    pub heads: usize,
    /// The number of keys and values: one for each head, or for each group of heads.
    pub kv_heads: usize,
    /// Rotary positions.
    pub rope: Option<Rope>,
    /// Whether a position attends only to positions up to its own.
    pub causal: bool,
}

/// Rotary positions: pairs of numbers, `i` and `i + size / 2` of a head, are turned by
/// `position · theta^(-2i / size)`, as in Hugging Face's Llama.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rope {
    /// The base of the frequencies.
    pub theta: f64,
    /// The scaling of frequencies for sequences that are longer than in the first training.
    pub scaling: Option<RopeScaling>,
}

/// The scaling of Llama 3: low frequencies are divided by a factor, high ones are unchanged. The fields are
/// the fields of `rope_scaling` in a `config.json`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RopeScaling {
    /// The divisor of low frequencies.
    pub factor: f64,
    /// Waves longer than the first length divided by this are low.
    pub low_freq_factor: f64,
    /// Waves shorter than the first length divided by this are high.
    pub high_freq_factor: f64,
    /// The length of the sequences in the first training.
    pub original_max_position_embeddings: usize,
}

impl RopeScaling {
    #[allow(clippy::cast_precision_loss, reason = "a length")]
    fn scale(&self, frequency: f64) -> f64 {
        let waves =
            self.original_max_position_embeddings as f64 * frequency / std::f64::consts::TAU;
        let (low, high) = (self.low_freq_factor, self.high_freq_factor);
        let kept = ((waves - low) / (high - low)).clamp(0.0, 1.0);
        frequency * (kept + (1.0 - kept) / self.factor)
    }
}

impl Rope {
    /// Positions without a scaling.
    pub fn new(theta: f64) -> Self {
        Rope { theta, scaling: None }
    }

    /// Turns `[batch, heads, time, head size]`, whose first place has a position.
    ///
    /// # Errors
    ///
    /// Returns an error when the size of a head is odd.
    pub fn rotate(&self, x: &Tensor, position: usize) -> Result<Tensor> {
        let (_, _, time, size) = x.dims4()?;
        let table = self.table(position, time, size, x.dtype(), x.device())?;
        turn(x, &table)
    }

    /// Cosines and sines, `[time, head size / 2]`.
    #[allow(clippy::cast_precision_loss, reason = "a position, and a size")]
    fn table(
        &self,
        position: usize,
        time: usize,
        size: usize,
        dtype: DType,
        device: &Device,
    ) -> Result<(Tensor, Tensor)> {
        if !size.is_multiple_of(2) {
            candle_core::bail!("rotary positions turn pairs of numbers, and a head has {size}");
        }
        let frequency = |at: usize| {
            let frequency = self.theta.powf(-2.0 * at as f64 / size as f64);
            self.scaling.map_or(frequency, |scaling| scaling.scale(frequency))
        };
        let frequencies: Vec<f64> = (0..size / 2).map(frequency).collect();
        // In `f64`: far positions need it.
        let of = |function: fn(f64) -> f64| {
            let places = (position..position + time).map(|at| at as f64);
            let numbers = places.flat_map(|at| frequencies.iter().map(move |f| function(at * f)));
            Tensor::from_vec(numbers.collect::<Vec<_>>(), (time, size / 2), &Device::Cpu)?
                .to_dtype(dtype)?
                .to_device(device)
        };
        Ok((of(f64::cos)?, of(f64::sin)?))
    }
}

fn turn(x: &Tensor, (cos, sin): &(Tensor, Tensor)) -> Result<Tensor> {
    let half = cos.dim(1)?;
    let (a, b) = (x.narrow(D::Minus1, 0, half)?, x.narrow(D::Minus1, half, half)?);
    let first = (a.broadcast_mul(cos)? - b.broadcast_mul(sin)?)?;
    let second = (b.broadcast_mul(cos)? + a.broadcast_mul(sin)?)?;
    Tensor::cat(&[first, second], D::Minus1)
}

impl MultiHeadAttention {
    /// A layer without positions that attends to the whole sequence. Heads have `size / heads` numbers. The
    /// initial distributions are as in PyTorch's `MultiheadAttention`, where the projections of queries, keys and
    /// values are one matrix; the biases are 0.
    ///
    /// # Errors
    ///
    /// Returns an error when the number of heads does not divide the size, or the number of keys
    /// does not divide the number of heads.
    pub fn new(size: usize, heads: usize, kv_heads: usize, init: &mut Initialiser) -> Result<Self> {
        if heads == 0
            || kv_heads == 0
            || !size.is_multiple_of(heads)
            || !heads.is_multiple_of(kv_heads)
        {
            candle_core::bail!("{heads} heads with {kv_heads} keys do not divide a size of {size}");
        }
        let shared = size / heads * kv_heads;
        #[allow(clippy::cast_precision_loss, reason = "a size")]
        let limit = (6.0 / (size + size + 2 * shared) as f64).sqrt();
        let mut proj = |outputs: usize| -> Result<Linear> {
            let weight = init.uniform(limit, (outputs, size))?;
            Ok(Linear { weight, bias: Some(init.constant(0.0, outputs)?) })
        };
        let (q_proj, k_proj, v_proj) = (proj(size)?, proj(shared)?, proj(shared)?);
        let o_proj = Linear::new(size, size, init)?;
        let bias = Some(init.constant(0.0, size)?);
        let o_proj = Linear { bias, ..o_proj };
        Ok(Self { q_proj, k_proj, v_proj, o_proj, heads, kv_heads, rope: None, causal: false })
    }

    /// The same without its biases.
    #[must_use]
    pub fn without_bias(self) -> Self {
        let [q_proj, k_proj, v_proj, o_proj] =
            [self.q_proj, self.k_proj, self.v_proj, self.o_proj].map(Linear::without_bias);
        Self { q_proj, k_proj, v_proj, o_proj, ..self }
    }

    /// From `[batch, time, size]` and a sequence `[batch, other time, size]` to `[batch, time, size]`. The
    /// mask is added to the scores: 0 or -∞, of a shape that broadcasts to `[batch, heads, time, other
    /// time]`. `causal` is ignored.
    ///
    /// # Errors
    ///
    /// Returns an error when shapes do not fit.
    pub fn attend(&self, x: &Tensor, other: &Tensor, mask: Option<&Tensor>) -> Result<Tensor> {
        let (k, v) = self.keys(other, 0)?;
        self.answer(&self.queries(x, 0)?, &k, &v, mask)
    }

    /// Continues a causal sequence: from its next positions, `[batch, time, size]`, to the same shape. The
    /// cache has the keys and values of earlier positions; start with `ConcatKvCache::new(2)`.
    ///
    /// ```
    /// use candle_core::{DType, Device, Module, Tensor};
    /// use candle_nn::kv_cache::ConcatKvCache;
    /// use treedef_candle::nn::{Initialiser, MultiHeadAttention};
    ///
    /// let mut init = Initialiser::new(0).dtype(DType::F64);
    /// let mut attention = MultiHeadAttention::new(4, 2, 1, &mut init)?;
    /// attention.causal = true;
    /// let x = init.normal((1, 3, 4))?;
    /// let mut cache = ConcatKvCache::new(2);
    /// attention.extend(&x.narrow(1, 0, 2)?, &mut cache)?;
    /// let last = attention.extend(&x.narrow(1, 2, 1)?, &mut cache)?;
    /// let difference = (attention.forward(&x)?.narrow(1, 2, 1)? - last)?.abs()?.sum_all()?;
    /// assert!(difference.to_scalar::<f64>()? < 1e-14);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error when shapes do not fit.
    pub fn extend(&self, x: &Tensor, cache: &mut ConcatKvCache) -> Result<Tensor> {
        let position = cache.current_seq_len();
        let (k, v) = self.keys(x, position)?;
        let (k, v) = cache.append(&k, &v)?;
        let mask = causal_mask(x.dim(1)?, position, x)?;
        self.answer(&self.queries(x, position)?, &k, &v, mask.as_ref())
    }

    /// `[batch, heads, time, head size]`.
    fn queries(&self, x: &Tensor, position: usize) -> Result<Tensor> {
        self.turned(&split(&self.q_proj.forward(x)?, self.heads)?, position)
    }

    /// Keys and values: `[batch, groups, time, head size]`.
    fn keys(&self, x: &Tensor, position: usize) -> Result<(Tensor, Tensor)> {
        let k = self.turned(&split(&self.k_proj.forward(x)?, self.kv_heads)?, position)?;
        Ok((k, split(&self.v_proj.forward(x)?, self.kv_heads)?))
    }

    fn turned(&self, x: &Tensor, position: usize) -> Result<Tensor> {
        self.rope.map_or(Ok(x.clone()), |rope| rope.rotate(x, position))
    }

    fn answer(&self, q: &Tensor, k: &Tensor, v: &Tensor, mask: Option<&Tensor>) -> Result<Tensor> {
        let (batch, heads, time, size) = q.dims4()?;
        let (groups, times) = (k.dim(1)?, k.dim(2)?);
        // The heads of a group are more rows of the same product: keys and values are not repeated.
        let rows = heads * time / groups.max(1);
        #[allow(clippy::cast_precision_loss, reason = "a size")]
        let q = (q.reshape((batch, groups, rows, size))? / (size as f64).sqrt())?;
        let scores = q.matmul(&k.t()?)?.reshape((batch, heads, time, times))?;
        let scores = mask.map_or(Ok(scores.clone()), |mask| scores.broadcast_add(mask))?;
        let parts = candle_nn::ops::softmax(&scores, D::Minus1)?;
        let y = parts.reshape((batch, groups, rows, times))?.matmul(v)?;
        let y = y.reshape((batch, heads, time, size))?.transpose(1, 2)?.flatten_from(2)?;
        self.o_proj.forward(&y)
    }
}

/// From `[batch, time, heads · head size]` to `[batch, heads, time, head size]`.
fn split(x: &Tensor, heads: usize) -> Result<Tensor> {
    let (batch, time, _) = x.dims3()?;
    x.reshape((batch, time, heads, ()))?.transpose(1, 2)?.contiguous()
}

/// -∞ where a position would see a later one: `[time, position + time]`. A single position sees
/// all.
fn causal_mask(time: usize, position: usize, x: &Tensor) -> Result<Option<Tensor>> {
    if time < 2 {
        return Ok(None);
    }
    let row = |at: usize| {
        (0..position + time).map(move |to| if to > position + at { f32::NEG_INFINITY } else { 0.0 })
    };
    let mask: Vec<f32> = (0..time).flat_map(row).collect();
    let mask = Tensor::from_vec(mask, (time, position + time), &Device::Cpu)?;
    Ok(Some(mask.to_dtype(x.dtype())?.to_device(x.device())?))
}

/// From `[batch, time, size]` to the same.
impl Module for MultiHeadAttention {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let mask = if self.causal { causal_mask(x.dim(1)?, 0, x)? } else { None };
        self.attend(x, x, mask.as_ref())
    }
}
