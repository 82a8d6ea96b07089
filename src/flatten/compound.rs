//! Nodes with children: matched against the template for as long as they agree, recorded from there on.

use std::mem;

use serde::Serialize;

use crate::builder::{LabelsRef, ShapeRef};
use crate::error::{Error, ErrorKind, Result};
use crate::leaf::Scalar;
use crate::model::{Arrival, Labels, Leaf, Name, Node, NodeKind, Shape, Value};
use crate::path::Key;
use crate::stack;

use super::matching::BELIEVED;
use super::recording::{KeptFrom, Recorded, Recorder, Recording, SWALLOWED};
use super::rules::Keep;
use super::scalar::ScalarTo;
use super::serializer::{Entries, Fields, Head, Siblings, Walker};

/// An open node with children.
pub(super) struct Compound<'r> {
    pub(super) recording: &'r mut Recording,
    head: Head,
    template: Option<usize>,
    progress: Progress,
    /// A shape whose first labels, so many, are those that this node has so far. Without one they stand on the stack,
    /// from `first_label` on.
    known: Option<(usize, usize)>,
    depth: usize,
    pub(super) children: usize,
    pub(super) guesses: Guesses,
    /// A map's key was recorded, and its value not yet.
    awaits_value: bool,
    /// A rule says that the node is kept as one value, from here on, in a place with that template.
    keep: Option<Box<(Keep, KeptFrom, Option<usize>)>>,
    /// Where this node's own begin.
    first_leaf: usize,
    first_map: usize,
    first_arrival: usize,
    first_label: usize,
}

/// How often the next child was expected to equal the last, and did, and did not.
#[derive(Default)]
pub(super) struct Guesses {
    pub(super) right: usize,
    pub(super) wrong: usize,
}

impl Guesses {
    pub(super) fn pay(&self) -> bool {
        4 * self.wrong <= self.right.saturating_add(4)
    }
}

enum Progress {
    /// All so far equals the template.
    Matching(Matching),
    /// The node starts at `at`, and `last` is its last run of children.
    Recording { at: usize, last: Option<usize> },
}

#[derive(Clone, Copy)]
struct Matching {
    template: usize,
    /// Where the template's children end.
    end: usize,
    /// The run of children that is expected next, or `end`; `done` of it have passed.
    run: usize,
    done: usize,
    /// The run before `run`, unless that is the first.
    previous: Option<usize>,
}

impl Matching {
    /// Lets so many pass of the run that is expected next; at most those that are left of it.
    #[inline]
    fn pass(&mut self, expected: Node, count: usize) {
        self.done += count;
        if self.done == expected.repeat {
            self.previous = Some(self.run);
            self.run += expected.span;
            self.done = 0;
        }
    }
}

impl<'r> Recorder<'r> {
    /// Opens a node with children. Every compound passes here, so here the depth is counted.
    pub(super) fn compound(self, head: Head) -> Result<Compound<'r>> {
        let Recorder { recording, template, depth, .. } = self;
        if recording.failed {
            return Err(Error::protocol(SWALLOWED));
        }
        if depth >= recording.max_depth {
            return Err(stack::too_deep(recording.max_depth));
        }
        let keep = match recording.rule(head) {
            None => None,
            Some(keep) => Some(Box::new((keep, recording.begin_keeping()?, template))),
        };
        let template = template.filter(|_| keep.is_none());
        let (first_map, is_map) = (recording.maps, head.kind == NodeKind::Map);
        recording.maps += usize::from(is_map);
        let (progress, known) = match template {
            Some(template) if recording.matches(template, head) => {
                let Node { span, shape, .. } = recording.builder.nodes[template];
                let (end, run) = (template + span, template + 1);
                let matching = Matching { template, end, run, done: 0, previous: None };
                (Progress::Matching(matching), Some(shape))
            }
            _ => {
                let at = recording.builder.open(head.kind, Shape::NONE);
                let known = recording.expected_keys().filter(|_| is_map);
                (Progress::Recording { at, last: None }, known)
            }
        };
        let first_label = if is_map { recording.keys.len() } else { recording.fields.len() };
        Ok(Compound {
            head,
            template,
            progress,
            known: known.map(|shape| (shape, 0)),
            depth: depth + 1,
            children: 0,
            guesses: Guesses::default(),
            awaits_value: false,
            keep,
            first_leaf: recording.num_leaves(),
            first_map,
            first_arrival: recording.arrivals.len(),
            first_label,
            recording,
        })
    }
}

impl Compound<'_> {
    /// Records the next child; of a struct or map, after its label.
    #[inline]
    pub(super) fn child_in<T: Serialize + ?Sized>(
        &mut self,
        inside_some: bool,
        value: &T,
    ) -> Result<()> {
        if const { mem::needs_drop::<T>() } {
            self.recording.owning += 1;
        }
        let keep = match self.recording.tracks_path() {
            true => self.recording.descend(self.head, self.current_key()),
            false => None,
        };
        let place = self.place();
        let result = match keep {
            None if inside_some => stack::grow!(place.elided_some(value)),
            None => stack::grow!(value.serialize(Walker(place))),
            Some(keep) => place.keeping(keep, value),
        };
        self.add(result)
    }

    /// Closes the node.
    pub(super) fn close(mut self) -> Result<Recorded> {
        if self.recording.failed {
            return Err(Error::protocol(SWALLOWED));
        }
        if self.awaits_value {
            return Err(self.fail(Error::protocol("a map ended after a key")));
        }
        if let Progress::Matching(Matching { run, end, .. }) = self.progress
            && run == end
        {
            return Ok(Recorded::Same);
        }
        let at = self.record();
        let recorded = self.complete(at).map_err(|error| self.fail(error))?;
        let Some((keep, from, template)) = self.keep.map(|keep| *keep) else { return Ok(recorded) };
        let value = self.recording.end_keeping(from)?;
        let depth = self.depth;
        Recorder { recording: self.recording, template, depth, inside_some: false }
            .kept(keep, value)
    }

    /// Where the next child goes.
    #[inline]
    pub(super) fn place(&mut self) -> Recorder<'_> {
        let template = match self.progress {
            Progress::Matching(Matching { run, end, .. }) if run < end => Some(run),
            Progress::Matching(Matching { previous, .. }) => previous,
            Progress::Recording { last, .. } => last,
        };
        Recorder {
            recording: &mut *self.recording,
            template,
            depth: self.depth,
            inside_some: false,
        }
    }

    /// Takes the child that was recorded at the place.
    #[inline]
    pub(super) fn add(&mut self, result: Result<Recorded>) -> Result<()> {
        let recorded = match result {
            Ok(recorded) => recorded,
            Err(error) => return Err(self.fail(error).under(self.current_key())),
        };
        if self.recording.tracks_path() {
            self.recording.ascend();
        }
        let nodes = &mut self.recording.builder.nodes;
        match (&mut self.progress, recorded) {
            (Progress::Matching(matching), Recorded::Same) if matching.run < matching.end => {
                matching.pass(nodes[matching.run], 1);
            }
            (Progress::Matching(_), _) => self.diverge(recorded),
            (Progress::Recording { last, .. }, Recorded::New(node)) => *last = Some(node),
            (Progress::Recording { last, .. }, Recorded::Same) => {
                if let Some(last) = *last {
                    nodes[last].repeat += 1; // at most `children`, which is checked
                }
            }
        }
        self.children =
            self.children.checked_add(1).ok_or_else(|| Error::from(ErrorKind::TooLarge))?;
        Ok(())
    }

    /// The node that the next child is expected to equal, and how many such children can follow. A node that nobody has
    /// seen yet is expected if it is believed to have that many leaves: room is made for them.
    pub(super) fn expected(&self) -> Option<(usize, usize)> {
        if !self.recording.predicts() {
            return None;
        }
        let left = usize::MAX - self.children;
        match self.progress {
            Progress::Recording { last, .. } => last.map(|last| (last, left)),
            Progress::Matching(Matching { run, end, done, .. }) if run < end => {
                let node = &self.recording.builder.nodes[run];
                let believed = BELIEVED.max(self.recording.leaves.leaves().capacity());
                (node.leaves <= believed).then_some((run, node.repeat - done))
            }
            Progress::Matching(_) => None,
        }
    }

    /// Adds so many children that equal the node that was [expected](Self::expected).
    pub(super) fn repeat(&mut self, count: usize) {
        let nodes = &mut self.recording.builder.nodes;
        match &mut self.progress {
            Progress::Matching(matching) => matching.pass(nodes[matching.run], count),
            Progress::Recording { last: Some(last), .. } => nodes[*last].repeat += count,
            Progress::Recording { last: None, .. } => {}
        }
        self.children += count; // at most as many as were left
        self.guesses.right += count; // at most `children`
    }

    /// Compounds that may still stand inside the deepest of a node that is a child here.
    pub(super) fn depth_left(&self, child: usize) -> usize {
        let depth = self.depth.saturating_add(self.recording.builder.nodes[child].depth as usize);
        self.recording.max_depth.saturating_sub(depth)
    }

    /// Parts from the template at a child that it does not have.
    fn diverge(&mut self, child: Recorded) {
        let Recorded::New(child) = child else {
            self.record();
            if let Progress::Recording { last: Some(last), .. } = self.progress {
                self.recording.builder.nodes[last].repeat += 1;
            }
            return;
        };
        // The child stands where this node has to begin: record that behind it, then swap the two.
        let behind = self.record();
        let Progress::Recording { last, .. } = self.progress else { return };
        let builder = &mut self.recording.builder;
        builder.nodes[child..].rotate_left(behind - child);
        let moved = builder.nodes.len() - (behind - child);
        let last = last.map(|last| last - (behind - child));
        // Its template was the next run, not the one that now precedes it; so this has to be compared.
        let last = match last {
            Some(last) if builder.same(last, moved) => {
                builder.nodes.truncate(moved);
                builder.nodes[last].repeat += 1;
                Some(last)
            }
            _ => Some(moved),
        };
        self.progress = Progress::Recording { at: child, last };
    }

    /// Turns from matching to recording: copies what has matched. Says where the node begins.
    fn record(&mut self) -> usize {
        let matching = match self.progress {
            Progress::Matching(matching) => matching,
            Progress::Recording { at, .. } => return at,
        };
        let Matching { template, run, done, previous, .. } = matching;
        let builder = &mut self.recording.builder;
        let at = builder.open(self.head.kind, Shape::NONE);
        builder.nodes.extend_from_within(template + 1..run);
        let mut last = previous.map(|previous| previous - template + at);
        if done > 0 {
            let partial = builder.nodes.len();
            builder.nodes.extend_from_within(run..run + builder.nodes[run].span);
            builder.nodes[partial].repeat = done;
            last = Some(partial);
        }
        self.progress = Progress::Recording { at, last };
        at
    }

    /// Completes a node that was recorded.
    fn complete(&mut self, at: usize) -> Result<Recorded> {
        let Head { kind, name, variant } = self.head;
        let mut sorted = None;
        let is_map = kind == NodeKind::Map;
        // Keys of a known shape are in order, and none of them stands on the stack.
        if is_map && !self.recording.options().insertion {
            sorted = self.recording.sort_entries(at, self.first_label, self.first_leaf);
        }
        let Recording { builder, fields, keys, .. } = &mut *self.recording;
        let shape = match (kind, self.known) {
            (kind, Some((known, labels))) if has_labels(kind) => {
                builder.intern_first(known, labels)
            }
            (NodeKind::Map, _) => builder.intern_keys(keys, self.first_label),
            (NodeKind::Struct | NodeKind::StructVariant, _) => {
                let labels = LabelsRef::Fields(&fields[self.first_label..]);
                let shape = builder.intern(ShapeRef {
                    name: &name.into(),
                    variant: &variant.into(),
                    labels,
                });
                fields.truncate(self.first_label);
                shape
            }
            _ => self.recording.unlabelled(self.head),
        };
        if is_map {
            self.recording.last_keys = Some(self.known.map_or(shape, |(known, _)| known));
        }
        let Recording { builder, arrivals, .. } = &mut *self.recording;
        builder.close(at, shape)?;
        let Some(sorted) = sorted else { return Ok(Recorded::New(at)) };
        for below in &mut arrivals[self.first_arrival..] {
            below.map = self.first_map + 1 + sorted.moved(below.map - self.first_map - 1);
        }
        arrivals.push(Arrival { map: self.first_map, order: sorted.order });
        // Its entries arrived in an order of their own, so it was recorded even if it equals the template.
        match self.template {
            Some(template) if builder.same(template, at) => {
                builder.nodes.truncate(at);
                Ok(Recorded::Same)
            }
            _ => Ok(Recorded::New(at)),
        }
    }

    /// Takes the key of an entry, if it is a scalar; says which one, unless a known shape has it.
    fn scalar_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Option<Option<Leaf>> {
        if !self.recording.predicts() {
            return None; // another kind of key would be asked twice
        }
        let Recording { builder, .. } = &*self.recording;
        let then = |scalar: Scalar<'_>| {
            let is_it = |key: &Value| key.as_leaf().and_then(Leaf::as_scalar) == Some(scalar);
            let known = self.known.and_then(|(shape, keys)| builder.with_key(shape, keys, is_it));
            Ok(known.ok_or_else(|| Leaf::from(scalar)))
        };
        let compact = self.recording.is_compact();
        let found: Result<usize, Leaf> = key.serialize(ScalarTo { compact, then }).ok()?;
        if let (&Ok(shape), Some((known, keys))) = (&found, self.known) {
            if shape != known {
                self.record();
            }
            self.known = Some((shape, keys + 1));
        }
        Some(found.err())
    }

    /// Takes the key of an entry, which may differ from the one that was expected.
    fn other_key(&mut self, key: Value) {
        // Keys that are equal may remember different orders of their own.
        if let Progress::Recording { .. } = self.progress {
            self.own_labels();
        }
        let expected = |labels: &Labels, position: usize| match labels {
            Labels::Keys(keys) => keys.get(position) == Some(&key),
            _ => false,
        };
        if !self.matches_label(expected) {
            self.recording.keys.push(key);
        }
    }

    /// Whether the label at this place is the one that was expected; if not, the node is recorded, with labels of its own.
    #[inline]
    fn matches_label(&mut self, expected: impl FnOnce(&Labels, usize) -> bool) -> bool {
        let Some((shape, labels)) = &mut self.known else { return false };
        let shape = self.recording.builder.shape(*shape);
        if shape.is_some_and(|shape| expected(&shape.labels, *labels)) {
            *labels += 1;
            return true;
        }
        self.record();
        self.own_labels();
        false
    }

    /// Copies the labels so far to the stack.
    fn own_labels(&mut self) {
        let Some((shape, labels)) = self.known.take() else { return };
        let Recording { builder, fields, keys, .. } = &mut *self.recording;
        match builder.shape(shape).map(|shape| &shape.labels) {
            Some(Labels::Fields(known)) => fields.extend(known.iter().take(labels).cloned()),
            Some(Labels::Keys(known)) => keys.extend(known.iter().take(labels).cloned()),
            _ => {}
        }
    }

    fn known_labels(&self) -> Option<(&Labels, usize)> {
        let (shape, labels) = self.known?;
        Some((&self.recording.builder.shape(shape)?.labels, labels))
    }

    /// The key of the child that is being recorded.
    fn current_key(&self) -> Key {
        let position = self.children;
        let variant = || Name::Borrowed(self.head.variant);
        match (self.head.kind, self.current_label()) {
            (NodeKind::Some, _) => Key::Some,
            (NodeKind::Seq, _) => Key::Index(position),
            (NodeKind::Map, Some(Label::Key(key))) => Key::Entry(key),
            (NodeKind::Struct, Some(Label::Field(name))) => Key::Field(name),
            (NodeKind::StructVariant, Some(Label::Field(name))) => {
                Key::VariantField(variant(), name)
            }
            (NodeKind::NewtypeVariant | NodeKind::TupleVariant, _) => {
                Key::VariantPosition(variant(), position)
            }
            _ => Key::Position(position),
        }
    }

    fn current_label(&self) -> Option<Label> {
        if let Some((known, labels)) = self.known_labels() {
            let last = labels.checked_sub(1)?;
            return match known {
                Labels::Fields(fields) => fields.get(last).cloned().map(Label::Field),
                Labels::Keys(keys) => keys.get(last).cloned().map(Label::Key),
                _ => None,
            };
        }
        let current = self.first_label + self.children;
        match self.head.kind {
            NodeKind::Map => self.recording.keys.get(current).cloned().map(Label::Key),
            _ => self.recording.fields.get(current).cloned().map(Label::Field),
        }
    }

    #[cold]
    fn fail(&mut self, error: Error) -> Error {
        self.recording.failed = true;
        error
    }
}

impl Siblings for Compound<'_> {
    type Ok = Recorded;
    type Error = Error;

    #[inline]
    fn child<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.child_in(false, value)
    }

    #[inline]
    fn end(self) -> Result<Recorded> {
        self.close()
    }
}

impl Fields for Compound<'_> {
    type Ok = Recorded;
    type Error = Error;

    #[inline]
    fn field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<()> {
        let expected = |labels: &Labels, position: usize| match labels {
            Labels::Fields(fields) => fields.get(position).is_some_and(|field| field == name),
            _ => false,
        };
        if !self.matches_label(expected) {
            self.recording.fields.push(Name::Borrowed(name));
        }
        self.child_in(false, value)
    }

    #[inline]
    fn end(self) -> Result<Recorded> {
        self.close()
    }
}

impl Entries for Compound<'_> {
    type Ok = Recorded;
    type Error = Error;

    fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<()> {
        if self.awaits_value {
            return Err(self.fail(Error::protocol("a map's key was followed by another key")));
        }
        match self.scalar_key(key) {
            Some(None) => {}
            Some(Some(scalar)) => self.other_key(Value::from(scalar)),
            None => {
                let key = Recorder::key(&mut *self.recording, self.depth, key)
                    .map_err(|error| self.fail(error))?;
                self.other_key(key);
            }
        }
        self.awaits_value = true;
        Ok(())
    }

    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        if !self.awaits_value {
            return Err(self.fail(Error::protocol("a map's value came without its key")));
        }
        self.child_in(false, value)?;
        self.awaits_value = false;
        Ok(())
    }

    fn end(self) -> Result<Recorded> {
        self.close()
    }
}

/// Whether nodes of a kind have fields or keys.
fn has_labels(kind: NodeKind) -> bool {
    matches!(kind, NodeKind::Map | NodeKind::Struct | NodeKind::StructVariant)
}

enum Label {
    Field(Name),
    Key(Value),
}
