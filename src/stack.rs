//! Room on the stack for values that nest deeply.

/// Runs `f` where there is stack left: on a new segment if need be, with the feature `stacker`.
#[inline]
pub(crate) fn grow<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(feature = "stacker")]
    return stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, f);
    #[cfg(not(feature = "stacker"))]
    f()
}
