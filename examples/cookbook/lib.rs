//! The recipes of the guide that need other crates, as tests: `cargo test -p cookbook`.

#[doc = include_str!("../../src/_guide/cookbook/autodiff.md")]
pub mod autodiff {}

#[doc = include_str!("../../src/_guide/cookbook/optimiser.md")]
pub mod optimiser {}

#[doc = include_str!("../../src/_guide/cookbook/pytorch.md")]
pub mod pytorch {}
