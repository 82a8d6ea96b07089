//! A model, its data and its derivatives, for the examples: each shows what a user of one solver writes.

use std::collections::HashMap;

use num_dual::{DualNum, DualSVec64};
use nuts_rs::{CpuLogpFunc, CpuMathError, HasDims, LogpError, rand};
use serde::{Deserialize, Serialize};
use treedef_optim::{Parameters, ParametersError};

/// A decay: `amplitude · e^(−rate · t) + offset`. It is generic over its numbers, so that they may be
/// duals.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Decay<D: Clone + 'static> {
    pub name: String,
    #[serde(with = "treedef::object")]
    pub amplitude: D,
    #[serde(with = "treedef::object")]
    pub rate: D,
    #[serde(with = "treedef::object")]
    pub offset: D,
}

/// The times and the numbers that were measured.
pub fn data() -> impl Iterator<Item = (f64, f64)> {
    (0..40).map(|at| f64::from(at) / 4.0).map(|t| (t, 3.0 * (-0.7 * t).exp() + 0.5))
}

impl<D: DualNum<Primitive = f64> + Copy> Decay<D> {
    /// What the model says beyond what was measured.
    pub fn residuals(&self) -> impl Iterator<Item = D> + '_ {
        data().map(|(t, y)| self.amplitude * (-self.rate * t).exp() + self.offset - y)
    }

    /// The sum of the squares.
    pub fn loss(&self) -> D {
        self.residuals().map(|residual| residual * residual).sum()
    }
}

/// Where the solvers begin: a positive amplitude and rate, and an offset.
pub fn parameters() -> Result<Parameters<Decay<f64>>, ParametersError> {
    let start = Decay { name: "sample 7".to_owned(), amplitude: 1.0, rate: 0.2, offset: 0.0 };
    Parameters::new(&start)?.positive("amplitude")?.positive("rate")
}

/// A number with its derivatives by the three of a vector.
pub type Dual = DualSVec64<3>;

/// Whether a fit has found the model that the data were made of.
pub fn is_found(model: &Decay<f64>, within: f64) -> bool {
    let found = [model.amplitude, model.rate, model.offset];
    model.name == "sample 7"
        && found.iter().zip([3.0, 0.7, 0.5]).all(|(a, b)| (a - b).abs() < within)
}

/// A vector that makes no model, as an error of nuts-rs: the sampler turns back there.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Refused(#[from] ParametersError);

impl LogpError for Refused {
    fn is_recoverable(&self) -> bool {
        true
    }
}

/// A log density and its gradient, as a function of vectors of so many numbers, for nuts-rs.
pub struct LogDensity<F>(pub usize, pub F);

impl<F> HasDims for LogDensity<F> {
    fn dim_sizes(&self) -> HashMap<String, u64> {
        HashMap::from([("dim".to_owned(), self.0 as u64)])
    }
}

impl<F> CpuLogpFunc for LogDensity<F>
where
    F: Fn(&[f64], &mut [f64]) -> Result<f64, ParametersError>,
{
    type LogpError = Refused;
    type FlowParameters = ();
    type ExpandedVector = Vec<f64>;

    fn dim(&self) -> usize {
        self.0
    }

    fn logp(&mut self, x: &[f64], gradient: &mut [f64]) -> Result<f64, Refused> {
        Ok((self.1)(x, gradient)?)
    }

    fn expand_vector<R: rand::Rng + ?Sized>(
        &mut self,
        _: &mut R,
        x: &[f64],
    ) -> Result<Vec<f64>, CpuMathError> {
        Ok(x.to_vec())
    }
}

/// The page of the guide, whose code is tested here.
#[cfg(doctest)]
#[doc = include_str!("../../../src/_guide/fitting.md")]
mod page {}
