//! How one tree becomes another: all differences as data, a report of them, and a patch.

mod classes;
mod align;
mod compare;
mod patch;
mod report;

use crate::error::DifferenceKind;
use crate::model::{Name, TreeDef};
use crate::path::{Key, Path};
use crate::treedef::node::NodeRef;

pub(crate) use compare::diff;
pub(crate) use patch::patch;

/// What turns one tree, or one structure, into another: [`Tree::diff`], [`TreeDef::diff`].
///
/// It prints as a report, a change a line; more than 20 are cut off, unless in the form `{:#}`.
///
/// ```
/// use treedef::TreeDef;
///
/// let old: TreeDef = "Model { layers: [(*, *); 12], head: Linear { w: * }, seed: static 7 }".parse()?;
/// let new: TreeDef = "Model { layers: [(*, *); 9], head: Linear { weight: * }, seed: static 8 }".parse()?;
/// let diff = old.diff(&new);
/// assert_eq!(diff.to_string(), "\
/// 3 changes
/// - .layers[9]: (*, *), and 2 more like it
/// ~ .head.w is now .head.weight
/// ~ .seed: static 7 → static 8");
/// assert_eq!(old.patch(&diff)?, new);
/// # Ok::<(), treedef::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diff<T> {
    /// In the order of the old tree; within one node, what was added comes last.
    pub(crate) changes: Vec<Change<T>>,
}

/// One difference between two trees.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change<T> {
    /// Where, in the old tree; but the last key of what was added is that of the new one.
    pub path: Path,
    /// What is different there.
    pub kind: ChangeKind<T>,
    /// For each key of the path, how many siblings from this one on the change is about.
    pub(crate) spans: Vec<usize>,
}

/// What is different in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeKind<T> {
    /// A field, an entry or an element that is no longer there.
    Removed(T),
    /// A field, an entry or an element that was not there.
    Added {
        /// Among the children of the new node.
        position: usize,
        /// What is there now.
        new: T,
    },
    /// Another subtree.
    Replaced {
        /// In what the two differ at their roots: the kind of node, the variant, the static, the leaf, the options.
        by: DifferenceKind,
        /// What was there.
        old: T,
        /// What is there now.
        new: T,
    },
    /// The same subtree under another field or key.
    Renamed {
        /// The field or key that it has now.
        to: Key,
    },
    /// The same node with another name of its type.
    Retyped {
        /// The name that it had.
        old: Name,
        /// The name that it has now.
        new: Name,
    },
    /// The fields or keys that stay stand in another order.
    Reordered {
        /// The order now, without what was added.
        keys: Vec<Key>,
    },
}

impl<T> Diff<T> {
    /// All changes.
    pub fn changes(&self) -> &[Change<T>] {
        &self.changes
    }

    /// Whether the two are equal.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

impl<T> Change<T> {
    /// In how many places this is different: those after the path, in each of the sequences on the way that repeat
    /// there.
    pub fn places(&self) -> usize {
        self.spans.iter().fold(1, |places, span| places.saturating_mul(*span))
    }
}

/// What changes are made of: structures, or trees with leaves.
pub(crate) trait Diffable: Clone {
    type Leaf: Clone + PartialEq;

    /// What stands at and below a node; `leaves` are those of the whole tree.
    fn cut(node: NodeRef<'_>, leaves: Option<&[Self::Leaf]>) -> Self;
    fn join(treedef: TreeDef, leaves: Vec<Self::Leaf>) -> Self;
    fn structure(&self) -> &TreeDef;
    /// None, if they do not count.
    fn own_leaves(&self) -> Option<&[Self::Leaf]>;
}

impl Diffable for TreeDef {
    type Leaf = ();

    fn cut(node: NodeRef<'_>, _: Option<&[()]>) -> Self {
        node.to_treedef()
    }

    fn join(treedef: TreeDef, _: Vec<()>) -> Self {
        treedef
    }

    fn structure(&self) -> &TreeDef {
        self
    }

    fn own_leaves(&self) -> Option<&[()]> {
        None
    }
}

/// A node, and the leaves of its whole tree if they count.
struct DiffSide<'a, L> {
    node: NodeRef<'a>,
    leaves: Option<&'a [L]>,
    /// The [class](classes::Classes) of each node.
    classes: &'a [usize],
}

impl<L> Clone for DiffSide<'_, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L> Copy for DiffSide<'_, L> {}

impl<'a, L> DiffSide<'a, L> {
    fn of<T: Diffable<Leaf = L>>(tree: &'a T, classes: &'a [usize]) -> Self {
        DiffSide { node: tree.structure().root(), leaves: tree.own_leaves(), classes }
    }

    fn at(self, node: NodeRef<'a>) -> Self {
        DiffSide { node, ..self }
    }

    /// The leaves at and below this and the next siblings of its run.
    fn below(self, siblings: usize) -> &'a [L] {
        below(self.node, self.leaves, siblings)
    }

    fn same_structure(self, other: Self) -> bool {
        self.classes.get(self.node.index()) == other.classes.get(other.node.index())
    }

    /// Whether the next siblings of both runs, so many, are equal.
    fn equals(self, other: Self, siblings: usize) -> bool
    where
        L: PartialEq,
    {
        self.same_structure(other) && self.below(siblings) == other.below(siblings)
    }

    /// Whether siblings are looked at one by one.
    fn counts_leaves(self) -> bool {
        self.leaves.is_some() && self.node.num_leaves() > 0
    }
}

/// The leaves at and below a node and the next siblings of its run.
pub(crate) fn below<'a, L>(node: NodeRef<'_>, leaves: Option<&'a [L]>, siblings: usize) -> &'a [L] {
    let start = node.first_leaf();
    let range = start..start + siblings * node.num_leaves();
    leaves.and_then(|all| all.get(range)).unwrap_or_default()
}
