//! The children of a compound, one after another.

use std::ops::Range;

use super::cursor::{Cursor, Found, LEAF, Location};

/// The location of the next child, if there is one.
pub(super) struct NextChild<'de> {
    /// It is in the current run.
    pub(super) location: Location<'de>,
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
        let rest = &cursor.location.rest[1..]; // a cursor is always at a node
        let location = Location { rest, ..cursor.location };
        let children = node.children;
        match rest.first() {
            Some(run) if children > 0 => {
                let (left, after) = (run.repeat, children - run.repeat); // invariant 2 of the encoding
                NextChild { location, found: cursor.found_of(run.kind), left, after }
            }
            _ => NextChild { location, found: LEAF, left: 0, after: 0 },
        }
    }

    /// The location of the cursor itself, as the only child.
    pub(super) fn only(cursor: &Cursor<'de>) -> Self {
        NextChild { location: cursor.location, found: cursor.found, left: 1, after: 0 }
    }

    /// Goes on to the next run, if there is one. The cursor is in its structure.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn turn(&mut self, cursor: &Cursor<'de>) -> bool {
        let span = self.location.rest.first().map_or(0, |run| run.span());
        match self.location.rest.get(span..) {
            Some(rest @ [run, ..]) if self.after > 0 => {
                (self.location.rest, self.left) = (rest, run.repeat);
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
        (cursor.location, cursor.found, cursor.depth.newtypes) = (self.location, self.found, 0);
        self.pass(1);
    }

    /// Passes over `count` children of the run, which has at least as many.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn pass(&mut self, count: usize) {
        if let Some(run) = self.location.rest.first() {
            self.left -= count;
            self.location.leaf += count * run.leaves;
            self.location.map += count * run.maps;
        }
    }

    /// Takes this back.
    pub(super) fn pass_back(&mut self, count: usize) {
        if let Some(run) = self.location.rest.first() {
            self.left += count;
            self.location.leaf -= count * run.leaves; // these were added
            self.location.map -= count * run.maps;
        }
    }

    /// The children that are left of the run, if they are leaves.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn leaves(&self) -> Range<usize> {
        self.location.leaf..self.location.leaf + self.left
    }

    /// Passes over these.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn pass_leaves(&mut self) {
        self.location.leaf += self.left; // at most the leaves
        self.left = 0;
    }

    /// Passes over the next child, which is a leaf of the run.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn pass_leaf(&mut self) {
        self.left -= 1;
        self.location.leaf += 1; // at most the leaves
    }
}
