//! Leaves: their kinds, the types that a vector of them may have, and marks for fields.

mod table;
pub(crate) mod float;
mod scalar;
pub(crate) mod decimal;
pub(crate) mod bits;
pub(crate) mod column;
pub(crate) mod leaf_type;
pub(crate) mod sink;
pub(crate) mod buffer;
mod conversion;
pub(crate) mod markers;
pub mod object;

pub(crate) use scalar::{Integer, Scalar};
pub(crate) use table::each_scalar;
