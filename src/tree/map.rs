//! Functions applied to each leaf; the new leaves may have any type.

use std::iter::Zip;
use std::slice;

use crate::error::{Error, Result};
use crate::model::Tree;
use crate::path::Path;
use crate::treedef::walk::LeafPaths;

/// # Leaf by leaf
impl<L> Tree<L> {
    /// Applies `f` to every leaf. The structure stays the same.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let lengths = Tree::of(&("a", ["bc", ""]))?.map(|leaf| leaf.as_str().map_or(0, str::len));
    /// assert_eq!(lengths.leaves(), [1, 2, 0]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[must_use]
    pub fn map<M>(self, f: impl FnMut(L) -> M) -> Tree<M> {
        Tree::from_parts(self.treedef, self.leaves.into_iter().map(f).collect())
    }

    /// Applies `f`, which may fail, to every leaf.
    ///
    /// # Errors
    ///
    /// Returns the first error of `f`, with the path of its leaf. Its
    /// [`source`](std::error::Error::source) is the error that `f` returned, unless that is an
    /// [`Error`] without a path.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let error = Tree::of(&(1.5, "a"))?.try_map(f64::try_from).unwrap_err();
    /// assert_eq!(error.to_string(), "expected f64, found str at `.1`");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn try_map<M, E: Into<Box<dyn std::error::Error + Send + Sync>>>(
        self,
        mut f: impl FnMut(L) -> Result<M, E>,
    ) -> Result<Tree<M>> {
        let mut leaves = Vec::with_capacity(self.leaves.len());
        for leaf in self.leaves {
            let said = |error| self.treedef.error_at_leaf(leaves.len(), Error::of_function(error));
            let mapped = f(leaf).map_err(said)?;
            leaves.push(mapped);
        }
        Ok(Tree::from_parts(self.treedef, leaves))
    }

    /// Applies `f` to every leaf and its path.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let paths = Tree::of(&("a", ["b"]))?.map_with_path(|path, _| path.to_string());
    /// assert_eq!(paths.leaves(), [".0", ".1.0"]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[must_use]
    pub fn map_with_path<M>(self, mut f: impl FnMut(&Path, L) -> M) -> Tree<M> {
        let paths = self.treedef.leaf_paths();
        let leaves = paths.zip(self.leaves).map(|(path, leaf)| f(&path, leaf)).collect();
        Tree::from_parts(self.treedef, leaves)
    }

    /// The same tree with references to the leaves.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::new("[*, *]".parse()?, vec![String::from("a"), String::from("bc")])?;
    /// assert_eq!(tree.as_ref().map(|text| text.len()).leaves(), [1, 2]);
    /// assert_eq!(tree.leaves(), ["a", "bc"]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn as_ref(&self) -> Tree<&L> {
        Tree::from_parts(self.treedef.clone(), self.leaves.iter().collect())
    }

    /// The leaves with their paths, in order.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::of(&("a", ["b"]))?;
    /// let (path, leaf) = tree.iter().nth(1).unwrap();
    /// assert_eq!((path.to_string().as_str(), leaf.as_str()), (".1.0", Some("b")));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[doc(alias = "tree_flatten_with_path")]
    #[doc(alias = "tree_leaves_with_path")]
    pub fn iter(&self) -> Zip<LeafPaths<'_>, slice::Iter<'_, L>> {
        self.treedef.leaf_paths().zip(&self.leaves)
    }

    /// The leaves with their paths, in order, mutable.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let mut tree = Tree::new("(*, [*, *])".parse()?, vec![1, 2, 3])?;
    /// for (path, leaf) in &mut tree {
    ///     *leaf *= path.keys().len();
    /// }
    /// assert_eq!(tree.leaves(), [1, 4, 6]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn iter_mut(&mut self) -> Zip<LeafPaths<'_>, slice::IterMut<'_, L>> {
        self.treedef.leaf_paths().zip(&mut self.leaves)
    }
}

impl<'a, L> IntoIterator for &'a Tree<L> {
    type Item = (Path, &'a L);
    type IntoIter = Zip<LeafPaths<'a>, slice::Iter<'a, L>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, L> IntoIterator for &'a mut Tree<L> {
    type Item = (Path, &'a mut L);
    type IntoIter = Zip<LeafPaths<'a>, slice::IterMut<'a, L>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}
