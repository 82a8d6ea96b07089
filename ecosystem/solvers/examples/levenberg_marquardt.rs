//! levenberg-marquardt: least squares, with the Jacobian of duals, and standard errors.

use levenberg_marquardt::LevenbergMarquardt;
use treedef_ecosystem_solvers::{Decay, Dual, is_found, parameters};
use treedef_optim::ParametersError;

pub fn main() -> Result<(), ParametersError> {
    let p = parameters()?;
    let problem = p.problem(|model: &Decay<Dual>| model.residuals().collect::<Vec<_>>());
    let (fit, end) = LevenbergMarquardt::new().minimize(problem.least_squares());
    assert!(end.termination.was_successful(), "{:?}", end.termination);
    let report = p.report(fit.x()).errors(&fit.covariance()?)?;
    assert!(is_found(&p.value(fit.x())?, 1e-9), "{report}");
    Ok(())
}
