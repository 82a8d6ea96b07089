//! A whole sequence at once, and the values of a large map: each is expected to look like the last, and checked by the fast
//! walk.
//!
//! The recording takes the first element, and those that differ; what lies between is [matched](super::matching) against
//! the nodes that were just recorded, in batches, with the leaves written in place. An element that turns out to be
//! different has been serialized in part by then, and is serialized again. That is seen by `Serialize` implementations
//! that give something only once: they are told from others as far as they can be, and [`Flattener::serialize_once`]
//! asks nobody twice.
//!
//! [`Flattener::serialize_once`]: crate::Flattener::serialize_once

use std::{iter, mem};

use serde::Serialize;

use crate::error::{Error, Mismatch, Result};
use crate::leaf_type::Emit;
use crate::model::{Node, NodeKind};
use crate::rigid::WINDOW;
use crate::stack;

use super::compound::Compound;
use super::matching::{
    Append, Fill, Known, Matcher, Parted, RigidRun, Slots, fill_slot, put_rigid,
};
use super::recording::{Recorded, Recording};
use super::scalar::scalar_leaf;
use super::serializer::{Siblings, Walker};

/// Leaves that are made room for at once, or those of one element.
const BATCH: usize = 2048;

/// Bytes of leaves that an iterator may claim to give before it gave them. More would not help: so large a vector is memory
/// that glibc maps anew each time, and moves without copying as it grows.
const ROOM: usize = 32 << 20;

pub(super) const GAVE_LESS: &str = "a `Serialize` implementation gave less when it was asked again";

/// What a batch came to.
enum Batch<T> {
    /// All that could be expected, or all there was.
    Matched,
    /// An element that is different, of which so many leaves were as expected, where that is known.
    Parted(T, Option<usize>),
}

impl<L: Emit> Compound<'_, L> {
    /// Records the elements of a whole sequence.
    pub(super) fn elements<I: Iterator>(&mut self, mut items: I) -> Result<()>
    where
        I::Item: Serialize,
    {
        while let Some(item) = items.next() {
            self.child(&item)?;
            while self.guesses.pay()
                && let Some((template, count)) = self.expected()
            {
                let before = self.children;
                let Node { kind, leaves, .. } = self.recording.builder.nodes[template];
                if before == 1 && leaves > BATCH {
                    self.make_room(items.size_hint().0);
                }
                let batch = match kind {
                    NodeKind::Leaf => self.scalars(count, &mut items),
                    _ => self.equals(template, count, &mut items),
                };
                let matched = self.children - before;
                match batch {
                    Batch::Matched if matched == 0 => break,
                    Batch::Matched if before == 1 && leaves <= BATCH => {
                        self.make_room(items.size_hint().0);
                    }
                    Batch::Matched => {}
                    Batch::Parted(item, leaves) => self.once_more(&item, template, leaves)?,
                }
            }
        }
        Ok(())
    }

    /// Records a child that is one of many and probably equals the last: the value of a map.
    pub(super) fn child_like_the_last<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        /// The values of smaller maps mostly differ: their keys are names.
        const MANY: usize = 8;
        if self.children >= MANY
            && self.guesses.pay()
            && let Some((template, _)) = self.expected()
            && self.recording.builder.nodes[template].kind != NodeKind::Leaf
        {
            return match self.equals(template, 1, &mut iter::once(value)) {
                Batch::Matched => Ok(()),
                Batch::Parted(value, leaves) => self.once_more(&value, template, leaves),
            };
        }
        self.child_in(false, value)
    }
}

impl<L: Emit> Compound<'_, L> {
    /// Makes room for the leaves of so many elements that may still come, as far as that is believed: the first ones look
    /// like each other, or one is so large that it should not be moved again. A new vector gives back what did not come; a
    /// buffer keeps it.
    fn make_room(&mut self, count: usize) {
        if let Some((template, _)) = self.expected() {
            let own = self.recording.builder.nodes[template].leaves;
            let most = ROOM / size_of::<L>().max(1);
            self.recording.leaves.reserve(count.saturating_mul(own).min(most));
        }
    }

    /// Takes up to `count` scalars for as many leaves.
    fn scalars<I: Iterator>(&mut self, count: usize, items: &mut I) -> Batch<I::Item>
    where
        I::Item: Serialize,
    {
        let compact = self.recording.is_compact();
        let count = count.min(BATCH).min(items.size_hint().1.unwrap_or(BATCH));
        let mut leaves = mem::take(&mut self.recording.leaves);
        let first = leaves.len();
        leaves.resize_with(first + count, L::filler);
        let (mut matched, mut batch) = (0, Batch::Matched);
        for slot in leaves.iter_mut().skip(first) {
            let Some(item) = items.next() else { break };
            match scalar_leaf(&item, compact) {
                Ok(leaf) => fill_slot(slot, leaf),
                Err(Mismatch) => {
                    batch = Batch::Parted(item, None);
                    break;
                }
            }
            matched += 1;
        }
        leaves.truncate(first + matched);
        self.recording.leaves = leaves;
        self.repeat(matched);
        batch
    }

    /// Takes up to `count` elements that equal the node at `template`.
    fn equals<I: Iterator>(
        &mut self,
        template: usize,
        count: usize,
        items: &mut I,
    ) -> Batch<I::Item>
    where
        I::Item: Serialize,
    {
        let mut leaves = mem::take(&mut self.recording.leaves);
        let Recording { builder, .. } = &*self.recording;
        let nodes = builder.subtree(template);
        let own = nodes.first().map_or(0, |node| node.leaves);
        let batch = (BATCH / own.max(1)).max(1);
        // Where none are left, one slot too many would move all leaves to another place.
        let count = count.min(batch).min(items.size_hint().1.unwrap_or(batch));
        let known = Known {
            shapes: builder.shapes(),
            options: self.recording.options(),
            ignore_statics: false,
            arrivals: None,
            depth_left: self.depth_left(template),
            parted: Parted::default(),
        };
        let first = leaves.len();
        let maps = nodes.first().map_or(0, |node| node.maps);
        // The slots of a large element, or of a row, are not worth being filled before they are.
        let is_row = matches!(nodes, [own, only] if (own.kind, only.kind) == (NodeKind::Seq, NodeKind::Leaf));
        let (matched, batch) = if maps == 0 && (own > BATCH || is_row && own > WINDOW) {
            match_elements(&known, nodes, Append::to(&mut leaves, count * own), count, items)
        } else {
            let end = first + count * own;
            // Where there is room, a window fits behind the last of many elements too.
            let spare = if end - first < WINDOW { 0 } else { WINDOW };
            leaves.resize_with(leaves.capacity().clamp(end, end + spare), L::filler);
            let slots = Fill::<_, false>(leaves.get_mut(first..).unwrap_or_default().iter_mut());
            match_elements(&known, nodes, slots, count, items)
        };
        leaves.truncate(first + matched * own);
        self.recording.maps += matched * maps;
        self.recording.leaves = leaves;
        self.repeat(matched);
        batch
    }

    /// Records an element that was serialized in part, and was as expected up to so many leaves.
    #[cold]
    fn once_more<T: Serialize>(
        &mut self,
        item: &T,
        template: usize,
        leaves: Option<usize>,
    ) -> Result<()> {
        self.guesses.wrong += 1;
        let place = self.place();
        let result = stack::grow!(item.serialize(Walker(place)));
        let agrees = match (&result, leaves) {
            (Err(_), _) | (_, None) => true,
            // It was different before.
            (Ok(Recorded::Same), Some(_)) => false,
            (Ok(Recorded::New(found)), Some(leaves)) => {
                self.recording.builder.agree(template, *found, leaves)
            }
        };
        self.add(result)?;
        if agrees { Ok(()) } else { Err(Error::protocol(GAVE_LESS)) }
    }
}

/// Takes up to `count` elements that equal a node; says how many.
fn match_elements<'t, S: Slots, I: Iterator>(
    known: &'t Known<'t>,
    nodes: &'t [Node],
    slots: S,
    count: usize,
    items: &mut I,
) -> (usize, Batch<I::Item>)
where
    I::Item: Serialize,
{
    let run = put_rigid(known, nodes, slots, count, items);
    let RigidRun { mut slots, put: mut matched, mut different } = run;
    while matched < count {
        let (item, parted) = match different.take() {
            Some((item, parted)) => (item, parted),
            None => match items.next() {
                Some(item) => (item, None),
                None => break,
            },
        };
        let before = slots.left();
        let place = match parted {
            Some(left) => Err(known.parted.at(left)),
            None => Matcher::new(known, nodes, slots),
        };
        match place.and_then(|place| item.serialize(place)) {
            Ok(rest) => slots = rest,
            Err(Mismatch) => {
                return (matched, Batch::Parted(item, known.parted.before(before)));
            }
        }
        matched += 1;
    }
    (matched, Batch::Matched)
}
