//! cobyla: box bounds that the solver keeps, without derivatives.

use cobyla::{RhoBeg, StopTols};
use treedef_ecosystem_solvers::{Decay, is_found};
use treedef_optim::{Parameters, ParametersError};

pub fn main() -> Result<(), ParametersError> {
    let start = Decay { name: "sample 7".to_owned(), amplitude: 1.0, rate: 0.2, offset: 0.0 };
    let p = Parameters::new(&start)?.bounds("amplitude", 0.0..=9.0)?.bounds("rate", 0.0..=2.0)?;
    let p = p.bounds("offset", -1.0..=1.0)?;

    let problem = p.problem(|model: &Decay<f64>| model.loss());
    let stop = StopTols { ftol_abs: 1e-12, ..StopTols::default() };
    // An error has the reason, and the best vector until then.
    let (status, best, _) = problem.cobyla(5000, RhoBeg::All(0.2), stop)?.expect("a minimum");
    assert!(!matches!(status, cobyla::SuccessStatus::MaxEvalReached), "{status:?}");
    assert!(is_found(&p.value(&best)?, 1e-3), "{}", p.report(&best));
    Ok(())
}
