//! Diffs of trees, leaves included.

use std::any::Any;
use std::cell::Cell;
use std::sync::Arc;

use crate::arrays::collect::in_one_buffer;
use crate::error::{Cause, Result};
use crate::leaf::each_scalar;
use crate::leaf::leaf_type::LeafType;
use crate::message::brief;
use crate::model::{Leaf, LeafKind, Tree, TreeDef};
use crate::text::{ExactText, read_kinds, read_leaves, write_kinds, write_leaves};
use crate::treedef::node_ref::NodeRef;

use super::change::Diff;
use super::changes::diff;
use super::node::{Diffable, below};
use super::patch::patch;

impl<L: Clone + PartialEq> Diffable for Tree<L> {
    type Leaf = L;

    fn cut(node: NodeRef<'_>, leaves: Option<&[L]>) -> Self {
        Tree::from_parts(node.to_treedef(), below(node, leaves, 1).to_vec())
    }

    fn join(treedef: TreeDef, leaves: Vec<L>) -> Self {
        Tree::from_parts(treedef, leaves)
    }

    fn structure(&self) -> &TreeDef {
        &self.treedef
    }

    fn own_leaves(&self) -> Option<&[L]> {
        Some(&self.leaves)
    }
}

impl<L: Clone + PartialEq> Tree<L> {
    /// Returns the changes that turn this tree into `new`: the changes of [`TreeDef::diff`], and changed
    /// leaves.
    ///
    /// The limits of [`TreeDef::diff`] grow with this tree: by 64 steps and one change for each leaf.
    ///
    /// Needs the feature `diff`.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let old = Tree::of(&vec![("a", 1), ("b", 2), ("c", 3)])?;
    /// let new = Tree::of(&vec![("a", 1), ("c", 4)])?;
    /// let diff = old.diff(&new);
    /// assert_eq!(diff.to_string(), "\
    /// 3 changes
    /// ~ [1].0: \"b\" → \"c\"
    /// ~ [1].1: 2 → 4
    /// - [2]: (\"c\", 3)");
    /// assert_eq!(old.patch(&diff)?, new);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn diff(&self, new: &Tree<L>) -> Diff<Tree<L>> {
        diff(self, new)
    }
}

impl<L: Clone + PartialEq + 'static> Tree<L> {
    /// Applies a [`diff`](Tree::diff) to this tree. The tree may differ from the original one in
    /// places that the diff does not change.
    ///
    /// Needs the feature `diff`.
    ///
    /// # Errors
    ///
    /// Returns an error when the tree differs at a place that the diff changes; the error has the
    /// path.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let (old, new) = (Tree::of(&vec![1, 2, 3])?, Tree::of(&vec![1, 5, 3])?);
    /// let diff = old.diff(&new);
    /// assert_eq!(Tree::of(&vec![9, 2, 9])?.patch(&diff)?, Tree::of(&vec![9, 5, 9])?);
    ///
    /// let error = new.patch(&diff).unwrap_err();
    /// assert_eq!(error.to_string(), "expected `2`, found `5` at `[1]`");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn patch(&self, diff: &Diff<Tree<L>>) -> Result<Tree<L>> {
        patch(self, diff, &|leaf| leaf_text(leaf))
    }
}

/// A leaf for a message. Not every type of leaf can be printed.
fn leaf_text(leaf: &dyn Any) -> Option<String> {
    each_scalar! {
        [sized { Other: Leaf; Other: LeafKind; Other: String; Other: &'static str; Other: usize; Other: isize; }]
        ($kind $type) => {
            None$(.or_else(|| leaf.downcast_ref::<$type>().map(brief)))*
        }
    }
}

/// The same tree with leaves of another type, which must fit.
fn with_leaves_of<L: LeafType>(tree: Tree<Leaf>) -> Result<Tree<L>> {
    let leaves = tree.leaves.into_iter().enumerate().map(|(index, leaf)| {
        let leaf = match leaf {
            Leaf::Opaque(value) => {
                Leaf::Opaque(Arc::new(in_one_buffer(Arc::unwrap_or_clone(value))))
            }
            scalar => scalar,
        };
        let (expected, found) = (L::KIND, leaf.kind());
        L::from_leaf(leaf)
            .ok_or_else(|| tree.treedef.error_at_leaf(index, Cause::LeafKind { expected, found }))
    });
    let leaves = leaves.collect::<Result<_>>()?;
    Ok(Tree::from_parts(tree.treedef, leaves))
}

impl<L: LeafType> ExactText for Tree<L> {
    fn to_exact_text(&self, work: &Cell<usize>) -> Result<String> {
        write_leaves(self, work)
    }

    fn from_exact_text(text: &str, work: &mut usize) -> Result<Self> {
        with_leaves_of(read_leaves(text, work)?)
    }
}

impl ExactText for Tree<LeafKind> {
    fn to_exact_text(&self, work: &Cell<usize>) -> Result<String> {
        write_kinds(self, work)
    }

    fn from_exact_text(text: &str, work: &mut usize) -> Result<Self> {
        read_kinds(text, work)
    }
}
