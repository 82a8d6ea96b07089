//! Flattening and rebuilding: calls, options and odd types, and the rules about sources.

mod allocations;
mod arrays;
mod blocks;
mod claims;
mod depth;
mod docs;
mod documents;
mod errors;
mod following;
#[cfg(feature = "persist")]
mod fuzz;
#[cfg(feature = "persist")]
#[path = "../../fuzz/targets/mod.rs"]
#[allow(dead_code, unreachable_pub, reason = "the fuzzer has them from a library")]
mod fuzz_targets;
mod hostile;
#[cfg(feature = "in_place")]
mod in_place;
mod internals;
mod labels;
mod layouts;
mod long;
mod migrations;
mod misfits;
mod numbers;
mod objects;
mod properties;
mod reading;
mod rows;
#[cfg(feature = "insta")]
mod snapshots;
mod shown;
mod tidy;
mod traits;
mod uniform;
mod visitors;

use treedef_testing::data;
