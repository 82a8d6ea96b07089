//! The parameters and the gradient are a struct with named fields.
//!
//! The solver works on a `Vec<f64>`. `Parameters` makes it from the struct, and the struct from it: `amplitude` is fixed and is
//! no part of the vector, `width` is kept positive by its logarithm, whose derivative is taken into account.

use argmin::core::{CostFunction, Error, Executor, Gradient, State};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::quasinewton::LBFGS;
use serde::{Deserialize, Serialize};
use treedef_optim::Parameters;

/// A peak on a slope.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Peak {
    amplitude: f64,
    centre: f64,
    width: f64,
    slope: f64,
}

impl Peak {
    fn at(&self, x: f64) -> f64 {
        let z = (x - self.centre) / self.width;
        self.amplitude * (-0.5 * z * z).exp() + self.slope * x
    }
}

struct Problem {
    parameters: Parameters<Peak>,
    data: Vec<(f64, f64)>,
}

impl CostFunction for Problem {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, vector: &Vec<f64>) -> Result<f64, Error> {
        let peak = self.parameters.value(vector)?;
        Ok(self.data.iter().map(|(x, y)| (peak.at(*x) - y).powi(2)).sum())
    }
}

impl Gradient for Problem {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, vector: &Vec<f64>) -> Result<Vec<f64>, Error> {
        let peak = self.parameters.value(vector)?;
        let mut by = Peak { amplitude: 0.0, centre: 0.0, width: 0.0, slope: 0.0 };
        for (x, y) in &self.data {
            let z = (x - peak.centre) / peak.width;
            let bell = (-0.5 * z * z).exp();
            let twice = 2.0 * (peak.at(*x) - y);
            by.amplitude += twice * bell;
            by.centre += twice * peak.amplitude * bell * z / peak.width;
            by.width += twice * peak.amplitude * bell * z * z / peak.width;
            by.slope += twice * x;
        }
        Ok(self.parameters.gradient(vector, &by)?)
    }
}

fn main() -> Result<(), Error> {
    let truth = Peak { amplitude: 2.0, centre: 1.0, width: 0.5, slope: 0.1 };
    let data = (0..50).map(|i| f64::from(i) / 10.0 - 1.0).map(|x| (x, truth.at(x))).collect();
    let start = Peak { centre: 0.5, width: 1.0, slope: 0.0, ..truth };
    let parameters = Parameters::new(&start)?.fix("amplitude")?.positive("width")?;

    let problem = Problem { parameters: parameters.clone(), data };
    let solver = LBFGS::new(MoreThuenteLineSearch::new(), 7);
    let result = Executor::new(problem, solver)
        .configure(|state| state.param(parameters.initial().to_vec()).max_iters(100))
        .run()?;

    let best = result.state().get_best_param().ok_or(Error::msg("no result"))?;
    println!("{}", parameters.report(best)); // a row for each field
    let found = parameters.value(best)?;
    assert!((found.centre - 1.0).abs() < 1e-5 && (found.width - 0.5).abs() < 1e-5);
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
