//! What is here only for speed, and may be left out: the result is the same.
//!
//! Without [`rows`], for which [`element`] compares, each number of a sequence is a call. Without [`copies`]
//! the nodes of a long sequence are made element by element.

mod element;
mod copies;
pub(super) mod rows;
