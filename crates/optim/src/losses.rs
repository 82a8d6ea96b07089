//! Losses for numbers, and for duals of any order: the losses of `optax.losses` that need more than a line.
//!
//! Each is for one prediction, or for one row of scores; take the sum or the mean yourself. They are exact where the formula is
//! not: for large scores, and near zero.
//!
//! ```
//! use num_dual::Dual64;
//! use serde::{Deserialize, Serialize};
//! use treedef_optim::{dual, losses};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Line<T> { slope: T, offset: T }
//!
//! // The last point is an outlier.
//! let data = [(0.0, 1.0), (1.0, 3.0), (2.0, 95.0)];
//! let loss = |line: &Line<Dual64>| -> Dual64 {
//!     let errors = data.iter().map(|(x, y)| line.slope * *x + line.offset - *y);
//!     errors.map(|error| losses::huber_loss(error, 1.0)).sum()
//! };
//! let (value, gradient) = dual::value_and_grad(loss, &Line { slope: 2.0, offset: 1.0 })?;
//! assert_eq!((value, gradient.slope, gradient.offset), (89.5, -2.0, -1.0));
//! # Ok::<(), treedef_optim::Error>(())
//! ```
//!
//! Others are one line: `l2_loss` is `0.5 * error.powi(2)`, and `hinge_loss` the larger of 0 and `1 - score * label`.

use num_dual::{DualNum, DualNumFloat};

/// The square of an error near zero, and its absolute value beyond `delta`: optax's `huber_loss`. Outliers pull no harder than
/// an error of `delta`.
///
/// ```
/// use treedef_optim::losses::huber_loss;
///
/// assert_eq!((huber_loss(0.5, 1.0), huber_loss(-3.0, 1.0)), (0.125, 2.5));
/// ```
pub fn huber_loss<T: DualNum>(error: T, delta: T::Primitive) -> T {
    let size = error.abs();
    if size <= delta {
        error.clone() * error * T::Primitive::HALF
    } else {
        (size - delta * T::Primitive::HALF) * delta
    }
}

/// The logarithm of the hyperbolic cosine, a smooth [`huber_loss`]: optax's `log_cosh`.
///
/// ```
/// use treedef_optim::losses::log_cosh;
///
/// // By the formula, both would be lost.
/// assert_eq!(log_cosh(1e4), 1e4 - 2f64.ln());
/// assert!((log_cosh(1e-10f64) / 5e-21 - 1.0).abs() < 1e-15);
/// ```
pub fn log_cosh<T: DualNum>(error: T) -> T {
    let size = error.abs();
    if size <= T::one() {
        let half = (error * T::Primitive::HALF).sinh();
        return (half.clone() * half * T::Primitive::TWO).ln_1p();
    }
    (size.clone() * -T::Primitive::TWO).exp().ln_1p() + size - T::Primitive::TWO.ln()
}

/// The negative log-likelihood of a label from 0 to 1, where a score is the logarithm of the odds: optax's
/// `sigmoid_binary_cross_entropy`.
///
/// ```
/// use treedef_optim::losses::sigmoid_binary_cross_entropy;
///
/// assert_eq!(sigmoid_binary_cross_entropy(0.0, 1.0), 2f64.ln());
/// assert_eq!(sigmoid_binary_cross_entropy(800.0, 0.0), 800.0);
/// ```
pub fn sigmoid_binary_cross_entropy<T: DualNum>(score: T, label: T::Primitive) -> T {
    let (zero, other) = (T::zero().re(), T::one().re() - label);
    // The other loss may be infinite, and zero times that is NaN.
    if label == zero {
        softplus(score)
    } else if other == zero {
        softplus(-score)
    } else {
        softplus(-score.clone()) * label + softplus(score) * other
    }
}

/// `ln(1 + exp(x))`.
fn softplus<T: DualNum>(x: T) -> T {
    if x > T::zero() { (-x.clone()).exp().ln_1p() + x } else { x.exp().ln_1p() }
}

/// The logarithms of the probabilities of some classes, from their scores: `jax.nn.log_softmax`.
///
/// So `-log_softmax(&scores)[label]` is optax's `softmax_cross_entropy_with_integer_labels`; its `softmax_cross_entropy` is the sum
/// of these, each times the probability in the label.
///
/// ```
/// use treedef_optim::losses::log_softmax;
///
/// let scores = [1000.0, 1000.0, 0.0];
/// assert_eq!(-log_softmax(&scores)[1], 2f64.ln());
/// ```
#[doc(alias = "softmax_cross_entropy")]
#[doc(alias = "softmax_cross_entropy_with_integer_labels")]
pub fn log_softmax<T: DualNum>(scores: &[T]) -> Vec<T> {
    let larger = |top: usize, at: usize| match (scores.get(top), scores.get(at)) {
        (Some(highest), Some(score)) if score > highest => at,
        _ => top,
    };
    let top = (0..scores.len()).fold(0, larger);
    let Some(highest) = scores.get(top) else { return Vec::new() };
    let below: Vec<T> = scores.iter().map(|score| score.clone() - highest).collect();
    // The highest is 1 in the sum.
    let others = below.iter().enumerate().filter(|(at, _)| *at != top);
    let sum = others.map(|(_, score)| score.exp()).sum::<T>().ln_1p();
    below.into_iter().map(|score| score - &sum).collect()
}
