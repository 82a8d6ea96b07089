//! The tests of the crate, one binary.

mod vectors;
