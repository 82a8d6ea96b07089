//! Divides leaves between trees of the same structure, and combines these again.
//!
//! The idea is Equinox's `partition` and `combine`. There the holes are `None`, which JAX treats as
//! a node, so a tree with a `None` of its own cannot be restored.

use crate::error::{Cause, Error, Result};
use crate::model::Tree;
use crate::treedef::pairs::unified;

use super::choice::Choice;

/// # Split and join
impl<L> Tree<L> {
    /// Two trees of the same structure: one with the leaves that `first` chooses, one with the others. Each
    /// tree has a hole, `None`, for every leaf of the other.
    ///
    /// # When to use which
    ///
    /// | you want | call | the result |
    /// |---|---|---|
    /// | to treat some leaves differently, and to put all back | [`partition`](Self::partition) | two trees of this structure, with holes; [`combine`](Self::combine) always restores the tree |
    /// | two values, to save or rebuild on their own | [`split`](Self::split) | two smaller trees without holes; [`merge`](Self::merge) restores the tree unless elements of a list were divided |
    /// | only some of the leaves | [`filter`](Self::filter) | one smaller tree; the other leaves are dropped |
    /// | to change some leaves in place | [`select_mut`](Self::select_mut) | no tree is divided |
    /// | more than two parts | [`split_into`](Self::split_into) | smaller trees without holes |
    ///
    /// # Errors
    ///
    /// As [`Choice`].
    ///
    /// ```
    /// use treedef::{Leaf, Tree};
    ///
    /// let tree = Tree::of(&(1.5, "a", 2.5))?;
    /// let (floats, others) = tree.clone().partition(|_: &_, leaf: &Leaf| leaf.kind().is_float())?;
    /// assert_eq!(floats.leaves()[1], None);
    /// assert_eq!(Tree::combine([floats, others])?, tree);
    /// assert_eq!(tree.partition(".1")?.1.leaves()[1], None);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[doc(alias = "tree_partition")]
    #[allow(clippy::type_complexity, reason = "two trees with holes")]
    pub fn partition(self, first: impl Choice<L>) -> Result<(Tree<Option<L>>, Tree<Option<L>>)> {
        let chosen = self.chosen(first)?;
        let split = |(leaf, yes)| if yes { (Some(leaf), None) } else { (None, Some(leaf)) };
        let (yes, no) = self.leaves.into_iter().zip(chosen).map(split).unzip();
        Ok((Tree::from_parts(self.treedef.clone(), yes), Tree::from_parts(self.treedef, no)))
    }
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
