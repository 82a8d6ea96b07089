//! The files of PEFT.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use candle_core::{Device, Error, Result, safetensors};
use serde_json::{Value, json};
use treedef_tensors::NameMapping;

use super::{Adapter, Lora};
use crate::files::save_named;

const TENSORS: &str = "adapter_model.safetensors";
const CONFIG: &str = "adapter_config.json";

/// Names of tensors here, with the layer at the end, and their names in PEFT's files.
fn names() -> NameMapping {
    NameMapping::new()
        .rename("linear.a.**", "base_model.model.**.lora_A.weight")
        .rename("linear.b.**", "base_model.model.**.lora_B.weight")
        .rename("embedding.a.**", "base_model.model.**.lora_embedding_A")
        .rename("embedding.b.**", "base_model.model.**.lora_embedding_B")
        // PEFT saves the weight of an embedding beside its adapter.
        .rename("embedding.weight.**", "base_model.model.**.base_layer.weight")
}

/// The part of our name of a tensor before its layer.
fn head(embedding: bool, tensor: &str) -> String {
    format!("{}.{tensor}.", if embedding { "embedding" } else { "linear" })
}

/// PEFT's name for a tensor of a layer.
fn name_of(layer: &str, embedding: bool, tensor: &str) -> Result<String> {
    names().in_file(&(head(embedding, tensor) + layer)).map_err(|error| {
        Error::msg(format!("PEFT has no name for the adapter of `{layer}`: {error}"))
    })
}

impl Lora {
    /// Writes the adapters into a folder as PEFT does: `adapter_model.safetensors` and
    /// `adapter_config.json`. `base` is the name or the folder of the model that PEFT loads.
    ///
    /// The names are the names of your fields. If the model in Python has others, first rename the keys of
    /// [`adapters`](Self::adapters) and [`target_modules`](Self::target_modules).
    ///
    /// ```
    /// use candle_core::Device;
    /// use treedef_candle::lora::{Lora, lora};
    /// use treedef_candle::nn::{Initialiser, SwiGlu};
    ///
    /// let model = vec![SwiGlu::new(4, 8, &mut Initialiser::new(0))?];
    /// let adapters = lora(&model, "**.up_proj", 2, 4.0, 0)?;
    /// # let folder = tempfile::tempdir()?;
    /// adapters.save_peft(&folder, "the model's folder")?;
    ///
    /// let names = candle_core::safetensors::load(
    ///     folder.path().join("adapter_model.safetensors"),
    ///     &Device::Cpu,
    /// )?;
    /// assert!(names.contains_key("base_model.model.0.up_proj.lora_A.weight"));
    /// let adapters = Lora::load_peft(&folder, &Device::Cpu)?;
    /// assert_eq!(adapters.adapters["0.up_proj"].b.dims(), [8, 2]);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error when the adapters have several ranks, when the name of a layer would not round-trip
    /// through the file, and for errors of the files.
    pub fn save_peft(&self, folder: impl AsRef<Path>, base: &str) -> Result<()> {
        let folder = folder.as_ref();
        let ranks = self.adapters.values().map(|adapter| adapter.a.dim(0));
        let ranks = ranks.collect::<Result<BTreeSet<usize>>>()?;
        let Some(rank) = ranks.first().filter(|_| ranks.len() == 1) else {
            candle_core::bail!("a file of PEFT has adapters of one rank, not of {ranks:?}");
        };
        let config = json!({
            "peft_type": "LORA",
            "base_model_name_or_path": base,
            "r": rank,
            "lora_alpha": self.alpha,
            "target_modules": self.target_modules,
            "lora_dropout": 0.0,
            "bias": "none",
            "fan_in_fan_out": false,
            "inference_mode": true,
        });
        let mut halves = Vec::new();
        for (layer, Adapter { a, b, embedding }) in &self.adapters {
            for (half, tensor) in [("a", a), ("b", b)] {
                halves.push((name_of(layer, *embedding, half)?, tensor));
            }
        }
        fs::create_dir_all(folder)?;
        save_named(halves.into_iter(), &folder.join(TENSORS)).map_err(Error::wrap)?;
        fs::write(folder.join(CONFIG), format!("{config:#}\n"))?;
        Ok(())
    }

    /// Reads the adapters of a folder that PEFT, or [`save_peft`](Self::save_peft), has written.
    ///
    /// # Errors
    ///
    /// Returns an error when the adapters are of an unsupported kind, when a tensor is not a half of an
    /// adapter, when a layer has two adapters, and for errors of the files.
    pub fn load_peft(folder: impl AsRef<Path>, device: &Device) -> Result<Self> {
        let folder = folder.as_ref();
        let path = folder.join(CONFIG);
        let text =
            fs::read_to_string(&path).map_err(|error| Error::from(error).with_path(&path))?;
        let config: Value =
            serde_json::from_str(&text).map_err(|error| Error::wrap(error).with_path(&path))?;
        expect_plain(&config).map_err(|error| error.with_path(&path))?;
        let Some(alpha) = config["lora_alpha"].as_f64() else {
            return Err(Error::msg("there is no `lora_alpha`").with_path(&path));
        };
        let targets = match &config["target_modules"] {
            Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
            one => Vec::from_iter(one.as_str()),
        };
        let path = folder.join(TENSORS);
        let mut tensors = safetensors::load(&path, device)?;
        let names = names();
        // A name that cannot be reversed is not a half.
        let here: Vec<String> =
            tensors.keys().filter_map(|name| names.in_type(name).ok()).collect();
        let mut adapters = BTreeMap::new();
        for embedding in [false, true] {
            let first = head(embedding, "a");
            for layer in here.iter().filter_map(|name| name.strip_prefix(&first)) {
                let mut take = |tensor: &str| {
                    let name = name_of(layer, embedding, tensor)?;
                    let tensor = tensors.remove(&name);
                    tensor.ok_or_else(|| Error::msg(format!("{path:?} has no `{name}`")))
                };
                let adapter = Adapter { a: take("a")?, b: take("b")?, embedding };
                if embedding {
                    take("weight").ok(); // it may not be there
                }
                if adapters.insert(layer.to_owned(), adapter).is_some() {
                    candle_core::bail!("{path:?} has two adapters for `{layer}`");
                }
            }
        }
        if let Some(name) = tensors.keys().min() {
            candle_core::bail!("{path:?} has `{name}`, which is no half of an adapter");
        }
        let target_modules = targets.into_iter().map(str::to_owned).collect();
        Ok(Lora { adapters, alpha, target_modules })
    }
}

/// The keys of PEFT's configuration that may have any value: the adapters are the same, or their tensors show it.
const PLAIN: [&str; 22] = [
    "auto_mapping",
    "base_model_name_or_path",
    "corda_config",
    "eva_config",
    "exclude_modules",
    "inference_mode",
    "layers_pattern",
    "layers_to_transform",
    "loftq_config",
    "lora_alpha",
    "lora_dropout",
    "megatron_config",
    "megatron_core",
    "peft_type",
    "peft_version",
    "qalora_group_size",
    "r",
    "rank_pattern",
    "revision",
    "runtime_config",
    "target_modules",
    "task_type",
];

/// Whether all adapters are `weight + alpha / rank · b · a`, and nothing else is trained.
fn expect_plain(config: &Value) -> Result<()> {
    if config["peft_type"] != "LORA" {
        candle_core::bail!(
            "adapters of the kind {} cannot be read, only \"LORA\"",
            config["peft_type"]
        );
    }
    let is_off = |value: &Value| match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text == "none",
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    };
    // PiSSA, OLoRA, CorDA and LoftQ fit only the base weights that they have changed.
    let has_plain_base = match &config["init_lora_weights"] {
        Value::String(init) => ["gaussian", "eva", "orthogonal"].contains(&&**init),
        _ => true,
    };
    let mut keys = config.as_object().into_iter().flatten();
    let other = keys.find(|(key, value)| match key.as_str() {
        "init_lora_weights" => !has_plain_base,
        key => !PLAIN.contains(&key) && !is_off(value),
    });
    match other {
        Some((key, value)) => {
            candle_core::bail!("adapters with `{key}` = {value} cannot be read")
        }
        None => Ok(()),
    }
}
