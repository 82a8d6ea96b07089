//! Derivatives of the leaves by the vector.

use super::error::{Error, Result};
use super::plan::{Plan, Run, Work};

/// The derivatives of the leaves of a model by the vector. See
/// [`Parameters::jacobian`](crate::Parameters::jacobian).
///
/// It has a row for each leaf and a column for each number of the vector. Columns are computed on demand,
/// because most derivatives are zero.
///
/// ```
/// use treedef_optim::Parameters;
///
/// let p = Parameters::new(&(1.0, [2.0, 3.0], 2.0))?.fix(".1.1")?.tie([".1.0", ".2"])?;
/// let jacobian = p.jacobian(p.initial())?;
/// assert_eq!(jacobian.column(1), [(1, 1.0), (3, 1.0)]); // `.1.0`, and `.2`, which is tied to it
///
/// // Two functions of the leaves: 3a, and b + c + d.
/// let by_leaves = [3.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0];
/// assert_eq!(jacobian.chain(&by_leaves)?, [3.0, 0.0, 0.0, 2.0]);
/// # Ok::<(), treedef_optim::ParametersError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Jacobian<'p> {
    pub(super) plan: &'p Plan,
    pub(super) x: Vec<f64>,
    /// The leaves.
    pub(super) y: Vec<f64>,
}

impl<'p> Jacobian<'p> {
    pub(super) fn new(plan: &'p Plan, x: &[f64]) -> Result<Self> {
        let y = plan.with_leaves(x, |leaves| Ok(leaves.to_vec()))?;
        Ok(Jacobian { plan, x: x.to_vec(), y })
    }

    /// The leaves of the model that depend on a number of the vector, with their derivatives, in order.
    /// It is empty for a number that does not exist.
    pub fn column(&self, by: usize) -> Vec<(usize, f64)> {
        let after = self.plan.runs.partition_point(|run| run.x <= by);
        let Some(run) = after.checked_sub(1).and_then(|at| self.plan.runs.get(at)) else {
            return Vec::new();
        };
        let leaves = match run.work {
            _ if by >= run.x + run.inputs => 0..0,
            Work::Block(_) => run.leaf + by - run.x..run.leaf + run.leaves,
            _ => run.leaf + by - run.x..run.leaf + by - run.x + 1,
        };
        let mut column: Vec<(usize, f64)> =
            leaves.clone().map(|leaf| (leaf, self.derivative(run, leaf, by))).collect();
        for tie in &self.plan.ties {
            let tied = leaves.start.max(tie.from)..leaves.end.min(tie.from + tie.leaves);
            column.extend(
                tied.map(|leaf| (tie.to + leaf - tie.from, self.derivative(run, leaf, by))),
            );
        }
        column.sort_by_key(|(leaf, _)| *leaf);
        column
    }

    /// The numbers of the vector that a leaf depends on, with their derivatives.
    pub(super) fn row(&self, leaf: usize) -> Vec<(usize, f64)> {
        let Some(run) = self.plan.run_of(leaf) else { return Vec::new() };
        let leaf = self.plan.tied_to[leaf];
        let at = leaf - run.leaf;
        let inputs = match run.work {
            Work::Block(_) => 0..run.inputs.min(at + 1),
            _ => at..at + 1,
        };
        inputs.map(|at| (run.x + at, self.derivative(run, leaf, run.x + at))).collect()
    }

    fn derivative(&self, run: &Run, leaf: usize, by: usize) -> f64 {
        let x = &self.x[run.x..run.x + run.inputs];
        match run.work {
            Work::Copy(_) => 1.0,
            Work::Transform(transform, _) => transform.derivative(self.x[by]),
            Work::Block(block) => {
                let y = &self.y[run.leaf..run.leaf + run.leaves];
                block.derivative(x, y, leaf - run.leaf, by - run.x)
            }
        }
    }

    /// The derivatives of functions by the vector, from their derivatives by the leaves. Both are matrices
    /// by columns, as in nalgebra: first the derivatives of all functions by the first leaf.
    ///
    /// # Errors
    ///
    /// Returns an error when the length is no multiple of the number of leaves.
    pub fn chain(&self, by_leaves: &[f64]) -> Result<Vec<f64>> {
        let leaves = self.y.len();
        let functions = by_leaves.len().checked_div(leaves).unwrap_or_default();
        if functions * leaves != by_leaves.len() {
            let (what, found) = ("the derivatives by the leaves", by_leaves.len());
            return Err(Error::Length { what, expected: functions.max(1) * leaves, found });
        }
        let mut by_x = vec![0.0; functions * self.x.len()];
        if functions == 0 {
            return Ok(by_x);
        }
        let mut row = vec![0.0; leaves];
        for function in 0..functions {
            let of_leaves = by_leaves.iter().skip(function).step_by(functions);
            row.iter_mut().zip(of_leaves).for_each(|(to, from)| *to = *from);
            let derivatives = self.plan.pulled_back(&self.x, &self.y, &mut row);
            let into = by_x.iter_mut().skip(function).step_by(functions);
            into.zip(derivatives).for_each(|(to, from)| *to = from);
        }
        Ok(by_x)
    }
}

impl Plan {
    /// The derivatives of a function by the vector, from the derivatives by the leaves.
    pub(super) fn gradient(&self, x: &[f64], by_leaves: &[f64]) -> Result<Vec<f64>> {
        let y = self.with_leaves(x, |leaves| Ok(leaves.to_vec()))?;
        let by_x = self.pulled_back(x, &y, &mut by_leaves.to_vec());
        match by_x.iter().position(|by_x| !by_x.is_finite()) {
            Some(at) => Err(self.outside(self.leaf_of(at), by_x[at], "a finite derivative")),
            None => Ok(by_x),
        }
    }

    /// The chain rule: `by_leaves` gets the sums over tied leaves.
    fn pulled_back(&self, x: &[f64], y: &[f64], by_leaves: &mut [f64]) -> Vec<f64> {
        for tie in &self.ties {
            for at in 0..tie.leaves {
                by_leaves[tie.from + at] += by_leaves[tie.to + at];
            }
        }
        let mut by_x = vec![0.0; x.len()];
        for run in &self.runs {
            let x = &x[run.x..run.x + run.inputs];
            let leaves = run.leaf..run.leaf + run.leaves;
            let by_leaves = &by_leaves[leaves.clone()];
            let by_x = &mut by_x[run.x..run.x + run.inputs];
            match run.work {
                Work::Copy(_) => by_x.copy_from_slice(by_leaves),
                Work::Transform(transform, _) => {
                    for (x, (by_leaf, by_x)) in x.iter().zip(by_leaves.iter().zip(by_x)) {
                        *by_x = by_leaf * transform.derivative(*x);
                    }
                }
                Work::Block(block) => block.pull_back(x, &y[leaves], by_leaves, by_x),
            }
        }
        by_x
    }

    /// The logarithm of the determinant of the derivatives. Adds its own derivatives to `gradient`.
    pub(super) fn log_jacobian(&self, x: &[f64], gradient: &mut [f64]) -> Result<f64> {
        self.with_leaves(x, |_| Ok(()))?;
        self.expect_length("the gradient", gradient.len())?;
        let mut total = 0.0;
        for run in &self.runs {
            let x = &x[run.x..run.x + run.inputs];
            let gradient = &mut gradient[run.x..run.x + run.inputs];
            match run.work {
                Work::Copy(_) => {}
                Work::Transform(transform, _) => {
                    for (x, gradient) in x.iter().zip(gradient) {
                        let (log, slope) = transform.log_derivative(*x);
                        total += log;
                        *gradient += slope;
                    }
                }
                Work::Block(block) => total += block.log_derivative(x, gradient),
            }
            if !total.is_finite() {
                return Err(self.outside(run.leaf, total, "a finite logarithm of a volume"));
            }
        }
        Ok(total)
    }
}
