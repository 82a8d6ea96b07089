//! Matches the children of a node of a [known structure](super::known), one by one or in rows.

use std::fmt;
use std::mem;

use serde::Serialize;

use crate::call_stack;
use crate::error::{Matched, Mismatch};
use crate::flatten::rows::slots::Slots;
use crate::leaf::Scalar;
use crate::leaf::leaf_type::put;
use crate::model::{Name, NodeHead, TreeDef, Value};
use crate::treedef::node_ref::is_name;

use super::known::{ChildCursor, Known, LEAF};
use crate::flatten::calls::text_of;
use crate::flatten::recording::Recording;
use crate::flatten::rows::layout::{Different, Divergence};
use crate::flatten::rows::{Outcome, Progress, Row, Stop};
use crate::flatten::rules::Keep;

/// Puts the leaves of a value into slots, if the value has the structure of `treedef`.
pub(in crate::flatten) fn fill<T: Serialize + ?Sized>(
    treedef: &TreeDef,
    slots: Slots<'_>,
    ignore_statics: bool,
    value: &T,
) -> Result<(), Divergence> {
    let mut room = None;
    match Known::new(treedef, slots, &mut room, ignore_statics) {
        Ok(known) => known.fill(value),
        Err(Mismatch) => Err(Divergence::Perhaps),
    }
}

impl<'t> Known<'t> {
    /// Puts the leaves of a value into the slots, if the value has the structure.
    pub(in crate::flatten) fn fill<T: Serialize + ?Sized>(
        mut self,
        value: &T,
    ) -> Result<(), Divergence> {
        let place = Matcher { at: self.root(), slot: 0, known: &mut self };
        let matched = value.serialize(place);
        match (matched, self.mismatch()) {
            (Ok(_), None) => Ok(()),
            (_, divergence) => Err(divergence.unwrap_or(Divergence::Perhaps)),
        }
    }

    /// Whether a value equals a key.
    pub(in crate::flatten) fn is_key<T: Serialize + ?Sized>(
        &self,
        key: &'t Value,
        value: &T,
    ) -> bool {
        self.inside(key).fill(value).is_ok()
    }
}

/// A node of a known structure, and the slot of its first leaf. As a serializer it returns the slot
/// behind the leaves of the node.
pub(in crate::flatten) struct Matcher<'m, 't> {
    pub(in crate::flatten) known: &'m mut Known<'t>,
    pub(in crate::flatten) at: usize,
    pub(in crate::flatten) slot: usize,
}

/// The children of a node that has matched so far.
pub(in crate::flatten) struct MatchedChildren<'m, 't> {
    pub(in crate::flatten) known: &'m mut Known<'t>,
    pub(in crate::flatten) cursor: ChildCursor,
    pub(in crate::flatten) slot: usize,
    fields: &'t [Name],
}

impl<'m, 't> Matcher<'m, 't> {
    #[inline]
    pub(in crate::flatten) fn enter(
        self,
        head: NodeHead<'static>,
    ) -> Matched<MatchedChildren<'m, 't>> {
        let Matcher { known, at, slot } = self;
        match known.enter(at, head) {
            Ok(end) => Ok(MatchedChildren {
                known,
                cursor: ChildCursor::below(at, end),
                slot,
                fields: &[],
            }),
            Err(mismatch) => Err(mismatch),
        }
    }

    #[inline]
    pub(in crate::flatten) fn fields(
        self,
        head: NodeHead<'static>,
    ) -> Matched<MatchedChildren<'m, 't>> {
        let fields = self.known.fields(self.at);
        match self.enter(head) {
            Ok(children) => Ok(MatchedChildren { fields, ..children }),
            Err(mismatch) => Err(mismatch),
        }
    }

    #[inline]
    pub(in crate::flatten) fn around<T: Serialize + ?Sized>(
        self,
        head: NodeHead<'static>,
        value: &T,
    ) -> Matched<usize> {
        let mut children = match self.enter(head) {
            Ok(children) => children,
            Err(mismatch) => return Err(mismatch),
        };
        match children.child(value) {
            Ok(()) => children.end(),
            Err(mismatch) => Err(mismatch),
        }
    }

    pub(in crate::flatten) fn keep<T: Serialize + ?Sized>(
        self,
        keep: Keep,
        value: &T,
    ) -> Matched<usize> {
        let Matcher { known, at, slot } = self;
        if known.overlooks_mark()? {
            return call_stack::grow!(value.serialize(Matcher { known, at, slot }));
        }
        match keep {
            Keep::Static => {
                let Some(expected) = known.static_at(at)? else { return Ok(slot) };
                match known.inside(expected).fill(value) {
                    Ok(()) => Ok(slot),
                    Err(divergence) => Err(known.stop(divergence)),
                }
            }
            Keep::Leaf if at == LEAF => {
                let (options, limits) = (known.of_opaque(), known.limits_of_opaque());
                match Recording::of_value(options, limits).record_value(value) {
                    Ok(value) => known.put_leaf(slot, value),
                    Err(_) => Err(known.perhaps()),
                }
            }
            Keep::Key | Keep::Leaf | Keep::Half => Err(known.differs()),
        }
    }
}

impl<'t> MatchedChildren<'_, 't> {
    #[inline]
    pub(in crate::flatten) fn next(&mut self) -> Matched<Matcher<'_, 't>> {
        if self.cursor.left == 0 && !self.known.next_run(&mut self.cursor) {
            return Err(self.known.differs());
        }
        self.cursor.left -= 1; // it was not zero
        Ok(Matcher { known: &mut *self.known, at: self.cursor.at, slot: self.slot })
    }

    #[inline]
    pub(in crate::flatten) fn child<T: Serialize + ?Sized>(&mut self, value: &T) -> Matched<()> {
        if const { mem::needs_drop::<T>() } {
            self.known.owning += 1;
        }
        let matched = match self.next() {
            Ok(place) => call_stack::grow!(value.serialize(place)),
            Err(mismatch) => Err(mismatch),
        };
        self.came(matched)
    }

    /// Takes the result of a child.
    #[inline]
    fn came(&mut self, matched: Matched<usize>) -> Matched<()> {
        match matched {
            Ok(slot) => {
                self.slot = slot;
                Ok(())
            }
            Err(Mismatch) => Err(self.known.perhaps()),
        }
    }

    /// Whether the next child is the field `name`.
    #[inline]
    fn is_field(&mut self, name: &str) -> bool {
        match self.fields.split_first() {
            Some((field, rest)) if is_name(field, name) => {
                self.fields = rest;
                true
            }
            _ => false,
        }
    }

    #[inline]
    pub(in crate::flatten) fn field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Matched<()> {
        if self.is_field(name) { self.child(value) } else { Err(self.known.perhaps()) }
    }

    #[inline]
    pub(in crate::flatten) fn row<'r>(
        &'r mut self,
        owning: usize,
        progress: &'r mut Progress,
    ) -> Option<Row<'r>> {
        if self.cursor.left == 0 || !progress.pays() {
            return None;
        }
        self.known.next_row(self.cursor.run(), self.slot, owning, progress)
    }

    /// Handles the outcome of the last row.
    #[inline]
    pub(in crate::flatten) fn row_came(&mut self, progress: &mut Progress) -> Matched<()> {
        if progress.is_idle() { Ok(()) } else { self.end_row(progress) }
    }

    #[inline(never)]
    fn end_row(&mut self, progress: &mut Progress) -> Matched<()> {
        let Some(Outcome { done, slot, stop }) = progress.take() else { return Ok(()) };
        self.cursor.pass(done);
        self.slot = slot;
        match stop {
            Stop::Full => Ok(()),
            Stop::Refused => Err(self.known.unlike()),
            Stop::Different(Different { divergence: Divergence::Surely, .. }) => {
                Err(self.known.differs())
            }
            Stop::Different(Different { narrow, .. }) => {
                self.known.narrow = narrow.unwrap_or(self.known.narrow);
                Ok(())
            }
        }
    }

    #[inline]
    pub(in crate::flatten) fn end(self) -> Matched<usize> {
        if self.cursor.is_at_end() { Ok(self.slot) } else { Err(self.known.differs()) }
    }
}

impl Matcher<'_, '_> {
    #[inline]
    pub(in crate::flatten) fn float(self, scalar: Scalar<'_>) -> Matched<usize> {
        let Matcher { known, at, slot } = self;
        let put = match (&mut known.slots, scalar) {
            (Slots::F64(slots), Scalar::F64(value)) if at == LEAF => put(slots, slot, Some(value)),
            (Slots::F32(slots), Scalar::F32(value)) if at == LEAF => put(slots, slot, Some(value)),
            _ => false,
        };
        // There was that slot.
        if put { Ok(slot + 1) } else { Matcher { known, at, slot }.other_float(scalar) }
    }

    /// Out of line, because [`scalar`](Self::scalar) is compiled into each place that calls it.
    #[inline(never)]
    fn other_float(self, scalar: Scalar<'_>) -> Matched<usize> {
        self.scalar(scalar)
    }

    #[inline(always)]
    pub(in crate::flatten) fn scalar(self, scalar: Scalar<'_>) -> Matched<usize> {
        let Matcher { known, at, slot } = self;
        if at == LEAF
            && let Slots::Leaves(slots) = &mut known.slots
            && put(slots, slot, Some(scalar.into()))
        {
            return Ok(slot + 1); // there was that slot
        }
        known.put(at, slot, scalar)
    }

    pub(in crate::flatten) fn display(self, value: fmt::Arguments<'_>) -> Matched<usize> {
        match text_of(value) {
            Some(text) => self.scalar(Scalar::Str(&text)),
            None => Err(self.known.perhaps()),
        }
    }
}
