//! LAMB.

use super::adam::AdamWStep;
use super::decay::{Decay, decays};
use super::mode::{Mode, descends};
use super::moments::{Moments, SLOTS, constants};
use crate::error::Result;
use crate::leaf::Trainable;
use crate::schedules::Schedule;
use crate::transform::{Scope, Slots, Step, Transform, norm, scale};

/// Adam for large batches: optax's `lamb`. The step of each array is as long as the rate times the norm of the array. If that
/// norm or the norm of Adam's update is zero, the step is Adam's.
///
/// An array is a leaf; of plain numbers, all of a `Vec`, an array or a tuple are one, and a
/// field that is a number is one for itself. Y. You et al., *Large Batch Optimization for Deep Learning*, 2019.
///
/// ```
/// use treedef_optim::{Optimiser, lamb};
///
/// let mut state = lamb(0.1).init::<f64, _>(&[3.0, 4.0])?;
/// let model = lamb(0.1).step([3.0f64, 4.0], [7.0, 7.0], &mut state)?;
/// // Adam's update is (1, 1), and the norm of the array is 5.
/// assert!((model[0] - (3.0 - 0.1 * 5.0 / 2f64.sqrt())).abs() < 1e-6);
/// # Ok::<(), treedef_optim::Error>(())
/// ```
pub fn lamb(rate: impl Into<Schedule>) -> Lamb {
    let moments = Moments { eps: 1e-6, ..Moments::new(rate.into()) };
    Lamb { moments, decay: Decay::with_default(0.0) }
}

/// Adam for large batches: made by [`lamb`]. Methods change its settings.
#[derive(Clone, Debug)]
pub struct Lamb {
    moments: Moments,
    decay: Decay,
}

const NAME: &str = "lamb";

impl Lamb {
    constants!(eps: "1e-6", eps_root: "0");
    decays!("a parameter that is added to Adam's update. The default is 0");

    fn go<L: Trainable>(
        &self,
        mode: Mode,
        step: &mut Step<'_, L>,
        slots: &mut Slots<L>,
    ) -> Result<()> {
        let rate = self.moments.rate.rate(slots.count)?;
        let update = if mode == Mode::Check { mode } else { Mode::Update };
        self.decay.run(update, step, slots, (NAME, SLOTS), |count, decay| {
            Ok(AdamWStep(self.moments.rule(count, decay)?.with_rate(1.0)))
        })?;
        for block in &slots.blocks(step)?.all {
            let mut step = step.among(&block.ranges);
            let (length, moved) =
                (norm(step.scope, step.parameters)?, norm(step.scope, step.updates)?);
            let trust = if length == 0.0 || moved == 0.0 { 1.0 } else { length / moved };
            mode.run(&mut step, &scale(trust * rate), [])?;
        }
        Ok(())
    }
}

impl<L: Trainable> Transform<L> for Lamb {
    fn slots(&self, scope: Scope<'_>, parameters: &[L]) -> Result<Slots<L>> {
        self.decay.expect_sensible(scope, parameters)?;
        self.moments.rule(0, 0.0)?;
        Moments::slots(NAME, scope, parameters)
    }

    descends!();
}
