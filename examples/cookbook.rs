//! The recipes of the guide that need other crates, as tests: `cargo test -p examples --features cookbook --doc`.

#[cfg(feature = "cookbook")]
#[doc = include_str!("../src/_guide/cookbook/autodiff.md")]
pub mod autodiff {}

#[cfg(feature = "cookbook")]
#[doc = include_str!("../src/_guide/cookbook/optimiser.md")]
pub mod optimiser {}

#[cfg(feature = "cookbook")]
#[doc = include_str!("../src/_guide/cookbook/pytorch.md")]
pub mod pytorch {}
