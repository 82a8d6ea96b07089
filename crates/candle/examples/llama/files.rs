//! The model of a folder.

use std::fs;
use std::path::Path;

use treedef_candle::load_like_with;
use treedef_candle::nn::Initialiser;
use treedef_candle::tensors::{Loader, safetensors};

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
    let floats = Loader::new().convert_floats(true);
    let model = load_like_with(&floats, &begin, safetensors::open(folder)?)?;
    Ok((config, model))
}
