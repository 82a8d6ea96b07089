//! Functions from the real line onto a range, and from real numbers onto a simplex or an ordered list.
//!
//! Each has its inverse, its derivative, and the logarithm of the derivative with *its* derivative, in
//! forms that keep all digits where numbers are large or small.

use treedef::__private::OrBug;

use super::differentiable::Differentiable;
use super::interval::Interval;

/// A function from the real line onto a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RangeMap {
    /// eˣ
    Exp,
    /// ln(1 + eˣ)
    Softplus,
    /// lower + eˣ
    Above(f64),
    /// upper − eˣ
    Below(f64),
    /// lower + (upper − lower) / (1 + e⁻ˣ)
    Logistic { lower: f64, upper: f64 },
}

impl RangeMap {
    /// The function onto a range with at least one finite end.
    pub(super) fn onto(range: Interval) -> Option<Self> {
        let Interval { lower, upper, .. } = range;
        match (lower.is_finite(), upper.is_finite()) {
            (true, true) => Some(RangeMap::Logistic { lower, upper }),
            (true, false) => Some(RangeMap::Above(lower)),
            (false, true) => Some(RangeMap::Below(upper)),
            (false, false) => None,
        }
    }

    pub(super) fn value<N: Differentiable>(self, x: N) -> N {
        match self {
            RangeMap::Exp => x.exp(),
            RangeMap::Softplus => x.softplus(),
            RangeMap::Above(lower) => N::of(lower).plus(x.exp()),
            RangeMap::Below(upper) => N::of(upper).plus(x.exp().negated()),
            // From the nearer end, so that no digit is lost there.
            RangeMap::Logistic { lower, upper } if x.real() < 0.0 => {
                N::of(lower).plus(N::of(upper - lower).times(x.logistic()))
            }
            RangeMap::Logistic { lower, upper } => {
                N::of(upper).plus(N::of(lower - upper).times(x.negated().logistic()))
            }
        }
    }

    /// The inverse; infinite at an end of the range, NaN outside.
    pub(super) fn inverse(self, y: f64) -> f64 {
        match self {
            RangeMap::Exp => y.ln(),
            RangeMap::Softplus => y + (-(-y).exp_m1()).ln(),
            RangeMap::Above(lower) => (y - lower).ln(),
            RangeMap::Below(upper) => (upper - y).ln(),
            RangeMap::Logistic { lower, upper } => (y - lower).ln() - (upper - y).ln(),
        }
    }

    pub(super) fn derivative(self, x: f64) -> f64 {
        match self {
            RangeMap::Exp | RangeMap::Above(_) => x.exp(),
            RangeMap::Softplus => x.logistic(),
            RangeMap::Below(_) => -x.exp(),
            RangeMap::Logistic { lower, upper } => (upper - lower) * x.logistic() * (-x).logistic(),
        }
    }

    /// ln |dy/dx|, and its derivative.
    pub(super) fn log_derivative(self, x: f64) -> (f64, f64) {
        match self {
            RangeMap::Exp | RangeMap::Above(_) | RangeMap::Below(_) => (x, 1.0),
            RangeMap::Softplus => (-(-x).softplus(), (-x).logistic()),
            RangeMap::Logistic { lower, upper } => {
                // Both softplus are |x| plus the same small rest, so that no digits cancel.
                let rest = (-x.abs()).exp().ln_1p();
                ((upper - lower).ln() - x.abs() - 2.0 * rest, -(x / 2.0).tanh())
            }
        }
    }
}

/// A function from some real numbers to the same number of leaves, or to one more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Block {
    /// Positive numbers with the sum 1, by breaking a stick, as Stan does it.
    Simplex,
    /// Increasing numbers: the first, and the logarithms of the steps.
    Ordered,
}

impl Block {
    /// The number of real numbers for a block of `count` leaves.
    pub(super) fn inputs(self, leaves: usize) -> usize {
        match self {
            Block::Simplex => leaves.saturating_sub(1),
            Block::Ordered => leaves,
        }
    }

    pub(super) fn value<N: Differentiable>(self, x: &[N], y: &mut [N]) {
        match self {
            Block::Simplex => {
                let mut rest = N::of(1.0);
                let Some((last, broken)) = y.split_last_mut() else { return };
                for (stick, y) in sticks(x).zip(broken) {
                    *y = rest.clone().times(stick.clone().logistic());
                    rest = rest.times(stick.negated().logistic());
                }
                *last = rest;
            }
            Block::Ordered => {
                let mut last: Option<N> = None;
                for (x, y) in x.iter().zip(y) {
                    *y = match last {
                        None => x.clone(),
                        Some(last) => last.plus(x.clone().exp()),
                    };
                    last = Some(y.clone());
                }
            }
        }
    }

    /// The inverse; infinite or NaN if the leaves are not such a block.
    pub(super) fn inverse(self, y: &[f64], x: &mut [f64]) {
        match self {
            Block::Simplex => {
                let Some((last, broken)) = y.split_last() else { return };
                let mut rest = *last;
                for ((x, y), pieces) in x.iter_mut().zip(broken).rev().zip(1..) {
                    *x = y.ln() - rest.ln() + count(pieces).ln();
                    rest += y;
                }
            }
            Block::Ordered => {
                let mut last: Option<f64> = None;
                for (x, y) in x.iter_mut().zip(y) {
                    *x = last.map_or(*y, |last| (y - last).ln());
                    last = Some(*y);
                }
            }
        }
    }

    /// The first leaf that rounding moved out of the block.
    pub(super) fn broken_at(self, y: impl IntoIterator<Item = f64>) -> Option<usize> {
        let mut last = f64::NEG_INFINITY;
        y.into_iter().position(|y| {
            let holds = match self {
                Block::Simplex => y > 0.0 && y <= 1.0,
                Block::Ordered => y.is_finite() && y > last,
            };
            last = y;
            !holds
        })
    }

    /// The derivative of the leaf `of` by the real number `by`.
    pub(super) fn derivative(self, x: &[f64], y: &[f64], of: usize, by: usize) -> f64 {
        if of < by {
            return 0.0;
        }
        let (leaf, input) = (y.get(of).copied().or_bug(), x.get(by).copied().or_bug());
        match self {
            Block::Simplex => {
                let stick = input - offset(x.len(), by);
                if of == by { leaf * (-stick).logistic() } else { -leaf * stick.logistic() }
            }
            Block::Ordered if by == 0 => 1.0,
            Block::Ordered => input.exp(),
        }
    }

    /// Adds the derivatives of a function by the real numbers, from those by the leaves.
    pub(super) fn pull_back(self, x: &[f64], y: &[f64], by_leaves: &[f64], by_x: &mut [f64]) {
        // The contribution of all later leaves.
        let mut later = 0.0;
        match self {
            Block::Simplex => {
                let Some(((y_last, y), (last, by_leaves))) =
                    y.split_last().zip(by_leaves.split_last())
                else {
                    return;
                };
                later += y_last * last;
                let inputs = x.iter().zip(by_x).zip(y.iter().zip(by_leaves)).enumerate();
                for (at, ((input, by_x), (y, by_leaf))) in inputs.rev() {
                    let stick = input - offset(x.len(), at);
                    *by_x += y * by_leaf * (-stick).logistic() - later * stick.logistic();
                    later += y * by_leaf;
                }
            }
            Block::Ordered => {
                for (at, ((x, by_x), by_leaf)) in
                    x.iter().zip(by_x).zip(by_leaves).enumerate().rev()
                {
                    later += by_leaf;
                    *by_x += if at == 0 { later } else { later * x.exp() };
                }
            }
        }
    }

    /// The logarithm of the determinant of the derivatives. Adds its own derivatives to `by_x`.
    pub(super) fn log_derivative(self, x: &[f64], by_x: &mut [f64]) -> f64 {
        let mut total = 0.0;
        match self {
            Block::Simplex => {
                for (stick, (by_x, pieces)) in sticks(x).rev().zip(by_x.iter_mut().rev().zip(1..)) {
                    let pieces = count(pieces);
                    total -= (-stick).softplus() + pieces * stick.softplus();
                    *by_x += (-stick).logistic() - pieces * stick.logistic();
                }
            }
            Block::Ordered => {
                for (x, by_x) in x.iter().zip(by_x).skip(1) {
                    total += x;
                    *by_x += 1.0;
                }
            }
        }
        total
    }
}

/// The logits of the parts that are broken off, so that x = 0 makes all pieces alike.
fn sticks<N: Differentiable>(
    x: &[N],
) -> impl DoubleEndedIterator<Item = N> + ExactSizeIterator + '_ {
    x.iter().enumerate().map(|(at, input)| input.clone().plus(N::of(-offset(x.len(), at))))
}

/// The logarithm of the number of remaining pieces after a stick.
fn offset(sticks: usize, at: usize) -> f64 {
    count(sticks - at).ln()
}

#[allow(clippy::cast_precision_loss, reason = "no list has 2⁵³ elements")]
fn count(pieces: usize) -> f64 {
    pieces as f64
}
