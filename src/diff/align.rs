//! Finds out which elements of two sequences correspond.

use crate::treedef::node_ref::NodeRef;

use super::edits::fewest_edits;
use super::elements::ElementGroups;
use super::node::DiffNode;

/// Corresponding elements of two sequences, in order.
pub(super) enum Aligned<'a> {
    /// The number of equal pairs.
    Same(usize),
    /// The first of several pairs that differ, and their number.
    Pair(NodeRef<'a>, NodeRef<'a>, usize),
    Removed(NodeRef<'a>, usize),
    Added(NodeRef<'a>, usize),
}

/// The maximum number of elements that are removed and added one by one. In longer sequences,
/// equal neighbours are handled together.
const MOST_SINGLE: usize = 1 << 11;

/// The maximum number of removals and insertions that are tried before the longest path is taken.
const MOST_EDITS: usize = 1 << 12;

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
    let [old, new] = [a, b].map(|side| ElementGroups::of(side, true));
    let same = &mut |x, y, work: &mut usize| a.at(x).same(b.at(y), work);
    let mut alignment = Alignment { old, new, same, aligned: Vec::new() };
    let ends = alignment.ends();
    alignment.pair((0, 0), ends);
    alignment.aligned
}

/// Pairs as many equal elements as possible. `work` limits the comparisons: without any left, the
/// remaining elements are paired by position.
pub(super) fn align_by_content<'a, L: PartialEq>(
    a: DiffNode<'a, L>,
    b: DiffNode<'a, L>,
    work: &mut usize,
) -> Vec<Aligned<'a>> {
    let are_many = a.node.num_children().max(b.node.num_children()) > MOST_SINGLE;
    let [old, new] = [a, b].map(|side| ElementGroups::of(side, are_many));
    let same = &mut |x, y, work: &mut usize| a.at(x).same(b.at(y), work);
    let mut alignment = Alignment { old, new, same, aligned: Vec::new() };
    alignment.by_content(work);
    alignment.aligned
}

/// Two sequences whose elements are being paired.
struct Alignment<'a, 's> {
    old: ElementGroups<'a>,
    new: ElementGroups<'a>,
    /// Compares two elements. It reduces the work that is left, and returns `None` if that is too
    /// little.
    same: &'s mut dyn FnMut(NodeRef<'a>, NodeRef<'a>, &mut usize) -> Option<bool>,
    aligned: Vec<Aligned<'a>>,
}

impl<'a> Alignment<'a, '_> {
    fn ends(&self) -> (usize, usize) {
        (self.old.len(), self.new.len())
    }

    fn by_content(&mut self, work: &mut usize) {
        let (mut start, mut ends, mut tail) = ((0, 0), self.ends(), 0);
        let is_between =
            |start: (usize, usize), ends: (usize, usize)| start.0 < ends.0 && start.1 < ends.1;
        while is_between(start, ends)
            && let Some(count) = self.equal_at(start)
        {
            self.push(Aligned::Same(count));
            start.0 += self.old.take(start.0, count, false);
            start.1 += self.new.take(start.1, count, false);
        }
        while is_between(start, ends)
            && let last = (ends.0 - 1, ends.1 - 1)
            && let Some(count) = self.equal_at(last)
        {
            tail += count;
            ends.0 -= self.old.take(last.0, count, true);
            ends.1 -= self.new.take(last.1, count, true);
        }
        let mut paired = start;
        while is_between(start, ends) {
            let lengths = (ends.0 - start.0, ends.1 - start.1);
            let Alignment { old, new, same, .. } = self;
            let (equal, end) = fewest_edits(lengths, MOST_EDITS, work, &mut |at, other, work| {
                let ((x, count), (y, others)) = (old.get(start.0 + at)?, new.get(start.1 + other)?);
                if count == others { same(x, y, work) } else { Some(false) }
            });
            if end == (0, 0) {
                break; // no work is left
            }
            for found in equal {
                let first = (start.0 + found.old, start.1 + found.new);
                self.pair(paired, first);
                paired = (first.0 + found.count, first.1 + found.count);
                let counts = (first.0..paired.0).filter_map(|at| self.old.get(at));
                self.push(Aligned::Same(counts.map(|(_, count)| count).sum()));
            }
            start = (start.0 + end.0, start.1 + end.1);
        }
        self.pair(paired, ends);
        self.push(Aligned::Same(tail));
    }

    /// The number of equal elements at the start of two groups.
    fn equal_at(&mut self, (at, other): (usize, usize)) -> Option<usize> {
        let ((x, count), (y, others)) = (self.old.get(at)?, self.new.get(other)?);
        let is_same = (self.same)(x, y, &mut { usize::MAX }) == Some(true);
        is_same.then_some(count.min(others))
    }

    /// Pairs elements by position. The remaining elements of the longer side were removed or added.
    fn pair(&mut self, (mut at, mut other): (usize, usize), ends: (usize, usize)) {
        loop {
            let old = self.old.get(at).filter(|_| at < ends.0);
            let new = self.new.get(other).filter(|_| other < ends.1);
            match (old, new) {
                (Some((x, count)), Some((y, others))) => {
                    let count = count.min(others);
                    let is_same = self.equal_at((at, other)).is_some();
                    self.push(if is_same {
                        Aligned::Same(count)
                    } else {
                        Aligned::Pair(x, y, count)
                    });
                    at += self.old.take(at, count, false);
                    other += self.new.take(other, count, false);
                }
                (Some((x, count)), None) => {
                    self.push(Aligned::Removed(x, count));
                    at += 1;
                }
                (None, Some((y, count))) => {
                    self.push(Aligned::Added(y, count));
                    other += 1;
                }
                (None, None) => return,
            }
        }
    }

    /// Appends elements. Equal neighbours are one entry.
    fn push(&mut self, next: Aligned<'a>) {
        use Aligned::{Added, Pair, Removed, Same};
        let (of_old, of_new) = (&self.old, &self.new);
        match (self.aligned.last_mut(), &next) {
            (_, Same(0)) => {}
            (Some(Same(all)), Same(count)) => *all += count,
            (Some(Pair(x, y, all)), Pair(a, b, count))
                if of_old.are_one(*x, *a) && of_new.are_one(*y, *b) =>
            {
                *all += count;
            }
            (Some(Removed(x, all)), Removed(a, count)) if of_old.are_one(*x, *a) => *all += count,
            (Some(Added(y, all)), Added(b, count)) if of_new.are_one(*y, *b) => *all += count,
            _ => self.aligned.push(next),
        }
    }
}
