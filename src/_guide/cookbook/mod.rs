//! Recipes: one page for each task, with code that runs.
//!
//! | to | read |
//! |---|---|
//! | freeze a part of a model | [`freeze`] |
//! | change weights, but not biases | [`weight_decay`] |
//! | average checkpoints | [`average`] |
//! | get an exact gradient with dual numbers | [`autodiff`] |
//! | pass a struct to an optimiser, such as L-BFGS of argmin | [`optimiser`] |
//! | save a model for PyTorch, and load a model from PyTorch | [`pytorch`] |
//! | send the changes of a document through a file | [`patch_file`] |
//! | cache results by the structure of the input | [`cache_key`] |
//! | notice in a test that a structure has changed | [`snapshot`] |
//! | see which structures occur in a log | [`log_structures`] |

#[doc(alias = "grad")]
#[doc(alias = "gradient")]
#[doc(alias = "dual numbers")]
#[doc(alias = "automatic differentiation")]
pub mod autodiff;
#[doc(alias = "model soup")]
#[doc(alias = "polyak")]
pub mod average;
#[doc(alias = "jit")]
#[doc(alias = "memoize")]
pub mod cache_key;
#[doc(alias = "frozen")]
#[doc(alias = "trainable")]
pub mod freeze;
#[doc(alias = "shapes")]
#[doc(alias = "json lines")]
pub mod log_structures;
#[doc(alias = "argmin")]
#[doc(alias = "optimizer")]
#[doc(alias = "ravel_pytree")]
pub mod optimiser;
#[doc(alias = "json patch")]
pub mod patch_file;
#[doc(alias = "safetensors")]
#[doc(alias = "state_dict")]
pub mod pytorch;
#[cfg(feature = "insta")]
#[doc(alias = "insta")]
pub mod snapshot;
#[doc(alias = "mask")]
#[doc(alias = "regularization")]
pub mod weight_decay;
