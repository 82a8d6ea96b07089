//! cmaes: an evolution strategy, which knows neither bounds nor derivatives.

use cmaes::{CMAESOptions, DVector, TerminationReason};
use treedef_ecosystem_solvers::{is_found, parameters};
use treedef_optim::ParametersError;

pub fn main() -> Result<(), ParametersError> {
    let p = parameters()?;
    // What is no model is worse than any.
    let loss = |x: &DVector<f64>| p.value(x.as_slice()).map_or(f64::MAX, |model| model.loss());
    let options = CMAESOptions::new(p.initial().to_vec(), 0.5).seed(7).fun_target(1e-12);
    let mut run = options.build(loss).expect("valid options");
    let end = run.run();
    assert!(matches!(end.reasons[..], [TerminationReason::FunTarget, ..]), "{:?}", end.reasons);
    let best = run.overall_best_individual().expect("a generation").point.as_slice().to_vec();
    assert!(is_found(&p.value(&best)?, 1e-4), "{}", p.report(&best));
    Ok(())
}
