//! Which elements of two sequences go together.

use std::vec;

use similar::algorithms::{Capture, Replace, myers};

use crate::treedef::node::NodeRef;

use super::DiffSide;

/// Elements of two sequences, in order.
pub(super) enum Aligned<'a> {
    /// So many pairs that are alike, the first of them.
    Pair(NodeRef<'a>, NodeRef<'a>, usize),
    Removed(NodeRef<'a>, usize),
    Added(NodeRef<'a>, usize),
}

/// Beyond so many elements they go together by their positions.
const MOST: usize = 1 << 11;

/// Beyond so many nodes that may have to be compared, too.
const MOST_NODES: usize = 1 << 25;

/// Neighbouring elements that are looked at together.
struct ElementRun<'a, L> {
    side: DiffSide<'a, L>,
    count: usize,
}

impl<L: PartialEq> PartialEq for ElementRun<'_, L> {
    fn eq(&self, other: &Self) -> bool {
        self.count == other.count && self.side.equals(other.side, self.count)
    }
}

/// Elements go together by their positions, if the sequences are equally long; else so that most are equal.
pub(super) fn align<'a, L: PartialEq>(a: DiffSide<'a, L>, b: DiffSide<'a, L>) -> Vec<Aligned<'a>> {
    let mut aligned = Vec::new();
    let (many, others) = (a.node.num_children(), b.node.num_children());
    let together = if many.max(others) > MOST { usize::MAX } else { 1 };
    let (old, new) = (elements(a, together), elements(b, together));
    if many == others {
        pair(&old, &new, &mut aligned);
        return aligned;
    }
    let same = |(a, b): &(&ElementRun<'_, L>, &ElementRun<'_, L>)| a == b;
    let head = old.iter().zip(&new).take_while(same).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]); // no more than there are of both
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(same).count();
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    let nodes = (old_end - head).saturating_mul(b.node.subtree().len());

    pair(&old[..head], &new[..head], &mut aligned);
    if (old_end - head).max(new_end - head) > MOST || nodes > MOST_NODES {
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

/// The children, at most so many equal ones together; one by one if their leaves count.
fn elements<L>(side: DiffSide<'_, L>, most: usize) -> Vec<ElementRun<'_, L>> {
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

/// Neighbours of one run together, unless their leaves count.
fn runs<'a, L>(elements: &[ElementRun<'a, L>]) -> vec::IntoIter<(NodeRef<'a>, usize)> {
    let mut runs: Vec<(NodeRef<'a>, usize)> = Vec::new();
    for ElementRun { side, count } in elements {
        match runs.last_mut() {
            Some((first, repeat)) if first.same_structure(side.node) && !side.counts_leaves() => {
                *repeat += count;
            }
            _ => runs.push((side.node, *count)),
        }
    }
    runs.into_iter()
}

/// Lets elements go together by their positions; the rest of the longer side was removed or added.
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
                let alike = left.min(others);
                aligned.push(Aligned::Pair(x, y, alike));
                a = if left > alike { Some((x.later(alike), left - alike)) } else { old.next() };
                b = if others > alike {
                    Some((y.later(alike), others - alike))
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
