//! Gradient descent.

use super::mode::{Mode, descends};
use crate::argument::expect_at_least_zero;
use crate::error::Result;
use crate::leaf::Trainable;
use crate::number::{Number, Rule, momentum};
use crate::schedules::Schedule;
use crate::transform::{Scope, Slots, Step, Transform};

/// Gradient descent: optax's `sgd`.
///
/// ```
/// use treedef_optim::{Optimiser, sgd};
///
/// let optimiser = sgd(0.5).momentum(0.5);
/// let mut state = optimiser.init::<f64, _>(&4.0)?;
/// let model = optimiser.step(4.0, 2.0, &mut state)?;
/// assert_eq!(model, 3.0);
/// assert_eq!(optimiser.step(model, 2.0, &mut state)?, 1.5);
/// # Ok::<(), treedef_optim::Error>(())
/// ```
pub fn sgd(rate: impl Into<Schedule>) -> Sgd {
    Sgd { rate: rate.into(), momentum: None, nesterov: false }
}

/// Gradient descent: made by [`sgd`]. Methods change its settings.
#[derive(Clone, Debug)]
pub struct Sgd {
    rate: Schedule,
    momentum: Option<f64>,
    nesterov: bool,
}

const NAME: &str = "sgd";

impl Sgd {
    /// Sets the part of the previous updates that remains. The default is no momentum, which needs
    /// no memory.
    pub fn momentum(mut self, momentum: f64) -> Self {
        self.momentum = Some(momentum);
        self
    }

    /// Sets whether the momentum is Nesterov's. The default is `false`.
    pub fn nesterov(mut self, yes: bool) -> Self {
        self.nesterov = yes;
        self
    }

    /// The rate of a step, if the numbers make sense.
    fn rate(&self, count: u64) -> Result<f64> {
        expect_at_least_zero("a momentum", self.momentum.unwrap_or_default())?;
        self.rate.rate(count)
    }

    fn go<L: Trainable>(
        &self,
        mode: Mode,
        step: &mut Step<'_, L>,
        slots: &mut Slots<L>,
    ) -> Result<()> {
        let rate = self.rate(slots.count)?;
        match self.momentum {
            None => mode.run(step, &PlainStep { rate }, slots.leaves(NAME, [])?)?,
            Some(decay) => {
                let rule = MomentumStep { rate, decay, nesterov: self.nesterov };
                mode.run(step, &rule, slots.leaves(NAME, ["trace"])?)?;
            }
        }
        mode.count(&mut slots.count);
        Ok(())
    }
}

impl<L: Trainable> Transform<L> for Sgd {
    fn slots(&self, scope: Scope<'_>, parameters: &[L]) -> Result<Slots<L>> {
        self.rate(0)?;
        match self.momentum {
            None => Ok(Slots::new(NAME)),
            Some(_) => Slots::new(NAME).with_filled("trace", 0.0, scope, parameters),
        }
    }

    descends!();
}

#[derive(Clone, Copy)]
struct PlainStep {
    rate: f64,
}

impl Rule<0> for PlainStep {
    #[inline(always)]
    fn next<X: Number>(&self, gradient: X, _: X, []: [X; 0]) -> (X, [X; 0]) {
        (gradient.times(-self.rate), [])
    }
}

#[derive(Clone, Copy)]
struct MomentumStep {
    rate: f64,
    decay: f64,
    nesterov: bool,
}

impl Rule<1> for MomentumStep {
    #[inline(always)]
    fn next<X: Number>(&self, gradient: X, _: X, [trace]: [X; 1]) -> (X, [X; 1]) {
        let (update, trace) = momentum(gradient, trace, self.decay, self.nesterov);
        (update.times(-self.rate), [trace])
    }
}
