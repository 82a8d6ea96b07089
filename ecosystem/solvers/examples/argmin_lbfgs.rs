//! argmin, with derivatives: L-BFGS. The gradient comes from duals, through the transforms.

use argmin::core::{CostFunction, Error, Executor, Gradient, State};
use argmin::solver::{linesearch::MoreThuenteLineSearch, quasinewton::LBFGS};
use treedef_ecosystem_solvers::{Decay, Dual, derivatives, duals, is_found, parameters};
use treedef_optim::Parameters;

struct Problem(Parameters<Decay<f64>>);

impl CostFunction for Problem {
    type Param = Vec<f64>;
    type Output = f64;
    fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> {
        Ok(self.0.value(x)?.loss())
    }
}

impl Gradient for Problem {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;
    fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
        Ok(derivatives(&self.0.value_as::<Decay<Dual>>(&duals(x))?.loss()))
    }
}

pub fn main() -> Result<(), Error> {
    let p = parameters()?;
    let run = Executor::new(Problem(p.clone()), LBFGS::new(MoreThuenteLineSearch::new(), 7));
    let run = run.configure(|state| state.param(p.initial().to_vec()).max_iters(100)).run()?;
    let best = run.state().get_best_param().ok_or(Error::msg("no result"))?;
    assert!(is_found(&p.value(best)?, 1e-4), "{}", p.report(best));
    Ok(())
}
