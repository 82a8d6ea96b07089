//! Sorting and moving items by their positions, compiled once for all kinds of items.

use std::cmp::Ordering;

use crate::model::Swap;

/// The positions of `count` items in their order. Equal items keep their order.
pub(crate) fn sorted_positions(
    count: usize,
    compare: &mut dyn FnMut(usize, usize) -> Ordering,
) -> Vec<usize> {
    let mut positions: Vec<usize> = (0..count).collect();
    positions.sort_by(|a, b| compare(*a, *b));
    positions
}

/// The same, without the items that equal an earlier one.
pub(crate) fn distinct_positions(
    count: usize,
    compare: &mut dyn FnMut(usize, usize) -> Ordering,
) -> Vec<usize> {
    let mut positions = sorted_positions(count, compare);
    positions.dedup_by(|later, first| compare(*later, *first) == Ordering::Equal);
    positions
}

/// Where each item comes, if the items come in the order of these numbers.
pub(crate) fn destinations(order: &[usize]) -> Vec<usize> {
    let mut destinations = vec![0; order.len()];
    for (place, &item) in order.iter().enumerate() {
        destinations[item] = place; // each is the number of an item
    }
    destinations
}

impl Swap {
    /// Swaps items of a slice.
    #[inline]
    pub(crate) fn apply<T>(self, items: &mut [T]) {
        if self.a.max(self.b).saturating_add(self.len) <= items.len() {
            for item in 0..self.len {
                items.swap(self.a + item, self.b + item);
            }
        }
    }

    /// The same in a slice that begins at another position.
    pub(crate) fn moved(self, from: usize, to: usize) -> Self {
        Swap { a: self.a - from + to, b: self.b - from + to, len: self.len } // behind `from`
    }
}

/// Moves each item to its destination by swaps along the cycles.
pub(crate) fn permute(mut destination: Vec<usize>, mut swap: impl FnMut(usize, usize)) {
    for at in 0..destination.len() {
        while destination[at] != at {
            let to = destination[at];
            swap(at, to);
            destination.swap(at, to);
        }
    }
}
