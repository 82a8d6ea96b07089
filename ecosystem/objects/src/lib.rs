//! Objects of other crates as leaves: see the tests and the example `tensors`. Here is what a user of candle writes once, and what
//! `treedef-candle` has for all types and devices: a tensor of candle as one of treedef-tensors, and back.

use candle_core::{DType, Tensor};
use treedef_tensors::Tensor as Numbers;
use treedef_tensors::{Descriptor, Dtype, StoredTensor};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The type and the shape of a tensor.
///
/// # Errors
///
/// Returns an error for a type other than `f32`, `f64`, `u8`, `u32` and `i64`.
pub fn described(name: &str, tensor: &Tensor) -> Result<Descriptor> {
    Ok(Descriptor::new(name, dtype(tensor)?, tensor.dims()))
}

fn dtype(tensor: &Tensor) -> Result<Dtype> {
    match tensor.dtype() {
        DType::F32 => Ok(Dtype::F32),
        DType::F64 => Ok(Dtype::F64),
        DType::U32 => Ok(Dtype::U32),
        DType::I64 => Ok(Dtype::I64),
        DType::U8 => Ok(Dtype::U8),
        other => Err(format!("{other:?} is not one of the types here").into()),
    }
}

/// The bytes of a tensor, under a name.
///
/// # Errors
///
/// As [`described`], and the errors of candle.
pub fn stored(name: &str, tensor: &Tensor) -> Result<StoredTensor<'static>> {
    let (dtype, flat) = (dtype(tensor)?, tensor.flatten_all()?);
    let bytes: Vec<u8> = match tensor.dtype() {
        DType::F32 => flat.to_vec1::<f32>()?.iter().flat_map(|x| x.to_le_bytes()).collect(),
        DType::F64 => flat.to_vec1::<f64>()?.iter().flat_map(|x| x.to_le_bytes()).collect(),
        DType::U32 => flat.to_vec1::<u32>()?.iter().flat_map(|x| x.to_le_bytes()).collect(),
        DType::I64 => flat.to_vec1::<i64>()?.iter().flat_map(|x| x.to_le_bytes()).collect(),
        _ => flat.to_vec1::<u8>()?,
    };
    Ok(StoredTensor::of(name, Numbers::new(dtype, tensor.dims().to_vec(), bytes)?))
}

/// The tensor of a file, on the device of the one that is there, whose type and shape it has.
///
/// # Errors
///
/// Returns the errors of the file and of candle.
pub fn read(old: &Tensor, stored: &StoredTensor<'_>) -> Result<Tensor> {
    let (bytes, shape) = (stored.read_bytes()?, stored.descriptor().shape());
    Ok(Tensor::from_raw_buffer(&bytes, old.dtype(), shape, old.device())?)
}
