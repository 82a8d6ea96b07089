//! A node of one of the two trees that are compared.

use crate::bug::OrBug;
use crate::model::TreeDef;
use crate::treedef::node_ref::{NodeRef, Overlap};

/// The two things that a diff compares: structures, or trees with leaves.
pub(crate) trait Diffable: Clone {
    type Leaf: Clone + PartialEq;

    /// The subtree at a node. `leaves` are the leaves of the whole tree.
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
pub(super) struct DiffNode<'a, L> {
    pub(super) node: NodeRef<'a>,
    pub(super) leaves: Option<&'a [L]>,
    /// The [class](super::classes::Classes) of each node.
    pub(super) classes: &'a [usize],
}

impl<L> Clone for DiffNode<'_, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L> Copy for DiffNode<'_, L> {}

impl<'a, L> DiffNode<'a, L> {
    pub(super) fn of<T: Diffable<Leaf = L>>(tree: &'a T, classes: &'a [usize]) -> Self {
        DiffNode { node: tree.structure().root(), leaves: tree.own_leaves(), classes }
    }

    pub(super) fn at(self, node: NodeRef<'a>) -> Self {
        DiffNode { node, ..self }
    }

    /// The compared leaves. Leaves of size zero are never compared: they have only one value, and
    /// there may be 2⁶⁰ of them.
    pub(super) fn below(self) -> &'a [L] {
        below(self.node, self.leaves.filter(|_| size_of::<L>() > 0), 1)
    }

    pub(super) fn class(self) -> usize {
        self.classes.get(self.node.index()).copied().or_bug()
    }

    pub(super) fn same_class(self, other: Self) -> bool {
        self.class() == other.class()
    }

    pub(super) fn equals(self, other: Self) -> bool
    where
        L: PartialEq,
    {
        self.same_class(other) && self.below() == other.below()
    }

    /// Whether both are [equal](Self::equals). Each leaf that is equal, from the first on, and the
    /// comparison itself reduce `work`. `None` if it is too little.
    pub(super) fn same(self, other: Self, work: &mut usize) -> Option<bool>
    where
        L: PartialEq,
    {
        let is_one_class = self.same_class(other);
        let (old, new) = (self.below(), other.below());
        let all = old.iter().zip(new).take_while(|(old, new)| is_one_class && old == new).count();
        *work = work.checked_sub(all)?.checked_sub(1)?;
        Some(is_one_class && all == old.len())
    }

    /// The children with leaves that differ, if the two structures are equal: each with its position
    /// and its part of `differing`, which has the indices of these leaves, in order.
    pub(super) fn different_children(
        self,
        other: Self,
        mut differing: &[usize],
    ) -> Vec<(usize, Self, Self, &[usize])> {
        let mut different = Vec::new();
        let mut pairs = self.node.overlaps(other.node);
        while !differing.is_empty()
            && let Some(Overlap { position, a, b, count }) = pairs.next_up_to(|_, _, count| count)
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
    pub(super) fn counts_leaves(self) -> bool {
        size_of::<L>() > 0 && self.leaves.is_some() && self.node.num_leaves() > 0
    }
}

/// The leaves of `siblings` siblings of one run, starting with `node`.
pub(crate) fn below<'a, L>(node: NodeRef<'_>, leaves: Option<&'a [L]>, siblings: usize) -> &'a [L] {
    let start = node.first_leaf();
    let range = start..start + siblings * node.num_leaves();
    leaves.map_or(&[], |all| all.get(range).or_bug())
}
