//! What a leaf must do to be trained.

mod leaf_trait;
mod slices;
mod array;
mod scalar;

pub use array::Array;
pub use leaf_trait::Leaf;
