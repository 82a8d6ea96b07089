//! Slow parameters behind fast ones.

use super::{Kernel, Number, Rule, Scope, Slots, Step, Transform};
use crate::argument::expect_step_size;
use crate::error::{Error, Result};
use crate::leaf::Trainable;

/// Goes back towards slow parameters after some steps: made by [`lookahead`](crate::Optimiser::lookahead).
#[derive(Clone, Debug)]
pub struct Lookahead<O> {
    pub(crate) inner: O,
    pub(crate) period: u64,
    pub(crate) step_size: f64,
    pub(crate) reset: bool,
}

pub(crate) const LOOKAHEAD: &str = "lookahead";

impl<O> Lookahead<O> {
    /// Sets whether the memory of the optimiser starts afresh whenever the slow parameters have moved. The default is `false`.
    /// Its count does so, too, and with it a schedule of the rate.
    pub fn reset_state(mut self, yes: bool) -> Self {
        self.reset = yes;
        self
    }

    fn expect_sensible(&self) -> Result<()> {
        if self.period == 0 {
            return Err(Error::Argument(
                "expected 1 or more steps between the slow ones, found 0".to_owned(),
            ));
        }
        expect_step_size(self.step_size)
    }
}

impl<L: Trainable, O: Transform<L>> Transform<L> for Lookahead<O> {
    fn slots(&self, scope: Scope<'_>, parameters: &[L]) -> Result<Slots<L>> {
        self.expect_sensible()?;
        let inner = self.inner.slots(scope, parameters)?;
        Ok(Slots::new(LOOKAHEAD).with_copies("slow", parameters).with_parts([inner]))
    }

    fn update(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        self.expect_sensible()?;
        let inside = slots.inside::<1, 1>(LOOKAHEAD, ["slow"])?;
        let ([slow], [inner]) = (inside.leaves, inside.parts);
        self.inner.update(step, inner)?;
        if *inside.count % self.period == 0 {
            // They begin where the last step ended, after its rounding and what follows in a chain, such as a projection.
            step.scope.run(&TakeOther, slow, [], [&*step.parameters])?;
        }
        *inside.count += 1;
        if *inside.count % self.period != 0 {
            return Ok(());
        }
        step.update(&Back { step_size: self.step_size }, [slow])
    }

    fn check(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        self.expect_sensible()?;
        let [inner] = slots.inside::<1, 1>(LOOKAHEAD, ["slow"])?.parts;
        self.inner.check(step, inner)
    }

    fn settle(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        let inside = slots.inside::<1, 1>(LOOKAHEAD, ["slow"])?;
        let [inner] = inside.parts;
        self.inner.settle(step, inner)?;
        if self.reset && *inside.count % self.period == 0 {
            *inner = self.inner.slots(step.scope, step.parameters)?;
        }
        Ok(())
    }

    fn is_descent(&self) -> bool {
        self.inner.is_descent()
    }
}

/// The number beside it.
#[derive(Clone, Copy)]
struct TakeOther;

impl Kernel<0, 1> for TakeOther {
    #[inline(always)]
    fn run<X: Number>(&self, _: X, []: [X; 0], [other]: [X; 1]) -> (X, [X; 0]) {
        (other, [])
    }
}

/// The slow parameters move a part of the way to the fast ones, which go back to them.
#[derive(Clone, Copy)]
struct Back {
    step_size: f64,
}

impl Rule<1> for Back {
    #[inline(always)]
    fn next<X: Number>(&self, update: X, parameter: X, [slow]: [X; 1]) -> (X, [X; 1]) {
        let way = parameter + update.clone() - slow.clone();
        (update - way.clone().times(1.0 - self.step_size), [slow + way.times(self.step_size)])
    }
}
