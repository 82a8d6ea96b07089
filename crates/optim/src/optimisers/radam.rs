//! Rectified Adam.

use super::mode::{Mode, descends};
use super::moments::{AdamStep, Moments, SLOTS, constants};
use crate::error::{Error, Result};
use crate::leaf::Trainable;
use crate::number::{Number, Rule};
use crate::schedules::Schedule;
use crate::transform::{Scope, Slots, Step, Transform, correction};

/// Adam that needs no warm-up: optax's `radam`.
///
/// Its first steps use only momentum, until it has seen enough gradients to trust the mean of their
/// squares.
/// L. Liu et al., *On the Variance of the Adaptive Learning Rate and Beyond*, 2019.
///
/// ```
/// use treedef_optim::{Optimiser, radam};
///
/// let mut state = radam(0.1).init::<f64, _>(&1.0)?;
/// let model = radam(0.1).step(1.0f64, 7.0, &mut state)?;
/// assert!((model - (1.0 - 0.1 * 7.0)).abs() < 1e-12); // no root of squares yet
/// # Ok::<(), treedef_optim::Error>(())
/// ```
pub fn radam(rate: impl Into<Schedule>) -> RAdam {
    RAdam { moments: Moments::new(rate.into()), threshold: 5.0 }
}

/// Adam that needs no warm-up: made by [`radam`]. Methods change its settings.
#[derive(Clone, Debug)]
pub struct RAdam {
    moments: Moments,
    threshold: f64,
}

impl RAdam {
    constants!(eps: "1e-8", eps_root: "0");

    /// Sets the length of the average from which on its squares are trusted: 4 or more. The default is 5.
    pub fn threshold(mut self, threshold: f64) -> Self {
        self.threshold = threshold;
        self
    }

    /// The step of Adam, if its numbers make sense.
    fn rule(&self, count: u64) -> Result<AdamStep> {
        if self.threshold >= 4.0 {
            return self.moments.rule(count, 0.0);
        }
        let message = format!("expected a threshold of 4 or more, found {}", self.threshold);
        Err(Error::Argument(message))
    }

    /// The factor of a step of Adam. `None` where the squares are not trusted yet.
    fn rectification(&self, count: u64) -> Option<f64> {
        let b2 = self.moments.b2;
        let longest = 2.0 / (1.0 - b2) - 1.0;
        let correction = correction(b2, count);
        let length = longest - 2.0 * count as f64 * (1.0 - correction) / correction;
        let of = |length: f64| (length - 4.0) * (length - 2.0) / length;
        (length >= self.threshold).then(|| (of(length) / of(longest)).sqrt())
    }

    fn go<L: Trainable>(
        &self,
        mode: Mode,
        step: &mut Step<'_, L>,
        slots: &mut Slots<L>,
    ) -> Result<()> {
        let names = ("radam", SLOTS);
        let next = self.rule(slots.count)?;
        match self.rectification(slots.count + 1) {
            Some(factor) => mode.run_counted(step, slots, names, |_| {
                Ok(AdamStep { rate: next.rate * factor, ..next })
            }),
            None => mode.run_counted(step, slots, names, |_| Ok(MeanStep(next))),
        }
    }
}

impl<L: Trainable> Transform<L> for RAdam {
    fn slots(&self, scope: Scope<'_>, parameters: &[L]) -> Result<Slots<L>> {
        self.rule(0)?;
        Moments::slots("radam", scope, parameters)
    }

    descends!();
}

/// A step by the mean of the gradients only.
#[derive(Clone, Copy)]
struct MeanStep(AdamStep);

impl Rule<2> for MeanStep {
    #[inline(always)]
    fn next<X: Number>(&self, gradient: X, _: X, slots: [X; 2]) -> (X, [X; 2]) {
        let MeanStep(next) = self;
        let [mu, nu] = next.means(gradient, slots);
        (mu.clone().times(-next.rate * next.first), [mu, nu])
    }
}
