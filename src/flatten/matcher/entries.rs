//! The entries of a map beside those that it should have: in the same order, or found by their keys.

use std::mem;

use serde::{Serialize, ser};

use crate::error::{Matched, Mismatch};
use crate::model::Value;
use crate::stack;

use super::children::{MatchedChildren, Matcher};
use super::known::Known;

/// The entries of a map that has matched so far.
pub(in crate::flatten) struct MatchedEntries<'m, 't> {
    children: MatchedChildren<'m, 't>,
    keys: &'t [Value],
    first_slot: usize,
    /// The entry whose key came last; or, if its value came too, the one that is expected next.
    position: usize,
    awaits_value: bool,
    disorder: Option<Box<OutOfOrder<'t>>>,
}

/// Entries that come in an order of their own, from the first on that was not the next one.
struct OutOfOrder<'t> {
    /// The entries before this one came in order.
    first: usize,
    /// Which of the others came.
    came: Vec<bool>,
    left: usize,
    /// The runs of the others: the position and the slot with which each begins, and its node.
    runs: Vec<(usize, usize, usize)>,
    /// The order in which all entries came when the structure was recorded, if it is this map's.
    expected: &'t [usize],
}

impl<'m, 't> MatchedEntries<'m, 't> {
    pub(in crate::flatten) fn new(children: MatchedChildren<'m, 't>, keys: &'t [Value]) -> Self {
        let first_slot = children.slot;
        MatchedEntries {
            children,
            keys,
            first_slot,
            position: 0,
            awaits_value: false,
            disorder: None,
        }
    }

    fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Matched<()> {
        if mem::replace(&mut self.awaits_value, true) {
            return Err(self.lost());
        }
        let known = &*self.children.known;
        if let Some(next) = self.keys.get(self.position)
            && known.is_key(next, key)
        {
            return Ok(());
        }
        // It is not the next one.
        let next = self.out_of_order()?;
        let known = &*self.children.known;
        self.position = match next.and_then(|next| Some((next, self.keys.get(next)?))) {
            Some((position, next)) if known.is_key(next, key) => position,
            _ => {
                let mut lookup = known.lookup(self.keys);
                let place = Matcher { at: lookup.root(), slot: 0, known: &mut lookup };
                let came = key.serialize(place).is_ok();
                match lookup.found().filter(|_| came) {
                    Some(position) => position,
                    None => return Err(self.lost()),
                }
            }
        };
        Ok(())
    }

    /// The entry that is expected next, where they come in another order, if there is such an expectation.
    fn out_of_order(&mut self) -> Matched<Option<usize>> {
        let disorder = match &mut self.disorder {
            Some(disorder) => disorder,
            none => {
                let expected = self.children.known.next_arrival()?;
                none.insert(Box::new(OutOfOrder::new(&mut self.children, self.position, expected)))
            }
        };
        let seen = self.keys.len().checked_sub(disorder.left);
        Ok(seen.and_then(|seen| disorder.expected.get(seen).copied()))
    }

    /// Where the value of the entry goes.
    fn place(&mut self) -> Matched<Matcher<'_, 't>> {
        let awaited = mem::take(&mut self.awaits_value);
        let Some(disorder) = &mut self.disorder else {
            return if awaited { self.children.next() } else { Err(self.lost()) };
        };
        let place = disorder.place(self.children.known, self.position).filter(|_| awaited);
        match place {
            Some((at, slot)) => Ok(Matcher { at, slot, known: &mut *self.children.known }),
            None => Err(self.lost()),
        }
    }

    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Matched<()> {
        let place = self.place()?;
        let matched = stack::grow!(value.serialize(place));
        self.came(matched)
    }

    /// What came of the value.
    fn came(&mut self, matched: Matched<usize>) -> Matched<()> {
        let Ok(slot) = matched else { return Err(self.lost()) };
        match &mut self.disorder {
            None => self.children.slot = slot,
            Some(disorder) => disorder.left -= 1, // each is counted once
        }
        self.position += 1;
        Ok(())
    }

    fn close(mut self) -> Matched<usize> {
        let left = self.disorder.as_ref().map_or(0, |disorder| disorder.left);
        match left == 0 && !self.awaits_value {
            true => self.children.end(),
            false => Err(self.lost()),
        }
    }

    /// The map does not match, as far as it came.
    #[cold]
    fn lost(&mut self) -> Mismatch {
        match self.disorder {
            None => self.children.known.in_open_map(self.first_slot),
            Some(_) => self.children.known.out_of_order(),
        }
    }
}

impl<'t> OutOfOrder<'t> {
    /// From the child on that is expected next, which has this position. The children are as if all had come.
    fn new(children: &mut MatchedChildren<'_, 't>, first: usize, expected: &'t [usize]) -> Self {
        let MatchedChildren { known, cursor, slot, .. } = children;
        let (mut runs, mut position) = (Vec::new(), 0);
        while cursor.has_more(known) {
            let (at, left) = cursor.skip_run();
            runs.push((position, *slot, at));
            position += left; // within the counts of the node, as is the next
            *slot += left * known.leaves_of(at);
        }
        OutOfOrder { first, came: vec![false; position], left: position, runs, expected }
    }

    /// Where an entry stands, for the only time that it comes. Of keys that are equal only the recording knows which is
    /// which.
    fn place(&mut self, known: &Known<'_>, position: usize) -> Option<(usize, usize)> {
        let position = position.checked_sub(self.first)?;
        if mem::replace(self.came.get_mut(position)?, true) {
            return None;
        }
        let run = self.runs.partition_point(|(first, ..)| *first <= position);
        let (first, slot, at) = *self.runs.get(run.checked_sub(1)?)?;
        Some((at, slot + (position - first) * known.leaves_of(at)))
    }
}

impl ser::SerializeMap for MatchedEntries<'_, '_> {
    type Ok = usize;
    type Error = Mismatch;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Matched<()> {
        self.key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Matched<()> {
        self.value(value)
    }

    fn end(self) -> Matched<usize> {
        self.close()
    }
}
