//! The children of a compound, one after another.

use crate::model::{Node, NodeKind};

use super::cursor::{Cursor, Found, LEAF, Parent};

/// The place of the next child, if there is one.
pub(super) struct NextChild<'de> {
    /// The stored nodes from the current run on.
    pub(super) rest: &'de [Node],
    pub(super) found: Found,
    /// How many children are left of the run.
    pub(super) left: usize,
    /// How many children are in the later runs.
    pub(super) after: usize,
    pub(super) leaf: usize,
    pub(super) map: usize,
}

impl<'de> NextChild<'de> {
    /// The first child of the node at the cursor.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn of(cursor: &Cursor<'de>) -> Self {
        let node = cursor.node();
        let rest = &cursor.rest[1..]; // a cursor is always at a node
        let map = cursor.map + usize::from(node.kind == NodeKind::Map);
        let (leaf, children) = (cursor.leaf, node.children);
        match rest.first() {
            Some(run) if children > 0 => {
                let (left, after) = (run.repeat, children - run.repeat); // invariant 2 of the encoding
                NextChild { rest, found: cursor.found_of(run.kind), left, after, leaf, map }
            }
            _ => NextChild { rest, found: LEAF, left: 0, after: 0, leaf, map },
        }
    }

    /// The place of the cursor itself, as the only child.
    pub(super) fn only(cursor: &Cursor<'de>) -> Self {
        let Cursor { rest, found, leaf, map, .. } = *cursor;
        NextChild { rest, found, left: 1, after: 0, leaf, map }
    }

    /// Goes on to the next run, if there is one.
    #[cfg_attr(not(debug_assertions), inline)]
    fn turn(&mut self, cursor: &mut Cursor<'de>, parent: &Parent) -> bool {
        cursor.back_to(parent);
        match self.rest.first() {
            Some(run) if self.after > 0 => {
                self.rest = self.rest.get(run.span..).unwrap_or_default();
                let Some(run) = self.rest.first() else { return false };
                self.left = run.repeat;
                self.after -= run.repeat; // the sum of these (invariant 2 of the encoding)
                self.found = cursor.found_of(run.kind);
                true
            }
            _ => false,
        }
    }

    /// Moves the cursor to the next child, if there is one.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn step(&mut self, cursor: &mut Cursor<'de>, parent: &Parent) -> bool {
        if self.left == 0 && !self.turn(cursor, parent) {
            return false;
        }
        self.step_in_run(cursor, parent);
        true
    }

    /// The same for a child of the run, which has one.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn step_in_run(&mut self, cursor: &mut Cursor<'de>, parent: &Parent) {
        cursor.back_to(parent);
        cursor.rest = self.rest;
        cursor.found = self.found;
        cursor.newtypes = 0;
        cursor.leaf = self.leaf;
        cursor.map = self.map;
        self.pass(1);
    }

    /// Passes over so many children of the run, which has them.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn pass(&mut self, count: usize) {
        if let Some(run) = self.rest.first() {
            self.left -= count;
            self.leaf += count * run.leaves;
            self.map += count * run.maps;
        }
    }

    /// Passes over the next child, if there is one.
    pub(super) fn skip(&mut self, cursor: &mut Cursor<'de>, parent: &Parent) {
        if self.left > 0 || self.turn(cursor, parent) {
            self.pass(1);
        }
    }
}
