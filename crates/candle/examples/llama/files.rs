//! The files of a model and of a training.

use std::fs;
use std::path::Path;

use candle_core::{DType, Device, Tensor};
use serde::Serialize;
use serde::de::DeserializeOwned;
use treedef::Tree;
use treedef_candle::nn::Initialiser;
use treedef_exchange::{Dtype, Export, Tensor as Stored, safetensors};
use treedef_optim::candle::cast;

use crate::model::{Config, Llama};
use crate::{Failure, Result};

/// The model of a folder with `config.json`, and `model.safetensors` or shards. Halves become `f32`: candle has
/// no product of matrices of `bf16` on the CPU, and trainings lose too much in them.
pub(crate) fn load_model(folder: &Path) -> Result<(Config, Llama)> {
    let path = folder.join("config.json");
    let config = fs::read(&path).map_err(Failure::from);
    let config = config.and_then(|text| Ok(serde_json::from_slice::<Config>(&text)?));
    let config = config.map_err(|error| format!("{}: {error}", path.display()))?;
    let begin = Llama::new(&config, &mut Initialiser::empty())?;
    let model: Llama = load_like(&begin, folder)?;
    Ok((config, cast(&model, DType::F32)?))
}

/// Writes all tensors of a value.
pub(crate) fn save<T: Serialize>(value: &T, path: &Path) -> Result {
    let tree = Tree::<Tensor>::of_objects(value)?;
    let tensors = Export::new().objects(&tree, to_exchange)?;
    Ok(safetensors::save(&tensors.with_metadata("format", "pt"), path)?)
}

/// A value with the tensors of a file or folder in the places of those that it has.
pub(crate) fn load_like<T: Serialize + DeserializeOwned>(begin: &T, path: &Path) -> Result<T> {
    let tree = Tree::<Tensor>::of_objects(begin)?;
    let tree = Export::new().objects_like(&tree, &safetensors::open(path)?, from_exchange)?;
    Ok(tree.into_objects()?)
}

fn to_exchange(tensor: &Tensor) -> std::result::Result<Stored<'static>, Failure> {
    let flat = tensor.flatten_all()?;
    macro_rules! bytes {
        ($number:ty) => {
            flat.to_vec1::<$number>()?.iter().flat_map(|x| x.to_le_bytes()).collect()
        };
    }
    let (dtype, bytes): (_, Vec<u8>) = match tensor.dtype() {
        DType::F32 => (Dtype::F32, bytes!(f32)),
        DType::F64 => (Dtype::F64, bytes!(f64)),
        DType::I64 => (Dtype::I64, bytes!(i64)),
        other => return Err(format!("{other:?} is not one of the types of a training").into()),
    };
    Ok(Stored::new(dtype, tensor.dims().to_vec(), bytes)?)
}

/// In the type of the file: a model may be in halves.
fn from_exchange(begin: &Tensor, tensor: Stored<'_>) -> std::result::Result<Tensor, Failure> {
    if begin.dims() != tensor.shape() {
        return Err(format!("expected {:?}, found {tensor}", begin.dims()).into());
    }
    let dtype = match tensor.dtype() {
        Dtype::F32 => DType::F32,
        Dtype::F64 => DType::F64,
        Dtype::Bf16 => DType::BF16,
        Dtype::F16 => DType::F16,
        Dtype::I64 => DType::I64,
        other => return Err(format!("{other} is not one of the types of a model").into()),
    };
    Ok(Tensor::from_raw_buffer(tensor.bytes(), dtype, tensor.shape(), &Device::Cpu)?)
}
