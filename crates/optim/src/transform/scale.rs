//! Factors, and the decay of weights.

use super::{Number, Rule, Scope, Slots, Step, Transform};
use crate::argument::{expect_at_least_zero, expect_factor};
use crate::error::Result;
use crate::leaf::Trainable;
use crate::schedules::Schedule;

/// Multiplies all updates: optax's `scale`.
///
/// ```
/// use treedef_optim::{Optimiser, transform::scale};
///
/// let mut state = scale(-0.5).init::<f32, _>(&1.0f32)?;
/// assert_eq!(scale(-0.5).step(1.0f32, 4.0, &mut state)?, -1.0);
/// # Ok::<(), treedef_optim::Error>(())
/// ```
pub fn scale(factor: f64) -> Scale {
    Scale { factor }
}

/// Multiplies all updates by a factor: made by [`scale`].
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    factor: f64,
}

impl Rule<0> for Scale {
    #[inline(always)]
    fn next<X: Number>(&self, gradient: X, _: X, []: [X; 0]) -> (X, [X; 0]) {
        (gradient.times(self.factor), [])
    }
}

impl<L: Trainable> Transform<L> for Scale {
    fn slots(&self, _: Scope<'_>, _: &[L]) -> Result<Slots<L>> {
        expect_factor(self.factor)?;
        Ok(Slots::new("scale"))
    }

    fn update(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        expect_factor(self.factor)?;
        step.update(self, slots.leaves("scale", [])?)
    }

    fn check(&self, _: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        expect_factor(self.factor)?;
        slots.leaves("scale", []).map(|[]| ())
    }

    fn is_descent(&self) -> bool {
        self.factor < 0.0
    }
}

/// Multiplies the updates by a schedule: optax's `scale_by_schedule`. As in optax, you choose the
/// sign.
///
/// [`only`](crate::Optimiser::only) treats it as a learning rate, whatever its sign: other leaves do not
/// move. To keep their updates, write:
///
/// ```
/// use treedef_optim::transform::{partition, scale, scale_by_schedule};
/// use treedef_optim::{Optimiser, chain, sgd};
///
/// let fade = |count: u64| 1.0 / (count + 1) as f64;
/// let faded = partition().group([".0"], scale_by_schedule(fade)).rest(scale(1.0));
/// let optimiser = chain!(sgd(0.5), faded);
/// let mut state = optimiser.init::<f64, _>(&(1.0, 1.0))?;
/// let model = optimiser.step((1.0, 1.0), (1.0, 1.0), &mut state)?;
/// assert_eq!(optimiser.step(model, (1.0, 1.0), &mut state)?, (0.25, 0.0));
/// # Ok::<(), treedef_optim::Error>(())
/// ```
pub fn scale_by_schedule(factor: impl Into<Schedule>) -> ScaleBySchedule {
    ScaleBySchedule { factor: factor.into() }
}

/// Multiplies the updates by a schedule: made by [`scale_by_schedule`].
#[derive(Clone, Debug)]
pub struct ScaleBySchedule {
    factor: Schedule,
}

impl<L: Trainable> Transform<L> for ScaleBySchedule {
    fn slots(&self, _: Scope<'_>, _: &[L]) -> Result<Slots<L>> {
        expect_factor(self.factor.at(0))?;
        Ok(Slots::new("scale_by_schedule"))
    }

    fn update(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        let (count, []) = slots.counted("scale_by_schedule", [])?;
        let factor = self.factor.at(*count);
        expect_factor(factor)?;
        step.update(&Scale { factor }, [])?;
        *count += 1;
        Ok(())
    }

    fn check(&self, _: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        let (count, []) = slots.counted("scale_by_schedule", [])?;
        expect_factor(self.factor.at(*count))
    }

    /// A schedule may have both signs, so the sign is not checked.
    fn is_descent(&self) -> bool {
        true
    }
}

/// Adds `decay * parameter` to the updates: optax's `add_decayed_weights`.
///
/// [`only`](crate::Optimiser::only) restricts it to some leaves, as optax's `mask` does:
///
/// ```
/// use treedef_optim::{Optimiser, chain, sgd, transform::weight_decay};
///
/// let optimiser = chain!(weight_decay(0.1).only(".0"), sgd(1.0));
/// let mut state = optimiser.init::<f64, _>(&(10.0, 10.0))?;
/// assert_eq!(optimiser.step((10.0, 10.0), (0.0, 0.0), &mut state)?, (9.0, 10.0));
/// # Ok::<(), treedef_optim::Error>(())
/// ```
#[doc(alias = "add_decayed_weights")]
pub fn weight_decay(decay: f64) -> WeightDecay {
    WeightDecay { decay }
}

pub(crate) const DECAY: &str = "a weight decay";

/// Adds a multiple of each parameter to its update: made by [`weight_decay`].
#[derive(Clone, Copy, Debug)]
pub struct WeightDecay {
    decay: f64,
}

impl Rule<0> for WeightDecay {
    #[inline(always)]
    fn next<X: Number>(&self, gradient: X, parameter: X, []: [X; 0]) -> (X, [X; 0]) {
        (gradient + parameter.times(self.decay), [])
    }
}

impl<L: Trainable> Transform<L> for WeightDecay {
    fn slots(&self, _: Scope<'_>, _: &[L]) -> Result<Slots<L>> {
        expect_at_least_zero(DECAY, self.decay)?;
        Ok(Slots::new("weight_decay"))
    }

    fn update(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        expect_at_least_zero(DECAY, self.decay)?;
        step.update(self, slots.leaves("weight_decay", [])?)
    }

    fn check(&self, _: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        expect_at_least_zero(DECAY, self.decay)?;
        slots.leaves("weight_decay", []).map(|[]| ())
    }
}
