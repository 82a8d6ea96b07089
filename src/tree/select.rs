//! Access to leaves by paths and patterns.

use super::prefix::subtree_of;
use crate::argument::{ToPath, ToPattern};
use crate::error::Result;
use crate::model::Tree;
use crate::path::Path;

impl<L> Tree<L> {
    /// The leaf at a path.
    ///
    /// # Errors
    ///
    /// When the path leads nowhere, or to a node that is not a leaf.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let mut tree = Tree::new("Model { w: [*, *], b: * }".parse()?, vec![1.0, 2.0, 3.0])?;
    /// *tree.get_mut(".w[1]")? = 20.0;
    /// assert_eq!(*tree.get(".w[1]")?, 20.0);
    ///
    /// let error = tree.get(".w").unwrap_err();
    /// assert_eq!(error.to_string(), "expected a leaf, found `[*, *]` at `.w`");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn get(&self, path: impl ToPath) -> Result<&L> {
        // In bounds: it is the index of a leaf of the treedef.
        Ok(&self.leaves[self.treedef.leaf_index(path)?])
    }

    /// The leaf at a path, mutable.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    pub fn get_mut(&mut self, path: impl ToPath) -> Result<&mut L> {
        Ok(&mut self.leaves[self.treedef.leaf_index(path)?])
    }

    /// Replaces the leaf at a path, and returns the old one.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let mut tree = Tree::new("(*, [*])".parse()?, vec![1, 2])?;
    /// assert_eq!(tree.set(".1[0]", 20)?, 2);
    /// assert_eq!(tree.leaves(), [1, 20]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn set(&mut self, path: impl ToPath, leaf: L) -> Result<L> {
        Ok(std::mem::replace(self.get_mut(path)?, leaf))
    }

    /// The leaves whose paths match a pattern, with their paths.
    ///
    /// # Errors
    ///
    /// When the text is not a pattern.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::new("[Layer { w: *, b: * }; 2]".parse()?, vec![1, 2, 3, 4])?;
    /// let biases: Vec<i32> = tree.select("**.b")?.map(|(_, leaf)| *leaf).collect();
    /// assert_eq!(biases, [2, 4]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn select(&self, pattern: impl ToPattern) -> Result<impl Iterator<Item = (Path, &L)>> {
        let pattern = pattern.to_pattern()?.into_owned();
        Ok(self.iter().filter(move |(path, _)| pattern.matches(path)))
    }

    /// The leaves whose paths match a pattern, with their paths, mutable.
    ///
    /// # Errors
    ///
    /// When the text is not a pattern.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let mut tree = Tree::new("[Layer { w: *, b: * }; 2]".parse()?, vec![1, 2, 3, 4])?;
    /// tree.select_mut("**.b")?.for_each(|(_, leaf)| *leaf = 0);
    /// assert_eq!(tree.leaves(), [1, 0, 3, 0]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn select_mut(
        &mut self,
        pattern: impl ToPattern,
    ) -> Result<impl Iterator<Item = (Path, &mut L)>> {
        let pattern = pattern.to_pattern()?.into_owned();
        let paths = self.treedef.leaf_paths();
        Ok(paths.zip(&mut self.leaves).filter(move |(path, _)| pattern.matches(path)))
    }
}

impl<L: Clone> Tree<L> {
    /// The subtree at a path.
    ///
    /// # Errors
    ///
    /// When the path leads nowhere.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::of(&("a", vec![1, 2]))?;
    /// assert_eq!(tree.subtree(".1")?.to_string(), "[1, 2]");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn subtree(&self, path: impl ToPath) -> Result<Tree<L>> {
        Ok(subtree_of(self, self.treedef.node(path)?))
    }
}
