//! Finds out whether the elements of a list moved, so that pairing by position would report too
//! many changes.

use crate::model::{Encoding, NodeKind};
use crate::treedef::node_ref::NodeRef;

use super::edits::fewest_edits;
use super::elements::ElementGroups;
use super::node::DiffNode;

/// Whether the elements of a node may be paired by content although both lists have one length.
pub(super) fn is_list(node: NodeRef<'_>) -> bool {
    node.kind() == NodeKind::Seq && node.num_children() > 1
}

/// For each node of a structure, whether it is or contains a list with some leaves.
pub(super) fn with_lists(encoding: &Encoding) -> Vec<bool> {
    let nodes = &encoding.nodes;
    let mut found = vec![false; nodes.len()];
    // Children come after their parent.
    for (at, node) in nodes.iter().enumerate().rev() {
        let mut has_list = node.kind == NodeKind::Seq && node.children > 1 && node.leaves >= FEWEST;
        let mut run = at + 1;
        while run < at + node.span() && !has_list {
            // In range: within the span (invariant 2).
            has_list = found[run];
            run += nodes[run].span();
        }
        found[at] = has_list;
    }
    found
}

/// The minimum number of changes below which pairing by content cannot win: a moved element is
/// removed and added.
pub(super) const FEWEST: usize = 3;

/// Whether pairing by content may make fewer changes than the `found` changes by position: a few
/// insertions and removals turn one list into the other, and an element equals one at another
/// position. The comparisons for this check stay within a small part of the comparison by position,
/// and within `work`.
pub(super) fn may_be_shifted<L: PartialEq>(
    a: DiffNode<'_, L>,
    b: DiffNode<'_, L>,
    found: usize,
    work: &mut usize,
) -> bool {
    let count = a.node.num_children();
    if found < FEWEST {
        return false;
    }
    // One element at least is removed and one added. Each other change is one element of each list.
    let most = found.saturating_mul(2) - 4;
    let most = most.min(FEW_EDITS.max(count.saturating_mul(16).isqrt()));
    let allowed = found.saturating_mul(LOOKED_AT).min(*work);
    let (mut left, mut has_moved) = (allowed, false);
    let [old, new] = [a, b].map(|list| ElementGroups::of(list, false));
    let (_, end) = fewest_edits((count, count), most, &mut left, &mut |at, other, left| {
        let ((x, _), (y, _)) = (old.get(at)?, new.get(other)?);
        let is_same = a.at(x).same(b.at(y), left)?;
        has_moved |= at != other && is_same;
        Some(is_same)
    });
    *work -= allowed - left;
    end == (count, count) && has_moved
}

/// The work for each change that was found.
const LOOKED_AT: usize = 1 << 6;

/// The number of insertions and removals that are tried in the shortest lists.
const FEW_EDITS: usize = 1 << 5;
