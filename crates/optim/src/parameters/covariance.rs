//! The delta method: computes the covariance of leaves from the covariance of the vector.

use treedef::{__private, ToPath};

use super::derivatives::Jacobian;
use super::error::{Error, Result, quoted, shown};
use super::plan::Plan;
use crate::state::leaf_at;

/// The maximum relative rounding error of a solver.
const ROUNDING: f64 = 1e-6;

/// The covariance of the leaves of a model. See [`Parameters::covariance`](crate::Parameters::covariance).
///
/// ```
/// use treedef_optim::Parameters;
///
/// let p = Parameters::new(&(1.0, 2.0, 3.0))?.positive(".0")?.fix(".2")?;
/// let covariance = p.covariance(&[0.0, 2.0], &[0.04, 0.01, 0.01, 0.25])?;
/// // The leaf is eˣ, so its error is the error of x, times eˣ.
/// assert_eq!(covariance.standard_error(".0")?, 0.2);
/// assert_eq!(covariance.get(".0", ".1")?, 0.01);
/// assert_eq!(covariance.standard_error(".2")?, 0.0);
/// # Ok::<(), treedef_optim::ParametersError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Covariance<'p> {
    jacobian: Jacobian<'p>,
    /// The covariance of the vector.
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
                let both = || format!("`{}` and `{}`", plan.path(plan.leaf_of(column)), name());
                let most = matrix[column * count + column].sqrt() * variance.sqrt();
                if !a.is_finite() || !b.is_finite() || (a - b).abs() > ROUNDING * most.max(a.abs())
                {
                    let (a, b) = (shown(a), shown(b));
                    return refused(format!("of {} there are two numbers, {a} and {b}", both()));
                }
                if a.abs() > (1.0 + ROUNDING) * most {
                    let correlation = shown(a / most);
                    return refused(format!("the correlation of {} is {correlation}", both()));
                }
            }
        }
        if let Some(number) = negative(matrix, count) {
            let name = plan.path(plan.leaf_of(number));
            return refused(format!(
                "it is not positive semidefinite: where others are known, `{name}` would have a negative variance (is it the inverse of a Hessian at a minimum?)"
            ));
        }
        Ok(Covariance { jacobian, matrix: matrix.to_vec() })
    }

    /// s² (JᵀJ)⁻¹ of a fit by least squares, where s² is the variance of the residuals.
    pub(super) fn of_residuals(
        plan: &'p Plan,
        x: &[f64],
        residuals: &[f64],
        jacobian: &[f64],
    ) -> Result<Self> {
        plan.expect_length("the vector", x.len())?;
        let (rows, count) = (residuals.len(), x.len());
        if jacobian.len() != rows * count {
            let (what, expected) = ("the Jacobian", rows * count);
            return Err(Error::Length { what, expected, found: jacobian.len() });
        }
        let refused = |reason| Err(Error::Covariance { reason });
        if rows <= count {
            let reason = format!(
                "the variance of {rows} residuals is unknown after a fit of {count} parameters"
            );
            return refused(reason);
        }
        if let Some(at) = residuals.iter().position(|residual| !residual.is_finite()) {
            return refused(format!("the residual [{at}] is {}", shown(residuals[at])));
        }
        if let Some(at) = jacobian.iter().position(|slope| !slope.is_finite()) {
            let (name, row) = (quoted(&plan.path(plan.leaf_of(at / rows))), at % rows);
            let slope = shown(jacobian[at]);
            return refused(format!("the derivative of residual [{row}] by {name} is {slope}"));
        }
        // Relative to the greatest, so that no square is too large or too small.
        let scale = residuals.iter().fold(0.0f64, |most, residual| most.max(residual.abs()));
        let squares = residuals.iter().map(|residual| (residual / scale).powi(2)).sum::<f64>();
        let deviation =
            if scale == 0.0 { 0.0 } else { scale * (squares / (rows - count) as f64).sqrt() };
        let matrix = match inverse_square(jacobian, rows, deviation) {
            Ok(inverse) => inverse,
            Err(at) => {
                let column = &jacobian[at * rows..(at + 1) * rows];
                let name = quoted(&plan.path(plan.leaf_of(at)));
                return refused(if column.iter().all(|slope| *slope == 0.0) {
                    format!("the residuals do not depend on {name}")
                } else {
                    format!("the residuals do not determine {name} beside the parameters before it")
                });
            }
        };
        let is_lost = |at: &usize| deviation > 0.0 && matrix[at * (count + 1)] < f64::MIN_POSITIVE;
        if let Some(at) = (0..count).find(is_lost) {
            let name = quoted(&plan.path(plan.leaf_of(at)));
            return refused(format!(
                "the variance of {name} is below the smallest `f64` (use a smaller unit)"
            ));
        }
        Covariance::new(plan, x, &matrix)
    }

    /// The covariance of two leaves; zero if one of them is fixed.
    ///
    /// # Errors
    ///
    /// Returns an error when a path leads to no leaf, and when the result is not finite.
    pub fn get(&self, a: impl ToPath, b: impl ToPath) -> Result<f64> {
        self.of_leaves(self.leaf(a)?, self.leaf(b)?)
    }

    /// The square root of the variance of a leaf; zero if it is fixed.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    pub fn standard_error(&self, path: impl ToPath) -> Result<f64> {
        self.error_of_leaf(self.leaf(path)?)
    }

    fn leaf(&self, path: impl ToPath) -> Result<usize> {
        let path = path.to_path()?;
        let node = self.jacobian.plan.treedef.node(&*path)?;
        let other = || {
            let found = format!("expected a leaf, found `{}`", __private::brief(&node));
            __private::at(__private::argument(found), path.clone().into_owned())
        };
        Ok(leaf_at(node).ok_or_else(other)?)
    }

    /// The variance of all leaves in their order, and their covariances: a matrix by rows, with a row for
    /// each of [`leaf_names`](crate::Parameters::leaf_names).
    ///
    /// # Errors
    ///
    /// Returns an error when a number is not finite.
    pub fn matrix(&self) -> Result<Vec<f64>> {
        let leaves = self.jacobian.y.len();
        let rows: Vec<_> = (0..leaves).map(|leaf| self.jacobian.row(leaf)).collect();
        let mut all = Vec::with_capacity(leaves * leaves);
        for (a, row) in rows.iter().enumerate() {
            let with_x = self.with_x(row);
            for column in &rows {
                all.push(self.finite(a, product(column, &with_x))?);
            }
        }
        Ok(all)
    }

    pub(super) fn is_at(&self, plan: &Plan, x: &[f64]) -> bool {
        self.jacobian.plan.is_like(plan) && self.jacobian.x == x
    }

    pub(super) fn error_of_leaf(&self, leaf: usize) -> Result<f64> {
        let row = self.jacobian.row(leaf);
        let variance = self.finite(leaf, product(&row, &self.with_x(&row)))?;
        let count = self.jacobian.x.len();
        let error = |(i, by): &(usize, f64)| by.abs() * self.matrix[i * count + i].sqrt();
        let most = row.iter().map(error).sum::<f64>().powi(2);
        // Rounding may make a variance of zero negative.
        if variance < -ROUNDING * most {
            let (path, variance) = (self.jacobian.plan.path(leaf), shown(variance));
            let reason = format!("the variance of `{path}` would be {variance}");
            return Err(Error::Covariance { reason });
        }
        Ok(variance.max(0.0).sqrt())
    }

    fn of_leaves(&self, a: usize, b: usize) -> Result<f64> {
        let with_x = self.with_x(&self.jacobian.row(a));
        self.finite(a, product(&self.jacobian.row(b), &with_x))
    }

    /// The covariance of a leaf with each number of the vector.
    fn with_x(&self, row: &[(usize, f64)]) -> Vec<f64> {
        let count = self.jacobian.x.len();
        let mut sums = vec![0.0; count];
        for (i, by_i) in row {
            let of_x = &self.matrix[i * count..(i + 1) * count];
            sums.iter_mut().zip(of_x).for_each(|(sum, of_x)| *sum += by_i * of_x);
        }
        sums
    }

    fn finite(&self, leaf: usize, covariance: f64) -> Result<f64> {
        if covariance.is_finite() {
            Ok(covariance)
        } else {
            Err(self.jacobian.plan.outside(leaf, covariance, "a finite variance"))
        }
    }
}

/// s² (AᵀA)⁻¹ of a number and a matrix by columns of this length, by Householder reflections: A = QR. As an error, a column that
/// is a combination of those before it.
fn inverse_square(matrix: &[f64], length: usize, s: f64) -> std::result::Result<Vec<f64>, usize> {
    let norm = |column: &[f64]| column.iter().fold(0.0f64, |norm, x| norm.hypot(*x));
    let scales: Vec<f64> = matrix.chunks(length).map(norm).collect();
    if let Some(at) = scales.iter().position(|scale| *scale == 0.0 || !scale.is_finite()) {
        return Err(at);
    }
    // Parameters may have any units.
    let scaled = matrix.chunks(length).zip(&scales);
    let mut columns: Vec<Vec<f64>> =
        scaled.map(|(column, scale)| column.iter().map(|x| x / scale).collect()).collect();
    let count = columns.len();
    for at in 0..count {
        let (done, rest) = columns.split_at_mut(at + 1);
        let column = &mut done[at];
        let size = norm(&column[at..]);
        if size <= f64::EPSILON * length as f64 {
            return Err(at);
        }
        let mut mirror = column[at..].to_vec();
        mirror[0] += size.copysign(mirror[0]);
        let square: f64 = mirror.iter().map(|x| x * x).sum();
        column[at] = -size.copysign(column[at]);
        for other in rest {
            let along: f64 = mirror.iter().zip(&other[at..]).map(|(a, b)| a * b).sum();
            let part = 2.0 * along / square;
            other[at..].iter_mut().zip(&mirror).for_each(|(x, mirror)| *x -= part * mirror);
        }
    }
    // R⁻¹, a column after the other.
    let mut inverse = vec![0.0; count * count];
    for column in 0..count {
        for row in (0..=column).rev() {
            let known: f64 =
                (row + 1..=column).map(|k| columns[k][row] * inverse[k * count + column]).sum();
            let one = if row == column { 1.0 } else { 0.0 };
            inverse[row * count + column] = (one - known) / columns[row][row];
        }
    }
    let element = |a: usize, b: usize| {
        let products = (a.max(b)..count).map(|k| inverse[a * count + k] * inverse[b * count + k]);
        products.sum::<f64>() * (s / scales[a]) * (s / scales[b])
    };
    Ok((0..count * count).map(|at| element(at / count, at % count)).collect())
}

/// A number whose conditional variance would be negative. There is none if a symmetric matrix is positive
/// semidefinite: by Cholesky, with the largest variance first.
fn negative(matrix: &[f64], count: usize) -> Option<usize> {
    let least = ROUNDING * count as f64;
    let root = |at: usize| matrix[at * count + at].sqrt();
    let mut left: Vec<f64> = (0..count * count)
        .map(|at| {
            let (row, column) = (at / count, at % count);
            let both = 0.5 * matrix[at] + 0.5 * matrix[column * count + row];
            if both == 0.0 { 0.0 } else { both / root(row) / root(column) }
        })
        .collect();
    let mut numbers: Vec<usize> = (0..count).collect();
    while let Some(at) = (0..numbers.len()).max_by(|a, b| {
        let variance = |at: &usize| left[numbers[*at] * (count + 1)];
        variance(a).total_cmp(&variance(b))
    }) {
        let most = numbers.swap_remove(at);
        let variance = left[most * (count + 1)];
        if variance <= least {
            // The others have no variance left, so they cannot have a covariance either.
            numbers.push(most);
            let is_wrong = |number: &usize| {
                let shares = |other: &usize| left[number * count + other].abs() > 2.0 * least;
                left[number * (count + 1)] < -least
                    || numbers.iter().any(|other| other != number && shares(other))
            };
            return numbers.iter().copied().find(is_wrong);
        }
        for row in &numbers {
            let part = left[row * count + most] / variance;
            for column in &numbers {
                left[row * count + column] -= part * left[most * count + column];
            }
        }
    }
    None
}

/// The sum of the derivatives of a leaf, each times the number beside it.
fn product(row: &[(usize, f64)], with_x: &[f64]) -> f64 {
    row.iter().map(|(j, by_j)| with_x[*j] * by_j).sum()
}
