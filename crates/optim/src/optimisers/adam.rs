//! Adam, and Adam with decaying weights.

use super::decay::Decay;
use super::mode::{Mode, descends};
use crate::argument::{expect_at_least_zero, expect_decay};
use crate::error::Result;
use crate::leaf::Trainable;
use crate::number::{Number, Rule, mean};
use crate::schedules::Schedule;
use crate::transform::{Mask, Place, Slots, Step, Transform, correction};

/// The constants of Adam.
#[derive(Clone, Debug)]
struct Moments {
    rate: Schedule,
    b1: f64,
    b2: f64,
    eps: f64,
    eps_root: f64,
}

impl Moments {
    fn new(rate: Schedule) -> Self {
        Moments { rate, b1: 0.9, b2: 0.999, eps: 1e-8, eps_root: 0.0 }
    }

    /// The rule of a step, if its numbers make sense.
    fn rule(&self, count: u64, decay: f64) -> Result<Next> {
        expect_decay(self.b1)?;
        expect_decay(self.b2)?;
        expect_at_least_zero("an eps", self.eps)?;
        expect_at_least_zero("an eps_root", self.eps_root)?;
        Ok(Next {
            rate: self.rate.rate(count)?,
            b1: self.b1,
            b2: self.b2,
            eps: self.eps,
            eps_root: self.eps_root,
            first: 1.0 / correction(self.b1, count + 1),
            second: 1.0 / correction(self.b2, count + 1),
            decay,
        })
    }
}

#[derive(Clone, Copy)]
struct Next {
    rate: f64,
    b1: f64,
    b2: f64,
    eps: f64,
    eps_root: f64,
    first: f64,
    second: f64,
    decay: f64,
}

impl Next {
    #[inline(always)]
    fn moments<X: Number>(&self, gradient: X, [mu, nu]: [X; 2]) -> (X, [X; 2]) {
        let mu = mean(gradient.clone(), mu, self.b1);
        let nu = mean(gradient.clone() * gradient, nu, self.b2);
        let square = nu.clone().times(self.second);
        let square = if self.eps_root == 0.0 { square } else { square.plus(self.eps_root) };
        (mu.clone().times(self.first) / square.sqrt().plus(self.eps), [mu, nu])
    }
}

impl Rule<2> for Next {
    #[inline(always)]
    fn next<X: Number>(&self, gradient: X, _: X, slots: [X; 2]) -> (X, [X; 2]) {
        let (update, slots) = self.moments(gradient, slots);
        (update.times(-self.rate), slots)
    }
}

/// With decaying weights.
#[derive(Clone, Copy)]
struct NextDecayed(Next);

impl Rule<2> for NextDecayed {
    #[inline(always)]
    fn next<X: Number>(&self, gradient: X, parameter: X, slots: [X; 2]) -> (X, [X; 2]) {
        let (update, slots) = self.0.moments(gradient, slots);
        ((update + parameter.times(self.0.decay)).times(-self.0.rate), slots)
    }
}

macro_rules! constants {
    () => {
        /// Sets the decay of the mean of the gradients. The default is 0.9.
        pub fn b1(mut self, b1: f64) -> Self {
            self.moments.b1 = b1;
            self
        }

        /// Sets the decay of the mean of their squares. The default is 0.999.
        pub fn b2(mut self, b2: f64) -> Self {
            self.moments.b2 = b2;
            self
        }

        /// Sets what is added to the root. The default is 1e-8.
        pub fn eps(mut self, eps: f64) -> Self {
            self.moments.eps = eps;
            self
        }

        /// Sets what is added below the root. The default is 0.
        pub fn eps_root(mut self, eps_root: f64) -> Self {
            self.moments.eps_root = eps_root;
            self
        }
    };
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

/// Made by [`adam`].
#[derive(Clone, Debug)]
pub struct Adam {
    moments: Moments,
}

impl Adam {
    constants!();

    fn go<L: Trainable>(
        &self,
        mode: Mode,
        step: &mut Step<'_, L>,
        slots: &mut Slots<L>,
    ) -> Result<()> {
        let (count, leaves) = slots.counted("adam", ["mu", "nu"])?;
        mode.run(step, &self.moments.rule(*count, 0.0)?, leaves)?;
        *count += 1;
        Ok(())
    }
}

impl<L: Trainable> Transform<L> for Adam {
    fn slots(&self, place: Place<'_>, parameters: &[L]) -> Result<Slots<L>> {
        self.moments.rule(0, 0.0)?;
        let slots = Slots::new("adam").with_filled("mu", 0.0, place, parameters)?;
        slots.with_filled("nu", 0.0, place, parameters)
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
    AdamW { moments: Moments::new(rate.into()), decay: Decay { rate: 1e-4, only: Vec::new() } }
}

/// Made by [`adamw`].
#[derive(Clone, Debug)]
pub struct AdamW {
    moments: Moments,
    decay: Decay,
}

impl AdamW {
    constants!();

    /// Sets how much of a parameter, times the learning rate, a step takes away. The default is
    /// 1e-4.
    pub fn weight_decay(mut self, rate: f64) -> Self {
        self.decay.rate = rate;
        self
    }

    /// Lets only the leaves decay that the pattern names, or whose shapes pass a test: optax's `mask`. All
    /// leaves are trained. A second call adds those of another mask. For what is usual, matrices and kernels, but
    /// no biases and nothing of norms: `decay_only(|shape: &[usize]| shape.len() > 1)`.
    pub fn decay_only(mut self, mask: impl Into<Mask>) -> Self {
        self.decay.only.push(mask.into());
        self
    }

    fn go<L: Trainable>(
        &self,
        mode: Mode,
        step: &mut Step<'_, L>,
        slots: &mut Slots<L>,
    ) -> Result<()> {
        self.decay.run(mode, step, slots, ("adamw", ["mu", "nu"]), |count, decay| {
            Ok(NextDecayed(self.moments.rule(count, decay)?))
        })
    }
}

impl<L: Trainable> Transform<L> for AdamW {
    fn slots(&self, place: Place<'_>, parameters: &[L]) -> Result<Slots<L>> {
        self.decay.expect_sensible(place, parameters)?;
        self.moments.rule(0, 0.0)?;
        let slots = Slots::new("adamw").with_filled("mu", 0.0, place, parameters)?;
        slots.with_filled("nu", 0.0, place, parameters)
    }

    descends!();
}
