//! Making trees and taking them apart.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Result;
use crate::flatten::{flatten, flatten_as};
use crate::leaf::leaf_type::LeafType;
use crate::model::{Leaf, Tree, TreeDef};
use crate::treedef::limits::in_memory;
use crate::unflatten::unflatten;

/// # Make
impl Tree<Leaf> {
    /// The tree of `value`.
    ///
    /// # Errors
    ///
    /// As [`flatten`].
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// assert_eq!(Tree::of(&("a", [1, 2]))?.to_string(), r#"("a", (1, 2))"#);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self> {
        let (leaves, treedef) = flatten(value)?;
        Ok(Tree { treedef, leaves })
    }
}

impl<L: LeafType> Tree<L> {
    /// The tree of a value whose leaves are all of one kind.
    ///
    /// # Errors
    ///
    /// As [`flatten_as`].
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let model = Tree::<f64>::of_as(&(1.5, [2.5, 3.5]))?;
    /// let doubled = model.map(|leaf| 2.0 * leaf).into_typed::<(f64, [f64; 2])>()?;
    /// assert_eq!(doubled, (3.0, [5.0, 7.0]));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn of_as<T: Serialize + ?Sized>(value: &T) -> Result<Self> {
        let (leaves, treedef) = flatten_as(value)?;
        Ok(Tree { treedef, leaves })
    }
}

impl<L> Tree<L> {
    /// A tree of `treedef` and leaves.
    ///
    /// # Errors
    ///
    /// Returns an error when there are too many or too few leaves. Also when there are more leaves
    /// of a zero-sized type, e.g. `()`, than [`Limits::max_work`](crate::Limits::max_work): the
    /// leaves use no memory, but results made from them may.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::new("(*, [*, *])".parse()?, vec!["a", "b", "c"])?;
    /// assert_eq!(tree.to_string(), "(a, [b, c])");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn new(treedef: TreeDef, leaves: Vec<L>) -> Result<Self> {
        treedef.expect_leaves(leaves.len())?;
        if size_of::<L>() == 0 {
            treedef.limits.expect_work(leaves.len(), 0)?;
        }
        Ok(Tree { treedef, leaves })
    }

    /// A tree of one leaf.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// assert_eq!(Tree::leaf("a"), Tree::new("*".parse()?, vec!["a"])?);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn leaf(leaf: L) -> Self {
        Tree::from_parts(TreeDef::leaf(), vec![leaf])
    }
}

/// # Take apart
impl<L> Tree<L> {
    /// The structure.
    pub fn treedef(&self) -> &TreeDef {
        &self.treedef
    }

    /// The leaves, in order.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::<f64>::of_as(&(1.5, [2.5, 3.5]))?;
    /// assert_eq!(tree.leaves(), [1.5, 2.5, 3.5]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[doc(alias = "tree_leaves")]
    #[doc(alias = "tree_reduce")]
    #[doc(alias = "tree_all")]
    pub fn leaves(&self) -> &[L] {
        &self.leaves
    }

    /// The leaves, mutable.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let mut tree = Tree::<f64>::of_as(&(1.5, [2.5, 3.5]))?;
    /// tree.leaves_mut()[1..].fill(0.0);
    /// assert_eq!(tree.to_string(), "(1.5, (0, 0))");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn leaves_mut(&mut self) -> &mut [L] {
        &mut self.leaves
    }

    /// The structure and the leaves. [`new`](Self::new) puts them together again.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let (treedef, leaves) = Tree::<f64>::of_as(&(1.5, [2.5]))?.into_parts();
    /// assert_eq!((treedef.to_string().as_str(), &leaves[..]), ("(*, (*,))", &[1.5, 2.5][..]));
    /// assert_eq!(Tree::new(treedef, leaves)?.into_typed::<(f64, [f64; 1])>()?, (1.5, [2.5]));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn into_parts(self) -> (TreeDef, Vec<L>) {
        (self.treedef, self.leaves)
    }

    /// The number of leaves that use memory: 0 if the type is zero-sized.
    pub(crate) fn leaves_in_memory(&self) -> usize {
        in_memory(&self.leaves)
    }
}

impl<L: LeafType> Tree<L> {
    /// Rebuilds the typed value with [`unflatten`].
    ///
    /// # Errors
    ///
    /// As [`unflatten`].
    ///
    /// ```
    /// use treedef::{Leaf, Tree};
    ///
    /// let mut tree = Tree::of(&(1, "a"))?;
    /// tree.leaves_mut()[0] = Leaf::I32(2);
    /// assert_eq!(tree.into_typed::<(i32, String)>()?, (2, "a".to_owned()));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn into_typed<T: DeserializeOwned>(self) -> Result<T> {
        unflatten(&self.treedef, self.leaves)
    }
}
