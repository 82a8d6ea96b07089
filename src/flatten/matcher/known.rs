//! The structure that a value is expected to have, and the slots for its leaves.
//!
//! Nothing here depends on the type of the value. serde's side is the [matcher](super::matcher).

use std::slice;

use crate::call_stack;
use crate::error::{Matched, Mismatch};
use crate::flatten::rows::slots::Slots;
use crate::leaf::Scalar;
use crate::model::{
    Content, Insertion, Labels, Leaf, Limits, Name, Node, NodeData, NodeHead, NodeKind, Options,
    TreeDef, Value,
};
use crate::treedef::node_ref::is_name;

use crate::flatten::rows::layout::{Divergence, Layout, MOST_LEAVES};
use crate::flatten::rows::{Expected, FEW, Progress, Row};

/// The place of a run of leaves, which needs no node because leaves have no children.
pub(in crate::flatten) const LEAF: usize = usize::MAX;

pub(in crate::flatten) struct Known<'t> {
    nodes: &'t [Node],
    node_data: &'t [NodeData],
    pub(in crate::flatten) slots: Slots<'t>,
    options: Options,
    ignore_statics: bool,
    /// The remaining depth, for compounds in an opaque leaf and for marks.
    depth_left: usize,
    /// The remembered insertions of the remaining maps. Map entries may come in any order, but most
    /// likely in the remembered one. If `None`, they must come in the order of the structure.
    insertions: Option<&'t [Insertion]>,
    /// Room for the layout of elements.
    layout: Option<&'t mut Option<Layout<'t>>>,
    /// The number of children so far whose types own something. An element with such a child is not
    /// compared as plain data.
    pub(in crate::flatten) owning: usize,
    /// Whether floats for `f64` slots come as `f32`, as far as was seen.
    pub(in crate::flatten) narrow: bool,
    mismatch: Option<Divergence>,
}

/// A position among the children of a node.
#[derive(Clone, Copy)]
pub(in crate::flatten) struct ChildCursor {
    /// The node of the current run, or [`LEAF`], and the number of its remaining children.
    pub(in crate::flatten) at: usize,
    pub(in crate::flatten) left: usize,
    /// The index of the next run, and the end of all runs.
    next: usize,
    end: usize,
}

impl ChildCursor {
    /// Before the first child of the node `at`. The runs end at `end`.
    #[inline]
    pub(in crate::flatten) fn below(at: usize, end: usize) -> Self {
        ChildCursor { at: LEAF, left: 0, next: at + 1, end }
    }

    /// The node of the current run, and the number of its remaining children.
    #[inline]
    pub(in crate::flatten) fn run(self) -> (usize, usize) {
        (self.at, self.left)
    }

    /// Skips `count` children of the current run, which has at least that many left.
    pub(in crate::flatten) fn pass(&mut self, count: usize) {
        self.left -= count;
    }

    #[inline]
    pub(in crate::flatten) fn is_at_end(self) -> bool {
        self.left == 0 && self.next == self.end
    }

    pub(in crate::flatten) fn has_more(&mut self, known: &Known<'_>) -> bool {
        self.left > 0 || known.next_run(self)
    }

    /// Skips the rest of the current run. Returns its node, and how many children were left.
    pub(in crate::flatten) fn skip_run(&mut self) -> (usize, usize) {
        (self.at, std::mem::take(&mut self.left))
    }
}

impl<'t> Known<'t> {
    pub(in crate::flatten) fn new(
        treedef: &'t TreeDef,
        slots: Slots<'t>,
        room: &'t mut Option<Layout<'t>>,
        ignore_statics: bool,
    ) -> Matched<Self> {
        let encoding = &*treedef.encoding;
        let depth = encoding.nodes.first().ok_or(Mismatch)?.depth as usize;
        let depth_left = call_stack::deepest(treedef.limits).checked_sub(depth).ok_or(Mismatch)?;
        let options = encoding.options;
        Ok(Known {
            nodes: &encoding.nodes,
            node_data: &encoding.node_data,
            slots,
            options,
            ignore_statics,
            depth_left,
            insertions: (!options.insertion).then(|| treedef.insertions()),
            layout: Some(room),
            owning: 0,
            narrow: false,
            mismatch: None,
        })
    }

    /// The structure of a value that is known with its leaves: a static or a key.
    pub(in crate::flatten) fn inside(&self, value: &'t Value) -> Self {
        let (nodes, node_data, leaves) = match &value.0 {
            Content::Scalar(leaf) => (&[][..], &[][..], slice::from_ref(leaf)),
            Content::Tree(tree) => {
                let encoding = &*tree.treedef.encoding;
                (&*encoding.nodes, &*encoding.node_data, &*tree.leaves)
            }
            // A key or a static is never stored as an array.
            Content::Array(_) => (&[][..], &[][..], &[][..]),
        };
        let options = self.of_opaque();
        let slots = Slots::Full(leaves);
        let insertions = Some(&[][..]);
        Known {
            nodes,
            node_data,
            slots,
            options,
            insertions,
            layout: None,
            owning: 0,
            narrow: false,
            mismatch: None,
            ..*self
        }
    }

    pub(in crate::flatten) fn root(&self) -> usize {
        match self.nodes.first() {
            Some(root) if root.kind != NodeKind::Leaf => 0,
            _ => LEAF,
        }
    }
}

/// Values at a place.
impl<'t> Known<'t> {
    #[inline(never)]
    pub(in crate::flatten) fn put(
        &mut self,
        at: usize,
        slot: usize,
        scalar: Scalar<'_>,
    ) -> Matched<usize> {
        if at != LEAF {
            return Err(self.differs());
        }
        if self.slots.put(slot, scalar) {
            Ok(slot + 1) // there was that slot
        } else {
            Err(self.unlike())
        }
    }

    /// An opaque leaf, or a leaf with a mark.
    pub(in crate::flatten) fn put_leaf(&mut self, slot: usize, value: Value) -> Matched<usize> {
        if self.slots.put_leaf(slot, Leaf::from(value)) {
            Ok(slot + 1) // there was that slot
        } else {
            Err(self.perhaps())
        }
    }

    /// A node that never has children.
    #[inline(never)]
    pub(in crate::flatten) fn atom(
        &mut self,
        at: usize,
        slot: usize,
        head: NodeHead<'static>,
    ) -> Matched<usize> {
        self.enter(at, head).map(|_| slot)
    }

    /// Checks a node, and returns where its children end.
    #[inline]
    pub(in crate::flatten) fn enter(
        &mut self,
        at: usize,
        head: NodeHead<'static>,
    ) -> Matched<usize> {
        match self.nodes.get(at) {
            Some(node) if node.kind == head.kind && self.is_named(node, head) => Ok(at + node.span),
            _ => Err(self.differs()),
        }
    }

    #[inline]
    fn is_named(&self, node: &Node, head: NodeHead<'static>) -> bool {
        !head.kind.is_named()
            || self.node_data.get(node.data).is_some_and(|data| {
                is_name(&data.name, head.name)
                    && (!head.kind.is_variant() || is_name(&data.variant, head.variant))
            })
    }

    fn labels(&self, at: usize) -> Option<&'t Labels> {
        let data = self.nodes.get(at)?.data;
        self.node_data.get(data).map(|data| &data.labels)
    }

    pub(in crate::flatten) fn fields(&self, at: usize) -> &'t [Name] {
        match self.labels(at) {
            Some(Labels::Fields(fields)) => fields,
            _ => &[],
        }
    }

    pub(in crate::flatten) fn keys(&self, at: usize) -> &'t [Value] {
        match self.labels(at) {
            Some(Labels::Keys(keys)) => keys,
            _ => &[],
        }
    }

    /// The value that a static must have, or `None` if statics are ignored.
    pub(in crate::flatten) fn static_at(&mut self, at: usize) -> Matched<Option<&'t Value>> {
        match self.labels(at) {
            Some(Labels::Static(_)) if self.ignore_statics => Ok(None),
            Some(Labels::Static(value)) => Ok(Some(value)),
            _ => Err(self.differs()),
        }
    }

    /// Moves `cursor` to the next run of children, if there is one.
    #[inline]
    pub(in crate::flatten) fn next_run(&self, cursor: &mut ChildCursor) -> bool {
        let Some(run) = self.nodes.get(cursor.next).filter(|_| cursor.next < cursor.end) else {
            return false;
        };
        cursor.at = if run.kind == NodeKind::Leaf { LEAF } else { cursor.next };
        cursor.left = run.repeat;
        cursor.next += run.span;
        true
    }

    /// A row for the rest of a run. The element before `slot` belongs to the same run.
    #[inline(never)]
    pub(in crate::flatten) fn next_row<'r>(
        &'r mut self,
        (at, left): (usize, usize),
        slot: usize,
        owning: usize,
        progress: &'r mut Progress,
    ) -> Option<Row<'r>> {
        let number = match at {
            LEAF => Expected::number(&self.slots, slot.checked_sub(1)?, self.narrow),
            _ => None,
        };
        let is_plain = at != LEAF && left >= FEW && owning == self.owning;
        let like = match number {
            Some(number) => number,
            None if is_plain && self.read_layout(at, slot) => {
                Expected::Layout(self.layout.as_ref()?.as_ref()?) // it was read
            }
            None => {
                progress.give_up();
                return None;
            }
        };
        let slots = self.slots.reborrow();
        Some(Row::new(slots, slot, left, like, self.options.compact, progress))
    }

    /// Reads the layout of the element before `slot`. Returns whether it has one.
    fn read_layout(&mut self, at: usize, slot: usize) -> bool {
        let nodes = self.nodes.get(at..).unwrap_or_default();
        let leaves = nodes.first().map_or(0, |node| node.leaves);
        let Some(first) = slot.checked_sub(leaves).filter(|_| leaves <= MOST_LEAVES) else {
            return false;
        };
        let Some(room) = &mut self.layout else { return false };
        let layout = room.get_or_insert_with(|| Layout::new(self.options.compact));
        let kinds = |leaf| self.slots.number_at(first + leaf, self.narrow);
        layout.read(nodes, self.node_data, kinds, |name: &'t Name| Some(name))
    }

    /// The options for recording opaque leaves and the insides of statics and keys.
    pub(in crate::flatten) fn of_opaque(&self) -> Options {
        Options { compact: self.options.compact, ..Options::default() }
    }

    pub(in crate::flatten) fn limits_of_opaque(&self) -> Limits {
        Limits::default().max_depth(self.depth_left)
    }

    /// Whether marks have no meaning here, because the place is inside a kept value. They still use
    /// stack, so they count as a level of depth.
    pub(in crate::flatten) fn overlooks_mark(&mut self) -> Matched<bool> {
        if !matches!(self.slots, Slots::Full(_) | Slots::Keys { .. }) {
            return Ok(false);
        }
        match self.depth_left.checked_sub(1) {
            Some(left) => {
                self.depth_left = left;
                Ok(true)
            }
            None => Err(self.perhaps()),
        }
    }

    pub(in crate::flatten) fn is_human_readable(&self) -> bool {
        !self.options.compact
    }
}

/// The entries of maps.
impl<'t> Known<'t> {
    /// A matcher that looks up a key among the `sorted` keys of a map.
    pub(in crate::flatten) fn lookup(&self, sorted: &'t [Value]) -> Self {
        let slots = Slots::Keys { sorted, found: None };
        Known {
            nodes: &[],
            node_data: &[],
            slots,
            layout: None,
            owning: 0,
            mismatch: None,
            ..*self
        }
    }

    pub(in crate::flatten) fn found(&self) -> Option<usize> {
        match self.slots {
            Slots::Keys { found, .. } if self.mismatch.is_none() => found,
            _ => None,
        }
    }

    /// Called when the entries of a map come in another order. Returns the next remembered
    /// insertion order, which is probably that of this map, or an empty slice. Fails if entries
    /// must come in order.
    pub(in crate::flatten) fn next_insertion(&mut self) -> Matched<&'t [usize]> {
        match &mut self.insertions {
            None => Err(self.perhaps()),
            Some(insertions) => match insertions.split_first() {
                Some((first, rest)) => {
                    *insertions = rest;
                    Ok(&first.order)
                }
                None => Ok(&[]),
            },
        }
    }

    pub(in crate::flatten) fn leaves_of(&self, at: usize) -> usize {
        self.nodes.get(at).map_or(1, |node| node.leaves)
    }
}

/// Mismatches.
impl Known<'_> {
    #[cold]
    #[inline(never)]
    pub(in crate::flatten) fn stop(&mut self, divergence: Divergence) -> Mismatch {
        self.mismatch.get_or_insert(divergence);
        Mismatch
    }

    /// The value has another structure.
    #[cold]
    pub(in crate::flatten) fn differs(&mut self) -> Mismatch {
        self.stop(Divergence::Surely)
    }

    /// The value may have the structure, but this walk cannot tell.
    #[cold]
    pub(in crate::flatten) fn perhaps(&mut self) -> Mismatch {
        self.stop(Divergence::Perhaps)
    }

    /// A leaf is not as expected.
    #[cold]
    pub(in crate::flatten) fn unlike(&mut self) -> Mismatch {
        match self.slots {
            Slots::Full(_) => self.differs(),
            _ => self.perhaps(),
        }
    }

    /// Drops the divergence found so far: it was in a map whose entries come in another order.
    #[cold]
    pub(in crate::flatten) fn out_of_order(&mut self) -> Mismatch {
        self.mismatch = Some(Divergence::Perhaps);
        Mismatch
    }

    /// The first mismatch. The result of the walk is not enough, because a `Serialize`
    /// implementation may ignore an error.
    pub(in crate::flatten) fn mismatch(&self) -> Option<Divergence> {
        self.mismatch
    }
}
