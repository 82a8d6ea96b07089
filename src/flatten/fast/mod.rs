//! What is here only for speed.
//!
//! Without [`follow`] and [`known`] each call is written anew. Without [`rows`], for
//! which [`element`] compares, each number of a sequence is a call. Without [`early`] the words of a
//! long sequence stay on the tape to its end, and without [`copies`] its nodes are made element by
//! element. The result is the same.

mod element;
mod copies;
pub(super) mod follow;
pub(super) mod rows;
pub(super) mod early;
mod known;
