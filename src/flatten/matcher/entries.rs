//! Matches the entries of a map with the expected ones, in the same order or by their keys.

use std::mem;

use serde::{Serialize, ser};

use crate::call_stack;
use crate::error::{Matched, Mismatch};
use crate::model::Value;

use super::children::{MatchedChildren, Matcher};
use super::known::Known;

/// The entries of a map that has matched so far.
pub(in crate::flatten) struct MatchedEntries<'m, 't> {
    children: MatchedChildren<'m, 't>,
    keys: &'t [Value],
    /// The entry whose key was visited last. After its value, the next expected entry.
    position: usize,
    awaits_value: bool,
    disorder: Option<Box<OutOfOrder<'t>>>,
}

/// The state of a map whose entries come in another order, from the first unexpected entry on.
struct OutOfOrder<'t> {
    /// All entries before this one came in order.
    first: usize,
    /// Which of the remaining entries were visited.
    came: Vec<bool>,
    left: usize,
    /// The runs of the remaining entries: the first position, the first slot and the node of each.
    runs: Vec<(usize, usize, usize)>,
    /// The remembered insertion order, probably of this map. Empty if there is none.
    expected: &'t [usize],
}

impl<'m, 't> MatchedEntries<'m, 't> {
    pub(in crate::flatten) fn new(children: MatchedChildren<'m, 't>, keys: &'t [Value]) -> Self {
        MatchedEntries { children, keys, position: 0, awaits_value: false, disorder: None }
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
        // It is not the next expected key.
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

    /// The next expected entry of a map in another order, if an insertion order is remembered.
    fn out_of_order(&mut self) -> Matched<Option<usize>> {
        let disorder = match &mut self.disorder {
            Some(disorder) => disorder,
            none => {
                let expected = self.children.known.next_insertion()?;
                none.insert(Box::new(OutOfOrder::new(&mut self.children, self.position, expected)))
            }
        };
        let seen = self.keys.len().checked_sub(disorder.left);
        Ok(seen.and_then(|seen| disorder.expected.get(seen).copied()))
    }

    /// The place of the value of the current entry.
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
        let matched = call_stack::grow!(value.serialize(place));
        self.came(matched)
    }

    /// Takes the result of a value.
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
        if left == 0 && !self.awaits_value { self.children.end() } else { Err(self.lost()) }
    }

    /// Reports a mismatch in this map.
    #[cold]
    fn lost(&mut self) -> Mismatch {
        match self.disorder {
            None => self.children.known.perhaps(),
            Some(_) => self.children.known.out_of_order(),
        }
    }
}

impl<'t> OutOfOrder<'t> {
    /// `first` is the position of the next expected child. `children` is moved to the end.
    fn new(children: &mut MatchedChildren<'_, 't>, first: usize, expected: &'t [usize]) -> Self {
        let MatchedChildren { known, cursor, slot, .. } = children;
        let (mut runs, mut position) = (Vec::new(), 0);
        while cursor.has_more(known) {
            let (at, left) = cursor.skip_run();
            runs.push((position, *slot, at));
            position += left; // within the counts of the node, as is the next sum
            *slot += left * known.leaves_of(at);
        }
        OutOfOrder { first, came: vec![false; position], left: position, runs, expected }
    }

    /// The node and the first slot of an entry. Returns `None` if the entry was already visited,
    /// because only the recorder can tell equal keys apart.
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
