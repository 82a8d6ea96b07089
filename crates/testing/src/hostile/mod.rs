//! Hostile `Serialize` and `Deserialize` implementations, and the encoding compared with a naive
//! one.
//!
//! Each test draws a *tape* of bytes from proptest and makes a value, a script, or both from it. That is
//! fast, and shrinks to the bytes that matter. The fuzz targets pass their own tapes.

mod runner;
mod value;
pub mod differential;
pub mod serialize;
pub mod deserialize;

pub use crate::tape::Tape;
pub use runner::with_tapes;
pub use value::Plain;
