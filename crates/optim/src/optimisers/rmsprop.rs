//! RMSProp.

use super::mode::{Mode, descends};
use crate::argument::{expect_at_least_zero, expect_decay};
use crate::error::Result;
use crate::leaf::Trainable;
use crate::number::{Number, Rule, mean, momentum};
use crate::schedules::Schedule;
use crate::transform::{Scope, Slots, Step, Transform};

/// Descent with a rate for each number, by the mean of its squared gradients: optax's `rmsprop`.
///
/// ```
/// use treedef_optim::{Optimiser, rmsprop};
///
/// let optimiser = rmsprop(1.0).decay(0.75);
/// let mut state = optimiser.init::<f64, _>(&0.0)?;
/// assert!((optimiser.step(0.0f64, 5.0, &mut state)? + 2.0).abs() < 1e-8);
/// # Ok::<(), treedef_optim::Error>(())
/// ```
pub fn rmsprop(rate: impl Into<Schedule>) -> RmsProp {
    RmsProp {
        rate: rate.into(),
        decay: 0.9,
        eps: 1e-8,
        initial: 0.0,
        centered: false,
        momentum: None,
        nesterov: false,
    }
}

/// Descent with a rate for each number, by the mean of its squared gradients: made by [`rmsprop`]. Methods change its settings.
#[derive(Clone, Debug)]
pub struct RmsProp {
    rate: Schedule,
    decay: f64,
    eps: f64,
    initial: f64,
    centered: bool,
    momentum: Option<f64>,
    nesterov: bool,
}

const NAME: &str = "rmsprop";

impl RmsProp {
    /// Sets the decay of the mean. The default is 0.9.
    pub fn decay(mut self, decay: f64) -> Self {
        self.decay = decay;
        self
    }

    /// Sets the number that is added below the root. The default is 1e-8.
    pub fn eps(mut self, eps: f64) -> Self {
        self.eps = eps;
        self
    }

    /// Sets the initial value of each mean. The default is 0.
    pub fn initial_scale(mut self, initial: f64) -> Self {
        self.initial = initial;
        self
    }

    /// Sets whether the mean gradient is subtracted: the rate then depends on the variance of the gradients
    /// instead of the mean of their squares. The default is `false`.
    ///
    /// ```
    /// use treedef_optim::{Optimiser, rmsprop};
    ///
    /// let optimiser = rmsprop(1.0).decay(0.75).centered(true);
    /// let mut state = optimiser.init::<f64, _>(&0.0)?;
    /// // The mean of the squares is 12, the mean of the gradients √3.
    /// let moved = optimiser.step(0.0f64, 48f64.sqrt(), &mut state)?;
    /// assert!((moved + 48f64.sqrt() / 3.0).abs() < 1e-8);
    /// # Ok::<(), treedef_optim::Error>(())
    /// ```
    pub fn centered(mut self, yes: bool) -> Self {
        self.centered = yes;
        self
    }

    /// Sets the part of the previous updates that remains. The default is no momentum.
    pub fn momentum(mut self, momentum: f64) -> Self {
        self.momentum = Some(momentum);
        self
    }

    /// Sets whether the momentum is Nesterov's. The default is `false`.
    pub fn nesterov(mut self, yes: bool) -> Self {
        self.nesterov = yes;
        self
    }

    /// The rule of a step, if its numbers make sense.
    fn rule(&self, count: u64) -> Result<RmsPropStep> {
        let momentum = self.momentum.unwrap_or_default();
        expect_decay("`decay`", self.decay)?;
        expect_at_least_zero("an eps", self.eps)?;
        expect_at_least_zero("an initial scale", self.initial)?;
        expect_at_least_zero("a momentum", momentum)?;
        let rate = self.rate.rate(count)?;
        Ok(RmsPropStep {
            rate,
            decay: self.decay,
            eps: self.eps,
            momentum,
            nesterov: self.nesterov,
        })
    }

    fn go<L: Trainable>(
        &self,
        mode: Mode,
        step: &mut Step<'_, L>,
        slots: &mut Slots<L>,
    ) -> Result<()> {
        let next = self.rule(slots.count)?;
        match (self.centered, self.momentum) {
            (false, None) => mode.run(step, &PlainRms(next), slots.leaves(NAME, ["nu"])?)?,
            (false, Some(_)) => {
                mode.run(step, &MomentumRms(next), slots.leaves(NAME, ["nu", "trace"])?)?;
            }
            (true, None) => {
                mode.run(step, &CenteredRms(next), slots.leaves(NAME, ["mu", "nu"])?)?
            }
            (true, Some(_)) => {
                let leaves = slots.leaves(NAME, ["mu", "nu", "trace"])?;
                mode.run(step, &CenteredMomentumRms(next), leaves)?;
            }
        }
        mode.count(&mut slots.count);
        Ok(())
    }
}

impl<L: Trainable> Transform<L> for RmsProp {
    fn slots(&self, scope: Scope<'_>, parameters: &[L]) -> Result<Slots<L>> {
        self.rule(0)?;
        let mut slots = Slots::new(NAME);
        if self.centered {
            slots = slots.with_filled("mu", 0.0, scope, parameters)?;
        }
        let slots = slots.with_filled("nu", self.initial, scope, parameters)?;
        match self.momentum {
            None => Ok(slots),
            Some(_) => slots.with_filled("trace", 0.0, scope, parameters),
        }
    }

    descends!();
}

#[derive(Clone, Copy)]
struct RmsPropStep {
    rate: f64,
    decay: f64,
    eps: f64,
    momentum: f64,
    nesterov: bool,
}

impl RmsPropStep {
    #[inline(always)]
    fn update<X: Number>(&self, gradient: X, square: X) -> X {
        (gradient / square.plus(self.eps).sqrt()).times(-self.rate)
    }

    #[inline(always)]
    fn moved<X: Number>(&self, update: X, trace: X) -> (X, X) {
        momentum(update, trace, self.momentum, self.nesterov)
    }
}

#[derive(Clone, Copy)]
struct PlainRms(RmsPropStep);

impl Rule<1> for PlainRms {
    #[inline(always)]
    fn next<X: Number>(&self, gradient: X, _: X, [nu]: [X; 1]) -> (X, [X; 1]) {
        let nu = mean(gradient.clone() * gradient.clone(), nu, self.0.decay);
        (self.0.update(gradient, nu.clone()), [nu])
    }
}

#[derive(Clone, Copy)]
struct MomentumRms(RmsPropStep);

impl Rule<2> for MomentumRms {
    #[inline(always)]
    fn next<X: Number>(&self, gradient: X, parameter: X, [nu, trace]: [X; 2]) -> (X, [X; 2]) {
        let (update, [nu]) = PlainRms(self.0).next(gradient, parameter, [nu]);
        let (update, trace) = self.0.moved(update, trace);
        (update, [nu, trace])
    }
}

#[derive(Clone, Copy)]
struct CenteredRms(RmsPropStep);

impl Rule<2> for CenteredRms {
    #[inline(always)]
    fn next<X: Number>(&self, gradient: X, _: X, [mu, nu]: [X; 2]) -> (X, [X; 2]) {
        let mu = mean(gradient.clone(), mu, self.0.decay);
        let nu = mean(gradient.clone() * gradient.clone(), nu, self.0.decay);
        // By rounding, it may be below 0, where the root is NaN.
        let variance = (nu.clone() - mu.clone() * mu.clone()).clamp(0.0, f64::INFINITY);
        (self.0.update(gradient, variance), [mu, nu])
    }
}

#[derive(Clone, Copy)]
struct CenteredMomentumRms(RmsPropStep);

impl Rule<3> for CenteredMomentumRms {
    #[inline(always)]
    fn next<X: Number>(&self, gradient: X, parameter: X, [mu, nu, trace]: [X; 3]) -> (X, [X; 3]) {
        let (update, [mu, nu]) = CenteredRms(self.0).next(gradient, parameter, [mu, nu]);
        let (update, trace) = self.0.moved(update, trace);
        (update, [mu, nu, trace])
    }
}
