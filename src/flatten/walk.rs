//! Begins and ends walks, and keeps the tape of a thread between them.
//!
//! A thread calls `flatten` three times, with `vec![1.0, 2.0]`, `vec![3.0, 4.0]` and `vec![5.0, 6.0]`:
//!
//! ```text
//!     expected              the value     at the end
//! 1   nothing               is recorded   the thread notes the hash of its words
//! 2   nothing               is recorded   the hash is known: its words become a script
//! 3   Seq  CLOSE, after 2   is followed   it gets the treedef of the script
//! ```
//!
//! So a structure that occurs once costs no copy of its words, and one that occurs again and again is followed.
//! The hash leaves out the numbers of labels, so `{"a": 1}` and `{"b": 1}` count as one structure here. Two
//! structures of one type that take turns are recorded each time: only another first word leads to another script.
//!
//! At the end, the swaps of the script or of the record bring the leaves into the order of the structure, in which
//! the entries of maps are sorted.
//!
//! Between two walks a thread keeps its [memory](super::script::Memory), the last script, the structures of the
//! last captured values, and the buffers of the tape, which are empty. If the structure of a value is too large for
//! that, `flatten_like` stores the script beside the treedef.

use std::cell::Cell;
use std::mem;

use crate::bug::bug;
use crate::call_stack;
use crate::error::Result;
use crate::leaf::object::{Objects, OuterObjects};
use crate::leaf::sink::Sink;
use crate::model::{Limits, Options, Script, TreeDef, Value};

use super::captures::Accepts;
use super::labels::LabelLimits;
use super::nodes::NewStructure;
use super::script::{KnownStructure, is_small};
use super::tape::{Settings, Tape};

thread_local! {
    /// The tape of the last walk: its memory, and the structures that it met.
    static SPARE: Cell<Option<Box<Tape>>> = const { Cell::new(None) };
}

/// The maximum number of leaves that are expected because the last value had as many. Without this, the 28 numbers
/// of `small` in `benches/instructions` take 1.3 times as long.
const MOST_EXPECTED: usize = 64;

/// Where the structure of a walked value comes from.
enum WalkEnd {
    /// The value was followed with the script of the treedef that it should be like.
    Expected,
    /// The thread remembers it.
    Known(TreeDef),
    /// It was recorded, and its nodes were made.
    New(NewStructure),
}

/// A walk, from its beginning to its end.
pub(super) struct ValueWalk {
    pub(super) tape: Box<Tape>,
}

impl ValueWalk {
    /// Begins a walk. It expects the structure `like`, whose statics may be ignored, or else the most recently used
    /// structure in the memory of the thread.
    pub(super) fn begin(leaves: Sink, settings: Settings, like: Option<(&TreeDef, bool)>) -> Self {
        let mut walk = ValueWalk::spared();
        walk.prepare(leaves, settings, like);
        walk
    }

    /// Begins the walk of a value whose root is captured.
    pub(super) fn begin_captured() -> Self {
        let mut walk = ValueWalk::spared();
        let settings = Settings::new(Options::default(), Limits::default());
        walk.prepare(Sink::default(), Settings { predicts: false, ..settings }, None);
        walk.tape.drivers.install(None);
        walk.tape.capture_root();
        walk
    }

    /// With the tape of the last walk of the thread, or a new one: inside of a walk, or while the thread ends.
    fn spared() -> Self {
        ValueWalk { tape: SPARE.try_with(Cell::take).unwrap_or_default().unwrap_or_default() }
    }

    fn prepare(&mut self, leaves: Sink, settings: Settings, like: Option<(&TreeDef, bool)>) {
        let tape = &mut *self.tape;
        let Settings { options, limits, objects, predicts, .. } = settings;
        tape.outer = OuterObjects::around(objects);
        // A row knows only numbers. An absent value would be a leaf, and so is an object.
        let predicts = predicts && !options.none_is_leaf && !objects.are_leaves();
        tape.settings = Settings { predicts, is_like: like.is_some(), ..settings };
        tape.drivers.recorder.labels.structures.retain(limits);
        let takes = if objects == Objects::AmongStatics { 0 } else { settings.takes };
        tape.accepts = Accepts { leaves: takes, levels: call_stack::deepest(limits) };
        tape.leaves = leaves;
        if like.is_none() {
            tape.leaves.reserve(tape.memory.leaves);
        }
        self.install_script(options, like);
    }

    /// Expects the structure `like`, or else the most recently used one.
    fn install_script(&mut self, options: Options, like: Option<(&TreeDef, bool)>) {
        let Tape { drivers, memory, .. } = &mut *self.tape;
        let is_expected = |known: &KnownStructure| match like {
            Some((like, ignores)) => known.is_of(like) && known.ignores_statics == ignores,
            None => known.encoding.options == options && !known.ignores_statics,
        };
        if drivers.follower.known.as_ref().is_some_and(is_expected) {
            return;
        }
        let known = like.and_then(|(like, ignores)| memory.like(like, ignores));
        drivers.install(known.or_else(|| memory.last(options).cloned()));
    }

    /// The structure of the value that ends at `at`. Brings the leaves into its order.
    fn structure(&mut self, at: usize, like: Option<&TreeDef>) -> Result<WalkEnd> {
        let tape = &mut *self.tape;
        let at = tape.count_leaves(at);
        tape.check_end();
        if let Some(known) = tape.drivers.end(at) {
            tape.leaves.swap(&known.script.swaps);
            return Ok(match like {
                Some(like) if known.is_of(like) => WalkEnd::Expected,
                _ => WalkEnd::Known(known.treedef(tape.settings.limits)),
            });
        }
        self.structure_of_record(like)
    }

    /// The structure of a value that was recorded, which the thread remembers if it is small and came
    /// twice, or is compared with a treedef.
    fn structure_of_record(&mut self, like: Option<&TreeDef>) -> Result<WalkEnd> {
        let Tape { drivers, memory, settings, .. } = &mut *self.tape;
        let options = settings.options;
        let recorder = &mut drivers.recorder;
        if let Some(words) = recorder.few_words()
            && (like.is_some() || memory.note(words))
            && let Some((words, labels)) =
                recorder.labels.used(words.to_vec(), LabelLimits::OF_THREAD)
        {
            if let Some(known) = memory.find_equal(options, &words, &labels).cloned() {
                return Ok(self.end_known(known));
            }
            let NewStructure { treedef, swaps } = recorder.structure(options, true)?;
            if !is_small(&treedef.encoding) {
                return Ok(self.end_new(NewStructure { treedef, swaps }));
            }
            let script = Script::new(words, labels, swaps, treedef.insertions);
            let known = KnownStructure::new(treedef.encoding, script);
            memory.add(known.clone());
            return Ok(self.end_known(known));
        }
        if let Some(like) = like {
            recorder.expect_nodes(like.encoding.nodes.len());
        }
        let new = recorder.structure(options, like.is_some())?;
        Ok(self.end_new(new))
    }

    fn end_known(&mut self, known: KnownStructure) -> WalkEnd {
        let Tape { drivers, leaves, settings, .. } = &mut *self.tape;
        leaves.swap(&known.script.swaps);
        let treedef = known.treedef(settings.limits);
        drivers.install(Some(known));
        WalkEnd::Known(treedef)
    }

    fn end_new(&mut self, NewStructure { treedef, swaps }: NewStructure) -> WalkEnd {
        let Tape { leaves, settings, .. } = &mut *self.tape;
        leaves.swap(&swaps);
        let treedef = TreeDef { limits: settings.limits, walked: true, ..treedef };
        WalkEnd::New(NewStructure { treedef, swaps })
    }

    /// Stores the script of a value beside `like`, to which its structure is equal. The thread does
    /// not remember it.
    fn store_beside(&mut self, like: &TreeDef, NewStructure { treedef, swaps }: NewStructure) {
        let insertions = treedef.insertions.clone();
        drop(treedef); // it is large
        let recorder = &mut self.tape.drivers.recorder;
        let words = mem::take(&mut recorder.words);
        if let Some((words, labels)) = recorder.labels.used(words, LabelLimits::NONE) {
            like.encoding.script.put(Script::new(words, labels, swaps, insertions));
        }
    }

    /// Ends a walk. Returns the structure and the leaves.
    pub(super) fn finish(mut self, end: Result<usize>) -> Result<(TreeDef, Sink)> {
        let found = self.tape.ended(end).and_then(|at| self.structure(at, None));
        let leaves = mem::take(&mut self.tape.leaves);
        self.tape.memory.leaves = leaves.len().min(MOST_EXPECTED);
        self.spare();
        match found? {
            WalkEnd::Known(treedef) | WalkEnd::New(NewStructure { treedef, .. }) => {
                Ok((treedef, leaves))
            }
            WalkEnd::Expected => Err(bug!("no structure was expected")),
        }
    }

    /// Ends a walk that should be like another one. `check` says whether the structure is.
    pub(super) fn finish_like(
        mut self,
        end: Result<usize>,
        like: &TreeDef,
        check: impl FnOnce(&TreeDef) -> Result<()>,
    ) -> Result<Sink> {
        let found = self.tape.ended(end).and_then(|at| self.structure(at, Some(like)));
        let checked = found.and_then(|found| match found {
            WalkEnd::Expected => Ok(()),
            WalkEnd::Known(treedef) if treedef == *like => {
                self.tape.memory.share(&like.encoding);
                self.install_script(self.tape.settings.options, Some((like, false)));
                Ok(())
            }
            WalkEnd::Known(treedef) => {
                check(&treedef)?;
                // Only statics differ.
                let Tape { drivers, memory, .. } = &mut *self.tape;
                let known = drivers.follower.known.as_ref().filter(|_| is_small(&like.encoding));
                memory.ignoring_statics = known.map(|known| known.as_ignoring_statics_of(like));
                Ok(())
            }
            WalkEnd::New(new) if new.treedef == *like => {
                self.store_beside(like, new);
                Ok(())
            }
            WalkEnd::New(NewStructure { treedef, .. }) => check(&treedef),
        });
        let leaves = mem::take(&mut self.tape.leaves);
        self.spare();
        checked.map(|()| leaves)
    }

    /// Ends the walk of a value whose root is captured.
    pub(super) fn finish_captured(mut self, end: Result<usize>) -> Result<Value> {
        let value = self.tape.ended(end).and_then(|at| self.tape.end_root(at));
        self.spare();
        value
    }

    /// Gives the tape back to the thread. After a walk that panics, the next one makes a new tape.
    pub(super) fn spare(mut self) {
        self.tape.clear();
        // This fails only while the thread ends. The tape is dropped then.
        let _ = SPARE.try_with(|spare| spare.set(Some(self.tape)));
    }
}
