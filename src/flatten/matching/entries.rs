//! The entries of a map beside those that it should have: in the same order, or found by their keys.

use std::cell::Cell;
use std::cmp::Ordering;
use std::{mem, slice};

use serde::Serialize;

use crate::error::{Matched, Mismatch};
use crate::flatten::scalar::ScalarTo;
use crate::flatten::serializer::{Entries, Siblings};
use crate::leaf::Scalar;
use crate::model::{Content, Node, Options, Value};
use crate::sink::Kinds;
use crate::stack;

use super::known::Known;
use super::matcher::{MatchedSiblings, Matcher};
use super::slots::{Compare, Parted, Slots};

/// The entries of a map that has matched so far.
pub(in crate::flatten) struct MatchedEntries<'t, S: Slots> {
    siblings: MatchedSiblings<'t, S>,
    keys: &'t [Value],
    /// The entry whose key came last; or, if its value came too, the one that is expected next.
    position: usize,
    awaits_value: bool,
    disorder: Option<Box<Disorder<'t, S>>>,
}

/// Entries that come in an order of their own, from the first on that was not the next one.
struct Disorder<'t, S: Slots> {
    /// The entries before this one came in order.
    first: usize,
    /// Which of the others came.
    came: Vec<bool>,
    left: usize,
    /// The runs of the others: the position and the leaf with which each begins, counted from `first`.
    runs: Vec<(usize, usize, &'t [Node])>,
    region: S::Region,
    /// The order in which all entries came when the structure was recorded, if it is this map's.
    expected: &'t [usize],
}

impl<'t, S: Slots> MatchedEntries<'t, S> {
    pub(super) fn new(siblings: MatchedSiblings<'t, S>, keys: &'t [Value]) -> Self {
        MatchedEntries { siblings, keys, position: 0, awaits_value: false, disorder: None }
    }

    fn lose<T>(&mut self) -> Matched<T> {
        self.siblings.known.parted.in_a_map();
        self.siblings.lose()
    }

    /// Finds the entry of a key that is not the next one.
    #[cold]
    fn find<T: Serialize + ?Sized>(&mut self, key: &T) -> Matched<()> {
        let known = self.siblings.known;
        let compact = known.options.compact;
        let Some(arrivals) = &known.arrivals else { return Err(Mismatch) };
        let disorder = match &mut self.disorder {
            Some(disorder) => disorder,
            none => {
                let mut disorder = Disorder::new(&mut self.siblings, self.position)?;
                if let Some((arrival, rest)) = arrivals.get().split_first() {
                    disorder.expected = &arrival.order;
                    arrivals.set(rest);
                }
                none.insert(Box::new(disorder))
            }
        };
        let seen = self.keys.len() - disorder.left;
        if let Some(&position) = disorder.expected.get(seen)
            && self.keys.get(position).is_some_and(|next| match_value(next, known, key).is_ok())
        {
            self.position = position;
            return Ok(());
        }
        let mut range = disorder.first..self.keys.len();
        while let Some(candidate) =
            self.keys.get(range.start + range.len() / 2).filter(|_| !range.is_empty())
        {
            let then = |scalar: Scalar<'_>| candidate.order_of(scalar).ok_or(Mismatch);
            let middle = range.start + range.len() / 2;
            match key.serialize(ScalarTo { compact, then })? {
                Ordering::Less => range.end = middle,
                Ordering::Greater => range.start = middle + 1,
                Ordering::Equal => {
                    self.position = middle;
                    return Ok(());
                }
            }
        }
        Err(Mismatch)
    }
}

impl<'t, S: Slots> Disorder<'t, S> {
    /// From the child on that is expected next, which has this position.
    fn new(siblings: &mut MatchedSiblings<'t, S>, first: usize) -> Matched<Self> {
        let (mut runs, mut position, mut leaf) = (Vec::new(), 0, 0);
        loop {
            let left = siblings.end - siblings.position; // never beyond the end
            if left > 0 {
                runs.push((position, leaf, siblings.nodes));
                let leaves = siblings.nodes.first().map_or(0, |node| node.leaves);
                position += left; // within the counts of the node, as is the next
                leaf += left * leaves;
                siblings.position = siblings.end;
            }
            if siblings.next_run().is_err() {
                break;
            }
        }
        let (region, slots) = mem::take(&mut siblings.slots).split(leaf)?;
        siblings.slots = slots;
        Ok(Disorder {
            first,
            came: vec![false; position],
            left: position,
            runs,
            region,
            expected: &[],
        })
    }

    fn value<T: Serialize + ?Sized>(
        &mut self,
        known: &'t Known<'t>,
        position: usize,
        value: &T,
    ) -> Matched<()> {
        let position = position.checked_sub(self.first).ok_or(Mismatch)?;
        // Of keys that are equal only the recording knows which is which; and slots are filled once.
        if mem::replace(self.came.get_mut(position).ok_or(Mismatch)?, true) {
            return Err(Mismatch);
        }
        let run = self.runs.partition_point(|(first, ..)| *first <= position);
        let (first, leaf, nodes) = *self.runs.get(run.wrapping_sub(1)).ok_or(Mismatch)?;
        let leaves = nodes.first().map_or(0, |node| node.leaves);
        let slots = S::part(&mut self.region, leaf + (position - first) * leaves, leaves)?;
        let matcher = Matcher::new(known, nodes, slots)?;
        stack::grow!(value.serialize(matcher))?;
        self.left -= 1; // each is counted once
        Ok(())
    }
}

impl<S: Slots> Entries for MatchedEntries<'_, S> {
    type Ok = S;
    type Error = Mismatch;

    #[inline]
    fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Matched<()> {
        if self.awaits_value {
            return self.lose();
        }
        match self.keys.get(self.position) {
            Some(next) if match_value(next, self.siblings.known, key).is_ok() => {}
            _ if self.find(key).is_err() => return self.lose(),
            _ => {}
        }
        self.awaits_value = true;
        Ok(())
    }

    #[inline]
    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Matched<()> {
        if !mem::take(&mut self.awaits_value) {
            return self.lose();
        }
        let known = self.siblings.known;
        let matched = match &mut self.disorder {
            None => self.siblings.child(value),
            Some(disorder) => disorder.value(known, self.position, value),
        };
        if matched.is_err() {
            return self.lose();
        }
        self.position += 1;
        Ok(())
    }

    #[inline]
    fn end(self) -> Matched<S> {
        let left = self.disorder.map_or(0, |disorder| disorder.left);
        match left == 0 && !self.awaits_value {
            true => self.siblings.end(),
            false => Err(self.siblings.known.parted.in_a_map()),
        }
    }
}

/// Whether a value is what a key or a static holds.
#[inline]
pub(super) fn match_value<T: Serialize + ?Sized>(
    expected: &Value,
    known: &Known<'_>,
    value: &T,
) -> Matched<()> {
    match &expected.0 {
        Content::Scalar(leaf) => value.serialize(ScalarTo {
            compact: known.options.compact,
            then: |scalar: Scalar<'_>| match leaf.as_scalar() == Some(scalar) {
                true => Ok(()),
                false => Err(Mismatch),
            },
        }),
        Content::Tree(tree) => {
            let encoding = &*tree.treedef.encoding;
            let options = Options { compact: known.options.compact, ..Options::default() };
            let known = Known {
                shapes: &encoding.shapes,
                options,
                arrivals: Some(Cell::default()),
                kinds: Kinds::ALL,
                parted: Parted::default(),
                ignore_statics: known.ignore_statics,
                depth_left: known.depth_left,
            };
            let leaves: slice::Iter<'_, _> = tree.leaves.iter();
            value.serialize(Matcher::new(&known, &encoding.nodes, Compare(leaves))?)?;
            Ok(())
        }
    }
}
