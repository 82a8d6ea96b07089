//! The delta method: the covariance of leaves from that of the vector.

use treedef::ToPath;

use super::derivatives::Jacobian;
use super::error::{Error, Result};
use super::plan::Plan;

/// Two numbers of a symmetric matrix may differ by this part of the greater one: a solver rounds.
const ASYMMETRY: f64 = 1e-6;

/// The covariance of the leaves of a model. See [`Parameters::covariance`](crate::Parameters::covariance).
///
/// ```
/// use treedef_optim::Parameters;
///
/// let p = Parameters::new(&(1.0, 2.0, 3.0))?.positive(".0")?.fix(".2")?;
/// let covariance = p.covariance(&[0.0, 2.0], &[0.04, 0.01, 0.01, 0.25])?;
/// // The leaf is eˣ, so its error is that of x, times eˣ.
/// assert_eq!(covariance.standard_error(".0")?, 0.2);
/// assert_eq!(covariance.get(".0", ".1")?, 0.01);
/// assert_eq!(covariance.standard_error(".2")?, 0.0);
/// # Ok::<(), treedef_optim::ParametersError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Covariance<'p> {
    jacobian: Jacobian<'p>,
    /// That of the vector.
    matrix: Vec<f64>,
}

impl<'p> Covariance<'p> {
    pub(super) fn new(plan: &'p Plan, x: &[f64], matrix: &[f64]) -> Result<Self> {
        let jacobian = Jacobian::new(plan, x)?;
        let count = x.len();
        if matrix.len() != count * count {
            let (what, expected) = ("the covariance", count * count);
            return Err(Error::Length { what, expected, found: matrix.len() });
        }
        let refused = |reason| Err(Error::Covariance { reason });
        for row in 0..count {
            let name = || plan.path(plan.leaf_of(row));
            let variance = matrix[row * count + row];
            if variance.is_nan() || variance.is_infinite() || variance < 0.0 {
                return refused(format!("the variance of `{}` is {variance}", name()));
            }
            for column in 0..row {
                let (a, b) = (matrix[row * count + column], matrix[column * count + row]);
                let far = (a - b).abs() > ASYMMETRY * a.abs().max(b.abs());
                if far || !a.is_finite() || !b.is_finite() {
                    let other = plan.path(plan.leaf_of(column));
                    let both = format!("`{}` and `{other}`", name());
                    return refused(format!("of {both} there are two numbers, {a} and {b}"));
                }
            }
        }
        Ok(Covariance { jacobian, matrix: matrix.to_vec() })
    }

    /// The covariance of two leaves; zero if one of them is fixed.
    ///
    /// # Errors
    ///
    /// Returns an error when a path leads to no leaf, and when the result is not finite.
    pub fn get(&self, a: impl ToPath, b: impl ToPath) -> Result<f64> {
        let treedef = &self.jacobian.plan.treedef;
        self.of_leaves(treedef.leaf_index(a)?, treedef.leaf_index(b)?)
    }

    /// The square root of the variance of a leaf; zero if it is fixed.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    pub fn standard_error(&self, path: impl ToPath) -> Result<f64> {
        self.error_of_leaf(self.jacobian.plan.treedef.leaf_index(path)?)
    }

    /// The variance of all leaves in their order, and their covariances: a matrix by rows, with a row for
    /// each of [`leaf_names`](crate::Parameters::leaf_names).
    ///
    /// # Errors
    ///
    /// Returns an error when a number is not finite.
    pub fn matrix(&self) -> Result<Vec<f64>> {
        let leaves = 0..self.jacobian.y.len();
        let all = leaves.clone().flat_map(|a| leaves.clone().map(move |b| (a, b)));
        all.map(|(a, b)| self.of_leaves(a, b)).collect()
    }

    pub(super) fn is_at(&self, plan: &Plan, x: &[f64]) -> bool {
        std::ptr::eq(self.jacobian.plan, plan) && self.jacobian.x == x
    }

    pub(super) fn error_of_leaf(&self, leaf: usize) -> Result<f64> {
        // Rounding may leave less than nothing of a variance that is zero.
        Ok(self.of_leaves(leaf, leaf)?.max(0.0).sqrt())
    }

    fn of_leaves(&self, a: usize, b: usize) -> Result<f64> {
        let (row, column) = (self.jacobian.row(a), self.jacobian.row(b));
        let count = self.jacobian.x.len();
        let mut sum = 0.0;
        for (i, by_i) in &row {
            for (j, by_j) in &column {
                sum += by_i * self.matrix[i * count + j] * by_j;
            }
        }
        if sum.is_finite() {
            Ok(sum)
        } else {
            Err(self.jacobian.plan.outside(a, sum, "a finite variance"))
        }
    }
}
