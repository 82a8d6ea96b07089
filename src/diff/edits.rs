//! Finds the fewest removals and insertions that turn one list into another.

use std::cmp::Reverse;

/// Equal elements of two lists: their first positions, and their number.
#[derive(Clone, Copy)]
pub(super) struct EqualElements {
    pub(super) old: usize,
    pub(super) new: usize,
    pub(super) count: usize,
    /// The index of the equal elements before these.
    before: Option<usize>,
}

/// The maximum number of these that are kept for one path.
const MOST_EQUAL: usize = 1 << 20;

/// The work of one step along the path, in compared leaves.
const STEP: usize = 4;

/// Compares two elements by their positions. It reduces the work that is left, and returns `None`
/// if that is too little.
pub(super) type SameElements<'s> = &'s mut dyn FnMut(usize, usize, &mut usize) -> Option<bool>;

/// Follows the paths with the fewest removals and insertions, by the greedy algorithm of Myers, to
/// the ends of both lists, or up to `most` of them, or while there is work left. Returns the equal
/// elements along the longest path, and the place where it ends.
pub(super) fn fewest_edits(
    (olds, news): (usize, usize),
    most: usize,
    work: &mut usize,
    same: SameElements<'_>,
) -> (Vec<EqualElements>, (usize, usize)) {
    let most = most.min(olds.saturating_add(news));
    // For each number of removals minus insertions, how many elements of the old list are done, and
    // the last equal ones. The place of zero is `middle`.
    let middle = most + 1;
    let mut reached: Vec<Option<(usize, Option<usize>)>> = vec![None; 2 * most + 3];
    let mut equal: Vec<EqualElements> = Vec::new();
    let new_at = |old: usize, diagonal: usize| old + middle - diagonal; // not below zero
    'search: for edits in 0..=most {
        for diagonal in (middle - edits..=middle + edits).step_by(2) {
            let Some(left) = work.checked_sub(STEP) else { break 'search };
            *work = left;
            let mut start = if edits == 0 { Some((0, None)) } else { None };
            // In range: `diagonal` is from 1 to `2 * most + 1`.
            if let Some((old, before)) = reached[diagonal - 1]
                && old < olds
            {
                start = start.max(Some((old + 1, before)));
            }
            if let Some((old, before)) = reached[diagonal + 1]
                && new_at(old, diagonal + 1) < news
            {
                start = start.max(Some((old, before)));
            }
            let Some((first, before)) = start else { continue };
            let (mut old, mut is_stopped) = (first, false);
            while old < olds && new_at(old, diagonal) < news {
                match same(old, new_at(old, diagonal), work) {
                    Some(true) => old += 1,
                    Some(false) => break,
                    None => {
                        is_stopped = true;
                        break;
                    }
                }
            }
            let new = new_at(first, diagonal);
            let found = EqualElements { old: first, new, count: old - first, before };
            let last = if old > first {
                equal.push(found);
                Some(equal.len() - 1)
            } else {
                before
            };
            reached[diagonal] = Some((old, last));
            let is_end = old == olds && new_at(old, diagonal) == news;
            if is_end || is_stopped || equal.len() > MOST_EQUAL {
                break 'search;
            }
        }
    }
    let ends = reached.iter().enumerate().filter_map(|(diagonal, it)| it.map(|it| (diagonal, it)));
    // If several are as long, as many elements are removed as inserted.
    let longest = ends.max_by_key(|(diagonal, (old, _))| {
        (old + new_at(*old, *diagonal), Reverse(diagonal.abs_diff(middle)))
    });
    let Some((diagonal, (old, mut last))) = longest else { return (Vec::new(), (0, 0)) };
    let mut path = Vec::new();
    while let Some(found) = last.and_then(|at| equal.get(at)) {
        path.push(*found);
        last = found.before;
    }
    path.reverse();
    (path, (old, new_at(old, diagonal)))
}
