//! Hostile `Serialize` and `Deserialize` implementations, and the encoding beside a naive one.
//!
//! Each test draws a *tape* of bytes from proptest and makes of it a value, a script, or both: that
//! generates fast, and shrinks to the bytes that matter. The fuzz targets hand in tapes of their own.

mod runner;
mod value;
pub mod differential;
pub mod serialize;
pub mod deserialize;

pub use crate::tape::Tape;
pub use runner::with_tapes;
pub use value::Plain;
