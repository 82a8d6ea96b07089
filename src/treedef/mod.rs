//! Treedefs: how structures are read, walked, built, edited and compared.

mod run_index;
pub(crate) mod node_ref;
pub(crate) mod insertion;
pub(crate) mod walk;
pub(crate) mod limits;
pub(crate) mod order;
pub(crate) mod value;
#[cfg(debug_assertions)]
mod invariants;
pub(crate) mod encoding;
pub(crate) mod options;
pub(crate) mod parts;
pub(crate) mod lookup;
mod expect_match;
pub(crate) mod matches;
pub(crate) mod compare;
pub(crate) mod difference;
pub(crate) mod pairs;
pub(crate) mod builder;
pub(crate) mod key_form;
pub(crate) mod edit;
mod methods;

pub use builder::TreeDefBuilder;
pub use edit::Edit;
pub use node_ref::{Children, NodeRef};
pub use walk::{LeafPaths, Nodes};
