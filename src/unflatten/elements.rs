//! The children of a sequence or a tuple.

use std::marker::PhantomData;

use serde::de::{Deserialize, DeserializeSeed, SeqAccess};

use crate::error::{Error, Result};
use crate::node::NodeRef;
use crate::stack;

use super::place::{Place, under};
use super::source::{Context, Source};

/// The elements of a sequence, a tuple or the like.
pub(super) struct Elements<'a, 'r, S> {
    /// Where the parent stands among the nodes.
    parent: usize,
    /// The child that comes next, one of a run of which so many are left; the parent, if there are none.
    pub(super) next: Place<'a, 'r, S>,
    pub(super) left: usize,
    /// How many children are in the runs to come.
    after: usize,
}

impl<'a, 'r, S> Elements<'a, 'r, S> {
    /// In the context of the children.
    #[inline]
    pub(super) fn of(parent: NodeRef<'a>, context: Context<'a, 'r>, source: &'r mut S) -> Self {
        let (node, left) = parent.first_child().map_or((parent, 0), |node| (node, node.repeat()));
        let after = parent.num_children() - left; // one of its runs (invariant 2 of the encoding)
        let next = Place::new(node, context, source);
        Elements { parent: parent.index(), next, left, after }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.left + self.after
    }

    #[inline]
    fn next_run(&mut self) -> bool {
        if self.after == 0 {
            return false;
        }
        let run = self.next.node.turn_to(self.next.node.next_run());
        (self.next.kind, self.left) = (run.kind, run.repeat);
        self.after -= run.repeat; // `after` is the sum of these (invariant 2 of the encoding)
        true
    }

    #[cold]
    fn under(&mut self, error: Error) -> Error {
        let mut parent = self.next.node;
        let children = parent.turn_to(self.parent).children;
        let came = children - self.len(); // this one among them
        self.next.node.go_on();
        under(error, parent, came - 1)
    }
}

impl<'a, 'de, S: Source<'a, 'de>> SeqAccess<'de> for &mut Elements<'a, '_, S> {
    type Error = Error;

    #[inline(always)]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        if self.left == 0 && !self.next_run() {
            return Ok(None);
        }
        self.left -= 1; // runs have at least one
        match stack::grow(|| seed.deserialize(self.next.lend())) {
            Ok(value) => {
                self.next.node.go_on();
                Ok(Some(value))
            }
            Err(error) => Err(self.under(error)),
        }
    }

    // Inlined, because a value that is handed up through memory level by level costs more than making it.
    #[inline(always)]
    fn next_element<T: Deserialize<'de>>(&mut self) -> Result<Option<T>> {
        self.next_element_seed(PhantomData)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.len())
    }
}
