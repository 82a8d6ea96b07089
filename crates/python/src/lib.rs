#![doc = include_str!("../README.md")]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod error;
mod read;
mod write;

pub use crate::error::{Error, ErrorKind, Result};
pub use crate::read::{NdArray, Number, Reader, Unused, from_python};
pub use crate::write::{Writer, into_python, to_python};
