#![doc = include_str!("../README.md")]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod nn;
mod parts;
mod files;
mod checkpoints;
mod mean;
mod scaler;
pub mod lora;
#[cfg(feature = "mpi")]
pub mod mpi;

#[doc = include_str!("../FROM_CANDLE.md")]
pub mod _from_candle {}

pub use crate::checkpoints::{latest_checkpoint, save_checkpoint};
pub use crate::files::{
    load, load_like, load_like_with, load_partial, load_with, save, source, source_with,
};
pub use crate::mean::mean;
pub use crate::parts::{Row, Summary, summary, to_device, to_dtype};
pub use crate::scaler::GradScaler;
pub use treedef;
pub use treedef_optim as optim;
pub use treedef_optim::candle::{Gradient, Unreached, value_and_grad, value_and_grad_with};
pub use treedef_tensors as tensors;
