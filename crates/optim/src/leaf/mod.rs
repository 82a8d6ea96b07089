//! What a leaf must do to be trained.

mod trainable;
mod slices;
mod array;
mod scalar;

pub use array::TrainableArray;
pub use trainable::Trainable;
