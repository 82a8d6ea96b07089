//! argmin, without derivatives: Nelder–Mead. It knows no bounds, so the parameters have transforms.

use argmin::core::{Error, Executor, State, TerminationReason};
use argmin::solver::neldermead::NelderMead;
use treedef_ecosystem_solvers::{Decay, is_found, parameters};

pub fn main() -> Result<(), Error> {
    let p = parameters()?;
    let mut simplex = vec![p.initial().to_vec(); p.len() + 1];
    (0..p.len()).for_each(|at| simplex[at][at] += 0.5);
    let solver = NelderMead::new(simplex).with_sd_tolerance(1e-12)?;
    let run = Executor::new(p.problem(|model: &Decay<f64>| model.loss()), solver);
    let run = run.configure(|state| state.max_iters(500)).run()?;
    assert_eq!(run.state().get_termination_reason(), Some(&TerminationReason::SolverConverged));
    let best = run.state().get_best_param().ok_or(Error::msg("no result"))?;
    assert!(is_found(&p.value(best)?, 1e-3), "{}", p.report(best));
    Ok(())
}
