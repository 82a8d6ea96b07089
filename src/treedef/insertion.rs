//! The insertion orders of the entries of maps, stored beside a structure.

use std::mem;
use std::ops::Range;
use std::sync::Arc;

use crate::bug::OrBug;
use crate::model::{Insertion, NodeKind};
use crate::positions::{destinations, permute, sorted_positions};
use crate::treedef::node_ref::NodeRef;

/// The canonical positions of the entries of a map in the order of their ranks, which is the order
/// of insertion. Returns `None` if that is the canonical order.
pub(crate) fn insertion_order(ranks: &[usize]) -> Option<Arc<[usize]>> {
    if ranks.is_sorted() {
        return None;
    }
    // In range: each is the index of a rank.
    Some(sorted_positions(ranks.len(), &mut |a, b| ranks[a].cmp(&ranks[b])).into())
}

/// The orders of the maps in a structure that is being built.
#[derive(Default)]
pub(crate) struct MapOrders {
    /// Sorted by the numbers of the maps.
    list: Vec<Insertion>,
}

impl MapOrders {
    /// The index of the first order of the map with this number, or of a later one.
    fn start(&self, map: usize) -> usize {
        match self.list.last() {
            Some(last) if last.map >= map => self.list.partition_point(|order| order.map < map),
            _ => self.list.len(),
        }
    }

    /// The number of maps from this one on that have an order.
    pub(crate) fn count_from(&self, map: usize) -> usize {
        self.list.len() - self.start(map)
    }

    /// Called when the entries of this map, whose inner maps are the last ones so far, were sorted.
    /// `moved` returns the new number of an inner map; both numbers count from the first inner one.
    /// If there are too many, closing the map returns an error.
    pub(crate) fn sort(&mut self, map: usize, order: Arc<[usize]>, moved: impl Fn(usize) -> usize) {
        let (start, first) = (self.start(map), map.saturating_add(1));
        let inner = self.list.get_mut(start..).or_bug();
        for below in &mut *inner {
            below.map = first.saturating_add(moved(below.map.saturating_sub(first)));
        }
        let sorted = sorted_positions(inner.len(), &mut |a, b| inner[a].map.cmp(&inner[b].map));
        permute(destinations(&sorted), |a, b| inner.swap(a, b));
        self.list.insert(start, Insertion { map, order });
    }

    /// Sets or removes the order of a map.
    pub(crate) fn set(&mut self, map: usize, order: Option<Arc<[usize]>>) {
        let start = self.start(map);
        if self.list.get(start).is_some_and(|found| found.map == map) {
            self.list.remove(start);
        }
        if let Some(order) = order {
            self.list.insert(start, Insertion { map, order });
        }
    }

    /// Repeats the part from the map `from` on, which has `maps` maps, so that it occurs `times`
    /// times.
    pub(crate) fn repeat(&mut self, from: usize, maps: usize, times: usize) {
        let range = self.start(from)..self.list.len();
        for sibling in 1..if range.is_empty() { 1 } else { times } {
            let to = from.saturating_add(maps.saturating_mul(sibling));
            for at in range.clone() {
                self.list.push(self.list[at].moved(from, to)); // in range
            }
        }
    }

    /// Copies the orders of a range of maps to the map `to` and the following ones, behind all maps
    /// so far.
    pub(crate) fn copy(&mut self, maps: Range<usize>, to: usize) {
        for at in self.start(maps.start)..self.start(maps.end) {
            self.list.push(self.list[at].moved(maps.start, to)); // in range
        }
    }

    /// Adds the orders of a part that began at the map `from`, and begins at `to` here: behind all
    /// maps so far.
    pub(crate) fn append(&mut self, orders: &[Insertion], from: usize, to: usize) {
        self.list.extend(orders.iter().map(|order| order.moved(from, to)));
    }

    /// Removes the orders from a map on, and returns them, counted from it.
    pub(crate) fn split_off(&mut self, map: usize) -> MapOrders {
        let orders = self.list.split_off(self.start(map));
        MapOrders { list: orders.iter().map(|order| order.moved(map, 0)).collect() }
    }

    /// Removes the orders from a map on.
    pub(crate) fn forget_from(&mut self, map: usize) {
        self.list.truncate(self.start(map));
    }

    /// Takes out all orders, in the form that a treedef stores.
    pub(crate) fn take(&mut self) -> Option<Arc<[Insertion]>> {
        (!self.list.is_empty()).then(|| mem::take(&mut self.list).into())
    }
}

impl Insertion {
    /// The same order for a map with another number: a part that began at the map `from` now begins
    /// at `to`. If the number is too large, closing the part returns an error.
    pub(crate) fn moved(&self, from: usize, to: usize) -> Insertion {
        let map = (self.map - from).saturating_add(to); // the part contains the map
        Insertion { map, order: Arc::clone(&self.order) }
    }
}

impl<'a> NodeRef<'a> {
    /// The insertion orders of the maps in `siblings` siblings of one run, starting with this node.
    /// Maps in canonical order have none.
    pub(crate) fn insertions(self, siblings: usize) -> &'a [Insertion] {
        self.insertions_after(0, siblings)
    }

    fn insertions_after(self, skipped: usize, siblings: usize) -> &'a [Insertion] {
        let all = self.treedef.insertions();
        let first = |skipped: usize| {
            self.first_map().saturating_add(self.raw().maps.saturating_mul(skipped))
        };
        let place = |map| all.partition_point(|insertion| insertion.map < map);
        let range = place(first(skipped))..place(first(skipped.saturating_add(siblings)));
        all.get(range).or_bug()
    }

    /// The insertion order of the entries of this map, if it is not the order of their keys.
    pub(crate) fn insertion_order(self) -> Option<&'a Arc<[usize]>> {
        if self.kind() != NodeKind::Map {
            return None;
        }
        let all = self.treedef.insertions();
        let found = all.binary_search_by_key(&self.first_map(), |insertion| insertion.map).ok()?;
        all.get(found).map(|insertion| &insertion.order)
    }

    /// For each entry of this map, its insertion rank: the first has rank 0.
    pub(crate) fn insertion_ranks(self) -> Vec<usize> {
        let mut ranks: Vec<usize> = (0..self.num_children()).collect();
        let order = self.insertion_order().into_iter().flat_map(|order| order.iter());
        for (rank, &position) in order.enumerate() {
            ranks[position] = rank; // an order has the positions of all entries
        }
        ranks
    }

    /// Whether the insertion orders of all maps are the same in two nodes of equal structures.
    pub(crate) fn has_same_orders(self, other: NodeRef<'_>) -> bool {
        same_orders(
            (self.insertions(1), self.first_map()),
            (other.insertions(1), other.first_map()),
        )
    }

    /// The number of siblings, of `most`, starting with this node, whose maps have the same
    /// insertion orders.
    pub(crate) fn in_same_order(self, most: usize) -> usize {
        let (first, maps) = (self.insertions(1), self.raw().maps);
        let Some(next) = self.insertions(most).first() else { return most };
        if first.is_empty() {
            return ((next.map - self.first_map()) / maps).min(most); // each order belongs to a map
        }
        let same = |sibling: &usize| {
            let start = self.first_map().saturating_add(maps.saturating_mul(*sibling));
            same_orders((first, self.first_map()), (self.insertions_after(*sibling, 1), start))
        };
        1 + (1..most).take_while(same).count()
    }
}

/// Whether the insertion orders of two parts, which begin at these maps, are the same.
fn same_orders((a, first): (&[Insertion], usize), (b, other): (&[Insertion], usize)) -> bool {
    let same = |(a, b): (&Insertion, &Insertion)| {
        a.map - first == b.map - other && a.order == b.order // the parts contain the maps
    };
    a.len() == b.len() && a.iter().zip(b).all(same)
}
