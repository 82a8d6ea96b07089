//! Any struct as the vector of a solver, and back.
//!
//! [`vector`] has what a solver sees, [`constraints`] are what a user says of leaves, and [`plan`] what follows for each. [`evaluation`] makes leaves from a vector, [`derivatives`]
//! goes the way back. The rest is arithmetic ([`transform`]) and what is printed ([`report`]).

mod differentiable;
mod error;
mod interval;
mod transform;
mod plan;
mod evaluation;
mod derivatives;
mod covariance;
mod report;
#[cfg(feature = "num-dual")]
mod duals;
mod vector;
mod constraints;

pub use covariance::Covariance;
pub use derivatives::Jacobian;
pub use error::Error;
pub use report::{Report, Row};
pub use vector::{Dims, Parameters};
