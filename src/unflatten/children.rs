//! The children of a compound, one after another.

use std::ops::Range;

use super::cursor::{Cursor, Found, LEAF, Place};

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
    /// The first child of the node at the cursor. If that is a map, it is one more before the child.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn of(cursor: &Cursor<'de>) -> Self {
        let node = cursor.node();
        let rest = &cursor.place.rest[1..]; // a cursor is always at a node
        let place = Place { rest, ..cursor.place };
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

    /// Goes on to the next run, if there is one. The cursor is in its structure.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn turn(&mut self, cursor: &Cursor<'de>) -> bool {
        let span = self.place.rest.first().map_or(0, |run| run.span());
        match self.place.rest.get(span..) {
            Some(rest @ [run, ..]) if self.after > 0 => {
                (self.place.rest, self.left) = (rest, run.repeat);
                self.after -= run.repeat; // the sum of these (invariant 2 of the encoding)
                self.found = cursor.found_of(run.kind);
                true
            }
            _ => false,
        }
    }

    /// Moves the cursor, which is in the structure, to the next child of the run, which has one.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn step_in_run(&mut self, cursor: &mut Cursor<'de>) {
        (cursor.place, cursor.found, cursor.room.newtypes) = (self.place, self.found, 0);
        self.pass(1);
    }

    /// Passes over `count` children of the run, which has at least as many.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn pass(&mut self, count: usize) {
        if let Some(run) = self.place.rest.first() {
            self.left -= count;
            self.place.leaf += count * run.leaves;
            self.place.map += count * run.maps;
        }
    }

    /// Takes this back.
    pub(super) fn pass_back(&mut self, count: usize) {
        if let Some(run) = self.place.rest.first() {
            self.left += count;
            self.place.leaf -= count * run.leaves; // these were added
            self.place.map -= count * run.maps;
        }
    }

    /// The children that are left of the run, if they are leaves.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn leaves(&self) -> Range<usize> {
        self.place.leaf..self.place.leaf + self.left
    }

    /// Passes over these.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn pass_leaves(&mut self) {
        self.place.leaf += self.left; // at most the leaves
        self.left = 0;
    }

    /// Passes over the next child, which is a leaf of the run.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn pass_leaf(&mut self) {
        self.left -= 1;
        self.place.leaf += 1; // at most the leaves
    }
}
