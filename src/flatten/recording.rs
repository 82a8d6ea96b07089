//! The state of a walk that records.
//!
//! Nothing here depends on the type of the value. serde's side is the [recorder](super::recorder).
//!
//! # Invariants
//!
//! 1. `builder` has the nodes of the open compounds, outermost first, each followed by its complete
//!    children. The nodes of the child that is being recorded come last.
//! 2. A leaf gets its node only when it is added to its parent: a child without nodes is a leaf.
//! 3. Neighbouring runs of children differ. A child that equals the last one only increases its
//!    repeat count, and its own nodes are removed.
//! 4. The labels of an open compound are on the stack `fields` or `keys` from `first_label` on,
//!    unless its keys are `known`.
//! 5. The leaves of a kept value (a key, a static, an opaque leaf) are in `kept`. When the value is
//!    complete, its nodes, leaves and insertions are taken out.

use std::cell::Cell;
use std::mem;
use std::slice;
use std::sync::Arc;

use crate::call_stack;
use crate::error::{Error, Result};
use crate::leaf::Scalar;
use crate::leaf::sink::{Sink, permute};
use crate::model::{
    Insertion, Labels, Leaf, Limits, NodeData, NodeHead, NodeKind, Options, TreeDef, Value,
};
use crate::path::Key;
use crate::treedef::encoding::{EncodingBuilder, LabelsRef, NodeDataRef};

use super::frame::{Frame, KnownData, NextValue, Role};
use super::rows::layout::Layout;
use super::rules::{Keep, Rules};

const SWALLOWED: &str = "a `Serialize` implementation swallowed an error and went on";

thread_local! {
    /// The memory of the last recording. Without it, vectors would grow anew for each value: two
    /// fifths of the time for a document of a megabyte, and most of it for a few numbers.
    static SPARE: Cell<Option<Box<Recording>>> = const { Cell::new(None) };
}

/// The maximum number of items for which a thread keeps the memory of a vector.
const MOST_SPARE: usize = 4_096;

/// The maximum number of leaves that are expected because the last value had as many.
const MOST_EXPECTED: usize = 64;

#[derive(Default)]
pub(super) struct Recording {
    pub(super) builder: EncodingBuilder,
    pub(super) leaves: Sink,
    /// The number of leaves for which the next recording makes room: those of this one, if few.
    expected: usize,
    /// The leaves of the values that are being kept.
    pub(super) kept: Vec<Leaf>,
    /// How many nested values are being kept.
    pub(super) keeping: usize,
    pub(super) fields: Vec<&'static str>,
    pub(super) keys: Vec<Value>,
    /// The innermost open compound, and those around it.
    pub(super) frame: Frame,
    pub(super) outer: Vec<Frame>,
    /// How many compounds are around the current place.
    pub(super) depth: usize,
    next_value: NextValue,
    /// The next value is simply recorded: no rule, option or place requires anything else.
    plain: bool,
    /// The node data of the last map. Perhaps that map had only the first of its keys.
    last_keys: Option<usize>,
    /// The number of maps so far.
    pub(super) maps: usize,
    pub(super) insertions: Vec<Insertion>,
    options: Options,
    pub(super) limits: Limits,
    /// The maximum depth, limited by the limits and by the stack.
    pub(super) max_depth: usize,
    /// Elements of sequences may be serialized twice, and mean the same at any place.
    predicts: bool,
    /// Room for the layout of elements.
    pub(super) layout: Option<Box<Layout<'static>>>,
    /// Whether floats for `f64` slots come as `f32`, as far as was seen.
    pub(super) narrow: bool,
    rules: Option<Arc<Rules>>,
    /// Whether each rule applied anywhere.
    hits: Vec<bool>,
    /// The keys that lead to the current place, if a rule may need them.
    path: Option<Vec<Key>>,
    /// There was an opaque leaf.
    pub(super) met_opaque: bool,
    /// The last leaf is an absent value, or holds an option or a unit.
    pub(super) last_is_none: bool,
    /// An error was returned. If a `Serialize` implementation ignores it, the recording must still
    /// fail, because the tree has a hole.
    pub(super) failed: bool,
}

impl Recording {
    pub(super) fn new(
        leaves: Sink,
        options: Options,
        limits: Limits,
        predicts: bool,
        rules: Option<Arc<Rules>>,
    ) -> Box<Self> {
        let mut recording = SPARE.try_with(Cell::take).unwrap_or_default().unwrap_or_default();
        recording.leaves = leaves;
        recording.leaves.reserve(recording.expected);
        recording.options = options;
        recording.limits = limits;
        recording.max_depth = call_stack::deepest(limits);
        recording.predicts = predicts;
        recording.hits = vec![false; rules.as_ref().map_or(0, |rules| rules.rules.len())];
        recording.path = rules.as_ref().filter(|rules| rules.need_paths()).map(|_| Vec::new());
        recording.rules = rules;
        recording.expect_next(NextValue::Child);
        recording
    }

    /// A recording for a value that is kept as a whole.
    pub(super) fn of_value(options: Options, limits: Limits) -> Box<Self> {
        Recording::new(Sink::Counted(0), options, limits, false, None)
    }

    /// Leaves only the memory, for the next recording of this thread. A recording that is dropped
    /// instead costs the next one its memory.
    pub(super) fn spare(mut self: Box<Self>) {
        self.builder.clear();
        *self = Recording {
            builder: mem::take(&mut self.builder),
            kept: emptied(&mut self.kept),
            fields: emptied(&mut self.fields),
            keys: emptied(&mut self.keys),
            outer: emptied(&mut self.outer),
            expected: self.expected,
            ..Recording::default()
        };
        // This fails only while the thread ends. The recording is dropped then.
        let _ = SPARE.try_with(|spare| spare.set(Some(self)));
    }

    /// Ends the recording of a whole value. Returns its structure, its leaves, and which rules
    /// applied.
    pub(super) fn finish(mut self: Box<Self>) -> Result<(TreeDef, Sink, Vec<bool>)> {
        self.added()?;
        self.expect_no_failure()?;
        if self.builder.nodes.is_empty() {
            self.builder.open(NodeKind::Leaf, NodeData::NONE);
        }
        let insertions = mem::take(&mut self.insertions);
        let treedef = self.builder.finish(self.options, insertions, self.limits);
        let (leaves, hits) = (mem::take(&mut self.leaves), mem::take(&mut self.hits));
        self.expected = leaves.len().min(MOST_EXPECTED);
        self.spare();
        Ok((treedef, leaves, hits))
    }

    /// The options at the current place: those of the treedef, but defaults inside a kept value,
    /// except `compact`.
    fn options(&self) -> Options {
        if self.keeping == 0 {
            self.options
        } else {
            Options { compact: self.options.compact, ..Options::default() }
        }
    }

    pub(super) fn is_compact(&self) -> bool {
        self.options.compact
    }

    /// Whether elements of sequences may be serialized twice, and mean the same at any place.
    pub(super) fn predicts(&self) -> bool {
        self.keeping == 0 && self.predicts
    }

    pub(super) fn expect_no_failure(&self) -> Result<()> {
        if self.failed { Err(Error::protocol(SWALLOWED)) } else { Ok(()) }
    }

    /// The number of leaves so far, of the kept values or else of the whole.
    fn num_leaves(&self) -> usize {
        if self.keeping > 0 { self.kept.len() } else { self.leaves.len() }
    }

    pub(super) fn expect_next(&mut self, next_value: NextValue) {
        self.next_value = next_value;
        let ordinary = matches!(next_value, NextValue::Child) && !self.options.none_is_leaf;
        self.plain = ordinary && self.keeping == 0 && self.rules.is_none();
    }
}

/// What a `None` is at the current place.
enum Absence {
    Node,
    /// The option `none_is_leaf` is set.
    Leaf,
    /// As well, and around it is a `Some`, which then needs a node of its own.
    LeafInsideSome,
}

/// An empty vector with the memory of another one, unless that is too large.
fn emptied<T>(vec: &mut Vec<T>) -> Vec<T> {
    vec.clear();
    if vec.capacity() <= MOST_SPARE { mem::take(vec) } else { Vec::new() }
}

/// Values at the current place.
impl Recording {
    #[inline(always)]
    pub(super) fn scalar(&mut self, scalar: Scalar<'_>) -> Result<()> {
        if self.plain && self.leaves.push(scalar) { Ok(()) } else { self.scalar_here(scalar) }
    }

    fn leaf(&mut self, scalar: Scalar<'_>) -> Result<()> {
        if self.leaves.push_other(scalar) { Ok(()) } else { Err(self.wrong_scalar(scalar.kind())) }
    }

    #[inline(never)]
    fn scalar_here(&mut self, scalar: Scalar<'_>) -> Result<()> {
        let next_value = self.next_value;
        self.expect_next(NextValue::Child);
        if let NextValue::Key = next_value {
            self.scalar_key(scalar);
            return Ok(());
        }
        self.last_is_none = matches!(scalar, Scalar::None);
        if self.keeping > 0 {
            self.keep_scalar(scalar);
            return Ok(());
        }
        if self.rules.as_ref().is_some_and(|rules| !rules.is_leaf_kind(scalar.kind())) {
            self.put_static(&Value::from(Leaf::from(scalar)));
            return Ok(());
        }
        self.leaf(scalar)
    }

    /// A node that never has children.
    #[inline(never)]
    pub(super) fn atom(&mut self, head: NodeHead<'static>) -> Result<()> {
        self.arrive(Some(head))?;
        let data = self.unlabelled(head);
        self.builder.open(head.kind, data);
        Ok(())
    }

    /// An absent value.
    pub(super) fn none(&mut self) -> Result<()> {
        match self.absence() {
            Absence::Node => self.atom(NodeHead::new(NodeKind::None)),
            Absence::Leaf => self.scalar(Scalar::None),
            Absence::LeafInsideSome => {
                self.open(NodeHead::new(NodeKind::Some))?;
                self.child(false).scalar(Scalar::None)?;
                self.added()?;
                self.close()
            }
        }
    }

    pub(super) fn unit(&mut self) -> Result<()> {
        match self.absence() {
            Absence::LeafInsideSome => {
                self.open(NodeHead::new(NodeKind::Some))?;
                self.child(false).atom(NodeHead::new(NodeKind::Unit))?;
                self.added()?;
                self.close()
            }
            Absence::Node | Absence::Leaf => self.atom(NodeHead::new(NodeKind::Unit)),
        }
    }

    /// Opens a `Some`. With `none_is_leaf`, the `Some` gets no node unless it is itself inside a
    /// `Some`.
    pub(super) fn open_some(&mut self) -> Result<()> {
        let absence = self.absence();
        if let Absence::Leaf = absence {
            self.expect_next(NextValue::Child);
            self.push(Role::Through, NodeHead::new(NodeKind::Some));
        } else {
            self.open(NodeHead::new(NodeKind::Some))?;
        }
        self.frame.around_some = !matches!(absence, Absence::Node);
        Ok(())
    }

    fn absence(&self) -> Absence {
        match self.next_value {
            NextValue::Key => Absence::Node,
            _ if !self.options().none_is_leaf => Absence::Node,
            NextValue::InsideSome => Absence::LeafInsideSome,
            NextValue::Child => Absence::Leaf,
        }
    }

    /// Opens a newtype or a mark.
    pub(super) fn open_newtype(&mut self, name: &'static str, keep: Option<Keep>) -> Result<()> {
        match keep {
            None => self.open(NodeHead { name, ..NodeHead::new(NodeKind::NewtypeStruct) }),
            // Inside a kept value, a mark changes nothing.
            Some(_) if self.keeping > 0 || matches!(self.next_value, NextValue::Key) => {
                self.arrive(None)?;
                self.descend()?;
                self.push(Role::Through, NodeHead::new(NodeKind::NewtypeStruct));
                self.frame.counts = true;
                Ok(())
            }
            Some(keep) => {
                self.expect_no_failure()?;
                self.begin_keeping(keep, false)
            }
        }
    }

    /// Opens a node with children. The depth is counted here, and in `open_newtype` for marks.
    #[inline(never)]
    pub(super) fn open(&mut self, head: NodeHead<'static>) -> Result<()> {
        self.expect_no_failure()?;
        self.arrive(Some(head))?;
        self.descend()?;
        self.push(Role::Node, head);
        let at = self.builder.open(head.kind, NodeData::NONE);
        let is_map = head.kind == NodeKind::Map;
        let known = self.last_keys.filter(|_| is_map && self.keeping == 0);
        self.maps += usize::from(is_map);
        self.frame.next = at + 1;
        self.frame.counts = true;
        self.frame.known = known.map(|data| KnownData { data, count: 0 });
        self.frame.first_label = if is_map { self.keys.len() } else { self.fields.len() };
        Ok(())
    }

    fn descend(&mut self) -> Result<()> {
        if self.depth >= self.max_depth {
            return Err(call_stack::too_deep(self.max_depth));
        }
        self.depth += 1;
        Ok(())
    }

    pub(super) fn push(&mut self, role: Role, head: NodeHead<'static>) {
        let at = self.builder.nodes.len();
        let NodeHead { kind, name, variant } = head;
        let frame = Frame {
            role,
            kind,
            name,
            variant,
            at,
            next: at,
            first_leaf: self.num_leaves(),
            first_map: self.maps,
            first_insertion: self.insertions.len(),
            watched: self.path.is_some() && self.keeping == 0,
            ..Frame::ROOT
        };
        self.outer.extend_from_slice(slice::from_ref(&self.frame)); // copied once, unlike `push`
        self.frame = frame;
    }

    pub(super) fn pop(&mut self) {
        let Frame { role, counts, owning, .. } = self.frame;
        // Both were added when the frame was pushed.
        self.depth -= usize::from(counts);
        self.keeping -= usize::from(matches!(role, Role::Kept { .. }));
        self.frame = *self.outer.last().unwrap_or(&Frame::ROOT);
        self.outer.pop();
        self.frame.owning |= owning;
    }

    /// Called before a value that is not a scalar. Begins to keep the value if it is a key, or if a
    /// rule about the node says so.
    fn arrive(&mut self, head: Option<NodeHead<'static>>) -> Result<()> {
        if self.plain {
            return Ok(());
        }
        if let NextValue::Key = self.next_value {
            return self.begin_keeping(Keep::Key, true);
        }
        self.expect_next(NextValue::Child);
        match head.and_then(|head| self.rule(head)) {
            Some(keep) => self.begin_keeping(keep, true),
            None => Ok(()),
        }
    }

    /// What the rules about nodes say about this node.
    fn rule(&mut self, head: NodeHead<'static>) -> Option<Keep> {
        let path = self.path.as_ref().filter(|_| self.keeping == 0)?;
        self.rules.as_ref()?.node(head, path, &mut self.hits)
    }
}

/// The children of the innermost open compound.
impl Recording {
    /// Announces the next child. `owning` says whether its type owns something.
    #[inline]
    pub(super) fn child(&mut self, owning: bool) -> &mut Self {
        self.frame.owning |= owning;
        if self.frame.watched || self.frame.around_some {
            self.child_here();
        }
        self
    }

    #[inline(never)]
    fn child_here(&mut self) {
        if self.frame.around_some {
            self.expect_next(NextValue::InsideSome);
        }
        if !self.frame.watched || !matches!(self.frame.role, Role::Node) {
            return;
        }
        let (key, parent) = (self.current_key(), self.frame.head());
        let (Some(path), Some(rules)) = (&mut self.path, &self.rules) else { return };
        path.push(key);
        if let Some(keep) = rules.place(parent, path, &mut self.hits) {
            self.start_keeping(keep, true);
        }
    }

    /// Takes the result of a child.
    #[inline(never)]
    pub(super) fn child_came(&mut self, level: usize, child: Result<()>) -> Result<()> {
        match child {
            Ok(()) => self.added(),
            Err(error) => Err(self.child_failed(level, error)),
        }
    }

    /// Adds the complete child to its parent.
    fn added(&mut self) -> Result<()> {
        // Most children are leaves after another leaf.
        let Frame { role, around_some, watched, next, .. } = self.frame;
        let is_leaf = self.builder.nodes.len() == next;
        if let (Role::Node, false, false, Some(last)) =
            (role, around_some, watched, self.frame.last())
            && let Some(run) = self.builder.nodes.get_mut(last)
            && is_leaf
            && run.kind == NodeKind::Leaf
        {
            run.repeat += 1; // at most the children
            self.frame.count(last);
            return Ok(());
        }
        self.added_here()
    }

    #[inline(never)]
    fn added_here(&mut self) -> Result<()> {
        while let Role::Kept { closes_with_child: true, .. } = self.frame.role {
            self.end_keeping()?;
        }
        let Frame { role, next, around_some, watched, .. } = self.frame;
        if around_some && self.reads_as_none() {
            if self.builder.nodes.len() == next {
                self.builder.open(NodeKind::Leaf, NodeData::NONE);
            }
            self.builder.open(NodeKind::Some, NodeData::NONE);
            self.builder.nodes[next..].rotate_right(1);
            self.builder.close(next, NodeData::NONE)?;
        }
        if !matches!(role, Role::Node) {
            return Ok(());
        }
        if self.builder.nodes.len() == next {
            self.builder.open(NodeKind::Leaf, NodeData::NONE);
        }
        let last = self.builder.join(self.frame.last(), next, 1)?;
        self.frame.count(last);
        self.frame.next = self.builder.nodes.len();
        if watched && let Some(path) = &mut self.path {
            path.pop();
        }
        Ok(())
    }

    pub(super) fn field(&mut self, name: &'static str, owning: bool) -> &mut Self {
        self.fields.push(name);
        self.child(owning)
    }

    /// Announces a key of a map.
    pub(super) fn key(&mut self) -> Result<&mut Self> {
        if mem::replace(&mut self.frame.awaits_value, true) {
            return Err(self.broken("a map's key was followed by another key"));
        }
        self.expect_next(NextValue::Key);
        Ok(self)
    }

    /// Takes the result of a key. The value comes next.
    pub(super) fn key_came(&mut self, key: Result<()>) -> Result<()> {
        match (key, self.frame.role) {
            (Err(error), _) => Err(self.key_failed(error)),
            (Ok(()), Role::Kept { keep: Keep::Key, closes_with_child: true }) => self.end_keeping(),
            _ => Ok(()),
        }
    }

    pub(super) fn value(&mut self, owning: bool) -> Result<&mut Self> {
        if !mem::take(&mut self.frame.awaits_value) {
            return Err(self.broken("a map's value came without its key"));
        }
        Ok(self.child(owning))
    }

    /// Closes the innermost open compound.
    pub(super) fn close(&mut self) -> Result<()> {
        self.expect_no_failure()?;
        if self.frame.awaits_value {
            return Err(self.broken("a map ended after a key"));
        }
        match self.frame.role {
            Role::Node => self.complete(),
            Role::Through => {
                self.pop();
                Ok(())
            }
            Role::Kept { .. } => self.end_keeping(),
        }
    }

    /// Completes a node.
    fn complete(&mut self) -> Result<()> {
        let Frame { at, first_label, known, first_leaf, first_map, first_insertion, .. } =
            self.frame;
        let head = self.frame.head();
        self.pop();
        let mut sorted = None;
        let data = match (head.kind, known) {
            (NodeKind::Map, Some(KnownData { data, count })) => {
                // Keys of known node data are in order, and none of them is on the stack.
                self.last_keys = Some(data);
                self.builder.node_data.intern_first(data, count)
            }
            (NodeKind::Map, None) => {
                if !self.options().insertion {
                    sorted = self.builder.sort_entries(at, &mut self.keys[first_label..]);
                }
                let data = self.builder.node_data.intern_keys(&mut self.keys, first_label);
                self.last_keys = Some(data);
                data
            }
            (NodeKind::Struct | NodeKind::StructVariant, _) => {
                let labels = LabelsRef::Fields(&self.fields[first_label..]);
                let data = NodeDataRef { name: &head.name, variant: &head.variant, labels };
                let data = self.builder.node_data.intern_static(data);
                self.fields.truncate(first_label);
                data
            }
            _ => self.unlabelled(head),
        };
        self.builder.close(at, data)?;
        if let Some(mut sorted) = sorted {
            let moved = mem::take(&mut sorted.leaves);
            if self.keeping == 0 {
                self.leaves.permute(first_leaf, moved);
            } else {
                permute(moved, |a, b| self.kept.swap(first_leaf + a, first_leaf + b));
            }
            for below in &mut self.insertions[first_insertion..] {
                below.map = first_map + 1 + sorted.moved(below.map - first_map - 1);
            }
            self.insertions.push(Insertion { map: first_map, order: sorted.order });
        }
        Ok(())
    }

    /// The node data of a node without labels, which may have a name.
    fn unlabelled(&mut self, NodeHead { kind, name, variant }: NodeHead<'static>) -> usize {
        let data = NodeDataRef { name: &name, variant: &variant, labels: LabelsRef::None };
        if kind.is_named() { self.builder.node_data.intern_static(data) } else { NodeData::NONE }
    }

    /// A scalar key. It often equals the key at the same position of the last map.
    fn scalar_key(&mut self, scalar: Scalar<'_>) {
        if let Some(KnownData { data, count }) = self.frame.known {
            let is_it = |key: &Value| key.as_leaf().and_then(Leaf::as_scalar) == Some(scalar);
            if let Some(data) = self.builder.node_data.with_key(data, count, is_it) {
                self.frame.known = Some(KnownData { data, count: count + 1 });
                return;
            }
        }
        self.other_key(Value::from(Leaf::from(scalar)));
    }

    /// A key that is not known. From here on the keys of the map are on the stack.
    pub(super) fn other_key(&mut self, key: Value) {
        if let Some(KnownData { data, count }) = self.frame.known.take()
            && let Some(Labels::Keys(known)) =
                self.builder.node_data.get(data).map(|data| &data.labels)
        {
            self.keys.extend(known.iter().take(count).cloned());
        }
        self.keys.push(key);
    }
}
