//! From Python: a deserializer over the objects themselves.
//!
//! The requests of a type are answered by the objects, so all attributes of serde apply (rename, alias, default,
//! `deny_unknown_fields`), no tree is built in between, and an error has its path. The numbers of an
//! array are read from numpy's memory.

pub(crate) mod names;
mod buffer;
pub(crate) mod context;
pub(crate) mod class;
pub(crate) mod object;
pub(crate) mod array;
mod probe;
pub(crate) mod slice;
mod listed;
mod access;
mod nested;
pub(crate) mod nd_array;
pub(crate) mod shared;
mod number;
pub(crate) mod deserializer;
pub(crate) mod reader;
mod replay;

pub use crate::read::context::UnusedKeys;
pub use crate::read::nd_array::{NdArray, Number};
pub use crate::read::reader::{Reader, from_python};
pub use crate::read::shared::SharedArray;
