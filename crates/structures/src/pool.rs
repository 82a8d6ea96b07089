//! The content of a folded sequence or map.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The lengths and the distinct elements of a folded sequence or map, over all joined ones.
#[derive(Clone, Default)]
pub(crate) struct Pool {
    pub(crate) shortest: u64,
    pub(crate) longest: u64,
    /// Each has the pools inside of it, as many as its node has.
    pub(crate) elements: BTreeMap<u32, Vec<Pool>>,
}

impl Pool {
    /// Adds an element whose pools are those from index `first` on.
    #[inline]
    pub(crate) fn add(&mut self, node: u32, pools: &mut Vec<Pool>, first: usize) {
        match self.elements.entry(node) {
            Entry::Vacant(new) => drop(new.insert(pools.drain(first..).collect())),
            Entry::Occupied(mut known) if pools.len() > first => {
                join(known.get_mut(), pools.drain(first..));
            }
            Entry::Occupied(_) => {}
        }
    }

    fn join(&mut self, other: Pool) {
        self.shortest = self.shortest.min(other.shortest);
        self.longest = self.longest.max(other.longest);
        for (node, pools) in other.elements {
            match self.elements.entry(node) {
                Entry::Occupied(mut known) => join(known.get_mut(), pools),
                Entry::Vacant(new) => drop(new.insert(pools)),
            }
        }
    }
}

/// The memory of pools, in nodes.
pub(crate) fn cost(pools: &[Pool]) -> usize {
    let of = |pool: &Pool| pool.elements.values().map(|pools| 1 + cost(pools)).sum::<usize>();
    pools.iter().map(|pool| 1 + of(pool)).sum()
}

/// The memory that [`join`] adds, in nodes.
pub(crate) fn growth(pools: &[Pool], others: &[Pool]) -> usize {
    let of = |(pool, other): (&Pool, &Pool)| {
        let of = |(node, others): (&u32, &Vec<Pool>)| match pool.elements.get(node) {
            Some(pools) => growth(pools, others),
            None => 1 + cost(others),
        };
        other.elements.iter().map(of).sum::<usize>()
    };
    pools.iter().zip(others).map(of).sum()
}

/// Joins the pools of two equal nodes, one by one.
pub(crate) fn join(
    pools: &mut [Pool],
    others: impl IntoIterator<Item = Pool, IntoIter: ExactSizeIterator>,
) {
    let others = others.into_iter();
    debug_assert_eq!(pools.len(), others.len(), "equal nodes have as many pools");
    pools.iter_mut().zip(others).for_each(|(pool, other)| pool.join(other));
}
