//! Flattens a value into leaves and a treedef.
//!
//! serde calls the [`serializer`], which writes a word on the [`tape`] for each call. At the end,
//! [`nodes`] makes the nodes of the structure from the words. What is there only for speed is in
//! [`fast`].

#![allow(
    clippy::question_mark,
    reason = "`?` is one more function for each type that is walked: see the page about speed"
)]

mod word;
mod labels;
mod marks;
mod refused;
mod nodes;
mod calls;
mod fast;
mod tape;
mod kept;
mod failure;
mod serializer;
mod walk;
mod reader;
mod rules;
mod subtree;
mod apply;
mod flattener;
mod presets;
mod objects;
#[cfg(test)]
mod model;

pub use flattener::{Flattener, flatten, flatten_as, leaves, signature, structure};
pub use objects::flatten_objects;
pub use presets::ArrayRule;
pub use reader::TreeSeed;

pub(crate) use calls::mismatches;
pub(crate) use reader::{CBOR_TAG, JSON_NUMBER, TOML_DATE};
pub(crate) use rules::{ArrayHint, ArrayMeaning, Collector};
