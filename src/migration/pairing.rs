//! Compares the nodes at the same places of two trees.

use std::ops::Range;

use crate::error::{Difference, DifferenceKind};
use crate::leaf::float::Half;
use crate::message::counted;
use crate::model::{Leaf, LeafKind, NodeKind, Tree};
use crate::path::{Key, Path};
use crate::treedef::compare::{Heads, Labelled, by_label, have_leaves};
use crate::treedef::difference::{is_widened, quoted, quoted_leaf};
use crate::treedef::node_ref::{Children, NodeRef};

use super::probe::{exact, rounded};

/// A node of a tree, with its path.
#[derive(Clone)]
pub(super) struct PlacedNode<'a> {
    pub(super) node: NodeRef<'a>,
    pub(super) path: Path,
}

impl<'a> PlacedNode<'a> {
    pub(super) fn root(tree: &'a Tree<Leaf>) -> Self {
        PlacedNode { node: tree.treedef.root(), path: Path::root() }
    }

    pub(super) fn child(&self, position: usize, node: NodeRef<'a>) -> Self {
        PlacedNode { node, path: self.path.child(self.node.child_key(position)) }
    }
}

/// The result of comparing two nodes, with everything below them.
#[derive(Default)]
pub(super) struct Pairing<'a> {
    /// Leaves of the first tree and their counterparts in the second. If the two ranges differ in
    /// length, `changed` has the reason.
    pub(super) settled: Vec<(Range<usize>, Range<usize>)>,
    /// With the first leaf of the node in the second tree.
    pub(super) changed: Vec<(usize, Difference)>,
    /// The nodes that only one of the two has, and whether `changed` mentions them.
    pub(super) alone: [Vec<(PlacedNode<'a>, bool)>; 2],
    /// Sequences of different lengths, whose elements are not compared.
    pub(super) uneven: Vec<[PlacedNode<'a>; 2]>,
}

/// Compares two subtrees, whatever the kinds of their nodes. Children with the same label, or else
/// with the same position, are a pair. Leaves are a pair only if they `may_pair`, and so is a leaf with the first leaf
/// of another node.
pub(super) fn pairing<'a>(
    trees: [&'a Tree<Leaf>; 2],
    widened: bool,
    places: [PlacedNode<'a>; 2],
    may_pair: &dyn Fn(usize, usize) -> bool,
) -> Pairing<'a> {
    let nodes = [places[0].node, places[1].node];
    let paths = places.map(|place| place.path);
    let (pending, found) = (Vec::new(), Pairing::default());
    let mut comparison = Comparison { trees, widened, may_pair, paths, pending, found };
    comparison.compare(nodes);
    while let Some(PendingPair { above, keys, nodes }) = comparison.pending.pop() {
        let paths = comparison.paths.iter_mut().zip(above).zip(keys);
        paths.for_each(|((path, above), key)| {
            path.0.truncate(above);
            path.0.extend(key);
        });
        comparison.compare(nodes);
    }
    comparison.found
}

struct Comparison<'a, 'f> {
    trees: [&'a Tree<Leaf>; 2],
    /// Whether a widened `f32` is equal to its `f64`.
    widened: bool,
    may_pair: &'f dyn Fn(usize, usize) -> bool,
    /// The paths of the two nodes that are compared.
    paths: [Path; 2],
    /// The next is last.
    pending: Vec<PendingPair<'a>>,
    found: Pairing<'a>,
}

/// A pair of children, their keys, and the lengths of the paths above them.
struct PendingPair<'a> {
    above: [usize; 2],
    keys: [Option<Key>; 2],
    nodes: [NodeRef<'a>; 2],
}

impl<'a> Comparison<'a, '_> {
    fn compare(&mut self, [mut a, mut b]: [NodeRef<'a>; 2]) {
        let mut said = false;
        loop {
            let is_some = |node: NodeRef<'_>| node.kind() == NodeKind::Some;
            if is_some(a) != is_some(b) {
                (a, b) = if is_some(a) { (self.inside(0, a), b) } else { (a, self.inside(1, b)) };
                continue;
            }
            if self.is_none(0, a) && self.is_none(1, b) {
                return self.found.settled.push((a.leaf_range(), b.leaf_range()));
            }
            if a.is_leaf() && (b.is_leaf() || half(b).is_some()) {
                return self.compare_leaves([a, b], 1, None);
            }
            let head = difference(a, b).filter(|_| !said);
            let with_leaf = a.is_leaf() && b.num_leaves() > 0 || b.is_leaf() && a.num_leaves() > 0;
            if head.is_some() && with_leaf && !(self.may_pair)(a.first_leaf(), b.first_leaf()) {
                self.alone(0, a, None, false);
                return self.alone(1, b, None, false);
            }
            head.into_iter().for_each(|kind| self.change(kind, [a, b]));
            said |= head.is_some();
            match (wraps(a, b), wraps(b, a)) {
                (true, false) => a = self.inside(0, a),
                (false, true) => b = self.inside(1, b),
                _ => break,
            }
        }
        let is_whole = a.is_leaf() || b.is_leaf() || a.num_leaves() == 0 || b.num_leaves() == 0;
        if said && is_whole {
            // A leaf is quoted, the content of a node is not.
            let is_said = a.is_leaf() || a.num_leaves() == 0 || b.num_leaves() == 0;
            self.alone(0, a, None, is_said);
            self.alone(1, b, None, true);
        } else if a.is_labelled() && b.is_labelled() {
            self.compare_labelled(a, b);
        } else {
            self.compare_listed(a, b, said);
        }
    }

    /// The child of a node that has exactly one.
    fn inside(&mut self, side: usize, node: NodeRef<'a>) -> NodeRef<'a> {
        self.paths[side].push(node.child_key(0));
        node.child_at(0)
    }

    fn is_none(&self, side: usize, node: NodeRef<'_>) -> bool {
        let leaf = self.trees[side].leaves.get(node.first_leaf()).filter(|_| node.is_leaf());
        node.kind() == NodeKind::None || leaf == Some(&Leaf::None)
    }

    fn compare_labelled(&mut self, a: NodeRef<'a>, b: NodeRef<'a>) {
        let mut pairs = Vec::new();
        for (key, child) in by_label(a, b, &Key::form) {
            match child {
                Labelled::First(child) => self.alone(0, child, Some(key), false),
                Labelled::Second(_, child) => self.alone(1, child, Some(key), false),
                Labelled::Both(child, position, other) => {
                    pairs.push(([Some(key), b.key(position)], [child, other]));
                }
            }
        }
        self.push(pairs);
    }

    /// Compares children by position, except for two lists of different lengths.
    fn compare_listed(&mut self, a: NodeRef<'a>, b: NodeRef<'a>, said: bool) {
        let lengths = [a.num_children(), b.num_children()];
        if lengths[0] != lengths[1] && !a.is_labelled() && !b.is_labelled() {
            if !said {
                self.change(DifferenceKind::Length, [a, b]);
            }
            let place = |side: usize, node| PlacedNode { node, path: self.paths[side].clone() };
            let uneven = [place(0, a), place(1, b)];
            return self.found.uneven.push(uneven);
        }
        let (mut pairs, mut overlaps) = (Vec::new(), a.overlaps(b));
        let are_leaves = |a: NodeRef<'_>, b: NodeRef<'_>| a.is_leaf() && b.is_leaf();
        let most = |a, b, _| if have_leaves(a, b) && !are_leaves(a, b) { 1 } else { usize::MAX };
        while let Some(next) = overlaps.next_up_to(most) {
            if are_leaves(next.a, next.b) {
                self.compare_leaves([next.a, next.b], next.count, Some((next.position, [a, b])));
            } else {
                let keys = [a, b].map(|node| node.key(next.position));
                pairs.push((keys, [next.a, next.b]));
            }
        }
        for (side, node) in [a, b].into_iter().enumerate() {
            let (mut rest, both) = (node.children(), lengths[1 - side].min(lengths[side]));
            if both > 0 {
                rest.nth(both - 1);
            }
            // Only a list may have more children than fit into memory, without leaves.
            let most = |rest: &Children<'_>| if rest.next_is_leafless() { usize::MAX } else { 1 };
            let position = |rest: &Children<'_>| lengths[side] - rest.len();
            while let (position, Some((child, _))) = (position(&rest), rest.next_up_to(most(&rest)))
            {
                self.alone(side, child, node.key(position), false);
            }
        }
        self.push(pairs);
    }

    fn push(&mut self, pairs: Vec<([Option<Key>; 2], [NodeRef<'a>; 2])>) {
        let above = [0, 1].map(|side| self.paths[side].keys().len());
        let pending = pairs.into_iter().rev();
        self.pending.extend(pending.map(|(keys, nodes)| PendingPair { above, keys, nodes }));
    }

    fn alone(&mut self, side: usize, node: NodeRef<'a>, key: Option<Key>, said: bool) {
        let path = self.paths[side].keys().iter().cloned().chain(key).collect();
        self.found.alone[side].push((PlacedNode { node, path }, said));
    }

    fn change(&mut self, kind: DifferenceKind, nodes: [NodeRef<'a>; 2]) {
        let text = |side: usize| {
            let node = nodes[side];
            let leaf = self.trees[side].leaves.get(node.first_leaf()).filter(|_| node.is_leaf());
            match (kind, leaf) {
                (DifferenceKind::Length, _) => counted(node.num_children(), "child", "children"),
                (_, Some(leaf)) => quoted_leaf(leaf),
                (_, None) => quoted(node),
            }
        };
        let (expected, found) = (text(0), text(1));
        self.note(nodes[1].first_leaf(), self.paths[1].clone(), kind, [expected, found]);
    }

    fn note(
        &mut self,
        at: usize,
        path: Path,
        kind: DifferenceKind,
        [expected, found]: [String; 2],
    ) {
        self.found.changed.push((at, Difference { path, kind, expected, found }));
    }

    /// Compares neighbouring leaves: the two nodes themselves, or children from a position of their
    /// parents on.
    fn compare_leaves(
        &mut self,
        nodes: [NodeRef<'a>; 2],
        count: usize,
        within: Option<(usize, [NodeRef<'a>; 2])>,
    ) {
        let [first, other] = nodes.map(NodeRef::first_leaf);
        let key = |side: usize, offset: usize| {
            within.and_then(|(position, parents)| parents[side].key(position + offset))
        };
        let mut differences = Vec::new();
        for offset in 0..count {
            let (i, j) = (first + offset, other + offset);
            if !(self.may_pair)(i, j) {
                self.alone(0, nodes[0].later(offset), key(0, offset), false);
                self.alone(1, nodes[1].later(offset), key(1, offset), false);
                continue;
            }
            match self.found.settled.last_mut() {
                Some((a, b)) if a.end == i && b.end == j && a.len() == b.len() => {
                    (a.end, b.end) = (i + 1, j + 1);
                }
                _ => self.found.settled.push((i..i + 1, j..j + 1)),
            }
            let difference = self.leaf_difference([i, j], half(nodes[1]));
            differences.extend(difference.map(|(kinds, values)| (offset, kinds, values)));
        }
        let kinds = differences.first().and_then(|(_, kinds, _)| *kinds);
        let whole = within.is_some_and(|(_, parents)| {
            parents.iter().all(|parent| parent.num_children() == count)
        });
        let alike = |(_, other, _): &(usize, Option<[LeafKind; 2]>, _)| *other == kinds;
        let names = |kinds: [LeafKind; 2]| kinds.map(|kind| kind.name().to_owned());
        if let Some(kinds) = kinds
            && whole
            && differences.len() == count
            && differences.iter().all(alike)
        {
            return self.note(other, self.paths[1].clone(), DifferenceKind::Leaf, names(kinds));
        }
        for (offset, kinds, values) in differences {
            let path = self.paths[1].keys().iter().cloned().chain(key(1, offset)).collect();
            let texts = kinds.map_or(values, names);
            self.note(other + offset, path, DifferenceKind::Leaf, texts);
        }
    }

    /// The kinds of two leaves if only these differ, otherwise their values. `None` if the leaves are
    /// equal. A half float is equal to the `f32` that it was widened to.
    fn leaf_difference(&self, at: [usize; 2], half: Option<Half>) -> Option<LeafDifference> {
        let [old, new] = [0, 1].map(|side| self.trees[side].leaves.get(at[side]));
        let widened = half.and_then(|half| match new? {
            Leaf::U16(bits) => Some(Leaf::F32(half.widen(*bits))),
            _ => None,
        });
        let (old, new) = (old?, widened.as_ref().or(new)?);
        let is_equal = old == new || self.widened && is_widened(old, new);
        (!is_equal).then(|| (retyped(old, new), [old, new].map(quoted_leaf)))
    }
}

type LeafDifference = (Option<[LeafKind; 2]>, [String; 2]);

/// How two nodes differ, apart from their content.
fn difference(a: NodeRef<'_>, b: NodeRef<'_>) -> Option<DifferenceKind> {
    let is_seq = |node: NodeRef<'_>| node.kind() == NodeKind::Seq;
    let heads = Heads { names: false, exact: false, ..Heads::EQUAL };
    heads.difference(a, b).or_else(|| (is_seq(a) != is_seq(b)).then_some(DifferenceKind::Node))
}

/// Whether a node may only be a wrapper of the other node: a newtype, or any node with one child, a
/// leaf.
fn wraps(node: NodeRef<'_>, other: NodeRef<'_>) -> bool {
    let is_newtype = matches!(node.kind(), NodeKind::NewtypeStruct | NodeKind::NewtypeVariant);
    node.num_children() == 1 && (is_newtype || other.is_leaf())
}

/// The float whose bits are in a newtype of the crate `half`.
fn half(node: NodeRef<'_>) -> Option<Half> {
    let name =
        node.name().filter(|_| node.kind() == NodeKind::NewtypeStruct && node.num_leaves() == 1);
    name.and_then(Half::named)
}

/// The kinds of two numbers, if they are the same number in two kinds: exactly, or as the nearest
/// `f32`.
fn retyped(old: &Leaf, new: &Leaf) -> Option<[LeafKind; 2]> {
    let is_kept = match (old, new) {
        (Leaf::F64(_), Leaf::F32(narrow)) => {
            let is_small = |leaf: &Leaf| exact(leaf) == exact(&Leaf::F32(0.0));
            narrow.is_finite() && rounded(old) == rounded(new) && is_small(old) == is_small(new)
        }
        _ => old.kind().is_number() && new.kind().is_number() && exact(old) == exact(new),
    };
    is_kept.then(|| [old.kind(), new.kind()])
}
