//! AdaGrad.

use super::mode::{Mode, descends};
use crate::argument::{expect_at_least_zero, expect_size};
use crate::error::Result;
use crate::leaf::Trainable;
use crate::number::{Number, Rule};
use crate::schedules::Schedule;
use crate::transform::{Scope, Slots, Step, Transform};

/// Descent with a rate for each number, by the sum of its squared gradients: optax's `adagrad`.
///
/// ```
/// use treedef_optim::{Optimiser, adagrad};
///
/// let optimiser = adagrad(1.0).initial_accumulator(0.0).eps(1e-12);
/// let mut state = optimiser.init::<f64, _>(&0.0)?;
/// assert!((optimiser.step(0.0f64, 5.0, &mut state)? + 1.0).abs() < 1e-12);
/// # Ok::<(), treedef_optim::Error>(())
/// ```
pub fn adagrad(rate: impl Into<Schedule>) -> AdaGrad {
    AdaGrad { rate: rate.into(), initial: 0.1, eps: 1e-7 }
}

/// Descent with a rate for each number, by the sum of its squared gradients: made by [`adagrad`]. Methods change its settings.
#[derive(Clone, Debug)]
pub struct AdaGrad {
    rate: Schedule,
    initial: f64,
    eps: f64,
}

impl AdaGrad {
    /// Sets the initial value of each sum. The default is 0.1.
    pub fn initial_accumulator(mut self, initial: f64) -> Self {
        self.initial = initial;
        self
    }

    /// Sets the number that is added below the root, which must not be 0. The default is 1e-7.
    pub fn eps(mut self, eps: f64) -> Self {
        self.eps = eps;
        self
    }

    /// The rule of a step, if its numbers make sense.
    fn rule(&self, count: u64) -> Result<AdaGradStep> {
        expect_at_least_zero("an initial accumulator", self.initial)?;
        expect_size("an eps", self.eps)?;
        Ok(AdaGradStep { rate: self.rate.rate(count)?, eps: self.eps })
    }

    fn go<L: Trainable>(
        &self,
        mode: Mode,
        step: &mut Step<'_, L>,
        slots: &mut Slots<L>,
    ) -> Result<()> {
        let names = ("adagrad", ["sum_of_squares"]);
        mode.run_counted(step, slots, names, |count| self.rule(count))
    }
}

impl<L: Trainable> Transform<L> for AdaGrad {
    fn slots(&self, scope: Scope<'_>, parameters: &[L]) -> Result<Slots<L>> {
        self.rule(0)?;
        Slots::new("adagrad").with_filled("sum_of_squares", self.initial, scope, parameters)
    }

    descends!();
}

#[derive(Clone, Copy)]
struct AdaGradStep {
    rate: f64,
    eps: f64,
}

impl Rule<1> for AdaGradStep {
    #[inline(always)]
    fn next<X: Number>(&self, gradient: X, _: X, [sum]: [X; 1]) -> (X, [X; 1]) {
        let sum = gradient.clone() * gradient.clone() + sum;
        ((gradient / sum.clone().plus(self.eps).sqrt()).times(-self.rate), [sum])
    }
}
