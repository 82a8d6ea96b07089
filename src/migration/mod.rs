//! Rebuilds values of a type that has changed since they were flattened, and reports what became of
//! each leaf.
//!
//! 1. [`pairing`] compares what the tree and the value have at the same places.
//! 2. What only one of the two has was dropped and filled, or it was renamed. So the value is
//!    rebuilt once more, from leaves that have values of their own ([`probe`]).
//! 3. Where such a value comes out again is what became of the leaf. [`following`] goes from leaves to
//!    the nodes that were renamed, and compares what is below them.

mod report;
mod groups;
mod probe;
mod pairing;
mod side;
mod following;
mod migrate;

pub use report::Migration;
