//! Room on the stack for values that nest deeply.

use crate::error::{Error, ErrorKind, Result};
use crate::model::Limits;

/// How deep a walk may recurse where the stack does not grow, whatever the limits say: what a thread's stack of 2 MiB
/// holds without optimisation, with room for the value's own code. Where it grows, what memory holds.
const DEEPEST: usize = if cfg!(feature = "stacker") { 1 << 31 } else { 256 };

/// Evaluates an expression where there is stack left: on a new segment if need be, with the feature `stacker`. A macro,
/// because each type that a user walks would otherwise be compiled with a closure around each call.
macro_rules! grow {
    ($call:expr) => {{
        #[cfg(feature = "stacker")]
        let result = stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, || $call);
        #[cfg(not(feature = "stacker"))]
        let result = $call;
        result
    }};
}

pub(crate) use grow;

/// How many compounds may stand inside each other in a walk that recurses.
pub(crate) fn deepest(limits: Limits) -> usize {
    limits.max_depth.min(DEEPEST)
}

/// Refuses to recurse deeper than the limits allow, or the stack.
pub(crate) fn expect_room(limits: Limits, depth: usize) -> Result<()> {
    limits.expect_depth(depth)?;
    match depth <= DEEPEST {
        true => Ok(()),
        false => Err(too_deep(DEEPEST)),
    }
}

/// The error of a walk that met a compound deeper than `limit`, which is that of [`deepest`].
#[cold]
pub(crate) fn too_deep(limit: usize) -> Error {
    let error = Error::from(ErrorKind::Depth { limit });
    match limit == DEEPEST {
        true => error.with_hint("deeper only with the feature `stacker`, which grows the stack"),
        false => error.with_hint("see `Limits::max_depth`"),
    }
}
