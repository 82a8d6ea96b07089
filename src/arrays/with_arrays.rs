//! Trees whose arrays are leaves.

use crate::arrays::collect::collect_arrays;
use crate::error::Result;
use crate::model::{Leaf, Tree};
use crate::treedef::Edit;

impl Tree<Leaf> {
    /// The tree with each array as one leaf, whose numbers are in one buffer.
    ///
    /// [`Flattener::arrays`](crate::Flattener::arrays) defines an array.
    ///
    /// # When to use which
    ///
    /// To flatten a value, use [`Flattener::arrays`](crate::Flattener::arrays), which makes the same tree
    /// without a leaf for each number. To apply [rules](crate::ArrayRule) about arrays to a tree, use
    /// [`Flattener::apply_rules`](crate::Flattener::apply_rules). To look at the arrays without a change,
    /// use [`blocks`](Self::blocks).
    ///
    /// # Errors
    ///
    /// Returns an error when the tree without its arrays exceeds the limits of its treedef.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::of(&("adam", vec![vec![0.5f32; 4]; 3], 7u64))?.with_arrays()?;
    /// assert_eq!(tree.treedef().to_string(), "(*, *, *)");
    /// let w = tree.leaves()[1].as_array().unwrap();
    /// assert_eq!(format!("{w:?}"), "Array(f32[3, 4])");
    /// assert_eq!(w.as_slice::<f32>().unwrap().len(), 12);
    /// assert_eq!(tree.into_typed::<(String, Vec<Vec<f32>>, u64)>()?.1, vec![vec![0.5; 4]; 3]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn with_arrays(self) -> Result<Tree<Leaf>> {
        let (treedef, leaves) =
            collect_arrays(&self.treedef, self.leaves.into_iter().collect(), &[])?;
        Ok(Tree::from_parts(treedef, leaves))
    }

    /// The inverse of [`with_arrays`](Self::with_arrays): each number of an array is a leaf again.
    ///
    /// Statics in an array, e.g. sizes under [`ArrayRule::Ndarray`](crate::ArrayRule::Ndarray),
    /// become leaves, because a leaf holds a value, and values have no statics.
    ///
    /// A file does not record why several numbers are one leaf. So a leaf that
    /// [`as_opaque`](fn@crate::as_opaque) made of numbers is an array after it was read from a
    /// file.
    ///
    /// # Errors
    ///
    /// Returns an error when there are more nodes than
    /// [`Limits::max_work`](crate::Limits::max_work) allows.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::of(&("adam", vec![[0.5f32; 2]; 3]))?;
    /// assert_eq!(tree.clone().with_arrays()?.without_arrays()?, tree);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn without_arrays(self) -> Result<Tree<Leaf>> {
        self.edit(|_, node, leaves| {
            let array = leaves.first().filter(|_| node.is_leaf()).and_then(Leaf::as_array);
            Ok(array.map_or(Edit::Keep, |array| Edit::Replace(array.to_tree())))
        })
    }
}
