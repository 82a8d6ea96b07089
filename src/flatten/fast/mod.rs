//! What is here only for speed, and may be left out: the result is the same.
//!
//! Without [`rows`], for which [`element`] compares, each number of a sequence is a call.

mod element;
pub(super) mod rows;
