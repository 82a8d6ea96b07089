//! Gradients by central differences, to test others.
//!
//! ```
//! use treedef_optim::finite;
//!
//! let energy = |[x, v]: &[f64; 2]| 0.5 * x * x + v.powi(4);
//! let estimate = finite::gradient::<f64, _, _>(energy, &[2.0, 1.0])?;
//! assert!((estimate.gradient[1] - 4.0).abs() <= estimate.error[1].max(1e-9));
//!
//! // A gradient with a mistake in it.
//! let worst = finite::check_gradient::<f64, _, _>(energy, &[2.0, 1.0], &[2.0, 3.0])?;
//! assert_eq!(worst.path.to_string(), ".1");
//! assert!(worst.error > 0.1);
//! let message = "the worst number is at `.1`: 3 in the gradient, 4 ± ";
//! assert!(worst.to_string().starts_with(message), "{worst}");
//! # Ok::<(), treedef_optim::Error>(())
//! ```

mod derivative;

use std::cell::RefCell;
use std::fmt;
use std::ops::Range;

use serde::Serialize;
use serde::de::DeserializeOwned;
use treedef::__private::{OrBug, broken};
use treedef::{Path, Tree};

use crate::error::{Error, LeafError, Result, place, places};
use crate::leaf::Trainable;
use crate::state::{GRADIENT, expect_alike, expect_kept};
use crate::transform::{contains, running_statistics};
use derivative::{Derivative, derivative};

/// The result of a loss: a number, or a `Result` with one.
pub trait Loss {
    /// The number.
    ///
    /// # Errors
    ///
    /// Returns the error of the loss.
    fn into_number(self) -> Result<f64, LeafError>;
}

impl Loss for f64 {
    fn into_number(self) -> Result<f64, LeafError> {
        Ok(self)
    }
}

impl Loss for f32 {
    fn into_number(self) -> Result<f64, LeafError> {
        Ok(f64::from(self))
    }
}

impl<N: Loss, E: Into<LeafError>> Loss for std::result::Result<N, E> {
    fn into_number(self) -> Result<f64, LeafError> {
        self.map_err(Into::into)?.into_number()
    }
}

/// A gradient by differences, with estimates of its error.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Estimate<T> {
    /// The derivatives. NaN if no step gives a finite one.
    pub gradient: T,
    /// For each derivative, an estimate of its error, in the same unit: infinite if no step gives any
    /// information.
    pub error: T,
}

/// The gradient by central differences of several steps, extrapolated to zero (Ridders). Tensors of
/// integers, and tensors that are running statistics, have a gradient of zeros, as in `value_and_grad`.
///
/// The steps begin at an eighth of the number, so that it keeps its sign in any unit, and shrink by factors
/// of 4. The derivative with the smallest estimated error is returned; the estimate includes rounding and
/// the disagreement between steps. For a smooth loss, this gives about ten digits for `f64` after eight
/// evaluations of the loss, and four digits for `f32`. If they do not suffice, further steps are tried:
/// steps for numbers of size 1, and smaller ones. A step at which the loss, or the type of the model, fails
/// or is not finite is ignored.
///
/// # Errors
///
/// Returns an error when the model cannot be flattened or rebuilt; when its type changes the numbers, such
/// as angles that are kept below 2π; and the error of the loss if it fails for all steps.
pub fn gradient<L: Trainable, T: Serialize + DeserializeOwned, V: Loss>(
    loss: impl Fn(&T) -> V,
    model: &T,
) -> Result<Estimate<T>> {
    let tree = L::tree(model)?;
    let coarse = L::coarse(model)?;
    let constant = constants(&tree);
    let mut found = [tree.leaves().to_vec(), tree.leaves().to_vec()];
    for (leaf, original) in tree.leaves().iter().enumerate() {
        let is_moved = original.is_float() && !contains(&constant, leaf);
        let estimates =
            if is_moved { differences(&loss, &tree, leaf, &coarse)? } else { Vec::new() };
        let parts: [fn(&Derivative) -> f64; 2] = [|found| found.value, |found| found.error];
        for (leaves, part) in found.iter_mut().zip(parts) {
            let numbers: Vec<f64> = estimates.iter().map(part).collect();
            let place = if is_moved { original.with_numbers(&numbers) } else { original.zero() };
            let place = place.map_err(|source| failed(&tree, leaf, source))?;
            leaves.iter_mut().skip(leaf).take(1).for_each(|leaf| *leaf = place.clone());
        }
    }
    let typed = |leaves: Vec<L>| {
        let value = L::rebuild(tree.treedef(), &mut leaves.clone())?;
        expect_kept(tree.treedef(), &leaves, &value, "it cannot hold a derivative")?;
        Ok::<T, Error>(value)
    };
    let [gradient, error] = found;
    Ok(Estimate { gradient: typed(gradient)?, error: typed(error)? })
}

/// The comparison of a gradient with differences, for the number that differs most.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Worst {
    /// The leaf.
    pub path: Path,
    /// The number in the leaf, in the order of its array.
    pub index: usize,
    /// The number in the gradient.
    pub found: f64,
    /// The derivative by differences.
    pub expected: f64,
    /// The estimated error of that derivative.
    pub uncertainty: f64,
    /// The difference beyond the uncertainty, relative to the larger of both: 0 if differences cannot tell
    /// them apart, 2 for a wrong sign, infinite if one is NaN.
    pub error: f64,
    /// The leaves with neither a finite gradient nor a derivative by differences, as of a root at 0. Dual numbers
    /// may then have NaN in all other directions, too: 0 times infinity.
    pub undefined: Vec<Path>,
    /// The leaves with a nonzero gradient for which differences cannot even determine the sign: the loss
    /// changes there by less than its rounding.
    pub untold: Vec<Path>,
}

impl fmt::Display for Worst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Worst { path, index, found, expected, uncertainty, error, undefined, untold } = self;
        write!(f, "the worst number is at {}", place(path))?;
        if *index > 0 {
            write!(f, " ({index})")?;
        }
        let expected = rounded_to(*expected, *uncertainty);
        write!(
            f,
            ": {found} in the gradient, {expected} ± {uncertainty:.0e} by differences, relative error {error:.1e}"
        )?;
        if !undefined.is_empty() {
            write!(f, "; there is no derivative at {}", places(undefined))?;
        }
        if !untold.is_empty() {
            write!(f, "; differences cannot tell the sign at {}", places(untold))?;
        }
        Ok(())
    }
}

/// A number with as many digits as its uncertainty allows.
fn rounded_to(number: f64, uncertainty: f64) -> String {
    let digits = (number.abs() / uncertainty).log10();
    let digits = if digits.is_finite() { digits.clamp(0.0, 16.0) as usize } else { 16 };
    format!("{number:.digits$e}").parse::<f64>().map_or(number.to_string(), |shown| {
        if (1e-5..1e7).contains(&shown.abs()) || shown == 0.0 {
            shown.to_string()
        } else {
            format!("{shown:e}")
        }
    })
}

/// Compares a gradient with central differences. Returns the number that differs most, with its path.
///
/// A correct gradient has an error below 1e-8 for `f64`, and 1e-3 for `f32`, in any unit. [`Worst::untold`]
/// lists leaves for which differences give no information. Tensors of integers and running
/// statistics are not compared.
///
/// # Errors
///
/// Returns an error when the gradient has another structure than the model; otherwise as
/// [`gradient`].
pub fn check_gradient<L: Trainable, T: Serialize + DeserializeOwned, V: Loss>(
    loss: impl Fn(&T) -> V,
    model: &T,
    gradient: &T,
) -> Result<Worst> {
    let tree = L::tree(model)?;
    let mut leaves = Vec::new();
    L::leaves_like(tree.treedef(), gradient, &mut leaves, true)
        .map_err(|source| Error::Structure { what: GRADIENT, source })?;
    expect_alike("the gradient", tree.treedef(), tree.leaves(), &leaves)?;
    let coarse = L::coarse(model)?;
    let mut worst: Option<Worst> = None;
    let (mut undefined, mut untold): (Vec<Path>, Vec<Path>) = Default::default();
    let constant = constants(&tree);
    let is_compared = |(leaf, found): &(usize, &L)| found.is_float() && !contains(&constant, *leaf);
    for (leaf, found) in leaves.iter().enumerate().filter(is_compared) {
        let expected = differences(&loss, &tree, leaf, &coarse)?;
        let found = found.to_numbers().map_err(|source| failed(&tree, leaf, source))?;
        for (index, (found, expected)) in found.into_iter().zip(expected).enumerate() {
            let path = || tree.treedef().leaf_path(leaf);
            if expected.cannot_tell(found) && untold.last() != Some(&path()?) {
                untold.push(path()?);
            }
            let error = expected.error_of(found);
            let has_none = !found.is_finite() && !expected.value.is_finite();
            // Where there is no derivative, a gradient is often NaN at all other numbers, too.
            let is_cause = has_none && undefined.is_empty();
            if has_none && undefined.last() != Some(&path()?) {
                undefined.push(path()?);
            }
            if is_cause || worst.as_ref().is_none_or(|worst| error > worst.error) {
                let Derivative { value: expected, error: uncertainty } = expected;
                let (path, undefined, untold) = (path()?, Vec::new(), Vec::new());
                worst = Some(Worst {
                    path,
                    index,
                    found,
                    expected,
                    uncertainty,
                    error,
                    undefined,
                    untold,
                });
            }
        }
    }
    let worst = worst.ok_or(Error::NoLeaves { leaf: std::any::type_name::<L>() })?;
    Ok(Worst { undefined, untold, ..worst })
}

/// The tensors whose gradient is zero by definition. Dual numbers differentiate statistics that are numbers.
fn constants<L: Trainable>(tree: &Tree<L>) -> Vec<Range<usize>> {
    if L::IS_NUMBER { Vec::new() } else { running_statistics(tree.treedef()) }
}

/// The derivatives with respect to the numbers of one leaf. `coarse` leaves are rounded by the
/// model.
fn differences<L: Trainable, T: Serialize + DeserializeOwned, V: Loss>(
    loss: &impl Fn(&T) -> V,
    tree: &Tree<L>,
    leaf: usize,
    coarse: &[Range<usize>],
) -> Result<Vec<Derivative>> {
    let original = tree.leaves().get(leaf).ok_or_else(|| broken("a leaf is missing"))?;
    let fail = |source| failed(tree, leaf, source);
    let numbers = original.to_numbers().map_err(fail)?;
    let is_rounded = contains(coarse, leaf);
    // The leaf with other numbers, as the model stores them.
    let rounded = |numbers: &[f64]| {
        let mut new = original.with_numbers(numbers).map_err(fail)?;
        if is_rounded {
            new.coarsen();
        }
        let became = new.to_numbers().map_err(fail)?;
        Ok::<_, Error>((new, became))
    };
    let leaves = RefCell::new(tree.leaves().to_vec());
    // The loss with one number moved, and the moved number after rounding.
    let moved = |index: usize, to: f64| {
        let mut numbers = numbers.clone();
        numbers.iter_mut().skip(index).take(1).for_each(|number| *number = to);
        let (new, became) = rounded(&numbers)?;
        let mut leaves = leaves.borrow_mut();
        leaves.iter_mut().skip(leaf).take(1).for_each(|leaf| *leaf = new.clone());
        let model: T = if L::IS_NUMBER {
            L::rebuild(tree.treedef(), &mut leaves)?
        } else {
            L::rebuild(tree.treedef(), &mut leaves.clone())? // it takes them out
        };
        expect_kept(tree.treedef(), &leaves, &model, "it has no differences there")?;
        let became = became.get(index).copied().unwrap_or(to);
        Ok::<_, Error>((became, loss(&model).into_number().map_err(Error::Function)?))
    };
    // Four thirds is not a binary fraction: its rounding error is a third of the precision.
    let third = 4.0 / 3.0;
    let (_, probe) = rounded(&vec![third; numbers.len()])?;
    let probe = probe.first().map_or(0.0, |probe| 3.0 * (probe - third).abs());
    let precision = probe.max(f64::EPSILON);
    let derivative = |(index, number): (usize, &f64)| {
        derivative(*number, precision, |step| {
            Ok([moved(index, number + step)?, moved(index, number - step)?])
        })
    };
    numbers.iter().enumerate().map(derivative).collect()
}

fn failed<L>(tree: &Tree<L>, leaf: usize, source: LeafError) -> Error {
    Error::Operation { path: tree.treedef().leaf_path(leaf).ok().or_bug(), source }
}
