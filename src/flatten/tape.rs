//! The state of a walk: who takes the serde calls, and the leaves.
//!
//! Nothing here depends on the type of the value. serde's side is the
//! [serializer](super::serializer).
//!
//! # Invariants
//!
//! 1. There is a word for each serde call that is not a scalar, and for each end of a compound
//!    with any number of children. A leaf is only counted: the next word says how many came.
//! 2. Who serializes hands on a position by value: it is where the next word belongs, in the script
//!    that is followed or behind what is recorded. See [`drivers`](super::drivers).
//! 3. What is kept as one value (a key, a static, a subtree that is a leaf) is recorded behind the
//!    other words, with leaves of its own. When it is complete, it is taken off again.
//! 4. The nodes of a long sequence are made early, and its words are forgotten. See
//!    [`recorder`](super::recorder).
//! 5. After a failure nothing is followed or recorded, and each call is an error.

use std::mem;

use crate::call_stack;
use crate::error::{Error, Result};
use crate::leaf::Scalar;
use crate::leaf::sink::Sink;
use crate::model::{Leaf, LeafKind, Limits, NodeKind, Options, Word};
use crate::path::Key;

use super::drivers::{Drivers, is_recorded};
use super::fast::rows::{Progress, Row, Rows, SeqState};
use super::marks::{Keep, Objects, wrong_scalar};
use super::script::Memory;
use super::word::{self, KindSet, Tag, bit};

const SWALLOWED: &str = "a `Serialize` implementation swallowed an error and went on";

/// The state of a walk. Its memory stays with the thread between walks; what one walk leaves in it is
/// cleared at its end, but for the structures that are expected again.
#[derive(Default)]
pub(super) struct Tape {
    pub(super) drivers: Drivers,
    pub(super) leaves: Sink,
    /// What the next value may be: nothing if a label comes next, and after a failure.
    pub(super) accepts: Accepts,
    pub(super) settings: Settings,
    pub(super) keeping: Keeping,
    pub(super) rows: Rows,
    pub(super) failed: Option<Box<Failed>>,
    pub(super) memory: Memory,
}

/// The kinds of values that are not kept.
#[derive(Clone, Copy, Default)]
pub(super) struct Accepts {
    /// The kinds of scalars that are leaves.
    pub(super) leaves: KindSet,
    /// How many more compounds may be nested.
    pub(super) levels: usize,
}

/// The options of a walk.
#[derive(Default)]
pub(super) struct Settings {
    pub(super) options: Options,
    pub(super) limits: Limits,
    pub(super) objects: Objects,
    /// Elements of sequences may be serialized twice.
    pub(super) predicts: bool,
    /// The words are kept if the value is like a treedef.
    pub(super) is_like: bool,
}

/// The keys, statics and opaque leaves that are being recorded.
pub(super) struct Keeping {
    /// A key or a static comes next.
    pub(super) before_label: Option<BeforeLabel>,
    /// The values that are being kept, the outermost first.
    pub(super) values: Vec<Kept>,
    /// A buffer for their leaves. While a value is kept it is the tape's, and the sink of the walk is here.
    pub(super) aside: Sink,
    /// The whole value is one that is kept.
    pub(super) whole: bool,
    /// The position behind the last float that was no leaf of the next slot.
    pub(super) after_float: usize,
}

impl Default for Keeping {
    fn default() -> Self {
        Keeping {
            before_label: None,
            values: Vec::new(),
            aside: Sink::Leaves(Vec::new()),
            whole: false,
            after_float: 0,
        }
    }
}

/// A label that comes next, and what was accepted before it.
pub(super) struct BeforeLabel {
    pub(super) keep: Keep,
    pub(super) accepts: Accepts,
}

/// A value that is being kept.
pub(super) struct Kept {
    pub(super) keep: Keep,
    /// The position of the value, and its first word and leaf.
    pub(super) at: usize,
    pub(super) word: usize,
    pub(super) leaf: usize,
    pub(super) accepts: Accepts,
    pub(super) pending: u64,
}

/// The first error, and the known part of its path.
///
/// If a `Serialize` implementation ignores the error, the walk must still fail, because the tree
/// has a hole.
#[derive(Default)]
pub(super) struct Failed {
    /// The keys that lead to the place, the innermost first, as far as the error has come.
    pub(super) keys: Vec<Key>,
    /// The last compound that the error came out of is a `Some`.
    pub(super) in_some: bool,
    /// The next compound is the place: it ignored an error and went on.
    pub(super) went_on: bool,
}

impl Tape {
    /// The type of the next value may own something.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn count_owning(&mut self, owning: bool) {
        self.rows.owning = self.rows.owning.wrapping_add(usize::from(owning));
    }

    /// Writes a word, or follows it.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn emit(&mut self, at: usize, tag: Tag, name: &'static str) -> usize {
        match self.drivers.follow(at, tag, name) {
            Some(next) => next,
            None => self.unexpected(at, tag, name),
        }
    }

    /// The same for the last word of a value, which is an error after a failure.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn emit_last(&mut self, at: usize, tag: Tag, name: &'static str) -> Result<usize> {
        match self.drivers.follow(at, tag, name) {
            Some(next) => Ok(next),
            None => self.unexpected_last(at, tag, name),
        }
    }

    #[cold]
    #[inline(never)]
    fn unexpected_last(&mut self, at: usize, tag: Tag, name: &'static str) -> Result<usize> {
        if self.failed.is_some() {
            return Err(self.swallowed(tag != word::CLOSE));
        }
        let leaves = mem::take(&mut self.drivers.pending);
        Ok(self.write(at, Word::new(tag, name, leaves)))
    }

    #[cold]
    #[inline(never)]
    fn unexpected(&mut self, at: usize, tag: Tag, name: &'static str) -> usize {
        let leaves = mem::take(&mut self.drivers.pending);
        self.write(at, Word::new(tag, name, leaves))
    }

    /// Records a word that is not the expected one.
    #[inline(always)] // most that are recorded come after others
    fn write(&mut self, at: usize, word: Word) -> usize {
        if is_recorded(at) && self.failed.is_none() {
            return self.drivers.recorder.write(word);
        }
        self.write_first(at, word)
    }

    /// Records the first word that is not the expected one.
    #[inline(never)]
    fn write_first(&mut self, at: usize, word: Word) -> usize {
        if self.failed.is_some() {
            return at;
        }
        if at == 0 && self.expects_other(word) {
            return 1;
        }
        self.drivers.part(at);
        self.drivers.recorder.write(word)
    }

    /// From the first word on, another structure than the last one may be expected.
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
            _ if is_recorded(at) => self.unexpected(at, word::LEAVES, ""),
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
                        Ok(()) => Ok(self.keeping.after_float),
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

    /// The position behind the float is not in the result: there it would be tested after each float.
    #[cold]
    #[inline(never)]
    fn other_float(&mut self, at: usize, scalar: Scalar<'_>) -> Result<()> {
        self.keeping.after_float = self.scalar(at, scalar)?;
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
        if self.failed.is_some() {
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

    /// A node that never has children.
    #[inline(never)]
    pub(super) fn atom(&mut self, at: usize, kind: NodeKind, name: &'static str) -> Result<usize> {
        let at = self.keep_label(at)?;
        self.emit_last(at, kind as Tag, name)
    }

    #[inline(never)]
    pub(super) fn unit_variant(
        &mut self,
        at: usize,
        name: &'static str,
        variant: &'static str,
    ) -> Result<usize> {
        let at = self.keep_label(at)?;
        let at = self.emit(at, word::VARIANT, variant);
        self.emit_last(at, NodeKind::UnitVariant as Tag, name)
    }

    /// An absent value.
    pub(super) fn none(&mut self, at: usize) -> Result<usize> {
        let is_leaf = self.settings.options.none_is_leaf && !self.is_keeping();
        if is_leaf
            && self.keeping.before_label.is_none()
            && self.failed.is_none()
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
        if self.failed.is_some() {
            return Err(self.swallowed(true));
        }
        if self.keeping.before_label.is_none() {
            return Err(call_stack::too_deep(call_stack::deepest(self.settings.limits)));
        }
        let at = self.keep_label(at)?;
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

    /// Makes nodes while a long sequence is recorded, unless its words are needed: to be kept, for a value that is
    /// kept, or to compare an element with.
    #[inline(never)]
    fn make_early(&mut self, at: usize) -> usize {
        let Tape { drivers, settings, rows, .. } = self;
        if settings.is_like
            || self.keeping.whole
            || !self.keeping.values.is_empty()
            || rows.checks > 0
        {
            return at;
        }
        drivers.recorder.make_early(settings.options)
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
        if !self.settings.predicts || self.is_keeping() || self.failed.is_some() {
            progress.never_pays();
            return None;
        }
        if !progress.pays() {
            return None;
        }
        let Tape { drivers, leaves, settings, accepts, rows, .. } = self;
        let (compact, takes) = (settings.options.compact, accepts.leaves);
        let is_owning = owning != rows.owning;
        let seq = SeqState { leaves, drivers, at, compact, is_leaf, takes, is_owning, most };
        rows.row(seq, progress)
    }

    /// Handles the outcome of the last row, and of the element before it. Returns where the next
    /// element begins.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn row_came(
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

/// Errors, and their paths: each compound around a failure adds the key of its child.
impl Tape {
    /// A child of a compound failed. Without a key, the compound has no node.
    #[cold]
    #[inline(never)]
    pub(super) fn child_failed(&mut self, key: Option<Key>, error: Error) -> Error {
        let failed = self.fail();
        failed.in_some = false;
        // The compound that went on is the place.
        if !mem::take(&mut failed.went_on) {
            failed.keys.extend(key);
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
        let failed = self.fail();
        failed.forget();
        failed.went_on = is_child;
        Error::protocol(SWALLOWED)
    }

    /// The result of a walk, with the path of its error.
    pub(super) fn ended(&mut self, end: Result<usize>) -> Result<usize> {
        let keys = self.failed.as_mut().map(|failed| mem::take(&mut failed.keys));
        match (end, keys) {
            (Err(error), Some(keys)) => Err(error.at(keys.into_iter().rev().collect())),
            // A format that is read has ignored it.
            (Ok(_), Some(_)) => Err(Error::protocol(SWALLOWED)),
            (end, None) => end,
        }
    }

    /// From now on nothing is followed or recorded.
    #[cold]
    pub(super) fn fail(&mut self) -> &mut Failed {
        (self.accepts, self.keeping.before_label) = (Accepts::default(), None);
        let Tape { drivers, keeping, failed, .. } = self;
        failed.get_or_insert_with(|| {
            drivers.follower.stop();
            drivers.recorder.open.clear();
            keeping.values.clear();
            Box::default()
        })
    }
}

impl Failed {
    /// The place is the innermost open compound.
    fn forget(&mut self) {
        self.keys.clear();
        (self.in_some, self.went_on) = (false, false);
    }
}
