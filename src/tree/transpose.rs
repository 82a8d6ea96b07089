//! Transposes a tree of trees.

use crate::bug::OrBug;
use crate::error::Result;
use crate::model::{Tree, TreeDef};

use crate::treedef::pairs::{expect_equal, with_options_of};

impl<L> Tree<L> {
    /// Turns a tree of the structure `outer` composed with `inner` into a tree of `inner` composed
    /// with `outer`: a list of structs becomes a struct of lists.
    ///
    /// The structures are compared, not only the numbers of leaves. If `inner` is not known, use
    /// [`TreeDef::inner_of`].
    ///
    /// # Errors
    ///
    /// Returns an error when the tree has another structure; the error has the path.
    ///
    /// ```
    /// use treedef::{Tree, TreeDef};
    ///
    /// let points = Tree::of(&vec![(1, 2), (3, 4), (5, 6)])?;
    /// let outer: TreeDef = "[*, *, *]".parse()?;
    /// let inner = points.treedef().inner_of(&outer)?;
    /// assert_eq!(points.transpose(&outer, &inner)?.to_string(), "([1, 3, 5], [2, 4, 6])");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[doc(alias = "tree_transpose")]
    pub fn transpose(self, outer: &TreeDef, inner: &TreeDef) -> Result<Tree<L>> {
        expect_equal(&outer.compose(inner)?, &self.treedef)?;
        let treedef = inner.compose(outer)?.with_limits(self.treedef.limits());
        let treedef = with_options_of(treedef, &self.treedef)?;
        if self.leaves.is_empty() {
            return Ok(Tree::from_parts(treedef, Vec::new())); // one of the two may have any number of leaves
        }
        let mut columns: Vec<Vec<L>> =
            (0..inner.num_leaves()).map(|_| Vec::with_capacity(outer.num_leaves())).collect();
        let mut column = (0..inner.num_leaves()).cycle();
        for leaf in self.leaves {
            // In bounds: the range, which repeats, is as long as `columns`.
            columns[column.next().or_bug()].push(leaf);
        }
        Ok(Tree::from_parts(treedef, columns.into_iter().flatten().collect()))
    }
}
