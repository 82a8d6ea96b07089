//! Opens a node, adds its children, closes it.

use std::mem;
use std::sync::{Arc, Mutex, OnceLock};

use crate::bug::OrBug;
use crate::error::{Cause, Error, Result};
use crate::model::{
    Content, Encoding, Leaf, Limits, Node, NodeData, NodeKind, Options, Swap, Tree, TreeDef, Value,
};
use crate::positions::{destinations, permute, sorted_positions};
use crate::treedef::insertion::MapOrders;
use crate::treedef::node_ref::alike;
use crate::treedef::run_index::INDEXED;

use super::node_data::NodeDataTable;

/// The nodes and node data of a structure that is being built.
///
/// During the build, spans are relative and the totals of closed nodes are final, so subtrees can
/// be moved and copied. [`finish`](EncodingBuilder::finish) renumbers the node data.
#[derive(Default)]
pub(crate) struct EncodingBuilder {
    nodes: Vec<Node>,
    pub(crate) node_data: NodeDataTable,
    /// The number of a map comes from the caller, which knows how many maps are before it.
    pub(crate) orders: MapOrders,
}

/// For how many elements each list of a thread keeps room between two walks. All lists together take less than the
/// guide promises.
pub(crate) const SPARE: usize = 16_384;

/// Removes all elements, and keeps some room.
pub(crate) fn empty<T>(list: &mut Vec<T>) {
    list.clear();
    list.shrink_to(SPARE);
}

impl EncodingBuilder {
    /// The nodes of 3,000 different records, so that another walk of them allocates no more than one of 300.
    const SPARE_NODES: usize = 2 * SPARE;

    /// Appends a node that has no children yet.
    #[inline]
    pub(crate) fn open(&mut self, kind: NodeKind, data: usize) -> usize {
        let at = self.nodes.len();
        let leaves = usize::from(kind == NodeKind::Leaf);
        let maps = usize::from(kind == NodeKind::Map);
        self.nodes.push(Node {
            kind,
            depth: 0,
            data: NodeData::NONE as u32,
            span: 1,
            repeat: 1,
            children: 0,
            leaves,
            maps,
            work: 1,
        });
        if data != NodeData::NONE {
            self.attach_data(at, data);
        }
        at
    }

    /// The number of nodes.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn node(&self, at: usize) -> Option<&Node> {
        self.nodes.get(at)
    }

    pub(crate) fn reserve_exact(&mut self, nodes: usize) {
        self.nodes.reserve_exact(nodes);
    }

    /// Changes the kind and the node data of an open node.
    pub(crate) fn relabel(&mut self, at: usize, kind: NodeKind, data: usize) {
        let Some(node) = self.nodes.get_mut(at) else {
            return debug_assert!(false, "no node is open");
        };
        node.kind = kind;
        node.set_data(data);
    }

    /// Appends a complete subtree, as one child. Returns its index.
    pub(crate) fn append(&mut self, subtree: &[Node]) -> usize {
        let at = self.nodes.len();
        self.nodes.extend_from_slice(subtree);
        if let Some(root) = self.nodes.get_mut(at) {
            root.repeat = 1;
        }
        at
    }

    /// Completes the node at `at`. All nodes after it are its descendants.
    pub(crate) fn close(&mut self, at: usize, data: usize) -> Result<()> {
        if self.nodes.len() > Node::MOST {
            return Err(Cause::TooLarge.into());
        }
        let mut node = self.nodes[at];
        (node.children, node.leaves, node.work, node.depth) = (0, 0, 1, 0);
        node.maps = usize::from(node.kind == NodeKind::Map);
        let mut run = at + 1;
        while let Some(child) = self.nodes.get(run) {
            node.count(child)?;
            run += child.span();
        }
        node.depth = node.depth.saturating_add(1);
        self.nodes[at] = node;
        self.attach_data(at, data);
        Ok(())
    }

    /// Sets the node data and the span of a complete node, and adds the cost of the data.
    pub(crate) fn attach_data(&mut self, at: usize, data: usize) {
        let (work, depth) = self.node_data.costs.get(data).copied().unwrap_or_default();
        let end = self.nodes.len();
        let node = &mut self.nodes[at];
        node.set_data(data);
        node.span = (end - at) as u32; // `close` fails if there are more
        node.work = node.work.saturating_add(work);
        node.depth = node.depth.max(depth);
    }

    /// Whether two complete subtrees are equal, apart from the `repeat` of their roots.
    fn same(&self, a: usize, b: usize) -> bool {
        alike(self.subtree(a), self.subtree(b))
    }

    /// Adds the node that was completed last to its parent as the next `repeat` children. `last` is
    /// the index of the parent's last run. Returns the index of the run that now contains the
    /// children: if it equals the last run, both are merged.
    pub(crate) fn join(
        &mut self,
        last: Option<usize>,
        child: usize,
        repeat: usize,
    ) -> Result<usize> {
        match last {
            Some(last) if self.same(last, child) => {
                self.nodes.truncate(child);
                self.lengthen(last, repeat)?;
                Ok(last)
            }
            _ => {
                self.nodes[child].repeat = repeat;
                Ok(child)
            }
        }
    }

    /// Adds `more` children to the run at `at`.
    pub(crate) fn lengthen(&mut self, at: usize, more: usize) -> Result<()> {
        let run = &mut self.nodes[at].repeat;
        let Some(repeat) = run.checked_add(more) else { return Err(Cause::TooLarge.into()) };
        *run = repeat;
        Ok(())
    }

    pub(crate) fn subtree(&self, at: usize) -> &[Node] {
        &self.nodes[at..at + self.nodes[at].span()]
    }

    /// Adds copies of a complete subtree to its parent as the next children, as [`join`](Self::join) does.
    pub(crate) fn join_copies(
        &mut self,
        last: Option<usize>,
        node: usize,
        repeat: usize,
    ) -> Result<usize> {
        let (copy, root) = (self.nodes.len(), self.nodes[node]);
        // Elements that alternate mostly differ in kind.
        if let Some(last) = last
            && self.nodes[last].kind == root.kind
            && self.same(last, node)
        {
            self.lengthen(last, repeat)?;
            return Ok(last);
        }
        let (below, end) = (node + 1, node + root.span());
        self.nodes.push(Node { repeat, ..root });
        match end - below {
            // Most elements have few nodes, and `memcpy` costs as much as several of them.
            0..4 => (below..end).for_each(|at| self.nodes.push(self.nodes[at])),
            _ => self.nodes.extend_from_within(below..end),
        }
        Ok(copy)
    }

    /// Sorts the entries of the map at `at` into canonical order, its keys and its
    /// [children](Self::move_entries). Returns the numbers of the entries in that order, unless they were
    /// sorted.
    pub(crate) fn sort_entries(
        &mut self,
        at: usize,
        map: usize,
        keys: &mut [Value],
        first_leaf: Option<usize>,
        swaps: &mut Vec<Swap>,
    ) -> Option<Vec<usize>> {
        if keys.is_sorted_by(|a, b| a.cmp(b).is_le()) {
            return None;
        }
        let inserted = canonical_order(keys);
        permute(destinations(&inserted), |a, b| keys.swap(a, b));
        self.move_entries(at, map, &inserted, first_leaf, swaps);
        Some(inserted)
    }

    /// Sorts the children of the map at `at` into canonical order, in which the entries have these
    /// numbers, and records their insertion order under the number `map`.
    ///
    /// Adds the swaps that move its leaves, one after the other, if the leaves are in memory and
    /// begin at `first_leaf`.
    pub(crate) fn move_entries(
        &mut self,
        at: usize,
        map: usize,
        inserted: &[usize],
        first_leaf: Option<usize>,
        swaps: &mut Vec<Swap>,
    ) {
        let destination = destinations(inserted);
        let order: Arc<[usize]> = destination.as_slice().into();
        let maps = match self.nodes.get(at + 1) {
            Some(run) if run.repeat == order.len() => {
                let len = if first_leaf.is_some() { run.leaves } else { 0 };
                let first = first_leaf.unwrap_or(0);
                let leaf = |entry: usize| first.saturating_add(entry.saturating_mul(len));
                if len > 0 {
                    let swap = |a, b| swaps.push(Swap { a: leaf(a), b: leaf(b), len });
                    permute(destination, swap);
                }
                let maps_before = |entry: usize| entry.saturating_mul(run.maps);
                let entries = order.iter().enumerate().take(run.maps.saturating_mul(order.len()));
                entries.map(|(at, place)| (maps_before(at), maps_before(*place))).collect()
            }
            _ => self.sort_runs(at, inserted, first_leaf, swaps),
        };
        self.orders.sort(map, order, |inner| moved_map(&maps, inner));
    }

    /// Sorts the children of the map at `at`, which are in several runs. `inserted` are the numbers of
    /// the entries in canonical order. Returns for each entry, in insertion order, the number of the
    /// map's inner maps before it, in the old and in the new order.
    fn sort_runs(
        &mut self,
        at: usize,
        inserted: &[usize],
        first_leaf: Option<usize>,
        swaps: &mut Vec<Swap>,
    ) -> Vec<(usize, usize)> {
        let entries = self.entries(at);
        let mut moved = Vec::with_capacity(inserted.len());
        let last = entries.last().filter(|_| first_leaf.is_some());
        let leaves = last.map_or(0, |entry| entry.leaf + self.nodes[entry.node].leaves);
        let mut destination = vec![0; leaves];
        let mut sorted: Vec<Node> = Vec::with_capacity(self.nodes.len() - at - 1);
        let (mut last, mut leaf, mut map) = (None, 0usize, 0usize);
        for &insertion in inserted {
            let entry = entries[insertion];
            let node = self.nodes[entry.node];
            if first_leaf.is_some() {
                let places = destination.iter_mut().skip(entry.leaf).take(node.leaves);
                places.zip(leaf..).for_each(|(place, leaf)| *place = leaf);
            }
            moved.push((insertion, map));
            leaf = leaf.saturating_add(node.leaves);
            map = map.saturating_add(node.maps);
            match last {
                Some((previous, place))
                    if previous == entry.node || self.same(previous, entry.node) =>
                {
                    let run: &mut Node = &mut sorted[place];
                    run.repeat += 1;
                }
                _ => {
                    last = Some((entry.node, sorted.len()));
                    sorted.extend_from_slice(self.subtree(entry.node));
                    let place = sorted.len() - node.span();
                    sorted[place].repeat = 1;
                }
            }
        }
        self.nodes.truncate(at + 1);
        self.nodes.extend(sorted);
        let mut maps = vec![(0, 0); entries.len()];
        for (insertion, map) in moved {
            maps[insertion] = (entries[insertion].map, map);
        }
        if let Some(first) = first_leaf {
            permute(destination, |a, b| swaps.push(Swap { a: first + a, b: first + b, len: 1 }));
        }
        maps
    }

    /// For each entry of the map at `at`: the index of its node, and the number of leaves and maps
    /// in the entries before it. If they are too many, closing the map is an error.
    fn entries(&self, at: usize) -> Vec<EntryStart> {
        let mut entries = Vec::new();
        let (mut run, mut leaf, mut map) = (at + 1, 0usize, 0usize);
        while let Some(node) = self.nodes.get(run) {
            for _ in 0..node.repeat {
                entries.push(EntryStart { node: run, leaf, map });
                leaf = leaf.saturating_add(node.leaves);
                map = map.saturating_add(node.maps);
            }
            run += node.span();
        }
        entries
    }

    /// Removes all nodes and node data, and keeps the memory unless it is too large.
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
        self.nodes.shrink_to(EncodingBuilder::SPARE_NODES);
        self.node_data.clear();
        self.orders = MapOrders::default();
    }

    /// Takes out the finished structure. Afterwards the builder has to be cleared.
    pub(crate) fn finish(&mut self, options: Options, limits: Limits) -> TreeDef {
        let node_data = self.node_data.take_numbered(&mut self.nodes);
        let (len, capacity) = (self.nodes.len(), self.nodes.capacity());
        let nodes = if capacity > EncodingBuilder::SPARE_NODES {
            mem::take(&mut self.nodes).into()
        } else if len >= SPARE / 16 && len >= capacity / 2 {
            // Other room is cheaper than a copy, which takes a seventh of the instructions of 5,000 variants.
            mem::replace(&mut self.nodes, Vec::with_capacity(len)).into()
        } else {
            self.nodes[..].into()
        };
        encode(nodes, node_data, options, &mut self.orders, limits)
    }

    /// Like [`finish`](Self::finish), for node data that is all used and numbered by first use.
    #[cfg(feature = "persist")]
    pub(crate) fn finish_numbered(mut self, options: Options, limits: Limits) -> TreeDef {
        let node_data = self.node_data.list.into();
        encode(self.nodes.into(), node_data, options, &mut self.orders, limits)
    }

    /// Removes the subtree at `at`, which was built last, and returns it as a structure, with the
    /// orders of the maps from number `map` on.
    pub(crate) fn extract(&mut self, at: usize, map: usize, options: Options) -> TreeDef {
        let mut nodes = self.nodes.split_off(at);
        let mut node_data = NodeDataTable::default();
        for node in &mut nodes {
            if let Some(data) = self.node_data.get(node.data()) {
                node.set_data(node_data.intern(data.as_ref()));
            }
        }
        let node_data = node_data.list.into();
        let mut orders = self.orders.split_off(map);
        encode(nodes.into(), node_data, options, &mut orders, Limits::default())
    }
}

impl Node {
    /// Adds a complete run of children to the totals.
    #[inline]
    pub(crate) fn count(&mut self, child: &Node) -> Result<()> {
        let Node { repeat, leaves, maps, work, depth, .. } = *child;
        // One test instead of seven: all other totals are at most the work.
        if (repeat | work | self.work) >> (usize::BITS / 2) != 0 {
            return self.count_many(child);
        }
        self.children += repeat; // the numbers have half as many bits as a `usize`
        self.leaves += leaves * repeat; // as above
        self.maps += maps * repeat; // as above
        self.work += work * repeat; // as above
        self.depth = self.depth.max(depth);
        Ok(())
    }

    #[inline(never)]
    fn count_many(&mut self, child: &Node) -> Result<()> {
        let sum = |total: usize, count: usize| total.checked_add(count.checked_mul(child.repeat)?);
        let sums = sum(self.children, 1).zip(sum(self.leaves, child.leaves));
        let ((children, leaves), maps) =
            sums.zip(sum(self.maps, child.maps)).ok_or_else(|| Error::from(Cause::TooLarge))?;
        (self.children, self.leaves, self.maps) = (children, leaves, maps);
        self.work = self.work.saturating_add(child.work.saturating_mul(child.repeat));
        self.depth = self.depth.max(child.depth);
        Ok(())
    }
}

fn encode(
    nodes: Box<[Node]>,
    node_data: Box<[NodeData]>,
    options: Options,
    orders: &mut MapOrders,
    limits: Limits,
) -> TreeDef {
    let run_index = (nodes.len() > INDEXED).then(|| Box::new(OnceLock::new()) as _);
    let script = Box::new(Mutex::new(None));
    let encoding = Encoding { options, nodes, node_data, run_index, script };
    let insertions = orders.take();
    TreeDef { encoding: Arc::new(encoding), insertions, limits, walked: false }.checked()
}

#[derive(Clone, Copy)]
struct EntryStart {
    node: usize,
    leaf: usize,
    map: usize,
}

/// The new index of the inner map that had index `map` before the entries were sorted.
fn moved_map(entries: &[(usize, usize)], map: usize) -> usize {
    let entry = entries.partition_point(|(before, _)| *before <= map).saturating_sub(1);
    entries.get(entry).map_or(map, |(before, now)| map - before + now)
}

/// The indices of `keys` in the order of the keys. Equal keys keep their order.
fn canonical_order(keys: &[Value]) -> Vec<usize> {
    let texts = keys.iter().map(Value::as_str).collect::<Option<Vec<&str>>>();
    let starts = texts.map_or_else(|| vec![0; keys.len()], |texts| starts(&texts));
    let mut keyed: Vec<(u64, usize)> = starts.into_iter().zip(0..).collect();
    keyed.sort_unstable_by_key(|(start, _)| *start);
    for alike in keyed.chunk_by_mut(|(a, _), (b, _)| a == b).filter(|alike| alike.len() > 1) {
        let order = sorted_positions(alike.len(), &mut |a, b| {
            let (a, b) = (alike[a].1, alike[b].1);
            keys[a].cmp(&keys[b]).then(a.cmp(&b))
        });
        let sorted: Vec<(u64, usize)> = order.into_iter().map(|at| alike[at]).collect();
        alike.copy_from_slice(&sorted);
    }
    keyed.into_iter().map(|(_, at)| at).collect()
}

/// The eight bytes of each text after their common beginning, as a number. They usually decide
/// which of two texts is first.
fn starts(texts: &[&str]) -> Vec<u64> {
    let Some((first, others)) = texts.split_first() else { return Vec::new() };
    let in_common = others.iter().fold(first.len(), |most, text| {
        let first = first.as_bytes().get(..most).or_bug();
        if text.as_bytes().starts_with(first) {
            return most;
        }
        first.iter().zip(text.as_bytes()).take_while(|(a, b)| a == b).count()
    });
    let start = |text: &&str| {
        let rest = text.as_bytes().get(in_common..).or_bug();
        let short = || {
            let mut bytes = [0; 8];
            rest.iter().zip(&mut bytes).for_each(|(byte, slot)| *slot = *byte);
            bytes
        };
        u64::from_be_bytes(rest.first_chunk().copied().unwrap_or_else(short))
    };
    texts.iter().map(start).collect()
}

/// An absent value becomes `None`, and an opaque leaf its value.
impl From<Leaf> for Value {
    fn from(leaf: Leaf) -> Self {
        match leaf {
            Leaf::Opaque(value) => Arc::unwrap_or_clone(value),
            Leaf::None => {
                let mut builder = EncodingBuilder::default();
                builder.open(NodeKind::None, NodeData::NONE);
                let treedef = builder.finish(Options::default(), Limits::default());
                Value::from_tree(Tree::from_parts(treedef, Vec::new()))
            }
            scalar => Value(Content::Scalar(scalar)),
        }
    }
}
