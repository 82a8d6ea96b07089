//! Arrays: rectangular parts of a structure, and leaves that hold whole arrays.

mod dtype;
pub(crate) mod array;
pub(crate) mod statistics;
pub(crate) mod blocks;
pub(crate) mod array_struct;
pub(crate) mod collect;
mod tree_blocks;
mod rules;
mod with_arrays;
mod summary;

pub use blocks::{Block, Blocks};
