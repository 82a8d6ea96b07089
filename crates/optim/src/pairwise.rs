//! Sums whose error does not grow with the number of terms.

use std::ops::Range;

/// Up to this many terms are added sequentially, [`LANES`] at once.
const BLOCK: usize = 512;

const LANES: usize = 8;

/// The sum of a function over a range, pairwise: the halves are summed separately, and then added.
#[inline]
pub(crate) fn sum(range: Range<usize>, term: &impl Fn(usize) -> f64) -> f64 {
    if range.len() > BLOCK {
        // Halves begin at a multiple of the lanes, so that the same numbers always give the same
        // sum.
        let middle = range.start + (range.len() / 2).next_multiple_of(LANES);
        return sum(range.start..middle, term) + sum(middle..range.end, term);
    }
    let mut lanes = [0.0; LANES];
    let whole = range.start + range.len() / LANES * LANES;
    for at in (range.start..whole).step_by(LANES) {
        for (lane, sum) in lanes.iter_mut().enumerate() {
            *sum += term(at + lane);
        }
    }
    for (sum, at) in lanes.iter_mut().zip(whole..range.end) {
        *sum += term(at);
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

/// The sum of a function that may fail, pairwise.
pub(crate) fn try_sum<E>(
    range: Range<usize>,
    term: &impl Fn(usize) -> Result<f64, E>,
) -> Result<f64, E> {
    match range.len() {
        0 => Ok(0.0),
        1 => term(range.start),
        length => {
            let middle = range.start + length / 2;
            Ok(try_sum(range.start..middle, term)? + try_sum(middle..range.end, term)?)
        }
    }
}
