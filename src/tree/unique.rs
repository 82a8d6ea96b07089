//! Equal leaves once: work that is the same for equal leaves is done once.
//!
//! The idea is that of TensorFlow's `_FetchMapper`, which tells leaves apart by their address.

use std::collections::HashMap;
use std::hash::Hash;

use crate::error::{ErrorKind, Result};
use crate::model::Tree;

/// The distinct leaves of a tree, and where each stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unique<L> {
    /// Each leaf once, in the order in which they first stand in the tree.
    pub leaves: Vec<L>,
    /// For each leaf of the tree, which of `leaves` it is.
    pub inverse: Tree<usize>,
}

impl<L> Tree<L> {
    /// The distinct leaves, by equality.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let wanted = Tree::new("{\"loss\": *, \"both\": (*, *)}".parse()?, vec!["x", "y", "x"])?;
    /// let unique = wanted.unique();
    /// assert_eq!(unique.leaves, ["x", "y"]);
    ///
    /// // What was computed for the two is put where the three stand.
    /// let found = unique.rebuild(&[1.5, 2.5])?;
    /// assert_eq!(found.leaves(), [1.5, 2.5, 1.5]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn unique(self) -> Unique<L>
    where
        L: Eq + Hash + Clone,
    {
        self.unique_by(L::clone)
    }

    /// The leaves of which a function gives distinct keys; of leaves with one key, the first.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::new("[*, *, *]".parse()?, vec![0.5, -0.5, 2.0])?;
    /// let unique = tree.unique_by(|leaf: &f64| leaf.abs().to_bits());
    /// assert_eq!(unique.leaves, [0.5, 2.0]);
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
    /// A tree with what belongs to each distinct leaf, wherever the leaf stands.
    ///
    /// # Errors
    ///
    /// When there are more or fewer results than distinct leaves.
    pub fn rebuild<M: Clone>(&self, results: &[M]) -> Result<Tree<M>> {
        if results.len() != self.leaves.len() {
            let (expected, found) = (self.leaves.len(), results.len());
            return Err(ErrorKind::LeafCount { expected, found }.into());
        }
        let (treedef, index) = self.inverse.clone().into_parts();
        let leaves = index.into_iter().filter_map(|number| results.get(number).cloned());
        Tree::new(treedef, leaves.collect())
    }
}
