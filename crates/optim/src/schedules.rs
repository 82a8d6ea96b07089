//! Learning rates that change with the number of steps.
//!
//! A schedule is a number, a function, or one of the schedules here. The count of the first step is
//! 0.
//!
//! ```
//! use treedef_optim::schedules::{Schedule, join, linear, warmup_cosine};
//!
//! let rate = warmup_cosine(0.0, 0.1, 10, 100, 0.001);
//! assert_eq!((rate.at(0), rate.at(10), rate.at(100)), (0.0, 0.1, 0.001));
//!
//! let own = Schedule::from(|count: u64| 0.1 / (1.0 + count as f64));
//! let rate = join([linear(0.0, 0.1, 10), own], [10]);
//! assert_eq!((rate.at(5), rate.at(11)), (0.05, 0.05));
//! ```

use std::f64::consts::PI;
use std::fmt;
use std::sync::Arc;

use crate::error::{Error, Result};

/// A learning rate for each count of steps, from a number or a function.
#[derive(Clone)]
pub struct Schedule(Arc<dyn Fn(u64) -> f64 + Send + Sync>);

impl Schedule {
    /// The rate of the step with this count.
    pub fn at(&self, count: u64) -> f64 {
        (self.0)(count)
    }

    /// The rate, if it is valid for descent.
    pub(crate) fn rate(&self, count: u64) -> Result<f64> {
        let rate = self.at(count);
        if rate >= 0.0 && rate.is_finite() {
            return Ok(rate);
        }
        Err(Error::Argument(format!(
            "expected a learning rate of 0 or more, found {rate} at count {count} (to go uphill, negate the loss)"
        )))
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schedule({}, …)", self.at(0))
    }
}

/// The same rate for all steps: optax's `constant_schedule`.
impl From<f64> for Schedule {
    fn from(rate: f64) -> Self {
        Schedule::from(move |_: u64| rate)
    }
}

impl<F: Fn(u64) -> f64 + Send + Sync + 'static> From<F> for Schedule {
    fn from(rate: F) -> Self {
        Schedule(Arc::new(rate))
    }
}

/// From `init` to `end` in `steps` steps, and then `end`: optax's `linear_schedule`.
#[doc(alias = "linear_schedule")]
pub fn linear(init: f64, end: f64, steps: u64) -> Schedule {
    polynomial(init, end, 1.0, steps)
}

/// From `init` to `end` by a power of the remaining part: optax's `polynomial_schedule`.
///
/// Without steps it is always `init`, as in optax.
#[doc(alias = "polynomial_schedule")]
pub fn polynomial(init: f64, end: f64, power: f64, steps: u64) -> Schedule {
    Schedule::from(move |count: u64| {
        if steps == 0 {
            return init;
        }
        let left = 1.0 - ratio(count.min(steps), steps);
        (init - end) * left.powf(power) + end
    })
}

/// Half a wave of a cosine from `init` to `alpha * init`: optax's `cosine_decay_schedule`.
///
/// Without steps, which optax refuses, it is always at its end.
#[doc(alias = "cosine_decay_schedule")]
pub fn cosine_decay(init: f64, steps: u64, alpha: f64) -> Schedule {
    Schedule::from(move |count: u64| {
        let wave = 0.5 * (1.0 + (PI * ratio(count.min(steps), steps)).cos());
        init * ((1.0 - alpha) * wave + alpha)
    })
}

/// `init * rate ^ (count / steps)`: optax's `exponential_decay` with its defaults.
///
/// Without steps, or with a rate of zero, it is always `init`, as in optax.
pub fn exponential_decay(init: f64, steps: u64, rate: f64) -> Schedule {
    Schedule::from(move |count: u64| {
        if steps == 0 || rate == 0.0 { init } else { init * rate.powf(ratio(count, steps)) }
    })
}

/// Linear from `init` to `peak` in `warmup` steps, then a cosine to `end`; `steps` counts both parts:
/// optax's `warmup_cosine_decay_schedule`.
///
/// If no steps follow the warm-up, which optax refuses, the rate falls from `peak` to `end` at once.
#[doc(alias = "warmup_cosine_decay_schedule")]
pub fn warmup_cosine(init: f64, peak: f64, warmup: u64, steps: u64, end: f64) -> Schedule {
    let alpha = if peak == 0.0 { 0.0 } else { end / peak };
    let decay = cosine_decay(peak, steps.saturating_sub(warmup), alpha);
    join([linear(init, peak, warmup), decay], [warmup])
}

/// `init`, multiplied by a factor at each of some counts: optax's `piecewise_constant_schedule`.
///
/// ```
/// use treedef_optim::schedules::piecewise_constant;
///
/// let rate = piecewise_constant(1.0, [(100, 0.5), (200, 0.1)]);
/// assert_eq!((rate.at(99), rate.at(100), rate.at(200)), (1.0, 0.5, 0.05));
/// ```
#[doc(alias = "piecewise_constant_schedule")]
pub fn piecewise_constant(init: f64, factors: impl IntoIterator<Item = (u64, f64)>) -> Schedule {
    let factors: Vec<(u64, f64)> = factors.into_iter().collect();
    Schedule::from(move |count: u64| {
        let begun = factors.iter().filter(|(step, _)| count >= *step);
        begun.fold(init, |rate, (_, factor)| rate * factor)
    })
}

/// One cycle with a cosine: from `peak / 25` to `peak` in the first 30 % of the steps, then down to `peak / 250_000`: optax's
/// `cosine_onecycle_schedule` with its defaults. L. N. Smith and N. Topin, *Super-Convergence*, 2017.
///
/// ```
/// use treedef_optim::schedules::cosine_onecycle;
///
/// let rate = cosine_onecycle(100, 0.5);
/// assert_eq!((rate.at(0), rate.at(30), rate.at(100)), (0.02, 0.5, 2e-6));
/// ```
#[doc(alias = "cosine_onecycle_schedule")]
pub fn cosine_onecycle(steps: u64, peak: f64) -> Schedule {
    let bend = |from: f64, to: f64, steps: u64| {
        Schedule::from(move |count: u64| {
            let done = 0.5 * (1.0 - (PI * ratio(count.min(steps), steps)).cos());
            from * (1.0 - done) + to * done
        })
    };
    let top = share(0.3, steps);
    let (first, last) = (peak / 25.0, peak / 25.0 / 1e4);
    join([bend(first, peak, top), bend(peak, last, steps - top)], [top])
}

/// One cycle in straight lines: from `peak / 25` to `peak` in the first 30 % of the steps, back until 85 %, then down to
/// `peak / 250_000`: optax's `linear_onecycle_schedule` with its defaults.
///
/// ```
/// use treedef_optim::schedules::linear_onecycle;
///
/// let rate = linear_onecycle(100, 0.5);
/// assert_eq!((rate.at(30), rate.at(85), rate.at(100)), (0.5, 0.02, 2e-6));
/// ```
#[doc(alias = "linear_onecycle_schedule")]
pub fn linear_onecycle(steps: u64, peak: f64) -> Schedule {
    let [top, bottom] = [0.3, 0.85].map(|part| share(part, steps));
    let (first, last) = (peak / 25.0, peak / 25.0 / 1e4);
    let lines = [
        linear(first, peak, top),
        linear(peak, first, bottom - top),
        linear(first, last, steps - bottom),
    ];
    join(lines, [top, bottom])
}

/// One schedule after another. Each counts from its boundary: optax's `join_schedules`.
///
/// The last one has no end. A schedule without a boundary before it is never reached.
#[doc(alias = "join_schedules")]
pub fn join(
    schedules: impl IntoIterator<Item = Schedule>,
    boundaries: impl IntoIterator<Item = u64>,
) -> Schedule {
    let mut schedules = schedules.into_iter();
    let first = schedules.next().unwrap_or_else(|| Schedule::from(0.0));
    let later: Vec<(u64, Schedule)> = boundaries.into_iter().zip(schedules).collect();
    Schedule::from(move |count: u64| {
        let begun = later.iter().rev().find(|(boundary, _)| count >= *boundary);
        begun.map_or_else(|| first.at(count), |(boundary, schedule)| schedule.at(count - boundary))
    })
}

/// A part of the steps, rounded down.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most all steps")]
fn share(part: f64, steps: u64) -> u64 {
    ((part * steps as f64) as u64).min(steps)
}

/// The completed part of the steps. Counts beyond 2⁵³ are rounded.
fn ratio(count: u64, steps: u64) -> f64 {
    if steps == 0 { 1.0 } else { count as f64 / steps as f64 }
}
