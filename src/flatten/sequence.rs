//! A whole sequence at once: numbers, and structs of numbers, are expected to look like the last element.
//!
//! The recording takes the first element, and those that differ. If it met nothing in the first that owns memory, what lies
//! between is [matched](super::matching) against the nodes that were just recorded, in batches, with the leaves written in
//! place. An element that turns out to be different has been serialized in part by then, and is serialized again. That is
//! seen by `Serialize` implementations that give something only once: they are told from others as far as they can be, and
//! [`Flattener::serialize_once`] asks nobody twice.
//!
//! [`Flattener::serialize_once`]: crate::Flattener::serialize_once

use serde::Serialize;

use crate::error::{Error, Mismatch, Result};
use crate::leaf::Scalar;
use crate::leaf_type::Emit;
use crate::model::{Leaf, Node, NodeKind, Rigid};
use crate::rigid::{RUN, WINDOW};
use crate::sink::{Kinds, Leaves, Sink};
use crate::stack;

use super::compound::Compound;
use super::matching::{Difference, Fill, Known, Parted, RigidRun, fill_slot, put_rigid};
use super::recording::{Recorded, Recording};
use super::scalar::{ScalarTo, scalar_leaf};
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
    /// An element that is perhaps different.
    Parted(T, Difference),
}

impl Compound<'_> {
    /// Records the elements of a whole sequence.
    pub(super) fn elements<I: Iterator>(&mut self, mut items: I) -> Result<()>
    where
        I::Item: Serialize,
    {
        while let Some(item) = items.next() {
            let owning = self.recording.owning;
            self.child(&item)?;
            let is_plain = self.recording.owning == owning;
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
                    _ if !is_plain => break,
                    _ => self.equals(template, count, &mut items),
                };
                let matched = self.children - before;
                match batch {
                    Batch::Matched if matched == 0 => break,
                    Batch::Matched if before == 1 && leaves <= BATCH => {
                        self.make_room(items.size_hint().0);
                    }
                    Batch::Matched => {}
                    Batch::Parted(item, difference) => {
                        self.once_more(&item, template, difference)?;
                    }
                }
            }
        }
        Ok(())
    }
}

impl Compound<'_> {
    /// Makes room for the leaves of so many elements that may still come, as far as that is believed: the first ones look
    /// like each other, or one is so large that it should not be moved again. A new vector gives back what did not come; a
    /// buffer keeps it.
    fn make_room(&mut self, count: usize) {
        if let Some((template, _)) = self.expected() {
            let own = self.recording.builder.nodes[template].leaves;
            self.recording.leaves.leaves_mut().reserve(count.saturating_mul(own), ROOM);
        }
    }

    /// Takes up to `count` scalars for as many leaves.
    fn scalars<I: Iterator>(&mut self, count: usize, items: &mut I) -> Batch<I::Item>
    where
        I::Item: Serialize,
    {
        let compact = self.recording.is_compact();
        let count = count.min(BATCH).min(items.size_hint().1.unwrap_or(BATCH));
        let (matched, different) = match &mut self.recording.leaves {
            Sink::F64(leaves) => put_scalars(leaves, compact, count, items),
            Sink::F32(leaves) => put_scalars(leaves, compact, count, items),
            Sink::Leaves(leaves) => put_scalars(leaves, compact, count, items),
            Sink::Other(leaves) => push_scalars(&mut **leaves, compact, count, items),
        };
        self.repeat(matched);
        match different {
            Some(item) => Batch::Parted(item, Difference::Unknown),
            None => Batch::Matched,
        }
    }

    /// Takes up to `count` elements that equal the node at `template`, if that has a fixed layout.
    fn equals<I: Iterator>(
        &mut self,
        template: usize,
        count: usize,
        items: &mut I,
    ) -> Batch<I::Item>
    where
        I::Item: Serialize,
    {
        let Recording { builder, leaves, .. } = &*self.recording;
        // Nothing else is worth the room of a batch.
        if let Sink::Other(_) = leaves {
            return Batch::Matched;
        }
        let Some(layout) = Rigid::of(builder.subtree(template)) else {
            self.guesses.wrong += 1;
            return Batch::Matched;
        };
        let batch = (BATCH / layout.leaves.max(1)).max(1);
        // Where none are left, one slot too many would move all leaves to another place.
        let count = count.min(batch).min(items.size_hint().1.unwrap_or(batch));
        if count < RUN {
            return Batch::Matched;
        }
        let mut leaves = self.recording.leaves.take();
        let known = Known {
            shapes: self.recording.builder.shapes(),
            options: self.recording.options(),
            ignore_statics: false,
            arrivals: None,
            depth_left: self.depth_left(template),
            kinds: Kinds::taken_for(leaves.leaves().kind()),
            parted: Parted::default(),
        };
        let (put, different) = match &mut leaves {
            Sink::F64(leaves) => put_elements(&known, &layout, leaves, count, items),
            Sink::Leaves(leaves) => put_elements(&known, &layout, leaves, count, items),
            other => {
                let mut batch = Vec::new();
                let put = put_elements(&known, &layout, &mut batch, count, items);
                let leaves = other.leaves_mut();
                let all = batch.into_iter().all(|leaf: Leaf| leaves.push_leaf(leaf));
                debug_assert!(all, "a leaf of another kind");
                put
            }
        };
        self.recording.leaves = leaves;
        self.repeat(put);
        match different {
            Some((item, difference)) => Batch::Parted(item, difference),
            None => Batch::Matched,
        }
    }

    /// Records an element that was serialized in part.
    #[cold]
    fn once_more<T: Serialize>(
        &mut self,
        item: &T,
        template: usize,
        difference: Difference,
    ) -> Result<()> {
        self.guesses.wrong += 1;
        let place = self.place();
        let result = stack::grow!(item.serialize(Walker(place)));
        let agrees = match (&result, difference) {
            // It was different before.
            (Ok(Recorded::Same), Difference::After(_)) => false,
            (Ok(Recorded::New(found)), Difference::After(leaves) | Difference::Unseen(leaves)) => {
                self.recording.builder.agree(template, *found, leaves)
            }
            _ => true,
        };
        self.add(result)?;
        if agrees { Ok(()) } else { Err(Error::protocol(GAVE_LESS)) }
    }
}

/// Puts up to `count` scalars behind other leaves; says how many, and which is something else.
fn put_scalars<L: Emit, I: Iterator>(
    leaves: &mut Vec<L>,
    compact: bool,
    count: usize,
    items: &mut I,
) -> (usize, Option<I::Item>)
where
    I::Item: Serialize,
{
    let first = leaves.len();
    leaves.resize_with(first + count, L::filler);
    let (mut put, mut different) = (0, None);
    for slot in leaves.iter_mut().skip(first) {
        let Some(item) = items.next() else { break };
        match scalar_leaf(&item, compact) {
            Ok(leaf) => fill_slot(slot, leaf),
            Err(Mismatch) => {
                different = Some(item);
                break;
            }
        }
        put += 1;
    }
    leaves.truncate(first + put);
    (put, different)
}

/// [`put_scalars`], one by one.
fn push_scalars<I: Iterator>(
    leaves: &mut dyn Leaves,
    compact: bool,
    count: usize,
    items: &mut I,
) -> (usize, Option<I::Item>)
where
    I::Item: Serialize,
{
    let (first, mut put) = (leaves.len(), 0);
    while put < count
        && let Some(item) = items.next()
    {
        let then = |scalar: Scalar<'_>| match leaves.push_scalar(scalar) {
            true => Ok(()),
            false => Err(Mismatch),
        };
        if item.serialize(ScalarTo { compact, then }).is_err() {
            leaves.truncate(first + put);
            return (put, Some(item));
        }
        put += 1;
    }
    (put, None)
}

/// Puts up to `count` elements of a fixed layout behind other leaves; says how many, and which is perhaps different.
fn put_elements<L: Emit, I: Iterator>(
    known: &Known<'_>,
    layout: &Rigid,
    leaves: &mut Vec<L>,
    count: usize,
    items: &mut I,
) -> (usize, Option<(I::Item, Difference)>)
where
    I::Item: Serialize,
{
    let first = leaves.len();
    let end = first + count * layout.leaves;
    // Where there is room, a window fits behind the last of many elements too.
    let spare = if end - first < WINDOW { 0 } else { WINDOW };
    leaves.resize_with(leaves.capacity().clamp(end, end + spare), L::filler);
    let slots = Fill::<_, false>(leaves.get_mut(first..).unwrap_or_default().iter_mut());
    let RigidRun { put, different, .. } = put_rigid(known, layout, slots, count, items);
    leaves.truncate(first + put * layout.leaves);
    (put, different)
}
