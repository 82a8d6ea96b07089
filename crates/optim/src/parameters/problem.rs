//! Functions of a model as the problems of solvers.

use std::marker::PhantomData;

use num_dual::DualNum;
use serde::de::DeserializeOwned;

use super::duals::finite_value;
use super::error::Result;
use super::vector::Parameters;

/// A function of a model as a function of the vector: what solvers take. See
/// [`Parameters::problem`](crate::Parameters::problem).
///
/// The function gets the model over `f64`, for solvers without derivatives, or over
/// [duals](crate::dual). With the features of this crate, the problem has the traits of these solvers:
///
/// | feature | the function returns | the problem has |
/// |---|---|---|
/// | `argmin` | a number | `CostFunction`; over duals `Gradient`, and over `HyperDual64` `Hessian` |
/// | `levenberg-marquardt` | residuals | [`least_squares`](Self::least_squares), with the Jacobian |
/// | `cobyla` | a number | [`cobyla`](Self::cobyla), with the bounds of the parameters |
///
/// ```
/// use num_dual::Dual64;
/// use treedef_optim::Parameters;
///
/// let p = Parameters::new(&(3.0, 2.0))?.positive(".1")?;
/// let problem = p.problem(|m: &(Dual64, Dual64)| m.0 * m.1);
/// assert_eq!(problem.value(&[4.0, 0.0])?, 4.0);
/// # Ok::<(), treedef_optim::ParametersError>(())
/// ```
pub struct Problem<'p, T, U, F> {
    parameters: &'p Parameters<T>,
    function: F,
    model: PhantomData<fn(&U)>,
}

impl<T, U, F: Clone> Clone for Problem<'_, T, U, F> {
    fn clone(&self) -> Self {
        let Problem { parameters, function, model } = self;
        Problem { parameters, function: function.clone(), model: *model }
    }
}

impl<T> Parameters<T> {
    /// A function of the model as a [`Problem`] that solvers take.
    pub fn problem<U, D, F: Fn(&U) -> D>(&self, function: F) -> Problem<'_, T, U, F> {
        Problem { parameters: self, function, model: PhantomData }
    }
}

impl<T, U: DeserializeOwned, F> Problem<'_, T, U, F> {
    /// The value of the function at a vector.
    ///
    /// # Errors
    ///
    /// As [`Parameters::value_as`](crate::Parameters::value_as), and when the value is NaN. It may be infinite:
    /// a barrier that a solver without derivatives goes around.
    pub fn value<D>(&self, x: &[f64]) -> Result<f64>
    where
        D: DualNum<Primitive = f64>,
        F: Fn(&U) -> D,
    {
        let value = self.parameters.plan.value_of::<U, D, D>(&self.function, x)?.re();
        if value.is_nan() { finite_value(value) } else { Ok(value) }
    }
}

#[cfg(feature = "argmin")]
mod for_argmin {
    use argmin::core::{CostFunction, Error, Gradient, Hessian};
    use num_dual::HyperDual64;

    use super::*;
    use crate::dual::Dual;

    impl<T, U, D, F> CostFunction for Problem<'_, T, U, F>
    where
        U: DeserializeOwned,
        D: DualNum<Primitive = f64>,
        F: Fn(&U) -> D,
    {
        type Param = Vec<f64>;
        type Output = f64;

        fn cost(&self, x: &Vec<f64>) -> std::result::Result<f64, Error> {
            Ok(self.value(x)?)
        }
    }

    impl<T, U, D, F> Gradient for Problem<'_, T, U, F>
    where
        U: DeserializeOwned,
        D: Dual + DualNum<Primitive = f64>,
        F: Fn(&U) -> D,
    {
        type Param = Vec<f64>;
        type Gradient = Vec<f64>;

        fn gradient(&self, x: &Vec<f64>) -> std::result::Result<Vec<f64>, Error> {
            Ok(self.parameters.value_and_grad(&self.function, x)?.1)
        }
    }

    impl<T, U, F> Hessian for Problem<'_, T, U, F>
    where
        U: DeserializeOwned,
        F: Fn(&U) -> HyperDual64,
    {
        type Param = Vec<f64>;
        type Hessian = Vec<Vec<f64>>;

        fn hessian(&self, x: &Vec<f64>) -> std::result::Result<Vec<Vec<f64>>, Error> {
            Ok(self.parameters.hessian(&self.function, x)?.rows)
        }
    }
}

/// The value of a vector that has no model. Cobyla computes with it, so it is far from the largest float.
#[cfg(feature = "cobyla")]
const WORST: f64 = 1e100;

#[cfg(feature = "cobyla")]
impl<T, U: DeserializeOwned, F> Problem<'_, T, U, F> {
    /// A minimum by cobyla, which respects the [`bounds`](crate::Parameters::bounds): what
    /// [`cobyla::minimize`] returns, with the vector in the middle. For a vector without a model, and for a
    /// value that is not finite, the function counts as 1e100. `begin` is the size of the first steps.
    ///
    /// After `evaluations` calls, at least one, the result is `Ok` with `MaxEvalReached`: test the status.
    ///
    /// # Errors
    ///
    /// As [`value`](Self::value) at the initial vector, and when `begin` or `xtol_abs` has another length than
    /// the vector. The errors inside are the errors of cobyla.
    ///
    /// ```
    /// use cobyla::{RhoBeg, StopTols, SuccessStatus};
    /// use treedef_optim::Parameters;
    ///
    /// let p = Parameters::new(&(0.5, 0.5))?.bounds(".0", 0.0..=1.0)?;
    /// let problem = p.problem(|m: &(f64, f64)| (m.0 - 2.0).powi(2) + (m.1 + 3.0).powi(2));
    /// let stop = StopTols { ftol_abs: 1e-12, ..StopTols::default() };
    /// let (status, x, _) = problem.cobyla(1000, RhoBeg::All(0.2), stop)?.expect("a minimum");
    /// assert!(matches!(status, SuccessStatus::FtolReached), "{status:?}");
    /// assert!(x[0] == 1.0 && (x[1] + 3.0).abs() < 1e-3);
    /// # Ok::<(), treedef_optim::ParametersError>(())
    /// ```
    #[allow(clippy::type_complexity, reason = "its aliases are private")]
    pub fn cobyla<D>(
        &self,
        evaluations: usize,
        begin: cobyla::RhoBeg,
        stop: cobyla::StopTols,
    ) -> Result<
        std::result::Result<
            (cobyla::SuccessStatus, Vec<f64>, f64),
            (cobyla::FailStatus, Vec<f64>, f64),
        >,
    >
    where
        D: DualNum<Primitive = f64>,
        F: Fn(&U) -> D,
    {
        let p = self.parameters;
        let first = finite_value(self.value(p.initial())?)?;
        if p.is_empty() {
            return Ok(Ok((cobyla::SuccessStatus::Success, Vec::new(), first))); // cobyla needs a number
        }
        if let cobyla::RhoBeg::Set(steps) = &begin {
            p.plan.expect_length("the first steps", steps.len())?;
        }
        if !stop.xtol_abs.is_empty() {
            p.plan.expect_length("`xtol_abs`", stop.xtol_abs.len())?;
        }
        // cobyla counts in an `i32`, and takes 0 for no limit.
        let evaluations = evaluations.clamp(1, i32::MAX as usize);
        let bounds: Vec<_> = p.lower().iter().copied().zip(p.upper().iter().copied()).collect();
        let value =
            |x: &[f64], _: &mut ()| self.value(x).map_or(WORST, |value| value.clamp(-WORST, WORST));
        let none: [&dyn cobyla::Func<()>; 0] = [];
        let stop = Some(stop);
        Ok(cobyla::minimize(value, p.initial(), &bounds, &none, (), evaluations, begin, stop))
    }
}

#[cfg(feature = "levenberg-marquardt")]
pub use least_squares::LeastSquares;

#[cfg(feature = "levenberg-marquardt")]
mod least_squares {
    use std::sync::OnceLock;

    use levenberg_marquardt::LeastSquaresProblem;
    use nalgebra::{DMatrix, DVector, Dyn, U1, VecStorage};

    use super::*;
    use crate::dual::Dual;
    use crate::parameters::Covariance;
    use crate::parameters::duals::expect_finite_residuals;

    impl<'p, T, U, F> Problem<'p, T, U, F> {
        /// The sum of the squares of residuals, for the crate `levenberg-marquardt`. The solver returns it
        /// with the result: [`x`](LeastSquares::x) and [`covariance`](LeastSquares::covariance). To begin at another vector, such as
        /// one of several starts, call [`set_params`](LeastSquaresProblem::set_params) before.
        ///
        /// ```
        /// use levenberg_marquardt::LevenbergMarquardt;
        /// use num_dual::Dual64;
        /// use treedef_optim::Parameters;
        ///
        /// let data = [(0.0, 1.1), (1.0, 2.9), (2.0, 5.1), (3.0, 6.9)];
        /// let p = Parameters::new(&(1.0, 0.0))?;
        /// let problem = p.problem(|m: &(Dual64, Dual64)| data.map(|(t, y)| m.0 * t + m.1 - y));
        /// let (fit, end) = LevenbergMarquardt::new().minimize(problem.least_squares());
        /// assert!(end.termination.was_successful(), "{:?}", end.termination);
        /// let report = p.report(fit.x()).errors(&fit.covariance()?)?;
        /// assert_eq!(report.to_string(), ".0  1.960 ± 0.057\n.1  1.06 ± 0.11\n");
        /// # Ok::<(), treedef_optim::ParametersError>(())
        /// ```
        pub fn least_squares(self) -> LeastSquares<'p, T, U, F> {
            let x = self.parameters.initial().to_vec();
            LeastSquares { problem: self, x, rows: OnceLock::new() }
        }
    }

    /// Residuals whose sum of squares becomes least. See [`Problem::least_squares`].
    pub struct LeastSquares<'p, T, U, F> {
        problem: Problem<'p, T, U, F>,
        x: Vec<f64>,
        /// The number of residuals, once there were some.
        rows: OnceLock<usize>,
    }

    impl<T, U, F: Clone> Clone for LeastSquares<'_, T, U, F> {
        fn clone(&self) -> Self {
            let LeastSquares { problem, x, rows } = self;
            LeastSquares { problem: problem.clone(), x: x.clone(), rows: rows.clone() }
        }
    }

    impl<'p, T, U: DeserializeOwned, F> LeastSquares<'p, T, U, F> {
        /// The vector: at first the initial one, after the solver its result. A vector without a model counts
        /// as far from the minimum, so the solver takes a smaller step. If it stopped with
        /// `User("residuals")`, the initial vector has none, and [`Parameters::value`] or
        /// [`Parameters::residuals_and_jacobian`] says why. The solver knows no bounds: use transforms.
        pub fn x(&self) -> &[f64] {
            &self.x
        }

        /// The covariance of the result: [`Parameters::covariance_of_residuals`].
        ///
        /// # Errors
        ///
        /// As [`Parameters::covariance_of_residuals`] and [`Parameters::residuals_and_jacobian`].
        pub fn covariance<D, R>(&self) -> Result<Covariance<'p>>
        where
            D: Dual + DualNum<Primitive = f64>,
            R: IntoIterator<Item = D>,
            F: Fn(&U) -> R,
        {
            let Problem { parameters, function, .. } = &self.problem;
            let (residuals, jacobian) = parameters.residuals_and_jacobian(function, &self.x)?;
            parameters.covariance_of_residuals(&self.x, &residuals, &jacobian)
        }
    }

    impl<T, U, D, R, F> LeastSquaresProblem<f64, Dyn, Dyn> for LeastSquares<'_, T, U, F>
    where
        U: DeserializeOwned,
        D: Dual + DualNum<Primitive = f64>,
        R: IntoIterator<Item = D>,
        F: Fn(&U) -> R,
    {
        type ParameterStorage = VecStorage<f64, Dyn, U1>;
        type ResidualStorage = VecStorage<f64, Dyn, U1>;
        type JacobianStorage = VecStorage<f64, Dyn, Dyn>;

        fn set_params(&mut self, x: &DVector<f64>) {
            self.x.clear();
            self.x.extend_from_slice(x.as_slice());
        }

        fn params(&self) -> DVector<f64> {
            DVector::from_column_slice(&self.x)
        }

        fn residuals(&self) -> Option<DVector<f64>> {
            let Problem { parameters, function, .. } = &self.problem;
            let residuals = parameters.plan.value_of::<U, D, R>(function, &self.x);
            let residuals = residuals.and_then(|residuals| {
                let residuals: Vec<f64> = residuals.into_iter().map(|x| Dual::re(&x)).collect();
                expect_finite_residuals(&residuals)?;
                Ok(residuals)
            });
            if let Ok(residuals) = residuals {
                self.rows.get_or_init(|| residuals.len());
                return Some(DVector::from_vec(residuals));
            }
            // The solver goes back from a vector that is worse, and would stop at one that has none.
            let mut worst = DVector::zeros(*self.rows.get()?);
            worst.iter_mut().take(1).for_each(|residual| *residual = f64::MAX);
            Some(worst)
        }

        fn jacobian(&self) -> Option<DMatrix<f64>> {
            let Problem { parameters, function, .. } = &self.problem;
            let (residuals, jacobian) =
                parameters.residuals_and_jacobian(function, &self.x).ok()?;
            Some(DMatrix::from_vec(residuals.len(), self.x.len(), jacobian))
        }
    }
}
