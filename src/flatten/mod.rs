//! Flattens a value into leaves and a treedef.
//!
//! serde calls the [`serializer`], which hands each call to the [`tape`]. While a value makes the calls of
//! a [`script`] that was recorded before, the [`follower`] only compares. From the first difference on
//! the [`recorder`] writes a word for each call, and [`nodes`] makes the nodes of the structure
//! from them. [`drivers`] owns both and decides which one gets a call. [`captures`] explains keys, [`walk`] the
//! state that outlives a walk, [`tape`] errors. [`fast`] is there only for speed, and so is [`ruled`], for trees
//! to which rules are applied.

#![allow(
    clippy::question_mark,
    reason = "`?` is one more function for each type that is walked: see the page about speed"
)]

mod word;
mod labels;
mod known_keys;
mod marks;
mod nodes;
mod script;
mod follower;
mod recorder;
mod drivers;
mod fast;
mod captures;
mod tape;
mod serializer;
mod walk;
mod reader;
mod rules;
mod ruled;
mod apply;
mod flattener;

pub use flattener::{Flattener, flatten, flatten_as, flatten_objects, signature, structure};
pub use reader::TreeSeed;
pub use rules::ArrayRule;

pub use reader::{CBOR_TAG, is_cbor_tag, private_struct};
pub(crate) use reader::{JSON_NUMBER, TOML_DATE};
pub(crate) use rules::{ArrayHint, ArrayMeaning, Collector};
