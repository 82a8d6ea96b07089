//! Diffs of trees, leaves included.

use crate::error::Result;
use crate::model::{Tree, TreeDef};
use crate::treedef::diff::{Diff, Diffable, below, diff, patch};
use crate::treedef::node_ref::NodeRef;

impl<L: Clone + PartialEq> Diffable for Tree<L> {
    type Leaf = L;

    fn cut(node: NodeRef<'_>, leaves: Option<&[L]>) -> Self {
        Tree::from_parts(node.to_treedef(), below(node, leaves, 1).to_vec())
    }

    fn join(treedef: TreeDef, leaves: Vec<L>) -> Self {
        Tree::from_parts(treedef, leaves)
    }

    fn structure(&self) -> &TreeDef {
        &self.treedef
    }

    fn own_leaves(&self) -> Option<&[L]> {
        Some(&self.leaves)
    }
}

impl<L: Clone + PartialEq> Tree<L> {
    /// The changes from this tree to `new`: those of [`TreeDef::diff`], and the leaves that differ.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let old = Tree::of(&vec![("a", 1), ("b", 2), ("c", 3)])?;
    /// let new = Tree::of(&vec![("a", 1), ("c", 4)])?;
    /// let diff = old.diff(&new);
    /// assert_eq!(diff.to_string(), "\
    /// 3 changes
    /// ~ [1].0: \"b\" → \"c\"
    /// ~ [1].1: 2 → 4
    /// - [2]: (\"c\", 3)");
    /// assert_eq!(old.patch(&diff)?, new);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn diff(&self, new: &Tree<L>) -> Diff<Tree<L>> {
        diff(self, new)
    }
}

impl<L: Clone + PartialEq> Tree<L> {
    /// Applies a [`diff`](Tree::diff) to this tree. The tree may differ from the one that the diff
    /// was made with, but only where the diff changes nothing.
    ///
    /// # Errors
    ///
    /// Returns an error when the tree differs at a place that the diff changes; the error has the
    /// path.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let (old, new) = (Tree::of(&vec![1, 2, 3])?, Tree::of(&vec![1, 5, 3])?);
    /// let diff = old.diff(&new);
    /// assert_eq!(Tree::of(&vec![9, 2, 9])?.patch(&diff)?, Tree::of(&vec![9, 5, 9])?);
    ///
    /// let error = new.patch(&diff).unwrap_err();
    /// assert_eq!(error.to_string(), "another leaf than the one that was changed at `[1]`");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn patch(&self, diff: &Diff<Tree<L>>) -> Result<Tree<L>> {
        patch(self, diff)
    }
}
