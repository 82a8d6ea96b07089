//! The keys of the maps for which nodes were made, so that the keys of an equal map need not be sorted, hashed and compared.

use std::ops::Range;

use crate::bug::OrBug;
use crate::hash_index::HashIndex;
use crate::treedef::encoding::{SPARE, empty};

/// The keys of maps in canonical order, as the numbers of their labels.
#[derive(Default)]
pub(super) struct KnownKeys {
    /// For each map, the range of its keys in `keys`, and its node data.
    maps: Vec<(Range<usize>, usize)>,
    keys: Vec<usize>,
    /// All keys of known maps are less than this. So a map with a greater key is not known.
    end: usize,
    /// The first of `maps`, by the hashes of their keys. The later ones are added when keys are looked for.
    index: HashIndex,
}

/// A known map with the keys of another one.
pub(super) struct KnownMap {
    /// The numbers of the entries of the other one in canonical order, unless they came in it.
    pub(super) inserted: Option<Vec<usize>>,
    pub(super) data: usize,
}

impl KnownKeys {
    /// The newest key, if no known map has it.
    pub(super) fn new_key(&self, numbers: &[usize]) -> Option<usize> {
        let newest = numbers.iter().fold(0, |newest, number| newest.max(*number));
        (newest >= self.end && !numbers.is_empty()).then_some(newest)
    }

    /// The known map with these keys, `in_any_order` or in the same one. Most maps have the keys of the last one.
    pub(super) fn find(&mut self, numbers: &[usize], in_any_order: bool) -> Option<KnownMap> {
        let last = self.maps.last().and_then(|map| self.compare(map, numbers, in_any_order));
        last.or_else(|| self.find_earlier(numbers, in_any_order))
    }

    fn find_earlier(&mut self, numbers: &[usize], in_any_order: bool) -> Option<KnownMap> {
        for map in self.index.len()..self.maps.len() {
            let (keys, _) = &self.maps[map]; // in range
            let hash = self.hash_of(self.part(keys), in_any_order);
            self.index.insert(hash, map);
        }
        let map = self.index.find(self.hash_of(numbers, in_any_order), &|_| true)?;
        self.compare(self.maps.get(map)?, numbers, in_any_order)
    }

    fn compare(
        &self,
        (keys, data): &(Range<usize>, usize),
        numbers: &[usize],
        in_any_order: bool,
    ) -> Option<KnownMap> {
        let (known, data) = (self.part(keys), *data);
        if known == numbers {
            return Some(KnownMap { inserted: None, data });
        }
        if !in_any_order {
            return None;
        }
        Some(KnownMap { inserted: Some(order_like(known, numbers)?), data })
    }

    fn hash_of(&self, numbers: &[usize], in_any_order: bool) -> u64 {
        numbers.iter().fold(0, |sum: u64, number| {
            let turned = if in_any_order { sum } else { sum.rotate_left(5) };
            turned.wrapping_add(self.index.hash(number))
        })
    }

    fn part(&self, keys: &Range<usize>) -> &[usize] {
        self.keys.get(keys.clone()).or_bug()
    }

    /// Adds the keys of a map, whose entries have the numbers `inserted` in canonical order unless they came in it, and
    /// its [new key](Self::new_key).
    pub(super) fn add(
        &mut self,
        numbers: &[usize],
        inserted: Option<Vec<usize>>,
        data: usize,
        new_key: Option<usize>,
    ) {
        let start = self.keys.len();
        match inserted {
            Some(inserted) => self.keys.extend(inserted.into_iter().map(|entry| numbers[entry])), // in range
            None => self.keys.extend_from_slice(numbers),
        }
        self.maps.push((start..self.keys.len(), data));
        self.end = new_key.map_or(self.end, |newest| newest + 1); // it is in memory
    }

    /// Forgets all keys, and keeps the memory unless it is large.
    pub(super) fn clear(&mut self) {
        empty(&mut self.maps);
        empty(&mut self.keys);
        self.end = 0;
        self.index.clear(SPARE / 4);
    }
}

/// If these are the keys of a known map, and few: the numbers of the entries in canonical order.
fn order_like(known: &[usize], numbers: &[usize]) -> Option<Vec<usize>> {
    // Most have other keys, so that no room is made for them.
    let is_other = known.len() != numbers.len() || !numbers.contains(known.first()?);
    if is_other || numbers.len() > 64 {
        return None;
    }
    let (mut inserted, mut entries) = (Vec::with_capacity(numbers.len()), 0u64);
    for key in known {
        let entry = numbers.iter().position(|number| number == key)?;
        inserted.push(entry);
        entries |= 1 << entry; // at most 64
    }
    (entries.count_ones() as usize == inserted.len()).then_some(inserted)
}
