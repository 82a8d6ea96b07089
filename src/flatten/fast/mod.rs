//! Code that is here only for speed. Without it, the result is the same: [`serialize_once`] switches it off, and
//! tests compare both ways.
//!
//! Without [`rows`], for which [`element`] compares, each number of a sequence is a call. Then the serializer
//! would not have `collect_seq`, and the tape and the drivers no methods for rows, or for several elements at once.
//!
//! [`serialize_once`]: crate::Flattener::serialize_once

mod element;
pub(super) mod rows;
