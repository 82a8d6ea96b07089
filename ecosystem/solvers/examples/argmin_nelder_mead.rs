//! argmin, without derivatives: Nelder–Mead. It knows no bounds, so the parameters have transforms.

use argmin::core::{CostFunction, Error, Executor, State};
use argmin::solver::neldermead::NelderMead;
use treedef_ecosystem_solvers::{Decay, is_found, parameters};
use treedef_optim::Parameters;

struct Problem(Parameters<Decay<f64>>);

impl CostFunction for Problem {
    type Param = Vec<f64>;
    type Output = f64;
    fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> {
        Ok(self.0.value(x)?.loss())
    }
}

pub fn main() -> Result<(), Error> {
    let p = parameters()?;
    let mut simplex = vec![p.initial().to_vec(); p.len() + 1];
    (0..p.len()).for_each(|at| simplex[at][at] += 0.5);
    let solver = NelderMead::new(simplex).with_sd_tolerance(1e-12)?;
    let run =
        Executor::new(Problem(p.clone()), solver).configure(|state| state.max_iters(500)).run()?;
    let best = run.state().get_best_param().ok_or(Error::msg("no result"))?;
    assert!(is_found(&p.value(best)?, 1e-3), "{}", p.report(best));
    Ok(())
}
