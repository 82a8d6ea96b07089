//! The modes of a step: it changes the updates or the parameters, or only checks.

use crate::error::Result;
use crate::leaf::Trainable;
use crate::number::Rule;
use crate::transform::{Slots, Step};

/// The common part of optimisers: `go` runs the rule of a step in a mode.
macro_rules! descends {
    () => {
        fn update(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
            self.go(Mode::Update, step, slots)
        }

        fn descend(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
            self.go(Mode::Descend, step, slots)
        }

        fn check(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
            self.go(Mode::Check, step, slots)
        }

        fn is_descent(&self) -> bool {
            true
        }
    };
}
pub(super) use descends;

/// Runs the rule of a step: it changes nothing, changes the updates, or moves the parameters.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Mode {
    Check,
    Update,
    Descend,
}

impl Mode {
    pub(super) fn run<L: Trainable, Q: Rule<S>, const S: usize>(
        self,
        step: &mut Step<'_, L>,
        rule: &Q,
        slots: [&mut [L]; S],
    ) -> Result<()> {
        match self {
            Mode::Check => Ok(()),
            Mode::Update => step.update(rule, slots),
            Mode::Descend => step.descend(rule, slots),
        }
    }

    /// Counts the step.
    pub(super) fn count(self, count: &mut u64) {
        if self != Mode::Check {
            *count += 1;
        }
    }

    /// The same, with a rule that depends on the count and on the slots of these names. Counts the
    /// step.
    pub(super) fn run_counted<L: Trainable, Q: Rule<S>, const S: usize>(
        self,
        step: &mut Step<'_, L>,
        slots: &mut Slots<L>,
        (name, leaves): (&'static str, [&'static str; S]),
        rule: impl FnOnce(u64) -> Result<Q>,
    ) -> Result<()> {
        let (count, leaves) = slots.counted(name, leaves)?;
        self.run(step, &rule(*count)?, leaves)?;
        self.count(count);
        Ok(())
    }
}
