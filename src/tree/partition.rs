//! Partitions of leaves into trees of the same structure, and how they are combined again.
//!
//! The idea is Equinox's `partition` and `combine`. There the holes are `None`, which JAX treats as
//! a node, so a tree with a `None` of its own cannot be restored.

use crate::bug::OrBug;
use crate::error::{Cause, Error, Result};
use crate::model::Tree;
use crate::path::Path;
use crate::treedef::pairs::{Statics, expect_prefix, leaf_steps, unified};

/// # Split and join
impl<L> Tree<L> {
    /// Two trees of the same structure: the leaves for which `first` returns `true`, and the
    /// others. Each tree has a hole, `None`, for every leaf of the other.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::of(&(1.5, "a", 2.5))?;
    /// let (floats, others) = tree.clone().partition(|_, leaf| leaf.kind().is_float());
    /// assert_eq!(floats.leaves()[1], None);
    /// assert_eq!(Tree::combine([floats, others])?, tree);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[doc(alias = "tree_partition")]
    #[must_use]
    pub fn partition(
        self,
        mut first: impl FnMut(&Path, &L) -> bool,
    ) -> (Tree<Option<L>>, Tree<Option<L>>) {
        let treedef = self.treedef.clone();
        let mut paths = treedef.leaf_paths();
        split_leaves(self, |leaf| first(&paths.next().or_bug(), leaf))
    }

    /// As many trees of the same structure as `parts`; `part` returns the index of the tree for
    /// each leaf.
    ///
    /// # Errors
    ///
    /// Returns an error when `part` returns an index that is not less than `parts`, with the
    /// path; when there are more holes than [`Limits::max_work`](crate::Limits::max_work)
    /// allows.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::new("[*, *, *, *]".parse()?, vec![3, 0, 1, 0])?;
    /// let parts = tree.partition_into(4, |_, leaf| *leaf)?;
    /// assert_eq!(parts[0].leaves(), [None, Some(0), None, Some(0)]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn partition_into(
        self,
        parts: usize,
        mut part: impl FnMut(&Path, &L) -> usize,
    ) -> Result<Vec<Tree<Option<L>>>> {
        let places = self.leaves.len().max(1).saturating_mul(parts);
        self.treedef.limits.expect_work(places, self.leaves_in_memory())?;
        let mut split: Vec<Vec<Option<L>>> =
            (0..parts).map(|_| Vec::with_capacity(self.leaves.len())).collect();
        for (path, leaf) in self.treedef.leaf_paths().zip(self.leaves) {
            let chosen = part(&path, &leaf);
            if chosen >= parts {
                return Err(no_such_part(chosen, parts).at(path));
            }
            let mut leaf = Some(leaf);
            for (number, leaves) in split.iter_mut().enumerate() {
                leaves.push(if number == chosen { leaf.take() } else { None });
            }
        }
        let tree = |leaves| Tree::from_parts(self.treedef.clone(), leaves);
        Ok(split.into_iter().map(tree).collect())
    }

    /// Two trees of the same structure: the leaves where `mask` is `true`, and the others. A leaf
    /// of the mask applies to the whole subtree in its place, and a static of it stands for any static.
    ///
    /// # Errors
    ///
    /// Returns an error when `mask` is not a prefix of this tree; the error has the path where they
    /// differ.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::new("(*, [*, *])".parse()?, vec![1, 2, 3])?;
    /// let mask = Tree::new("(*, *)".parse()?, vec![true, false])?;
    /// let (first, rest) = tree.partition_mask(&mask)?;
    /// assert_eq!((first.leaves()[0], rest.leaves()[2]), (Some(1), Some(3)));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[allow(clippy::type_complexity, reason = "two trees with holes, as in `partition`")]
    pub fn partition_mask(self, mask: &Tree<bool>) -> Result<(Tree<Option<L>>, Tree<Option<L>>)> {
        expect_prefix(&mask.treedef, &self.treedef, Statics::Any)?;
        let treedef = self.treedef.clone();
        let steps = leaf_steps(mask.treedef.root(), treedef.root());
        let mut chosen = steps
            .zip(&mask.leaves)
            .flat_map(|((_, subtree), yes)| std::iter::repeat_n(*yes, subtree.num_leaves()));
        Ok(split_leaves(self, |_| chosen.next().or_bug()))
    }
}

/// Two trees with holes; `first` gets only the leaf.
fn split_leaves<L>(
    tree: Tree<L>,
    mut first: impl FnMut(&L) -> bool,
) -> (Tree<Option<L>>, Tree<Option<L>>) {
    let split = |leaf| if first(&leaf) { (Some(leaf), None) } else { (None, Some(leaf)) };
    let (yes, no) = tree.leaves.into_iter().map(split).unzip();
    (Tree::from_parts(tree.treedef.clone(), yes), Tree::from_parts(tree.treedef, no))
}

impl<L> Tree<Option<L>> {
    /// Combines the trees of a partition: exactly one of them must have each leaf.
    ///
    /// # Errors
    ///
    /// Returns an error when `parts` is empty; when two parts have different structures; when a
    /// leaf is in none of the parts or in two of them. The error has the path.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let part = |leaves| Tree::new("[*, *]".parse()?, leaves);
    /// let error =
    ///     Tree::combine([part(vec![Some(1), None])?, part(vec![Some(2), None])?]).unwrap_err();
    /// assert_eq!(error.to_string(), "two parts have this leaf at `[0]`");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn combine(parts: impl IntoIterator<Item = Tree<Option<L>>>) -> Result<Tree<L>> {
        let mut parts = parts.into_iter();
        let mut combined = parts.next().ok_or(Cause::Nothing("there are no parts to combine"))?;
        for part in parts {
            combined.treedef = unified(combined.treedef, &part.treedef)?;
            let pairs = combined.leaves.iter_mut().zip(part.leaves).enumerate();
            for (index, (leaf, other)) in pairs {
                if leaf.is_some() && other.is_some() {
                    let twice = Error::argument("two parts have this leaf");
                    return Err(combined.treedef.error_at_leaf(index, twice));
                }
                *leaf = leaf.take().or(other);
            }
        }
        let missing = combined.leaves.iter().position(Option::is_none);
        if let Some(index) = missing {
            let none = Error::argument("no part has this leaf");
            return Err(combined.treedef.error_at_leaf(index, none));
        }
        let leaves = combined.leaves.into_iter().flatten().collect();
        Ok(Tree::from_parts(combined.treedef, leaves))
    }
}

#[cold]
pub(super) fn no_such_part(chosen: usize, parts: usize) -> Error {
    Error::argument(format_args!("there is no part {chosen} among {parts}"))
}
