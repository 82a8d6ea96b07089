//! The tests of the crate, one binary.

mod allocations;
mod arithmetic;
mod batch;
mod changes;
mod differences;
mod docs;
mod errors;
#[cfg(all(feature = "candle", feature = "num-dual"))]
mod gradients;
mod killed;
mod leaves;
mod random;
mod schedules;
mod selections;
mod state;
mod statistics;
mod vectors;
