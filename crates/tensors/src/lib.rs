#![doc = include_str!("../README.md")]
#![warn(missing_docs, unreachable_pub, missing_debug_implementations)]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
// Some helpers serve one format only.
#![cfg_attr(
    not(all(feature = "flax", feature = "gguf", feature = "numpy", feature = "pytorch")),
    allow(dead_code)
)]

mod report;
mod error;
mod bug;
mod shape;
mod element;
mod literal;
mod names;
mod structure;
mod tensor;
mod glob;
mod name_mapping;
mod arrays;
mod tensor_blocks;
mod export;
mod file;
mod file_bytes;
mod small_float;
mod datetime;
mod numpy_type;
mod descriptor;
mod source;
mod widened;
mod values;
mod restore;
mod load;
mod formats;
mod objects;
mod background;

pub use background::{SaveHandle, Saver};
pub use descriptor::Descriptor;
pub use element::Element;
pub use error::{Error, ErrorKind, Fault, Result};
pub use export::Export;
#[cfg(feature = "flax")]
pub use formats::flax;
#[cfg(feature = "gguf")]
pub use formats::gguf;
#[cfg(feature = "pytorch")]
pub use formats::pytorch;
pub use formats::safetensors;
#[cfg(feature = "numpy")]
pub use formats::{npy, npz};
pub use load::Loader;
pub use name_mapping::NameMapping;
pub use report::LoadReport;
pub use source::{Source, StoredTensor};
pub use tensor::{Dtype, Tensor, Tensors};

#[doc(hidden)]
pub use file::{
    STAND_IN as __STAND_IN, destination as __destination, folder as __folder, save as __save,
    stand_in as __stand_in,
};
#[cfg(feature = "numpy")]
#[doc(hidden)]
pub use formats::npy::{__element, __stored};
#[doc(hidden)]
pub use glob::renamed as __renamed;
#[doc(hidden)]
pub use names::leaf_names as __leaf_names;
#[doc(hidden)]
pub use shape::display as __display_shape;
#[doc(hidden)]
pub use structure::{STRUCTURE as __STRUCTURE, is_of_structure as __is_of_structure};
#[doc(hidden)]
pub use widened::narrowed as __narrowed;
