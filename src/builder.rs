//! Building an encoding: open a node, add its children, close it. Keeps the invariants that `model` states.

use std::hash::{Hash, Hasher};
use std::mem;
use std::sync::Arc;

use indexmap::{Equivalent, IndexSet};

use crate::error::{ErrorKind, Result};
use crate::model::{
    Arrival, Content, Encoding, Labels, Leaf, Limits, Name, Node, NodeKind, Options, Shape, Tree,
    TreeDef, Value,
};

/// Nodes and shapes of a structure in the making.
///
/// While it grows, spans are relative and counts of closed nodes are final, so that subtrees can be moved and copied.
/// Shapes may be numbered in any order; [`finish`](Builder::finish) renumbers them.
#[derive(Default)]
pub(crate) struct Builder {
    pub(crate) nodes: Vec<Node>,
    shapes: IndexSet<Shape>,
}

/// A [`Shape`] that may have to be made. Names are `&'static str` as serde hands them out, or [`Name`]s.
#[derive(Clone, Copy)]
pub(crate) struct ShapeRef<'a, N> {
    pub(crate) name: &'a N,
    pub(crate) variant: &'a N,
    pub(crate) labels: LabelsRef<'a, N>,
}

#[derive(Clone, Copy)]
pub(crate) enum LabelsRef<'a, N> {
    None,
    Fields(&'a [N]),
    Keys(&'a [Value]),
    Static(&'a Value),
}

impl Builder {
    /// Appends a node, still without children.
    #[inline]
    pub(crate) fn open(&mut self, kind: NodeKind, shape: usize) -> usize {
        let at = self.nodes.len();
        let leaves = usize::from(kind == NodeKind::Leaf);
        let maps = usize::from(kind == NodeKind::Map);
        self.nodes.push(Node { kind, shape, repeat: 1, span: 1, children: 0, leaves, maps });
        at
    }

    /// Completes the node at `at`, whose children are all that follows it.
    pub(crate) fn close(&mut self, at: usize, shape: usize) -> Result<()> {
        let mut node = self.nodes[at];
        (node.children, node.leaves) = (0, 0);
        node.maps = usize::from(node.kind == NodeKind::Map);
        let mut run = at + 1;
        while let Some(child) = self.nodes.get(run) {
            let times = |count: usize| count.checked_mul(child.repeat).ok_or(ErrorKind::TooLarge);
            let sum =
                |total: usize, count: usize| total.checked_add(count).ok_or(ErrorKind::TooLarge);
            node.children = sum(node.children, child.repeat)?;
            node.leaves = sum(node.leaves, times(child.leaves)?)?;
            node.maps = sum(node.maps, times(child.maps)?)?;
            run += child.span;
        }
        node.shape = shape;
        node.span = self.nodes.len() - at;
        self.nodes[at] = node;
        Ok(())
    }

    /// Gives a closed node its shape.
    pub(crate) fn name(&mut self, at: usize, shape: usize) {
        self.nodes[at].shape = shape;
        self.nodes[at].span = self.nodes.len() - at;
    }

    /// Whether two complete subtrees are equal, apart from how often each is repeated.
    pub(crate) fn same(&self, a: usize, b: usize) -> bool {
        let (a, b) = (self.subtree(a), self.subtree(b));
        match (a.split_first(), b.split_first()) {
            (Some((first, below)), Some((other, others))) => {
                Node { repeat: 1, ..*first } == Node { repeat: 1, ..*other } && below == others
            }
            _ => false,
        }
    }

    pub(crate) fn subtree(&self, at: usize) -> &[Node] {
        &self.nodes[at..at + self.nodes[at].span]
    }

    pub(crate) fn shape(&self, index: usize) -> Option<&Shape> {
        self.shapes.get_index(index)
    }

    /// The index of a shape, which is added if it is new.
    pub(crate) fn intern<N: AsRef<str> + Clone + Into<Name>>(
        &mut self,
        shape: ShapeRef<'_, N>,
    ) -> usize {
        match self.shapes.get_index_of(&shape) {
            Some(index) => index,
            None => self.shapes.insert_full(shape.into_shape()).0,
        }
    }

    /// Puts the entries of the map that starts at `at` into canonical order: its keys, its children and its leaves.
    ///
    /// Says how, unless they were in order.
    pub(crate) fn sort_entries<L>(
        &mut self,
        at: usize,
        keys: &mut [Value],
        leaves: &mut [L],
    ) -> Option<Sorted> {
        if keys.is_sorted() {
            return None;
        }
        let entries = self.entries(at);
        let mut arrived: Vec<usize> = (0..keys.len()).collect();
        arrived.sort_by(|&a, &b| keys[a].cmp(&keys[b])); // stable: equal keys stay in their order

        let mut order = vec![0; arrived.len()];
        for (canonical, &arrival) in arrived.iter().enumerate() {
            order[arrival] = canonical;
        }
        let mut moved = Vec::with_capacity(arrived.len());
        let mut destination = vec![0; leaves.len()];
        let mut sorted: Vec<Node> = Vec::with_capacity(self.nodes.len() - at - 1);
        let (mut last, mut leaf, mut map) = (None, 0, 0);
        for &arrival in &arrived {
            let entry = entries[arrival];
            let node = self.nodes[entry.node];
            for (offset, place) in
                destination.iter_mut().skip(entry.leaf).take(node.leaves).enumerate()
            {
                *place = leaf + offset;
            }
            moved.push((arrival, map));
            leaf += node.leaves;
            map += node.maps;
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
                    let place = sorted.len() - node.span;
                    sorted[place].repeat = 1;
                }
            }
        }
        self.nodes.truncate(at + 1);
        self.nodes.extend(sorted);
        permute(keys, order.clone());
        permute(leaves, destination);

        let mut maps = vec![(0, 0); entries.len()];
        for (arrival, map) in moved {
            maps[arrival] = (entries[arrival].map, map);
        }
        Some(Sorted { order: order.into(), maps })
    }

    /// Where the entries of the map at `at` stand: their node, and the leaves and maps of the map before them.
    fn entries(&self, at: usize) -> Vec<Entry> {
        let mut entries = Vec::new();
        let (mut run, mut leaf, mut map) = (at + 1, 0, 0);
        while let Some(node) = self.nodes.get(run) {
            for _ in 0..node.repeat {
                entries.push(Entry { node: run, leaf, map });
                leaf += node.leaves;
                map += node.maps;
            }
            run += node.span;
        }
        entries
    }

    /// The finished structure.
    pub(crate) fn finish(
        self,
        options: Options,
        arrivals: Vec<Arrival>,
        limits: Limits,
    ) -> TreeDef {
        let Builder { mut nodes, shapes } = self;
        let used = renumber_shapes(&mut nodes);
        let mut shapes: Vec<Option<Shape>> = shapes.into_iter().map(Some).collect();
        // Each index in `used` is in range and stands there once.
        let shapes = used.into_iter().filter_map(|index| mem::take(&mut shapes[index])).collect();
        encode(nodes, shapes, options, arrivals, limits)
    }

    /// A builder whose nodes so far are those of a finished structure.
    pub(crate) fn on_top_of(encoding: &Encoding) -> Self {
        Builder {
            nodes: encoding.nodes.to_vec(),
            shapes: encoding.shapes.iter().cloned().collect(),
        }
    }

    /// Takes out the subtree that was built last, from `at` on, as a structure of its own.
    pub(crate) fn extract(&mut self, at: usize, arrivals: Vec<Arrival>) -> TreeDef {
        let mut nodes = self.nodes.split_off(at);
        let used = renumber_shapes(&mut nodes);
        let shapes = used.into_iter().filter_map(|index| self.shape(index).cloned()).collect();
        encode(nodes, shapes, Options::default(), arrivals, Limits::default())
    }
}

/// Numbers the shapes by their first use; says which they were.
fn renumber_shapes(nodes: &mut [Node]) -> Vec<usize> {
    let mut used = IndexSet::new();
    for node in nodes.iter_mut().filter(|node| node.shape != Shape::NONE) {
        node.shape = used.insert_full(node.shape).0;
    }
    used.into_iter().collect()
}

fn encode(
    nodes: Vec<Node>,
    shapes: Box<[Shape]>,
    options: Options,
    arrivals: Vec<Arrival>,
    limits: Limits,
) -> TreeDef {
    let mut encoding = Encoding { options, num_nodes: 0, work: 0, nodes: nodes.into(), shapes };
    encoding.num_nodes = encoding.root().num_nodes();
    encoding.work = encoding.root().work();
    TreeDef {
        encoding: Arc::new(encoding),
        arrivals: (!arrivals.is_empty()).then(|| arrivals.into()),
        limits,
    }
}

#[derive(Clone, Copy)]
struct Entry {
    node: usize,
    leaf: usize,
    map: usize,
}

/// How the entries of a map were put into canonical order.
pub(crate) struct Sorted {
    /// The canonical position of the entry that arrived first, second, …
    pub(crate) order: Box<[usize]>,
    /// For each entry as it arrived: maps of its map before it, then and now.
    maps: Vec<(usize, usize)>,
}

impl Sorted {
    /// Where a map below stands now that was the `map`-th below its map.
    pub(crate) fn moved(&self, map: usize) -> usize {
        let entry = self.maps.partition_point(|(before, _)| *before <= map).saturating_sub(1);
        self.maps.get(entry).map_or(map, |(before, now)| map - before + now)
    }
}

/// Moves each item to its destination, by swaps along the cycles.
fn permute<T>(items: &mut [T], mut destination: Vec<usize>) {
    for at in 0..items.len() {
        while destination[at] != at {
            let to = destination[at];
            items.swap(at, to);
            destination.swap(at, to);
        }
    }
}

impl<L> Tree<L> {
    pub(crate) fn from_parts(treedef: TreeDef, leaves: Vec<L>) -> Self {
        debug_assert_eq!(
            treedef.encoding.nodes.first().map(|root| root.leaves),
            Some(leaves.len())
        );
        Tree { treedef, leaves }
    }
}

impl<N: Clone + Into<Name>> ShapeRef<'_, N> {
    fn into_shape(self) -> Shape {
        Shape {
            name: self.name.clone().into(),
            variant: self.variant.clone().into(),
            labels: match self.labels {
                LabelsRef::None => Labels::None,
                LabelsRef::Fields(fields) => {
                    Labels::Fields(fields.iter().cloned().map(Into::into).collect())
                }
                LabelsRef::Keys(keys) => Labels::Keys(keys.into()),
                LabelsRef::Static(value) => Labels::Static(value.clone()),
            },
        }
    }
}

impl<N: AsRef<str>> Equivalent<Shape> for ShapeRef<'_, N> {
    fn equivalent(&self, shape: &Shape) -> bool {
        self.name.as_ref() == shape.name
            && self.variant.as_ref() == shape.variant
            && match (&self.labels, &shape.labels) {
                (LabelsRef::None, Labels::None) => true,
                (LabelsRef::Fields(a), Labels::Fields(b)) => {
                    a.iter().map(AsRef::as_ref).eq(b.iter().map(|name| name.as_ref()))
                }
                (LabelsRef::Keys(a), Labels::Keys(b)) => *a == b.as_ref(),
                (LabelsRef::Static(a), Labels::Static(b)) => *a == b,
                _ => false,
            }
    }
}

/// A shape is looked up by its reference, so both hash alike.
impl<N: AsRef<str>> Hash for ShapeRef<'_, N> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.as_ref().hash(state);
        self.variant.as_ref().hash(state);
        match self.labels {
            LabelsRef::None => state.write_u8(0),
            LabelsRef::Fields(fields) => {
                state.write_usize(fields.len());
                fields.iter().for_each(|field| field.as_ref().hash(state));
            }
            LabelsRef::Keys(keys) => keys.hash(state),
            LabelsRef::Static(value) => value.hash(state),
        }
    }
}

impl Hash for Shape {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let labels = match &self.labels {
            Labels::None => LabelsRef::None,
            Labels::Fields(fields) => LabelsRef::Fields(fields),
            Labels::Keys(keys) => LabelsRef::Keys(keys),
            Labels::Static(value) => LabelsRef::Static(value),
        };
        ShapeRef { name: &self.name, variant: &self.variant, labels }.hash(state);
    }
}

/// An absent value is None, an opaque leaf what it holds.
impl From<Leaf> for Value {
    fn from(leaf: Leaf) -> Self {
        match leaf {
            Leaf::Opaque(value) => *value,
            Leaf::None => {
                let mut builder = Builder::default();
                builder.open(NodeKind::None, Shape::NONE);
                let treedef = builder.finish(Options::default(), Vec::new(), Limits::default());
                Value::from_tree(Tree { treedef, leaves: Vec::new() })
            }
            scalar => Value(Content::Scalar(scalar)),
        }
    }
}
