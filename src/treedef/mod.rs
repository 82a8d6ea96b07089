//! Treedefs: how structures are read, walked, built, printed, compared and stored.

mod run_index;
pub(crate) mod node_ref;
pub(crate) mod insertion;
pub(crate) mod walk;
pub(crate) mod blocks;
pub(crate) mod limits;
pub(crate) mod order;
pub(crate) mod value;
pub(crate) mod encoding;
mod options;
pub(crate) mod parts;
pub(crate) mod text;
pub(crate) mod lookup;
mod expect_match;
pub(crate) mod matches;
pub(crate) mod compare;
pub(crate) mod difference;
pub(crate) mod pairs;
pub(crate) mod builder;
mod construct;
mod check;
mod array_struct;
pub(crate) mod arrays;
mod compose;
pub(crate) mod prefix;
pub(crate) mod replace;
pub(crate) mod edit;
mod lengths;
#[cfg(feature = "diff")]
pub(crate) mod diff;
#[cfg(feature = "persist")]
pub(crate) mod persist;

pub use array_struct::{ArrayFields, ArrayStruct};
pub use blocks::{Block, Blocks};
pub use builder::TreeDefBuilder;
#[cfg(feature = "diff")]
pub use diff::{Change, ChangeKind, Diff};
pub use edit::Edit;
pub use node_ref::{Children, NodeRef};
#[cfg(feature = "persist")]
pub use persist::{Fingerprint, TreeReader};
pub use walk::{LeafPaths, Nodes};
