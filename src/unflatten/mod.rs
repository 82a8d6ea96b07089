//! Rebuilds a value from leaves and a treedef.
//!
//! The [`cursor`] is the place of the walk, and [`supply`] has the leaves. The [`deserializer`]
//! answers serde's requests there; for nodes with children it uses [`elements`], [`entries`] and
//! [`variant`]. [`fast`] exists only for speed: all tests pass without it.

#![allow(
    clippy::question_mark,
    reason = "`?` is one more function for each type that is rebuilt: see the page about speed"
)]

mod hints;
mod supply;
mod layout;
mod cursor;
mod scalars;
mod errors;
mod children;
mod fast;
mod elements;
mod entries;
mod variant;
mod deserializer;
mod rebuild;
mod objects;

pub use objects::unflatten_objects;
#[cfg(feature = "in_place")]
pub use objects::unflatten_objects_into;
pub use rebuild::{Leaves, unflatten, unflatten_borrowed, unflatten_strict};

#[cfg(feature = "in_place")]
pub use rebuild::unflatten_into;
