//! RMSProp.

use super::Mode;
use crate::error::Result;
use crate::leaf::Leaf;
use crate::number::{Number, Rule};
use crate::schedules::Schedule;
use crate::transform::{Place, Slots, Step, Transform};

/// Descent with a rate for each number, by the mean of its squared gradients: optax's `rmsprop`, whose
/// variant `centered` is left out.
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
        momentum: None,
        nesterov: false,
    }
}

/// Made by [`rmsprop`].
#[derive(Clone, Debug)]
pub struct RmsProp {
    rate: Schedule,
    decay: f64,
    eps: f64,
    initial: f64,
    momentum: Option<f64>,
    nesterov: bool,
}

const NAME: &str = "rmsprop";

impl RmsProp {
    /// The decay of the mean. The default is 0.9.
    pub fn decay(mut self, decay: f64) -> Self {
        self.decay = decay;
        self
    }

    /// Is added below the root. The default is 1e-8.
    pub fn eps(mut self, eps: f64) -> Self {
        self.eps = eps;
        self
    }

    /// What each mean begins with. The default is 0.
    pub fn initial_scale(mut self, initial: f64) -> Self {
        self.initial = initial;
        self
    }

    /// How much of the former updates remains. The default is no momentum.
    pub fn momentum(mut self, momentum: f64) -> Self {
        self.momentum = Some(momentum);
        self
    }

    /// Whether the momentum is Nesterov's. The default is `false`.
    pub fn nesterov(mut self, yes: bool) -> Self {
        self.nesterov = yes;
        self
    }

    fn go<L: Leaf>(&self, mode: Mode, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        let next = Next { rate: self.rate.at(slots.count), decay: self.decay, eps: self.eps };
        match self.momentum {
            None => mode.run(step, &next, slots.leaves(NAME, ["nu"])?)?,
            Some(momentum) => {
                let rule = NextWithMomentum { next, momentum, nesterov: self.nesterov };
                mode.run(step, &rule, slots.leaves(NAME, ["nu", "trace"])?)?;
            }
        }
        slots.count += 1;
        Ok(())
    }
}

impl<L: Leaf> Transform<L> for RmsProp {
    fn slots(&self, place: Place<'_>, parameters: &[L]) -> Result<Slots<L>> {
        let slots = Slots::new(NAME).with_filled("nu", self.initial, place, parameters)?;
        match self.momentum {
            None => Ok(slots),
            Some(_) => slots.with_zeros("trace", place, parameters),
        }
    }

    descends!();
}

#[derive(Clone, Copy)]
struct Next {
    rate: f64,
    decay: f64,
    eps: f64,
}

impl Rule<1> for Next {
    #[inline(always)]
    fn next<X: Number>(&self, gradient: X, _: X, [nu]: [X; 1]) -> (X, [X; 1]) {
        let square = gradient.clone() * gradient.clone();
        let nu = square.times(1.0 - self.decay) + nu.times(self.decay);
        ((gradient / nu.clone().plus(self.eps).sqrt()).times(-self.rate), [nu])
    }
}

#[derive(Clone, Copy)]
struct NextWithMomentum {
    next: Next,
    momentum: f64,
    nesterov: bool,
}

impl Rule<2> for NextWithMomentum {
    #[inline(always)]
    fn next<X: Number>(&self, gradient: X, parameter: X, [nu, trace]: [X; 2]) -> (X, [X; 2]) {
        let (update, [nu]) = self.next.next(gradient, parameter, [nu]);
        let trace = update.clone() + trace.times(self.momentum);
        let update =
            if self.nesterov { update + trace.clone().times(self.momentum) } else { trace.clone() };
        (update, [nu, trace])
    }
}
