//! One test binary.

mod allocations;
mod conformance;
mod data;
mod depth;
mod errors;
mod hostile;
#[cfg(feature = "in_place")]
mod in_place;
mod laws;
mod properties;
mod rules;
mod snapshots;
mod text_fuzz;
mod tidy;
mod uniform;
mod wrong_type;
mod zoo;
