//! The differences between two trees as data, as a report and as a patch.

mod classes;
mod align;
mod shifted;
mod changes;
mod patch;
mod report;

use crate::error::DifferenceKind;
use crate::model::{Name, TreeDef};
use crate::path::{Key, Path};
use crate::treedef::node_ref::{NodeRef, Overlap};

pub(crate) use changes::diff;
pub(crate) use patch::patch;

/// The changes that turn one tree or structure into another. See [`Tree::diff`](crate::Tree::diff)
/// and [`TreeDef::diff`].
///
/// It prints as a report with one line for each change. More than 20 changes are cut off, unless
/// the format is `{:#}`.
///
/// ```
/// use treedef::TreeDef;
///
/// let old: TreeDef =
///     "Model { layers: [(*, *); 12], head: Linear { w: * }, seed: static 7 }".parse()?;
/// let new: TreeDef =
///     "Model { layers: [(*, *); 9], head: Linear { weight: * }, seed: static 8 }".parse()?;
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
    /// In the order of the old tree. Within one node, added children come last.
    pub(crate) changes: Vec<Change<T>>,
}

/// One difference between two trees.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change<T> {
    /// The path in the old tree. If something was added, the last key is that of the new tree.
    pub path: Path,
    /// What changed there.
    pub kind: ChangeKind<T>,
    /// For each key of the path, how many siblings the change covers, starting at that key.
    pub(crate) spans: Vec<usize>,
}

/// The kind of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeKind<T> {
    /// A field, an entry or an element that was removed.
    Removed(T),
    /// A field, an entry or an element that was added.
    Added {
        /// The index among the children of the new node.
        position: usize,
        /// What was added.
        new: T,
    },
    /// A subtree that was replaced by another.
    Replaced {
        /// How the roots of the two differ: in kind of node, variant, static, leaf or options.
        by: DifferenceKind,
        /// The old subtree.
        old: T,
        /// The new subtree.
        new: T,
    },
    /// A field or key that was renamed. The subtree is the same.
    Renamed {
        /// The new field or key.
        to: Key,
    },
    /// A node whose type was renamed.
    Retyped {
        /// The old name.
        old: Name,
        /// The new name.
        new: Name,
    },
    /// Fields or keys whose order changed.
    Reordered {
        /// The new order, without added fields or keys.
        keys: Vec<Key>,
    },
}

impl<T> Diff<T> {
    /// All changes, in order.
    pub fn changes(&self) -> &[Change<T>] {
        &self.changes
    }

    /// Whether there are no changes.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

impl<T> Change<T> {
    /// The number of places that the change covers. A change in equal siblings is listed once, with
    /// the path of the first. If that happens at several levels of a path, the counts are
    /// multiplied.
    pub fn places(&self) -> usize {
        self.spans.iter().fold(1, |places, span| places.saturating_mul(*span))
    }
}

/// What a diff compares: structures, or trees with leaves.
pub(crate) trait Diffable: Clone {
    type Leaf: Clone + PartialEq;

    /// The subtree at a node. `leaves` are those of the whole tree.
    fn cut(node: NodeRef<'_>, leaves: Option<&[Self::Leaf]>) -> Self;
    fn join(treedef: TreeDef, leaves: Vec<Self::Leaf>) -> Self;
    fn structure(&self) -> &TreeDef;
    /// `None` if leaves are not compared.
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

/// A node, and the leaves of its whole tree if they are compared.
struct DiffNode<'a, L> {
    node: NodeRef<'a>,
    leaves: Option<&'a [L]>,
    /// The [class](classes::Classes) of each node.
    classes: &'a [usize],
}

impl<L> Clone for DiffNode<'_, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L> Copy for DiffNode<'_, L> {}

impl<'a, L> DiffNode<'a, L> {
    fn of<T: Diffable<Leaf = L>>(tree: &'a T, classes: &'a [usize]) -> Self {
        DiffNode { node: tree.structure().root(), leaves: tree.own_leaves(), classes }
    }

    fn at(self, node: NodeRef<'a>) -> Self {
        DiffNode { node, ..self }
    }

    /// The leaves that are compared of `siblings` siblings of one run, starting with this node. A
    /// type without a size has one value, and there may be 2⁶⁰ leaves of it: they are never
    /// compared.
    fn below(self, siblings: usize) -> &'a [L] {
        below(self.node, self.leaves.filter(|_| size_of::<L>() > 0), siblings)
    }

    fn same_class(self, other: Self) -> bool {
        self.classes.get(self.node.index()) == other.classes.get(other.node.index())
    }

    /// Whether `siblings` siblings are equal on both sides, starting with these nodes.
    fn equals(self, other: Self, siblings: usize) -> bool
    where
        L: PartialEq,
    {
        self.same_class(other) && self.below(siblings) == other.below(siblings)
    }

    /// The children with leaves that differ, if the two structures are equal: each with its position
    /// and its part of `differing`, which has the indices of these leaves, in order.
    fn different_children(
        self,
        other: Self,
        mut differing: &[usize],
    ) -> Vec<(usize, Self, Self, &[usize])> {
        let mut different = Vec::new();
        let mut pairs = self.node.overlaps(other.node);
        while !differing.is_empty()
            && let Some(Overlap { position, a, b, count }) = pairs.next_up_to(|_, _| usize::MAX)
        {
            let (start, size) = (a.first_leaf(), a.num_leaves());
            while let Some(leaf) = differing.first().filter(|leaf| **leaf < start + size * count) {
                let at = (leaf - start) / size; // there is a leaf, so `size` is not zero
                let end = start + size * (at + 1);
                let theirs = differing.iter().take_while(|leaf| **leaf < end).count();
                let (below, rest) = differing.split_at(theirs);
                let (a, b) = (self.at(a.later(at)), other.at(b.later(at)));
                different.push((position + at, a, b, below));
                differing = rest;
            }
        }
        different
    }

    /// Whether siblings must be compared one by one, because they have leaves that are compared.
    fn counts_leaves(self) -> bool {
        size_of::<L>() > 0 && self.leaves.is_some() && self.node.num_leaves() > 0
    }
}

/// The leaves of `siblings` siblings of one run, starting with `node`.
pub(crate) fn below<'a, L>(node: NodeRef<'_>, leaves: Option<&'a [L]>, siblings: usize) -> &'a [L] {
    let start = node.first_leaf();
    let range = start..start + siblings * node.num_leaves();
    leaves.and_then(|all| all.get(range)).unwrap_or_default()
}
