//! Ranges of floats, which print as in mathematics.

use std::cmp::Ordering;
use std::fmt;
use std::ops::{Bound, RangeBounds};

use super::error::{Error, Result, shown};

/// A range of floats. An infinite end is never included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Interval {
    pub(super) lower: f64,
    pub(super) upper: f64,
    includes_lower: bool,
    includes_upper: bool,
}

impl Interval {
    pub(super) const ALL: Interval = Interval::open(f64::NEG_INFINITY, f64::INFINITY);
    pub(super) const POSITIVE: Interval = Interval::open(0.0, f64::INFINITY);

    const fn open(lower: f64, upper: f64) -> Self {
        Interval { lower, upper, includes_lower: false, includes_upper: false }
    }

    /// # Errors
    ///
    /// Returns an error for ends that are NaN, or in the wrong order, and for a range without numbers or
    /// with only one.
    pub(super) fn of(range: impl RangeBounds<f64>) -> Result<Self> {
        let (lower, includes_lower) = match range.start_bound() {
            Bound::Included(end) => (*end, end.is_finite()),
            Bound::Excluded(end) => (*end, false),
            Bound::Unbounded => (f64::NEG_INFINITY, false),
        };
        let (upper, includes_upper) = match range.end_bound() {
            Bound::Included(end) => (*end, end.is_finite()),
            Bound::Excluded(end) => (*end, false),
            Bound::Unbounded => (f64::INFINITY, false),
        };
        let interval = Interval { lower, upper, includes_lower, includes_upper };
        if lower.partial_cmp(&upper) != Some(Ordering::Less) {
            let reason = "its ends must be two numbers, the lower one first; see also `fix`";
            return Err(interval.refused(reason));
        }
        Ok(interval)
    }

    /// The same range with ends that are floats of 32 bits.
    ///
    /// # Errors
    ///
    /// Returns an error when an end is too large, or both become one.
    pub(super) fn narrowed(self) -> Result<Self> {
        let narrowed = Interval { lower: narrow(self.lower), upper: narrow(self.upper), ..self };
        let is_kept = |end: f64, narrowed: f64| end.is_infinite() || narrowed.is_finite();
        if !is_kept(self.lower, narrowed.lower) || !is_kept(self.upper, narrowed.upper) {
            return Err(self.refused("an end is beyond the largest `f32`"));
        }
        if narrowed.lower >= narrowed.upper {
            return Err(self.refused("as `f32` both ends are the same"));
        }
        Ok(narrowed)
    }

    pub(super) fn refused(self, reason: &'static str) -> Error {
        Error::Range { range: self.to_string(), reason }
    }

    pub(super) fn contains(self, value: f64) -> bool {
        (value > self.lower || (self.includes_lower && value == self.lower))
            && (value < self.upper || (self.includes_upper && value == self.upper))
    }

    /// Whether all finite ends are in the range.
    pub(super) fn is_closed(self) -> bool {
        (self.includes_lower || self.lower.is_infinite())
            && (self.includes_upper || self.upper.is_infinite())
    }
}

/// The nearest float of 32 bits. A number that is too large becomes infinite.
#[allow(clippy::cast_possible_truncation, reason = "what rounding is")]
pub(super) fn narrow(value: f64) -> f64 {
    f64::from(value as f32)
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let open = if self.includes_lower { '[' } else { '(' };
        let close = if self.includes_upper { ']' } else { ')' };
        write!(f, "{open}{}, {}{close}", End(self.lower), End(self.upper))
    }
}

/// An end of a range.
struct End(f64);

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            f64::INFINITY => f.write_str("∞"),
            f64::NEG_INFINITY => f.write_str("-∞"),
            end => f.write_str(&shown(end)),
        }
    }
}
