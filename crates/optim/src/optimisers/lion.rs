//! Lion.

use super::decay::{Decay, decays};
use super::mode::{Mode, descends};
use crate::argument::expect_decay;
use crate::error::Result;
use crate::leaf::Trainable;
use crate::number::{Number, Rule, mean};
use crate::schedules::Schedule;
use crate::transform::{Scope, Slots, Step, Transform};

/// Descent by the sign of a moving average: optax's `lion`.
///
/// As in optax, the weights decay by 1e-3; change this with [`weight_decay`](Lion::weight_decay).
///
/// ```
/// use treedef_optim::{Optimiser, lion};
///
/// let optimiser = lion(0.5).weight_decay(0.0);
/// let mut state = optimiser.init::<f32, _>(&(1.0f32, 1.0f32))?;
/// assert_eq!(optimiser.step((1.0f32, 1.0), (1e-3, -7.0), &mut state)?, (0.5, 1.5));
/// # Ok::<(), treedef_optim::Error>(())
/// ```
pub fn lion(rate: impl Into<Schedule>) -> Lion {
    Lion { rate: rate.into(), b1: 0.9, b2: 0.99, decay: Decay::with_default(1e-3) }
}

/// Descent by the sign of a moving average: made by [`lion`]. Methods change its settings.
#[derive(Clone, Debug)]
pub struct Lion {
    rate: Schedule,
    b1: f64,
    b2: f64,
    decay: Decay,
}

impl Lion {
    /// Sets the weight of the average beside the gradient. The default is 0.9.
    pub fn b1(mut self, b1: f64) -> Self {
        self.b1 = b1;
        self
    }

    /// Sets the decay of the average. The default is 0.99.
    pub fn b2(mut self, b2: f64) -> Self {
        self.b2 = b2;
        self
    }

    decays!("a parameter, times the learning rate, that a step removes. The default is 1e-3");

    fn go<L: Trainable>(
        &self,
        mode: Mode,
        step: &mut Step<'_, L>,
        slots: &mut Slots<L>,
    ) -> Result<()> {
        self.decay.run(mode, step, slots, ("lion", ["mu"]), |count, decay| self.rule(count, decay))
    }

    /// The rule of a step, if its numbers make sense.
    fn rule(&self, count: u64, decay: f64) -> Result<LionStep> {
        expect_decay("`b1`", self.b1)?;
        expect_decay("`b2`", self.b2)?;
        Ok(LionStep { rate: self.rate.rate(count)?, b1: self.b1, b2: self.b2, decay })
    }
}

impl<L: Trainable> Transform<L> for Lion {
    fn slots(&self, scope: Scope<'_>, parameters: &[L]) -> Result<Slots<L>> {
        self.decay.expect_sensible(scope, parameters)?;
        self.rule(0, 0.0)?;
        Slots::new("lion").with_filled("mu", 0.0, scope, parameters)
    }

    descends!();
}

#[derive(Clone, Copy)]
struct LionStep {
    rate: f64,
    b1: f64,
    b2: f64,
    decay: f64,
}

impl Rule<1> for LionStep {
    #[inline(always)]
    fn next<X: Number>(&self, gradient: X, parameter: X, [mu]: [X; 1]) -> (X, [X; 1]) {
        let between = mean(gradient.clone(), mu.clone(), self.b1);
        let mu = mean(gradient, mu, self.b2);
        ((between.sign() + parameter.times(self.decay)).times(-self.rate), [mu])
    }
}
