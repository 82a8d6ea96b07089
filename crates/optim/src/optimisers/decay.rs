//! The decay of weights.

use super::mode::Mode;
use crate::error::Result;
use crate::leaf::Leaf;
use crate::number::Rule;
use crate::transform::{Selection, Slots, Step};

/// Which weights decay, and how fast.
#[derive(Clone, Debug)]
pub(super) struct Decay {
    pub(super) rate: f64,
    /// The patterns of the leaves that decay. Without one, all do.
    pub(super) only: Vec<String>,
}

impl Decay {
    /// Runs a rule with this decay, and without it where no weight decays.
    pub(super) fn run<L: Leaf, Q: Rule<S>, const S: usize>(
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
        let kept = slots.selection.take().filter(|kept| kept.is_of(step.place, &self.only));
        let selection = kept.map_or_else(|| Selection::of(step.place, &self.only), Ok)?;
        let (count, mut found) = slots.counted(name, leaves)?;
        let decayed = found.each_mut().map(|leaves| &mut **leaves);
        mode.run(&mut step.among(&selection.inside), &rule(*count, self.rate), decayed)?;
        mode.run(&mut step.among(&selection.outside), &rule(*count, 0.0), found)?;
        *count += 1;
        slots.selection = Some(selection);
        Ok(())
    }
}
