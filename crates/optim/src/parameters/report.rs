//! The result of a fit as a table.

use std::fmt;

use super::covariance::Covariance;
use super::error::{Error, Result, shown};
use super::interval::Interval;
use super::plan::{Constraint, Plan};

/// How near to a bound counts as reached, relative to the range or to the number at the start.
const NEAR: f64 = 1e-6;

/// The maximum number of rows that are printed.
const PRINTED: usize = 1000;

/// A table of the leaves of a model. See [`Parameters::report`](crate::Parameters::report).
///
/// It is computed when it is printed or its [`rows`](Self::rows) are read. If the vector is not valid, it
/// prints the error.
///
/// ```
/// use treedef_optim::Parameters;
///
/// let p = Parameters::new(&(1.9, 2.0, 0.5))?.fix(".1")?.bounds(".2", 0.0..=1.0)?;
/// let best = [1.921, 1.0];
/// let covariance = p.covariance(&best, &[0.0009, 0.0, 0.0, 0.04])?;
/// let report = p.report(&best).errors(&covariance)?;
/// assert_eq!(
///     report.to_string(),
///     ".0  1.921 ± 0.030\n\
///      .1  2              fixed\n\
///      .2  1.00 ± 0.20    at the upper bound 1\n"
/// );
/// # Ok::<(), treedef_optim::ParametersError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Report<'p> {
    plan: &'p Plan,
    x: Vec<f64>,
    /// The error of each leaf; empty if none are known.
    errors: Vec<f64>,
}

/// A leaf in a [`Report`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Row {
    /// The path of the leaf.
    pub name: String,
    /// The number of the leaf.
    pub value: f64,
    /// Its standard error, if errors are known and the leaf varies.
    pub error: Option<f64>,
    /// `fixed`, `tied to …`, the bound that was reached, or nothing.
    pub note: String,
}

impl<'p> Report<'p> {
    pub(super) fn new(plan: &'p Plan, x: &[f64]) -> Self {
        Report { plan, x: x.to_vec(), errors: Vec::new() }
    }

    /// Adds the standard errors.
    ///
    /// # Errors
    ///
    /// Returns an error when the covariance belongs to other parameters or another vector, and when a
    /// standard error is not finite.
    pub fn errors(mut self, covariance: &Covariance<'_>) -> Result<Self> {
        if !covariance.is_at(self.plan, &self.x) {
            let reason = "it is one of other parameters, or at another vector".to_owned();
            return Err(Error::Covariance { reason });
        }
        let leaves = 0..self.plan.start.len();
        self.errors = leaves.map(|leaf| covariance.error_of_leaf(leaf)).collect::<Result<_>>()?;
        Ok(self)
    }

    /// The rows: all floats of the model, in their order.
    ///
    /// # Errors
    ///
    /// Returns an error when the vector does not give a model.
    pub fn rows(&self) -> Result<Vec<Row>> {
        self.first_rows(self.plan.start.len())
    }

    fn first_rows(&self, count: usize) -> Result<Vec<Row>> {
        let plan = self.plan;
        plan.with_leaves(&self.x, |leaves| {
            let rows = leaves.iter().enumerate().take(count).map(|(leaf, value)| {
                let value = plan.rounded(leaf, *value);
                let varies = plan.rules[leaf] != Constraint::Fixed;
                let error = self.errors.get(leaf).copied().filter(|_| varies);
                let note = match plan.rules[leaf] {
                    Constraint::Fixed => Some("fixed".to_owned()),
                    rule => {
                        let reached = || bound_reached(rule, value, plan.start[leaf], error);
                        plan.tie_note(leaf).or_else(reached)
                    }
                };
                Row {
                    name: plan.path(leaf).to_string(),
                    value,
                    error,
                    note: note.unwrap_or_default(),
                }
            });
            Ok(rows.collect())
        })
    }
}

/// The bound that a leaf has reached.
fn bound_reached(rule: Constraint, value: f64, start: f64, error: Option<f64>) -> Option<String> {
    let (Constraint::Bounds(range) | Constraint::Transform(_, range)) = rule else { return None };
    let Interval { lower, upper, .. } = range;
    let length = upper - lower;
    let reached = |bound: f64| {
        let near = match rule {
            // At a bound, its error vanishes, too.
            Constraint::Transform(..) if length.is_finite() => NEAR * length,
            // eˣ reaches no bound.
            Constraint::Transform(..) => 0.0,
            // If the distance is greater than the error, the bound is not reached.
            _ => {
                let scale = if length.is_finite() { length } else { start.abs().max(bound.abs()) };
                (NEAR * scale).min(error.unwrap_or(f64::INFINITY))
            }
        };
        bound.is_finite() && (value - bound).abs() <= near
    };
    if reached(lower) {
        Some(format!("at the lower bound {}", shown(lower)))
    } else if reached(upper) {
        Some(format!("at the upper bound {}", shown(upper)))
    } else {
        None
    }
}

impl Row {
    /// The value with as many digits as its error justifies.
    fn number(&self) -> String {
        match self.error {
            None => shown(self.value),
            Some(error) if error > 0.0 => with_error(self.value, error),
            Some(error) => format!("{} ± {}", shown(self.value), shown(error)),
        }
    }
}

/// Two digits of the error, and the value up to the same place.
fn with_error(value: f64, error: f64) -> String {
    // The exponent after rounding to two digits: 0.0996 is 0.10.
    let rounded = format!("{error:.1e}");
    let exponent: i32 = rounded.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let of_value: i32 =
        format!("{value:e}").split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let largest = of_value.max(exponent);
    if (-15..2).contains(&exponent) && (-4..7).contains(&largest) {
        let places = usize::try_from(1 - exponent).unwrap_or(0);
        return format!("{value:.places$} ± {error:.places$}");
    }
    let scale = |number: f64| number / 10f64.powi(largest);
    let places = usize::try_from(largest + 1 - exponent).unwrap_or(0);
    // 10³⁰⁰ and more have a scale, too; the smallest floats have none.
    if !(scale(value).is_finite() && scale(error).is_finite()) || places > 17 {
        return format!("{} ± {rounded}", shown(value));
    }
    format!("({:.places$} ± {:.places$})e{largest}", scale(value), scale(error))
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = match self.first_rows(PRINTED) {
            Ok(rows) => rows,
            Err(error) => return writeln!(f, "no report: {error}"),
        };
        let numbers: Vec<String> = rows.iter().map(Row::number).collect();
        let widest = |lengths: &mut dyn Iterator<Item = usize>| lengths.max().unwrap_or(0);
        let names = widest(&mut rows.iter().map(|row| row.name.chars().count()));
        let width = widest(&mut numbers.iter().map(|number| number.chars().count()));
        for (row, number) in rows.iter().zip(&numbers) {
            let line = format!("{:names$}  {number:width$}  {}", row.name, row.note);
            writeln!(f, "{}", line.trim_end())?;
        }
        match self.plan.start.len().saturating_sub(rows.len()) {
            0 => Ok(()),
            more => writeln!(f, "… and {more} more"),
        }
    }
}
