//! The invariants of [`model`](crate::model), checked in debug builds wherever a structure is finished.

use std::collections::HashSet;

use crate::model::{
    Content, Encoding, Insertion, Labels, Leaf, Node, NodeData, NodeKind, Options, TreeDef, Value,
};

use super::node_ref::alike;

/// The first broken invariant.
type Checked = Result<(), String>;

impl TreeDef {
    pub(crate) fn check(&self) -> Checked {
        self.encoding.check()?;
        check_orders(&self.encoding.nodes, self.insertions())
    }
}

fn ensure(holds: bool, broken: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(broken()) }
}

impl Encoding {
    fn check(&self) -> Checked {
        let len = self.nodes.len();
        let root = self.nodes.first().ok_or("there is no root")?;
        ensure((root.repeat, root.span()) == (1, len), || {
            format!("the root is {root:?} of {len}")
        })?;
        for data in &self.node_data {
            data.check(self.options).map_err(|broken| format!("{broken}: {data:?}"))?;
        }
        let cost = |data: &NodeData| (data.work(), data.depth());
        let costs: Vec<(usize, u32)> = self.node_data.iter().map(cost).collect();
        let mut used = 0;
        for (at, node) in self.nodes.iter().enumerate() {
            let data = self.node_data.get(node.data());
            let of = |broken: String| format!("{broken} at node {at}, {node:?} with {data:?}");
            if node.data() != NodeData::NONE {
                ensure(node.data() <= used, || of("data is not numbered by first use".to_owned()))?;
                used = used.max(node.data() + 1); // at most the nodes
            }
            ensure(node.has_its_data(data), || of("the data is not that of the kind".to_owned()))?;
            let cost = costs.get(node.data()).copied().unwrap_or_default(); // most nodes have no data
            self.check_sums(at, node, cost).map_err(of)?;
        }
        let all = self.node_data.len();
        ensure(used == all, || format!("{used} of {all} node data are used"))?;
        let distinct: HashSet<&NodeData> = self.node_data.iter().collect();
        ensure(distinct.len() == all, || "node data occurs twice".to_owned())
    }

    /// The children of a node end with it, neighbours differ, and they sum up to the node.
    fn check_sums(&self, at: usize, node: &Node, (work, depth): (usize, u32)) -> Checked {
        let end = at + node.span();
        let within = self.nodes.get(at..end).ok_or("the span is too long")?;
        let mut sums = Node {
            depth: 0,
            children: 0,
            leaves: usize::from(node.kind == NodeKind::Leaf),
            maps: usize::from(node.kind == NodeKind::Map),
            work: 1,
            ..*node
        };
        let (mut run, mut last) = (1, &[][..]);
        while let Some(child) = within.get(run) {
            let subtree = within.get(run..run + child.span()).ok_or("a child ends behind it")?;
            ensure(child.repeat > 0 && child.span() > 0, || format!("there is a {child:?}"))?;
            ensure(!alike(last, subtree), || "equal neighbours are two runs".to_owned())?;
            sums.count(child).map_err(|error| error.to_string())?;
            (run, last) = (run + child.span(), subtree);
        }
        if !node.kind.is_atom() {
            sums.depth = sums.depth.saturating_add(1);
        }
        sums.depth = sums.depth.max(depth);
        sums.work = sums.work.saturating_add(work);
        ensure(sums == *node, || format!("the sums are {sums:?}"))?;
        let children = match node.kind {
            kind if kind.is_atom() => 0,
            kind if kind.has_one_child() => 1,
            _ => node.children,
        };
        ensure(node.children == children, || "a kind has another number of children".to_owned())
    }
}

impl NodeData {
    fn check(&self, options: Options) -> Checked {
        self.values().iter().try_for_each(Value::check_label)?;
        let is_sorted = options.insertion || !matches!(self.labels, Labels::Keys(_));
        ensure(is_sorted || self.values().is_sorted(), || "the keys are not sorted".to_owned())
    }
}

impl Value {
    /// The value of a key or a static has only scalars as leaves, and no statics.
    fn check_label(&self) -> Checked {
        let (treedef, leaves) = match &self.0 {
            Content::Scalar(Leaf::Opaque(_)) => return Err("a label is an opaque leaf".to_owned()),
            Content::Scalar(_) => return Ok(()),
            Content::Array(_) => return Err("a label is an array".to_owned()),
            Content::Tree(treedef, leaves) => (treedef, leaves),
        };
        let is_opaque = |leaf: &Leaf| matches!(leaf, Leaf::Opaque(_));
        let opaque = leaves.iter().any(is_opaque);
        ensure(!opaque, || format!("a label has an opaque leaf: {self}"))?;
        let is_static = |node: &Node| node.kind == NodeKind::Static;
        let has_static = treedef.encoding.nodes.iter().any(is_static);
        ensure(!has_static, || format!("a label has a static: {self}"))
    }
}

/// Each insertion order belongs to a map, has the positions of all its entries once, and is not the
/// canonical one. They are sorted by the numbers of the maps.
fn check_orders(nodes: &[Node], insertions: &[Insertion]) -> Checked {
    // The stored nodes with orders in one sibling, and the number of the first map there.
    let mut open = vec![(0, insertions, 0)];
    while let Some((at, mut orders, mut map)) = open.pop() {
        let node = nodes.get(at).ok_or("an order leads to no node")?;
        if node.kind == NodeKind::Map {
            if let Some((first, rest)) = orders.split_first().filter(|(first, _)| first.map == map)
            {
                let order = &first.order;
                let mut positions = order.to_vec();
                positions.sort_unstable();
                let is_whole = positions.iter().copied().eq(0..node.children);
                let holds = is_whole && !order.is_sorted();
                ensure(holds, || format!("the map {map} of {} has {order:?}", node.children))?;
                orders = rest;
            }
            map += 1;
        }
        let mut run = at + 1;
        while let Some(first) = orders.first() {
            let child = nodes.get(run).filter(|_| run < at + node.span());
            let child = child.ok_or_else(|| format!("no map has the number {}", first.map))?;
            ensure(first.map >= map, || format!("the order of {} comes too late", first.map))?;
            let sibling = (first.map - map).checked_div(child.maps).unwrap_or(child.repeat);
            if sibling < child.repeat {
                let start = map + sibling * child.maps;
                let count = orders.partition_point(|order| order.map < start + child.maps);
                let (here, rest) = orders.split_at(count);
                open.push((run, here, start));
                orders = rest;
                // Later siblings come next.
                if rest.first().is_some_and(|next| next.map < map + child.repeat * child.maps) {
                    continue;
                }
            }
            map += child.repeat * child.maps;
            run += child.span();
        }
    }
    Ok(())
}
