//! Parts that a tree has and the value made of it lacks, or the other way round.

use std::collections::HashSet;

use crate::bug::OrBug;
use crate::model::{Leaf, Tree};
use crate::path::{Key, Path};
use crate::treedef::node_ref::NodeRef;
use crate::treedef::walk::{Event, Visits, Walk};

use super::pairing::PlacedNode;
use super::probe::rounded;

/// The tree or the value.
pub(super) struct Side<'a> {
    pub(super) tree: &'a Tree<Leaf>,
    /// The nodes that do not exist at the same place of the other side.
    pub(super) alone: Vec<UnpairedNode<'a>>,
    /// For each leaf, the index of the innermost such node that contains it.
    pub(super) alone_of: Vec<Option<usize>>,
    /// For each leaf, whether it was compared or is in the report.
    pub(super) settled: Vec<bool>,
    /// For each leaf, the leaf of the other side that it became, or came from.
    pub(super) partner: Vec<Option<usize>>,
}

/// A node that only one side has at its place.
pub(super) struct UnpairedNode<'a> {
    pub(super) place: PlacedNode<'a>,
    /// Whether a change mentions it.
    pub(super) said: bool,
    /// Whether the other side has it under another name.
    pub(super) renamed: bool,
    /// The index of the next outer such node.
    pub(super) outer: Option<usize>,
}

impl<'a> Side<'a> {
    pub(super) fn of(tree: &'a Tree<Leaf>) -> Self {
        let count = tree.leaves.len();
        let (alone_of, partner) = (vec![None; count], vec![None; count]);
        Side { tree, alone: Vec::new(), alone_of, settled: vec![false; count], partner }
    }

    pub(super) fn push(&mut self, place: PlacedNode<'a>, said: bool) {
        let leaves = self.alone_of.get_mut(place.node.leaf_range()).or_bug();
        let outer = leaves.first().copied().flatten();
        leaves.fill(Some(self.alone.len()));
        self.alone.push(UnpairedNode { place, said, renamed: false, outer });
    }

    /// For each leaf, whether it is in a node that only this side has, or in one of `others`.
    pub(super) fn open<'n>(&self, others: impl Iterator<Item = NodeRef<'n>>) -> Vec<bool> {
        let mut open: Vec<bool> = self.alone_of.iter().map(Option::is_some).collect();
        others.for_each(|node| open.get_mut(node.leaf_range()).or_bug().fill(true));
        open
    }

    /// The texts among the open leaves.
    pub(super) fn texts(&self, open: &[bool]) -> HashSet<&'a Leaf> {
        let leaves = self.tree.leaves.iter().zip(open).filter(|(_, open)| **open);
        leaves.map(|(leaf, _)| leaf).filter(|leaf| matches!(leaf, Leaf::Str(_))).collect()
    }

    /// The partner of a leaf that is not settled.
    pub(super) fn open_partner(&self, leaf: usize) -> Option<usize> {
        let is_open = !self.settled.get(leaf).copied().or_bug();
        self.partner.get(leaf).copied().flatten().filter(|_| is_open)
    }

    /// The node that only this side has around a leaf.
    pub(super) fn alone_around(&mut self, leaf: usize) -> Option<&mut UnpairedNode<'a>> {
        self.alone.get_mut((*self.alone_of.get(leaf)?)?)
    }

    /// The length of the path of that node.
    pub(super) fn depth_around(&self, leaf: usize) -> Option<usize> {
        Some(self.alone.get((*self.alone_of.get(leaf)?)?)?.place.path.keys().len())
    }

    /// The index of the outermost such node that was not renamed.
    pub(super) fn outermost(&self, leaf: usize) -> Option<usize> {
        let first = *self.alone_of.get(leaf)?;
        let outer = |at: &usize| self.alone.get(*at)?.outer;
        std::iter::successors(first, outer)
            .take_while(|at| self.alone.get(*at).is_some_and(|alone| !alone.renamed))
            .last()
    }

    pub(super) fn path_to(&self, leaf: usize) -> Path {
        self.tree.treedef.root().path_to_leaf(leaf)
    }

    /// The place of the leaf below the node that only this side has. Kinds of nodes do not matter.
    pub(super) fn place_below(&self, leaf: usize) -> Option<Path> {
        Some(loose_below(&self.path_to(leaf), self.depth_around(leaf)?))
    }

    /// The leaves of a node with their places below it. Kinds of nodes and containers do not
    /// matter.
    pub(super) fn content(&self, node: NodeRef<'_>) -> Vec<(Path, Leaf)> {
        let leaves = node.leaf_range().zip(self.tree.leaves.get(node.leaf_range()).or_bug());
        leaves.map(|(at, leaf)| (loose_below(&node.path_to_leaf(at), 0), rounded(leaf))).collect()
    }

    /// The highest nodes without settled leaves among those that only this side has, in order.
    pub(super) fn unsettled(&mut self) -> Vec<Path> {
        // The inner ones are listed separately from the outer ones.
        self.alone.sort_by_key(|alone| std::cmp::Reverse(alone.place.path.keys().len()));
        let mut found = Vec::new();
        for UnpairedNode { place, said, renamed, .. } in std::mem::take(&mut self.alone) {
            let leaves = place.node.leaf_range();
            let settled = self.settled.get_mut(leaves.clone()).or_bug();
            if said && !settled.contains(&true) {
                settled.fill(true);
            } else if !renamed && leaves.is_empty() {
                found.push((leaves.start, place.path));
            } else if !renamed {
                self.collect(&place, &mut found);
            }
        }
        let mut seen = HashSet::new();
        found.retain(|(_, path)| seen.insert(path.clone()));
        found.sort();
        found.into_iter().map(|(_, path)| path).collect()
    }

    fn collect(&mut self, place: &PlacedNode<'_>, found: &mut Vec<(usize, Path)>) {
        let (mut walk, mut below) = (Walk::new(place.node, Visits::AboveLeaves), Path::root());
        while let Some(event) = walk.next() {
            let Event::Enter { node, .. } = event else { continue };
            walk.lead(&mut below);
            let leaves = self.settled.get_mut(node.leaf_range()).or_bug();
            if !leaves.contains(&true) {
                leaves.fill(true);
                found.push((node.first_leaf(), place.path.join(&below)));
            }
            if !leaves.contains(&false) {
                walk.skip();
            }
        }
    }
}

/// The keys of a path below a depth, in a form that is the same for containers of any kind.
fn loose_below(path: &Path, depth: usize) -> Path {
    let below = path.keys().iter().skip(depth);
    below.filter(|key| **key != Key::Some).map(Key::form).collect()
}

/// The children of a node that have leaves, with their positions.
pub(super) fn elements(node: NodeRef<'_>) -> Vec<(usize, NodeRef<'_>)> {
    let (mut elements, mut children) = (Vec::new(), node.children());
    loop {
        children.skip_leafless();
        let position = node.num_children() - children.len();
        let Some(child) = children.next() else { return elements };
        elements.push((position, child));
    }
}
