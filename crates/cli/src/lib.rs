#![doc = include_str!("../README.md")]
#![warn(missing_docs, unreachable_pub)]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod paths;
#[macro_use]
mod failure;
mod format;
mod file;
mod args;
mod numbers;
mod color;
mod tensors;
mod formats;
mod output;
mod reading;
mod comparing;
#[cfg(feature = "schema")]
mod schema;
mod commands;
mod process;

pub use failure::{Failure, Result};
pub use format::Format;
pub use output::write;
pub use process::run;
pub use reading::parse::{Document, read};
