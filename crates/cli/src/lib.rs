#![doc = include_str!("../README.md")]
#![warn(missing_docs, unreachable_pub)]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod paths;
#[macro_use]
mod failure;
mod keys;
mod format;
mod file;
mod compression;
mod encodings;
mod args;
mod exact;
mod long_numbers;
mod ron_numbers;
mod paint;
mod names;
mod tensors;
mod tensor_leaf;
mod values;
mod tensor_files;
mod far;
mod json;
mod plain;
mod checkpoint;
mod progress;
mod dates;
mod tags;
mod bignums;
mod json5;
mod duplicates;
mod extensions;
mod json_lines;
mod unheld;
mod output;
mod yaml_nodes;
mod yaml;
mod parse;
mod comments;
mod input;
mod notation;
mod documents;
mod stored;
mod patching;
#[cfg(feature = "schema")]
mod references;
#[cfg(feature = "schema")]
mod schema;
mod losses;
mod lines;
mod commands;
mod process;

pub use failure::{Failure, Result};
pub use format::Format;
pub use output::write;
pub use parse::{Document, read};
pub use process::run;
