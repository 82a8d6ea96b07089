//! Replaces a subtree.

use crate::argument::ToPath;
use crate::error::Result;
use crate::model::Tree;

/// # Change the structure
impl<L> Tree<L> {
    /// Replaces the subtree at `path` by `new`, and returns the old one.
    ///
    /// # Errors
    ///
    /// As [`TreeDef::replace`](crate::TreeDef::replace); the tree is then unchanged.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let mut tree = Tree::of(&vec![(1, 2), (3, 4)])?;
    /// let old = tree.replace("[0].1", Tree::of(&[7, 8, 9])?)?;
    /// assert_eq!(tree.to_string(), "[(1, (7, 8, 9)), (3, 4)]");
    /// assert_eq!(old.to_string(), "2");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[doc(alias = "tree_at")]
    pub fn replace(&mut self, path: impl ToPath, new: Tree<L>) -> Result<Tree<L>> {
        let path = self.treedef.resolve(path)?;
        let replaced = self.treedef.replace(&path, &new.treedef)?;
        let node = self.treedef.node(&path)?;
        let (old, range) = (node.to_treedef().with_limits(self.treedef.limits), node.leaf_range());
        let taken = self.leaves.splice(range, new.leaves).collect();
        self.treedef = replaced;
        Ok(Tree::from_parts(old, taken))
    }
}
