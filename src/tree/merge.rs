//! Splits a tree by leaves, without nodes that become empty, and merges such parts.
//!
//! The idea is haiku's `data_structures.partition` and `merge`, which support two levels of dicts.

use std::ops::Range;
use std::sync::Arc;

use crate::bug::OrBug;
use crate::error::{Error, Result};
use crate::model::{Labels, NodeData, NodeKind, Tree, TreeDef};
use crate::path::{Key, Path};
use crate::positions::{destinations, permute, sorted_positions};
use crate::treedef::compare::{self, Heads, Labelled, have_leaves};
use crate::treedef::difference::mismatch_at;
use crate::treedef::edit::EditWalk;
use crate::treedef::insertion::insertion_order;
use crate::treedef::node_ref::{NodeRef, Overlap};
use crate::treedef::pairs::{equal_subtrees, expect_agreement, in_same_order};
use crate::treedef::parts::PartsBuilder;
use crate::treedef::walk::Event;

/// The structure with only the kept leaves, without nodes that lose all their leaves.
pub(super) fn thinned(treedef: &TreeDef, stays: &[bool], in_memory: usize) -> Result<TreeDef> {
    // The number of kept leaves before each leaf, and at the end of all leaves.
    let mut total = 0;
    let mut before = vec![0];
    before.extend(stays.iter().map(|stays| {
        total += usize::from(*stays);
        total
    }));
    let kept = |range: Range<usize>| {
        let count = |index| before.get(index).copied().or_bug();
        count(range.end) - count(range.start)
    };
    let mut walk = EditWalk::singly(treedef, in_memory)?;
    while let Some(met) = walk.step() {
        let Event::Enter { node, .. } = met else {
            walk.leave()?;
            continue;
        };
        match kept(node.leaf_range()) {
            all if all == node.num_leaves() => walk.keep()?,
            0 if !walk.path().is_root() || node.kind() == NodeKind::Leaf => walk.remove()?,
            _ => walk.enter()?,
        }
    }
    walk.finish()
}

/// Two nodes that are merged into one, and the children that remain.
struct MergedNode<'a> {
    labels: Labels,
    order: Option<Arc<[usize]>>,
    children: MergedChildren<'a>,
}

/// The subtree of one or both trees in a place. For runs without leaves, the number is the number
/// of siblings.
enum MergeSource<'a> {
    First(NodeRef<'a>),
    Second(NodeRef<'a>),
    Both(NodeRef<'a>, NodeRef<'a>, usize),
}

pub(super) fn merged<L>(first: Tree<L>, second: Tree<L>) -> Result<Tree<L>> {
    expect_agreement(&first.treedef, &second.treedef)?;
    let [mut a_leaves, mut b_leaves] = [first.leaves, second.leaves]
        .map(|leaves| leaves.into_iter().map(Some).collect::<Vec<_>>());
    let mut leaves = Vec::with_capacity(a_leaves.len().saturating_add(b_leaves.len()));
    let mut move_from = |from: &mut Vec<Option<L>>, node: NodeRef<'_>| {
        let below = from.get_mut(node.leaf_range()).or_bug();
        leaves.extend(below.iter_mut().filter_map(Option::take));
    };
    let limits = first.treedef.limits.max(second.treedef.limits);
    let mut builder = PartsBuilder::onto(first.treedef.root(), limits);
    let mut path = Path::root();
    let roots = (None, MergeSource::Both(first.treedef.root(), second.treedef.root(), 1));
    builder.assemble(roots, |builder, depth, (key, part)| {
        path.0.truncate(depth.saturating_sub(1)); // keeps the path of the parent
        path.0.extend(key);
        match part {
            MergeSource::First(node) => {
                move_from(&mut a_leaves, node);
                builder.insert(node, 1)?;
            }
            MergeSource::Second(node) => {
                move_from(&mut b_leaves, node);
                builder.insert(node, 1)?;
            }
            MergeSource::Both(a, b, repeat) if !have_leaves(a, b) && equal_subtrees(a, b) => {
                builder.insert(a, repeat)?;
            }
            MergeSource::Both(a, b, repeat) => {
                let MergedNode { labels, order, children } = MergedNode::of(a, b, &path)?;
                let data = a.data().map(|data| NodeData { labels, ..data.clone() });
                builder.open_new(a.kind(), data.as_ref().map(NodeData::as_ref), repeat);
                builder.set_insertion_order(order);
                return Ok(Some(children.into_iter()));
            }
        }
        Ok(None)
    })?;
    Ok(Tree::from_parts(builder.finish()?, leaves))
}

impl<'a> MergedNode<'a> {
    fn of(a: NodeRef<'a>, b: NodeRef<'a>, path: &Path) -> Result<Self> {
        let is_leaf = |node: NodeRef<'_>| node.kind() == NodeKind::Leaf;
        if is_leaf(a) && is_leaf(b) {
            let twice = Error::argument("two parts have this leaf");
            return Err(twice.at(path.clone()));
        }
        let labelled = a.is_labelled();
        let same = Heads::EQUAL.difference(a, b).is_none();
        if !same || !labelled && a.num_children() != b.num_children() {
            return Err(mismatch_at(path.clone(), a, b));
        }
        let (children, order) =
            if labelled { merged_by_label(a, b) } else { (merged_by_position(a, b), None) };
        let (mut keys, mut fields) = (Vec::new(), Vec::new());
        for (key, _) in &children {
            keys.extend(key.as_ref().and_then(Key::entry).cloned());
            fields.extend(key.as_ref().and_then(Key::field).cloned());
        }
        let labels = match a.kind() {
            NodeKind::Map => Labels::Keys(keys.into()),
            _ if labelled => Labels::Fields(fields.into()),
            _ => Labels::None,
        };
        Ok(MergedNode { labels, order, children })
    }
}

type MergedChildren<'a> = Vec<(Option<Key>, MergeSource<'a>)>;

/// Several equal pairs are one item only if the insertion orders of all their maps are equal.
fn merged_by_position<'a>(a: NodeRef<'a>, b: NodeRef<'a>) -> MergedChildren<'a> {
    let (mut pairs, mut children) = (a.overlaps(b), Vec::new());
    let most = |x, y, count| if have_leaves(x, y) { 1 } else { in_same_order(x, y, count) };
    while let Some(Overlap { position, a: x, b: y, count }) = pairs.next_up_to(most) {
        children.push((a.key(position), MergeSource::Both(x, y, count)));
    }
    children
}

/// The children of both, and the insertion order of the entries of a map: first the entries of `a`.
fn merged_by_label<'a>(
    a: NodeRef<'a>,
    b: NodeRef<'a>,
) -> (MergedChildren<'a>, Option<Arc<[usize]>>) {
    let merged = |key: Key, child: Labelled<'a, 'a>| match child {
        Labelled::Both(a, _, b) => (Some(key), MergeSource::Both(a, b, 1)),
        Labelled::First(a) => (Some(key), MergeSource::First(a)),
        Labelled::Second(_, b) => (Some(key), MergeSource::Second(b)),
    };
    let children = compare::by_label(a, b, &Key::clone).into_iter();
    if !a.is_sorted_map() {
        return (children.map(|(key, child)| merged(key, child)).collect(), None);
    }
    let (first, second) = (a.insertion_ranks(), b.insertion_ranks());
    let rank = |at: usize, child: &Labelled<'_, '_>| match child {
        Labelled::Second(position, _) => first.len() + second.get(*position).copied().or_bug(),
        Labelled::First(_) | Labelled::Both(..) => first.get(at).copied().or_bug(),
    };
    let (mut ranks, mut merged_children) = (Vec::new(), Vec::new());
    for (at, (key, child)) in children.enumerate() {
        ranks.push(rank(at, &child));
        merged_children.push(merged(key, child));
    }
    let entry = |at: usize| merged_children[at].0.as_ref().and_then(Key::entry);
    let sorted = sorted_positions(ranks.len(), &mut |a, b| entry(a).cmp(&entry(b)));
    permute(destinations(&sorted), |a, b| {
        ranks.swap(a, b);
        merged_children.swap(a, b);
    });
    (merged_children, insertion_order(&ranks))
}
