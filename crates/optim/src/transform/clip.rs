//! Limits on gradients.

use super::{Number, Place, Rule, Slots, Step, Term, Transform};
use crate::error::{Error, Result};
use crate::leaf::Leaf;

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

/// Made by [`clip`].
#[derive(Clone, Copy, Debug)]
pub struct Clip {
    limit: f64,
}

impl Rule<0> for Clip {
    #[inline(always)]
    fn next<X: Number>(&self, gradient: X, _: X, []: [X; 0]) -> (X, [X; 0]) {
        (gradient.clip(self.limit), [])
    }
}

impl<L: Leaf> Transform<L> for Clip {
    fn slots(&self, _: Place<'_>, _: &[L]) -> Result<Slots<L>> {
        expect_limit(self.limit)?;
        Ok(Slots::new("clip"))
    }

    fn update(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        step.update(self, slots.leaves("clip", [])?)
    }
}

/// Scales all gradients together, so that the norm of all numbers is at most `limit`: optax's
/// `clip_by_global_norm`.
///
/// The norm is summed pairwise in `f64`, in optax in the type of the numbers.
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

/// Made by [`clip_by_global_norm`].
#[derive(Clone, Copy, Debug)]
pub struct ClipByGlobalNorm {
    limit: f64,
}

impl<L: Leaf> Transform<L> for ClipByGlobalNorm {
    fn slots(&self, _: Place<'_>, _: &[L]) -> Result<Slots<L>> {
        expect_limit(self.limit)?;
        Ok(Slots::new("clip_by_global_norm"))
    }

    fn update(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        let [] = slots.leaves("clip_by_global_norm", [])?;
        let mut scale = 1.0;
        let mut norm = step.place.sum(&Square(scale), [&*step.updates])?.sqrt();
        if norm < self.limit {
            return Ok(());
        }
        // The norm of many `f32`, or squares of `f64`, may be too large for their type.
        for smaller in [2f64.powi(-64), 2f64.powi(-640)] {
            if norm > f64::from(f32::MAX) {
                scale = smaller;
                norm = step.place.sum(&Square(scale), [&*step.updates])?.sqrt();
            }
        }
        step.update(&Fraction { scale, norm, limit: self.limit }, [])
    }
}

/// `gradient / norm * limit`, in this order, as optax does. Both are scaled before.
#[derive(Clone, Copy)]
struct Fraction {
    scale: f64,
    norm: f64,
    limit: f64,
}

impl Rule<0> for Fraction {
    #[inline(always)]
    fn next<X: Number>(&self, gradient: X, _: X, []: [X; 0]) -> (X, [X; 0]) {
        let norm = gradient.clone().zero().plus(self.norm);
        ((gradient.times(self.scale) / norm).times(self.limit), [])
    }
}

/// The square of a number, times a factor.
#[derive(Clone, Copy)]
pub(crate) struct Square(pub(crate) f64);

impl Term<1> for Square {
    #[inline(always)]
    fn term<X: Number>(&self, [x]: [X; 1]) -> X {
        let x = x.times(self.0);
        x.clone() * x
    }
}

fn expect_limit(limit: f64) -> Result<()> {
    if limit > 0.0 {
        return Ok(());
    }
    Err(Error::Argument(format!("expected a limit above 0, found {limit}")))
}
