//! What a tree has and the value made of it has not, or the other way round.

use std::collections::HashMap;
use std::ops::Range;

use crate::model::{Leaf, Tree};
use crate::path::{Key, Path};
use crate::treedef::node_ref::NodeRef;
use crate::treedef::walk::{Event, Visits, Walk};

/// What only one of the two has: here one of them.
pub(super) struct Side<'a> {
    pub(super) tree: &'a Tree<Leaf>,
    /// In the order of the tree.
    pub(super) nodes: Vec<ChangedNode<'a>>,
    /// For each leaf, the index of the node that it is in.
    node_of: Vec<Option<usize>>,
    /// For each leaf, whether the other side has what became of it.
    pub(super) paired: Vec<bool>,
}

pub(super) struct ChangedNode<'a> {
    pub(super) path: Path,
    /// `None` inside a static.
    pub(super) node: Option<NodeRef<'a>>,
    /// The change that this is the subject of. Nodes of different kinds stand here.
    pub(super) change: Option<usize>,
    /// Whether the other side has what became of the whole, although it may have no leaves.
    pub(super) paired: bool,
}

impl ChangedNode<'_> {
    pub(super) fn leaves(&self) -> Range<usize> {
        self.node.map_or(0..0, NodeRef::leaf_range)
    }
}

impl<'a> Side<'a> {
    pub(super) fn of(tree: &'a Tree<Leaf>) -> Self {
        let count = tree.leaves.len();
        Side { tree, nodes: Vec::new(), node_of: vec![None; count], paired: vec![false; count] }
    }

    pub(super) fn push(&mut self, path: &Path, change: Option<usize>) {
        let (path, node) = match self.tree.treedef.find(path) {
            Ok((path, node)) => (path, Some(node)),
            Err(_) => (path.clone(), None),
        };
        let changed = ChangedNode { path, node, change, paired: false };
        let leaves = self.node_of.get_mut(changed.leaves()).unwrap_or_default();
        leaves.fill(Some(self.nodes.len()));
        self.nodes.push(changed);
    }

    /// The node that a leaf is in.
    pub(super) fn node_of(&self, leaf: usize) -> Option<&ChangedNode<'a>> {
        self.nodes.get(self.index_of(leaf)?)
    }

    /// The index of the node that a leaf is in.
    pub(super) fn index_of(&self, leaf: usize) -> Option<usize> {
        *self.node_of.get(leaf)?
    }

    pub(super) fn is_paired(&self, leaf: usize) -> bool {
        self.paired.get(leaf).copied().unwrap_or(true)
    }

    pub(super) fn pair(&mut self, leaves: Range<usize>) {
        self.paired.get_mut(leaves).unwrap_or_default().fill(true);
    }

    /// Takes the whole node for paired, but not its leaves.
    pub(super) fn pair_whole(&mut self, changed: usize) {
        if let Some(changed) = self.nodes.get_mut(changed) {
            changed.paired = true;
        }
    }

    pub(super) fn path_to(&self, leaf: usize) -> Path {
        self.tree.treedef.root().path_to_leaf(leaf)
    }

    /// How many leaves come after a leaf, as its neighbours in a sequence.
    fn left_in_run(&self, leaf: usize) -> usize {
        let parent = self.tree.treedef.root().steps_to_leaf(leaf).last();
        let parent = parent.map(|(parent, ..)| parent).filter(|parent| !parent.is_labelled());
        parent.map_or(0, |parent| parent.left_in_run_with_leaf(leaf))
    }

    /// The nodes of which all leaves are among these (which are sorted), and the paths of the
    /// other leaves.
    pub(super) fn highest(&self, leaves: &[usize]) -> Vec<Path> {
        let of_one_node = |a: &usize, b: &usize| self.index_of(*a) == self.index_of(*b);
        let paths = leaves.chunk_by(of_one_node).flat_map(|chunk| {
            let node = chunk.first().and_then(|leaf| self.node_of(*leaf));
            match node.filter(|node| node.leaves().len() == chunk.len()) {
                Some(node) => vec![node.path.clone()],
                None => chunk.iter().map(|leaf| self.path_to(*leaf)).collect(),
            }
        });
        paths.collect()
    }

    /// The highest nodes that have leaves, none of which is on the other side.
    pub(super) fn without_pair(&self) -> Vec<Path> {
        let mut paths = Vec::new();
        // Nodes without leaves may have been found last. The sort is stable.
        let mut nodes: Vec<_> = self.nodes.iter().filter(|changed| !changed.paired).collect();
        nodes.sort_by_key(|changed| changed.leaves().start);
        for changed in nodes {
            let Some(node) = changed.node else {
                paths.extend(changed.change.is_none().then(|| changed.path.clone()));
                continue;
            };
            let unpaired = self.unpaired(node);
            match changed.change {
                // It says so, for the whole.
                Some(_) if unpaired == node.num_leaves() => {}
                None if node.num_leaves() == 0 => paths.push(changed.path.clone()),
                _ => self.collect(node, &changed.path, &mut paths),
            }
        }
        paths
    }

    pub(super) fn unpaired(&self, node: NodeRef<'_>) -> usize {
        let paired = self.paired.get(node.leaf_range()).unwrap_or_default();
        paired.iter().filter(|paired| !**paired).count()
    }

    pub(super) fn collect(&self, node: NodeRef<'_>, path: &Path, paths: &mut Vec<Path>) {
        let (mut walk, mut below) = (Walk::new(node, Visits::AboveLeaves), Path::root());
        while let Some(event) = walk.next() {
            let Event::Enter { node, .. } = event else { continue };
            walk.lead(&mut below);
            let unpaired = self.unpaired(node);
            if unpaired == node.num_leaves() {
                paths.push(path.join(&below));
            }
            if unpaired == 0 || unpaired == node.num_leaves() {
                walk.skip();
            }
        }
    }
}

/// Leaves that have the same way from the tree to the value.
pub(super) struct Way {
    pub(super) from: Path,
    pub(super) to: Path,
    /// A leaf of the tree, and the leaf of the value that it became.
    pub(super) pairs: Vec<(usize, usize)>,
}

/// The ways of pairs, in the order of the pairs. Pairs inside a change that is reported as a whole
/// are left out.
pub(super) fn ways(before: &Side<'_>, after: &Side<'_>, pairs: &[(usize, usize)]) -> Vec<Way> {
    let mut ways = Vec::<Way>::new();
    // Most ways are those from one whole node to another. Paths are longer than indices.
    let (mut known, mut known_nodes) = (HashMap::new(), HashMap::new());
    let mut left = pairs;
    while let Some((from, to)) = left.first() {
        let found = way(before, after, *from, *to);
        // The next elements of a sequence go the same way, if they still are next to each other.
        let most = match &found {
            Some(way) if way.ends_above => before.left_in_run(*from).min(after.left_in_run(*to)),
            _ => 0,
        };
        let follow =
            |(offset, pair): (usize, &(usize, usize))| *pair == (from + offset, to + offset);
        let alike = left.iter().enumerate().take_while(|pair| follow(*pair)).take(most + 1).count();
        let (here, rest) = left.split_at(alike); // at least the first
        left = rest;
        let Some(WayOfOne { from, to, nodes, .. }) = found else { continue };
        let index = match nodes {
            Some(nodes) => *known_nodes.entry(nodes).or_insert(ways.len()),
            None => *known.entry((from.clone(), to.clone())).or_insert(ways.len()),
        };
        match ways.get_mut(index) {
            Some(way) => way.pairs.extend(here),
            None => ways.push(Way { from, to, pairs: here.to_vec() }),
        }
    }
    ways
}

struct WayOfOne {
    from: Path,
    to: Path,
    /// Whether these are the paths of nodes above the two leaves.
    ends_above: bool,
    /// The indices of the two nodes, if these are their paths.
    nodes: Option<(usize, usize)>,
}

/// The paths of two leaves without what they have in common at the end, but not shorter than those
/// of their nodes. `None` if a change says it.
fn way(before: &Side<'_>, after: &Side<'_>, from: usize, to: usize) -> Option<WayOfOne> {
    let nodes = (before.index_of(from)?, after.index_of(to)?);
    let (changed, other) = (before.nodes.get(nodes.0)?, after.nodes.get(nodes.1)?);
    let is_leaf = |changed: &ChangedNode<'_>| changed.node.is_some_and(NodeRef::is_leaf);
    if is_leaf(changed) && is_leaf(other) && changed.change.is_none() {
        let (from, to) = (changed.path.clone(), other.path.clone());
        return Some(WayOfOne { from, to, ends_above: false, nodes: Some(nodes) });
    }
    let (mut old, mut new) = (before.path_to(from), after.path_to(to));
    let depths = (old.keys().len(), new.keys().len());
    let (top, other_top) = (changed.path.keys().len(), other.path.keys().len());
    while old.keys().len() > top && new.keys().len() > other_top {
        match (old.keys().last(), new.keys().last()) {
            (Some(a), Some(b)) if a == b || is_alike(a, b) => {
                old.pop();
                new.pop();
            }
            (Some(Key::Some), _) => drop(old.pop()),
            (_, Some(Key::Some)) => drop(new.pop()),
            _ => break,
        }
    }
    for (path, top) in [(&mut old, top), (&mut new, other_top)] {
        while path.keys().len() > top && path.keys().last() == Some(&Key::Some) {
            path.pop();
        }
    }
    let same = changed.change.is_some() && changed.change == other.change;
    let variants = changed.node.is_some_and(|node| node.variant().is_some())
        && other.node.is_some_and(|node| node.variant().is_some());
    let at_top = old.keys().len() == top && new.keys().len() == other_top;
    let ends_above = old.keys().len() < depths.0 && new.keys().len() < depths.1;
    let nodes = Some(nodes).filter(|_| at_top);
    (!same || variants && !at_top).then_some(WayOfOne { from: old, to: new, ends_above, nodes })
}

/// Whether two keys say the same in containers of other kinds.
fn is_alike(a: &Key, b: &Key) -> bool {
    let variants = |a: &Key, b: &Key| match (a, b) {
        (Key::VariantField(_, a), Key::VariantField(_, b)) => a == b,
        (Key::VariantPosition(_, a), Key::VariantPosition(_, b)) => a == b,
        _ => false,
    };
    a.can_mean(b) || b.can_mean(a) || variants(a, b)
}
