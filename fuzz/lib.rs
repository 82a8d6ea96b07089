//! The bodies of the fuzz targets, which the tests of the library replay without the fuzzer.

#[path = "../tests/it/data.rs"]
#[allow(dead_code, reason = "its strategies are for proptest")]
mod data;
#[path = "../tests/it/hostile/mod.rs"]
#[allow(dead_code, unused_imports, reason = "its tests run in the library")]
mod hostile;
#[path = "../tests/naive_model/plain/mod.rs"]
#[allow(dead_code, reason = "the model needs all of it")]
mod plain;
#[path = "../tests/it/tape.rs"]
mod tape;
mod targets;
#[path = "targets/arrays.rs"]
pub mod arrays; // as `exchange`
#[path = "targets/exchange.rs"]
pub mod exchange; // apart from those that the tests of the library replay
#[path = "targets/tensors.rs"]
pub mod tensors; // the same

pub use targets::*;
