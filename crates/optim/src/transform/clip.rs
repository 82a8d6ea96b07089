//! Limits on gradients.

use super::{Number, Rule, Scope, Slots, Step, Term, Transform};
use crate::argument::expect_limit;
use crate::error::Result;
use crate::leaf::Trainable;

/// Limits each number to ±`limit`: optax's `clip`.
///
/// ```
/// use treedef_optim::{Optimiser, chain, sgd, transform::clip};
///
/// let optimiser = chain!(clip(1.0), sgd(0.5));
/// let mut state = optimiser.init::<f64, _>(&(3.0, 3.0))?;
/// assert_eq!(optimiser.step((3.0, 3.0), (10.0, -0.5), &mut state)?, (2.5, 3.25));
/// # Ok::<(), treedef_optim::Error>(())
/// ```
pub fn clip(limit: f64) -> Clip {
    Clip { limit }
}

/// Limits each number of the updates: made by [`clip`].
#[derive(Clone, Copy, Debug)]
pub struct Clip {
    limit: f64,
}

impl Rule<0> for Clip {
    #[inline(always)]
    fn next<X: Number>(&self, gradient: X, _: X, []: [X; 0]) -> (X, [X; 0]) {
        (gradient.clamp(-self.limit, self.limit), [])
    }
}

impl<L: Trainable> Transform<L> for Clip {
    fn slots(&self, _: Scope<'_>, _: &[L]) -> Result<Slots<L>> {
        expect_limit("a limit", self.limit)?;
        Ok(Slots::new("clip"))
    }

    fn update(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        expect_limit("a limit", self.limit)?;
        step.update(self, slots.leaves("clip", [])?)
    }

    fn check(&self, _: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        expect_limit("a limit", self.limit)?;
        slots.leaves("clip", []).map(|[]| ())
    }
}

/// Scales all gradients together, so that the norm of all numbers is at most `limit`: optax's
/// `clip_by_global_norm`.
///
/// The norm is summed pairwise in `f64`; in optax, in the type of the numbers.
///
/// ```
/// use treedef_optim::{Optimiser, chain, sgd, transform::clip_by_global_norm};
///
/// let optimiser = chain!(clip_by_global_norm(1.0), sgd(1.0));
/// let mut state = optimiser.init::<f64, _>(&[0.0, 0.0])?;
/// assert_eq!(optimiser.step([0.0, 0.0], [30.0, 40.0], &mut state)?, [-0.6, -0.8]);
/// # Ok::<(), treedef_optim::Error>(())
/// ```
pub fn clip_by_global_norm(limit: f64) -> ClipByGlobalNorm {
    ClipByGlobalNorm { limit }
}

/// Limits the norm of all gradients together: made by [`clip_by_global_norm`].
#[derive(Clone, Copy, Debug)]
pub struct ClipByGlobalNorm {
    limit: f64,
}

impl<L: Trainable> Transform<L> for ClipByGlobalNorm {
    fn slots(&self, _: Scope<'_>, _: &[L]) -> Result<Slots<L>> {
        expect_limit("a limit", self.limit)?;
        Ok(Slots::new("clip_by_global_norm"))
    }

    fn update(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        expect_limit("a limit", self.limit)?;
        let [] = slots.leaves("clip_by_global_norm", [])?;
        let (scale, norm) = scaled_norm(step.scope, step.updates)?;
        if norm / scale < self.limit {
            return Ok(());
        }
        step.update(&Fraction::new(scale, norm, self.limit), [])
    }

    fn check(&self, _: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        expect_limit("a limit", self.limit)?;
        slots.leaves("clip_by_global_norm", []).map(|[]| ())
    }
}

/// `gradient / norm * limit`, in this order, as in optax. Both are scaled before.
#[derive(Clone, Copy)]
pub(super) struct Fraction {
    scale: f64,
    norm: f64,
    limit: f64,
}

/// The largest scale: it makes the smallest number of each type a normal one, and is itself in each type.
const LARGEST_SCALE: f64 = (1u128 << 100) as f64;

impl Fraction {
    /// The norm is times the scale.
    pub(super) fn new(scale: f64, norm: f64, limit: f64) -> Self {
        let less = scale.min(LARGEST_SCALE);
        Fraction { scale: less, norm: norm * (less / scale), limit }
    }

    #[inline(always)]
    pub(super) fn of<X: Number>(self, x: X) -> X {
        let norm = x.clone().zero().plus(self.norm);
        (x.times(self.scale) / norm).times(self.limit)
    }
}

impl Rule<0> for Fraction {
    #[inline(always)]
    fn next<X: Number>(&self, gradient: X, _: X, []: [X; 0]) -> (X, [X; 0]) {
        (self.of(gradient), [])
    }
}

/// The norm of all numbers. It is also right if their squares are too large or too small for an `f64`.
pub(crate) fn norm<L: Trainable>(scope: Scope<'_>, leaves: &[L]) -> Result<f64> {
    let (scale, norm) = scaled_norm(scope, leaves)?;
    Ok(norm / scale)
}

/// A factor, and the norm of all numbers times that factor. The norm of many `f32`, or squares of `f64`,
/// may be too large or too small for their type.
pub(super) fn scaled_norm<L: Trainable>(scope: Scope<'_>, leaves: &[L]) -> Result<(f64, f64)> {
    let norm = |scale: f64| scope.sum(&Square(scale), [leaves]).map(|sum| (scale, sum.sqrt()));
    let mut best = norm(1.0)?;
    for (smaller, larger) in [(-64, 64), (-640, 590)] {
        let scale = match best.1 {
            norm if norm > f64::from(f32::MAX) => 2f64.powi(smaller),
            norm if norm < 2f64.powi(-50) => 2f64.powi(larger),
            _ => break,
        };
        let scaled = norm(scale)?;
        // The factor itself may exceed the type of the numbers.
        if scaled.1.is_nan() || scaled.1 > best.1 && scaled.1.is_infinite() {
            break;
        }
        best = scaled;
    }
    Ok(best)
}

/// The square of a number, times a factor.
#[derive(Clone, Copy)]
struct Square(f64);

impl Term<1> for Square {
    #[inline(always)]
    fn term<X: Number>(&self, [x]: [X; 1]) -> X {
        let x = x.times(self.0);
        x.clone() * x
    }
}
