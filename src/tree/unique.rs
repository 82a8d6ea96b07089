//! Deduplicates leaves, so that work for equal leaves is done once.
//!
//! The idea is TensorFlow's `_FetchMapper`, which identifies leaves by their address.

use std::collections::HashMap;
use std::hash::Hash;

use crate::error::{Cause, Result};
use crate::model::Tree;

/// The distinct leaves of a tree, and their places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unique<L> {
    /// The distinct leaves, in the order of their first occurrence.
    pub leaves: Vec<L>,
    /// For each leaf of the tree, its index in `leaves`.
    pub inverse: Tree<usize>,
}

impl<L> Tree<L> {
    /// The leaves with distinct keys; of leaves with equal keys, the first. A leaf can be its own key.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let wanted = Tree::new("{\"loss\": *, \"both\": (*, *)}".parse()?, vec!["x", "y", "x"])?;
    /// let unique = wanted.unique_by(|name| *name);
    /// assert_eq!(unique.leaves, ["x", "y"]);
    ///
    /// // The results for the two distinct leaves go to the places of all three.
    /// let found = unique.rebuild(&[1.5, 2.5])?;
    /// assert_eq!(found.leaves(), [1.5, 2.5, 1.5]);
    ///
    /// let tree = Tree::new("[*, *, *]".parse()?, vec![0.5, -0.5, 2.0])?;
    /// assert_eq!(tree.unique_by(|leaf: &f64| leaf.abs().to_bits()).leaves, [0.5, 2.0]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn unique_by<K: Eq + Hash>(self, mut key: impl FnMut(&L) -> K) -> Unique<L> {
        let (mut leaves, mut numbers) = (Vec::new(), HashMap::new());
        let index = self.map(|leaf| {
            *numbers.entry(key(&leaf)).or_insert_with(|| {
                leaves.push(leaf);
                leaves.len() - 1
            })
        });
        Unique { leaves, inverse: index }
    }
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
