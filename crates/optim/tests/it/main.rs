//! The tests of the crate, one binary.

mod allocations;
mod arithmetic;
mod around;
mod arrays;
mod batch;
mod changes;
mod differences;
mod docs;
mod errors;
#[cfg(all(feature = "candle", feature = "num-dual"))]
mod gradients;
mod killed;
mod leaves;
#[cfg(feature = "num-dual")]
mod losses;
mod migrations;
mod random;
mod schedules;
mod selections;
mod state;
mod statistics;
mod vectors;
