//! The differences between two trees as data, as a report and as a patch.

mod change;
mod classes;
mod node;
mod elements;
mod edits;
mod align;
mod shifted;
mod changes;
mod patch;
mod trees;
mod serde;
pub(crate) mod report;

pub use change::{Change, ChangeKind, Diff};
