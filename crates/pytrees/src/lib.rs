#![doc = include_str!("../README.md")]
#![warn(missing_docs, unreachable_pub, missing_debug_implementations)]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
// Some helpers serve one format only.
#![cfg_attr(not(all(feature = "jax", feature = "orbax", feature = "torch")), allow(dead_code))]

mod error;
mod bug;
#[allow(missing_docs, reason = "hidden")]
mod py_key;
mod half_float;
mod pytree;
#[allow(missing_docs, reason = "hidden")]
mod parser;
#[allow(missing_docs, reason = "hidden")]
mod json;
mod lower;
mod raise;
pub mod python;
#[cfg(feature = "jax")]
pub mod jax;
#[cfg(feature = "torch")]
pub mod torch;
#[cfg(feature = "orbax")]
pub mod orbax;

pub use error::{Error, ErrorKind, Result};
pub use lower::{Lowered, Lowering};
pub use raise::Raised;

/// Shared with `treedef-tensors`: tensor names have keys in Python's notation, headers of numpy are
/// literals of Python, and headers of safetensors are JSON with ordered entries.
#[doc(hidden)]
pub mod __private {
    pub use crate::error::quoted;
    pub use crate::half_float::half_float;
    pub use crate::json::{Json, json_offset};
    pub use crate::parser::Parser;
    pub use crate::py_key::{MAX_DEPTH, NameBytes, PyKey, key_text};
}
