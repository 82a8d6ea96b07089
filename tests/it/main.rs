//! One test binary.

mod conformance;
mod data;
mod errors;
mod properties;
mod tidy;
mod uniform;
