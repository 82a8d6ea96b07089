//! The insertion orders of map entries, which are a separate part of a file.

use std::iter::Peekable;
use std::sync::Arc;
use std::vec::IntoIter;

use crate::error::{Cause, Result};
use crate::model::Insertion;
use crate::treedef::node_ref::NodeRef;
use crate::treedef::walk::{Visits, Walk};

use super::container::ORDERS as PART;
use super::wire::{self, OrderRow, count, read_table, wide, write_table};

/// The insertion orders of maps, one after another.
#[derive(Default)]
pub(super) struct OrderWriter {
    maps: Vec<OrderRow>,
    positions: Vec<u64>,
}

impl OrderWriter {
    /// Adds the insertion orders of structures. Their numbers start at `first`.
    pub(super) fn add(&mut self, orders: &[(usize, &[Insertion])], first: usize) -> Result<()> {
        for (structure, insertions) in orders {
            let structure = count(first + structure)?; // both count things in memory
            for insertion in *insertions {
                self.maps.push(OrderRow { structure, map: wide(insertion.map) });
                self.positions.extend(insertion.order.iter().map(|position| wide(*position)));
            }
        }
        Ok(())
    }

    /// The part of a file. It is empty if all entries came in canonical order.
    pub(super) fn part(&self) -> Vec<u8> {
        let mut part = Vec::new();
        if !self.maps.is_empty() {
            write_table(&self.maps, &mut part);
            write_table(&self.positions, &mut part);
        }
        part
    }
}

/// Returns the insertion orders of one structure after another.
#[derive(Clone)]
pub(super) struct OrderReader {
    maps: Peekable<IntoIter<OrderRow>>,
    positions: IntoIter<u64>,
    /// The number of the next structure.
    structure: u32,
}

impl OrderReader {
    /// Reads the part of a file.
    pub(super) fn new(mut part: &[u8]) -> Result<Self> {
        let (mut maps, mut positions) = (Vec::new(), Vec::new());
        if !part.is_empty() {
            (maps, positions) = (read_table(&mut part, PART)?, read_table(&mut part, PART)?);
            if maps.is_empty() {
                return Err(wire::invalid(PART, "it lists no map"));
            }
        }
        let (maps, positions) = (maps.into_iter().peekable(), positions.into_iter());
        let reader = OrderReader { maps, positions, structure: 0 };
        if part.is_empty() { Ok(reader) } else { Err(wire::invalid(PART, "it goes on")) }
    }

    pub(super) fn skip_structure(&mut self) {
        self.structure = self.structure.saturating_add(1);
    }

    /// The insertion orders of the next structure.
    pub(super) fn next_structure(&mut self, root: NodeRef<'_>) -> Result<Vec<Insertion>> {
        let structure = self.structure;
        self.skip_structure();
        let mut insertions: Vec<Insertion> = Vec::new();
        let mut walk = Walk::new(root, Visits::Everywhere);
        while let Some(row) = self.maps.next_if(|row| row.structure == structure) {
            let map = usize::try_from(row.map).map_err(|_| Cause::TooLarge)?;
            let later = insertions.last().is_none_or(|last| last.map < map);
            let node = Some(map).filter(|_| later).and_then(|map| walk.map(map));
            let node =
                node.ok_or_else(|| wire::invalid(PART, "it belongs to a map that does not exist"))?;
            insertions.push(Insertion { map, order: self.order(node.num_children())? });
        }
        Ok(insertions)
    }

    /// The positions of the entries of a map with `entries` entries.
    fn order(&mut self, entries: usize) -> Result<Arc<[usize]>> {
        if entries > self.positions.len() {
            return Err(wire::invalid(PART, "it has fewer positions than the map has entries"));
        }
        let taken = self.positions.by_ref().take(entries);
        let order: Vec<usize> =
            taken.map(|position| usize::try_from(position).unwrap_or(usize::MAX)).collect();
        let mut seen = vec![false; entries];
        for &position in &order {
            match seen.get_mut(position) {
                Some(seen) if !*seen => *seen = true,
                _ => return Err(wire::invalid(PART, "it is not a permutation of the entries")),
            }
        }
        if order.is_sorted() {
            Err(wire::invalid(PART, "it is the canonical order"))
        } else {
            Ok(order.into())
        }
    }

    /// Checks that every order was used.
    pub(super) fn finish(mut self) -> Result<()> {
        if self.maps.next().is_none() && self.positions.next().is_none() {
            Ok(())
        } else {
            Err(wire::invalid(PART, "it belongs to a structure that does not exist"))
        }
    }
}
