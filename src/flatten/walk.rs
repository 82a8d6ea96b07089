//! Begins and ends walks, and keeps the tape of a thread between them.

use std::cell::Cell;
use std::sync::Arc;

use crate::bug::bug;
use crate::call_stack;
use crate::error::Result;
use crate::leaf::sink::Sink;
use crate::model::{Limits, Options, TreeDef, Value};

use super::fast::early::EARLY_FROM;
use super::marks::Objects;
use super::nodes::empty;
use super::tape::{Accepts, Settings, Tape};
use super::word::{ALL_KINDS, KindSet};

thread_local! {
    /// The tape of the last walk: its memory, and the structures that it met.
    static SPARE: Cell<Option<Box<Tape>>> = const { Cell::new(None) };
}

/// The maximum number of leaves that are expected because the last value had as many.
const MOST_EXPECTED: usize = 64;

/// The maximum numbers of kept values and of their leaves for which a thread keeps room.
const MOST_KEPT: usize = 4_096;

/// What a walk is asked for.
pub(super) struct Request {
    pub(super) leaves: Sink,
    /// The kinds of scalars that are leaves. The others become static.
    pub(super) takes: KindSet,
    pub(super) options: Options,
    pub(super) limits: Limits,
    /// Elements of sequences may be serialized twice.
    pub(super) predicts: bool,
    pub(super) objects: Objects,
}

impl Request {
    /// A walk without rules.
    pub(super) fn new(leaves: Sink, options: Options, limits: Limits) -> Self {
        Request {
            leaves,
            takes: ALL_KINDS,
            options,
            limits,
            predicts: true,
            objects: Objects::None,
        }
    }
}

impl Tape {
    /// Begins a walk. It expects the structure `like`, whose statics may be ignored, or else the one
    /// that the thread met last among those that came twice.
    pub(super) fn begin(request: Request, like: Option<(&TreeDef, bool)>) -> Box<Self> {
        let mut tape = SPARE.try_with(Cell::take).unwrap_or_default().unwrap_or_default();
        tape.prepare(request, like);
        tape
    }

    pub(super) fn prepare(&mut self, request: Request, like: Option<(&TreeDef, bool)>) {
        let Request { leaves, takes, options, limits, predicts, objects } = request;
        let takes = if objects == Objects::AmongStatics { 0 } else { takes };
        self.leaves = leaves;
        // A row knows only numbers. An absent value would be a leaf, and so is an object.
        let predicts = predicts && !options.none_is_leaf && objects == Objects::None;
        let most_words = if like.is_some() { usize::MAX } else { EARLY_FROM };
        self.settings = Settings { options, limits, objects, predicts, most_words };
        self.accepts = Accepts { leaves: takes, levels: call_stack::deepest(limits) };
        if like.is_none() {
            self.leaves.reserve(self.expected);
        }
        let Tape { words, labels, follow, .. } = self;
        follow.begin(words, labels, options, like);
    }

    /// Begins the walk of a value that is kept as a whole.
    pub(super) fn begin_whole(options: Options, limits: Limits) -> Box<Self> {
        let mut tape = SPARE.try_with(Cell::take).unwrap_or_default().unwrap_or_default();
        let Tape { words, labels, follow, .. } = &mut *tape;
        follow.take_back(words, labels);
        tape.leaves = Sink::Leaves(std::mem::take(&mut tape.keeping.leaves));
        tape.settings = Settings { options, limits, most_words: usize::MAX, ..Settings::default() };
        tape.accepts = Accepts { leaves: ALL_KINDS, levels: call_stack::deepest(limits) };
        tape.keeping.whole = true;
        tape
    }

    /// The structure of the value that ends at `at`, unless it is that of `like` itself. Brings the
    /// leaves into its order.
    fn structure(&mut self, at: usize, like: Option<&TreeDef>) -> Result<Option<TreeDef>> {
        let at = self.count_leaves(at);
        self.check_end();
        let Tape { words, labels, follow, nodes, leaves, settings, .. } = self;
        let Settings { options, limits, .. } = *settings;
        let made = follow.structure(words, labels, nodes, options, at)?;
        leaves.swap(&made.swaps);
        if like.is_some_and(|like| Arc::ptr_eq(&made.treedef.encoding, &like.encoding)) {
            return Ok(None);
        }
        Ok(Some(TreeDef { limits, walked: true, ..made.treedef.clone() }))
    }

    /// At the end of a walk that did not fail, nothing is open, and no label comes next.
    #[inline]
    pub(super) fn check_end(&self) {
        debug_assert!(self.follow.frames.is_empty(), "a sequence is open at the end of a walk");
        debug_assert!(self.keeping.values.is_empty(), "a value is kept at the end of a walk");
        debug_assert!(self.keeping.before_label.is_none(), "a label is missing");
        debug_assert_eq!(self.pending, 0, "leaves are not counted at the end of a walk");
    }

    /// Ends a walk. Returns the structure and the leaves.
    pub(super) fn finish(mut self: Box<Self>, end: Result<usize>) -> Result<(TreeDef, Sink)> {
        let treedef = self.ended(end).and_then(|at| self.structure(at, None));
        let leaves = std::mem::take(&mut self.leaves);
        self.expected = leaves.len().min(MOST_EXPECTED);
        self.spare();
        match treedef? {
            Some(treedef) => Ok((treedef, leaves)),
            None => Err(bug!("a walk has no structure")),
        }
    }

    /// Ends a walk that should be like another one. `check` says whether the structure is.
    pub(super) fn finish_like(
        mut self: Box<Self>,
        end: Result<usize>,
        like: &TreeDef,
        check: impl FnOnce(&TreeDef) -> Result<()>,
    ) -> Result<Sink> {
        let other = self.ended(end).and_then(|at| self.structure(at, Some(like)));
        let checked = other.and_then(|other| match other {
            None => Ok(()),
            Some(treedef) if treedef == *like => {
                let Tape { words, labels, follow, .. } = &mut *self;
                follow.remember_as(words, labels, like);
                Ok(())
            }
            Some(treedef) => check(&treedef),
        });
        let leaves = std::mem::take(&mut self.leaves);
        self.spare();
        checked.map(|()| leaves)
    }

    /// Ends the walk of a value that is kept as a whole.
    pub(super) fn finish_whole(mut self: Box<Self>, end: Result<usize>) -> Result<Value> {
        let value = self.ended(end).and_then(|at| self.whole(at));
        if let Sink::Leaves(leaves) = std::mem::take(&mut self.leaves) {
            self.keeping.leaves = leaves;
        }
        self.spare();
        value
    }

    /// Gives the tape back to the thread. After a walk that panics, the next one makes a new tape.
    pub(super) fn spare(mut self: Box<Self>) {
        if let Some(failure) = self.failure.take() {
            self.words = failure.words;
        }
        let Tape { words, labels, follow, .. } = &mut *self;
        follow.end(words, labels);
        if self.nodes.early.is_some() {
            self.nodes.early = None; // it is large
        }
        empty(&mut self.keeping.values, MOST_KEPT);
        empty(&mut self.keeping.leaves, MOST_KEPT);
        (self.pending, self.cursor, self.keeping.before_label) = (0, 0, None);
        (self.keeping.whole, self.settings.objects) = (false, Objects::None);
        self.leaves = Sink::Counted(0);
        // This fails only while the thread ends. The tape is dropped then.
        let _ = SPARE.try_with(|spare| spare.set(Some(self)));
    }
}
