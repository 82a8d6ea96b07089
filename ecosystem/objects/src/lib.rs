//! Objects of other crates as leaves: see the tests and the example `tensors`. Here is what a user of candle writes once:
//! a tensor of candle as one of treedef-exchange, and back.

use candle_core::{DType, Device, Tensor};
use treedef_exchange as exchange;
use treedef_exchange::Dtype;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The bytes of a tensor, with their type and shape.
///
/// # Errors
///
/// Returns an error for a type other than `f32`, `f64`, `u8`, `u32` and `i64`, and the errors of candle.
pub fn to_exchange(tensor: &Tensor) -> Result<exchange::Tensor<'static>> {
    let flat = tensor.flatten_all()?;
    let (dtype, bytes) = match tensor.dtype() {
        DType::F32 => {
            (Dtype::F32, flat.to_vec1::<f32>()?.iter().flat_map(|x| x.to_le_bytes()).collect())
        }
        DType::F64 => {
            (Dtype::F64, flat.to_vec1::<f64>()?.iter().flat_map(|x| x.to_le_bytes()).collect())
        }
        DType::U32 => {
            (Dtype::U32, flat.to_vec1::<u32>()?.iter().flat_map(|x| x.to_le_bytes()).collect())
        }
        DType::I64 => {
            (Dtype::I64, flat.to_vec1::<i64>()?.iter().flat_map(|x| x.to_le_bytes()).collect())
        }
        DType::U8 => (Dtype::U8, flat.to_vec1::<u8>()?),
        other => return Err(format!("{other:?} is not one of the types here").into()),
    };
    let bytes: Vec<u8> = bytes;
    Ok(exchange::Tensor::new(dtype, tensor.dims().to_vec(), bytes)?)
}

/// The tensor of a file, on the device of the one that is there, whose type and shape it must have.
///
/// # Errors
///
/// Returns an error for another type or shape, and the errors of candle.
pub fn from_exchange(old: &Tensor, tensor: exchange::Tensor<'_>) -> Result<Tensor> {
    let (dtype, shape) = (tensor.dtype(), tensor.shape().to_vec());
    let expected = to_exchange(&Tensor::zeros(0, old.dtype(), &Device::Cpu)?)?.dtype();
    if dtype != expected || shape != old.dims() {
        return Err(format!("expected {expected}{:?}, found {dtype}{shape:?}", old.dims()).into());
    }
    Ok(Tensor::from_raw_buffer(tensor.bytes(), old.dtype(), &shape, old.device())?)
}
