//! The derivative of a function of one number by differences.

use crate::error::Result;

/// A derivative by differences.
#[derive(Clone, Copy, Debug)]
pub(super) struct Derivative {
    pub(super) value: f64,
    /// The estimated error.
    pub(super) error: f64,
}

impl Derivative {
    const UNKNOWN: Self = Derivative { value: f64::NAN, error: f64::INFINITY };

    /// The difference to another derivative beyond the uncertainty, relative to the larger.
    pub(super) fn error_of(self, found: f64) -> f64 {
        let (difference, size) = ((found - self.value).abs(), found.abs().max(self.value.abs()));
        match (difference - self.error).max(0.0) / size {
            // NaN is worse than everything else.
            _ if !found.is_finite() || !self.value.is_finite() => f64::INFINITY,
            _ if difference <= self.error => 0.0,
            error => error,
        }
    }

    /// Whether the other derivative may be correct, and could also be so with the opposite sign.
    pub(super) fn cannot_tell(self, found: f64) -> bool {
        let is_right = (found - self.value).abs() <= self.error;
        found != 0.0 && is_right && (-found - self.value).abs() <= self.error
    }

    /// Whether the error is at most this fraction of it.
    fn is_within(self, part: f64) -> bool {
        self.error <= part * self.value.abs()
    }
}

/// Each step is a fourth of the one before.
const RATIO: f64 = 4.0;

/// The maximum number of steps from one beginning. The last is 10⁻¹³ of the first.
const MOST_STEPS: usize = 22;

/// The maximum number of steps that are extrapolated together.
const TOGETHER: usize = 5;

/// If this many losses are equal from the first step on, the loss does not depend on the number.
const EQUAL: usize = 4;

/// After this many steps that only add noise, no smaller one is tried: it could seem exact by
/// chance.
const WORSE: usize = 3;

/// The maximum relative error of a derivative that is reported.
const TOLD: f64 = 1e-3;

/// The values of a function with a number moved up and down: the moved numbers, each with the loss.
type Moved = [(f64, f64); 2];

/// The derivative at a number of this precision. Returns an error if each step fails.
pub(super) fn derivative(
    number: f64,
    precision: f64,
    moved: impl FnMut(f64) -> Result<Moved>,
) -> Result<Derivative> {
    let size = number.abs();
    let mut search =
        Search { moved, precision, rounding: 0.0, best: Derivative::UNKNOWN, refused: None };
    if size > 0.0 {
        search.descend(size / 8.0);
    }
    if !search.best.is_within(precision.powf(2.0 / 3.0)) {
        search.descend(RATIO * precision.cbrt() * size.max(1.0));
    }
    if !search.best.is_within(TOLD) {
        search.descend(size.max(1.0) / 8.0);
    }
    match search.refused {
        Some(error) if search.best.value.is_nan() => Err(error),
        _ => Ok(search.best),
    }
}

struct Search<F> {
    moved: F,
    precision: f64,
    /// The relative rounding error of the losses. If all are `f32` numbers, they were probably rounded to
    /// `f32`.
    rounding: f64,
    best: Derivative,
    /// The first error.
    refused: Option<crate::error::Error>,
}

impl<F: FnMut(f64) -> Result<Moved>> Search<F> {
    /// Tries smaller and smaller steps, until the derivative is as exact as possible. If the loss is not
    /// smooth or has another scale, larger steps give wrong results, which smaller ones do not confirm.
    fn descend(&mut self, first: f64) {
        let (mut step, mut before): (f64, Vec<f64>) = (first, Vec::new());
        let (mut largest, mut equal, mut worse) = (0.0f64, 0, 0);
        for _ in 0..MOST_STEPS {
            match self.slope(step) {
                // Equal losses give no information if the losses of a larger step differ.
                Some((slope, _)) if slope == 0.0 && equal == 0 && !before.is_empty() => {
                    before.clear();
                }
                Some((slope, size)) => {
                    equal = if slope == 0.0 { equal + 1 } else { 0 };
                    largest = largest.max(size);
                    let rounding = 2.0 * self.rounding * largest / step;
                    let error = self.best.error;
                    before = self.extrapolate(slope, &before, rounding);
                    worse = if self.best.error < error { 0 } else { worse + 1 };
                    let is_noise = worse >= WORSE && self.best.is_within(TOLD);
                    let is_exact = self.best.is_within(self.rounding.powf(2.0 / 3.0));
                    if equal == EQUAL || is_noise || before.len() > 2 && is_exact {
                        return;
                    }
                }
                None => before.clear(),
            }
            step /= RATIO;
        }
    }

    /// The slope of a step, and the larger loss. `None` if it gives no information.
    fn slope(&mut self, step: f64) -> Option<(f64, f64)> {
        match (self.moved)(step) {
            Ok([(above, high), (below, low)]) => {
                #[allow(
                    clippy::cast_possible_truncation,
                    reason = "whether it changes is the question"
                )]
                let is_narrow = |loss: f64| f64::from(loss as f32) == loss;
                let seems = if is_narrow(high) && is_narrow(low) {
                    f64::from(f32::EPSILON)
                } else {
                    f64::EPSILON
                };
                self.rounding = if self.rounding == 0.0 { seems } else { self.rounding.min(seems) };
                let slope = (high - low) / (above - below);
                slope.is_finite().then(|| (slope, high.abs().max(low.abs())))
            }
            Err(error) => {
                self.refused.get_or_insert(error);
                None
            }
        }
    }

    /// The derivatives by this step and larger ones, from the derivatives by the previous step and larger
    /// ones. Each eliminated power of the step leaves a smaller error, unless the losses are not smooth or
    /// are rounded.
    fn extrapolate(&mut self, slope: f64, before: &[f64], rounding: f64) -> Vec<f64> {
        let (mut row, mut power, mut last) = (vec![slope], 1.0, slope);
        for other in before.iter().take(TOGETHER - 1) {
            power *= RATIO * RATIO;
            let next = (power * last - other) / (power - 1.0);
            let apart = (next - last).abs().max((next - other).abs());
            // If a loss is rounded, two slopes may be equal by chance.
            let chance = if row.len() == 1 { next.abs() } else { 0.0 };
            let error = 2.0 * apart + rounding + self.precision * next.abs() + chance;
            if error < self.best.error {
                self.best = Derivative { value: next, error };
            }
            row.push(next);
            last = next;
        }
        row
    }
}
