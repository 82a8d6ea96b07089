//! Layers as plain structs: public fields, tensors as leaves, names and shapes of PyTorch's `state_dict`.
//!
//! The layers of `candle_nn` hide their fields, so they cannot be fields of a model: rustc reports that
//! `candle_nn::Linear: serde::Serialize` is not satisfied. The layers of the same names here have public
//! fields, and are `Module`s of candle as well. To convert a layer of `candle_nn`, use `from`, or
//! `try_from` for `LayerNorm` and `BatchNorm`. It shares the tensors, which a training step does not
//! change. All layers can be trained: fast operations of candle without a gradient are not used.
//!
//! ```
//! use candle_core::{DType, Device, Module, Result, Tensor};
//! use serde::{Deserialize, Serialize};
//! use treedef_candle::nn::{Initialiser, LayerNorm, Linear};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Model {
//!     up: Linear,
//!     norm: LayerNorm,
//!     down: Linear,
//! }
//!
//! impl Module for Model {
//!     fn forward(&self, x: &Tensor) -> Result<Tensor> {
//!         self.down.forward(&self.norm.forward(&self.up.forward(x)?.gelu_erf()?)?)
//!     }
//! }
//!
//! let mut init = Initialiser::new(0); // a seed
//! let model = Model {
//!     up: Linear::new(4, 8, &mut init)?,
//!     norm: LayerNorm::new(8, 1e-5, &mut init)?,
//!     down: Linear::new(8, 2, &mut init)?.without_bias(),
//! };
//! let x = Tensor::ones((3, 4), DType::F32, &Device::Cpu)?;
//! assert_eq!(model.forward(&x)?.dims(), [3, 2]);
//!
//! let tree = treedef::Tree::<Tensor>::of_objects(&model)?;
//! let names: Vec<String> = tree.iter().map(|(path, _)| path.to_string()).collect();
//! assert_eq!(names, [".up.weight", ".up.bias?", ".norm.weight", ".norm.bias?", ".down.weight"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! In a layer of your own, mark the tensors. All other fields are static:
//!
//! ```
//! # use candle_core::{DType, Device, Module, Result, Tensor};
//! # use serde::{Deserialize, Serialize};
//! use treedef_candle::treedef; // for the marks
//!
//! #[derive(Serialize, Deserialize)]
//! struct Scale {
//!     #[serde(with = "treedef::object")]
//!     weight: Tensor,
//!     #[serde(with = "treedef::object::option", default)]
//!     bias: Option<Tensor>,
//!     eps: f64,
//! }
//!
//! impl Module for Scale {
//!     fn forward(&self, x: &Tensor) -> Result<Tensor> {
//!         let y = (x.broadcast_mul(&self.weight)? + self.eps)?;
//!         self.bias.as_ref().map_or(Ok(y.clone()), |bias| y.broadcast_add(bias))
//!     }
//! }
//!
//! let weight = Tensor::ones(2, DType::F32, &Device::Cpu)?;
//! let layers = vec![Scale { weight, bias: None, eps: 1e-6 }];
//! assert_eq!(treedef_candle::summary(&layers)?.rows()[0].name, "0.weight");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | layer | of PyTorch | its tensors |
//! |---|---|---|
//! | [`Linear`] | `Linear` | `weight`, `bias` |
//! | [`Embedding`] | `Embedding` | `weight` |
//! | [`LayerNorm`], [`RmsNorm`], [`GroupNorm`] | the same, `RMSNorm` | `weight`, `bias` |
//! | [`BatchNorm`] | `BatchNorm1d` to `3d` | `weight`, `bias`, `running_mean`, `running_var`, `num_batches_tracked` |
//! | [`Conv1d`], [`Conv2d`], [`ConvTranspose1d`], [`ConvTranspose2d`] | the same | `weight`, `bias` |
//! | [`Lstm`], [`Gru`] | `LSTM`, `GRU` of one layer | `weight_ih_l0`, `weight_hh_l0`, `bias_ih_l0`, `bias_hh_l0` |
//! | [`MultiHeadAttention`], [`SwiGlu`] | the blocks of transformers' Llama | `q_proj.weight` …, `gate_proj.weight` … |
//! | [`Mlp`] | a list of `Linear` | `layers.0.weight` … |
//! | [`Dropout`] | `Dropout` | |
//!
//! A layer without a bias, or another optional tensor, has `None` there, e.g. after `without_bias`. Fields
//! that are not tensors, such as `eps` or a stride, are static.

mod init;
mod linear;
mod embedding;
mod normalisation;
mod batch_norm;
mod convolution;
mod transposed;
mod recurrent;
mod dropout;
mod mlp;
mod attention;

pub use attention::{MultiHeadAttention, Rope, RopeScaling};
pub use batch_norm::{BatchNorm, BatchStatistics};
pub use convolution::{Conv1d, Conv2d, ConvOptions};
pub use dropout::Dropout;
pub use embedding::Embedding;
pub use init::Initialiser;
pub use linear::Linear;
pub use mlp::{Mlp, SwiGlu};
pub use normalisation::{GroupNorm, LayerNorm, RmsNorm};
pub use recurrent::{Gru, Lstm, LstmState};
pub use transposed::{ConvTranspose1d, ConvTranspose2d};
