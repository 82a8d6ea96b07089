//! The bodies of the fuzz targets, which the tests of the library replay without the fuzzer.

mod targets;
#[path = "targets/arrays.rs"]
pub mod arrays; // as `pytrees`
#[path = "targets/pytrees.rs"]
pub mod pytrees; // apart from those that the tests of the library replay
#[path = "targets/tensors.rs"]
pub mod tensors; // the same
#[path = "targets/shards.rs"]
pub mod shards; // the same
#[path = "targets/gguf.rs"]
pub mod gguf; // the same
#[path = "targets/pytorch.rs"]
pub mod pytorch; // the same

pub use targets::*;
