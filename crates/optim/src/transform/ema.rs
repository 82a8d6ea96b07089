//! Moving averages of updates.

use super::{Number, Rule, Scope, Slots, Step, Transform};
use crate::argument::expect_decay;
use crate::error::Result;
use crate::leaf::Trainable;
use crate::number::mean;

/// The moving average of the updates: optax's `ema`, which corrects the bias of the zeros at the
/// beginning.
///
/// For the moving average of the *parameters*, see
/// [`incremental_update`](crate::tree::incremental_update).
///
/// ```
/// use treedef_optim::{Optimiser, transform::ema};
///
/// let mut state = ema(0.9).init::<f64, _>(&0.0)?;
/// let first = ema(0.9).step(0.0f64, 1.0, &mut state)?;
/// assert!((first - 1.0).abs() < 1e-15);
/// # Ok::<(), treedef_optim::Error>(())
/// ```
pub fn ema(decay: f64) -> Ema {
    Ema { decay, debias: true }
}

/// Replaces the updates by their moving average: made by [`ema`].
#[derive(Clone, Debug)]
pub struct Ema {
    decay: f64,
    debias: bool,
}

impl Ema {
    /// Sets whether the bias of the zeros at the beginning is corrected. The default is `true`.
    pub fn debias(mut self, yes: bool) -> Self {
        self.debias = yes;
        self
    }
}

impl<L: Trainable> Transform<L> for Ema {
    fn slots(&self, scope: Scope<'_>, parameters: &[L]) -> Result<Slots<L>> {
        expect_decay("the decay of `ema`", self.decay)?;
        Slots::new("ema").with_filled("ema", 0.0, scope, parameters)
    }

    fn update(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        expect_decay("the decay of `ema`", self.decay)?;
        let (count, leaves) = slots.counted("ema", ["ema"])?;
        let correction = if self.debias { correction(self.decay, *count + 1) } else { 1.0 };
        step.update(&Average { decay: self.decay, correction }, leaves)?;
        *count += 1;
        Ok(())
    }

    fn check(&self, _: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        expect_decay("the decay of `ema`", self.decay)?;
        slots.leaves("ema", ["ema"]).map(drop)
    }
}

/// The divisor of a moving average that started at zero.
pub(crate) fn correction(decay: f64, count: u64) -> f64 {
    // After that many steps, the correction is 1.
    1.0 - decay.powi(i32::try_from(count).unwrap_or(i32::MAX))
}

#[derive(Clone, Copy)]
struct Average {
    decay: f64,
    correction: f64,
}

impl Rule<1> for Average {
    #[inline(always)]
    fn next<X: Number>(&self, gradient: X, _: X, [average]: [X; 1]) -> (X, [X; 1]) {
        let average = mean(gradient, average, self.decay);
        (average.clone().times(1.0 / self.correction), [average])
    }
}
