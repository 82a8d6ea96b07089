//! Any struct as the vector of a solver, and back.
//!
//! [`vector`] is the interface for solvers, [`constraints`] are set by the user, and [`plan`] derives the
//! work for each leaf. [`evaluation`] computes leaves from a vector, [`derivatives`] go the opposite way.
//! The rest is arithmetic ([`transform`]) and printing ([`report`]).

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
#[cfg(feature = "num-dual")]
mod problem;
mod vector;
mod constraints;

pub use covariance::Covariance;
pub use derivatives::Jacobian;
pub use error::Error;
#[cfg(feature = "levenberg-marquardt")]
pub use problem::LeastSquares;
#[cfg(feature = "num-dual")]
pub use problem::Problem;
pub use report::{Report, Row};
pub use vector::{Dims, Parameters};
