//! Optimisers: transforms that end with a learning rate.
//!
//! They have the names, the defaults and the meaning that they have in optax 0.2.8. A learning rate is a
//! number or a [schedule](crate::schedules). What differs is said where it does.

/// What all of them do alike: `go` runs the rule of a step in a mode.
macro_rules! descends {
    () => {
        fn update(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
            self.go(Mode::Update, step, slots)
        }

        fn descend(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
            self.go(Mode::Descend, step, slots)
        }

        fn is_descent(&self) -> bool {
            true
        }
    };
}

mod adagrad;
mod adam;
mod lion;
mod rmsprop;
mod sgd;

pub use adagrad::{AdaGrad, adagrad};
pub use adam::{Adam, AdamW, adam, adamw};
pub use lion::{Lion, lion};
pub use rmsprop::{RmsProp, rmsprop};
pub use sgd::{Sgd, sgd};

use crate::error::Result;
use crate::leaf::Leaf;
use crate::number::Rule;
use crate::transform::{Selection, Slots, Step};

/// Runs a rule in a step: one that changes the updates, or one that moves the parameters.
#[derive(Clone, Copy)]
enum Mode {
    Update,
    Descend,
}

impl Mode {
    fn run<L: Leaf, Q: Rule<S>, const S: usize>(
        self,
        step: &mut Step<'_, L>,
        rule: &Q,
        slots: [&mut [L]; S],
    ) -> Result<()> {
        match self {
            Mode::Update => step.update(rule, slots),
            Mode::Descend => step.descend(rule, slots),
        }
    }
}

/// Which weights decay, and how fast.
#[derive(Clone, Debug)]
struct Decay {
    rate: f64,
    /// The patterns of the leaves that decay. Without one, all do.
    only: Vec<String>,
}

impl Decay {
    /// Runs a rule with this decay, and without it where no weight decays.
    fn run<L: Leaf, Q: Rule<S>, const S: usize>(
        &self,
        mode: Mode,
        step: &mut Step<'_, L>,
        slots: &mut Slots<L>,
        (name, leaves): (&'static str, [&'static str; S]),
        rule: impl Fn(u64, f64) -> Q,
    ) -> Result<()> {
        if self.only.is_empty() {
            let (count, found) = slots.counted(name, leaves)?;
            mode.run(step, &rule(*count, self.rate), found)?;
            *count += 1;
            return Ok(());
        }
        let selection = Selection::taken(&mut slots.selection, step.place, &self.only)?;
        let (count, mut found) = slots.counted(name, leaves)?;
        let decayed = found.each_mut().map(|leaves| &mut **leaves);
        mode.run(&mut step.among(&selection.inside), &rule(*count, self.rate), decayed)?;
        mode.run(&mut step.among(&selection.outside), &rule(*count, 0.0), found)?;
        *count += 1;
        slots.selection = Some(selection);
        Ok(())
    }
}
