//! Finds out which elements of two sequences correspond.

use std::vec;

use similar::algorithms::{Capture, Replace, myers};

use crate::treedef::node_ref::NodeRef;

use super::DiffNode;

/// Corresponding elements of two sequences, in order.
pub(super) enum Aligned<'a> {
    /// The first of several equal pairs, and their number. The two elements of a pair may differ.
    Pair(NodeRef<'a>, NodeRef<'a>, usize),
    Removed(NodeRef<'a>, usize),
    Added(NodeRef<'a>, usize),
}

/// The maximum number of elements that are matched by content. More are paired by position.
const MOST_ELEMENTS: usize = 1 << 11;

/// The maximum number of nodes that matching by content may compare.
const MOST_NODES: usize = 1 << 25;

/// Neighbouring elements that are handled together.
struct ElementRun<'a, L> {
    side: DiffNode<'a, L>,
    count: usize,
}

impl<L: PartialEq> PartialEq for ElementRun<'_, L> {
    fn eq(&self, other: &Self) -> bool {
        self.count == other.count && self.side.equals(other.side, self.count)
    }
}

/// Pairs the elements by position if the sequences have the same length. Otherwise as many equal
/// elements as possible are paired.
pub(super) fn align<'a, L: PartialEq>(a: DiffNode<'a, L>, b: DiffNode<'a, L>) -> Vec<Aligned<'a>> {
    let mut aligned = Vec::new();
    let (many, others) = (a.node.num_children(), b.node.num_children());
    let together = if many.max(others) > MOST_ELEMENTS { usize::MAX } else { 1 };
    let (old, new) = (elements(a, together), elements(b, together));
    if many == others {
        pair(&old, &new, &mut aligned);
        return aligned;
    }
    let same = |(a, b): &(&ElementRun<'_, L>, &ElementRun<'_, L>)| a == b;
    let head = old.iter().zip(&new).take_while(same).count();
    // In range: `head` is at most both lengths.
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(same).count();
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    let nodes = (old_end - head).saturating_mul(b.node.subtree().len());

    pair(&old[..head], &new[..head], &mut aligned);
    if (old_end - head).max(new_end - head) > MOST_ELEMENTS || nodes > MOST_NODES {
        pair(&old[head..old_end], &new[head..new_end], &mut aligned);
    } else {
        let mut found = Replace::new(Capture::new());
        // Capturing does not fail.
        let _ = myers::diff(&mut found, &old[..], head..old_end, &new[..], head..new_end);
        for found in found.into_inner().into_ops() {
            pair(&old[found.old_range()], &new[found.new_range()], &mut aligned);
        }
    }
    pair(&old[old_end..], &new[new_end..], &mut aligned);
    aligned
}

/// The children, in groups of up to `most` equal ones. Children with leaves to compare stay single.
fn elements<L>(side: DiffNode<'_, L>, most: usize) -> Vec<ElementRun<'_, L>> {
    let (mut elements, mut children) = (Vec::new(), side.node.children());
    while let Some(child) = children.clone().next() {
        let most = if side.at(child).counts_leaves() { 1 } else { most };
        elements.extend(
            children
                .next_up_to(most)
                .map(|(node, count)| ElementRun { side: side.at(node), count }),
        );
    }
    elements
}

/// Merges neighbouring elements of one run, unless their leaves are compared.
fn runs<'a, L>(elements: &[ElementRun<'a, L>]) -> vec::IntoIter<(NodeRef<'a>, usize)> {
    let mut runs: Vec<(NodeRef<'a>, usize)> = Vec::new();
    for ElementRun { side, count } in elements {
        match runs.last_mut() {
            Some((first, repeat))
                if first.is_same_stored_node(side.node) && !side.counts_leaves() =>
            {
                *repeat += count;
            }
            _ => runs.push((side.node, *count)),
        }
    }
    runs.into_iter()
}

/// Pairs elements by position. The remaining elements of the longer side were removed or added.
fn pair<'a, L>(
    old: &[ElementRun<'a, L>],
    new: &[ElementRun<'a, L>],
    aligned: &mut Vec<Aligned<'a>>,
) {
    let (mut old, mut new) = (runs(old), runs(new));
    let (mut a, mut b) = (old.next(), new.next());
    loop {
        match (a, b) {
            (Some((x, left)), Some((y, others))) => {
                let count = left.min(others);
                aligned.push(Aligned::Pair(x, y, count));
                a = if left > count { Some((x.later(count), left - count)) } else { old.next() };
                b = if others > count {
                    Some((y.later(count), others - count))
                } else {
                    new.next()
                };
            }
            (Some((x, left)), None) => {
                aligned.push(Aligned::Removed(x, left));
                a = old.next();
            }
            (None, Some((y, left))) => {
                aligned.push(Aligned::Added(y, left));
                b = new.next();
            }
            (None, None) => return,
        }
    }
}
