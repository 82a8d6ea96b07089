//! Broken invariants: a panic in debug builds, so that tests and fuzz
//! targets find it. A release build returns [`ErrorKind::Internal`](crate::ErrorKind::Internal) with
//! the place, or the default where a function cannot fail.

use std::fmt;

/// The error for a broken invariant.
macro_rules! bug {
    ($what:literal) => {
        $crate::error::Error::broken(concat!($what, " (", file!(), ":", line!(), ")"))
    };
}

pub(crate) use bug;

/// An option that is never `None`, in a function that cannot fail.
pub trait OrBug<T> {
    /// The value.
    fn or_bug(self) -> T;
}

impl<T: Default> OrBug<T> for Option<T> {
    #[inline]
    #[track_caller]
    fn or_bug(self) -> T {
        debug_assert!(self.is_some(), "what has to be there is missing");
        self.unwrap_or_default()
    }
}

/// A text is printed without the missing part.
#[cold]
#[track_caller]
pub(crate) fn missing(what: &str) -> fmt::Result {
    debug_assert!(false, "{what} is missing");
    Ok(())
}
