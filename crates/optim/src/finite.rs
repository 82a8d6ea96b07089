//! Gradients by central differences, to test others.
//!
//! ```
//! use treedef_optim::finite;
//!
//! let energy = |[x, v]: &[f64; 2]| 0.5 * x * x + v.powi(4);
//! let gradient = finite::gradient::<f64, _, _>(energy, &[2.0, 1.0])?;
//! assert!((gradient[1] - 4.0).abs() < 1e-8);
//!
//! // A gradient with a mistake in it.
//! let worst = finite::check::<f64, _, _>(energy, &[2.0, 1.0], &[2.0, 3.0])?;
//! assert_eq!(worst.path.to_string(), ".1");
//! assert!(worst.error > 0.1);
//! let message = "the worst number is at `.1`: 3 in the gradient, 4.000";
//! assert!(worst.to_string().starts_with(message));
//! # Ok::<(), treedef_optim::Error>(())
//! ```

use std::fmt;
use std::ops::Range;

use serde::Serialize;
use serde::de::DeserializeOwned;
use treedef::{Path, Tree};

use crate::error::{Error, LeafError, Result, place};
use crate::leaf::Trainable;
use crate::state::{GRADIENT, expect_alike, expect_kept};
use crate::transform::contains;

/// What a loss returns here: a number, or a result with one.
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

/// The gradient by central differences. Where the loss is smooth, it has about ten correct digits for
/// `f64`, four for `f32`, and one or two for halves. Tensors of integers have a gradient of zeros.
///
/// The step is the cube root of the precision of the number, times its size or 1, whichever is larger. A
/// second slope, by half the step, tells whether it was small enough: if both differ, as for a logarithm
/// near 0, or are not finite, steps become smaller by factors of 8, as long as the slopes come nearer to
/// each other. So the loss is calculated four times for most numbers, and at most 48 times. A derivative
/// that is finite for no step is NaN. A loss that is itself rounded or noisy has what the first step gives.
///
/// # Errors
///
/// Returns an error when the model cannot be flattened or rebuilt, when its type changes the numbers that
/// it is made of, as one of angles does that keeps them below 2π, and that of the loss.
pub fn gradient<L: Trainable, T: Serialize + DeserializeOwned, V: Loss>(
    loss: impl Fn(&T) -> V,
    model: &T,
) -> Result<T> {
    let tree = L::tree(model)?;
    let coarse = L::coarse(model)?;
    let mut gradient = tree.clone();
    for (leaf, place) in gradient.leaves_mut().iter_mut().enumerate() {
        let derivative = if place.is_float() {
            place.with_numbers(&differences(&loss, &tree, leaf, &coarse)?)
        } else {
            place.zero()
        };
        *place = derivative.map_err(|source| failed(&tree, leaf, source))?;
    }
    let (treedef, leaves) = gradient.into_parts();
    let gradient = L::rebuild(&treedef, &mut leaves.clone())?;
    expect_kept(&treedef, &leaves, &gradient, "it cannot hold a derivative")?;
    Ok(gradient)
}

/// The number of a gradient that differs most from central differences.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Worst {
    /// The leaf.
    pub path: Path,
    /// The number in the leaf, in the order of its array.
    pub index: usize,
    /// The number in the gradient.
    pub found: f64,
    /// The central difference.
    pub expected: f64,
    /// How much they differ: relative to the larger, or to 1 if both are smaller.
    pub error: f64,
}

impl fmt::Display for Worst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Worst { path, index, found, expected, error } = self;
        write!(f, "the worst number is at {}", place(path))?;
        if *index > 0 {
            write!(f, " ({index})")?;
        }
        write!(
            f,
            ": {found} in the gradient, {expected} by differences, relative error {error:.1e}"
        )
    }
}

/// Compares a gradient with central differences. Returns the number that differs most, with its path.
///
/// A right gradient has an error of about 1e-9 for `f64`, and 1e-3 for `f32`. Tensors of integers are
/// not compared.
///
/// # Errors
///
/// Returns an error when the gradient has another structure than the model; otherwise as
/// [`gradient`].
pub fn check<L: Trainable, T: Serialize + DeserializeOwned, V: Loss>(
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
    for (leaf, found) in leaves.iter().enumerate().filter(|(_, found)| found.is_float()) {
        let expected = differences(&loss, &tree, leaf, &coarse)?;
        let found = found.to_numbers().map_err(|source| failed(&tree, leaf, source))?;
        for (index, (found, expected)) in found.into_iter().zip(expected).enumerate() {
            let error = (found - expected).abs() / found.abs().max(expected.abs()).max(1.0);
            // What is no number is worse than all others.
            let error = if error.is_nan() { f64::INFINITY } else { error };
            if worst.as_ref().is_none_or(|worst| error > worst.error) {
                let path = tree.treedef().leaf_path(leaf)?;
                worst = Some(Worst { path, index, found, expected, error });
            }
        }
    }
    worst.ok_or(Error::NoLeaves { leaf: std::any::type_name::<L>() })
}

/// The derivatives with respect to the numbers of one leaf. The model rounds those of `coarse`.
fn differences<L: Trainable, T: Serialize + DeserializeOwned, V: Loss>(
    loss: &impl Fn(&T) -> V,
    tree: &Tree<L>,
    leaf: usize,
    coarse: &[Range<usize>],
) -> Result<Vec<f64>> {
    let Some(original) = tree.leaves().get(leaf) else { return Ok(Vec::new()) };
    let fail = |source| failed(tree, leaf, source);
    let numbers = original.to_numbers().map_err(fail)?;
    let is_rounded = contains(coarse, leaf);
    // The leaf with other numbers, as the model holds them.
    let rounded = |numbers: &[f64]| {
        let mut new = original.with_numbers(numbers).map_err(fail)?;
        if is_rounded {
            new.coarsen();
        }
        let became = new.to_numbers().map_err(fail)?;
        Ok::<_, Error>((new, became))
    };
    // The loss where a number is moved, and what the number became by rounding.
    let moved = |index: usize, to: f64| {
        let mut numbers = numbers.clone();
        numbers.iter_mut().skip(index).take(1).for_each(|number| *number = to);
        let (new, became) = rounded(&numbers)?;
        let mut leaves = tree.leaves().to_vec();
        leaves.iter_mut().skip(leaf).take(1).for_each(|leaf| *leaf = new.clone());
        let model: T = L::rebuild(tree.treedef(), &mut leaves.clone())?;
        expect_kept(tree.treedef(), &leaves, &model, "it has no differences there")?;
        let became = became.get(index).copied().unwrap_or(to);
        Ok::<_, Error>((became, loss(&model).into_number().map_err(Error::Function)?))
    };
    // Four thirds have no end in binary: by how much they are rounded is a third of the precision.
    let third = 4.0 / 3.0;
    let (_, probe) = rounded(&vec![third; numbers.len()])?;
    let probe = probe.first().map_or(0.0, |probe| 3.0 * (probe - third).abs());
    let precision = probe.max(f64::EPSILON);
    let slope = |index: usize, number: f64, step: f64| {
        let ((above, high), (below, low)) =
            (moved(index, number + step)?, moved(index, number - step)?);
        Ok::<_, Error>(((high - low) / (above - below), high.abs().max(low.abs())))
    };
    numbers
        .iter()
        .enumerate()
        .map(|(index, number)| adaptive(*number, precision, |step| slope(index, *number, step)))
        .collect()
}

/// The most steps that are tried. The last is 10⁻¹¹ of the first.
const MOST_STEPS: usize = 12;

/// How far the slopes of a step and of its half may be apart, relative to them.
const FAR: f64 = 1e-5;

/// The derivative by the first step whose half gives nearly the same slope. `slope` is that of a step, and
/// the size of the loss there.
///
/// An error by curvature becomes 64 times smaller with a step that is 8 times smaller, and one by rounding
/// or noise larger. So a smaller step is taken only if the slopes come much nearer to each other.
fn adaptive(
    number: f64,
    precision: f64,
    mut slope: impl FnMut(f64) -> Result<(f64, f64)>,
) -> Result<f64> {
    let mut step = precision.cbrt() * number.abs().max(1.0);
    let mut best: Option<(f64, f64)> = None;
    for _ in 0..MOST_STEPS {
        let ((whole, size), (half, _)) = (slope(step)?, slope(0.5 * step)?);
        let difference = (whole - half).abs();
        // Equal losses say nothing where those of a larger step differed.
        let is_lost = whole == 0.0 && half == 0.0;
        match best {
            Some((best, least)) if is_lost || difference > least / 16.0 => return Ok(best),
            _ if difference.is_finite() => {
                let rounding = 16.0 * precision * size / step;
                if difference <= (FAR * half.abs()).max(rounding) {
                    // By Richardson, without the term of the square of the step.
                    return Ok((4.0 * half - whole) / 3.0);
                }
                best = Some((whole, difference));
            }
            _ => {}
        }
        step /= 8.0;
    }
    Ok(best.map_or(f64::NAN, |(best, _)| best))
}

fn failed<L>(tree: &Tree<L>, leaf: usize, source: LeafError) -> Error {
    Error::Operation { path: tree.treedef().leaf_path(leaf).unwrap_or_default(), source }
}
