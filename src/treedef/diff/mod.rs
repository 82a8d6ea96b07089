//! The differences between two trees as data, as a report and as a patch.

mod change;
mod classes;
mod node;
mod align;
mod shifted;
mod changes;
mod patch;
pub(crate) mod report;

pub use change::{Change, ChangeKind, Diff};

pub(crate) use changes::diff;
pub(crate) use node::{Diffable, below};
pub(crate) use patch::patch;
