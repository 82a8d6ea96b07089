//! What is here only for speed.
//!
//! Without [`follow`] and [`known`] each call is written anew, and without [`rows`] each number of
//! a sequence is a call. The result is the same.

mod element;
mod copies;
pub(super) mod rows;
pub(super) mod follow;
pub(super) mod early;
mod known;
pub(super) mod elements;
