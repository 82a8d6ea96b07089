//! Files of treedefs and trees. Their guarantees and their format are in
//! [`_guide::files`](crate::_guide::files).

#![deny(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::indexing_slicing)]

mod wire;
mod container;
mod scalars;
mod encode;
mod orders;
mod decode;
mod structure;
mod tree;
mod fingerprint;
mod serde;
mod file;
mod tree_file;
mod reader;

pub use fingerprint::Fingerprint;
pub use reader::TreeReader;
