//! Two trees, leaf by leaf.

use crate::algebra::{LeafSteps, expect_equal, expect_prefix};
use crate::error::Result;
use crate::model::Tree;

impl<L> Tree<L> {
    /// Joins the leaves of two trees of one structure.
    ///
    /// # Errors
    ///
    /// When the other tree has another structure; the error has the differences. [`zip_prefix`](Self::zip_prefix) asks for
    /// less.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let weights = Tree::new("[*, (*, *)]".parse()?, vec![1.0, 2.0, 3.0])?;
    /// let steps = Tree::new("[*, (*, *)]".parse()?, vec![0.5, 0.0, 1.0])?;
    /// assert_eq!(weights.clone().zip_with(steps, |w, s| w - s)?.leaves(), [0.5, 2.0, 2.0]);
    ///
    /// let others = Tree::new("[*, [*, *]]".parse()?, vec![0.5, 0.0, 1.0])?;
    /// let error = weights.zip_with(others, |w, s| w - s).unwrap_err();
    /// assert_eq!(error.to_string(), "expected `(*, *)`, found `[*, *]` at `[1]`");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn zip_with<M, N>(self, other: Tree<M>, mut f: impl FnMut(L, M) -> N) -> Result<Tree<N>> {
        expect_equal(&self.treedef, &other.treedef)?;
        let pairs = self.leaves.into_iter().zip(other.leaves);
        Ok(Tree::from_parts(self.treedef, pairs.map(|(a, b)| f(a, b)).collect()))
    }

    /// Joins every leaf of this tree with all leaves of the subtree that it stands for: this structure is a prefix of the other's,
    /// which the result has.
    ///
    /// # Errors
    ///
    /// When this tree is no prefix of the other; the error says where the two part.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let gradients = Tree::new("([*, *], *)".parse()?, vec![1.0, 2.0, 3.0])?;
    /// let rates = Tree::new("(*, *)".parse()?, vec![0.1, 1.0])?;
    /// assert_eq!(rates.zip_prefix(gradients, |rate, g| rate * g)?.leaves(), [0.1, 0.2, 3.0]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn zip_prefix<M, N>(
        &self,
        full: Tree<M>,
        mut f: impl FnMut(&L, M) -> N,
    ) -> Result<Tree<N>> {
        expect_prefix(&self.treedef, &full.treedef)?;
        let mut leaves = Vec::with_capacity(full.leaves.len());
        let mut below = full.leaves.into_iter();
        let steps = LeafSteps::new(self.treedef.root(), full.treedef.root());
        for ((_, subtree), leaf) in steps.zip(&self.leaves) {
            leaves.extend(below.by_ref().take(subtree.num_leaves()).map(|other| f(leaf, other)));
        }
        Ok(Tree::from_parts(full.treedef, leaves))
    }
}
