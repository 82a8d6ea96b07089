#![doc = include_str!("../README.md")]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod mark;
mod error;
mod detached;
mod registered;
mod matrix;
mod read;
mod write;
mod flat;

#[doc = include_str!("../JAX.md")]
pub mod _jax {}

pub use crate::detached::detached;
pub use crate::error::{Error, ErrorKind, Result};
pub use crate::flat::{PyTreeDef, Rules, flat_from_python, flat_to_python};
pub use crate::read::{NdArray, Number, Reader, SharedArray, UnusedKeys, from_python};
pub use crate::write::{Like, Writer, into_python, into_python_like, to_python, to_python_like};
