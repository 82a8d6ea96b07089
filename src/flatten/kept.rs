//! Keys, statics and opaque leaves: values that are kept as a whole during a walk.

use std::mem;
use std::sync::Arc;

use crate::bug::{OrBug, bug};
use crate::error::{Cause, Error, Result};
use crate::leaf::Scalar;
use crate::leaf::sink::Sink;
use crate::model::{Leaf, LeafKind, MAX_KEY_NESTING, NodeKind, Tree, Value};
use crate::path::Key;

use super::labels::LabelStructures;
use super::marks::{Keep, Objects, object_is_kept, object_leaf, put_leaf};
use super::nodes::{Made, is_nothing};
use super::tape::{BeforeLabel, Kept, Tape};
use super::word::{self, ALL_KINDS, Tag, bit};

impl Kept {
    pub(super) fn is_key(&self) -> bool {
        self.keep == Keep::Key
    }
}

impl Tape {
    /// Begins to keep a value. Returns the position of its first word.
    #[inline]
    fn keep(&mut self, at: usize, keep: Keep) -> Result<usize> {
        if self.keeping.values.len() >= MAX_KEY_NESTING {
            return Err(Cause::Depth { limit: MAX_KEY_NESTING }.into());
        }
        if self.keeping.values.is_empty() {
            mem::swap(&mut self.leaves, &mut self.keeping.aside);
        }
        self.keeping.values.push(Kept {
            keep,
            at,
            word: self.drivers.recorder.words.len(),
            leaf: self.leaves.len(),
            accepts: self.accepts,
            pending: mem::take(&mut self.drivers.pending),
        });
        self.accepts.leaves = ALL_KINDS;
        Ok(self.drivers.recorder.position())
    }

    /// A label that is not a scalar begins.
    pub(super) fn keep_label(&mut self, at: usize) -> Result<usize> {
        match self.keeping.before_label.take() {
            Some(BeforeLabel { keep, accepts }) => {
                self.accepts = accepts;
                self.keep(at, keep)
            }
            None => Ok(at),
        }
    }

    /// A key or a static comes next.
    fn expect_label(&mut self, keep: Keep) {
        let accepts = mem::take(&mut self.accepts);
        self.keeping.before_label = Some(BeforeLabel { keep, accepts });
    }

    /// A key comes next. Returns how many values are being kept.
    pub(super) fn expect_key(&mut self) -> usize {
        if self.failed.is_none() {
            self.expect_label(Keep::Key);
        }
        self.keeping.values.len()
    }

    /// Takes the result of a key, which began when `outer` values were being kept.
    pub(super) fn key_came(&mut self, outer: usize, at: usize) -> Result<usize> {
        if self.keeping.values.len() == outer { Ok(at) } else { self.end_keeping(at) }
    }

    /// The meaning of a newtype of this name in this walk, if it is a mark.
    pub(super) fn mark(&self, name: &str) -> Option<Keep> {
        Keep::marked_by(name).map(|keep| keep.among(self.settings.objects))
    }

    /// Opens a newtype or a mark.
    pub(super) fn open_newtype(
        &mut self,
        at: usize,
        name: &'static str,
        mark: Option<Keep>,
    ) -> Result<usize> {
        let Some(keep) = mark else { return self.open(at, NodeKind::NewtypeStruct, name) };
        if keep == Keep::Object {
            return self.open_object(at);
        }
        // Inside a kept value, a mark changes nothing.
        if self.is_keeping() || self.keeping.before_label.is_some() || self.failed.is_some() {
            return self.descend(at);
        }
        if keep == Keep::Static {
            self.expect_label(keep);
            return Ok(at);
        }
        self.keep(at, keep)
    }

    /// Takes the result of the child of a newtype or a mark.
    pub(super) fn close_newtype(
        &mut self,
        child: Result<usize>,
        mark: Option<Keep>,
    ) -> Result<usize> {
        let at = match child {
            Ok(at) => at,
            Err(error) if mark.is_some() => return Err(error),
            Err(error) => return Err(self.child_failed(Some(Key::Position(0)), error)),
        };
        if mark == Some(Keep::Object) {
            self.close_object();
            return Ok(at);
        }
        match (mark, self.keeping.values.last()) {
            // Its own mark keeps it: a mark inside of it would accept fewer levels.
            (Some(_), Some(kept))
                if !kept.is_key() && kept.accepts.levels == self.accepts.levels =>
            {
                self.end_keeping(at)
            }
            // The static was a scalar.
            (Some(Keep::Static), None) if !self.keeping.whole => Ok(at),
            _ => {
                self.ascend();
                Ok(at)
            }
        }
    }

    /// The number of an object comes next, the only scalar that is a leaf.
    #[cold]
    fn open_object(&mut self, at: usize) -> Result<usize> {
        if self.failed.is_some() {
            return Err(self.swallowed(true));
        }
        if self.is_keeping() || self.keeping.before_label.is_some() {
            return Err(object_is_kept());
        }
        if self.settings.objects == Objects::None {
            return Err(Error::protocol("an object came in a walk that takes none"));
        }
        self.accepts.leaves = bit(LeafKind::F64);
        Ok(at)
    }

    #[cold]
    fn close_object(&mut self) {
        self.accepts.leaves = 0;
        if self.settings.objects == Objects::AmongLeaves
            && self.failed.is_none()
            && let Sink::Leaves(leaves) = &mut self.leaves
        {
            self.accepts.leaves = ALL_KINDS;
            let object = leaves.pop().map(object_leaf); // the number came
            leaves.extend(object);
        }
    }

    /// Whether the current value is part of one that is kept.
    pub(super) fn is_keeping(&self) -> bool {
        self.keeping.whole || !self.keeping.values.is_empty()
    }

    /// Takes the complete value off the tape, and puts it in its place. Returns the position behind
    /// it.
    #[inline(never)]
    fn end_keeping(&mut self, at: usize) -> Result<usize> {
        self.count_leaves(at);
        let Some(kept) = self.keeping.values.pop() else { return Ok(at) }; // the walk has failed
        let expected = self.expected_label(&kept);
        let value = self.take_off(kept.word, kept.leaf, expected);
        let Kept { keep, at, word, accepts, pending, .. } = kept;
        self.drivers.recorder.words.truncate(word);
        if self.keeping.values.is_empty() {
            mem::swap(&mut self.leaves, &mut self.keeping.aside);
        }
        (self.accepts, self.drivers.pending) = (accepts, pending);
        let tag = match keep {
            Keep::Key => word::KEY,
            Keep::Static => word::STATIC,
            Keep::Leaf | Keep::Object => return self.put_opaque(at, value?),
        };
        match value? {
            Recorded::Scalar(leaf) => match leaf.as_scalar() {
                Some(scalar) => Ok(self.label(at, tag, scalar)),
                None => Err(bug!("a kept value has an opaque leaf")),
            },
            Recorded::Known(number) => Ok(self.put_label(at, tag, number)),
            Recorded::Compound(value) => {
                let number = self.drivers.recorder.labels.compound(tag, value);
                Ok(self.put_label(at, tag, number))
            }
        }
    }

    /// What was recorded from a word and a leaf on, which may be the label of that number.
    fn take_off(&mut self, word: usize, leaf: usize, expected: Option<usize>) -> Result<Recorded> {
        let Sink::Leaves(leaves) = &mut self.leaves else {
            return Err(bug!("a kept value has other leaves"));
        };
        let recorder = &mut self.drivers.recorder;
        let words = recorder.words.get(word..).or_bug();
        if let [only] = words
            && only.tag() == word::LEAVES
            && let Some(leaf) = leaves.pop()
        {
            return Ok(Recorded::Scalar(leaf));
        }
        let own = leaves.get(leaf..).or_bug();
        if let Some(structure) = recorder.labels.structures.get(words) {
            if let Some(number) = expected
                && recorder.labels.is_compound(number, structure, own)
            {
                leaves.truncate(leaf);
                return Ok(Recorded::Known(number));
            }
            let structure = Arc::clone(structure);
            let own = leaves.split_off(leaf.min(leaves.len()));
            return Ok(Recorded::Compound(Value::compound(structure, own.into())));
        }
        let mut own = leaves.split_off(leaf.min(leaves.len()));
        let Made { treedef, swaps } = recorder.made_from(word)?;
        let words = recorder.words.get(word..).or_bug();
        swaps.iter().for_each(|swap| swap.apply(&mut own)); // its leaves
        let treedef = treedef.with_limits(self.settings.limits);
        if !LabelStructures::takes(words) {
            return Ok(Recorded::Compound(Value::from_tree(Tree::from_parts(treedef, own))));
        }
        let labels = &mut recorder.labels;
        let known = expected.and_then(|number| labels.shared(number, &treedef)).cloned();
        let structure = known.unwrap_or_else(|| Arc::new(treedef));
        labels.structures.add(words, Arc::clone(&structure));
        Ok(Recorded::Compound(Value::compound(structure, own.into())))
    }

    /// The number of the label that is expected in the place of a key or a static.
    fn expected_label(&self, kept: &Kept) -> Option<usize> {
        let at = kept.at + usize::from(kept.pending > 0); // behind the count of the leaves before it
        let expected = self.drivers.follower.word(at)?;
        (kept.keep != Keep::Leaf && expected.has_label()).then(|| expected.number())
    }

    /// A value that is recorded as a whole.
    pub(super) fn whole(&mut self, at: usize) -> Result<Value> {
        self.count_leaves(at);
        self.check_end();
        match self.take_off(0, 0, None)? {
            Recorded::Scalar(leaf) => Ok(leaf.into()),
            Recorded::Compound(value) => Ok(value),
            Recorded::Known(_) => Err(bug!("a whole value is no label")),
        }
    }

    /// A scalar that is a label.
    pub(super) fn scalar_label(&mut self, at: usize, scalar: Scalar<'_>) -> usize {
        match self.keeping.before_label.take() {
            Some(BeforeLabel { keep, accepts }) => {
                self.accepts = accepts;
                self.label(at, if keep == Keep::Key { word::KEY } else { word::STATIC }, scalar)
            }
            None => self.label(at, word::STATIC, scalar),
        }
    }

    /// Writes a scalar that is a key or a static.
    fn label(&mut self, at: usize, tag: Tag, scalar: Scalar<'_>) -> usize {
        let at = self.count_leaves(at);
        let labels = &mut self.drivers.recorder.labels;
        if let Some(number) = self.drivers.follower.label(at, tag)
            && (labels.is(number, scalar) || self.drivers.follower.overlooks(tag))
        {
            labels.last = number;
            return at + 1; // it is in range
        }
        let number = if tag == word::KEY { labels.key(scalar) } else { labels.scalar(scalar) };
        self.write_label(at, tag, number)
    }

    fn put_label(&mut self, at: usize, tag: Tag, number: usize) -> usize {
        let at = self.count_leaves(at);
        let follower = &self.drivers.follower;
        if let Some(expected) = follower.label(at, tag)
            && (expected == number || follower.overlooks(tag))
        {
            self.drivers.recorder.labels.last = expected;
            return at + 1; // it is in range
        }
        self.write_label(at, tag, number)
    }

    /// The number of the last key or static.
    pub(super) fn last_label(&self) -> usize {
        self.drivers.recorder.labels.last
    }

    fn put_opaque(&mut self, at: usize, value: Recorded) -> Result<usize> {
        let (leaf, tag) = match value {
            Recorded::Scalar(leaf) => (leaf, None),
            Recorded::Compound(value) if is_nothing(&value) => {
                (value.into(), Some(word::OPAQUE_NOTHING))
            }
            Recorded::Compound(value) => (value.into(), Some(word::OPAQUE)),
            Recorded::Known(_) => return Err(bug!("a leaf is no label")),
        };
        put_leaf(&mut self.leaves, leaf, "a mark")?;
        match tag {
            Some(tag) => Ok(self.emit(at, tag, "")),
            None => {
                self.drivers.pending += 1; // at most the leaves
                Ok(at)
            }
        }
    }
}

/// The record of a value that is kept.
enum Recorded {
    Scalar(Leaf),
    /// The number of its label.
    Known(usize),
    Compound(Value),
}
