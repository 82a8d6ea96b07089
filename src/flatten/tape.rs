//! The state of a walk: it takes the calls that serde makes for a value.
//!
//! Nothing here depends on the type of the value. serde's side is the [serializer](super::serializer).
//!
//! # Invariants
//!
//! 1. There is a word for each serde call that is not a scalar, and for each end of a compound with any
//!    number of children. A leaf that is a scalar is only counted: the next word says how many came.
//! 2. Each call gets a position and returns the next one, which is an index of the script or behind the record:
//!    [`drivers`](super::drivers) compare or write the word there.
//! 3. A key, a static and a subtree that is a leaf are recorded apart: [`captures`](super::captures).
//! 4. The nodes of a long sequence are made early, and its words are forgotten: [`recorder`](super::recorder).
//! 5. After an error nothing is followed or recorded, and [`Accepts`] is zero. It is also zero
//!    while a key or a static is expected.
//!
//! # At an error
//!
//! `(1.0, vec!["x"])` is flattened into floats. A text is no float, so its call returns an error. serde returns it
//! from each call around it, and on the way out each compound adds the key of its child:
//!
//! ```text
//!                                  keys      script and record
//! the text is refused              -         as they were
//! the sequence returns the error   [0]       no script is installed, no sequence open
//! the tuple returns it             [0], .1   the same
//! the walk ends                    the error is at `.1[0]`
//! ```
//!
//! The keys are in the tape and not in the error, because an implementation may return another error than the one
//! it got. The labels stay, because the path may need the key of an entry, which is a label. A `Serialize` implementation
//! may ignore the error and go on. Then the next call is an error as well, because nothing is accepted any more, and the
//! path leads to the compound that ignored it.

use std::{fmt, mem};

use crate::bug::bug;
use crate::call_stack;
use crate::calls::text_of;
use crate::error::{Cause, Error, Result};
use crate::leaf::Scalar;
use crate::leaf::object::{Objects, OuterObjects};
use crate::leaf::sink::Sink;
use crate::model::{Leaf, LeafKind, Limits, MAX_KEY_NESTING, NodeKind, Options, Value, Word};
use crate::path::Key;

use super::captures::{Accepts, Capture, Captures, NextLabel};
use super::drivers::{Drivers, is_recorded};
use super::fast::rows::{Progress, Row, Rows, SeqState};
use super::labels::is_nothing;
use super::marks::{Role, captured_object, object_leaf, put_leaf, wrong_scalar};
use super::recorder::CapturedValue;
use super::script::Memory;
use super::word::{self, ALL_KINDS, KindSet, Tag, bit};

const SWALLOWED: &str = "a `Serialize` implementation swallowed an error and went on";

/// The state of a walk. Its memory stays with the thread between walks. At the end of one, [`clear`](Self::clear)
/// forgets the value. What stays are the structures that are expected again, and numbers that the next walk sets before
/// it reads them, or only compares with later ones.
#[derive(Default)]
pub(super) struct Tape {
    pub(super) drivers: Drivers,
    pub(super) leaves: Sink,
    /// What the next value may be: nothing if a label comes next, and after a failure.
    pub(super) accepts: Accepts,
    pub(super) settings: Settings,
    pub(super) captures: Captures,
    pub(super) rows: Rows,
    pub(super) failure: Option<Box<Failure>>,
    pub(super) memory: Memory,
    pub(super) outer: OuterObjects,
}

/// The options of a walk.
#[derive(Default)]
pub(super) struct Settings {
    pub(super) options: Options,
    pub(super) limits: Limits,
    /// The kinds of scalars that are leaves. The others become static.
    pub(super) takes: KindSet,
    pub(super) objects: Objects,
    /// Elements of sequences may be serialized twice.
    pub(super) predicts: bool,
    /// The words are stored if the value is like a treedef.
    pub(super) is_like: bool,
}

impl Settings {
    /// A walk without rules.
    pub(super) fn new(options: Options, limits: Limits) -> Self {
        Settings { options, limits, takes: ALL_KINDS, predicts: true, ..Settings::default() }
    }
}

/// The known part of the path of the first error.
///
/// If a `Serialize` implementation ignores the error, the walk must still fail, because the tree
/// has a hole.
#[derive(Default)]
pub(super) struct Failure {
    /// The keys that lead to the place, the innermost first, as far as the error has come.
    pub(super) keys: Vec<Key>,
    /// The last compound that the error came out of is a `Some`.
    pub(super) in_some: bool,
    /// The next compound is the place: it ignored an error and went on.
    pub(super) went_on: bool,
}

impl Tape {
    /// Counts the values whose type needs to be dropped. No [row](super::fast::rows) is tried after an element with
    /// such a value: it might give its content away only once.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn count_owning(&mut self, owning: bool) {
        self.rows.owning = self.rows.owning.wrapping_add(usize::from(owning));
    }

    /// Writes a word, or follows it.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn emit(&mut self, at: usize, tag: Tag, name: &'static str) -> usize {
        match self.drivers.follow(at, tag, name) {
            Some(next) => next,
            None => self.record(at, tag, name),
        }
    }

    /// The same for the last word of a value, which is an error after a failure.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn emit_last(&mut self, at: usize, tag: Tag, name: &'static str) -> Result<usize> {
        match self.drivers.follow(at, tag, name) {
            Some(next) => Ok(next),
            None => self.record_last(at, tag, name),
        }
    }

    #[cold]
    #[inline(never)]
    fn record_last(&mut self, at: usize, tag: Tag, name: &'static str) -> Result<usize> {
        if self.failure.is_some() {
            return Err(self.swallowed(tag != word::CLOSE));
        }
        let leaves = mem::take(&mut self.drivers.pending);
        Ok(self.write(at, Word::new(tag, name, leaves)))
    }

    #[cold]
    #[inline(never)]
    fn record(&mut self, at: usize, tag: Tag, name: &'static str) -> usize {
        let leaves = mem::take(&mut self.drivers.pending);
        self.write(at, Word::new(tag, name, leaves))
    }

    /// Records a word that is not the expected one.
    #[inline(always)] // most that are recorded come after others
    fn write(&mut self, at: usize, word: Word) -> usize {
        if is_recorded(at) && self.failure.is_none() {
            return self.drivers.recorder.write(word);
        }
        self.write_first(at, word)
    }

    /// Records the first word that is not the expected one.
    #[inline(never)]
    fn write_first(&mut self, at: usize, word: Word) -> usize {
        if self.failure.is_some() {
            return at;
        }
        if at == 0 && self.expects_other(word) {
            return 1;
        }
        self.drivers.diverge(at);
        self.drivers.recorder.write(word)
    }

    /// At its first word, and only there, a walk may change to the script of another structure that the thread remembers.
    fn expects_other(&mut self, first: Word) -> bool {
        let Tape { drivers, memory, settings, .. } = self;
        // A label has a number of another script.
        if drivers.follower.known.is_none() || first.has_label() {
            return false;
        }
        let other = memory.begins_with(settings.options, first).cloned();
        let is_expected = other.is_some();
        if is_expected {
            drivers.install(other);
        }
        is_expected
    }

    /// Writes a label that is not the expected one, by its number.
    pub(super) fn write_label(&mut self, at: usize, tag: Tag, number: usize) -> usize {
        self.drivers.recorder.labels.last = number;
        self.write(at, Word::new(tag, "", number as u64))
    }

    /// Writes down the leaves since the last word, if there are any.
    pub(super) fn count_leaves(&mut self, at: usize) -> usize {
        match self.drivers.pending {
            0 => at,
            _ if is_recorded(at) => self.record(at, word::LEAVES, ""),
            _ => self.emit(at, word::LEAVES, ""),
        }
    }
}

/// A float that is a leaf of the next slot is pushed here; all else is done out of line.
macro_rules! floats {
    ($($type:ident $kind:ident),*) => {$(
        #[cfg_attr(not(debug_assertions), inline(always))]
        pub(super) fn $type(&mut self, at: usize, value: $type) -> Result<usize> {
            let is_leaf = self.accepts.leaves & bit(LeafKind::$kind) != 0;
            match &mut self.leaves {
                Sink::$kind(leaves) if is_leaf && leaves.len() < leaves.capacity() => {
                    leaves.push(value);
                }
                Sink::Leaves(leaves) if is_leaf && leaves.len() < leaves.capacity() => {
                    leaves.push(Leaf::$kind(value));
                }
                _ => {
                    return match self.other_float(at, Scalar::$kind(value)) {
                        Ok(()) => Ok(self.captures.after_float),
                        Err(error) => Err(error),
                    };
                }
            }
            self.drivers.pending += 1; // at most the leaves
            Ok(at)
        }
    )*};
}

/// Values at a position.
impl Tape {
    floats! { f64 F64, f32 F32 }

    /// The position behind the float is not in the result: there it would be tested after each float, which takes
    /// a tenth more for `net`, and half more for floats that are serialized one by one.
    #[cold]
    #[inline(never)]
    fn other_float(&mut self, at: usize, scalar: Scalar<'_>) -> Result<()> {
        self.captures.after_float = self.scalar(at, scalar)?;
        Ok(())
    }

    #[inline(always)] // callers know the kind
    pub(super) fn scalar(&mut self, at: usize, scalar: Scalar<'_>) -> Result<usize> {
        if self.accepts.leaves & bit(scalar.kind()) != 0
            && let Sink::Leaves(leaves) = &mut self.leaves
            && leaves.len() < leaves.capacity()
        {
            leaves.push(Leaf::from(scalar));
            self.drivers.pending += 1; // at most the leaves
            return Ok(at);
        }
        self.scalar_here(at, scalar)
    }

    #[inline(never)]
    fn scalar_here(&mut self, at: usize, scalar: Scalar<'_>) -> Result<usize> {
        if self.failure.is_some() {
            return Err(self.swallowed(true));
        }
        if self.accepts.leaves & bit(scalar.kind()) == 0 {
            return Ok(self.scalar_label(at, scalar));
        }
        self.rows.last_kind = Some(scalar.kind());
        if self.leaves.push(scalar) {
            self.drivers.pending += 1; // at most the leaves
            return Ok(at);
        }
        Err(self.wrong_scalar(scalar.kind()))
    }

    pub(super) fn display(&mut self, at: usize, value: fmt::Arguments<'_>) -> Result<usize> {
        match text_of(value) {
            Some(text) => self.scalar(at, Scalar::Str(&text)),
            None => Err(Error::protocol("a `Display` implementation failed")),
        }
    }

    /// A node that never has children.
    #[inline(never)]
    pub(super) fn atom(&mut self, at: usize, kind: NodeKind, name: &'static str) -> Result<usize> {
        let at = self.capture_label(at)?;
        self.emit_last(at, kind as Tag, name)
    }

    #[inline(never)]
    pub(super) fn unit_variant(
        &mut self,
        at: usize,
        name: &'static str,
        variant: &'static str,
    ) -> Result<usize> {
        let at = self.capture_label(at)?;
        let at = self.emit(at, word::VARIANT, variant);
        self.emit_last(at, NodeKind::UnitVariant as Tag, name)
    }

    /// An absent value.
    pub(super) fn none(&mut self, at: usize) -> Result<usize> {
        let is_leaf = self.settings.options.none_is_leaf && !self.captures.is_inside();
        if is_leaf
            && self.captures.next_label.is_none()
            && self.failure.is_none()
            && !self.leaves.push(Scalar::None)
        {
            return Err(self.wrong_scalar(LeafKind::None));
        }
        self.atom(at, NodeKind::None, "")
    }

    /// Opens a node with children.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn open(&mut self, at: usize, kind: NodeKind, name: &'static str) -> Result<usize> {
        if kind == NodeKind::Map {
            self.drivers.recorder.labels.begin_map();
        }
        match self.descend(at) {
            Ok(at) => Ok(self.emit(at, kind as Tag, name)),
            Err(error) => Err(error),
        }
    }

    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn open_variant(
        &mut self,
        at: usize,
        kind: NodeKind,
        name: &'static str,
        variant: &'static str,
    ) -> Result<usize> {
        match self.descend(at) {
            Ok(at) => {
                let at = self.emit(at, word::VARIANT, variant);
                Ok(self.emit(at, kind as Tag, name))
            }
            Err(error) => Err(error),
        }
    }

    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn descend(&mut self, at: usize) -> Result<usize> {
        match self.accepts.levels.checked_sub(1) {
            Some(levels) => {
                self.accepts.levels = levels;
                Ok(at)
            }
            None => self.no_room(at),
        }
    }

    /// A compound is a label, or there are too many levels, or the walk has failed.
    #[cold]
    #[inline(never)]
    fn no_room(&mut self, at: usize) -> Result<usize> {
        if self.failure.is_some() {
            return Err(self.swallowed(true));
        }
        if self.captures.next_label.is_none() {
            return Err(call_stack::too_deep(call_stack::deepest(self.settings.limits)));
        }
        let at = self.capture_label(at)?;
        self.descend(at)
    }

    /// Closes a compound that has any number of children.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn close(&mut self, at: usize) -> Result<usize> {
        self.ascend();
        self.emit_last(at, word::CLOSE, "")
    }

    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn ascend(&mut self) {
        self.accepts.levels += 1; // it was taken when the compound was opened
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn field(&mut self, at: usize, name: &'static str) -> usize {
        self.emit(at, word::FIELD, name)
    }

    /// A map makes its calls in another order than serde says.
    #[cold]
    pub(super) fn broken(&mut self, what: &'static str) -> Error {
        self.compound_failed(Error::protocol(what))
    }

    pub(super) fn wrong_scalar(&mut self, found: LeafKind) -> Error {
        let expected = self.leaves.kind();
        wrong_scalar(expected, found)
    }
}

/// The elements of a sequence.
impl Tape {
    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn open_seq(&mut self, at: usize) -> Result<usize> {
        match self.open(at, NodeKind::Seq, "") {
            Ok(at) => {
                self.drivers.open_seq(at);
                self.rows.last_kind = None; // it is not that of an element
                Ok(at)
            }
            Err(error) => Err(error),
        }
    }

    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn close_seq(&mut self, at: usize) -> Result<usize> {
        let at = self.drivers.close_seq(at);
        self.close(at)
    }

    /// An element came that is not a leaf. Returns where the next one begins.
    #[inline(never)]
    pub(super) fn element(&mut self, at: usize) -> usize {
        match self.drivers.followed_element(at) {
            Some(at) => at,
            None => self.other_element(at),
        }
    }

    #[inline(never)]
    fn other_element(&mut self, at: usize) -> usize {
        let at = self.count_leaves(at);
        let at = self.drivers.element(at);
        if self.drivers.recorder.has_many_words() { self.make_early(at) } else { at }
    }

    /// Makes nodes before the value ends, unless the words are still needed: as a script for `flatten_like`, inside
    /// a key, static or opaque leaf, or to check an element that was serialized twice.
    #[inline(never)]
    fn make_early(&mut self, at: usize) -> usize {
        if !self.makes_early() || self.rows.checks > 0 {
            return at;
        }
        self.drivers.recorder.make_early(self.settings.options)
    }

    /// Whether the words of elements may be forgotten.
    fn makes_early(&self) -> bool {
        !self.settings.is_like && !self.captures.is_inside()
    }

    /// A row for elements that look like the last one, if a row is worth a try. `owning` is the
    /// count of this tape before the last element, and `most` how many more elements there are at
    /// most, if that is known.
    #[inline(never)]
    pub(super) fn row<'r>(
        &'r mut self,
        at: usize,
        is_leaf: bool,
        owning: usize,
        progress: &'r mut Progress,
        most: Option<usize>,
    ) -> Option<Row<'r>> {
        if progress.has_retry() && !self.rows.agrees(&self.drivers, at, is_leaf, progress) {
            return None;
        }
        if !self.settings.predicts || self.captures.is_inside() || self.failure.is_some() {
            progress.never_pays();
            return None;
        }
        if !progress.pays() {
            return None;
        }
        let is_early = !is_leaf && self.makes_early() && self.drivers.recorder.open.len() == 1;
        let Tape { drivers, leaves, settings, accepts, rows, .. } = self;
        let (compact, takes) = (settings.options.compact, accepts.leaves);
        let is_owning = owning != rows.owning;
        let seq =
            SeqState { leaves, drivers, at, compact, is_leaf, takes, is_owning, most, is_early };
        rows.row(seq, progress)
    }

    /// Handles the outcome of the last row, and of the element before it. Returns where the next
    /// element begins.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn take_row(
        &mut self,
        at: usize,
        is_leaf: bool,
        progress: &mut Progress,
    ) -> Result<usize> {
        if progress.is_idle() { Ok(at) } else { self.end_row(at, is_leaf, progress) }
    }

    #[inline(never)]
    fn end_row(&mut self, at: usize, is_leaf: bool, progress: &mut Progress) -> Result<usize> {
        self.rows.end_row(&mut self.drivers, at, is_leaf, progress)
    }
}

/// Keys, statics and opaque leaves: see [`captures`](super::captures).
impl Tape {
    /// Begins to capture a value. Returns the position of its first word.
    #[inline]
    fn begin_capture(&mut self, at: usize, role: Role) -> Result<usize> {
        if self.captures.open.len() >= MAX_KEY_NESTING {
            return Err(Cause::Depth { limit: MAX_KEY_NESTING }.into());
        }
        self.captures.begin(&mut self.leaves);
        self.captures.open.push(Capture {
            role,
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
    pub(super) fn capture_label(&mut self, at: usize) -> Result<usize> {
        match self.captures.next_label.take() {
            Some(NextLabel { role, accepts }) => {
                self.accepts = accepts;
                self.begin_capture(at, role)
            }
            None => Ok(at),
        }
    }

    /// A key or a static comes next.
    fn expect_label(&mut self, role: Role) {
        let accepts = mem::take(&mut self.accepts);
        self.captures.next_label = Some(NextLabel { role, accepts });
    }

    /// A key comes next. Returns how many captures are open.
    pub(super) fn expect_key(&mut self) -> usize {
        if self.failure.is_none() {
            self.expect_label(Role::Key);
        }
        self.captures.open.len()
    }

    /// Takes the result of a key, which began when `outer` captures were open.
    pub(super) fn end_key(&mut self, outer: usize, at: usize) -> Result<usize> {
        if self.captures.open.len() == outer { Ok(at) } else { self.end_capture(at) }
    }

    /// The meaning of a newtype of this name in this walk, if it is a mark.
    pub(super) fn mark(&self, name: &str) -> Option<Role> {
        Role::marked_by(name).map(|role| role.among(self.settings.objects))
    }

    /// Opens a newtype or a mark.
    pub(super) fn open_newtype(
        &mut self,
        at: usize,
        name: &'static str,
        mark: Option<Role>,
    ) -> Result<usize> {
        let Some(role) = mark else { return self.open(at, NodeKind::NewtypeStruct, name) };
        if role == Role::Object {
            return self.open_object(at);
        }
        // Inside a captured value, a mark changes nothing.
        if self.captures.is_inside() || self.captures.next_label.is_some() || self.failure.is_some()
        {
            return self.descend(at);
        }
        if role == Role::Static {
            self.expect_label(role);
            return Ok(at);
        }
        self.begin_capture(at, role)
    }

    /// Takes the result of the child of a newtype or a mark.
    pub(super) fn close_newtype(
        &mut self,
        child: Result<usize>,
        mark: Option<Role>,
    ) -> Result<usize> {
        let at = match child {
            Ok(at) => at,
            Err(error) if mark.is_some() => return Err(error),
            Err(error) => return Err(self.child_failed(Some(Key::Position(0)), error)),
        };
        if mark == Some(Role::Object) {
            self.close_object();
            return Ok(at);
        }
        match (mark, self.captures.open.last()) {
            // With equal levels, this mark opened the capture: an inner mark took a level.
            (Some(_), Some(capture))
                if capture.role != Role::Key && capture.accepts.levels == self.accepts.levels =>
            {
                self.end_capture(at)
            }
            // The static was a scalar.
            (Some(Role::Static), None) => Ok(at),
            _ => {
                self.ascend();
                Ok(at)
            }
        }
    }

    /// The number of an object comes next. Without other leaves beside objects, it is the only scalar that is a leaf.
    #[cold]
    fn open_object(&mut self, at: usize) -> Result<usize> {
        if self.failure.is_some() {
            return Err(self.swallowed(true));
        }
        if !self.settings.objects.are_leaves() {
            return Ok(at);
        }
        if self.captures.is_inside() || self.captures.next_label.is_some() {
            return Err(captured_object());
        }
        self.accepts.leaves = bit(LeafKind::F64);
        Ok(at)
    }

    #[cold]
    fn close_object(&mut self) {
        if !self.settings.objects.are_leaves() {
            return;
        }
        self.accepts.leaves = 0;
        if self.settings.objects == Objects::AmongLeaves
            && self.failure.is_none()
            && let Sink::Leaves(leaves) = &mut self.leaves
        {
            self.accepts.leaves = ALL_KINDS;
            let object = leaves.pop().map(object_leaf); // the number came
            leaves.extend(object);
        }
    }

    /// Takes the complete value off the tape, and puts it in its place. Returns the position behind
    /// it.
    #[inline(never)]
    fn end_capture(&mut self, at: usize) -> Result<usize> {
        self.count_leaves(at);
        let Some(capture) = self.captures.open.pop() else { return Ok(at) }; // the walk has failed
        let expected = self.expected_label(&capture);
        let value = self.take_off(capture.word, capture.leaf, expected);
        let Capture { role, at, word, accepts, pending, .. } = capture;
        self.drivers.recorder.words.truncate(word);
        self.captures.end(&mut self.leaves);
        (self.accepts, self.drivers.pending) = (accepts, pending);
        let tag = match role {
            Role::Key => word::KEY,
            Role::Static => word::STATIC,
            Role::Leaf | Role::Object => return self.put_opaque(at, value?),
        };
        match value? {
            CapturedValue::Scalar(leaf) => match leaf.as_scalar() {
                Some(scalar) => Ok(self.label(at, tag, scalar)),
                None => Err(bug!("a captured value has an opaque leaf")),
            },
            CapturedValue::Known(number) => Ok(self.put_label(at, tag, number)),
            CapturedValue::Compound(value) => {
                let number = self.drivers.recorder.labels.compound(tag, value);
                Ok(self.put_label(at, tag, number))
            }
        }
    }

    /// The value that was recorded from a word and a leaf on, which may be the label of that number.
    fn take_off(
        &mut self,
        word: usize,
        leaf: usize,
        expected: Option<usize>,
    ) -> Result<CapturedValue> {
        match &mut self.leaves {
            Sink::Leaves(leaves) => {
                let limits = self.settings.limits;
                self.drivers.recorder.captured_value(word, leaves, leaf, expected, limits)
            }
            _ => Err(bug!("a captured value has other leaves")),
        }
    }

    /// The number of the label that is expected in the place of a key or a static.
    fn expected_label(&self, capture: &Capture) -> Option<usize> {
        let at = capture.at + usize::from(capture.pending > 0); // behind the count of the leaves before it
        let expected = self.drivers.follower.word(at)?;
        (capture.role != Role::Leaf && expected.has_label()).then(|| expected.number())
    }

    /// The walk makes one value: its root is captured.
    pub(super) fn capture_root(&mut self) {
        let begun = self.begin_capture(0, Role::Leaf);
        debug_assert!(begun.is_ok(), "a root is in no other capture");
    }

    /// The value of a walk whose root was captured.
    pub(super) fn end_root(&mut self, at: usize) -> Result<Value> {
        self.count_leaves(at);
        self.captures.open.pop();
        self.check_end();
        let value = self.take_off(0, 0, None);
        self.captures.end(&mut self.leaves);
        match value? {
            CapturedValue::Scalar(leaf) => Ok(leaf.into()),
            CapturedValue::Compound(value) => Ok(value),
            CapturedValue::Known(_) => Err(bug!("a whole value is no label")),
        }
    }

    /// A scalar that is a label.
    pub(super) fn scalar_label(&mut self, at: usize, scalar: Scalar<'_>) -> usize {
        match self.captures.next_label.take() {
            Some(NextLabel { role, accepts }) => {
                self.accepts = accepts;
                self.label(at, if role == Role::Key { word::KEY } else { word::STATIC }, scalar)
            }
            None => self.label(at, word::STATIC, scalar),
        }
    }

    /// Writes a scalar that is a key or a static.
    fn label(&mut self, at: usize, tag: Tag, scalar: Scalar<'_>) -> usize {
        let at = self.count_leaves(at);
        if let Some(number) = self.drivers.follower.label(at, tag)
            && (self.drivers.recorder.labels.is(number, scalar)
                || self.overlooks(tag, number, None))
        {
            self.drivers.recorder.labels.last = number;
            return at + 1; // it is in range
        }
        let labels = &mut self.drivers.recorder.labels;
        let number = if tag == word::KEY { labels.key(scalar) } else { labels.scalar(scalar) };
        self.write_label(at, tag, number)
    }

    fn put_label(&mut self, at: usize, tag: Tag, number: usize) -> usize {
        let at = self.count_leaves(at);
        if let Some(expected) = self.drivers.follower.label(at, tag)
            && (expected == number || self.overlooks(tag, expected, Some(number)))
        {
            self.drivers.recorder.labels.last = expected;
            return at + 1; // it is in range
        }
        self.write_label(at, tag, number)
    }

    /// Whether a scalar or another label may come instead of the expected one.
    #[cold]
    #[inline(never)]
    fn overlooks(&self, tag: Tag, expected: usize, number: Option<usize>) -> bool {
        let Drivers { follower, recorder, .. } = &self.drivers;
        let is_nothing = number.is_some_and(|number| recorder.labels.is_nothing(number));
        follower.overlooks(tag) && recorder.labels.is_nothing(expected) == is_nothing
    }

    /// The number of the last key or static.
    pub(super) fn last_label(&self) -> usize {
        self.drivers.recorder.labels.last
    }

    fn put_opaque(&mut self, at: usize, value: CapturedValue) -> Result<usize> {
        let (leaf, tag) = match value {
            CapturedValue::Scalar(leaf) => (leaf, None),
            CapturedValue::Compound(value) if is_nothing(&value) => {
                (value.into(), Some(word::OPAQUE_NOTHING))
            }
            CapturedValue::Compound(value) => (value.into(), Some(word::OPAQUE)),
            CapturedValue::Known(_) => return Err(bug!("a leaf is no label")),
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

/// The end of a walk.
impl Tape {
    /// At the end of a walk that did not fail, nothing is open, and no label comes next.
    #[inline]
    pub(super) fn check_end(&self) {
        debug_assert!(self.drivers.no_seq_is_open(), "a sequence is open at the end of a walk");
        debug_assert!(self.captures.open.is_empty(), "a capture is open at the end of a walk");
        debug_assert!(self.captures.next_label.is_none(), "a label is missing");
        debug_assert_eq!(self.drivers.pending, 0, "leaves are not counted at the end of a walk");
    }

    /// Forgets the value, but not the structures that may come again.
    pub(super) fn clear(&mut self) {
        let Tape { drivers, memory, failure, captures, .. } = self;
        if failure.take().is_some() || !memory.ends_with(drivers.follower.known.as_ref()) {
            drivers.install(None);
        }
        drivers.clear();
        captures.clear();
        self.rows.checks = 0;
        self.settings.objects = Objects::Scalars;
        self.outer = OuterObjects::default();
        self.leaves = Sink::Counted(0);
    }
}

/// Errors, and their paths: each compound around a failure adds the key of its child.
impl Tape {
    /// A child of a compound failed. Without a key, the compound has no node.
    #[cold]
    #[inline(never)]
    pub(super) fn child_failed(&mut self, key: Option<Key>, error: Error) -> Error {
        let failure = self.fail();
        failure.in_some = false;
        // The compound that went on is the place.
        if !mem::take(&mut failure.went_on) {
            failure.keys.extend(key);
        }
        error
    }

    /// A compound itself failed, or a key in it. The path leads to the compound.
    #[cold]
    pub(super) fn compound_failed(&mut self, error: Error) -> Error {
        self.fail().forget();
        error
    }

    /// The child of a `Some` failed.
    #[cold]
    pub(super) fn some_failed(&mut self, error: Error) -> Error {
        // With the option `none_is_leaf` it has a node only around another option.
        let has_node = !self.settings.options.none_is_leaf || self.fail().in_some;
        let error = self.child_failed(has_node.then_some(Key::Some), error);
        self.fail().in_some = true;
        error
    }

    /// The value of an entry failed, whose key has this number.
    #[cold]
    pub(super) fn entry_failed(&mut self, key: usize, error: Error) -> Error {
        let key = self.drivers.recorder.labels.value(key).cloned().map(Key::Entry);
        self.child_failed(key, error)
    }

    /// The error of a value that goes on after an error: another child of the compound that ignored
    /// it, or its end.
    #[cold]
    pub(super) fn swallowed(&mut self, is_child: bool) -> Error {
        let failure = self.fail();
        failure.forget();
        failure.went_on = is_child;
        Error::protocol(SWALLOWED)
    }

    /// The result of a walk, with the path of its error.
    pub(super) fn ended(&mut self, end: Result<usize>) -> Result<usize> {
        let keys = self.failure.as_mut().map(|failure| mem::take(&mut failure.keys));
        match (end, keys) {
            (Err(error), Some(keys)) => Err(error.at(keys.into_iter().rev().collect())),
            // A format that is read has ignored it.
            (Ok(_), Some(_)) => Err(Error::protocol(SWALLOWED)),
            (end, None) => end,
        }
    }

    /// From now on nothing is followed or recorded.
    #[cold]
    pub(super) fn fail(&mut self) -> &mut Failure {
        (self.accepts, self.captures.next_label) = (Accepts::default(), None);
        let Tape { drivers, captures, failure, .. } = self;
        failure.get_or_insert_with(|| {
            drivers.follower.stop();
            drivers.recorder.open.clear();
            captures.open.clear();
            Box::default()
        })
    }
}

impl Failure {
    /// The place is the innermost open compound.
    fn forget(&mut self) {
        self.keys.clear();
        (self.in_some, self.went_on) = (false, false);
    }
}
