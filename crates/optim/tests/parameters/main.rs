//! Parameters: laws of the transforms, contradictions, models and vectors, errors and reports.

mod contradictions;
#[cfg(feature = "num-dual")]
mod duals;
mod models;
mod reports;
#[cfg(feature = "num-dual")]
mod solvers;
mod transforms;
