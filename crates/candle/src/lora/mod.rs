//! Low-rank adapters (LoRA): a few numbers that are trained beside a frozen model.
//!
//! [`lora`] makes adapters for the weights that a pattern matches, as a separate value, which is trained,
//! saved and averaged like a model. [`Lora::merge`] returns the model with the adapters, of the same type:
//! inside a loss, to train them; afterwards, to keep them permanently.
//!
//! ```
//! use candle_core::{DType, Device, Module, Result, Tensor};
//! use serde::{Deserialize, Serialize};
//! use treedef_candle::lora::{Lora, lora};
//! use treedef_candle::nn::{Initialiser, Linear};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Model {
//!     q_proj: Linear,
//!     o_proj: Linear,
//! }
//!
//! impl Module for Model {
//!     fn forward(&self, x: &Tensor) -> Result<Tensor> {
//!         self.o_proj.forward(&self.q_proj.forward(x)?.tanh()?)
//!     }
//! }
//!
//! let mut init = Initialiser::new(0);
//! let model = Model {
//!     q_proj: Linear::new(8, 8, &mut init)?,
//!     o_proj: Linear::new(8, 1, &mut init)?,
//! };
//! let adapters: Lora = lora(&model, "q_proj", 2, 4.0, 7)?;
//! assert_eq!(adapters.adapters["q_proj"].a.dims(), [2, 8]);
//!
//! // The loss of a training, as a function of the adapters and of the merged model.
//! let x = Tensor::ones((3, 8), DType::F32, &Device::Cpu)?;
//! let loss = |adapters: &Lora| adapters.merge(&model)?.forward(&x)?.sqr()?.mean_all();
//! // New adapters change nothing.
//! let difference = (loss(&adapters)? - model.forward(&x)?.sqr()?.mean_all()?)?;
//! assert_eq!(difference.to_scalar::<f32>()?, 0.0);
//! # Ok::<(), candle_core::Error>(())
//! ```

mod layers;
mod adapters;
mod peft;

pub use adapters::{Adapter, Lora, lora};
