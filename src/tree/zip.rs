//! Combines two trees leaf by leaf.

use crate::error::Result;
use crate::model::Tree;
use crate::treedef::pairs::unified;

/// # Combine with another
impl<L> Tree<L> {
    /// Combines the leaves of two trees of the same structure with `f`. For more than two trees,
    /// use [`stack`](Self::stack) if their leaves have one type, or [`zip`](Self::zip) otherwise.
    ///
    /// Statics are part of the structure. For two values that differ in one, such as a step
    /// counter, see [`Flattener::ignore_statics`](crate::Flattener::ignore_statics).
    ///
    /// # Errors
    ///
    /// Returns an error when the structures differ; the error has the differences.
    /// To use a prefix, extend it to the whole structure first:
    /// [`broadcast_to`](Self::broadcast_to).
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
    #[doc(alias = "tree_multimap")]
    pub fn zip_with<M, N>(self, other: Tree<M>, mut f: impl FnMut(L, M) -> N) -> Result<Tree<N>> {
        let treedef = unified(self.treedef, &other.treedef)?;
        let pairs = self.leaves.into_iter().zip(other.leaves);
        Ok(Tree::from_parts(treedef, pairs.map(|(a, b)| f(a, b)).collect()))
    }

    /// Pairs the leaves of two trees of the same structure. Use it where [`zip_with`](Self::zip_with) does
    /// not suffice: for a function that may fail or needs the path, as in `a.zip(b)?.try_map(f)?`. For
    /// three trees, zip twice and map pairs of pairs. To take pairs apart, use
    /// `leaves.into_iter().unzip()`.
    ///
    /// # Errors
    ///
    /// As [`zip_with`](Self::zip_with).
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = |leaves| Tree::new("(*, [*])".parse()?, leaves);
    /// let (w, g, rate) = (tree(vec![1.0, 2.0])?, tree(vec![10.0, 20.0])?, tree(vec![0.1, 0.5])?);
    /// let stepped = w.zip(g)?.zip(rate)?.map(|((w, g), rate)| w - rate * g);
    /// assert_eq!(stepped.leaves(), [0.0, -8.0]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn zip<M>(self, other: Tree<M>) -> Result<Tree<(L, M)>> {
        self.zip_with(other, |a, b| (a, b))
    }
}
