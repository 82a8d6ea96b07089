//! Many trees of one structure as one tree of vectors, and back: an array of structs as a struct of
//! arrays.

use crate::error::{Cause, Error, Result};
use crate::message::counted;
use crate::model::{Tree, TreeDef};
use crate::treedef::limits::in_memory;
use crate::treedef::pairs::unified;

impl<L> Tree<L> {
    /// One tree whose leaves are vectors: each has the leaves of all `trees` at that place. Its
    /// [`map`](Self::map) applies a function to many trees at once.
    ///
    /// # Errors
    ///
    /// Returns an error when `trees` is empty, because then the structure is not known; when two
    /// trees have different structures.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let batch = [(1, 10), (2, 20), (3, 30)].map(|sample| Tree::of(&sample));
    /// let stacked = Tree::stack(batch.into_iter().collect::<Result<Vec<_>, _>>()?)?;
    /// assert_eq!(stacked.treedef().to_string(), "(*, *)");
    /// assert_eq!(stacked.leaves()[1].len(), 3);
    /// assert_eq!(stacked.clone().unstack()?[2], Tree::of(&(3, 30))?);
    ///
    /// let sizes = stacked.map(|column| column.len());
    /// assert_eq!(sizes.leaves(), [3, 3]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn stack(trees: impl IntoIterator<Item = Tree<L>>) -> Result<Tree<Vec<L>>> {
        let mut treedef: Option<TreeDef> = None;
        let mut rows = Vec::new();
        for (index, tree) in trees.into_iter().enumerate() {
            treedef = Some(match treedef {
                Some(first) => {
                    unified(first, &tree.treedef).map_err(|error| error.in_tree(index))?
                }
                None => tree.treedef,
            });
            rows.push(tree.leaves.into_iter());
        }
        let treedef = treedef.ok_or(Cause::Nothing("there are no trees to stack"))?;
        let columns = (0..treedef.num_leaves()).map(|_| {
            let mut column = Vec::with_capacity(rows.len());
            column.extend(rows.iter_mut().filter_map(Iterator::next));
            column
        });
        let leaves = columns.collect();
        Ok(Tree::from_parts(treedef, leaves))
    }
}

impl<L> Tree<Vec<L>> {
    /// The trees of the first elements of all leaves, of the second elements, and so on.
    ///
    /// # Errors
    ///
    /// Returns an error when two leaves have different numbers of elements, with the path;
    /// when there is no leaf, because then the number of trees is not known; when there are more
    /// elements of a zero-sized type than [`Limits::max_work`](crate::Limits::max_work) allows.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let points = Tree::new("(*, *)".parse()?, vec![vec![1, 2, 3], vec![10, 20, 30]])?.unstack()?;
    /// assert_eq!(points.len(), 3);
    /// assert_eq!(points[2].to_string(), "(3, 30)");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn unstack(self) -> Result<Vec<Tree<L>>> {
        let first = self.leaves.first().map(Vec::len);
        let count = first.ok_or(Cause::Nothing("without leaves there is nothing to unstack"))?;
        let other = self.leaves.iter().position(|column| column.len() != count);
        if let Some(index) = other {
            let found = self.leaves.get(index).map_or(0, Vec::len);
            let expected = counted(count, "element", "elements");
            let said = format!("expected {expected} as in the first leaf, found {found}");
            return Err(self.treedef.error_at_leaf(index, Error::argument(said)));
        }
        let width = self.leaves.len();
        let in_memory = self.leaves.iter().map(|column| in_memory(column)).sum();
        self.treedef.limits.expect_work(count, in_memory)?;
        let mut columns: Vec<_> = self.leaves.into_iter().map(Vec::into_iter).collect();
        let rows = (0..count).map(|_| {
            let mut row = Vec::with_capacity(width);
            row.extend(columns.iter_mut().filter_map(Iterator::next));
            Tree::from_parts(self.treedef.clone(), row)
        });
        Ok(rows.collect())
    }
}
