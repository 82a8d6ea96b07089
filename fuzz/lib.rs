//! The bodies of the fuzz targets, which the tests of the library replay without the fuzzer.

#[path = "../tests/it/data.rs"]
#[allow(dead_code, reason = "its strategies are for proptest")]
mod data;
#[path = "../tests/it/hostile/mod.rs"]
#[allow(dead_code, unused_imports, reason = "its tests run in the library")]
mod hostile;
mod targets;

pub use targets::*;
