//! What a walk has recorded so far, by *prediction*: the next sibling is expected to look like the last.
//!
//! Every node is walked beside a *template*: the run of equal siblings that was completed last. While they agree nothing
//! is appended, and the outcome is [`Recorded::Same`]: one more repetition. Where they part, the matched beginning is
//! copied from the template and recording goes on from there. So walking uniform data is checking, not recording, and
//! neighbouring runs differ by construction: nobody compares subtrees, with two exceptions that are marked below.
//!
//! # Invariants
//!
//! 1. While a compound matches, nothing of it has been appended, neither nodes nor labels.
//! 2. A template is complete, and stands wholly before what is being recorded.
//! 3. The outcome is `Same` if and only if the node equals its template.
//! 4. The labels of an open compound are the first of a shape that is known, or stand on one of two stacks, `fields` and
//!    `keys`, innermost last.
//! 5. What is kept as one value (a key, a static, an opaque leaf) is recorded behind everything else, without a template,
//!    with its leaves in `kept`; when it is complete it is taken out, and nothing of it is left.

use std::mem;
use std::sync::Arc;

use serde::Serialize;

use crate::builder::{Builder, LabelsRef, ShapeRef, Sorted};
use crate::diff::{structure_differences, structure_mismatch};
use crate::error::{DifferenceKind, Error, ErrorKind, Matched, Mismatch, Result};
use crate::leaf::Scalar;
use crate::model::{
    Arrival, Labels, Leaf, LeafKind, Limits, MAX_KEY_NESTING, Name, NodeKind, Options, Shape, Tree,
    TreeDef, Value,
};
use crate::path::{Key, Path};
use crate::sink::{Sink, permute};
use crate::stack;

use super::rules::{Keep, Rules};
use super::scalar::ScalarTo;
use super::serializer::{Head, Walker};

pub(super) const SWALLOWED: &str = "a `Serialize` implementation swallowed an error and went on";

/// Leaves that a vector may have room for, beyond twice as many as it holds.
const SPARE: usize = 1_024;

pub(super) struct Recording {
    pub(super) builder: Builder,
    pub(super) leaves: Sink,
    /// Leaves of what is being kept.
    kept: Vec<Leaf>,
    /// Values inside each other that are being kept.
    keeping: usize,
    pub(super) fields: Vec<Name>,
    pub(super) keys: Vec<Value>,
    /// The shape whose keys the map had that was recorded last, perhaps only the first of them.
    pub(super) last_keys: Option<usize>,
    /// Maps met so far.
    pub(super) maps: usize,
    pub(super) arrivals: Vec<Arrival>,
    options: Options,
    limits: Limits,
    /// What the limits allow, or the stack.
    pub(super) max_depth: usize,
    /// Elements of sequences may be serialized twice, and mean the same wherever they stand.
    predicts: bool,
    rules: Option<Arc<Rules>>,
    /// Whether each rule applied anywhere.
    hits: Vec<bool>,
    /// The keys that lead to the current place, if a rule may ask for them.
    path: Option<Vec<Key>>,
    /// The leaf that came last is an absent value, or holds one or a unit.
    last_is_none: bool,
    /// Children met so far whose types own something: beside such a child no element is compared as plain data.
    pub(super) owning: usize,
    /// An error went up; whoever swallowed it must not get a tree with a hole.
    pub(super) failed: bool,
}

/// How a node was recorded.
#[derive(Clone, Copy)]
pub(super) enum Recorded {
    /// It equals its template, and nothing was appended.
    Same,
    /// It differs from its template, and starts at this index.
    New(usize),
}

/// The place where one node goes; a [`Walk`](super::serializer::Walk).
pub(super) struct Recorder<'r> {
    pub(super) recording: &'r mut Recording,
    pub(super) template: Option<usize>,
    /// Compounds around this place.
    pub(super) depth: usize,
    /// This is the inside of a `Some` that was left out because `None` is a leaf.
    pub(super) inside_some: bool,
}

/// Where what is being kept begins.
#[derive(Clone, Copy)]
pub(super) struct KeptFrom {
    node: usize,
    leaf: usize,
    map: usize,
    arrival: usize,
}

impl Recording {
    pub(super) fn new(
        leaves: Sink,
        options: Options,
        limits: Limits,
        predicts: bool,
        rules: Option<Arc<Rules>>,
    ) -> Self {
        Recording {
            builder: Builder::default(),
            leaves,
            kept: Vec::new(),
            keeping: 0,
            fields: Vec::new(),
            keys: Vec::new(),
            last_keys: None,
            maps: 0,
            arrivals: Vec::new(),
            options,
            limits,
            max_depth: stack::deepest(limits),
            hits: vec![false; rules.as_ref().map_or(0, |rules| rules.rules.len())],
            path: rules.as_ref().filter(|rules| rules.need_paths()).map(|_| Vec::new()),
            predicts,
            rules,
            last_is_none: false,
            owning: 0,
            failed: false,
        }
    }

    /// Records a whole value. Says which rules applied.
    pub(super) fn record<T: Serialize + ?Sized>(
        mut self,
        value: &T,
    ) -> Result<(TreeDef, Sink, Vec<bool>)> {
        self.builder = Builder::with_room();
        value.serialize(self.root(None))?;
        if self.failed {
            return Err(Error::protocol(SWALLOWED));
        }
        self.arrivals.sort_by_key(|arrival| arrival.map);
        let treedef = self.builder.finish(self.options, self.arrivals, self.limits);
        // Room that was made for elements like the first, if the others were smaller.
        let leaves = self.leaves.leaves_mut();
        leaves.shrink_to(2 * leaves.len() + SPARE);
        Ok((treedef, self.leaves, self.hits))
    }

    /// Walks a value beside a structure that it should have, and gives its leaves.
    ///
    /// The structure is the template of the root; so only what differs is recorded, for the message.
    pub(super) fn record_like<T: Serialize + ?Sized>(
        mut self,
        value: &T,
        treedef: &TreeDef,
        ignore_statics: bool,
    ) -> Result<Sink> {
        self.builder = Builder::on_top_of(&treedef.encoding);
        let recorded = value.serialize(self.root(Some(0)))?;
        self.is_like(recorded, treedef, ignore_statics)?;
        Ok(self.leaves)
    }

    fn is_like(
        &mut self,
        recorded: Recorded,
        treedef: &TreeDef,
        ignore_statics: bool,
    ) -> Result<()> {
        if self.failed {
            return Err(Error::protocol(SWALLOWED));
        }
        let Recorded::New(at) = recorded else { return Ok(()) };
        let found = self.builder.extract(at, Options::default(), Vec::new());
        match structure_differences(treedef, &found, ignore_statics) {
            // Only statics differ; and entries of maps stand in the order of their keys in any case.
            none if none.is_empty() => Ok(()),
            differences => {
                let statics = differences[0].kind == DifferenceKind::Static; // there is one
                let error = structure_mismatch(differences);
                Err(match statics {
                    true => error.hint("statics are part of the structure; see `ignore_statics`"),
                    false => error,
                })
            }
        }
    }

    /// Records a whole value, to be kept as one.
    pub(super) fn record_value<T: Serialize + ?Sized>(mut self, value: &T) -> Result<Value> {
        let from = self.begin_keeping()?;
        value.serialize(self.root(None))?;
        self.end_keeping(from)
    }

    fn root(&mut self, template: Option<usize>) -> Walker<Recorder<'_>> {
        Walker(Recorder { recording: self, template, depth: 0, inside_some: false })
    }

    /// The options of what is being recorded: those of the treedef, but none for what is kept.
    pub(super) fn options(&self) -> Options {
        match self.keeping {
            0 => self.options,
            _ => Options { compact: self.options.compact, ..Options::default() },
        }
    }

    pub(super) fn is_compact(&self) -> bool {
        self.options.compact
    }

    /// The shape whose keys a map may have that has no template. What is kept may have another order of keys.
    pub(super) fn expected_keys(&self) -> Option<usize> {
        self.last_keys.filter(|_| self.keeping == 0)
    }

    /// Whether elements of sequences may be serialized twice, and mean the same wherever they stand.
    pub(super) fn predicts(&self) -> bool {
        self.keeping == 0 && self.predicts
    }

    /// Leaves so far, of what is being kept or else of the whole.
    pub(super) fn num_leaves(&self) -> usize {
        if self.keeping > 0 { self.kept.len() } else { self.leaves.leaves().len() }
    }

    /// Puts the entries of a map into canonical order, with their leaves.
    pub(super) fn sort_entries(
        &mut self,
        at: usize,
        first_key: usize,
        first_leaf: usize,
    ) -> Option<Sorted> {
        let keys = &mut self.keys[first_key..];
        let mut sorted = self.builder.sort_entries(at, keys)?;
        let leaves = mem::take(&mut sorted.leaves);
        match self.keeping {
            0 => {
                let all = self.leaves.leaves_mut();
                permute(leaves, |a, b| all.swap(first_leaf + a, first_leaf + b));
            }
            _ => permute(leaves, |a, b| self.kept.swap(first_leaf + a, first_leaf + b)),
        }
        Some(sorted)
    }

    pub(super) fn begin_keeping(&mut self) -> Result<KeptFrom> {
        if self.keeping >= MAX_KEY_NESTING {
            return Err(ErrorKind::Depth { limit: MAX_KEY_NESTING }.into());
        }
        self.keeping += 1;
        let (node, leaf) = (self.builder.nodes.len(), self.kept.len());
        Ok(KeptFrom { node, leaf, map: self.maps, arrival: self.arrivals.len() })
    }

    pub(super) fn end_keeping(&mut self, from: KeptFrom) -> Result<Value> {
        if self.failed {
            return Err(Error::protocol(SWALLOWED));
        }
        self.keeping -= 1;
        let mut leaves = self.kept.split_off(from.leaf);
        if let [node] = &self.builder.nodes[from.node..]
            && node.kind == NodeKind::Leaf
            && let Some(leaf) = leaves.pop()
        {
            self.builder.nodes.truncate(from.node);
            return Ok(Value::from(leaf));
        }
        let mut arrivals = self.arrivals.split_off(from.arrival);
        arrivals.iter_mut().for_each(|arrival| arrival.map -= from.map);
        arrivals.sort_by_key(|arrival| arrival.map);
        self.maps = from.map;
        let treedef = self.builder.extract(from.node, Options::default(), arrivals);
        Ok(Value::from_tree(Tree::from_parts(treedef.with_limits(self.limits), leaves)))
    }

    /// Whether a rule may ask for the path.
    #[inline]
    pub(super) fn tracks_path(&self) -> bool {
        self.keeping == 0 && self.path.is_some()
    }

    /// Goes down to a child; says what a rule about its place makes of it.
    pub(super) fn descend(&mut self, parent: Head, key: Key) -> Option<Keep> {
        let path = self.path.as_mut()?;
        path.push(key);
        self.rules.as_ref()?.place(parent.seen(), path, &mut self.hits)
    }

    pub(super) fn ascend(&mut self) {
        if let Some(path) = &mut self.path {
            path.pop();
        }
    }

    /// What a rule about the node itself makes of it.
    pub(super) fn rule(&mut self, head: Head) -> Option<Keep> {
        if self.keeping > 0 {
            return None;
        }
        let path = self.path.as_ref()?;
        self.rules.as_ref()?.node(head.seen(), path, &mut self.hits)
    }

    /// The scalar that a template keeps as a static: if it comes again, nothing is allocated.
    fn static_scalar(&self, template: Option<usize>) -> Option<&Leaf> {
        let node = self.builder.nodes.get(template.filter(|_| self.predicts())?)?;
        match &self.builder.shape(node.shape)?.labels {
            Labels::Static(value) => value.as_leaf(),
            _ => None,
        }
    }

    /// Whether a node that was recorded last would read as `None` if an option was asked for: serde's buffers see
    /// through newtypes, and take a unit for `None`.
    pub(super) fn reads_as_none(&self, recorded: Recorded, template: Option<usize>) -> bool {
        let mut node = match (recorded, template) {
            (Recorded::New(node), _) | (Recorded::Same, Some(node)) => node,
            (Recorded::Same, None) => return false,
        };
        let nodes = &self.builder.nodes;
        while nodes[node].kind == NodeKind::NewtypeStruct {
            node += 1;
        }
        match nodes[node].kind {
            NodeKind::Unit | NodeKind::UnitStruct => true,
            NodeKind::Leaf => self.last_is_none,
            NodeKind::Static => {
                match self.builder.shape(nodes[node].shape).map(|shape| &shape.labels) {
                    Some(Labels::Static(value)) => is_nothing(value),
                    _ => false,
                }
            }
            _ => false,
        }
    }

    /// Puts a `Some` around a node that was recorded last.
    pub(super) fn wrap_in_some(
        &mut self,
        recorded: Recorded,
        template: Option<usize>,
    ) -> Result<Recorded> {
        let builder = &mut self.builder;
        let some = builder.open(NodeKind::Some, Shape::NONE);
        let at = match (recorded, template) {
            (Recorded::New(at), _) => {
                builder.nodes[at..].rotate_right(1);
                at
            }
            (Recorded::Same, Some(template)) => {
                let inside = template..template + builder.nodes[template].span;
                builder.nodes.extend_from_within(inside);
                builder.nodes[some + 1].repeat = 1;
                some
            }
            (Recorded::Same, None) => some,
        };
        builder.close(at, Shape::NONE)?;
        match template {
            Some(template) if builder.same(template, at) => {
                builder.nodes.truncate(at);
                Ok(Recorded::Same)
            }
            _ => Ok(Recorded::New(at)),
        }
    }

    pub(super) fn matches(&self, template: usize, head: Head) -> bool {
        let node = &self.builder.nodes[template];
        node.kind == head.kind
            && match self.builder.shape(node.shape) {
                Some(shape) => shape.name == head.name && shape.variant == head.variant,
                None => true,
            }
    }

    /// The shape of a node that may have a name, and has no labels.
    pub(super) fn unlabelled(&mut self, head: Head) -> usize {
        match head.kind.is_named() {
            true => {
                let Head { name, variant, .. } = head;
                let labels = LabelsRef::None;
                self.builder.intern(ShapeRef { name: &name, variant: &variant, labels })
            }
            false => Shape::NONE,
        }
    }
}

impl Recorder<'_> {
    #[inline]
    pub(super) fn scalar(self, scalar: Scalar<'_>) -> Result<Recorded> {
        let recording = &mut *self.recording;
        recording.last_is_none = matches!(scalar, Scalar::None);
        if recording.keeping > 0 {
            recording.kept.push(scalar.into());
            return self.leaf_node();
        }
        if recording.rules.as_ref().is_some_and(|rules| !rules.is_leaf_kind(scalar.kind())) {
            return Ok(self.static_node(Value::from(Leaf::from(scalar))));
        }
        match recording.leaves.push(scalar) {
            true => self.leaf_node(),
            false => Err(expected(recording.leaves.leaves().kind(), scalar.kind())),
        }
    }

    #[inline]
    fn leaf_node(self) -> Result<Recorded> {
        Ok(self.node(Head::new(NodeKind::Leaf)))
    }

    /// Records a node that has no children.
    #[inline]
    pub(super) fn childless(self, head: Head) -> Result<Recorded> {
        match self.recording.rule(head) {
            None => Ok(self.node(head)),
            Some(keep) => {
                let from = self.recording.begin_keeping()?;
                Recorder { template: None, recording: &mut *self.recording, ..self }.node(head);
                let value = self.recording.end_keeping(from)?;
                self.kept(keep, value)
            }
        }
    }

    #[inline]
    fn node(self, head: Head) -> Recorded {
        if let Some(template) = self.template
            && self.recording.matches(template, head)
        {
            return Recorded::Same;
        }
        let shape = self.recording.unlabelled(head);
        Recorded::New(self.recording.builder.open(head.kind, shape))
    }

    /// Records a value as one. Inside of what is kept already, that changes nothing.
    pub(super) fn keeping<T: Serialize + ?Sized>(self, keep: Keep, value: &T) -> Result<Recorded> {
        let Recorder { recording, depth, .. } = self;
        if recording.keeping > 0 {
            if depth >= recording.max_depth {
                return Err(stack::too_deep(recording.max_depth));
            }
            let place = Recorder { recording, depth: depth + 1, ..self };
            return stack::grow!(value.serialize(Walker(place)));
        }
        if keep == Keep::Static
            && let Some(known) = recording.static_scalar(self.template)
            && value
                .serialize(ScalarTo { compact: recording.is_compact(), then: is(known) })
                .is_ok()
        {
            return Ok(Recorded::Same);
        }
        let from = recording.begin_keeping()?;
        let place =
            Recorder { recording: &mut *recording, template: None, depth, inside_some: false };
        stack::grow!(value.serialize(Walker(place)))?;
        let value = recording.end_keeping(from)?;
        Recorder { recording, ..self }.kept(keep, value)
    }

    pub(super) fn kept(self, keep: Keep, value: Value) -> Result<Recorded> {
        match keep {
            Keep::Static => Ok(self.static_node(value)),
            Keep::Leaf => {
                self.recording.last_is_none = is_nothing(&value);
                let leaf = Leaf::from(value);
                let kind = leaf.kind();
                let leaves = self.recording.leaves.leaves_mut();
                match leaves.push_leaf(leaf) {
                    true => self.leaf_node(),
                    false => Err(expected(leaves.kind(), kind)),
                }
            }
        }
    }

    fn static_node(self, value: Value) -> Recorded {
        let builder = &mut self.recording.builder;
        let template =
            self.template.and_then(|template| builder.shape(builder.nodes[template].shape));
        if template
            .is_some_and(|shape| matches!(&shape.labels, Labels::Static(known) if *known == value))
        {
            return Recorded::Same;
        }
        let shape =
            builder.intern(ShapeRef { name: &"", variant: &"", labels: LabelsRef::Static(&value) });
        Recorded::New(builder.open(NodeKind::Static, shape))
    }

    /// Records a map's key.
    pub(super) fn key<T: Serialize + ?Sized>(
        recording: &mut Recording,
        depth: usize,
        key: &T,
    ) -> Result<Value> {
        let from = recording.begin_keeping()?;
        let place =
            Recorder { recording: &mut *recording, template: None, depth, inside_some: false };
        // What leads on inside a key is no way inside the value.
        stack::grow!(key.serialize(Walker(place))).map_err(|error| error.at(Path::root()))?;
        recording.end_keeping(from)
    }
}

/// Whether a scalar is a known one.
fn is(known: &Leaf) -> impl FnOnce(Scalar<'_>) -> Matched<()> {
    move |scalar| if known.as_scalar() == Some(scalar) { Ok(()) } else { Err(Mismatch) }
}

/// Whether a value is an option or a unit, but for newtypes around it.
fn is_nothing(value: &Value) -> bool {
    let mut node = value.root();
    while node.kind() == NodeKind::NewtypeStruct
        && let Some(inside) = node.child(0)
    {
        node = inside;
    }
    let kind = node.kind();
    matches!(kind, NodeKind::None | NodeKind::Some | NodeKind::Unit | NodeKind::UnitStruct)
}

#[cold]
fn expected(expected: LeafKind, found: LeafKind) -> Error {
    let error = Error::from(ErrorKind::LeafKind { expected, found });
    error.hint("mark it `treedef::as_static`, or choose the leaves with `Flattener::leaves_where`")
}
