//! Broken invariants: a panic in debug builds, so that tests and fuzz
//! targets find it. A release build returns [`ErrorKind::Internal`](crate::ErrorKind::Internal) with
//! the place, or the default where a function cannot fail.

pub(crate) use treedef::__private::OrBug;

/// The error for a broken invariant.
macro_rules! bug {
    ($what:literal) => {{
        debug_assert!(false, $what);
        let place = concat!($what, " (", file!(), ":", line!(), ")");
        $crate::error::Error::from($crate::error::ErrorKind::Internal(place))
    }};
}

pub(crate) use bug;
