//! Notice in a test that a structure has changed, with the feature `insta`.
//!
//! ```
//! use treedef::assert_signature_snapshot;
//!
//! let answer = ("ok", vec![1.5f32; 3], Some(7u8));
//! assert_signature_snapshot!(answer, @"(str, [f32, f32, f32], Some(u8))");
//! ```
//!
//! Start with an empty `@""`, which `cargo insta review` fills in; a text of more than 80 columns gets
//! several lines. If the test fails, the changes are printed path by path.
