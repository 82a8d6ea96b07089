//! What argmin's issue 592 asks for: a parameter and a gradient that are types of one's own. The solver
//! has vectors, the function and its gradient have the struct, and `Parameters` are between them.

use argmin::core::{CostFunction, Error, Executor, Gradient, State};
use argmin::solver::{gradientdescent::SteepestDescent, linesearch::MoreThuenteLineSearch};
use serde::{Deserialize, Serialize};
use treedef_optim::Parameters;

#[derive(Serialize, Deserialize)]
struct Valley {
    at: (f64, f64),
    width: f64,
}

struct Problem(Parameters<Valley>);

impl CostFunction for Problem {
    type Param = Vec<f64>;
    type Output = f64;
    fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> {
        let Valley { at: (x, y), width } = self.0.value(x)?;
        Ok((x - 1.0).powi(2) + (y + 2.0).powi(2) + (width - 3.0).powi(2))
    }
}

impl Gradient for Problem {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;
    fn gradient(&self, point: &Vec<f64>) -> Result<Vec<f64>, Error> {
        let Valley { at: (x, y), width } = self.0.value(point)?;
        let at = (2.0 * (x - 1.0), 2.0 * (y + 2.0));
        Ok(self.0.gradient(point, &Valley { at, width: 2.0 * (width - 3.0) })?)
    }
}

pub fn main() -> Result<(), Error> {
    let p = Parameters::new(&Valley { at: (5.0, 5.0), width: 1.0 })?.positive("width")?;
    let run = Executor::new(Problem(p.clone()), SteepestDescent::new(MoreThuenteLineSearch::new()));
    let run = run.configure(|state| state.param(p.initial().to_vec()).max_iters(100)).run()?;
    let best = p.value(run.state().get_best_param().ok_or(Error::msg("no result"))?)?;
    assert!((best.at.0 - 1.0).abs() + (best.at.1 + 2.0).abs() + (best.width - 3.0).abs() < 1e-4);
    Ok(())
}
