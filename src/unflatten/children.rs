//! The children of a compound, one after another.

use crate::model::NodeKind;

use super::cursor::{Cursor, Found, LEAF, Parent, Place};

/// The place of the next child, if there is one.
pub(super) struct NextChild<'de> {
    /// It is in the current run.
    pub(super) place: Place<'de>,
    pub(super) found: Found,
    /// How many children are left of the run.
    pub(super) left: usize,
    /// How many children are in the later runs.
    pub(super) after: usize,
}

impl<'de> NextChild<'de> {
    /// The first child of the node at the cursor.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn of(cursor: &Cursor<'de>) -> Self {
        let node = cursor.node();
        let rest = &cursor.place.rest[1..]; // a cursor is always at a node
        let map = cursor.place.map + usize::from(node.kind == NodeKind::Map);
        let place = Place { rest, leaf: cursor.place.leaf, map };
        let children = node.children;
        match rest.first() {
            Some(run) if children > 0 => {
                let (left, after) = (run.repeat, children - run.repeat); // invariant 2 of the encoding
                NextChild { place, found: cursor.found_of(run.kind), left, after }
            }
            _ => NextChild { place, found: LEAF, left: 0, after: 0 },
        }
    }

    /// The place of the cursor itself, as the only child.
    pub(super) fn only(cursor: &Cursor<'de>) -> Self {
        NextChild { place: cursor.place, found: cursor.found, left: 1, after: 0 }
    }

    /// Goes on to the next run, if there is one.
    #[cfg_attr(not(debug_assertions), inline)]
    fn turn(&mut self, cursor: &mut Cursor<'de>, parent: &Parent) -> bool {
        cursor.back_to(parent);
        match self.place.rest.first() {
            Some(run) if self.after > 0 => {
                self.place.rest = self.place.rest.get(run.span..).unwrap_or_default();
                let Some(run) = self.place.rest.first() else { return false };
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
        cursor.place = self.place;
        cursor.found = self.found;
        cursor.room.newtypes = 0;
        self.pass(1);
    }

    /// Passes over so many children of the run, which has them.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn pass(&mut self, count: usize) {
        if let Some(run) = self.place.rest.first() {
            self.left -= count;
            self.place.leaf += count * run.leaves;
            self.place.map += count * run.maps;
        }
    }

    /// Passes over the next child, which is a leaf of the run.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn pass_leaf(&mut self) {
        self.left -= 1;
        self.place.leaf += 1; // at most the leaves
    }

    /// Passes over the next child, if there is one.
    pub(super) fn skip(&mut self, cursor: &mut Cursor<'de>, parent: &Parent) {
        if self.left > 0 || self.turn(cursor, parent) {
            self.pass(1);
        }
    }
}
