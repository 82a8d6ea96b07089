//! Access to leaves by paths and patterns.

use super::choice::{Choice, Chosen};
use super::prefix::subtree_of;
use crate::argument::ToPath;
use crate::error::Result;
use crate::model::{Tree, TreeDef};
use crate::path::Path;

/// # Find by path or pattern
impl<L> Tree<L> {
    /// The leaf at a path. Takes as long as [`TreeDef::node`](crate::TreeDef::node).
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

    /// The leaf at a path, mutable. Takes as long as [`get`](Self::get).
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

    /// The leaves that `select` chooses, with their paths. For a pattern, the time depends on the number
    /// and the length of the paths that are found, not on the number of leaves.
    ///
    /// # Errors
    ///
    /// As [`Choice`]: for example when a pattern matches no node of this tree.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::new("[Layer { w: [*; 2], b: * }; 2]".parse()?, vec![1, 2, 3, 4, 5, 6])?;
    /// let weights: Vec<i32> = tree.select("**.w")?.map(|(_, leaf)| *leaf).collect();
    /// assert_eq!(weights, [1, 2, 4, 5]);
    /// assert_eq!(tree.select(|_: &_, leaf: &i32| *leaf > 9)?.count(), 0);
    ///
    /// let error = tree.select("**.bias").err().unwrap();
    /// assert_eq!(error.to_string(), "no node matches `**.bias` (did you mean `**.b`?)");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn select(&self, select: impl Choice<L>) -> Result<impl Iterator<Item = (Path, &L)>> {
        let found = found(&self.treedef, select.chosen(self)?);
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
        select: impl Choice<L>,
    ) -> Result<impl Iterator<Item = (Path, &mut L)>> {
        let found = found(&self.treedef, select.chosen(self)?);
        let (mut leaves, mut next) = (self.leaves.iter_mut(), 0);
        Ok(found.filter_map(move |(path, index)| {
            let leaf = leaves.nth(index - next)?; // the indices grow
            next = index + 1;
            Some((path, leaf))
        }))
    }

    /// For each leaf, whether `select` chooses it. No paths are built for a pattern, so the time does not
    /// depend on their lengths.
    ///
    /// # Errors
    ///
    /// As [`Choice`].
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
    /// let (decayed, others) = tree.partition(&mask)?;
    /// assert_eq!(decayed.leaves().iter().flatten().count(), 5);
    /// assert_eq!(others.leaves().iter().flatten().count(), 1);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn mask(&self, select: impl Choice<L>) -> Result<Tree<bool>> {
        Ok(Tree::from_parts(self.treedef.clone(), self.chosen(select)?))
    }

    /// For each leaf, whether it is chosen.
    pub(super) fn chosen(&self, select: impl Choice<L>) -> Result<Vec<bool>> {
        match select.chosen(self)? {
            Chosen::Leaves(chosen) => Ok(chosen),
            Chosen::Named(pattern) => {
                self.treedef.expect_made(self.leaves.len(), self.leaves_in_memory())?;
                let mut chosen = vec![false; self.leaves.len()];
                let found = self.treedef.matches(pattern).leaf_ranges();
                found.for_each(|range| chosen[range].fill(true)); // of leaves of the structure
                Ok(chosen)
            }
        }
    }
}

/// The chosen leaves, with their paths and indices.
fn found(treedef: &TreeDef, chosen: Chosen) -> impl Iterator<Item = (Path, usize)> {
    let (pattern, leaves) = match chosen {
        Chosen::Named(pattern) => (Some(pattern), Vec::new()),
        Chosen::Leaves(leaves) => (None, leaves),
    };
    let named = pattern.into_iter().flat_map(|pattern| treedef.matches(pattern).leaves());
    let paths = treedef.leaf_paths().zip(0..).zip(leaves);
    named.chain(paths.filter_map(|(leaf, is_chosen)| is_chosen.then_some(leaf)))
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
