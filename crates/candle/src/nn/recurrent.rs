//! Recurrent layers.

use candle_core::{Module, Result, Tensor};
use candle_nn::ops::sigmoid;
use serde::{Deserialize, Serialize};

use super::Initialiser;

/// A long short-term memory: one layer, in one direction.
///
/// ```
/// use candle_core::{DType, Device, Tensor};
/// use treedef_candle::nn::{Initialiser, Lstm};
///
/// let lstm = Lstm::new(3, 4, &mut Initialiser::new(0))?; // with `batch_first`
/// let x = Tensor::ones((2, 5, 3), DType::F32, &Device::Cpu)?;
/// let (all, state) = lstm.run(&x, None)?;
/// assert_eq!((all.dims(), state.h.dims()), (&[2, 5, 4][..], &[2, 4][..]));
/// let (more, _) = lstm.run(&x, Some(&state))?; // goes on from there
/// assert_eq!(more.dims(), [2, 5, 4]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Lstm {
    /// `[4 · size, inputs]`: input, forget, cell and output gate.
    #[serde(with = "treedef::object")]
    pub weight_ih_l0: Tensor,
    /// `[4 · size, size]`.
    #[serde(with = "treedef::object")]
    pub weight_hh_l0: Tensor,
    /// `[4 · size]`.
    #[serde(with = "treedef::object::option", default)]
    pub bias_ih_l0: Option<Tensor>,
    /// `[4 · size]`.
    #[serde(with = "treedef::object::option", default)]
    pub bias_hh_l0: Option<Tensor>,
    /// Whether the input is `[batch, time, inputs]`, and not `[time, batch, inputs]`.
    pub batch_first: bool,
}

/// The state of an [`Lstm`].
#[derive(Clone, Debug)]
pub struct LstmState {
    /// `[batch, size]`: the last output.
    pub h: Tensor,
    /// `[batch, size]`: the cell.
    pub c: Tensor,
}

/// A gated recurrent unit: one layer, in one direction.
///
/// ```
/// use candle_core::{DType, Device, Module, Tensor};
/// use treedef_candle::nn::{Gru, Initialiser};
///
/// let gru = Gru::new(3, 4, &mut Initialiser::new(0))?;
/// let x = Tensor::ones((2, 5, 3), DType::F32, &Device::Cpu)?;
/// assert_eq!(gru.forward(&x)?.dims(), [2, 5, 4]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Gru {
    /// `[3 · size, inputs]`: reset, update and new gate.
    #[serde(with = "treedef::object")]
    pub weight_ih_l0: Tensor,
    /// `[3 · size, size]`.
    #[serde(with = "treedef::object")]
    pub weight_hh_l0: Tensor,
    /// `[3 · size]`.
    #[serde(with = "treedef::object::option", default)]
    pub bias_ih_l0: Option<Tensor>,
    /// `[3 · size]`.
    #[serde(with = "treedef::object::option", default)]
    pub bias_hh_l0: Option<Tensor>,
    /// Whether the input is `[batch, time, inputs]`, and not `[time, batch, inputs]`.
    pub batch_first: bool,
}

impl Lstm {
    /// A layer with random weights and biases: uniform between ±1/√size. It takes `[batch, time, inputs]`.
    ///
    /// # Errors
    ///
    /// Returns an error of the device.
    pub fn new(inputs: usize, size: usize, init: &mut Initialiser) -> Result<Self> {
        let ([weight_ih_l0, weight_hh_l0], [bias_ih_l0, bias_hh_l0]) =
            parameters(4, inputs, size, init)?;
        Ok(Lstm { weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, batch_first: true })
    }

    /// The same without its biases.
    #[must_use]
    pub fn without_bias(mut self) -> Self {
        (self.bias_ih_l0, self.bias_hh_l0) = (None, None);
        self
    }

    /// All outputs, `[batch, time, size]` or `[time, batch, size]`, and the last state. Without a state, it
    /// starts with zeros.
    ///
    /// # Errors
    ///
    /// Returns an error when the input has another shape.
    pub fn run(&self, x: &Tensor, state: Option<&LstmState>) -> Result<(Tensor, LstmState)> {
        let inputs = project(x, &self.weight_ih_l0, self.bias_ih_l0.as_ref())?;
        let mut state = match state {
            Some(state) => state.clone(),
            None => {
                let zero = zero_state(&inputs, &self.weight_hh_l0, self.batch_first)?;
                LstmState { h: zero.clone(), c: zero }
            }
        };
        let all = over_time(&inputs, self.batch_first, |input| {
            let gates = project(&state.h, &self.weight_hh_l0, self.bias_hh_l0.as_ref())?;
            let gates = (input + gates)?.chunk(4, 1)?;
            let [input, forget, cell, output] = gates.as_slice() else {
                candle_core::bail!("the weights of an LSTM have four gates");
            };
            let new = (sigmoid(input)? * cell.tanh()?)?;
            let c = ((sigmoid(forget)? * &state.c)? + new)?;
            let h = (sigmoid(output)? * c.tanh()?)?;
            state = LstmState { h: h.clone(), c };
            Ok(h)
        })?;
        Ok((all, state))
    }
}

impl Gru {
    /// A layer with random weights and biases: uniform between ±1/√size. It takes `[batch, time, inputs]`.
    ///
    /// # Errors
    ///
    /// Returns an error of the device.
    pub fn new(inputs: usize, size: usize, init: &mut Initialiser) -> Result<Self> {
        let ([weight_ih_l0, weight_hh_l0], [bias_ih_l0, bias_hh_l0]) =
            parameters(3, inputs, size, init)?;
        Ok(Gru { weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, batch_first: true })
    }

    /// The same without its biases.
    #[must_use]
    pub fn without_bias(mut self) -> Self {
        (self.bias_ih_l0, self.bias_hh_l0) = (None, None);
        self
    }

    /// All outputs, `[batch, time, size]` or `[time, batch, size]`, and the last one, `[batch, size]`.
    /// Without a state, it starts with zeros.
    ///
    /// # Errors
    ///
    /// Returns an error when the input has another shape.
    pub fn run(&self, x: &Tensor, state: Option<&Tensor>) -> Result<(Tensor, Tensor)> {
        let inputs = project(x, &self.weight_ih_l0, self.bias_ih_l0.as_ref())?;
        let mut h = match state {
            Some(state) => state.clone(),
            None => zero_state(&inputs, &self.weight_hh_l0, self.batch_first)?,
        };
        let all = over_time(&inputs, self.batch_first, |input| {
            let inputs = input.chunk(3, 1)?;
            let gates = project(&h, &self.weight_hh_l0, self.bias_hh_l0.as_ref())?.chunk(3, 1)?;
            let ([reset, update, new], [reset_h, update_h, new_h]) =
                (inputs.as_slice(), gates.as_slice())
            else {
                candle_core::bail!("the weights of a GRU have three gates");
            };
            let reset = sigmoid(&(reset + reset_h)?)?;
            let update = sigmoid(&(update + update_h)?)?;
            let new = (new + (reset * new_h)?)?.tanh()?;
            h = (&new + (update * (&h - &new)?)?)?;
            Ok(h.clone())
        })?;
        Ok((all, h))
    }
}

/// The weights and biases of this number of gates: for the inputs, and for the state.
fn parameters(
    gates: usize,
    inputs: usize,
    size: usize,
    init: &mut Initialiser,
) -> Result<([Tensor; 2], [Option<Tensor>; 2])> {
    let outputs = gates * size;
    let weights =
        [init.of_inputs(size, (outputs, inputs))?, init.of_inputs(size, (outputs, size))?];
    let biases = [init.of_inputs(size, outputs)?, init.of_inputs(size, outputs)?];
    Ok((weights, biases.map(Some)))
}

/// `x · weightᵀ + bias` over the last dimension.
fn project(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    let linear = super::Linear { weight: weight.clone(), bias: bias.cloned() };
    linear.forward(x)
}

fn zero_state(inputs: &Tensor, weight: &Tensor, batch_first: bool) -> Result<Tensor> {
    let batch = inputs.dim(usize::from(!batch_first))?;
    Tensor::zeros((batch, weight.dim(1)?), inputs.dtype(), inputs.device())
}

/// The outputs of a step for each time.
fn over_time(
    inputs: &Tensor,
    batch_first: bool,
    mut step: impl FnMut(&Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    inputs.dims3()?;
    let time = usize::from(batch_first);
    let steps = 0..inputs.dim(time)?;
    let all = steps.map(|at| step(&inputs.narrow(time, at, 1)?.squeeze(time)?));
    Tensor::stack(&all.collect::<Result<Vec<_>>>()?, time)
}

/// All outputs, from a state of zeros.
impl Module for Lstm {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        Ok(self.run(x, None)?.0)
    }
}

/// All outputs, from a state of zeros.
impl Module for Gru {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        Ok(self.run(x, None)?.0)
    }
}
