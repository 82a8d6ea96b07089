#![doc = include_str!("../README.md")]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod ranks;
mod error;
mod signature;
mod agreement;
mod leaves;
mod collective;
mod transfer;

pub use crate::{
    collective::{Collective, fingerprint},
    error::{Error, Mismatch, Result},
    leaves::{Float, Reduction},
    ranks::Ranks,
    transfer::{MAX_BYTES, broadcast, broadcast_tree, gather, scatter},
};
