//! One node beside the node that it should be, and its children beside the runs that they should be.

use std::cell::Cell;
use std::mem;

use serde::Serialize;

use crate::error::Mismatch;
use crate::flatten::serializer::{Fields, Head, Siblings, Walker};
use crate::model::{Arrival, Name, Node, Options, Shape};
use crate::stack;

use super::slots::{Matched, Parted, Slots};

/// What holds for the whole structure.
pub(in crate::flatten) struct Known<'t> {
    pub(in crate::flatten) shapes: &'t [Shape],
    pub(in crate::flatten) options: Options,
    pub(in crate::flatten) ignore_statics: bool,
    /// Compounds that may stand inside each other in an opaque leaf, wherever that is.
    pub(in crate::flatten) depth_left: usize,
    /// Maps may come in any order, probably the remembered ones, of which these are to come; if not, in order only.
    pub(in crate::flatten) arrivals: Option<Cell<&'t [Arrival]>>,
    pub(in crate::flatten) parted: Parted,
}

/// One node of a known structure, as a [`Walk`](crate::flatten::serializer::Walk).
pub(in crate::flatten) struct Matcher<'t, S> {
    pub(super) known: &'t Known<'t>,
    /// How often it is repeated says nothing about this one.
    pub(super) node: &'t Node,
    /// Begin with the node and all below it.
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
        let node = nodes.first().ok_or(Mismatch)?;
        Ok(Walker(Matcher { known, node, nodes, slots }))
    }

    #[inline]
    pub(super) fn mismatch<T>(&self) -> Matched<T> {
        Err(self.known.parted.at(self.slots.left()))
    }

    /// The node, if that is what is expected.
    #[inline]
    pub(super) fn expect(&self, head: Head) -> Matched<&'t Node> {
        let node = self.node;
        if node.kind != head.kind {
            return self.mismatch();
        }
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
        let Matcher { known, node, nodes, slots } = self;
        let nodes = nodes.get(..node.span).ok_or(Mismatch)?;
        let (node, end) = nodes.get(1).map_or((node, 0), |run| (run, run.repeat));
        Ok(MatchedSiblings { known, nodes, run: 1, node, position: 0, end, slots })
    }
}

/// A name of ours was borrowed from the very type that is walked, unless the structure was read from somewhere.
#[inline(always)]
fn is_name(known: &Name, name: &'static str) -> bool {
    let known: &str = known;
    known.len() == name.len() && (known.as_ptr() == name.as_ptr() || known == name)
}

/// The children of a node that has matched so far.
///
/// Few words, and few of them change: beyond some thousand accesses LLVM leaves a struct in memory, and a type with 64
/// fields asks for each of them 64 times.
pub(in crate::flatten) struct MatchedSiblings<'t, S> {
    pub(super) known: &'t Known<'t>,
    /// The parent and all below it.
    pub(super) nodes: &'t [Node],
    /// The current run: where it stands, what it is, and the position at which it ends.
    pub(super) run: usize,
    pub(super) node: &'t Node,
    pub(super) end: usize,
    /// Of the child that comes next.
    pub(super) position: usize,
    pub(super) slots: S,
}

impl<'t, S: Slots> MatchedSiblings<'t, S> {
    #[inline]
    pub(super) fn mismatch<T>(&self) -> Matched<T> {
        Err(self.known.parted.at(self.slots.left()))
    }

    #[inline]
    pub(super) fn next_run(&mut self) -> Matched<()> {
        let next = self.run.saturating_add(self.node.span);
        let node = self.nodes.get(next).ok_or(Mismatch)?;
        (self.run, self.node) = (next, node);
        self.end += node.repeat; // at most the number of children
        Ok(())
    }

    /// The current run, and what follows it.
    #[inline(always)]
    pub(super) fn run(&self) -> &'t [Node] {
        self.nodes.get(self.run..).unwrap_or_default()
    }

    #[inline]
    fn is_complete(&self) -> bool {
        self.run != Self::LOST
            && self.nodes.first().is_some_and(|parent| parent.children == self.position)
    }

    /// In place of the current run after a mismatch: whoever swallows that must not succeed.
    const LOST: usize = usize::MAX;

    #[inline]
    pub(super) fn lose<T>(&mut self) -> Matched<T> {
        self.run = Self::LOST;
        Err(self.known.parted.somewhere())
    }

    #[inline(always)]
    fn step<T: Serialize + ?Sized>(&mut self, value: &T) -> Matched<()> {
        if self.position == self.end && self.next_run().is_err() {
            return self.lose();
        }
        let (known, node, nodes) = (self.known, self.node, self.run());
        let place = Walker(Matcher { known, node, nodes, slots: mem::take(&mut self.slots) });
        let Ok(slots) = stack::grow(|| value.serialize(place)) else { return self.lose() };
        self.slots = slots;
        self.position += 1;
        Ok(())
    }
}

impl<S: Slots> Siblings for MatchedSiblings<'_, S> {
    type Ok = S;
    type Error = Mismatch;

    #[inline(always)]
    fn child<T: Serialize + ?Sized>(&mut self, value: &T) -> Matched<()> {
        if self.is_complete() {
            self.known.parted.at(self.slots.left());
            return self.lose();
        }
        self.step(value)
    }

    #[inline]
    fn end(self) -> Matched<S> {
        match self.is_complete() {
            true => Ok(self.slots),
            false => self.mismatch(),
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
            Some(field) if is_name(field, name) => self.siblings.step(value),
            _ => self.siblings.lose(),
        }
    }

    #[inline]
    fn end(self) -> Matched<S> {
        self.siblings.end()
    }
}
