//! AdaBelief.

use super::mode::{Mode, descends};
use super::moments::{AdamStep, Moments, SLOTS, constants};
use crate::error::Result;
use crate::leaf::Trainable;
use crate::number::{Number, Rule, mean};
use crate::schedules::Schedule;
use crate::transform::{Scope, Slots, Step, Transform};

/// Adam that divides by the deviation of the gradients from their average: optax's `adabelief`.
///
/// A gradient that is as expected moves the parameter far. J. Zhuang et al., *AdaBelief Optimizer*, 2020.
///
/// ```
/// use treedef_optim::{Optimiser, adabelief};
///
/// let mut state = adabelief(0.1).init::<f64, _>(&1.0)?;
/// let model = adabelief(0.1).step(1.0f64, 7.0, &mut state)?;
/// assert!((model - (1.0 - 0.1 / 0.9)).abs() < 1e-8); // the average of one gradient is a tenth
/// # Ok::<(), treedef_optim::Error>(())
/// ```
pub fn adabelief(rate: impl Into<Schedule>) -> AdaBelief {
    AdaBelief { moments: Moments { eps: 1e-16, eps_root: 1e-16, ..Moments::new(rate.into()) } }
}

/// Adam that divides by the deviation of the gradients from their average: made by [`adabelief`]. Methods change its settings.
#[derive(Clone, Debug)]
pub struct AdaBelief {
    moments: Moments,
}

impl AdaBelief {
    constants!(eps: "1e-16", eps_root: "1e-16");

    fn go<L: Trainable>(
        &self,
        mode: Mode,
        step: &mut Step<'_, L>,
        slots: &mut Slots<L>,
    ) -> Result<()> {
        mode.run_counted(step, slots, ("adabelief", SLOTS), |count| {
            Ok(AdaBeliefStep(self.moments.rule(count, 0.0)?))
        })
    }
}

impl<L: Trainable> Transform<L> for AdaBelief {
    fn slots(&self, scope: Scope<'_>, parameters: &[L]) -> Result<Slots<L>> {
        self.moments.rule(0, 0.0)?;
        Moments::slots("adabelief", scope, parameters)
    }

    descends!();
}

#[derive(Clone, Copy)]
struct AdaBeliefStep(AdamStep);

impl Rule<2> for AdaBeliefStep {
    #[inline(always)]
    fn next<X: Number>(&self, gradient: X, _: X, [mu, nu]: [X; 2]) -> (X, [X; 2]) {
        let AdaBeliefStep(next) = self;
        let mu = mean(gradient.clone(), mu, next.b1);
        let error = gradient - mu.clone();
        let nu = mean(error.clone() * error, nu, next.b2).plus(next.eps_root);
        let root = nu.clone().times(next.second).sqrt().plus(next.eps);
        ((mu.clone().times(next.first) / root).times(-next.rate), [mu, nu])
    }
}
