//! Gradients by candle, backward.

use candle_core::{Tensor, Var};
use serde::Serialize;
use serde::de::DeserializeOwned;
use treedef::__private::OrBug;
use treedef::Tree;

use crate::error::{Error, LeafError, Result};
use crate::leaf::Trainable;
use crate::transform::{Mask, contains, mask, running_statistics};

/// The gradient of a parameter that the loss does not depend on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unreached {
    /// Zeros, as in JAX.
    #[default]
    Zero,
    /// An error with the paths of all such parameters: it may be a mistake in the model.
    Error,
}

/// Options of [`value_and_grad_with`]: which parameters to differentiate.
#[derive(Clone, Debug, Default)]
#[must_use = "these are options"]
pub struct Gradient {
    constant: Vec<Mask>,
    unreached: Unreached,
}

impl Gradient {
    /// Differentiates with respect to all tensors of floats.
    pub fn new() -> Self {
        Gradient::default()
    }

    /// Does not differentiate with respect to the tensors that a pattern or another [`Mask`] selects: their
    /// gradient is zero, and is not computed.
    pub fn constant(mut self, mask: impl Into<Mask>) -> Self {
        self.constant.push(mask.into());
        self
    }

    /// Sets the gradient of parameters that the loss does not depend on. The default is zeros.
    pub fn unreached(mut self, unreached: Unreached) -> Self {
        self.unreached = unreached;
        self
    }
}

/// Returns the loss as a number, and its gradient as a model.
///
/// The gradient is zero for tensors of integers, for running statistics (the fields `running_mean` and
/// `running_var` of one struct, as in `BatchNorm`), and for a tensor that the loss does not depend on, if
/// it depends on another one. The error of the loss may be candle's, or any that converts into a `Box<dyn
/// Error + Send + Sync>`; a `Box<dyn Error>` does not.
///
/// # Errors
///
/// Returns the error of the loss; an error when the loss has more than one number, is not a float, or
/// depends on no parameter; when the model cannot be flattened or rebuilt.
///
/// ```
/// use std::error::Error;
///
/// use candle_core::{Device, Tensor};
/// use treedef::Object;
/// use treedef_optim::candle::value_and_grad;
///
/// let loss = |model: &Object<Tensor>| -> Result<Tensor, Box<dyn Error + Send + Sync>> {
///     if model.0.rank() != 1 {
///         return Err("the parameters are no vector".into());
///     }
///     Ok(model.0.sqr()?.sum_all()?)
/// };
/// let model = Object(Tensor::new(&[3.0, 4.0], &Device::Cpu)?);
/// let (value, gradient) = value_and_grad(loss, &model)?;
/// assert_eq!((value, gradient.0.to_vec1::<f64>()?), (25.0, vec![6.0, 8.0]));
/// # Ok::<(), Box<dyn Error>>(())
/// ```
pub fn value_and_grad<T, E>(
    loss: impl FnOnce(&T) -> Result<Tensor, E>,
    model: &T,
) -> Result<(f64, T)>
where
    T: Serialize + DeserializeOwned,
    E: Into<LeafError>,
{
    let with_output = |model: &T| loss(model).map(|loss| (loss, ()));
    let (loss, (), gradient) = value_and_grad_with(&Gradient::new(), with_output, model)?;
    Ok((loss, gradient))
}

/// As [`value_and_grad`], with options, for a loss that also returns other data, such as the outputs or the
/// parts of the loss.
///
/// # Errors
///
/// As [`value_and_grad`]; when a pattern matches nothing; when the patterns leave nothing to train; when
/// the loss does not depend on a parameter, if that is requested.
///
/// ```
/// use candle_core::{Device, Tensor};
/// use treedef::Object;
/// use treedef_optim::candle::{Gradient, Unreached, value_and_grad_with};
///
/// let model = [1.0, 2.0, 3.0].map(|x| Object(Tensor::new(x, &Device::Cpu).unwrap()));
/// let loss = |m: &[Object<Tensor>; 3]| -> candle_core::Result<(Tensor, &str)> {
///     Ok(((&m[0].0 * &m[1].0)?, "beside"))
/// };
/// let (loss_is, beside, gradient) =
///     value_and_grad_with(&Gradient::new().constant(".1"), loss, &model)?;
/// assert_eq!((loss_is, beside), (2.0, "beside"));
/// let gradient = gradient.map(|tensor| tensor.to_scalar::<f64>().unwrap());
/// assert_eq!(gradient, [2.0, 0.0, 0.0]);
///
/// let strict = Gradient::new().unreached(Unreached::Error);
/// let error = value_and_grad_with(&strict, loss, &model).unwrap_err();
/// assert!(error.to_string().starts_with("the loss does not depend on the parameter at `.2`"));
/// # Ok::<(), treedef_optim::Error>(())
/// ```
pub fn value_and_grad_with<T, A, E>(
    options: &Gradient,
    loss: impl FnOnce(&T) -> Result<(Tensor, A), E>,
    model: &T,
) -> Result<(f64, A, T)>
where
    T: Serialize + DeserializeOwned,
    E: Into<LeafError>,
{
    let tree = Tree::<Tensor>::of_objects(model)?;
    if tree.leaves().is_empty() {
        return Err(Error::NoLeaves { leaf: "candle_core::Tensor" });
    }
    let constant = mask(tree.treedef(), tree.leaves(), &options.constant)?;
    let statistics = running_statistics(tree.treedef());
    let path = |leaf: usize| tree.treedef().leaf_path(leaf).ok().or_bug();
    let fail = |leaf: usize, source: candle_core::Error| Error::Operation {
        path: path(leaf),
        source: source.into(),
    };
    // Each parameter becomes a new variable, because a tensor of the model may be one already, or be
    // shared.
    let mut variables = Vec::with_capacity(tree.leaves().len());
    for (leaf, (tensor, constant)) in tree.leaves().iter().zip(&constant).enumerate() {
        let is_parameter = tensor.dtype().is_float() && !contains(&statistics, leaf);
        let variable =
            (!constant && is_parameter).then(|| Var::from_tensor(&tensor.detach())).transpose();
        variables.push(variable.map_err(|error| fail(leaf, error))?);
    }
    if !options.constant.is_empty() && variables.iter().all(Option::is_none) {
        let masks: Vec<String> = options.constant.iter().map(Mask::to_string).collect();
        let masks = masks.join("`, `");
        return Err(Error::Argument(format!("with `{masks}` constant, nothing is trained")));
    }
    let tracked = tree.leaves().iter().zip(&variables).map(|(tensor, variable)| match variable {
        Some(variable) => variable.as_tensor().clone(),
        None => tensor.detach(),
    });
    let tracked: T = treedef::unflatten_objects(tree.treedef(), tracked.collect())?;
    let (loss, output) = loss(&tracked).map_err(|error| Error::Function(error.into()))?;
    let function = |error: candle_core::Error| Error::Function(error.into());
    if loss.elem_count() != 1 {
        return Err(Error::Argument(format!(
            "expected a loss of one number, found the shape {:?} (take the mean, or the sum)",
            loss.dims()
        )));
    }
    if !loss.dtype().is_float() {
        let dtype = loss.dtype().as_str();
        return Err(Error::Argument(format!("expected a loss of floats, found one of {dtype}")));
    }
    let value: f64 = loss.to_numbers().map_err(Error::Function)?.iter().sum(); // it is one
    let store = loss.backward().map_err(function)?;
    let is_reached = |variable: &Var| store.get(variable).is_some();
    if !variables.iter().flatten().any(is_reached) {
        let why = "the loss depends on no parameter (is it computed from another model than its argument, or from \
                   tensors that are detached?)";
        return Err(Error::Argument(why.to_owned()));
    }
    let mut gradients = Vec::with_capacity(variables.len());
    let mut unreached = Vec::new();
    for (leaf, (variable, tensor)) in variables.iter().zip(tree.leaves()).enumerate() {
        let found = variable.as_ref().and_then(|variable| store.get(variable));
        gradients.push(match (found, variable, options.unreached) {
            (Some(gradient), ..) => gradient.detach(),
            (None, Some(_), Unreached::Error) => {
                unreached.push(path(leaf));
                continue;
            }
            (None, ..) => tensor.zeros_like().map_err(|error| fail(leaf, error))?,
        });
    }
    if !unreached.is_empty() {
        return Err(Error::Unreached { paths: unreached });
    }
    Ok((value, output, treedef::unflatten_objects(tree.treedef(), gradients)?))
}
