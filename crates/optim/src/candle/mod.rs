//! Models of candle's tensors: gradients as a model, and tensors as leaves of all optimisers.
//!
//! This module has what an optimiser needs of a tensor. What makes and stores models (layers, files,
//! adapters) is in the crate `treedef-candle`, which exports this module's functions too.
//!
//! Mark the fields of a model that are tensors with `#[serde(with = "treedef::object")]`, see
//! [objects](treedef::object). The model has no `Var`, and its tensors are not tracked outside the loss.
//!
//! ```
//! use candle_core::{Device, Tensor};
//! use serde::{Deserialize, Serialize};
//! use treedef_optim::{Optimiser, adam, candle};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Linear {
//!     #[serde(with = "treedef::object")]
//!     w: Tensor,
//!     #[serde(with = "treedef::object")]
//!     b: Tensor,
//! }
//!
//! impl Linear {
//!     fn loss(&self, x: &Tensor, y: &Tensor) -> candle_core::Result<Tensor> {
//!         (x.matmul(&self.w)?.broadcast_add(&self.b)? - y)?.sqr()?.mean_all()
//!     }
//! }
//!
//! let x = Tensor::new(&[[0.0f32], [1.0], [2.0]], &Device::Cpu)?;
//! let y = Tensor::new(&[[1.0f32], [3.0], [5.0]], &Device::Cpu)?;
//! let (w, b) = (Tensor::zeros((1, 1), x.dtype(), x.device())?, x.get(0)?);
//! let mut model = Linear { w, b };
//! let optimiser = adam(0.1);
//! let mut state = optimiser.init::<Tensor, _>(&model)?;
//! for _ in 0..300 {
//!     let (_loss, gradient) = candle::value_and_grad(|m: &Linear| m.loss(&x, &y), &model)?;
//!     model = optimiser.step(model, gradient, &mut state)?;
//! }
//! let (loss, _) = candle::value_and_grad(|m: &Linear| m.loss(&x, &y), &model)?;
//! assert!(loss < 1e-4, "{loss}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Tensors of `f16` and `bf16` are calculated in `f32`, but moments are rounded to the type of their tensor,
//! as in optax. So [`adam`](crate::adam) loses its mean of squares: in `f16` it is zero for gradients below
//! about 5e-3, and steps become up to 30 times too long; in `bf16` a decay of 0.999 is less than the
//! rounding, and the mean hardly changes. Train in `f32`, and convert the model for the loss: by
//! [`Tree::of_objects`](treedef::Tree::of_objects), `try_map` and `into_objects`, or a part of it by `to_dtype` of `treedef-candle`.
//!
//! A tensor that two fields share is two parameters, which are trained separately. To tie weights, let the
//! model hold the tensor once.

mod gradient;
mod tensor;

pub use gradient::{Gradient, Unreached, value_and_grad, value_and_grad_with};
