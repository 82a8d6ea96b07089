//! Rebuilds values of a type that has changed since they were flattened, and reports the fate of each leaf.
//!
//! 1. [`pairing`] compares the nodes at the same places of the tree and the value.
//! 2. A node that only one of the two has was dropped, filled, or renamed. To find out, the value is
//!    rebuilt once more from changed leaves that can be told apart ([`probe`]).
//! 3. A leaf of the tree became the leaf of the value that has its changed content. [`following`] goes up
//!    from these leaves to the nodes that were renamed, and compares everything below them.

mod report;
mod groups;
mod probe;
mod pairing;
mod side;
mod following;
mod migrate;

pub use report::Migration;
