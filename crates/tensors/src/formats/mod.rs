//! The formats of files.

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
