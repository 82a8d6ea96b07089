//! The moments of Adam and its kin: moving averages of the gradients, and of their squares.

use crate::argument::{expect_at_least_zero, expect_decay};
use crate::error::Result;
use crate::leaf::Trainable;
use crate::number::{Number, Rule, mean};
use crate::schedules::Schedule;
use crate::transform::{Scope, Slots, correction};

/// The names of the moments in a state.
pub(super) const SLOTS: [&str; 2] = ["mu", "nu"];

/// The constants of an optimiser with moments.
#[derive(Clone, Debug)]
pub(super) struct Moments {
    pub(super) rate: Schedule,
    pub(super) b1: f64,
    pub(super) b2: f64,
    pub(super) eps: f64,
    pub(super) eps_root: f64,
}

impl Moments {
    pub(super) fn new(rate: Schedule) -> Self {
        Moments { rate, b1: 0.9, b2: 0.999, eps: 1e-8, eps_root: 0.0 }
    }

    /// Both moments of each leaf, before the first step.
    pub(super) fn slots<L: Trainable>(
        transform: &'static str,
        scope: Scope<'_>,
        parameters: &[L],
    ) -> Result<Slots<L>> {
        SLOTS.into_iter().try_fold(Slots::new(transform), |slots, name| {
            slots.with_filled(name, 0.0, scope, parameters)
        })
    }

    /// The rule of a step, if its numbers make sense.
    pub(super) fn rule(&self, count: u64, decay: f64) -> Result<AdamStep> {
        expect_decay("`b1`", self.b1)?;
        expect_decay("`b2`", self.b2)?;
        expect_at_least_zero("an eps", self.eps)?;
        expect_at_least_zero("an eps_root", self.eps_root)?;
        Ok(AdamStep {
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

/// The step of Adam.
#[derive(Clone, Copy)]
pub(super) struct AdamStep {
    pub(super) rate: f64,
    pub(super) b1: f64,
    pub(super) b2: f64,
    pub(super) eps: f64,
    pub(super) eps_root: f64,
    pub(super) first: f64,
    pub(super) second: f64,
    pub(super) decay: f64,
}

impl AdamStep {
    pub(super) fn with_rate(self, rate: f64) -> Self {
        AdamStep { rate, ..self }
    }

    /// The mean of the gradients, and of their squares.
    #[inline(always)]
    pub(super) fn means<X: Number>(&self, gradient: X, [mu, nu]: [X; 2]) -> [X; 2] {
        let mu = mean(gradient.clone(), mu, self.b1);
        [mu, mean(gradient.clone() * gradient, nu, self.b2)]
    }

    #[inline(always)]
    pub(super) fn moments<X: Number>(&self, gradient: X, slots: [X; 2]) -> (X, [X; 2]) {
        let [mu, nu] = self.means(gradient, slots);
        let square = nu.clone().times(self.second);
        let square = if self.eps_root == 0.0 { square } else { square.plus(self.eps_root) };
        (mu.clone().times(self.first) / square.sqrt().plus(self.eps), [mu, nu])
    }
}

impl Rule<2> for AdamStep {
    #[inline(always)]
    fn next<X: Number>(&self, gradient: X, _: X, slots: [X; 2]) -> (X, [X; 2]) {
        let (update, slots) = self.moments(gradient, slots);
        (update.times(-self.rate), slots)
    }
}

/// Setters of the constants.
macro_rules! constants {
    (eps: $eps:literal, eps_root: $eps_root:literal) => {
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

        #[doc = concat!("Sets the number that is added to the root. The default is ", $eps, ".")]
        pub fn eps(mut self, eps: f64) -> Self {
            self.moments.eps = eps;
            self
        }

        #[doc = concat!("Sets the number that is added below the root. The default is ", $eps_root, ".")]
        pub fn eps_root(mut self, eps_root: f64) -> Self {
            self.moments.eps_root = eps_root;
            self
        }
    };
}
pub(super) use constants;
