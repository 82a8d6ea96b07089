//! Stack space for deeply nested values.

use crate::error::{Cause, Error, Result};
use crate::model::Limits;

/// The deepest recursion, whatever the limits are. Without `stacker`, this depth fits into a
/// thread's stack of 2 MiB in a build without optimisation, with space for the value's own code.
/// With `stacker`, only memory limits it.
const DEEPEST: usize = if cfg!(feature = "stacker") { 1 << 31 } else { 256 };

/// Evaluates an expression; with the feature `stacker` on a new stack segment if little stack is
/// left. It is a macro, because a function would compile a closure around each call for each type
/// that is walked.
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

/// The most compounds that may be nested in a recursive walk.
pub(crate) fn deepest(limits: Limits) -> usize {
    limits.max_depth.min(DEEPEST)
}

/// Returns an error if `depth` exceeds the limits or the stack.
pub(crate) fn expect_room(limits: Limits, depth: usize) -> Result<()> {
    limits.expect_depth(depth)?;
    if depth <= DEEPEST { Ok(()) } else { Err(too_deep(DEEPEST)) }
}

/// The error of a walk that found a compound deeper than `limit`, the result of [`deepest`].
#[cold]
pub(crate) fn too_deep(limit: usize) -> Error {
    let error = Error::from(Cause::Depth { limit });
    if limit == DEEPEST {
        error.with_hint("deeper only with the feature `stacker`, which grows the stack")
    } else {
        error.with_hint("see `Limits::max_depth`")
    }
}
