//! Many models of one type, such as the fits of a batch: their statistics by path, and their table.
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use treedef_optim::batch;
//!
//! #[derive(Serialize, Deserialize)]
//! struct Decay { name: String, rate: f64, amplitude: f64 }
//!
//! let fit = |name: &str, rate, amplitude| Decay { name: name.to_owned(), rate, amplitude };
//! let fits = [fit("a", 0.5, 3.0), fit("b", 0.75, 2.0), fit("c", 1.0, 4.0)];
//! let stack = batch::stack(&fits)?;
//! assert_eq!(batch::mean(&stack)?.get("rate")?, &0.75);
//! assert_eq!(batch::standard_deviation(&stack)?.get("rate")?, &0.25);
//! assert_eq!(batch::quantile(&stack, 0.75)?.get("amplitude")?, &3.5);
//! # Ok::<(), treedef_optim::Error>(())
//! ```
//!
//! The stack is a [`Tree`] whose leaves are vectors, so `stack.get("rate")?` has all rates, and
//! `stack.map(…)` computes any other statistic.
//!
//! For Python, a file in one line: `npz::save(&Export::new().stack("[*]").tensors(&tree)?, "fits.npz")`, where
//! `tree` is `Tree::of(&fits)?`, has one array for each path, and `Loader::new().stack("[*]")` reads it. Both are
//! of the package `treedef-tensors`.

use serde::Serialize;
use treedef::Tree;

use crate::error::{Error, Result};
use crate::leaf::Trainable;
use crate::pairwise;

/// The floats of all models, with the structure of the first: each leaf has the numbers of all. Everything
/// else may differ, such as the name of a sample.
///
/// # Errors
///
/// Returns an error when there is no model, when a model cannot be flattened or has no floats, and when two have
/// different structures.
///
/// ```
/// use treedef_optim::batch;
///
/// let stack = batch::stack(&[("a", 1.0, [2.0]), ("b", 3.0, [4.0])])?;
/// assert_eq!(stack.get("2[0]")?, &[2.0, 4.0]);
/// let error = batch::stack(&[vec![1.0], vec![]]).unwrap_err().to_string();
/// assert!(error.starts_with("model 1 has another structure than the first: "), "{error}");
/// assert!(error.ends_with("expected 1 child, found 0 children at the root"), "{error}");
/// # Ok::<(), treedef_optim::Error>(())
/// ```
pub fn stack<'a, T: Serialize + 'a>(
    models: impl IntoIterator<Item = &'a T>,
) -> Result<Tree<Vec<f64>>> {
    let mut models = models.into_iter();
    let Some(first) = models.next() else {
        return Err(Error::Argument("there are no models to stack".to_owned()));
    };
    let first = f64::tree(first)?;
    if first.leaves().is_empty() {
        return Err(Error::NoLeaves { leaf: "f64" });
    }
    let (treedef, leaves) = first.into_parts();
    let mut columns: Vec<Vec<f64>> = leaves.into_iter().map(|number| vec![number]).collect();
    let mut row = Vec::new();
    for (model, at) in models.zip(1..) {
        f64::leaves_like(&treedef, model, &mut row, true)
            .map_err(|source| Error::Model { model: at, source })?;
        columns.iter_mut().zip(&row).for_each(|(column, number)| column.push(*number));
    }
    Ok(Tree::new(treedef, columns)?)
}

/// The mean of each leaf.
///
/// # Errors
///
/// Returns an error when a leaf has no numbers.
///
/// ```
/// use treedef_optim::batch;
///
/// assert_eq!(batch::mean(&batch::stack(&[(1.0, 2.0), (3.0, 5.0)])?)?.leaves(), [2.0, 3.5]);
/// # Ok::<(), treedef_optim::Error>(())
/// ```
pub fn mean(stack: &Tree<Vec<f64>>) -> Result<Tree<f64>> {
    each(stack, 1, mean_of)
}

/// The sample standard deviation of each leaf: the sum of squares is divided by the number of models less one, as
/// with numpy's `ddof=1`.
///
/// # Errors
///
/// Returns an error when a leaf has less than two numbers.
///
/// ```
/// use treedef_optim::batch;
///
/// let stack = batch::stack(&[1.0, 2.0, 3.0])?;
/// assert_eq!(batch::standard_deviation(&stack)?.leaves(), [1.0]);
/// # Ok::<(), treedef_optim::Error>(())
/// ```
pub fn standard_deviation(stack: &Tree<Vec<f64>>) -> Result<Tree<f64>> {
    each(stack, 2, deviation_of)
}

/// The standard deviation of at least two numbers.
fn deviation_of(numbers: &[f64]) -> f64 {
    let mean = mean_of(numbers);
    if !mean.is_finite() {
        return f64::NAN;
    }
    // Relative to the greatest, so that no square is too large or too small.
    let scale = numbers.iter().fold(0.0f64, |most, x| most.max((x - mean).abs()));
    if scale == 0.0 {
        return 0.0;
    }
    if scale.is_infinite() {
        // A difference is too large: no difference of halves is.
        let halves: Vec<f64> = numbers.iter().map(|number| number / 2.0).collect();
        return 2.0 * deviation_of(&halves);
    }
    let square = |at: usize| ((numbers[at] - mean) / scale).powi(2);
    let squares = pairwise::sum(0..numbers.len(), &square);
    scale * (squares / (numbers.len() - 1) as f64).sqrt()
}

/// A quantile of each leaf, such as 0.5 for the median: between two numbers it is linear, as numpy's default.
/// It is NaN if a number is.
///
/// # Errors
///
/// Returns an error when the quantile is not from 0 to 1, and when a leaf has no numbers.
///
/// ```
/// use treedef_optim::batch;
///
/// let stack = batch::stack(&[3.0, 1.0, 2.0, 10.0])?;
/// assert_eq!(batch::quantile(&stack, 0.5)?.leaves(), [2.5]);
/// assert_eq!(batch::quantile(&stack, 1.0)?.leaves(), [10.0]);
/// assert!(batch::quantile(&stack, 50.0).is_err());
/// # Ok::<(), treedef_optim::Error>(())
/// ```
pub fn quantile(stack: &Tree<Vec<f64>>, quantile: f64) -> Result<Tree<f64>> {
    if !(0.0..=1.0).contains(&quantile) {
        let message = format!("expected a quantile from 0 to 1, found {quantile}");
        return Err(Error::Argument(message));
    }
    each(stack, 1, |numbers| {
        if numbers.iter().any(|number| number.is_nan()) {
            return f64::NAN;
        }
        let mut sorted = numbers.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let place = quantile * (sorted.len() - 1) as f64;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative")]
        let below = (place as usize).min(sorted.len() - 1);
        let above = sorted[(below + 1).min(sorted.len() - 1)];
        let (below, part) = (sorted[below], place - place.floor());
        // As numpy, from the nearer side; equal infinities have no difference.
        match part {
            0.0 => below,
            _ if below == above => below,
            // The difference may be too large.
            part if (above - below).is_infinite() => below * (1.0 - part) + above * part,
            part if part < 0.5 => below + part * (above - below),
            part => above - (1.0 - part) * (above - below),
        }
    })
}

/// Writes a table with a column for each path and a row for each model.
///
/// # Errors
///
/// Returns an error when a leaf has another number of numbers than the first, and errors of the writer.
///
/// ```
/// use treedef_optim::batch;
///
/// let stack = batch::stack(&[("a", 0.5, [1.0]), ("b", 1e-9, [-0.1])])?;
/// let mut table = Vec::new(); // or a `File`
/// batch::write_csv(&stack, &mut table)?;
/// assert_eq!(String::from_utf8_lossy(&table), ".1,.2.0\n0.5,1.0\n1e-9,-0.1\n");
/// # Ok::<(), treedef_optim::Error>(())
/// ```
#[cfg(feature = "csv")]
pub fn write_csv(stack: &Tree<Vec<f64>>, writer: impl std::io::Write) -> Result<()> {
    let failed = |error: csv::Error| Error::Function(error.into());
    let mut table = csv::Writer::from_writer(writer);
    let rows = stack.leaves().first().map_or(0, Vec::len);
    if let Some((path, numbers)) = stack.iter().find(|(_, numbers)| numbers.len() != rows) {
        let found = numbers.len();
        let message = format!(
            "expected {} as in the first leaf, found {found} at `{path}`",
            count(rows, "number")
        );
        return Err(Error::Argument(message));
    }
    let names = stack.treedef().leaf_paths().map(|path| path.to_string());
    table.write_record(names).map_err(failed)?;
    for row in 0..rows {
        table
            .serialize(stack.leaves().iter().map(|numbers| numbers[row]).collect::<Vec<_>>())
            .map_err(failed)?;
    }
    table.flush().map_err(|error| Error::Function(error.into()))
}

/// The statistic of each leaf, from at least `least` models.
fn each(
    stack: &Tree<Vec<f64>>,
    least: usize,
    statistic: impl Fn(&[f64]) -> f64,
) -> Result<Tree<f64>> {
    if let Some((path, numbers)) = stack.iter().find(|(_, numbers)| numbers.len() < least) {
        let found = numbers.len();
        let least = count(least, "model");
        let message = format!("expected at least {least}, found {found} at `{path}`");
        return Err(Error::Argument(message));
    }
    Ok(stack.as_ref().map(|numbers| statistic(numbers)))
}

/// A count and its noun.
fn count(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// The mean of at least one number.
fn mean_of(numbers: &[f64]) -> f64 {
    let count = numbers.len() as f64;
    let mean = pairwise::sum(0..numbers.len(), &|at| numbers[at]) / count;
    if mean.is_finite() {
        // The rounding of the sum is in the mean of the differences, so that equal numbers have themselves as their mean.
        let rounding = pairwise::sum(0..numbers.len(), &|at| numbers[at] - mean) / count;
        // A difference may be too large.
        return if rounding.is_finite() { mean + rounding } else { mean };
    }
    // The sum may be too large, or a number is not finite.
    pairwise::sum(0..numbers.len(), &|at| numbers[at] / count)
}
