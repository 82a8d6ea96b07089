//! Adapters, and the model with them.

use std::collections::{BTreeMap, BTreeSet};

use candle_core::{Error, Result, Tensor};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use treedef::{Path, Tree};

use super::layers::{Layer, is_weight};
use crate::nn::Initialiser;
use crate::parts::{named, plain_error};

/// Adapters of some weights of a model. As a value that is trained or saved, it has paths such as
/// `adapters["layers.0.up"].lora_A`; `adapters.*.lora_B` matches one half of all.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Lora {
    /// By the layer of their `weight`: `model.layers.0.self_attn.q_proj`.
    pub adapters: BTreeMap<String, Adapter>,
    /// The product of an adapter is multiplied by `alpha / rank`.
    pub alpha: f64,
    /// The targets of the adapters, for PEFT: the ends of the names of layers.
    pub target_modules: Vec<String>,
}

/// Two matrices whose product `b · a` is added to a weight, with the shapes of PEFT:
///
/// | layer | its weight | `a` | `b` |
/// |---|---|---|---|
/// | `Linear` | `[outputs, inputs]` | `[rank, inputs]` | `[outputs, rank]` |
/// | `Embedding` | `[words, size]` | `[rank, words]` | `[size, rank]` |
/// | `Conv1d` | `[outputs, inputs, kernel]` | `[rank, inputs, kernel]` | `[outputs, rank, 1]` |
/// | `Conv2d` | `[outputs, inputs, height, width]` | `[rank, inputs, height, width]` | `[outputs, rank, 1, 1]` |
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Adapter {
    /// The half that is applied to the inputs.
    #[serde(with = "treedef::object", rename = "lora_A")]
    pub a: Tensor,
    /// The half that produces the outputs.
    #[serde(with = "treedef::object", rename = "lora_B")]
    pub b: Tensor,
    /// Whether it is for an embedding, to whose weight the transposed product is added.
    #[serde(default)]
    pub embedding: bool,
}

/// Adapters for the weights that a pattern matches, or for the layers that it matches:
/// `"**.{q_proj,v_proj}"` works for both. The name of the struct around a weight determines the layer:
/// `Embedding`, `Conv1d`, `Conv2d`. Every other matrix belongs to a linear layer; one that is not called `weight`,
/// such as `proj: Tensor`, to a layer `proj`, which the model in Python must have.
///
/// As in PEFT, `a` is uniform between ±1/√inputs, by the seed, and `b` is 0, so that new adapters change
/// nothing; for an embedding, `a` is 0 and `b` normal. They have the dtype and the device of their weight.
///
/// # Errors
///
/// Returns an error when a pattern matches nothing or no weight; when PEFT does not support the layer, such
/// as a transposed convolution, one in groups, or a GRU; when two layers have one name; when the rank is 0 or `alpha`
/// is not finite; when the device fails.
pub fn lora<T: Serialize>(
    model: &T,
    pattern: &str,
    rank: usize,
    alpha: f64,
    seed: u64,
) -> Result<Lora> {
    if rank == 0 {
        candle_core::bail!("an adapter has a rank of at least 1, not 0");
    }
    if !alpha.is_finite() {
        candle_core::bail!("expected a finite `alpha`, found {alpha}");
    }
    let tree = Tree::<Tensor>::of_objects(model).map_err(Error::wrap)?;
    let what = "weight of floats: there is nothing to adapt";
    let named = named(&tree, pattern, what, is_weight)?;
    let mut init = Initialiser::new(seed);
    let (mut adapters, mut modules) = (BTreeMap::new(), BTreeSet::new());
    for ((path, weight), named) in tree.iter().zip(named.leaves()) {
        let around = (1..path.keys().len()).map(|end| path.keys().iter().take(end).cloned());
        modules.extend(around.map(|keys| name_of(&keys.collect())));
        if *named {
            let layer = Layer::of(tree.treedef(), &path, weight)?;
            init = init.dtype(weight.dtype()).device(weight.device());
            let (name, adapter) =
                (layer_of(&path), Adapter::new(layer, weight.dims(), rank, &mut init)?);
            if adapters.contains_key(&name) {
                return Err(two_of(&name));
            }
            adapters.insert(name, adapter);
        } else if is_weight(weight) {
            modules.insert(layer_of(&path));
        }
    }
    let others = modules.iter().filter(|name| !adapters.contains_key(*name));
    let target_modules = targets(adapters.keys(), others);
    Ok(Lora { adapters, alpha, target_modules })
}

/// The name of the layer of a weight; for another tensor, its own name.
fn layer_of(path: &Path) -> String {
    let name = name_of(path);
    name.strip_suffix(".weight").map_or(name.clone(), str::to_owned)
}

/// The name in a state-dict. A key that is such a name itself has dots, which are not escaped in it.
fn name_of(path: &Path) -> String {
    let (escaped, mut name) = (path.to_joined_string("."), String::new());
    let mut chars = escaped.chars();
    while let Some(char) = chars.next() {
        name.push(if char == '\\' { chars.next().unwrap_or(char) } else { char });
    }
    name
}

fn two_of(layer: &str) -> Error {
    plain_error(format_args!("the model has two layers of the name `{layer}`"))
}

/// The last parts of the names, if they match no other module, as PEFT refuses one of another kind; otherwise the whole
/// names.
fn targets<'a>(
    names: impl Iterator<Item = &'a String> + Clone,
    mut others: impl Iterator<Item = &'a String>,
) -> Vec<String> {
    let last = |name: &'a str| name.rsplit('.').next().unwrap_or(name);
    let mut short: Vec<String> = names.clone().map(|name| last(name).to_owned()).collect();
    short.sort();
    short.dedup();
    let also = |other: &String| short.iter().any(|short| other.rsplit('.').next() == Some(short));
    if others.any(also) { names.cloned().collect() } else { short }
}

impl Lora {
    /// The model with the adapters: `weight + alpha / rank · b · a` replaces each weight. All other tensors
    /// are unchanged.
    ///
    /// ```
    /// use candle_core::{Device, Tensor};
    /// use treedef_candle::lora::{Adapter, lora};
    /// use treedef_candle::nn::Linear;
    ///
    /// let matrix = |numbers: [[f64; 2]; 2]| Tensor::new(&numbers, &Device::Cpu);
    /// let model = Linear { weight: matrix([[1.0, 0.0], [0.0, 1.0]])?, bias: None };
    /// let mut adapters = lora(&vec![model.clone()], "[0]", 2, 1.0, 0)?;
    /// let (a, b) = (matrix([[1.0, 2.0], [0.0, 0.0]])?, matrix([[8.0, 0.0], [0.0, 0.0]])?);
    /// adapters.adapters.insert("0".to_owned(), Adapter { a, b, embedding: false });
    ///
    /// // Scaled by alpha / rank, which is a half.
    /// let merged = adapters.merge(&vec![model])?;
    /// assert_eq!(merged[0].weight.to_vec2::<f64>()?, [[5.0, 8.0], [0.0, 1.0]]);
    /// let unmerged = adapters.unmerge(&merged)?;
    /// assert_eq!(unmerged[0].weight.to_vec2::<f64>()?, [[1.0, 0.0], [0.0, 1.0]]);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// Gradients reach the adapters. A step costs as much time and, for a moment, memory as one that trains
    /// the adapted matrices, but the optimiser has moments only for the adapters.
    ///
    /// # Errors
    ///
    /// Returns an error when the model has no weight for an adapter, or one of another shape.
    pub fn merge<T: Serialize + DeserializeOwned>(&self, model: &T) -> Result<T> {
        self.moved(model, self.alpha)
    }

    /// Removes adapters that have been [merged](Self::merge) into the model, up to rounding.
    ///
    /// # Errors
    ///
    /// As [`merge`](Self::merge).
    pub fn unmerge<T: Serialize + DeserializeOwned>(&self, model: &T) -> Result<T> {
        self.moved(model, -self.alpha)
    }

    fn moved<T: Serialize + DeserializeOwned>(&self, model: &T, alpha: f64) -> Result<T> {
        let tree = Tree::<Tensor>::of_objects(model).map_err(Error::wrap)?;
        let mut unused: BTreeSet<&String> = self.adapters.keys().collect();
        let tree = tree.map_with_path(|path, weight| {
            let name = layer_of(path);
            let Some(adapter) = self.adapters.get(&name) else { return Ok(weight) };
            if !unused.remove(&name) {
                return Err(two_of(&name));
            }
            weight.add(&adapter.product(&weight, alpha)?)
        });
        let tree = tree.try_map(|moved| moved).map_err(Error::wrap)?;
        if let Some(layer) = unused.first() {
            candle_core::bail!("the model has no `{layer}.weight`, for which there is an adapter");
        }
        tree.into_objects().map_err(Error::wrap)
    }
}

impl Adapter {
    fn new(layer: Layer, shape: &[usize], rank: usize, init: &mut Initialiser) -> Result<Self> {
        let missing = || plain_error("a weight has no dimensions");
        let (&rows, columns) = shape.split_first().ok_or_else(missing)?;
        let embedding = layer == Layer::Embedding;
        if embedding {
            let (a, b) =
                (init.constant(0.0, (rank, rows))?, init.normal([columns, &[rank]].concat())?);
            return Ok(Adapter { a, b, embedding });
        }
        let a = init.of_inputs(columns.iter().product(), [&[rank], columns].concat())?;
        let ones = vec![1; columns.len().saturating_sub(1)]; // the kernel of `b`
        let b = init.constant(0.0, [&[rows, rank], &*ones].concat())?;
        Ok(Adapter { a, b, embedding })
    }

    /// Added to a weight.
    #[allow(clippy::cast_precision_loss, reason = "a rank")]
    fn product(&self, weight: &Tensor, alpha: f64) -> Result<Tensor> {
        let unfit = || {
            let (a, b, weight) = (self.a.shape(), self.b.shape(), weight.shape());
            plain_error(format_args!(
                "an adapter of {a:?} and {b:?} does not fit a weight of {weight:?}"
            ))
        };
        let (a, b) = (self.a.dims(), self.b.dims());
        let ([rank, inputs @ ..], [outputs, other_rank, ones @ ..]) = (a, b) else {
            return Err(unfit());
        };
        let expected = match (self.embedding, inputs) {
            (true, [words]) => vec![*words, *outputs],
            (true, _) => return Err(unfit()),
            (false, _) => [&[*outputs], inputs].concat(),
        };
        let fits = weight.dims() == expected && ones.len() + 1 == inputs.len();
        if !fits || rank != other_rank || *rank == 0 || ones.iter().any(|size| *size != 1) {
            return Err(unfit());
        }
        let (a, b) = (self.a.flatten_from(1)?, self.b.reshape((*outputs, *rank))?);
        let product = b.matmul(&a)?;
        let product = if self.embedding { product.t()? } else { product.reshape(expected)? };
        (product * (alpha / *rank as f64))?.to_dtype(weight.dtype())
    }
}
