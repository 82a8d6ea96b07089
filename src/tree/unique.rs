//! Deduplicates leaves, so that work for equal leaves is done once.
//!
//! The idea is TensorFlow's `_FetchMapper`, which identifies leaves by their address.

use crate::error::{Cause, Result};
use crate::model::Tree;

/// The distinct leaves of a tree, and their places: the result of [`Tree::unique_by`], which has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unique<L> {
    /// The distinct leaves, in the order of their first occurrence.
    pub leaves: Vec<L>,
    /// For each leaf of the tree, its index in `leaves`.
    pub inverse: Tree<usize>,
}

impl<L> Unique<L> {
    /// A tree with the result for each leaf: `results` has one for each distinct leaf.
    ///
    /// # Errors
    ///
    /// Returns an error when there are too many or too few results.
    pub fn rebuild<M: Clone>(&self, results: &[M]) -> Result<Tree<M>> {
        if results.len() != self.leaves.len() {
            let (expected, found) = (self.leaves.len(), results.len());
            return Err(Cause::LeafCount { expected, found }.into());
        }
        let (treedef, index) = self.inverse.clone().into_parts();
        let leaves = index.into_iter().filter_map(|number| results.get(number).cloned());
        Tree::new(treedef, leaves.collect())
    }
}
