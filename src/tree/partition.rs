//! Leaves told apart, and put together again.
//!
//! The idea is Equinox's `partition` and `combine`; there the holes are `None`, which is a node to JAX, so that a tree
//! that holds a `None` of its own does not come back.

use crate::error::{Error, ErrorKind, Result};
use crate::model::Tree;
use crate::path::Path;
use crate::treedef::pairs::{LeafSteps, expect_equal, expect_prefix};

impl<L> Tree<L> {
    /// Two trees of the same structure: the leaves of which a function says so, and the others. Where a leaf went to
    /// the other tree there is a hole.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::of(&(1.5, "a", 2.5))?;
    /// let (floats, others) = tree.clone().partition(|_, leaf| leaf.kind().is_float());
    /// assert_eq!(floats.leaves()[1], None);
    /// assert_eq!(Tree::combine([floats, others])?, tree);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[must_use]
    pub fn partition(
        self,
        mut first: impl FnMut(&Path, &L) -> bool,
    ) -> (Tree<Option<L>>, Tree<Option<L>>) {
        let treedef = self.treedef.clone();
        let mut paths = treedef.leaf_paths();
        parted(self, |leaf| first(&paths.next().unwrap_or_default(), leaf)) // there are as many
    }

    /// As many trees of the same structure as asked for; a function says which one a leaf goes to.
    ///
    /// # Errors
    ///
    /// When the function names a tree that is not there; the error has the path of the leaf. When there are so many parts
    /// that [`Limits::max_work`](crate::Limits::max_work) does not allow the holes.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::new("[*, *, *, *]".parse()?, vec![3, 0, 1, 0])?;
    /// let parts = tree.partition_into(4, |_, leaf| *leaf)?;
    /// assert_eq!(parts[0].leaves(), [None, Some(0), None, Some(0)]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn partition_into(
        self,
        parts: usize,
        mut part: impl FnMut(&Path, &L) -> usize,
    ) -> Result<Vec<Tree<Option<L>>>> {
        let places = self.leaves.len().max(1).saturating_mul(parts);
        self.treedef.limits.expect_work(places, self.leaves_in_memory())?;
        let mut split: Vec<Vec<Option<L>>> =
            (0..parts).map(|_| Vec::with_capacity(self.leaves.len())).collect();
        for (path, leaf) in self.treedef.leaf_paths().zip(self.leaves) {
            let chosen = part(&path, &leaf);
            if chosen >= parts {
                let said = format!("there is no part {chosen} among {parts}");
                return Err(Error::custom(said).at(path));
            }
            let mut leaf = Some(leaf);
            for (number, leaves) in split.iter_mut().enumerate() {
                leaves.push(if number == chosen { leaf.take() } else { None });
            }
        }
        let tree = |leaves| Tree::from_parts(self.treedef.clone(), leaves);
        Ok(split.into_iter().map(tree).collect())
    }

    /// Two trees of the same structure: the leaves where a mask says so, and the others. A leaf of the mask stands for
    /// its subtree.
    ///
    /// # Errors
    ///
    /// When the mask is no prefix of this tree; the error says where the two part.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::new("(*, [*, *])".parse()?, vec![1, 2, 3])?;
    /// let mask = Tree::new("(*, *)".parse()?, vec![true, false])?;
    /// let (first, rest) = tree.partition_mask(&mask)?;
    /// assert_eq!((first.leaves()[0], rest.leaves()[2]), (Some(1), Some(3)));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[allow(clippy::type_complexity, reason = "two trees with holes, as in `partition`")]
    pub fn partition_mask(self, mask: &Tree<bool>) -> Result<(Tree<Option<L>>, Tree<Option<L>>)> {
        expect_prefix(&mask.treedef, &self.treedef)?;
        let treedef = self.treedef.clone();
        let steps = LeafSteps::new(mask.treedef.root(), treedef.root());
        let mut chosen = steps
            .zip(&mask.leaves)
            .flat_map(|((_, subtree), yes)| std::iter::repeat_n(*yes, subtree.num_leaves()));
        Ok(parted(self, |_| chosen.next().unwrap_or_default()))
    }
}

/// Two trees with holes, by the leaves alone.
fn parted<L>(
    tree: Tree<L>,
    mut first: impl FnMut(&L) -> bool,
) -> (Tree<Option<L>>, Tree<Option<L>>) {
    let split = |leaf| if first(&leaf) { (Some(leaf), None) } else { (None, Some(leaf)) };
    let (yes, no) = tree.leaves.into_iter().map(split).unzip();
    (Tree::from_parts(tree.treedef.clone(), yes), Tree::from_parts(tree.treedef, no))
}

impl<L> Tree<Option<L>> {
    /// The tree that was told apart into these: every leaf stands in just one of them.
    ///
    /// # Errors
    ///
    /// When there is no tree, when two have different structures, and when a leaf stands in none or in two; the error
    /// says where.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let part = |leaves| Tree::new("[*, *]".parse()?, leaves);
    /// let error = Tree::combine([part(vec![Some(1), None])?, part(vec![Some(2), None])?]).unwrap_err();
    /// assert_eq!(error.to_string(), "the leaf stands in two parts at `[0]`");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn combine(parts: impl IntoIterator<Item = Tree<Option<L>>>) -> Result<Tree<L>> {
        let mut parts = parts.into_iter();
        let mut combined =
            parts.next().ok_or(ErrorKind::Nothing("there are no parts to combine"))?;
        for part in parts {
            expect_equal(&combined.treedef, &part.treedef)?;
            let pairs = combined.leaves.iter_mut().zip(part.leaves).enumerate();
            for (index, (leaf, other)) in pairs {
                if leaf.is_some() && other.is_some() {
                    let twice = ErrorKind::Conflict("the leaf stands in two parts");
                    return Err(combined.treedef.error_at_leaf(index, twice));
                }
                *leaf = leaf.take().or(other);
            }
        }
        combined.try_map(|leaf| leaf.ok_or("the leaf stands in no part"))
    }
}
