//! The formats of files and of Python's structures.

#[cfg(any(feature = "numpy", feature = "pytrees"))]
mod parser;
#[cfg(feature = "pytrees")]
pub mod python;
#[cfg(feature = "pytrees")]
pub mod jax;
#[cfg(feature = "pytrees")]
pub mod torch;
#[cfg(feature = "pytrees")]
pub mod orbax;
pub mod safetensors;
#[cfg(any(feature = "numpy", feature = "pytorch"))]
mod zipped;
#[cfg(feature = "numpy")]
pub mod npy;
#[cfg(feature = "numpy")]
pub mod npz;
#[cfg(feature = "flax")]
pub mod flax;
#[cfg(feature = "gguf")]
pub mod gguf;
#[cfg(feature = "pytorch")]
pub mod pytorch;
