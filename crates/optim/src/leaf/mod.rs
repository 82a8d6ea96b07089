//! The operations of a trainable leaf.

mod trainable;
mod slices;
mod array;
mod scalar;

pub use array::TrainableArray;
pub use trainable::Trainable;
