//! Reading a treedef: its nodes, their children and keys, and conversion between leaves and paths.

use std::fmt;
use std::iter;
use std::ops::Range;

use crate::model::{
    Encoding, Labels, Name, Node, NodeData, NodeHead, NodeKind, Options, RunIndex, RunMark,
    TreeDef, Value,
};
use crate::path::{Key, Path};

/// A position in a treedef: one node of the expanded tree. It is cheap to copy.
///
/// ```
/// use treedef::{Key, NodeKind, TreeDef};
///
/// let text = r#"Net { name: static "a", layers: [{"b": *, "w": *}; 9], act: Act::Tanh }"#;
/// let treedef: TreeDef = text.parse()?;
/// let root = treedef.root();
/// assert_eq!((root.kind(), root.name()), (NodeKind::Struct, Some("Net")));
/// assert_eq!(root.fields(), ["name", "layers", "act"]);
/// assert_eq!((root.num_children(), root.num_leaves()), (3, 18));
///
/// let [name, layers, act] = root.children().collect::<Vec<_>>()[..] else { panic!("three") };
/// assert_eq!(name.static_value().unwrap().as_str(), Some("a"));
/// assert_eq!(act.variant(), Some("Tanh"));
/// assert_eq!(root.position(&Key::Field("layers".into())), Some(1));
/// // One run of nine equal layers.
/// assert_eq!(layers.runs().map(|(_, count)| count).collect::<Vec<_>>(), [9]);
///
/// let second = layers.child(1).unwrap();
/// assert_eq!(second.leaf_range(), 2..4);
/// assert_eq!(second.key(1).unwrap(), Key::Entry(second.entry_keys()[1].clone()));
/// assert!(second.child(1).unwrap().is_leaf());
/// # Ok::<(), treedef::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct NodeRef<'a> {
    pub(crate) treedef: &'a TreeDef,
    /// Index of the run in the nodes of the structure. This node is one sibling of the run.
    node: usize,
    /// The run itself.
    raw: &'a Node,
    first_leaf: usize,
    /// How many maps precede this node in pre-order, with runs expanded.
    first_map: usize,
}

impl<'a> NodeRef<'a> {
    /// The node at an index, one sibling of its run, and the numbers of leaves and maps before it.
    pub(crate) fn at(
        treedef: &'a TreeDef,
        node: usize,
        first_leaf: usize,
        first_map: usize,
    ) -> Self {
        NodeRef { treedef, node, raw: &treedef.encoding.nodes[node], first_leaf, first_map }
    }

    /// The stored nodes from this one on, to the end of the structure.
    pub(crate) fn stored_from_here(self) -> &'a [Node] {
        &self.encoding().nodes[self.node..]
    }

    #[inline]
    fn encoding(self) -> &'a Encoding {
        &self.treedef.encoding
    }

    /// The kind of the node.
    pub fn kind(self) -> NodeKind {
        self.raw().kind
    }

    /// Whether the node is a leaf.
    pub fn is_leaf(self) -> bool {
        self.kind() == NodeKind::Leaf
    }

    /// The name of the type, if the kind has one.
    pub fn name(self) -> Option<&'a str> {
        self.data().map(|data| data.name.as_ref()).filter(|_| self.kind().is_named())
    }

    /// The name of the variant, if this is an enum variant.
    pub fn variant(self) -> Option<&'a str> {
        self.data().map(|data| data.variant.as_ref()).filter(|_| self.kind().is_variant())
    }

    /// The field names of a struct or struct variant. Empty for other kinds.
    pub fn fields(self) -> &'a [Name] {
        match self.data().map(|data| &data.labels) {
            Some(Labels::Fields(fields)) => fields,
            _ => &[],
        }
    }

    /// The keys of a map. Empty for other kinds.
    pub fn entry_keys(self) -> &'a [Value] {
        match self.data().map(|data| &data.labels) {
            Some(Labels::Keys(keys)) => keys,
            _ => &[],
        }
    }

    /// The value of a static. `None` for other kinds.
    pub fn static_value(self) -> Option<&'a Value> {
        match self.data().map(|data| &data.labels) {
            Some(Labels::Static(value)) => Some(value),
            _ => None,
        }
    }

    /// The number of children.
    pub fn num_children(self) -> usize {
        self.raw().children
    }

    /// The number of leaves at and below the node.
    pub fn num_leaves(self) -> usize {
        self.raw().leaves
    }

    /// The number of nodes at and below this one. Returns `usize::MAX` if there are more.
    pub(crate) fn num_nodes(self) -> usize {
        let mut total = 0usize;
        // For each open node: how often it occurs in the expanded tree, and where its subtree ends.
        let mut open: Vec<(usize, usize)> = Vec::new();
        let end = self.node + self.raw().span();
        for (index, node) in self.encoding().nodes.iter().enumerate().take(end).skip(self.node) {
            while open.pop_if(|(_, end)| *end <= index).is_some() {}
            let outer = open.last().map_or(1, |(times, _)| *times);
            let times = if index == self.node { 1 } else { outer.saturating_mul(node.repeat) };
            total = total.saturating_add(times);
            open.push((times, index + node.span()));
        }
        total
    }

    /// The indices of the leaves at and below the node: its place in the flat vector.
    ///
    /// ```
    /// let treedef = treedef::structure(&vec![("a", 1), ("b", 2)])?;
    /// assert_eq!(treedef.node("[1]")?.leaf_range(), 2..4);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn leaf_range(self) -> Range<usize> {
        self.first_leaf..self.first_leaf + self.num_leaves()
    }

    /// The children, in order.
    pub fn children(self) -> Children<'a> {
        let (next, left_in_run) =
            self.first_child().map_or((self, 0), |first| (first, first.raw.repeat));
        Children { next, left_in_run, left: self.num_children() }
    }

    /// The first child, if all children are alike.
    pub(crate) fn only_run(self) -> Option<NodeRef<'a>> {
        self.first_child().filter(|first| first.repeat() == self.num_children())
    }

    /// The first child, without visiting the others.
    #[inline]
    pub(crate) fn first_child(self) -> Option<NodeRef<'a>> {
        if self.raw.span() < 2 {
            return None;
        }
        let mut child = self;
        child.first_map += usize::from(self.raw.kind == NodeKind::Map);
        child.turn_to(self.node + 1);
        Some(child)
    }

    /// The children from some child on that is not after the wanted one.
    fn children_near(self, is_before: impl Fn(&RunMark) -> bool) -> Children<'a> {
        let index = self.encoding().run_index.as_ref().filter(|_| self.raw.is_wide());
        let mark = index.and_then(|index| {
            index.get(&|| RunIndex::of(&self.encoding().nodes)).last_mark(self.node, is_before)
        });
        let (Some(mark), Some(mut next)) = (mark, self.first_child()) else {
            return self.children();
        };
        next.turn_to(mark.run);
        (next.first_leaf, next.first_map) =
            (next.first_leaf + mark.leaves, next.first_map + mark.maps);
        Children { next, left_in_run: next.repeat(), left: self.num_children() - mark.children }
    }

    /// The child at an index.
    ///
    /// The time grows with the logarithm of the number of different children. The first such call
    /// on a structure visits all its nodes once.
    pub fn child(self, position: usize) -> Option<NodeRef<'a>> {
        let mut children = self.children_near(|mark| mark.children <= position);
        children.nth(position.checked_sub(self.num_children() - children.len())?)
    }

    /// The key of the child at an index.
    pub fn key(self, position: usize) -> Option<Key> {
        if position >= self.num_children() {
            return None;
        }
        let variant = || self.variant().map(|name| Name::from(name.to_owned()));
        let field = || self.fields().get(position).cloned();
        let entry = || self.entry_keys().get(position).cloned();
        Key::of_child(self.kind(), position, variant, field, entry)
    }

    /// An existing child.
    pub(crate) fn child_at(self, position: usize) -> NodeRef<'a> {
        let child = self.child(position);
        debug_assert!(child.is_some(), "a child is missing");
        child.unwrap_or(self)
    }

    /// The key of an existing child.
    pub(crate) fn child_key(self, position: usize) -> Key {
        let key = self.key(position);
        debug_assert!(key.is_some(), "a child has no key");
        key.unwrap_or(Key::Position(position))
    }

    /// The index of the child with a key.
    ///
    /// The time grows with the logarithm of the number of entries of a map, but linearly with the
    /// number of fields of a struct, and with the number of entries under
    /// [`MapOrder::Insertion`](crate::MapOrder::Insertion).
    pub fn position(self, key: &Key) -> Option<usize> {
        let is_variant = |name: &Name| self.variant() == Some(name.as_ref());
        let field = |name: &Name| self.fields().iter().position(|field| field == name);
        let position = match (self.kind(), key) {
            (NodeKind::Some, Key::Some) => 0,
            (NodeKind::Seq, Key::Index(index)) => *index,
            (NodeKind::Map, Key::Entry(value)) if !self.is_sorted_map() => {
                self.entry_keys().iter().position(|key| key == value)?
            }
            (NodeKind::Map, Key::Entry(value)) => {
                let first = self.entry_keys().partition_point(|key| key < value);
                self.entry_keys().get(first).filter(|key| *key == value).map(|_| first)?
            }
            (NodeKind::Struct, Key::Field(name)) => field(name)?,
            (
                NodeKind::NewtypeStruct | NodeKind::Tuple | NodeKind::TupleStruct,
                Key::Position(position),
            ) => *position,
            (
                NodeKind::NewtypeVariant | NodeKind::TupleVariant,
                Key::VariantPosition(name, position),
            ) if is_variant(name) => *position,
            (NodeKind::StructVariant, Key::VariantField(name, name_of_field))
                if is_variant(name) =>
            {
                field(name_of_field)?
            }
            _ => return None,
        };
        (position < self.num_children()).then_some(position)
    }

    /// Whether children of this node have keys of this kind.
    #[cfg(feature = "diff")]
    pub(crate) fn takes(self, key: &Key) -> bool {
        use NodeKind as Is;
        let is_variant = |name: &Name| self.variant() == Some(name.as_ref());
        match key {
            Key::Some => self.kind() == Is::Some,
            Key::Index(_) => self.kind() == Is::Seq,
            Key::Entry(_) => self.kind() == Is::Map,
            Key::Field(_) => self.kind() == Is::Struct,
            Key::Position(_) => {
                matches!(self.kind(), Is::NewtypeStruct | Is::Tuple | Is::TupleStruct)
            }
            Key::VariantPosition(name, _) => {
                matches!(self.kind(), Is::NewtypeVariant | Is::TupleVariant) && is_variant(name)
            }
            Key::VariantField(name, _) => self.kind() == Is::StructVariant && is_variant(name),
        }
    }

    /// The children with their keys.
    pub(crate) fn entries(self) -> impl Iterator<Item = (Key, NodeRef<'a>)> {
        self.children().enumerate().map(move |(position, child)| (self.child_key(position), child))
    }

    /// The runs of equal neighbouring children: the first child of each run, and their number.
    pub fn runs(self) -> impl Iterator<Item = (NodeRef<'a>, usize)> {
        let mut children = self.children();
        std::iter::from_fn(move || children.next_run())
    }

    /// The runs of children, with the child at `position` as a run of its own, and whether a run is
    /// that child.
    pub(crate) fn runs_around(
        self,
        position: usize,
    ) -> impl Iterator<Item = (NodeRef<'a>, usize, bool)> + use<'a> {
        let (mut children, mut next) = (self.children(), 0);
        iter::from_fn(move || {
            let is_child = next == position;
            let most = if is_child { 1 } else { position.checked_sub(next).unwrap_or(usize::MAX) };
            let (child, repeat) = children.next_up_to(most)?;
            next += repeat; // at most the number of children
            Some((child, repeat, is_child))
        })
    }

    /// Pairs up the children of two nodes by index.
    ///
    /// Where two runs overlap, all pairs are equal. They are returned as one pair with a count.
    pub(crate) fn overlaps<'b>(self, other: NodeRef<'b>) -> Overlaps<'a, 'b> {
        Overlaps { a: self.children(), b: other.children(), next: 0 }
    }

    /// The path from this node to a leaf at or below it. `index` is the index in the whole tree.
    pub(crate) fn path_to_leaf(self, index: usize) -> Path {
        self.steps_to_leaf(index).map(|(node, position, _)| node.child_key(position)).collect()
    }

    /// The steps from this node to a leaf: each node, the index of the child that contains the
    /// leaf, and that child.
    pub(crate) fn steps_to_leaf(
        self,
        index: usize,
    ) -> impl Iterator<Item = (NodeRef<'a>, usize, NodeRef<'a>)> {
        let step = move |node: NodeRef<'a>| {
            let (position, child) = node.child_with_leaf(index)?;
            Some((node, position, child))
        };
        std::iter::successors(step(self), move |(_, _, child)| step(*child))
    }

    /// The child that contains a leaf, and the index of the child.
    fn child_with_leaf(self, index: usize) -> Option<(usize, NodeRef<'a>)> {
        let before = index.checked_sub(self.first_leaf)?;
        let mut children = self.children_near(|mark| mark.leaves <= before);
        let child = children.with_leaf(index)?;
        Some((self.num_children() - children.len() - 1, child))
    }

    /// The sibling that comes `skip` places later in the same run.
    #[inline]
    pub(crate) fn later(mut self, skip: usize) -> NodeRef<'a> {
        self.skip(skip);
        self
    }

    /// Whether the children have field names or map keys.
    pub(crate) fn is_labelled(self) -> bool {
        matches!(self.kind(), NodeKind::Struct | NodeKind::StructVariant | NodeKind::Map)
    }

    /// The node inside all newtypes at this node, or the node itself.
    ///
    /// ```
    /// #[derive(serde::Serialize)]
    /// struct Metres(f64);
    ///
    /// let treedef = treedef::structure(&[Metres(0.5)])?;
    /// let metres = treedef.node(".0")?;
    /// assert_eq!(metres.name(), Some("Metres"));
    /// assert!(metres.inside_newtypes().is_leaf());
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn inside_newtypes(mut self) -> NodeRef<'a> {
        while let (NodeKind::NewtypeStruct, Some(child)) = (self.kind(), self.first_child()) {
            self = child;
        }
        self
    }

    /// Whether this is a map whose entries are in the order of their keys.
    pub(crate) fn is_sorted_map(self) -> bool {
        self.kind() == NodeKind::Map && !self.encoding().options.insertion
    }

    /// Whether other options would change this structure. Non-default options always matter: a leaf
    /// may be an absent value, or the compact form of a value.
    pub(crate) fn depends_on_options(self) -> bool {
        self.options() != Options::default()
            || self.subtree().iter().any(|node| node.kind.depends_on_options())
    }

    /// The index of the node in its encoding.
    #[inline]
    pub(crate) fn index(self) -> usize {
        self.node
    }

    /// The number of siblings in this run.
    #[inline]
    pub(crate) fn repeat(self) -> usize {
        self.raw.repeat
    }

    /// Moves to the first sibling of the run at index `run`, from the end of the previous run.
    #[inline]
    pub(crate) fn turn_to(&mut self, run: usize) -> &'a Node {
        // In range: the index is within the parent's span (invariant 2).
        (self.node, self.raw) = (run, &self.encoding().nodes[run]);
        self.raw
    }

    /// Moves to a later sibling of the same run. The sibling must exist.
    #[inline]
    pub(crate) fn skip(&mut self, siblings: usize) {
        self.first_leaf += siblings * self.raw.leaves;
        self.first_map += siblings * self.raw.maps;
    }

    #[inline]
    pub(crate) fn first_leaf(self) -> usize {
        self.first_leaf
    }

    pub(crate) fn first_map(self) -> usize {
        self.first_map
    }

    /// Whether both nodes are the same stored node, for example siblings of one run. Their
    /// structures are then equal.
    pub(crate) fn is_same_stored_node(self, other: NodeRef<'_>) -> bool {
        std::ptr::eq(self.encoding(), other.encoding()) && self.node == other.node
    }

    /// The nesting depth of compounds at and below this node, including keys and statics.
    pub(crate) fn depth(self) -> u32 {
        self.raw().depth
    }

    /// The maximum number of nodes that rebuilding visits, including keys and statics. `usize::MAX`
    /// if there are more.
    pub(crate) fn work(self) -> usize {
        self.raw().work
    }

    /// Whether two nodes have the same fields or keys in the same order.
    pub(crate) fn same_labels(self, other: NodeRef<'_>) -> bool {
        self.fields() == other.fields() && self.entry_keys() == other.entry_keys()
    }

    /// Whether two nodes of one encoding have equal structures. Position and `repeat` may differ.
    pub(crate) fn is_like(self, other: NodeRef<'_>) -> bool {
        self.node == other.node || alike(self.subtree(), other.subtree())
    }

    /// The nodes of this subtree. The `repeat` of the first may be greater than 1.
    pub(crate) fn subtree(self) -> &'a [Node] {
        &self.encoding().nodes[self.node..self.node + self.raw().span()]
    }

    /// The node data that the nodes of this structure refer to.
    pub(crate) fn node_data(self) -> &'a [NodeData] {
        &self.encoding().node_data
    }

    pub(crate) fn options(self) -> Options {
        self.encoding().options
    }

    pub(crate) fn data(self) -> Option<&'a NodeData> {
        self.encoding().node_data.get(self.raw().data())
    }

    #[inline]
    pub(crate) fn raw(self) -> &'a Node {
        self.raw
    }
}

/// Whether a stored name equals a name that serde passed. They usually have the same address,
/// because stored names are usually borrowed from the type.
#[inline(always)]
pub(crate) fn is_name(known: &str, name: &str) -> bool {
    known.len() == name.len() && (known.as_ptr() == name.as_ptr() || is_text(known, name))
}

#[inline(never)]
fn is_text(known: &str, name: &str) -> bool {
    known == name
}

/// Whether two subtrees of one encoding are equal, apart from the `repeat` of their roots.
pub(crate) fn alike(a: &[Node], b: &[Node]) -> bool {
    match (a.split_first(), b.split_first()) {
        (Some((first, below)), Some((other, others))) if first.span == other.span => {
            Node { repeat: 1, ..*first } == Node { repeat: 1, ..*other } && below == others
        }
        _ => false,
    }
}

/// The children of a node, in order.
#[derive(Clone)]
#[must_use = "iterators are lazy"]
pub struct Children<'a> {
    /// The next child, if any is left.
    next: NodeRef<'a>,
    left_in_run: usize,
    left: usize,
}

impl<'a> Children<'a> {
    /// The rest of the current run: its first child and the number of children.
    pub(crate) fn next_run(&mut self) -> Option<(NodeRef<'a>, usize)> {
        self.next_up_to(usize::MAX)
    }

    /// The rest of the current run, as long as the insertion orders of its maps are the same.
    pub(crate) fn next_in_same_order(&mut self) -> Option<(NodeRef<'a>, usize)> {
        let most = if self.left > 0 { self.next.in_same_order(self.left_in_run) } else { 0 };
        self.next_up_to(most)
    }

    /// The rest of the current run, but at most `most` children.
    pub(crate) fn next_up_to(&mut self, most: usize) -> Option<(NodeRef<'a>, usize)> {
        let first = self.clone().next()?;
        let repeat = self.left_in_run.min(most);
        self.skip_in_run(repeat);
        Some((first, repeat))
    }

    /// The number of siblings that are left in the run of `child`, the last returned child.
    pub(crate) fn left_in_run_of(&self, child: NodeRef<'_>) -> usize {
        if child.is_same_stored_node(self.next) { self.left_in_run } else { 0 }
    }

    pub(crate) fn next_is_leafless(&self) -> bool {
        self.left > 0 && self.next.num_leaves() == 0
    }

    /// Skips to the next child that has leaves.
    pub(crate) fn skip_leafless(&mut self) {
        while self.next_is_leafless() {
            self.skip_in_run(self.left_in_run);
        }
    }

    /// Skips to the child that is the leaf with this index, or contains it, and returns that child.
    pub(crate) fn with_leaf(&mut self, index: usize) -> Option<NodeRef<'a>> {
        self.with(index, NodeRef::first_leaf, NodeRef::num_leaves)
    }

    /// The same for a map.
    #[cfg(feature = "persist")]
    pub(crate) fn with_map(&mut self, index: usize) -> Option<NodeRef<'a>> {
        self.with(index, NodeRef::first_map, |node| node.raw().maps)
    }

    fn with(
        &mut self,
        index: usize,
        first: impl Fn(NodeRef<'a>) -> usize,
        count: impl Fn(NodeRef<'a>) -> usize,
    ) -> Option<NodeRef<'a>> {
        while self.left > 0 {
            let ahead = index.checked_sub(first(self.next))?;
            match ahead.checked_div(count(self.next)) {
                Some(skipped) if skipped < self.left_in_run => {
                    self.skip_in_run(skipped);
                    return self.next();
                }
                _ => self.skip_in_run(self.left_in_run),
            }
        }
        None
    }

    fn skip_in_run(&mut self, count: usize) {
        self.left -= count;
        self.left_in_run -= count;
        self.next = self.next.later(count);
        if self.left_in_run == 0 && self.left > 0 {
            self.left_in_run = self.next.turn_to(self.next.node + self.next.raw.span()).repeat;
        }
    }
}

/// Pairs of children at the same positions of two nodes.
pub(crate) struct Overlaps<'a, 'b> {
    a: Children<'a>,
    b: Children<'b>,
    next: usize,
}

/// The first of several equal pairs of children, its position, and their number.
pub(crate) struct Overlap<'a, 'b> {
    pub(crate) position: usize,
    pub(crate) a: NodeRef<'a>,
    pub(crate) b: NodeRef<'b>,
    pub(crate) count: usize,
}

impl<'a, 'b> Overlaps<'a, 'b> {
    /// The next pairs that are equal, but at most as many as `most` returns for the first, and for their number.
    pub(crate) fn next_up_to(
        &mut self,
        most: impl FnOnce(NodeRef<'a>, NodeRef<'b>, usize) -> usize,
    ) -> Option<Overlap<'a, 'b>> {
        if self.a.left == 0 || self.b.left == 0 {
            return None;
        }
        let (a, b, position) = (self.a.next, self.b.next, self.next);
        let count = self.a.left_in_run.min(self.b.left_in_run);
        let count = count.min(most(a, b, count));
        self.a.skip_in_run(count);
        self.b.skip_in_run(count);
        self.next += count;
        Some(Overlap { position, a, b, count })
    }
}

impl<'a> Iterator for Children<'a> {
    type Item = NodeRef<'a>;

    #[inline]
    fn next(&mut self) -> Option<NodeRef<'a>> {
        if self.left == 0 {
            return None;
        }
        let child = self.next;
        self.skip_in_run(1);
        Some(child)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }

    fn nth(&mut self, mut n: usize) -> Option<NodeRef<'a>> {
        while self.left > 0 && n >= self.left_in_run {
            n -= self.left_in_run;
            self.skip_in_run(self.left_in_run);
        }
        if self.left == 0 {
            return None; // no run is left
        }
        self.skip_in_run(n);
        self.next()
    }
}

impl ExactSizeIterator for Children<'_> {}

impl fmt::Debug for Children<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Children").field("left", &self.left).finish_non_exhaustive()
    }
}

impl From<NodeKind> for NodeHead<'_> {
    fn from(kind: NodeKind) -> Self {
        NodeHead { kind, name: "", variant: "" }
    }
}
