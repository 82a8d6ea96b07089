//! A pytree as its leaves and a treedef, as `jax.tree_util` and PyTorch see it.

mod rules;
mod class;
mod flatten;
mod unflatten;
mod treedef;
mod numbers;

pub use crate::flat::numbers::{flat_from_python, flat_to_python};
pub use crate::flat::rules::Rules;
pub use crate::flat::treedef::PyTreeDef;
