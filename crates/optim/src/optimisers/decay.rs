//! The decay of weights.

use super::mode::Mode;
use crate::argument::expect_at_least_zero;
use crate::error::Result;
use crate::leaf::Trainable;
use crate::number::Rule;
use crate::transform::{DECAY, Mask, Place, Selection, Slots, Step};

/// Which weights decay, and how fast.
#[derive(Clone, Debug)]
pub(super) struct Decay {
    pub(super) rate: f64,
    /// The leaves that decay. Without a mask, all do.
    pub(super) only: Vec<Mask>,
}

impl Decay {
    pub(super) fn expect_sensible<L: Trainable>(
        &self,
        place: Place<'_>,
        parameters: &[L],
    ) -> Result<()> {
        expect_at_least_zero(DECAY, self.rate)?;
        Selection::of(place, &self.only, parameters).map(drop)
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
        expect_at_least_zero(DECAY, self.rate)?;
        if self.only.is_empty() {
            return mode.run_counted(step, slots, (name, leaves), |count| rule(count, self.rate));
        }
        let kept = slots.selection.take().filter(|kept| kept.is_of(step.place, &self.only));
        let make = || Selection::of(step.place, &self.only, step.parameters);
        let selection = kept.map_or_else(make, Ok)?;
        let (count, mut found) = slots.counted(name, leaves)?;
        let decayed = found.each_mut().map(|leaves| &mut **leaves);
        mode.run(&mut step.among(&selection.inside), &rule(*count, self.rate)?, decayed)?;
        mode.run(&mut step.among(&selection.outside), &rule(*count, 0.0)?, found)?;
        *count += 1;
        slots.selection = Some(selection);
        Ok(())
    }
}

/// Setters of the decay.
macro_rules! decays {
    ($part:literal) => {
        #[doc = concat!("Sets the part of ", $part, ".")]
        pub fn weight_decay(mut self, rate: f64) -> Self {
            self.decay.rate = rate;
            self
        }

        /// Restricts the decay to the leaves that the pattern matches, or whose shapes pass a test: optax's
        /// `mask`. All leaves are trained. A second call adds another mask. For the usual choice, matrices and
        /// kernels but no biases and norms, use `decay_only(|shape: &[usize]| shape.len() > 1)`.
        /// It chooses only where: how much is the `weight_decay`, without which nothing decays if its default is 0.
        pub fn decay_only(mut self, mask: impl Into<crate::transform::Mask>) -> Self {
            self.decay.only.push(mask.into());
            self
        }
    };
}
pub(super) use decays;
