//! Finds out which elements of two sequences correspond.

use std::vec;

use similar::algorithms::{Capture, Replace, myers};
use similar::{DiffOp, DiffTag};

use crate::treedef::node_ref::{Children, NodeRef};

use super::node::DiffNode;

/// Corresponding elements of two sequences, in order.
pub(super) enum Aligned<'a> {
    /// The number of equal pairs.
    Same(usize),
    /// The first of several equal pairs, and their number. The two elements of a pair may differ.
    Pair(NodeRef<'a>, NodeRef<'a>, usize),
    Removed(NodeRef<'a>, usize),
    Added(NodeRef<'a>, usize),
}

/// The maximum number of elements that are matched all at once. In longer sequences, matching goes
/// from one difference to the next.
pub(super) const MOST_ELEMENTS: usize = 1 << 11;

/// The maximum number of nodes that matching all at once may compare.
const MOST_NODES: usize = 1 << 25;

/// The number of elements of a long sequence that are matched at once after a difference.
const WINDOW: usize = 1 << 6;

/// The number of equal neighbours after which two long sequences are assumed to go on alike.
const ALIKE: usize = 1 << 4;

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

/// Pairs the elements by position if the sequences have the same length, otherwise
/// [by content](align_by_content).
pub(super) fn align<'a, L: PartialEq>(
    a: DiffNode<'a, L>,
    b: DiffNode<'a, L>,
    work: &mut usize,
) -> Vec<Aligned<'a>> {
    if a.node.num_children() != b.node.num_children() {
        return align_by_content(a, b, work);
    }
    let (old, new) = (AlignedElements::of(a, usize::MAX), AlignedElements::of(b, usize::MAX));
    let mut aligned = Vec::new();
    pair_rest(old, new, &mut aligned);
    aligned
}

/// Pairs as many equal elements as possible; in a long sequence, as many as are found near each
/// difference. `work` limits the comparisons.
pub(super) fn align_by_content<'a, L: PartialEq>(
    a: DiffNode<'a, L>,
    b: DiffNode<'a, L>,
    work: &mut usize,
) -> Vec<Aligned<'a>> {
    let mut aligned = Vec::new();
    if a.node.num_children().max(b.node.num_children()) > MOST_ELEMENTS {
        let (old, new) = (AlignedElements::of(a, usize::MAX), AlignedElements::of(b, usize::MAX));
        align_long(old, new, work, &mut aligned);
        return aligned;
    }
    let [old, new] = [a, b].map(|side| AlignedElements::of(side, 1).collect::<Vec<_>>());
    let same = |(a, b): &(&ElementRun<'_, L>, &ElementRun<'_, L>)| a == b;
    let head = old.iter().zip(&new).take_while(same).count();
    // In range: `head` is at most both lengths.
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(same).count();
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    let nodes = (old_end - head).saturating_mul(b.node.subtree().len());

    pair(&old[..head], &new[..head], &mut aligned);
    let (old_part, new_part) = (&old[head..old_end], &new[head..new_end]);
    if nodes > MOST_NODES {
        pair(old_part, new_part, &mut aligned);
    } else {
        for found in matched(old_part, new_part) {
            pair(&old_part[found.old_range()], &new_part[found.new_range()], &mut aligned);
        }
    }
    pair(&old[old_end..], &new[new_end..], &mut aligned);
    aligned
}

/// The equal elements of two sequences, and the elements between them.
fn matched<L: PartialEq>(old: &[ElementRun<'_, L>], new: &[ElementRun<'_, L>]) -> Vec<DiffOp> {
    let mut found = Replace::new(Capture::new());
    // Capturing does not fail.
    let _ = myers::diff(&mut found, old, 0..old.len(), new, 0..new.len());
    found.into_inner().into_ops()
}

/// Walks two long sequences. At a difference, it looks for the next place from which they go on
/// alike: first among the next few elements, then without some elements of one side or of both. So
/// the time is linear in the lengths, and only differences use memory.
fn align_long<'a, L: PartialEq>(
    mut old: AlignedElements<'a, L>,
    mut new: AlignedElements<'a, L>,
    work: &mut usize,
    aligned: &mut Vec<Aligned<'a>>,
) {
    loop {
        let same = old.skip_equal(&mut new);
        aligned.extend(Some(Aligned::Same(same)).filter(|_| same > 0));
        let (mut old_rest, mut new_rest) = (old.clone(), new.clone());
        let window: Vec<_> = old_rest.by_ref().take(WINDOW).collect();
        let other: Vec<_> = new_rest.by_ref().take(WINDOW).collect();
        let leaves = |elements: &[ElementRun<'_, L>]| {
            elements.iter().map(|element| 1 + element.side.below(1).len()).sum::<usize>()
        };
        let cost = leaves(&window).saturating_mul(other.len());
        if window.is_empty() || other.is_empty() || cost > *work {
            return pair_rest(old, new, aligned);
        }
        *work -= cost;
        let is_last = old_rest.clone().next().is_none() && new_rest.clone().next().is_none();
        let mut found = matched(&window, &other);
        if !is_last {
            let is_alike =
                |found: &DiffOp| found.tag() == DiffTag::Equal && found.old_range().len() >= ALIKE;
            found.truncate(found.iter().rposition(is_alike).map_or(0, |last| last + 1));
        }
        for found in &found {
            if found.tag() == DiffTag::Equal {
                let counts = window[found.old_range()].iter().map(|element| element.count);
                aligned.push(Aligned::Same(counts.sum()));
                continue;
            }
            pair(&window[found.old_range()], &other[found.new_range()], aligned);
        }
        let (skipped, others) = match found.last() {
            Some(last) => (last.old_range().end, last.new_range().end),
            None => {
                let Some((skipped, others)) = next_alike(&old, &new, work) else {
                    return pair_rest(old, new, aligned);
                };
                let part = |elements: &AlignedElements<'a, L>, count| {
                    elements.clone().take(count).collect::<Vec<_>>()
                };
                pair(&part(&old, skipped), &part(&new, others), aligned);
                (skipped, others)
            }
        };
        old.by_ref().take(skipped).for_each(drop);
        new.by_ref().take(others).for_each(drop);
    }
}

/// The number of elements of each side before the next place from which both go on alike.
fn next_alike<L: PartialEq>(
    old: &AlignedElements<'_, L>,
    new: &AlignedElements<'_, L>,
    work: &mut usize,
) -> Option<(usize, usize)> {
    let (mut later, mut later_new) = (old.clone(), new.clone());
    for skipped in 1.. {
        let (was, is) = (later.next(), later_new.next());
        let leaves = |element: &ElementRun<'_, L>| 1 + element.side.below(1).len();
        let cost = was.iter().chain(&is).map(leaves).fold(0usize, usize::saturating_add);
        *work = work.checked_sub(cost).filter(|_| cost > 0)?;
        if later.goes_on_alike(new) {
            return Some((skipped, 0));
        }
        if old.goes_on_alike(&later_new) {
            return Some((0, skipped));
        }
        if later.goes_on_alike(&later_new) {
            return Some((skipped, skipped));
        }
    }
    None
}

/// The children of a node, in groups of up to `most` equal ones. Children with leaves to compare
/// stay single.
struct AlignedElements<'a, L> {
    side: DiffNode<'a, L>,
    children: Children<'a>,
    most: usize,
}

impl<L> Clone for AlignedElements<'_, L> {
    fn clone(&self) -> Self {
        AlignedElements { children: self.children.clone(), ..*self }
    }
}

impl<'a, L> Iterator for AlignedElements<'a, L> {
    type Item = ElementRun<'a, L>;

    fn next(&mut self) -> Option<ElementRun<'a, L>> {
        let child = self.children.clone().next()?;
        let most = if self.side.at(child).counts_leaves() { 1 } else { self.most };
        let (node, count) = self.children.next_up_to(most)?;
        Some(ElementRun { side: self.side.at(node), count })
    }
}

impl<'a, L: PartialEq> AlignedElements<'a, L> {
    fn of(side: DiffNode<'a, L>, most: usize) -> Self {
        AlignedElements { side, children: side.node.children(), most }
    }

    /// Skips the next elements that are equal on both sides, and returns their number.
    fn skip_equal(&mut self, other: &mut Self) -> usize {
        let mut skipped = 0;
        loop {
            let (mut rest, mut others) = (self.clone(), other.clone());
            match (rest.next(), others.next()) {
                (Some(a), Some(b)) if a == b => {
                    skipped += a.count;
                    (*self, *other) = (rest, others);
                }
                _ => return skipped,
            }
        }
    }

    /// The number of elements in the next group.
    fn next_count(&self) -> usize {
        self.clone().next().map_or(0, |element| element.count)
    }

    /// Whether the next few elements are equal on both sides. At the end of both there are fewer.
    fn goes_on_alike(&self, other: &Self) -> bool {
        let (mut a, mut b) = (self.clone(), other.clone());
        (0..ALIKE).all(|_| a.next() == b.next())
    }
}

/// Pairs the remaining elements by position.
fn pair_rest<'a, L: PartialEq>(
    mut old: AlignedElements<'a, L>,
    mut new: AlignedElements<'a, L>,
    aligned: &mut Vec<Aligned<'a>>,
) {
    loop {
        let same = old.skip_equal(&mut new);
        aligned.extend(Some(Aligned::Same(same)).filter(|_| same > 0));
        match (old.children.clone().next(), new.children.clone().next()) {
            (Some(_), Some(_)) => {
                let most = old.next_count().min(new.next_count());
                let pairs = old.children.next_up_to(most).zip(new.children.next_up_to(most));
                aligned.extend(pairs.map(|((x, count), (y, _))| Aligned::Pair(x, y, count)));
            }
            (Some(_), None) => {
                aligned.extend(old.next().map(|it| Aligned::Removed(it.side.node, it.count)))
            }
            (None, Some(_)) => {
                aligned.extend(new.next().map(|it| Aligned::Added(it.side.node, it.count)))
            }
            (None, None) => return,
        }
    }
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
