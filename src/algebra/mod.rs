//! Structures out of structures.

mod graft;
mod step;
mod construct;
mod compose;
mod prefix;
mod transpose;
mod replace;
mod edit;
mod traverse;
mod merge;

pub use edit::Edit;
pub(crate) use graft::Graft;
pub(crate) use prefix::subtree_of;
pub(crate) use step::{LeafSteps, expect_equal, expect_prefix, same_structure};
