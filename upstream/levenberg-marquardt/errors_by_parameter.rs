//! A fit with an error for each parameter, by its name.

use std::error::Error;

use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt};
use nalgebra::{DMatrix, DVector, Dyn, U1, VecStorage};
use serde::{Deserialize, Serialize};
use treedef_optim::Parameters;

/// `amplitude · e^(−rate · t) + offset`.
#[derive(Serialize, Deserialize)]
struct Decay {
    amplitude: f64,
    rate: f64,
    offset: f64,
}

impl Decay {
    fn at(&self, t: f64) -> f64 {
        self.amplitude * (-self.rate * t).exp() + self.offset
    }

    /// The derivatives by the fields, in their order.
    fn derivatives(&self, t: f64) -> [f64; 3] {
        let decay = (-self.rate * t).exp();
        [decay, -t * self.amplitude * decay, 1.0]
    }
}

struct Problem {
    parameters: Parameters<Decay>,
    data: Vec<(f64, f64)>,
    vector: DVector<f64>,
}

impl LeastSquaresProblem<f64, Dyn, Dyn> for Problem {
    type ParameterStorage = VecStorage<f64, Dyn, U1>;
    type ResidualStorage = VecStorage<f64, Dyn, U1>;
    type JacobianStorage = VecStorage<f64, Dyn, Dyn>;

    fn set_params(&mut self, vector: &DVector<f64>) {
        self.vector.copy_from(vector);
    }

    fn params(&self) -> DVector<f64> {
        self.vector.clone()
    }

    fn residuals(&self) -> Option<DVector<f64>> {
        let decay = self.parameters.value(self.vector.as_slice()).ok()?;
        let residuals = self.data.iter().map(|(t, y)| decay.at(*t) - y);
        Some(DVector::from_iterator(self.data.len(), residuals))
    }

    fn jacobian(&self) -> Option<DMatrix<f64>> {
        let vector = self.vector.as_slice();
        let decay = self.parameters.value(vector).ok()?;
        let rows: Vec<f64> = self.data.iter().flat_map(|(t, _)| decay.derivatives(*t)).collect();
        let by_field = DMatrix::from_row_slice(self.data.len(), 3, &rows);
        // The chain rule: `rate` is the exponential of its number in the vector.
        let by_vector = self.parameters.jacobian(vector).ok()?.chain(by_field.as_slice()).ok()?;
        Some(DMatrix::from_vec(self.data.len(), vector.len(), by_vector))
    }
}

/// That of the vector: s² (JᵀJ)⁻¹, where s² is the mean of the squared residuals.
fn covariance(problem: &Problem) -> Option<DMatrix<f64>> {
    let (residuals, jacobian) = (problem.residuals()?, problem.jacobian()?);
    let freedom = residuals.len() - problem.vector.len();
    let scale = residuals.norm_squared() / freedom as f64;
    Some((jacobian.transpose() * jacobian).try_inverse()? * scale)
}

fn main() -> Result<(), Box<dyn Error>> {
    let truth = Decay { amplitude: 3.0, rate: 0.7, offset: 0.5 };
    let noise = |i: i32| 0.01 * f64::from(i * 7919 % 13 - 6) / 6.0; // repeatable
    let times = (0..40).map(|i| (i, f64::from(i) / 4.0));
    let data = times.map(|(i, t)| (t, truth.at(t) + noise(i))).collect();

    let start = Decay { amplitude: 1.0, rate: 1.0, offset: 0.0 };
    let parameters = Parameters::new(&start)?.positive("rate")?;
    let vector = DVector::from_column_slice(parameters.initial());
    let problem = Problem { parameters, data, vector };
    let (found, report) = LevenbergMarquardt::new().minimize(problem);
    assert!(report.termination.was_successful());

    let (best, matrix) = (found.vector.as_slice(), covariance(&found).ok_or("singular")?);
    let covariance = found.parameters.covariance(best, matrix.as_slice())?;
    println!("{}", found.parameters.report(best).errors(&covariance)?);
    let rate = found.parameters.value(best)?.rate;
    assert!((rate - 0.7).abs() < 3.0 * covariance.standard_error("rate")?);
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
