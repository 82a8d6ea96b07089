//! Access to leaves by paths and patterns.

use super::prefix::subtree_of;
use crate::argument::{ToPath, ToPattern};
use crate::error::Result;
use crate::model::Tree;
use crate::path::Path;

/// What accepts a pattern that names nothing.
const SELECT_ANY: &str = "select_any";

/// # Find by path or pattern
impl<L> Tree<L> {
    /// The leaf at a path, in the time of [`TreeDef::node`](crate::TreeDef::node).
    ///
    /// # Errors
    ///
    /// Returns an error when the path leads nowhere, or to a node that is not a leaf.
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

    /// The leaf at a path, mutable, in the time of [`get`](Self::get).
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let mut tree = Tree::<i32>::of_as(&(1, [2, 3]))?;
    /// *tree.get_mut(".1.0")? += 10;
    /// assert_eq!(tree.leaves(), [1, 12, 3]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn get_mut(&mut self, path: impl ToPath) -> Result<&mut L> {
        Ok(&mut self.leaves[self.treedef.leaf_index(path)?])
    }

    /// Replaces the leaf at a path, and returns the old one; in the same time.
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

    /// The leaves at and below the nodes that a pattern names, with their paths. The time depends on
    /// what is found and on the lengths of its paths, and not on how many leaves there are.
    ///
    /// # Errors
    ///
    /// Returns an error when the text is not a pattern, or when it names no node of this tree.
    /// [`select_any`](Self::select_any) accepts the latter.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::new("[Layer { w: [*; 2], b: * }; 2]".parse()?, vec![1, 2, 3, 4, 5, 6])?;
    /// let weights: Vec<i32> = tree.select("**.w")?.map(|(_, leaf)| *leaf).collect();
    /// assert_eq!(weights, [1, 2, 4, 5]);
    ///
    /// let error = tree.select("**.bias").err().unwrap();
    /// let message = "no node matches `**.bias` (did you mean `**.b`? or see `select_any`)";
    /// assert_eq!(error.to_string(), message);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn select(&self, pattern: impl ToPattern) -> Result<impl Iterator<Item = (Path, &L)>> {
        let pattern = pattern.to_pattern()?;
        let mut found = self.select_any(pattern.clone().into_owned())?.peekable();
        if found.peek().is_none() || pattern.has_braces() {
            self.treedef.expect_match(&pattern, Some(SELECT_ANY))?;
        }
        Ok(found)
    }

    /// As [`select`](Self::select), and nothing if the pattern names no node.
    ///
    /// # Errors
    ///
    /// Returns an error when the text is not a pattern.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::<i32>::of_as(&(1, [2, 3]))?;
    /// assert_eq!(tree.select_any("**.bias")?.count(), 0);
    /// assert!(tree.select("**.bias").is_err());
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn select_any(&self, pattern: impl ToPattern) -> Result<impl Iterator<Item = (Path, &L)>> {
        let found = self.treedef.matches(pattern.to_pattern()?.into_owned()).leaves();
        Ok(found.map(|(path, index)| (path, &self.leaves[index]))) // the index of a leaf
    }

    /// As [`select`](Self::select), with mutable leaves.
    ///
    /// # Errors
    ///
    /// As [`select`](Self::select).
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
        let mut found = self.treedef.matches(pattern.clone()).leaves().peekable();
        if found.peek().is_none() || pattern.has_braces() {
            self.treedef.expect_match(&pattern, Some(SELECT_ANY))?;
        }
        let (mut leaves, mut next) = (self.leaves.iter_mut(), 0);
        Ok(found.filter_map(move |(path, index)| {
            let leaf = leaves.nth(index - next)?; // the indices grow
            next = index + 1;
            Some((path, leaf))
        }))
    }

    /// For each leaf, whether the pattern names it or a node above it. No paths are made, so the time does
    /// not grow with their lengths.
    ///
    /// # Errors
    ///
    /// Returns an error when the text is not a pattern, or when it names no node of this tree.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::new("[Layer { w: [*; 2], b: * }; 2]".parse()?, vec![1, 2, 3, 4, 5, 6])?;
    /// let mut mask = tree.mask("**.w")?;
    /// assert_eq!(mask.leaves(), [true, true, false, true, true, false]);
    ///
    /// // Another pattern adds to the mask.
    /// mask.select_mut("[0].b")?.for_each(|(_, leaf)| *leaf = true);
    /// let (decayed, others) = tree.partition_mask(&mask)?;
    /// assert_eq!(decayed.leaves().iter().flatten().count(), 5);
    /// assert_eq!(others.leaves().iter().flatten().count(), 1);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn mask(&self, pattern: impl ToPattern) -> Result<Tree<bool>> {
        self.treedef.expect_made(self.leaves.len(), self.leaves_in_memory())?;
        let mut mask = Tree::from_parts(self.treedef.clone(), vec![false; self.leaves.len()]);
        let pattern = pattern.to_pattern()?.into_owned();
        let mut found = self.treedef.matches(pattern.clone()).leaf_ranges().peekable();
        if found.peek().is_none() || pattern.has_braces() {
            self.treedef.expect_match(&pattern, None)?;
        }
        found.for_each(|range| mask.leaves[range].fill(true)); // of leaves of the structure
        Ok(mask)
    }
}

impl<L: Clone> Tree<L> {
    /// The subtree at a path.
    ///
    /// # Errors
    ///
    /// Returns an error when the path leads nowhere.
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
