//! Parameters that stay in a set.

use super::clip::{Fraction, scaled_norm};
use super::{Number, Scope, Slots, Step, Transform, expect_finite};
use crate::argument::expect_size;
use crate::error::{Error, Result};
use crate::leaf::Trainable;
use crate::number::{AddScaled, Kernel};

/// A set, onto whose nearest point numbers are projected: optax's `projections`. All numbers together are one vector.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Projection {
    /// No number is below 0.
    NonNegative,
    /// No number is below or above a bound, which may be infinite.
    #[allow(missing_docs, reason = "named as they are")]
    Interval { lower: f64, upper: f64 },
    /// No number is below 0, and their sum is given: for probabilities, 1.
    #[allow(missing_docs, reason = "named as they are")]
    Simplex { sum: f64 },
    /// The sum of all absolute values is at most a radius, which makes many numbers zero.
    #[allow(missing_docs, reason = "named as they are")]
    L1Ball { radius: f64 },
    /// The norm is at most a radius.
    #[allow(missing_docs, reason = "named as they are")]
    L2Ball { radius: f64 },
}

impl Projection {
    pub(crate) fn expect_sensible(self) -> Result<()> {
        match self {
            Projection::NonNegative => Ok(()),
            Projection::Interval { lower, upper }
                if lower <= upper && lower < f64::INFINITY && upper > f64::NEG_INFINITY =>
            {
                Ok(())
            }
            Projection::Interval { lower, upper } => Err(Error::Argument(format!(
                "expected an interval that contains a number, found {lower} to {upper}"
            ))),
            Projection::Simplex { sum } => expect_size("the sum of a simplex", sum),
            Projection::L1Ball { radius } | Projection::L2Ball { radius } => {
                expect_size("the radius of a ball", radius)
            }
        }
    }

    /// Projects the leaves of a scope.
    pub(crate) fn apply<L: Trainable>(self, scope: Scope<'_>, leaves: &mut [L]) -> Result<()> {
        expect_finite(PROJECTED, scope, leaves)?;
        let nearest = match self {
            Projection::NonNegative => Nearest::Clamp { lower: 0.0, upper: f64::INFINITY },
            Projection::Interval { lower, upper } => Nearest::Clamp { lower, upper },
            Projection::Simplex { sum } => {
                let numbers = numbers(scope, leaves)?;
                if numbers.is_empty() {
                    return Err(Error::Argument(format!(
                        "expected numbers with the sum {sum}, found no number"
                    )));
                }
                let (top, under) = threshold(numbers, sum);
                Nearest::Above { top, under }
            }
            Projection::L1Ball { radius } => {
                let absolute: Vec<f64> =
                    numbers(scope, leaves)?.into_iter().map(f64::abs).collect();
                if absolute.iter().sum::<f64>() <= radius {
                    return Ok(());
                }
                let (top, under) = threshold(absolute, radius);
                Nearest::Shrink { top, under }
            }
            Projection::L2Ball { radius } => {
                let (scale, norm) = scaled_norm(scope, leaves)?;
                if norm / scale <= radius {
                    return Ok(());
                }
                Nearest::Scaled(Fraction::new(scale, norm, radius))
            }
        };
        scope.run(&nearest, leaves, [], [])?;
        match self {
            // A bound may be infinite in the type of the numbers.
            Projection::Interval { .. } => expect_finite(BOUND, scope, leaves),
            _ => Ok(()),
        }
    }
}

const PROJECTED: &str = "a number that is projected";
const BOUND: &str = "the bound of an interval, in the type of the number,";

fn numbers<L: Trainable>(scope: Scope<'_>, leaves: &[L]) -> Result<Vec<f64>> {
    let mut numbers = Vec::new();
    for at in scope.ranges().iter().cloned().flatten() {
        // Integers do not change.
        let Some(leaf) = leaves.get(at).filter(|leaf| leaf.is_float()) else { continue };
        numbers.extend(leaf.to_numbers().map_err(|source| scope.failed(at, source))?);
    }
    Ok(numbers)
}

/// The largest number, and how much is subtracted, beyond that, from all numbers so that those above 0 have this sum.
fn threshold(mut numbers: Vec<f64>, sum: f64) -> (f64, f64) {
    numbers.sort_unstable_by(|a, b| b.total_cmp(a));
    let top = numbers.first().copied().unwrap_or_default();
    let (mut total, mut under) = (0.0, -sum);
    for (before, number) in numbers.iter().enumerate() {
        total += number - top;
        let all = (total - sum) / (before + 1) as f64;
        if number - top <= all {
            break;
        }
        under = all;
    }
    (top, under)
}

/// The nearest number.
#[derive(Clone, Copy)]
enum Nearest {
    Clamp { lower: f64, upper: f64 },
    Above { top: f64, under: f64 },
    Shrink { top: f64, under: f64 },
    Scaled(Fraction),
}

impl Kernel<0, 0> for Nearest {
    #[inline(always)]
    fn run<X: Number>(&self, x: X, []: [X; 0], []: [X; 0]) -> (X, [X; 0]) {
        let nearest = match *self {
            Nearest::Clamp { lower, upper } => x.clamp(lower, upper),
            Nearest::Above { top, under } => x.plus(-top).plus(-under).clamp(0.0, f64::INFINITY),
            Nearest::Shrink { top, under } => {
                let sign = x.clone().sign();
                let size = x * sign.clone();
                size.plus(-top).plus(-under).clamp(0.0, f64::INFINITY) * sign
            }
            Nearest::Scaled(fraction) => fraction.of(x),
        };
        (nearest, [])
    }
}

/// Keeps the parameters in a set: the step ends at its nearest point. optax has `projections`, which are called after each
/// step, and `keep_params_nonnegative`.
///
/// The parameters end in the set exactly, in a ball or a simplex up to the rounding of the norm or the sum, also if other
/// transforms follow, or inside `lookahead`. Of two sets for the same numbers in one chain, the last is exact. Where an
/// [`accumulate`](crate::Optimiser::accumulate) or [`apply_if_finite`](crate::Optimiser::apply_if_finite) inside a chain makes
/// no step, nothing is projected, but transforms that follow may still move the parameters: put them around the chain.
///
/// A number that is infinite or NaN is an error with its path when the step is made; an empty set, when the state is.
///
/// ```
/// use treedef_optim::transform::{Projection, project};
/// use treedef_optim::{Optimiser, chain, sgd};
///
/// let weights = project(Projection::Simplex { sum: 1.0 }).only(".0");
/// let optimiser = chain!(sgd(1.0), weights);
/// let mut state = optimiser.init::<f64, _>(&([0.5, 0.5], 1.0))?;
/// let model = optimiser.step(([0.5, 0.5], 1.0), ([0.5, 0.0], 3.0), &mut state)?;
/// assert_eq!(model, ([0.25, 0.75], -2.0));
/// # Ok::<(), treedef_optim::Error>(())
/// ```
#[doc(alias = "keep_params_nonnegative")]
pub fn project(onto: Projection) -> Project {
    Project { onto }
}

/// Keeps the parameters in a set: made by [`project`].
#[derive(Clone, Copy, Debug)]
pub struct Project {
    onto: Projection,
}

impl<L: Trainable> Transform<L> for Project {
    fn slots(&self, _: Scope<'_>, _: &[L]) -> Result<Slots<L>> {
        self.onto.expect_sensible()?;
        Ok(Slots::new("project"))
    }

    fn update(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        self.onto.expect_sensible()?;
        let [] = slots.leaves("project", [])?;
        let parameters = &*step.parameters;
        step.scope.run(&AddScaled(1.0), step.updates, [], [parameters])?;
        self.onto.apply(step.scope, step.updates)?;
        step.scope.run(&AddScaled(-1.0), step.updates, [], [parameters])
    }

    fn check(&self, _: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        self.onto.expect_sensible()?;
        slots.leaves("project", []).map(|[]| ())
    }

    /// The parameters are projected when they have moved.
    fn descend(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        self.check(step, slots)?;
        step.apply()
    }

    /// The parameters themselves: by an update that is added, they might be outside by a rounding.
    fn settle(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        self.check(step, slots)?;
        self.onto.apply(step.scope, step.parameters)
    }
}
