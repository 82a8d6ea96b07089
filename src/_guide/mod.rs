//! Pages to read; there is nothing to import.
//!
//! - [`coming_from`] JAX, optree, PyTorch and others: what is called how here.
//! - [`files`]: what is promised of saved treedefs and trees, and their format byte by byte.
//! - [`speed`]: what takes how long, at run time and to build, and why.

pub mod coming_from;
#[cfg(feature = "persist")]
pub mod files;
pub mod speed;
