//! The operations of treedefs and trees beside a naive model of them.
//!
//! The model is an uncompressed tree of nested nodes, on which every operation is a plain recursion
//! that was written from the documentation. Each test draws random pairs of structures that are
//! equal, prefixes of each other or different in a few places, with many equal siblings, and runs the
//! same operation on both. `TREEDEF_MODEL_SEED` is the seed of the first case. A failure is shrunk and
//! printed with its seed and both sides.
//!
//! A million cases as a user would run them, but with checks of overflows:
//!
//! ```sh
//! CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true \
//!     TREEDEF_CASES=300 cargo test --release --test naive_model
//! ```

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by a panic")]

mod case;
mod changes;
mod composition;
mod edits;
mod equality;
#[cfg(feature = "persist")]
mod files;
mod joins;
mod merging;
mod numbers;
mod options;
mod paths;
mod prefixes;
mod takes;

use treedef_testing::{plain, tape};
