//! Snapshot tests of structures and signatures with `insta`.

/// Compares the structure of a value, in the pretty form, with a snapshot.
///
/// The arguments are those of `insta::assert_snapshot!`: the snapshot is named after the test, has
/// a name of its own, or is inline. Review new and changed snapshots with `cargo insta review`.
/// Needs the feature `insta`.
///
/// ```
/// use serde::Serialize;
/// use treedef::assert_structure_snapshot;
///
/// #[derive(Serialize)]
/// struct Config { name: &'static str, retries: Option<u8>, hosts: Vec<(&'static str, u16)> }
///
/// let config = Config { name: "a", retries: None, hosts: vec![("b", 80), ("c", 443)] };
/// assert_structure_snapshot!(config, @"Config { name: *, retries: None, hosts: [(*, *); 2] }");
/// ```
#[macro_export]
macro_rules! assert_structure_snapshot {
    ($($arguments:tt)*) => {
        $crate::__snapshot_of!(structure, $($arguments)*)
    };
}

/// Compares the signature of a value, its structure with the kinds of its leaves, with a snapshot.
///
/// The arguments are those of [`assert_structure_snapshot!`](crate::assert_structure_snapshot).
///
/// ```
/// treedef::assert_signature_snapshot!((1u8, ["a"; 3]), @"(u8, (str, str, str))");
/// ```
#[macro_export]
macro_rules! assert_signature_snapshot {
    ($($arguments:tt)*) => {
        $crate::__snapshot_of!(signature, $($arguments)*)
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __snapshot_of {
    ($form:ident, $value:expr, @$snapshot:literal $(,)?) => {
        $crate::__insta::assert_snapshot!($crate::__pretty!($form, $value), ::core::stringify!($value), @$snapshot)
    };
    ($form:ident, $value:expr $(,)?) => {
        $crate::__insta::assert_snapshot!($crate::__pretty!($form, $value))
    };
    ($form:ident, $name:expr, $value:expr $(,)?) => {
        $crate::__insta::assert_snapshot!($name, $crate::__pretty!($form, $value), ::core::stringify!($value))
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __pretty {
    ($form:ident, $value:expr) => {
        match $crate::$form(&$value) {
            ::core::result::Result::Ok(shape) => ::std::format!("{shape:#}"),
            ::core::result::Result::Err(error) => ::core::panic!("{error}"),
        }
    };
}
