//! Finds out whether the elements of a list moved, so that pairing by position would report too
//! many changes.

use crate::model::{Encoding, NodeKind};
use crate::treedef::node_ref::NodeRef;

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
    let (old, new) = (ListElements::of(a), ListElements::of(b));
    // Elements of one structure are told apart by their leaves alone.
    let alike = old.size().filter(|size| *size > 0 && a.same_class(b));
    let (all, others) = (a.below(1), b.below(1));
    let same = |at: usize, other: usize| {
        let (x, y) = match alike {
            Some(size) => (
                all.get(at * size..(at + 1) * size)?,
                others.get(other * size..(other + 1) * size)?,
            ),
            None => {
                let (x, y) = (old.get(at)?, new.get(other)?);
                if !x.same_class(y) {
                    left = left.checked_sub(1)?;
                    return Some(false);
                }
                (x.below(1), y.below(1))
            }
        };
        let same = x.iter().zip(y).take_while(|(x, y)| x == y).count();
        left = left.checked_sub(same + 1)?;
        has_moved |= at != other && same == x.len();
        Some(same == x.len())
    };
    let few = has_few_edits(count, most, same).unwrap_or(false);
    *work -= allowed - left;
    few && has_moved
}

/// The number of elements and leaves that are compared for each change that was found.
const LOOKED_AT: usize = 1 << 6;

/// The number of insertions and removals that are tried in the shortest lists.
const FEW_EDITS: usize = 1 << 5;

/// Whether two lists of `count` elements differ in at most `most` insertions and removals, by the
/// greedy algorithm of Myers. `None` if `same` stops.
fn has_few_edits(
    count: usize,
    most: usize,
    mut same: impl FnMut(usize, usize) -> Option<bool>,
) -> Option<bool> {
    // For each number of removals minus insertions, how many elements of the old list are done.
    // The place of zero is `middle`.
    let middle = most + 1;
    let mut reached = vec![0usize; 2 * most + 3];
    for edits in 0..=most {
        for diagonal in (middle - edits..=middle + edits).step_by(2) {
            // In range: `diagonal` is from 1 to `2 * most + 1`.
            let (removed, inserted) = (reached[diagonal - 1] + 1, reached[diagonal + 1]);
            let mut old = match edits {
                0 => 0,
                _ if diagonal == middle - edits => inserted,
                _ if diagonal == middle + edits => removed,
                _ => removed.max(inserted),
            };
            let mut new = (old + middle).saturating_sub(diagonal);
            while old < count && new < count && same(old, new)? {
                (old, new) = (old + 1, new + 1);
            }
            if old >= count && new >= count {
                return Some(true);
            }
            reached[diagonal] = old;
        }
    }
    Some(false)
}

/// The elements of a list by position. One stored element may stand for any number of them.
struct ListElements<'a, L> {
    list: DiffNode<'a, L>,
    /// The first, if all have one structure.
    alike: Option<NodeRef<'a>>,
}

impl<'a, L> ListElements<'a, L> {
    fn of(list: DiffNode<'a, L>) -> Self {
        ListElements { list, alike: list.node.only_run() }
    }

    /// The number of leaves in each, if all have one structure.
    fn size(&self) -> Option<usize> {
        self.alike.map(NodeRef::num_leaves)
    }

    fn get(&self, position: usize) -> Option<DiffNode<'a, L>> {
        let element = match self.alike {
            Some(first) => first.later(position),
            None => self.list.node.child(position)?,
        };
        Some(self.list.at(element))
    }
}
