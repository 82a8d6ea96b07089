//! Adam, and Adam with decaying weights.

use super::decay::{Decay, decays};
use super::mode::{Mode, descends};
use super::moments::{AdamStep, Moments, SLOTS, constants};
use crate::error::Result;
use crate::leaf::Trainable;
use crate::number::{Number, Rule};
use crate::schedules::Schedule;
use crate::transform::{Scope, Slots, Step, Transform};

/// A step of Adam with decaying weights.
#[derive(Clone, Copy)]
pub(super) struct AdamWStep(pub(super) AdamStep);

impl Rule<2> for AdamWStep {
    #[inline(always)]
    fn next<X: Number>(&self, gradient: X, parameter: X, slots: [X; 2]) -> (X, [X; 2]) {
        let (update, slots) = self.0.moments(gradient, slots);
        ((update + parameter.times(self.0.decay)).times(-self.0.rate), slots)
    }
}

/// Adam: optax's `adam`.
///
/// ```
/// use treedef_optim::{Optimiser, adam};
///
/// let mut state = adam(0.1).init::<f64, _>(&1.0)?;
/// let model = adam(0.1).step(1.0f64, 7.0, &mut state)?;
/// assert!((model - 0.9).abs() < 1e-8); // the first step has the length of the rate
/// # Ok::<(), treedef_optim::Error>(())
/// ```
pub fn adam(rate: impl Into<Schedule>) -> Adam {
    Adam { moments: Moments::new(rate.into()) }
}

/// The optimiser Adam: made by [`adam`]. Methods change its settings.
#[derive(Clone, Debug)]
pub struct Adam {
    moments: Moments,
}

impl Adam {
    constants!(eps: "1e-8", eps_root: "0");

    fn go<L: Trainable>(
        &self,
        mode: Mode,
        step: &mut Step<'_, L>,
        slots: &mut Slots<L>,
    ) -> Result<()> {
        mode.run_counted(step, slots, ("adam", SLOTS), |count| self.moments.rule(count, 0.0))
    }
}

impl<L: Trainable> Transform<L> for Adam {
    fn slots(&self, scope: Scope<'_>, parameters: &[L]) -> Result<Slots<L>> {
        self.moments.rule(0, 0.0)?;
        Moments::slots("adam", scope, parameters)
    }

    descends!();
}

/// Adam with decaying weights: optax's `adamw`.
///
/// ```
/// use treedef_optim::{Optimiser, adamw};
///
/// let optimiser = adamw(0.1).weight_decay(0.5).decay_only(".0");
/// let mut state = optimiser.init::<f64, _>(&(1.0, 1.0))?;
/// assert_eq!(optimiser.step((1.0, 1.0), (0.0, 0.0), &mut state)?, (0.95, 1.0));
/// # Ok::<(), treedef_optim::Error>(())
/// ```
pub fn adamw(rate: impl Into<Schedule>) -> AdamW {
    AdamW { moments: Moments::new(rate.into()), decay: Decay::with_default(1e-4) }
}

/// Adam with decaying weights: made by [`adamw`]. Methods change its settings.
#[derive(Clone, Debug)]
pub struct AdamW {
    moments: Moments,
    decay: Decay,
}

impl AdamW {
    constants!(eps: "1e-8", eps_root: "0");

    decays!("a parameter, times the learning rate, that a step removes. The default is 1e-4");

    fn go<L: Trainable>(
        &self,
        mode: Mode,
        step: &mut Step<'_, L>,
        slots: &mut Slots<L>,
    ) -> Result<()> {
        self.decay.run(mode, step, slots, ("adamw", SLOTS), |count, decay| {
            Ok(AdamWStep(self.moments.rule(count, decay)?))
        })
    }
}

impl<L: Trainable> Transform<L> for AdamW {
    fn slots(&self, scope: Scope<'_>, parameters: &[L]) -> Result<Slots<L>> {
        self.decay.expect_sensible(scope, parameters)?;
        self.moments.rule(0, 0.0)?;
        Moments::slots("adamw", scope, parameters)
    }

    descends!();
}
