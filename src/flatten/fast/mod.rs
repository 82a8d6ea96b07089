//! Code that is here only for speed. Without it, the result is the same for each type that serializes in the same
//! way when it is asked again: [`serialize_once`] switches it off, and tests compare both ways.
//!
//! Without [`rows`], for which [`element`] compares, each number of a sequence is a call. Then the serializer
//! would not have `collect_seq` and the arguments `owning`, the tape, the drivers and the recorder no methods for rows
//! or several elements at once, and `Settings` no `predicts`.
//!
//! [`serialize_once`]: crate::Flattener::serialize_once

mod element;
pub(super) mod rows;
