//! cobyla: box bounds that the solver keeps, without derivatives.

use cobyla::{Func, RhoBeg, StopTols, minimize};
use treedef_ecosystem_solvers::{Decay, is_found};
use treedef_optim::{Parameters, ParametersError};

pub fn main() -> Result<(), ParametersError> {
    let start = Decay { name: "sample 7".to_owned(), amplitude: 1.0, rate: 0.2, offset: 0.0 };
    let p = Parameters::new(&start)?.bounds("amplitude", 0.0..=9.0)?.bounds("rate", 0.0..=2.0)?;
    let p = p.bounds("offset", -1.0..=1.0)?;

    let bounds: Vec<(f64, f64)> =
        p.lower().iter().copied().zip(p.upper().iter().copied()).collect();
    // What is no model is worse than any.
    let loss = |x: &[f64], _: &mut ()| p.value(x).map_or(f64::MAX, |model| model.loss());
    let none: [&dyn Func<()>; 0] = [];
    let stop = StopTols { ftol_abs: 1e-12, ..StopTols::default() };
    let found = minimize(loss, p.initial(), &bounds, &none, (), 5000, RhoBeg::All(0.2), Some(stop));
    let (_, best, _) = found.expect("a minimum");
    assert!(is_found(&p.value(&best)?, 1e-3), "{}", p.report(&best));
    Ok(())
}
