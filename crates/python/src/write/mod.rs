//! To Python: a value becomes a tree, and its nodes become objects.
//!
//! The library flattens a value with its arrays as leaves, so it decides which values are arrays, for all
//! crates of arrays. `plain` exists only for speed: without it, the objects would be the same.

mod numpy;
mod matrices;
mod build;
mod library;
mod names;
mod rows;
mod plain;
pub(crate) mod like;
mod writer;

pub use crate::write::writer::{
    Like, Writer, into_python, into_python_like, to_python, to_python_like,
};
