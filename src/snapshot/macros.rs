//! The assertions, which are macros of `insta`.

/// Compares the structure of a value, in the pretty form, with a snapshot.
///
/// The arguments are the same as for `insta::assert_snapshot!`: the snapshot is named after the test, has a
/// name of its own, or is inline. Review new and changed snapshots with `cargo insta review`.
///
/// Needs the feature `insta`. Turn it on under `[dev-dependencies]`, so that only tests are built
/// with insta. Your package needs no `insta` of its own, unless you use insta's settings.
///
/// ```toml
/// [dependencies]
/// treedef = { path = "…" }
///
/// [dev-dependencies]
/// treedef = { path = "…", features = ["insta"] }
/// ```
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
///
/// A text wider than 80 columns has one field or element on a line. The metadata of a snapshot in a
/// file contains the expression. If the test fails, the changes are printed path by path, before
/// insta's own output:
///
/// ```text
/// since the snapshot: 2 changes
/// ~ .retries: None → Some(*)
/// - .hosts[1]: (*, *)
/// ```
///
/// # Without lengths
///
/// With `without_lengths:` before the arguments, the snapshot is the form of
/// [`TreeDef::without_lengths`], and does not change with the number of elements:
///
/// ```
/// # use treedef::assert_structure_snapshot;
/// let hosts = vec![("b", 80), ("c", 443)];
/// assert_structure_snapshot!(without_lengths: hosts, @"[(*, *); _]");
/// ```
///
/// [`TreeDef::without_lengths`]: crate::TreeDef::without_lengths
#[macro_export]
macro_rules! assert_structure_snapshot {
    (without_lengths: $($arguments:tt)*) => {
        $crate::__assert_snapshot!(structure_without_lengths, $($arguments)*)
    };
    ($($arguments:tt)*) => {
        $crate::__assert_snapshot!(structure, $($arguments)*)
    };
}

/// Compares the signature of a value, its structure with the kinds of its leaves, with a snapshot.
///
/// The arguments are the same as for [`assert_structure_snapshot!`](crate::assert_structure_snapshot).
///
/// ```
/// treedef::assert_signature_snapshot!((1u8, ["a"; 3]), @"(u8, (str, str, str))");
/// treedef::assert_signature_snapshot!(without_lengths: vec![1.5f32; 1000], @"[f32; _]");
/// ```
#[macro_export]
macro_rules! assert_signature_snapshot {
    (without_lengths: $($arguments:tt)*) => {
        $crate::__assert_snapshot!(signature_without_lengths, $($arguments)*)
    };
    ($($arguments:tt)*) => {
        $crate::__assert_snapshot!(signature, $($arguments)*)
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __assert_snapshot {
    ($text:ident, $value:expr, @$snapshot:literal $(,)?) => {{
        let text = $crate::__snapshot::$text(&$value);
        let _shows_changes = $crate::__snapshot::shows_changes();
        $crate::__insta::assert_snapshot!(text, ::core::stringify!($value), @$snapshot)
    }};
    ($text:ident, $value:expr $(,)?) => {
        $crate::__assert_snapshot!($text, ::core::option::Option::None::<&str>, $value)
    };
    ($text:ident, $name:expr, $value:expr $(,)?) => {{
        let text = $crate::__snapshot::$text(&$value);
        let _shows_changes = $crate::__snapshot::shows_changes();
        $crate::__insta::assert_snapshot!($name, text, ::core::stringify!($value))
    }};
}
