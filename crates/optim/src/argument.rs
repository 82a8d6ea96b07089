//! Checks of the numbers that a user passes to an optimiser.

use std::fmt;

use crate::error::{Error, Result};

fn expect(what: impl fmt::Display, found: f64, holds: bool) -> Result<()> {
    if holds {
        return Ok(());
    }
    Err(Error::Argument(format!("expected {what}, found {found}")))
}

/// Checks the decay of a moving average, which must be less than 1 so that its bias can be
/// corrected.
pub(crate) fn expect_decay(what: impl fmt::Display, decay: f64) -> Result<()> {
    expect(format_args!("{what} from 0 to below 1"), decay, (0.0..1.0).contains(&decay))
}

/// Checks a limit, which may be infinite.
pub(crate) fn expect_limit(what: &str, limit: f64) -> Result<()> {
    expect(format_args!("{what} above 0"), limit, limit > 0.0)
}

/// Checks the radius of a ball or the sum of a simplex.
pub(crate) fn expect_size(what: &str, size: f64) -> Result<()> {
    expect(format_args!("{what} above 0"), size, size > 0.0 && size.is_finite())
}

/// Checks the weight of a new value in an average.
pub(crate) fn expect_step_size(step_size: f64) -> Result<()> {
    expect("a step size from 0 to 1", step_size, (0.0..=1.0).contains(&step_size))
}

/// Checks a factor of updates, which may have any sign.
pub(crate) fn expect_factor(factor: f64) -> Result<()> {
    expect("a finite factor", factor, factor.is_finite())
}

/// Checks that a named number is finite and not negative.
pub(crate) fn expect_at_least_zero(what: &str, found: f64) -> Result<()> {
    expect(format_args!("{what} of 0 or more"), found, found >= 0.0 && found.is_finite())
}
