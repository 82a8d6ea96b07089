//! Builds a structure from parts of other structures.

use std::collections::HashMap;
use std::sync::Arc;

use crate::bug::bug;
use crate::error::Result;
use crate::model::{
    Insertion, Limits, Name, Node, NodeData, NodeKind, Options, Swap, TreeDef, Value,
};
use crate::treedef::encoding::{EncodingBuilder, NodeDataRef};
use crate::treedef::node_ref::NodeRef;
use crate::treedef::options::options_mismatch;
use crate::treedef::walk::{Event, Visits, Walk};

/// A structure that is built node by node in pre-order. Equal neighbours are merged into runs.
///
/// The insertion orders of maps are copied from the parts. If the keys of a map change,
/// [`set_insertion_order`](PartsBuilder::set_insertion_order) sets its order.
///
/// Parts that depend on options must all have the same options, and the result has these. For
/// example, a struct of numbers without options can be combined with any part. The number of nodes
/// is checked against the [`Limits`] before nodes are added, everything else at the end.
#[derive(Default)]
pub(crate) struct PartsBuilder {
    encoding: EncodingBuilder,
    open: Vec<OpenNode>,
    options: Option<Options>,
    /// Whether a part depends on the options.
    depends_on_options: bool,
    limits: Limits,
    /// The number of maps so far, with runs expanded.
    maps: usize,
}

/// A node whose children are still being added.
struct OpenNode {
    at: usize,
    repeat: usize,
    /// The last run of children, and the number of maps before the last child.
    last: Option<usize>,
    last_map: usize,
    /// The number of maps before this node.
    first_map: usize,
}

/// A subtree that can be inserted several times.
pub(crate) struct Fragment {
    nodes: Vec<Node>,
    /// Counted from the first map of the subtree.
    insertions: Vec<Insertion>,
}

impl NodeRef<'_> {
    /// This subtree as a treedef of its own, with the same limits.
    ///
    /// ```
    /// let treedef = treedef::structure(&("a", [1, 2]))?;
    /// let child = treedef.root().child(1).unwrap().to_treedef();
    /// assert_eq!(child, treedef::structure(&[3, 4])?);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn to_treedef(self) -> TreeDef {
        self.to_part(self.options(), self.treedef.limits)
    }

    /// This subtree as the structure of a value, which has no options.
    pub(crate) fn to_structure_of_value(self) -> TreeDef {
        self.to_part(Options::default(), Limits::default())
    }

    fn to_part(self, options: Options, limits: Limits) -> TreeDef {
        let mut builder = PartsBuilder::with_options(options, limits);
        let fragment = builder.fragment_of(self);
        builder.encoding.append(&fragment.nodes);
        builder.encoding.orders.append(&fragment.insertions, 0, 0);
        builder.finish_part()
    }
}

impl PartsBuilder {
    /// A builder for a structure with these options.
    pub(crate) fn with_options(options: Options, limits: Limits) -> Self {
        PartsBuilder { options: Some(options), limits, ..PartsBuilder::default() }
    }

    /// A builder for a structure that is `base` with some nodes changed.
    pub(crate) fn onto(base: NodeRef<'_>, limits: Limits) -> Self {
        let (options, depends_on_options) = (Some(base.options()), base.depends_on_options());
        PartsBuilder { options, depends_on_options, limits, ..PartsBuilder::default() }
    }

    pub(crate) fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Raises the limits to the limits of a part, where those are higher.
    pub(crate) fn allow(&mut self, limits: Limits) {
        self.limits = self.limits.max(limits);
    }

    /// Adopts the options of a structure whose parts will be inserted.
    pub(crate) fn unify_options(&mut self, part: &TreeDef) -> Result<()> {
        self.unify(part.encoding.options, part.root().depends_on_options())
    }

    /// Adopts the options of a part. Returns an error if another part depends on different options.
    fn unify(&mut self, options: Options, depends_on_options: bool) -> Result<()> {
        match self.options {
            Some(known) if known != options && depends_on_options && self.depends_on_options => {
                return Err(options_mismatch(known, options));
            }
            Some(known) if known == options || !depends_on_options => {}
            _ => self.options = Some(options),
        }
        self.depends_on_options |= depends_on_options;
        Ok(())
    }

    /// Opens a copy of a node that occurs `repeat` times. Its children come next.
    pub(crate) fn open(&mut self, like: NodeRef<'_>, repeat: usize) -> Result<()> {
        let options = like.options();
        let depends_on_options = options != Options::default() || like.kind().depends_on_options();
        self.unify(options, depends_on_options)?;
        self.expect_room(1)?;
        let data = like.data().map(NodeData::as_ref);
        self.open_new(like.kind(), data, repeat);
        self.set_insertion_order(like.insertion_order().cloned());
        Ok(())
    }

    pub(crate) fn open_new(
        &mut self,
        kind: NodeKind,
        data: Option<NodeDataRef<'_, Name>>,
        repeat: usize,
    ) {
        let data = self.intern(data);
        let at = self.encoding.open(kind, data);
        let (first_map, last) = (self.maps, None);
        self.open.push(OpenNode { at, repeat, last, last_map: first_map, first_map });
        self.maps = self.maps.saturating_add(usize::from(kind == NodeKind::Map));
    }

    fn intern(&mut self, data: Option<NodeDataRef<'_, Name>>) -> usize {
        data.map_or(NodeData::NONE, |data| self.encoding.node_data.intern(data))
    }

    /// Builds a structure from parts. `put` is called with the number of open nodes and a part: it inserts
    /// the content of the part, or opens a node and returns the parts of its children.
    pub(crate) fn assemble<P, I: Iterator<Item = P>>(
        &mut self,
        root: P,
        mut put: impl FnMut(&mut Self, usize, P) -> Result<Option<I>>,
    ) -> Result<()> {
        let (mut open, mut next) = (Vec::new(), Some(root));
        loop {
            match next {
                Some(part) => {
                    if let Some(parts) = put(self, open.len(), part)? {
                        open.push(parts);
                    }
                }
                None => {
                    self.close()?;
                    open.pop();
                }
            }
            let Some(parts) = open.last_mut() else { return Ok(()) };
            next = parts.next();
        }
    }

    /// Copies a subtree. For each node, `replace` may insert something else and return `true`; the
    /// node is then skipped.
    pub(crate) fn copy<'a>(
        &mut self,
        root: NodeRef<'a>,
        mut replace: impl FnMut(&mut Self, NodeRef<'a>, usize) -> Result<bool>,
    ) -> Result<()> {
        let mut walk = Walk::new(root, Visits::AtRuns);
        while let Some(event) = walk.next() {
            match event {
                Event::Enter { node, repeat } if replace(self, node, repeat)? => walk.skip(),
                Event::Enter { node, repeat } => self.open(node, repeat)?,
                Event::Leave => self.close()?,
            }
        }
        Ok(())
    }

    /// Closes the current node. All its children have been added.
    pub(crate) fn close(&mut self) -> Result<()> {
        let OpenNode { at, repeat, first_map, .. } = self.complete()?;
        self.join(at, 1, first_map)?;
        self.repeat_last(repeat)
    }

    /// Repeats the last child of the current node, so that it occurs `times` times.
    pub(crate) fn repeat_last(&mut self, times: usize) -> Result<()> {
        if times <= 1 {
            return Ok(());
        }
        let Some(OpenNode { last: Some(last), last_map, .. }) = self.open.last() else {
            return Err(bug!("nothing is there to repeat"));
        };
        let (last, first_map) = (*last, *last_map);
        let maps = self.maps.saturating_sub(first_map);
        if self.has_room_for_orders(first_map, times) {
            self.encoding.orders.repeat(first_map, maps, times);
        } else {
            self.encoding.orders.forget_from(first_map);
        }
        self.maps = first_map.saturating_add(maps.saturating_mul(times));
        self.encoding.lengthen(last, times - 1)
    }

    /// The number of maps in the last child of the current node that have an insertion order.
    pub(crate) fn orders_of_last(&self) -> usize {
        let first_map = self.open.last().map_or(self.maps, |open| open.last_map);
        self.encoding.orders.count_from(first_map)
    }

    /// Sets the insertion order of the entries of the current node, if it is a map with sorted keys. `None`
    /// is the order of the keys.
    pub(crate) fn set_insertion_order(&mut self, order: Option<Arc<[usize]>>) {
        let Some(OpenNode { at, first_map: map, .. }) = self.open.last() else {
            return debug_assert!(false, "no node is open");
        };
        // `at` is the index of the open node. If that is no map, `map` is below it or after it.
        if self.encoding.node(*at).is_none_or(|node| node.kind != NodeKind::Map) {
            return;
        }
        self.encoding.orders.set(*map, order);
    }

    /// Changes the current node, whose children fit, and the insertion order of its entries.
    pub(crate) fn relabel(
        &mut self,
        kind: NodeKind,
        data: Option<&NodeData>,
        order: Option<Arc<[usize]>>,
    ) {
        self.set_data(kind, data.map(NodeData::as_ref));
        self.set_insertion_order(order);
    }

    /// Sets the kind and node data of the current node.
    pub(crate) fn set_data(&mut self, kind: NodeKind, data: Option<NodeDataRef<'_, Name>>) {
        let data = self.intern(data);
        let Some(open) = self.open.last() else { return debug_assert!(false, "no node is open") };
        self.encoding.relabel(open.at, kind, data);
    }

    /// Adds a node that cannot have children, `times` times in a row.
    pub(crate) fn atom(
        &mut self,
        kind: NodeKind,
        data: Option<NodeDataRef<'_, Name>>,
        times: usize,
    ) -> Result<()> {
        let data = self.intern(data);
        let at = self.encoding.open(kind, data);
        self.join(at, times, self.maps)
    }

    /// Called after a node whose kind depends on the options was added. From now on, the options
    /// are fixed.
    pub(crate) fn settle_options(&mut self) -> Result<()> {
        self.unify(self.options.unwrap_or_default(), true)
    }

    /// Sorts the entries of the current node, a map with all its children, by these keys, unless the
    /// options keep their order. Returns the swaps that move the leaves, one after the other, if the leaves
    /// are in memory and begin at `first_leaf`.
    pub(crate) fn sort_entries(
        &mut self,
        keys: &mut [Value],
        first_leaf: Option<usize>,
    ) -> Vec<Swap> {
        let mut swaps = Vec::new();
        if let Some(OpenNode { at, first_map, .. }) = self.open.last()
            && !self.options.is_some_and(|options| options.insertion)
        {
            self.encoding.sort_entries(*at, *first_map, keys, first_leaf, &mut swaps);
        }
        swaps
    }

    /// Drops the insertion orders of maps.
    pub(crate) fn forget_orders(&mut self) {
        self.encoding.orders.forget_from(0);
    }

    /// Closes the current node, removes it from the builder and returns it.
    pub(crate) fn close_apart(&mut self) -> Result<TreeDef> {
        let OpenNode { at, first_map, .. } = self.complete()?;
        self.maps = first_map;
        Ok(self.encoding.extract(at, first_map, self.options.unwrap_or_default()))
    }

    fn complete(&mut self) -> Result<OpenNode> {
        let open = self.open.pop().ok_or_else(|| bug!("no node is open"))?;
        if let Some(node) = self.encoding.node(open.at)
            && !node.kind.is_atom()
        {
            let data = node.data();
            self.encoding.close(open.at, data)?;
        }
        Ok(open)
    }

    /// Inserts `siblings` siblings of one run, starting with this node.
    pub(crate) fn insert(&mut self, node: NodeRef<'_>, siblings: usize) -> Result<()> {
        self.unify(node.options(), node.depends_on_options())?;
        let nodes = self.nodes_of(node);
        let orders = node.insertions(siblings);
        self.encoding.orders.append(orders, node.first_map(), self.maps);
        self.insert_nodes(&nodes, siblings)
    }

    /// Inserts a structure `copies` times.
    pub(crate) fn insert_copies(&mut self, treedef: &TreeDef, copies: usize) -> Result<()> {
        let fragment = self.fragment(treedef.root())?;
        self.insert_fragment(&fragment, copies)
    }

    /// Prepares a subtree that will be inserted several times.
    pub(crate) fn fragment(&mut self, root: NodeRef<'_>) -> Result<Fragment> {
        self.unify(root.options(), root.depends_on_options())?;
        Ok(self.fragment_of(root))
    }

    fn fragment_of(&mut self, root: NodeRef<'_>) -> Fragment {
        let first = root.first_map();
        let insertions = root.insertions(1).iter().map(|order| order.moved(first, 0));
        Fragment { insertions: insertions.collect(), nodes: self.nodes_of(root) }
    }

    fn nodes_of(&mut self, root: NodeRef<'_>) -> Vec<Node> {
        // The node data of the other structure, by its numbers there.
        let mut numbers = HashMap::new();
        let nodes = root.subtree().iter().map(|node| {
            let data = match root.node_data().get(node.data()) {
                Some(data) => *numbers
                    .entry(node.data())
                    .or_insert_with(|| self.encoding.node_data.intern(data.as_ref())),
                None => NodeData::NONE,
            };
            let mut node = *node;
            node.set_data(data);
            node
        });
        nodes.collect()
    }

    /// Returns an error if `nodes` more nodes exceed the limits.
    pub(crate) fn expect_room(&self, nodes: usize) -> Result<()> {
        self.limits.expect_nodes(self.encoding.len().saturating_add(nodes))
    }

    pub(crate) fn insert_fragment(&mut self, fragment: &Fragment, repeat: usize) -> Result<()> {
        self.encoding.orders.append(&fragment.insertions, 0, self.maps);
        self.insert_nodes(&fragment.nodes, 1)?;
        self.repeat_last(repeat)
    }

    fn insert_nodes(&mut self, nodes: &[Node], repeat: usize) -> Result<()> {
        self.expect_room(nodes.len())?;
        let (at, first_map) = (self.encoding.append(nodes), self.maps);
        let maps = nodes.first().map_or(0, |root| root.maps);
        self.maps = self.maps.saturating_add(maps.saturating_mul(repeat));
        self.join(at, repeat, first_map)
    }

    /// Whether each of `copies` copies can have the insertion orders from a map on, because there
    /// are few enough of them. Equal siblings are stored once, but the orders of their maps are
    /// not.
    fn has_room_for_orders(&self, map: usize, copies: usize) -> bool {
        let orders = &self.encoding.orders;
        let more = orders.count_from(map).saturating_mul(copies - 1); // there is one
        self.limits.expect_nodes(orders.count_from(0).saturating_add(more)).is_ok()
    }

    /// Returns the structure. Its root must be closed.
    pub(crate) fn finish(self) -> Result<TreeDef> {
        self.finish_unchecked().within_limits()
    }

    /// Returns a part of a structure, or an atom, without checking the limits. Raises `max_depth`
    /// to the depth of the part.
    pub(crate) fn finish_part(self) -> TreeDef {
        let mut part = self.finish_unchecked();
        part.limits.max_depth = part.limits.max_depth.max(part.root().levels());
        part
    }

    /// Returns the structure of a value, which has default options.
    pub(crate) fn finish_value(mut self, limits: Limits) -> TreeDef {
        self.forget_orders();
        self.encoding.finish(Options::default(), limits)
    }

    /// Returns the structure, without checking the limits.
    pub(crate) fn finish_unchecked(mut self) -> TreeDef {
        self.encoding.finish(self.options.unwrap_or_default(), self.limits)
    }

    /// Adds a complete child to the current node. `first_map` is the number of maps before it.
    fn join(&mut self, at: usize, repeat: usize, first_map: usize) -> Result<()> {
        if let Some(parent) = self.open.last_mut() {
            parent.last = Some(self.encoding.join(parent.last, at, repeat)?);
            parent.last_map = first_map;
        }
        Ok(())
    }
}
