//! argmin, with derivatives: L-BFGS. The gradient comes from duals, through the transforms.

use argmin::core::{Error, Executor, State, TerminationReason};
use argmin::solver::{linesearch::MoreThuenteLineSearch, quasinewton::LBFGS};
use treedef_ecosystem_solvers::{Decay, Dual, is_found, parameters};

pub fn main() -> Result<(), Error> {
    let p = parameters()?;
    let problem = p.problem(|model: &Decay<Dual>| model.loss());
    let run = Executor::new(problem, LBFGS::new(MoreThuenteLineSearch::new(), 7));
    let run = run.configure(|state| state.param(p.initial().to_vec()).max_iters(100)).run()?;
    // A run that fails at once is `Ok`, too, with the start as the best.
    assert_eq!(run.state().get_termination_reason(), Some(&TerminationReason::SolverConverged));
    let best = run.state().get_best_param().ok_or(Error::msg("no result"))?;
    assert!(is_found(&p.value(best)?, 1e-4), "{}", p.report(best));
    Ok(())
}
