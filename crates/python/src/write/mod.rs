//! To Python: a value becomes a tree, and its nodes become objects.
//!
//! The library flattens a value with its arrays as leaves, so what is an array is decided there, for
//! all kinds of arrays that Rust has. `plain` exists only for speed: without it the same objects come
//! out.

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
