//! Finds the position of a thing in a list by its hash.

use std::hash::{BuildHasher, Hash};

use hashbrown::{DefaultHashBuilder, HashTable};

/// The positions in a list of things, each with the hash of the thing.
#[derive(Default)]
pub(crate) struct HashIndex {
    positions: HashTable<(u64, usize)>,
    hasher: DefaultHashBuilder,
}

impl HashIndex {
    pub(crate) fn hash(&self, thing: impl Hash) -> u64 {
        self.hasher.hash_one(thing)
    }

    /// The number of positions.
    pub(crate) fn len(&self) -> usize {
        self.positions.len()
    }

    /// A position with this hash, for which this is true.
    pub(crate) fn find(&self, hash: u64, is_equal: &dyn Fn(usize) -> bool) -> Option<usize> {
        let is_equal = |(other, position): &(u64, usize)| *other == hash && is_equal(*position);
        self.positions.find(hash, is_equal).map(|(_, position)| *position)
    }

    #[inline(never)]
    pub(crate) fn insert(&mut self, hash: u64, position: usize) {
        self.positions.insert_unique(hash, (hash, position), |(hash, _)| *hash);
    }

    /// Removes all positions, and keeps the memory unless it has room for more than `most`.
    pub(crate) fn clear(&mut self, most: usize) {
        if self.positions.capacity() > most {
            self.positions = HashTable::new();
        }
        self.positions.clear();
    }
}
