//! One node beside the node that it should be, and its children beside the runs that they should be.

use std::mem;

use serde::Serialize;

use crate::error::{Matched, Mismatch};
use crate::flatten::serializer::{Fields, Head, Siblings, Walker};
use crate::model::{Name, Node, NodeKind, Rigid};
use crate::node::is_name;
use crate::rigid::RUN;
use crate::stack;

use super::known::Known;
use super::rigid::{Difference, put_rigid};
use super::slots::Slots;

/// One node of a known structure, as a [`Walk`](crate::flatten::serializer::Walk).
pub(in crate::flatten) struct Matcher<'t, S> {
    pub(super) known: &'t Known<'t>,
    pub(super) kind: NodeKind,
    /// Begin with the node, of which there may be more, and all below it.
    pub(super) nodes: &'t [Node],
    pub(super) slots: S,
}

impl<'t, S: Slots> Matcher<'t, S> {
    #[inline]
    pub(in crate::flatten) fn new(
        known: &'t Known<'t>,
        nodes: &'t [Node],
        slots: S,
    ) -> Matched<Walker<Self>> {
        let kind = nodes.first().ok_or(Mismatch)?.kind;
        Ok(Walker(Matcher { known, kind, nodes, slots }))
    }

    #[inline]
    pub(super) fn mismatch<T>(&self) -> Matched<T> {
        Err(self.known.parted.at(self.slots.left()))
    }

    /// The node, if that is what is expected.
    #[inline]
    pub(super) fn expect(&self, head: Head) -> Matched<&'t Node> {
        if self.kind != head.kind {
            return self.mismatch();
        }
        let node = self.nodes.first().ok_or(Mismatch)?;
        if head.kind.is_named() {
            let shape = self.known.shapes.get(node.shape).ok_or(Mismatch)?;
            let same_variant = !head.kind.is_variant() || is_name(&shape.variant, head.variant);
            if !(same_variant && is_name(&shape.name, head.name)) {
                return self.mismatch();
            }
        }
        Ok(node)
    }

    #[inline]
    pub(super) fn children(self) -> Matched<MatchedSiblings<'t, S>> {
        let Matcher { known, kind, nodes, slots } = self;
        let own = nodes.get(..nodes.first().ok_or(Mismatch)?.span).ok_or(Mismatch)?;
        let (kind, nodes, end) = match own {
            [_, run, ..] => (run.kind, &own[1..], run.repeat),
            _ => (kind, own, 0),
        };
        Ok(MatchedSiblings { known, kind, nodes, position: 0, end, slots })
    }

    /// Whether the children are so many leaves, and nothing else.
    #[inline]
    pub(super) fn is_row(&self, count: usize) -> bool {
        matches!(self.nodes, [own, only, ..]
            if (own.span, only.kind, only.repeat) == (2, NodeKind::Leaf, count))
    }

    /// The children, where [they are so many leaves](Self::is_row).
    #[inline]
    pub(super) fn row(self, count: usize) -> Matched<MatchedSiblings<'t, S>> {
        let Matcher { known, nodes, slots, .. } = self;
        let nodes = nodes.get(1..2).ok_or(Mismatch)?;
        Ok(MatchedSiblings { known, kind: NodeKind::Leaf, nodes, position: 0, end: count, slots })
    }
}

/// The children of a node that has matched so far.
///
/// Few words, and few of them change: beyond some thousand accesses LLVM leaves a struct in memory, and a type with 64
/// fields asks for each of them 64 times.
pub(in crate::flatten) struct MatchedSiblings<'t, S> {
    pub(super) known: &'t Known<'t>,
    /// Of the current run: at hand, so that one check of it is enough for all its leaves.
    pub(super) kind: NodeKind,
    /// Begin with the current run, or with the parent if it has no children, and end with the parent; empty after a
    /// mismatch.
    pub(super) nodes: &'t [Node],
    /// Of the child that comes next, and of the one after the current run.
    pub(super) position: usize,
    pub(super) end: usize,
    pub(super) slots: S,
}

impl<'t, S: Slots> MatchedSiblings<'t, S> {
    #[inline]
    pub(super) fn next_run(&mut self) -> Matched<()> {
        let run = self.nodes.first().ok_or(Mismatch)?;
        let nodes = self.nodes.get(run.span..).ok_or(Mismatch)?;
        let run = nodes.first().ok_or(Mismatch)?;
        (self.kind, self.nodes) = (run.kind, nodes);
        self.end += run.repeat; // at most the number of children
        Ok(())
    }

    #[inline(always)]
    fn next<T: Serialize + ?Sized>(&mut self, kind: NodeKind, value: &T) -> Matched<()> {
        let MatchedSiblings { known, nodes, .. } = *self;
        let place = Walker(Matcher { known, kind, nodes, slots: mem::take(&mut self.slots) });
        let Ok(slots) = stack::grow!(value.serialize(place)) else { return self.lose() };
        self.slots = slots;
        self.position += 1;
        Ok(())
    }

    /// Takes what can be taken as [rigid elements](super::rigid), and the first that is different.
    #[inline]
    pub(super) fn rigid_elements<I: Iterator>(&mut self, items: &mut I) -> Matched<()>
    where
        I::Item: Serialize,
    {
        let MatchedSiblings { known, nodes, .. } = *self;
        let left = self.end - self.position; // never beyond the end
        let layout = if left < RUN { None } else { Rigid::of(nodes) };
        let Some(layout) = layout else { return Ok(()) };
        let slots = mem::take(&mut self.slots);
        let run = put_rigid(known, &layout, slots, left, items);
        self.slots = run.slots;
        self.position += run.put; // at most what was left
        match run.different {
            Some((_, Difference::After(leaves))) => {
                Err(known.parted.at(self.slots.left().saturating_sub(leaves)))
            }
            Some((item, _)) => self.child(&item),
            None => Ok(()),
        }
    }

    /// Whoever swallows a mismatch must not succeed.
    #[inline]
    pub(super) fn lose<T>(&mut self) -> Matched<T> {
        self.nodes = &[];
        Err(self.known.parted.somewhere())
    }
}

impl<S: Slots> Siblings for MatchedSiblings<'_, S> {
    type Ok = S;
    type Error = Mismatch;

    #[inline(always)]
    fn child<T: Serialize + ?Sized>(&mut self, value: &T) -> Matched<()> {
        if self.position == self.end && self.next_run().is_err() {
            self.known.parted.at(self.slots.left());
            return self.lose();
        }
        self.next(self.kind, value)
    }

    #[inline]
    fn end(self) -> Matched<S> {
        let last = self.nodes.first().is_some_and(|run| run.span == self.nodes.len());
        match last && self.position == self.end {
            true => Ok(self.slots),
            false => Err(self.known.parted.at(self.slots.left())),
        }
    }
}

/// The children of a sequence or tuple that has matched so far.
pub(in crate::flatten) struct MatchedElements<'t, S> {
    pub(super) siblings: MatchedSiblings<'t, S>,
    /// All are leaves, and so many as the value said: mostly a constant, so that nothing is left to check but the slots.
    pub(super) leaves: Option<usize>,
}

impl<S: Slots> Siblings for MatchedElements<'_, S> {
    type Ok = S;
    type Error = Mismatch;

    #[inline(always)]
    fn child<T: Serialize + ?Sized>(&mut self, value: &T) -> Matched<()> {
        match self.leaves {
            Some(count) if self.siblings.position < count => {
                self.siblings.next(NodeKind::Leaf, value)
            }
            _ => self.siblings.child(value),
        }
    }

    #[inline]
    fn end(self) -> Matched<S> {
        let MatchedElements { siblings, leaves } = self;
        match leaves {
            Some(count) if siblings.position == count && !siblings.nodes.is_empty() => {
                Ok(siblings.slots)
            }
            _ => siblings.end(),
        }
    }
}

/// The fields of a struct that has matched so far.
pub(in crate::flatten) struct MatchedFields<'t, S> {
    pub(super) siblings: MatchedSiblings<'t, S>,
    pub(super) fields: &'t [Name],
}

impl<S: Slots> Fields for MatchedFields<'_, S> {
    type Ok = S;
    type Error = Mismatch;

    #[inline(always)]
    fn field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Matched<()> {
        match self.fields.get(self.siblings.position) {
            Some(field) if is_name(field, name) => self.siblings.child(value),
            _ => self.siblings.lose(),
        }
    }

    #[inline]
    fn end(self) -> Matched<S> {
        self.siblings.end()
    }
}
