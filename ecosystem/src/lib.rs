//! Nothing to use: `tests/` holds treedef against the types of other crates.

/// Pages of the guide, whose code is tested here.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../src/_guide/coming_from/burn.md")]
    mod burn {}
    #[doc = include_str!("../../src/_guide/coming_from/ndarray.md")]
    mod ndarray {}
}
