//! The mean of several models.

use std::collections::HashMap;

use candle_core::{DType, Result, Tensor, TensorId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use treedef::{Flattener, Tree};

use crate::parts::{AnyError, plain_error};

/// The mean of several models, e.g. of checkpoints, or of trainings from one start. Each number is summed
/// in `f64`, on a device in `f32`, and rounded once. Integers, such as counts, and all values that are not
/// tensors come from the first model.
///
/// For a running average of one training, use
/// [`incremental_update`](crate::optim::tree::incremental_update).
///
/// # Errors
///
/// Returns an error when there is no model, when the models have different structures, types or shapes, with the
/// path and both sides, and of the device.
///
/// ```
/// use candle_core::{Device, Tensor};
/// use treedef_candle::nn::Linear;
///
/// let model = |numbers: &[[f32; 2]; 1]| -> candle_core::Result<Linear> {
///     Ok(Linear { weight: Tensor::new(numbers, &Device::Cpu)?, bias: None })
/// };
/// let models = [model(&[[1.0, 0.0]])?, model(&[[2.0, 0.5]])?, model(&[[6.0, 1.0]])?];
/// let mean = treedef_candle::mean(&models)?;
/// assert_eq!(mean.weight.to_vec2::<f32>()?, [[3.0, 0.5]]);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub fn mean<'m, T>(models: impl IntoIterator<Item = &'m T>) -> Result<T>
where
    T: Serialize + DeserializeOwned + 'm,
{
    let mut models = models.into_iter();
    let Some(first) = models.next() else {
        candle_core::bail!("there is no model to take the mean of");
    };
    let first = Tree::<Tensor>::of_objects(first).map_err(plain_error)?;
    let other_values = Flattener::new().ignore_statics(true);
    let mut all: Vec<Vec<Tensor>> =
        first.leaves().iter().map(|tensor| vec![tensor.clone()]).collect();
    for (number, model) in (2..).zip(models) {
        let mut tensors = Vec::new();
        let like = other_values.flatten_objects_like(first.treedef(), model, &mut tensors);
        like.map_err(|error| plain_error(format!("model {number}: {error}")))?;
        all.iter_mut().zip(tensors).for_each(|(all, tensor)| all.push(tensor));
    }
    // A tensor that each model has in two places stays one tensor.
    let mut done = HashMap::<Vec<TensorId>, Tensor>::new();
    let all = Tree::new(first.into_parts().0, all).map_err(plain_error)?;
    let mean = all.try_map(|tensors| {
        let key: Vec<TensorId> = tensors.iter().map(Tensor::id).collect();
        if let Some(mean) = done.get(&key) {
            return Ok(mean.clone());
        }
        let mean = of_tensors(&tensors)?;
        done.insert(key, mean.clone());
        Ok::<_, AnyError>(mean)
    });
    mean.map_err(plain_error)?.into_objects().map_err(plain_error)
}

#[allow(clippy::cast_precision_loss, reason = "a number of models")]
fn of_tensors(tensors: &[Tensor]) -> std::result::Result<Tensor, AnyError> {
    let Some((first, others)) = tensors.split_first() else { return Err("no tensor".into()) };
    let is = |tensor: &Tensor| format!("{}{:?}", tensor.dtype().as_str(), tensor.dims());
    let wide = if first.device().is_cpu() { DType::F64 } else { DType::F32 };
    let mut sum = first.to_dtype(wide)?;
    for other in others {
        if first.dtype() != other.dtype() || first.dims() != other.dims() {
            return Err(format!(
                "expected {} as in the first model, found {}",
                is(first),
                is(other)
            )
            .into());
        }
        sum = (sum + other.to_dtype(wide)?.to_device(first.device())?)?;
    }
    if !first.dtype().is_float() {
        return Ok(first.clone());
    }
    Ok((sum / tensors.len() as f64)?.to_dtype(first.dtype())?.detach())
}
