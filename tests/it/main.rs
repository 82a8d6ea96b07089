//! One test binary.

mod conformance;
mod data;
mod depth;
mod errors;
mod hostile;
mod laws;
mod properties;
mod text_fuzz;
mod tidy;
mod uniform;
mod wrong_type;
mod zoo;
