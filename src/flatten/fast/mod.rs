//! Code that is here only for speed. Without it, the result is the same.
//!
//! Without [`rows`], for which [`element`] compares, each number of a sequence is a call.

mod element;
pub(super) mod rows;
