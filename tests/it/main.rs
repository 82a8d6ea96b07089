//! One test binary.

mod conformance;
mod tidy;
