//! Several gradients as one step.

use super::{Number, Rule, Scope, Slots, Step, Transform};
use crate::error::{Error, Result};
use crate::leaf::Trainable;
use crate::number::Kernel;

/// Makes one step from the mean of several gradients: made by
/// [`accumulate`](crate::Optimiser::accumulate).
#[derive(Clone, Debug)]
pub struct Accumulate<O> {
    pub(crate) inner: O,
    pub(crate) every: u64,
}

pub(crate) const NAME: &str = "accumulate";

impl<O> Accumulate<O> {
    fn expect_sensible(&self) -> Result<()> {
        if self.every == 0 {
            return Err(Error::Argument(
                "expected 1 or more gradients for a step, found 0".to_owned(),
            ));
        }
        Ok(())
    }

    /// Adds the gradients to the mean. Returns whether the inner transform takes its step now: then the
    /// updates are the mean, and a new mean begins.
    fn is_due<L: Trainable>(
        &self,
        step: &mut Step<'_, L>,
        count: &mut u64,
        mean: &mut [L],
    ) -> Result<bool> {
        step.scope.run(&Mean { count: *count }, mean, [], [&*step.updates])?;
        *count += 1;
        if *count < self.every {
            return Ok(false);
        }
        *count = 0;
        step.scope.run(&TakeOut, step.updates, [mean], [])?;
        Ok(true)
    }
}

impl<L: Trainable, O: Transform<L>> Transform<L> for Accumulate<O> {
    fn slots(&self, scope: Scope<'_>, parameters: &[L]) -> Result<Slots<L>> {
        self.expect_sensible()?;
        let inner = self.inner.slots(scope, parameters)?;
        Ok(Slots::new(NAME).with_filled("mean", 0.0, scope, parameters)?.with_parts([inner]))
    }

    fn update(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        self.expect_sensible()?;
        let inside = slots.inside::<1, 1>(NAME, ["mean"])?;
        let ([mean], [inner]) = (inside.leaves, inside.parts);
        self.inner.check(step, inner)?;
        if self.is_due(step, inside.count, mean)? {
            self.inner.update(step, inner)
        } else {
            step.update(&Zero, [])
        }
    }

    fn descend(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        self.expect_sensible()?;
        let inside = slots.inside::<1, 1>(NAME, ["mean"])?;
        let ([mean], [inner]) = (inside.leaves, inside.parts);
        self.inner.check(step, inner)?;
        if self.is_due(step, inside.count, mean)? {
            self.inner.descend(step, inner)
        } else {
            Ok(())
        }
    }

    fn check(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        self.expect_sensible()?;
        let [inner] = slots.inside::<1, 1>(NAME, ["mean"])?.parts;
        self.inner.check(step, inner)
    }

    fn settle(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        let inside = slots.inside::<1, 1>(NAME, ["mean"])?;
        let [inner] = inside.parts;
        // After the step of the inner transform, a new mean begins.
        if *inside.count == 0 { self.inner.settle(step, inner) } else { Ok(()) }
    }

    fn is_descent(&self) -> bool {
        self.inner.is_descent()
    }
}

/// Adds one more gradient to the mean.
#[derive(Clone, Copy)]
struct Mean {
    count: u64,
}

impl Kernel<0, 1> for Mean {
    #[inline(always)]
    fn run<X: Number>(&self, mean: X, []: [X; 0], [gradient]: [X; 1]) -> (X, [X; 0]) {
        let change = (gradient - mean.clone()).times(1.0 / (self.count + 1) as f64);
        (mean + change, [])
    }
}

/// The number beside it, which becomes zero.
#[derive(Clone, Copy)]
struct TakeOut;

impl Kernel<1, 0> for TakeOut {
    #[inline(always)]
    fn run<X: Number>(&self, _: X, [mean]: [X; 1], []: [X; 0]) -> (X, [X; 1]) {
        (mean.clone(), [mean.zero()])
    }
}

/// No update.
#[derive(Clone, Copy)]
pub(crate) struct Zero;

impl Rule<0> for Zero {
    #[inline(always)]
    fn next<X: Number>(&self, gradient: X, _: X, []: [X; 0]) -> (X, [X; 0]) {
        (gradient.zero(), [])
    }
}
