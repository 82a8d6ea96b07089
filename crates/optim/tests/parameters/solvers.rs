//! Functions of models as the problems of solvers, where a vector has no model.

use treedef_optim::{Parameters, ParametersError};

type Result<T = ()> = std::result::Result<T, ParametersError>;

#[cfg(feature = "cobyla")]
mod with_cobyla {
    use cobyla::{RhoBeg, StopTols, SuccessStatus};

    use super::*;

    #[test]
    fn cobyla_without_a_number_to_vary_returns_the_value() -> Result {
        let p = Parameters::new(&(1.0, 2.0))?.fix("**")?;
        let problem = p.problem(|m: &(f64, f64)| m.0);
        let found = problem.cobyla(10, RhoBeg::All(0.2), StopTols::default())?;
        assert!(matches!(found, Ok((SuccessStatus::Success, x, 1.0)) if x.is_empty()));
        Ok(())
    }

    #[test]
    fn cobyla_begins_with_an_error_where_no_vector_has_a_value() -> Result {
        let p = Parameters::new(&(1.0, 2.0))?;
        let stop = StopTols::default;
        let other = p.problem(|m: &Vec<Vec<f64>>| m[0][0]);
        assert!(other.cobyla(10, RhoBeg::All(0.2), stop()).is_err());
        let nan = p.problem(|m: &(f64, f64)| m.0 * f64::NAN);
        let error = nan.cobyla(10, RhoBeg::All(0.2), stop()).unwrap_err().to_string();
        assert_eq!(error, "expected a finite number, found NaN as the value of the function");
        let problem = p.problem(|m: &(f64, f64)| m.0);
        let error = problem.cobyla(10, RhoBeg::Set(vec![0.1]), stop()).unwrap_err().to_string();
        assert_eq!(error, "expected 2 numbers in the first steps, found 1");
        let short = StopTols { xtol_abs: vec![0.1; 3], ..stop() };
        let error = problem.cobyla(10, RhoBeg::All(0.1), short).unwrap_err().to_string();
        assert_eq!(error, "expected 2 numbers in `xtol_abs`, found 3");
        Ok(())
    }

    /// The root of a negative number is NaN, so half of the plane has no value.
    #[test]
    fn cobyla_goes_around_vectors_without_a_value() -> Result {
        let p = Parameters::new(&(1.0, 1.0))?;
        let problem = p.problem(|m: &(f64, f64)| m.0.sqrt() + (m.0 - 0.1).powi(2) + m.1.powi(2));
        let stop = StopTols { xtol_rel: 1e-6, ..StopTols::default() };
        let (_, x, value) = problem.cobyla(usize::MAX, RhoBeg::All(0.5), stop)?.expect("a minimum");
        assert!(x[0] >= 0.0 && value < 0.5, "{x:?} {value}");
        // Few calls are no error.
        let few = problem.cobyla(3, RhoBeg::All(0.5), StopTols::default())?;
        assert!(matches!(few, Ok((SuccessStatus::MaxEvalReached, ..))), "{few:?}");
        // None is no `unlimited`.
        let none = problem.cobyla(0, RhoBeg::All(0.5), StopTols::default())?;
        assert!(matches!(none, Ok((SuccessStatus::MaxEvalReached, ..))), "{none:?}");
        Ok(())
    }
}

#[cfg(feature = "levenberg-marquardt")]
#[test]
fn a_step_to_a_vector_without_a_model_is_taken_back() -> Result {
    use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt};
    use num_dual::Dual64;

    let p = Parameters::new(&(1.0,))?.bounds(".0", 0.0..=2.0)?;
    let problem = p.problem(|m: &(Dual64,)| [m.0 - 3.0]);
    let (fit, end) = LevenbergMarquardt::new().minimize(problem.clone().least_squares());
    assert!(end.termination.was_successful(), "{:?}", end.termination);
    assert!(fit.x()[0] > 1.5 && p.value(fit.x()).is_ok(), "{:?}", fit.x());
    // Another start; one of another length has no residuals.
    let mut elsewhere = problem.least_squares();
    elsewhere.set_params(&nalgebra::DVector::from_vec(vec![0.5]));
    assert_eq!(elsewhere.residuals().map(|residuals| residuals[0]), Some(-2.5));
    let mut wrong = p.problem(|m: &(Dual64,)| [m.0 - 3.0]).least_squares();
    wrong.set_params(&nalgebra::DVector::from_vec(vec![0.5; 2]));
    assert!(wrong.residuals().is_none() && wrong.jacobian().is_none());
    // The first vector has to have residuals.
    let nan = p.problem(|m: &(Dual64,)| [m.0 * f64::NAN]);
    assert!(nan.least_squares().residuals().is_none());
    Ok(())
}

#[test]
fn a_value_that_is_not_finite_is_an_error() -> Result {
    use num_dual::Dual64;

    let p = Parameters::new(&(1.0,))?;
    let residuals = |m: &(Dual64,)| [m.0 - 1.0, m.0 - f64::NAN];
    let error = p.residuals_and_jacobian(residuals, &[1.0]).unwrap_err().to_string();
    assert_eq!(error, "expected a finite number, found NaN as the residual [1]");
    let error = p.value_and_grad(|m: &(Dual64,)| m.0 - f64::NAN, &[1.0]).unwrap_err().to_string();
    assert_eq!(error, "expected a finite number, found NaN as the value of the function");
    Ok(())
}

/// The barrier of a function's own is a value for solvers without derivatives.
#[test]
fn a_value_may_be_infinite() -> Result {
    let p = Parameters::new(&(1.0, 2.0))?;
    let barrier = p.problem(|m: &(f64, f64)| if m.0 < 0.0 { f64::INFINITY } else { m.1 });
    assert_eq!(barrier.value(&[-1.0, 2.0])?, f64::INFINITY);
    assert_eq!(barrier.value(&[1.0, 2.0])?, 2.0);
    Ok(())
}
