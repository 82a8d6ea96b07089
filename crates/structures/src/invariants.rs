//! Invariants of counted structures, checked in debug builds wherever they are merged, rebuilt or read.

use std::hash::BuildHasher;

use treedef::NodeKind;

use crate::count::{Entry, Structures};
use crate::interner::{Head, Interner, NO_ID};
use crate::pool::Pool;

type Checked = Result<(), String>;

fn ensure(holds: bool, broken: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(broken()) }
}

impl Structures {
    /// Panics in debug builds if an invariant is broken.
    pub(crate) fn checked(self) -> Self {
        if cfg!(debug_assertions)
            && let Err(broken) = self.check()
        {
            debug_assert!(false, "counted structures are broken: {broken}");
        }
        self
    }

    /// Each structure has its own root and the pools of its nodes, and the counts add up.
    fn check(&self) -> Checked {
        let interner = &self.recorder.interner;
        interner.check()?;
        let is_whole = self.recorder.places.is_whole();
        ensure(is_whole, || "a place does not know its steps".to_owned())?;
        let mut documents = 0u64;
        for (at, Entry { root, pools, seen }) in self.entries.iter().enumerate() {
            let own = interner.nodes.get(*root as usize).is_some_and(|node| node.entry == at);
            ensure(own, || format!("structure {at} has another's root, {root}"))?;
            interner.check_pools(*root, pools)?;
            let is_seen = seen.count > 0 && seen.first <= seen.last;
            ensure(is_seen, || format!("structure {at} was seen {seen:?}"))?;
            documents = documents.saturating_add(seen.count);
        }
        let roots = interner.nodes.iter().filter(|node| node.entry != usize::MAX).count();
        ensure(roots == self.entries.len(), || format!("there are {roots} roots"))?;
        ensure(documents == self.documents(), || format!("the counts are {documents} in all"))
    }
}

impl Interner {
    /// Nodes are stored after their children, once, are found, and have their sums.
    fn check(&self) -> Checked {
        let is_label = |label: u32| label == NO_ID || self.label(label).is_some();
        for (at, node) in self.nodes.iter().enumerate() {
            let of = |broken: &str| format!("{broken} at node {at}");
            let hash = self.hasher.hash_one((node.head, &*node.children));
            let found = self.find(hash, node.head, &node.children);
            ensure(found.map(|id| id as usize) == Some(at), || of("another is found"))?;
            let in_order = node.children.iter().all(|child| (child.node as usize) < at);
            ensure(in_order, || of("a child comes later"))?;
            ensure(node.children.iter().all(|child| is_label(child.label)), || of("no label"))?;
            let sums = self.sums(node.head, &node.children);
            ensure(sums == (node.pools, node.leaves, node.size), || of("other sums"))?;
            if let Head::Node { kind, name, variant } = node.head {
                ensure(is_label(name) && is_label(variant), || of("no name"))?;
                let is_sorted = node.children.is_sorted_by_key(|child| child.label);
                ensure(kind != NodeKind::Map || is_sorted, || of("unsorted entries"))?;
            }
        }
        Ok(())
    }

    /// A node has a pool for each folded sequence or map, and each element of one has its own.
    fn check_pools(&self, node: u32, pools: &[Pool]) -> Checked {
        let needed = self.node(node).pools;
        ensure(needed == pools.len(), || format!("{} pools for {needed}", pools.len()))?;
        for pool in pools {
            let (least, most) = (pool.shortest, pool.longest);
            ensure(least <= most, || format!("a pool of {least} to {most}"))?;
            ensure(pool.elements.is_empty() == (most == 0), || format!("a pool of {most}"))?;
            pool.elements.iter().try_for_each(|(id, pools)| self.check_pools(*id, pools))?;
        }
        Ok(())
    }
}
