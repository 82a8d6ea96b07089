//! Replaces a subtree.

use crate::argument::ToPath;
use crate::error::Result;
use crate::model::Tree;

/// # Change the structure
///
/// ## When to use which
///
/// | | |
/// |---|---|
/// | one place, by its path | [`replace`](Tree::replace), [`remove`](Tree::remove); a new entry or element: [`insert`](Tree::insert) |
/// | the leaf there | `*tree.get_mut(path)? = leaf`; by a text: [`set_text`](Tree::set_text) |
/// | all places that a pattern matches | [`edit_at`](Tree::edit_at); a pattern that matches nothing is an error |
/// | the leaves there | [`select_mut`](Tree::select_mut); to keep or remove some of them: [`filter`](Tree::filter), [`split`](Tree::split) |
/// | the places that a function chooses | [`edit`](Tree::edit) from the root down, [`edit_up`](Tree::edit_up) from the leaves up |
///
/// A [`TreeDef`](crate::TreeDef) has `replace`, `edit` and `edit_up` as well, with the same meaning.
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
        let (old, range) = (node.to_treedef(), node.leaf_range());
        let taken = self.leaves.splice(range, new.leaves).collect();
        self.treedef = replaced;
        Ok(Tree::from_parts(old, taken))
    }
}
