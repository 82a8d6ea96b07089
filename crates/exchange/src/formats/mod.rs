//! The formats of files and of Python's structures.

pub mod python;
pub mod jax;
pub mod torch;
pub mod orbax;
pub mod safetensors;
pub mod npy;
pub mod npz;
pub mod flax;
pub mod gguf;
pub mod pytorch;
