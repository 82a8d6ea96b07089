//! The decay of weights.

use super::mode::Mode;
use crate::argument::expect_at_least_zero;
use crate::error::{Error, Result};
use crate::leaf::Trainable;
use crate::number::Rule;
use crate::transform::{DECAY, Mask, Scope, Selection, Slots, Step, joined};

/// Which weights decay, and how fast.
#[derive(Clone, Debug)]
pub(super) struct Decay {
    rate: f64,
    /// Whether the rate was set.
    is_set: bool,
    /// The leaves that decay. Without a mask, all do.
    only: Vec<Mask>,
}

impl Decay {
    pub(super) fn with_default(rate: f64) -> Self {
        Decay { rate, is_set: false, only: Vec::new() }
    }

    pub(super) fn set(&mut self, rate: f64) {
        (self.rate, self.is_set) = (rate, true);
    }

    pub(super) fn add(&mut self, mask: Mask) {
        self.only.push(mask);
    }

    fn expect_rate(&self) -> Result<()> {
        if self.rate == 0.0 && !self.is_set && !self.only.is_empty() {
            let only = joined(&self.only);
            let message =
                format!("`decay_only` names `{only}`, but without `weight_decay` nothing decays");
            return Err(Error::Argument(message));
        }
        expect_at_least_zero(DECAY, self.rate)
    }

    pub(super) fn expect_sensible<L: Trainable>(
        &self,
        scope: Scope<'_>,
        parameters: &[L],
    ) -> Result<()> {
        self.expect_rate()?;
        Selection::of(scope, &self.only, parameters).map(drop)
    }

    /// Runs a rule with this decay, and without it where no weight decays.
    pub(super) fn run<L: Trainable, Q: Rule<S>, const S: usize>(
        &self,
        mode: Mode,
        step: &mut Step<'_, L>,
        slots: &mut Slots<L>,
        (name, leaves): (&'static str, [&'static str; S]),
        rule: impl Fn(u64, f64) -> Result<Q>,
    ) -> Result<()> {
        self.expect_rate()?;
        if self.only.is_empty() {
            return mode.run_counted(step, slots, (name, leaves), |count| rule(count, self.rate));
        }
        let is_kept = |kept: &Selection| kept.is_of(step.scope, &self.only, step.parameters);
        let kept = slots.selection.take().filter(is_kept);
        let make = || Selection::of(step.scope, &self.only, step.parameters);
        let selection = kept.map_or_else(make, Ok)?;
        let (count, mut found) = slots.counted(name, leaves)?;
        let decayed = found.each_mut().map(|leaves| &mut **leaves);
        mode.run(&mut step.among(&selection.inside), &rule(*count, self.rate)?, decayed)?;
        mode.run(&mut step.among(&selection.outside), &rule(*count, 0.0)?, found)?;
        mode.count(count);
        slots.selection = Some(selection);
        Ok(())
    }
}

/// Setters of the decay.
macro_rules! decays {
    ($part:literal) => {
        #[doc = concat!("Sets the part of ", $part, ".")]
        pub fn weight_decay(mut self, rate: f64) -> Self {
            self.decay.set(rate);
            self
        }

        /// Restricts the decay to the leaves that the pattern matches, or whose shapes pass a test: optax's
        /// `mask`. All leaves are trained. A second call adds another mask. For the usual choice, matrices and
        /// kernels but no biases and norms, use `decay_only(|shape: &[usize]| shape.len() > 1)`.
        /// It chooses only where: how much is the `weight_decay`. If its default is 0, it must be set, too.
        pub fn decay_only(mut self, mask: impl Into<crate::transform::Mask>) -> Self {
            self.decay.add(mask.into());
            self
        }
    };
}
pub(super) use decays;
