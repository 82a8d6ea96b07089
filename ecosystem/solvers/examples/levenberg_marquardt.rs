//! levenberg-marquardt: least squares, with the Jacobian of duals.

use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt};
use nalgebra_lm::{DMatrix, DVector, Dyn, U1, VecStorage};
use treedef_ecosystem_solvers::{Decay, Dual, derivatives, duals, is_found, parameters};
use treedef_optim::{Parameters, ParametersError};

struct Problem<'p>(&'p Parameters<Decay<f64>>, DVector<f64>);

impl LeastSquaresProblem<f64, Dyn, Dyn> for Problem<'_> {
    type ParameterStorage = VecStorage<f64, Dyn, U1>;
    type ResidualStorage = VecStorage<f64, Dyn, U1>;
    type JacobianStorage = VecStorage<f64, Dyn, Dyn>;
    fn set_params(&mut self, x: &DVector<f64>) {
        self.1 = x.clone();
    }
    fn params(&self) -> DVector<f64> {
        self.1.clone()
    }
    fn residuals(&self) -> Option<DVector<f64>> {
        Some(DVector::from_vec(self.0.value(self.1.as_slice()).ok()?.residuals().collect()))
    }
    fn jacobian(&self) -> Option<DMatrix<f64>> {
        let model = self.0.value_as::<Decay<Dual>>(&duals(self.1.as_slice())).ok()?;
        let rows: Vec<f64> = model.residuals().flat_map(|dual| derivatives(&dual)).collect();
        Some(DMatrix::from_row_slice(rows.len() / self.1.len(), self.1.len(), &rows))
    }
}

pub fn main() -> Result<(), ParametersError> {
    let p = parameters()?;
    let problem = Problem(&p, DVector::from_column_slice(p.initial()));
    let (problem, _) = LevenbergMarquardt::new().minimize(problem);
    assert!(is_found(&p.value(problem.1.as_slice())?, 1e-9), "{}", p.report(problem.1.as_slice()));
    Ok(())
}
