//! Building an encoding: open a node, add its children, close it. Keeps the invariants that `model` states.

mod shapes;

use std::cell::Cell;
use std::mem;
use std::sync::Arc;

use crate::error::{ErrorKind, Result};
use crate::leaf::Scalar;
use crate::leaf::sink::permute;
use crate::model::{
    Arrival, Content, Encoding, Labels, Leaf, Limits, Name, Node, NodeKind, Options, Shape, Tree,
    TreeDef, Value,
};
use crate::treedef::node::alike;

use shapes::Shapes;

pub(crate) use shapes::{LabelsRef, ShapeRef};

/// Nodes and shapes of a structure in the making.
///
/// While it grows, spans are relative and counts of closed nodes are final, so that subtrees can be moved and copied.
/// Shapes may be numbered in any order; [`finish`](EncodingBuilder::finish) renumbers them.
#[derive(Default)]
pub(crate) struct EncodingBuilder {
    pub(crate) nodes: Vec<Node>,
    shapes: Shapes,
}

thread_local! {
    /// Room for the nodes of the next structure: a vector that grows anew each time is copied into fresh memory over and
    /// over, which was two fifths of the time for a document of a megabyte.
    static ROOM: Cell<Vec<Node>> = const { Cell::new(Vec::new()) };
}

/// Nodes that a thread keeps room for at most: two megabytes.
const MOST_ROOM: usize = 32_768;

impl EncodingBuilder {
    /// One with the room that was left in this thread, which is lost unless it is finished.
    pub(crate) fn with_room() -> Self {
        let nodes = ROOM.try_with(Cell::take).unwrap_or_default();
        EncodingBuilder { nodes, shapes: Shapes::default() }
    }

    /// Appends a node, still without children.
    #[inline]
    pub(crate) fn open(&mut self, kind: NodeKind, shape: usize) -> usize {
        let at = self.nodes.len();
        let leaves = usize::from(kind == NodeKind::Leaf);
        let maps = usize::from(kind == NodeKind::Map);
        let (work, depth) = (1, 0);
        self.nodes.push(Node {
            kind,
            depth,
            shape,
            repeat: 1,
            span: 1,
            children: 0,
            leaves,
            maps,
            work,
        });
        if shape != Shape::NONE {
            self.name(at, shape);
        }
        at
    }

    /// Completes the node at `at`, whose children are all that follows it.
    pub(crate) fn close(&mut self, at: usize, shape: usize) -> Result<()> {
        let mut node = self.nodes[at];
        (node.children, node.leaves, node.work, node.depth) = (0, 0, 1, 0);
        node.maps = usize::from(node.kind == NodeKind::Map);
        let mut run = at + 1;
        while let Some(child) = self.nodes.get(run) {
            node.count(child)?;
            run += child.span;
        }
        self.nodes[at] = node;
        self.seal(at, shape);
        Ok(())
    }

    /// Counts a complete run of children of an open node.
    #[cfg(feature = "persist")]
    pub(crate) fn count(&mut self, at: usize, child: usize) -> Result<()> {
        let child = self.nodes[child];
        self.nodes[at].count(&child)
    }

    /// Completes a node whose children are counted.
    pub(crate) fn seal(&mut self, at: usize, shape: usize) {
        let node = &mut self.nodes[at];
        node.depth = node.depth.saturating_add(1);
        self.name(at, shape);
    }

    /// Gives a complete node its shape.
    pub(crate) fn name(&mut self, at: usize, shape: usize) {
        let (work, depth) = self.shapes.costs.get(shape).copied().unwrap_or_default();
        let end = self.nodes.len();
        let node = &mut self.nodes[at];
        (node.shape, node.span) = (shape, end - at);
        node.work = node.work.saturating_add(work);
        node.depth = node.depth.max(depth);
    }

    /// Whether two complete subtrees are equal, apart from how often each is repeated.
    pub(crate) fn same(&self, a: usize, b: usize) -> bool {
        alike(self.subtree(a), self.subtree(b))
    }

    /// Makes the complete node that was built last the next `repeat` children of its parent, whose last run so far starts at
    /// `last`. Says where the run starts that they belong to: equal neighbours are one.
    pub(crate) fn join(
        &mut self,
        last: Option<usize>,
        child: usize,
        repeat: usize,
    ) -> Result<usize> {
        match last {
            Some(last) if self.same(last, child) => {
                self.nodes.truncate(child);
                let run = &mut self.nodes[last].repeat;
                let Some(sum) = run.checked_add(repeat) else {
                    return Err(ErrorKind::TooLarge.into());
                };
                *run = sum;
                Ok(last)
            }
            _ => {
                self.nodes[child].repeat = repeat;
                Ok(child)
            }
        }
    }

    pub(crate) fn subtree(&self, at: usize) -> &[Node] {
        &self.nodes[at..at + self.nodes[at].span]
    }

    pub(crate) fn shape(&self, index: usize) -> Option<&Shape> {
        self.shapes.list.get(index)
    }

    /// Whether the last of so many leaves has the same place in two subtrees.
    pub(crate) fn agree(&self, a: usize, b: usize, leaves: usize) -> bool {
        ways_agree(self.subtree(a), self.subtree(b), leaves)
    }

    pub(crate) fn shapes(&self) -> &[Shape] {
        &self.shapes.list
    }

    /// The index of a shape, which is added if it is new.
    pub(crate) fn intern<N: AsRef<str> + Clone + Into<Name>>(
        &mut self,
        shape: ShapeRef<'_, N>,
    ) -> usize {
        self.shapes.intern(shape)
    }

    /// [`intern`](Self::intern) of a shape whose names are those of a type, which is mostly one of the newest.
    pub(crate) fn intern_static(&mut self, shape: ShapeRef<'_, &'static str>) -> usize {
        self.shapes.intern_static(shape)
    }

    /// One of the newest shapes, if it is that of a static with this value.
    pub(crate) fn static_of(&self, value: Scalar<'_>) -> Option<usize> {
        self.shapes.static_of(value)
    }

    /// A known shape that has the same first keys as another, so many, and then one for which this holds: that shape
    /// itself, or one of the newest.
    #[inline]
    pub(crate) fn with_key(
        &self,
        shape: usize,
        keys: usize,
        is_next: impl Fn(&Value) -> bool,
    ) -> Option<usize> {
        self.shapes.with_key(shape, keys, is_next)
    }

    /// The shape that has only the first labels of another.
    pub(crate) fn intern_first(&mut self, shape: usize, labels: usize) -> usize {
        self.shapes.intern_first(shape, labels)
    }

    /// [`intern`](Self::intern) of the shape of a map, whose keys are moved out of the end of a list.
    pub(crate) fn intern_keys(&mut self, keys: &mut Vec<Value>, first: usize) -> usize {
        let labels = LabelsRef::Keys(&keys[first..]);
        if let Some(known) = self.shapes.position(&ShapeRef { name: &"", variant: &"", labels }) {
            keys.truncate(first);
            return known;
        }
        let (name, variant) = (Name::Borrowed(""), Name::Borrowed(""));
        let labels = Labels::Keys(keys.drain(first..).collect());
        self.shapes.push(Shape { name, variant, labels })
    }

    /// [`intern`](Self::intern) of a shape that has been made.
    #[cfg(feature = "persist")]
    pub(crate) fn add_shape(&mut self, shape: Shape) -> usize {
        let known = self.shapes.position(&shape.as_ref());
        known.unwrap_or_else(|| self.shapes.push(shape))
    }

    /// Puts the entries of the map that starts at `at` into canonical order: its keys and its children.
    ///
    /// Says how, unless they were in order.
    pub(crate) fn sort_entries(&mut self, at: usize, keys: &mut [Value]) -> Option<Sorted> {
        if keys.is_sorted() {
            return None;
        }
        let entries = self.entries(at);
        let mut arrived: Vec<usize> = (0..keys.len()).collect();
        // Equal keys stay in their order.
        match keys.iter().map(Value::as_str).collect::<Option<Vec<&str>>>() {
            Some(texts) => sort_texts(&mut arrived, &texts),
            None => arrived.sort_by(|&a, &b| keys[a].cmp(&keys[b])),
        }

        let mut order = vec![0; arrived.len()];
        for (canonical, &arrival) in arrived.iter().enumerate() {
            order[arrival] = canonical;
        }
        let mut moved = Vec::with_capacity(arrived.len());
        let leaves = entries.last().map_or(0, |entry| entry.leaf + self.nodes[entry.node].leaves);
        let mut destination = vec![0; leaves];
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
        permute(order.clone(), |a, b| keys.swap(a, b));

        let mut maps = vec![(0, 0); entries.len()];
        for (arrival, map) in moved {
            maps[arrival] = (entries[arrival].map, map);
        }
        Some(Sorted { order: order.into(), leaves: destination, maps })
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
        let EncodingBuilder { mut nodes, shapes } = self;
        let used = renumber_shapes(&mut nodes, shapes.list.len());
        let mut shapes: Vec<Option<Shape>> = shapes.list.into_iter().map(Some).collect();
        // Each index in `used` is in range and stands there once.
        let shapes = used.into_iter().filter_map(|index| mem::take(&mut shapes[index])).collect();
        encode(nodes, shapes, options, arrivals, limits)
    }

    /// [`finish`](Self::finish) of a structure whose shapes are all used, and numbered by their first use.
    #[cfg(feature = "persist")]
    pub(crate) fn finish_numbered(self, options: Options, limits: Limits) -> TreeDef {
        encode(self.nodes, self.shapes.list.into(), options, Vec::new(), limits)
    }

    /// Takes out the subtree that was built last, from `at` on, as a structure of its own.
    pub(crate) fn extract(
        &mut self,
        at: usize,
        options: Options,
        arrivals: Vec<Arrival>,
    ) -> TreeDef {
        let mut nodes = self.nodes.split_off(at);
        let mut shapes = Shapes::default();
        for node in &mut nodes {
            if let Some(shape) = self.shape(node.shape) {
                node.shape = shapes.intern(shape.as_ref());
            }
        }
        let shapes = shapes.list.into();
        encode(nodes, shapes, options, arrivals, Limits::default())
    }
}

/// Numbers the shapes by their first use; says which they were.
fn renumber_shapes(nodes: &mut [Node], shapes: usize) -> Vec<usize> {
    let mut used = Vec::with_capacity(shapes);
    let mut numbers = vec![Shape::NONE; shapes];
    for node in nodes.iter_mut().filter(|node| node.shape != Shape::NONE) {
        let number = &mut numbers[node.shape];
        if *number == Shape::NONE {
            *number = used.len();
            used.push(node.shape);
        }
        node.shape = *number;
    }
    used
}

fn encode(
    nodes: Vec<Node>,
    shapes: Box<[Shape]>,
    options: Options,
    arrivals: Vec<Arrival>,
    limits: Limits,
) -> TreeDef {
    let encoding = Encoding { options, nodes: settle(nodes), shapes };
    TreeDef {
        encoding: Arc::new(encoding),
        arrivals: (!arrivals.is_empty()).then(|| arrivals.into()),
        limits,
        walked: false,
    }
}

/// Moves nodes to where they fit. Their room is left to the thread, unless that is too much.
fn settle(mut nodes: Vec<Node>) -> Box<[Node]> {
    if nodes.capacity() > MOST_ROOM {
        return nodes.into();
    }
    let settled = nodes[..].into();
    nodes.clear();
    // Where the thread ends, nobody builds any more.
    let _ = ROOM.try_with(|room| {
        let kept = room.take();
        room.set(if kept.capacity() < nodes.capacity() { nodes } else { kept });
    });
    settled
}

/// Whether the last of so many leaves has the same place in two subtrees.
pub(crate) fn ways_agree(a: &[Node], b: &[Node], leaves: usize) -> bool {
    leaves.checked_sub(1).is_none_or(|last| way_to_leaf(a, last) == way_to_leaf(b, last))
}

/// The positions that lead to a leaf, by its index.
fn way_to_leaf(nodes: &[Node], mut index: usize) -> Vec<usize> {
    let (mut way, mut position, mut run) = (Vec::new(), 0, 1);
    while let Some(node) = nodes.get(run) {
        // A run without leaves holds none of them.
        match index.checked_div(node.leaves) {
            Some(skipped) if skipped < node.repeat => {
                way.push(position + skipped);
                if node.kind == NodeKind::Leaf {
                    break;
                }
                index -= skipped * node.leaves;
                (position, run) = (0, run + 1);
            }
            _ => {
                index -= node.leaves * node.repeat;
                position += node.repeat;
                run += node.span;
            }
        }
    }
    way
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
    /// Where each leaf of the map stands then, counted from the first.
    pub(crate) leaves: Vec<usize>,
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

/// Puts the positions of texts into the order of these.
///
/// Mostly the eight bytes behind what all have in common decide, and they are compared as one number.
fn sort_texts(positions: &mut [usize], texts: &[&str]) {
    let Some((first, others)) = texts.split_first() else { return };
    let in_common = others.iter().fold(first.len(), |most, text| {
        first.bytes().take(most).zip(text.bytes()).take_while(|(a, b)| a == b).count()
    });
    let start = |text: &str| {
        let mut bytes = [0; 8];
        text.bytes().skip(in_common).zip(&mut bytes).for_each(|(byte, slot)| *slot = byte);
        u64::from_be_bytes(bytes)
    };
    let mut keyed: Vec<(u64, usize)> =
        positions.iter().map(|&position| (start(texts[position]), position)).collect();
    keyed.sort_unstable_by(|&(a, at), &(b, other)| {
        a.cmp(&b).then_with(|| (texts[at], at).cmp(&(texts[other], other)))
    });
    positions.iter_mut().zip(keyed).for_each(|(slot, (_, position))| *slot = position);
}

/// An absent value is None, an opaque leaf what it holds.
impl From<Leaf> for Value {
    fn from(leaf: Leaf) -> Self {
        match leaf {
            Leaf::Opaque(value) => Arc::unwrap_or_clone(value),
            Leaf::None => {
                let mut builder = EncodingBuilder::default();
                builder.open(NodeKind::None, Shape::NONE);
                let treedef = builder.finish(Options::default(), Vec::new(), Limits::default());
                Value::from_tree(Tree { treedef, leaves: Vec::new() })
            }
            scalar => Value(Content::Scalar(scalar)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::sort_texts;

    #[test]
    fn texts_are_sorted_by_their_bytes_and_equal_ones_stay_in_order() {
        let endings = ["", "b", "a", "\0", "a\0", "ä", "12345678", "123456789", "12345678\0", "a"];
        for start in ["", "in common: ", "in"] {
            let texts: Vec<String> = endings.map(|ending| format!("{start}{ending}")).into();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let mut sorted: Vec<usize> = (0..texts.len()).collect();
            let mut expected = sorted.clone();
            expected.sort_by_key(|&position| texts[position]);
            sort_texts(&mut sorted, &texts);
            assert_eq!(sorted, expected, "{start:?}");
        }
    }
}
