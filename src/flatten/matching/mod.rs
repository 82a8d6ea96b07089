//! A value beside a structure that it is known or expected to have: nothing is recorded, leaves go straight to their
//! slots.
//!
//! This is the fast walk. It finds that a value has a structure or that it has another one, not what is different: that
//! takes the [recording](super::recording), which walks the value again. All state travels by value and the error has no
//! size, so that a walk over plain data stays in registers.

mod slots;
mod known;
mod rigid;
mod matcher;
mod entries;

use std::cell::Cell;

use serde::Serialize;

use crate::error::{Matched, Mismatch};
use crate::leaf::Scalar;
use crate::leaf_type::Emit;
use crate::model::{Labels, Limits, NodeKind, TreeDef, Value};
use crate::sink::Kinds;
use crate::stack;

use super::rules::Keep;
use super::serializer::{Head, Siblings, Walk};

use entries::{MatchedEntries, match_value};
use matcher::{MatchedElements, MatchedFields};

pub(super) use known::Known;
use matcher::Matcher;
pub(super) use rigid::{Difference, RigidRun, put_rigid};
use slots::Slots;
pub(super) use slots::{Fill, Parted, fill_slot};

impl<'t, S: Slots> Walk for Matcher<'t, S> {
    type Ok = S;
    type Error = Mismatch;
    type Sequence = MatchedElements<'t, S>;
    type Fields = MatchedFields<'t, S>;
    type Entries = MatchedEntries<'t, S>;

    #[inline(always)]
    fn leaf(self, scalar: Scalar<'_>) -> Matched<S> {
        match self.kind {
            NodeKind::Leaf => self.slots.put(scalar),
            _ => self.mismatch(),
        }
    }

    #[inline]
    fn none(self) -> Matched<S> {
        self.atom(Head::new(NodeKind::None))
    }

    #[inline]
    fn some<T: Serialize + ?Sized>(self, value: &T) -> Matched<S> {
        self.wrapper(Head::new(NodeKind::Some), value)
    }

    #[inline]
    fn unit(self) -> Matched<S> {
        self.atom(Head::new(NodeKind::Unit))
    }

    #[inline]
    fn atom(self, head: Head) -> Matched<S> {
        self.expect(head)?;
        Ok(self.slots)
    }

    #[inline]
    fn wrapper<T: Serialize + ?Sized>(self, head: Head, value: &T) -> Matched<S> {
        self.expect(head)?;
        let mut inside = self.children()?;
        inside.child(value)?;
        inside.end()
    }

    fn keep<T: Serialize + ?Sized>(self, keep: Keep, value: &T) -> Matched<S> {
        let Matcher { known, kind, nodes, slots } = self;
        match (keep, kind) {
            (Keep::Static, NodeKind::Static) if known.ignore_statics => Ok(slots),
            (Keep::Static, NodeKind::Static) => {
                let node = nodes.first().ok_or(Mismatch)?;
                let shape = known.shapes.get(node.shape).ok_or(Mismatch)?;
                let Labels::Static(expected) = &shape.labels else { return Err(Mismatch) };
                match match_value(expected, known, value) {
                    Ok(()) => Ok(slots),
                    Err(Mismatch) => Err(known.parted.at(slots.left())),
                }
            }
            (Keep::Leaf, NodeKind::Leaf) => slots.put_opaque(|| {
                Value::recorded(value, known.of_opaque(), Limits::default().depth(known.depth_left))
                    .ok()
            }),
            _ => Err(Mismatch),
        }
    }

    #[inline]
    fn sequence(self, head: Head, count: Option<usize>) -> Matched<MatchedElements<'t, S>> {
        self.expect(head)?;
        match count {
            Some(count) if self.is_row(count) => {
                Ok(MatchedElements { siblings: self.row(count)?, leaves: Some(count) })
            }
            _ => Ok(MatchedElements { siblings: self.children()?, leaves: None }),
        }
    }

    #[inline]
    fn fields(self, head: Head, count: usize) -> Matched<MatchedFields<'t, S>> {
        let node = self.expect(head)?;
        match self.known.shapes.get(node.shape).map(|shape| &shape.labels) {
            // The count that derived code gives is a constant, so the checks of later positions fold away.
            Some(Labels::Fields(fields)) if fields.len() == count => {
                Ok(MatchedFields { siblings: self.children()?, fields })
            }
            // What a count says is not binding.
            _ => Err(self.known.parted.somewhere()),
        }
    }

    fn entries(self) -> Matched<MatchedEntries<'t, S>> {
        let node = self.expect(Head::new(NodeKind::Map))?;
        match self.known.shapes.get(node.shape).map(|shape| &shape.labels) {
            Some(Labels::Keys(keys)) => Ok(MatchedEntries::new(self.children()?, keys)),
            _ => Err(Mismatch),
        }
    }

    #[inline]
    fn collect<I: Iterator>(self, mut items: I) -> Matched<S>
    where
        I::Item: Serialize,
    {
        self.expect(Head::new(NodeKind::Seq))?;
        let compact = self.known.options.compact;
        if let [own, only, ..] = self.nodes
            && (own.span, only.kind) == (2, NodeKind::Leaf)
        {
            return self.slots.put_all(only.repeat, items, compact, &self.known.parted);
        }
        let mut siblings = self.children()?;
        siblings.rigid_elements(&mut items)?;
        for item in items {
            siblings.child(&item)?;
        }
        siblings.end()
    }

    #[inline]
    fn is_human_readable(&self) -> bool {
        !self.known.options.compact
    }
}

/// A treedef of a few bytes may claim any number of leaves: so many are believed before they were seen.
pub(super) const BELIEVED: usize = 1 << 20;

/// What to be strict about.
pub(super) struct Expectation {
    /// A static may have another value.
    pub(super) ignore_statics: bool,
    /// The entries of maps come in the order in which they stand.
    pub(super) in_order: bool,
}

/// Puts the leaves of a value into a buffer, in place of what was there, if it has that structure. If not, says how many
/// were as expected, where that is known.
pub(super) fn fill<L: Emit, T: Serialize + ?Sized>(
    treedef: &TreeDef,
    value: &T,
    buffer: &mut Vec<L>,
    Expectation { ignore_statics, in_order }: Expectation,
) -> Result<(), Option<usize>> {
    let encoding = &*treedef.encoding;
    let root = encoding.nodes.first().ok_or(None)?;
    let depth_left = stack::deepest(treedef.limits).checked_sub(root.depth as usize).ok_or(None)?;
    let options = encoding.options;
    let known = Known {
        shapes: &encoding.shapes,
        options,
        ignore_statics,
        depth_left,
        arrivals: (!in_order).then(|| Cell::new(treedef.arrivals())),
        kinds: Kinds::ALL,
        parted: Parted::default(),
    };
    if root.leaves > buffer.capacity().max(BELIEVED) {
        return Err(None);
    }
    buffer.resize_with(root.leaves, L::filler);
    let place = Matcher::new(&known, &encoding.nodes, Fill::<_, true>(buffer.iter_mut()));
    match place.and_then(|place| value.serialize(place)) {
        Ok(_) => Ok(()),
        Err(Mismatch) => Err(known.parted.before(root.leaves)),
    }
}
