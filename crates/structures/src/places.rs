//! Places: paths without the indices of sequences.
//!
//! A place counts the distinct keys of its maps. Beyond `most_keys` it is folded: all its keys lead
//! to one place below. Places are folded between documents. The result does not depend on the order
//! of the documents, because the sets of keys only grow.

use hashbrown::HashMap;

use crate::interner::number;
use treedef::__private::expect_nodes;
use treedef::{Limits, Result};

/// A step from a place to one below it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum PlaceStep {
    /// One key of maps.
    Key(u32),
    /// All keys of maps.
    AnyKey,
    /// None: there was an empty map.
    NoKey,
    Field(u32),
    Position(u32),
    /// An element of a sequence, or the value in a `Some`.
    Inside,
}

#[derive(Clone, Default)]
struct Place {
    /// In the order of occurrence, which is usually the order of the next document, too.
    below: Vec<(PlaceStep, u32)>,
    /// The number of steps that are keys.
    keys: usize,
    is_folded: bool,
}

#[derive(Clone)]
pub(crate) struct Places {
    list: Vec<Place>,
    /// The index in `below`.
    table: HashMap<(u32, PlaceStep), usize>,
    pub(crate) most_keys: usize,
    pub(crate) limits: Limits,
    /// The places below which the current document added a place.
    added: Vec<u32>,
    /// The places to fold after the current document.
    full: Vec<u32>,
    /// A place was folded since this was last set to `false`.
    pub(crate) changed: bool,
}

impl Places {
    pub(crate) const ROOT: u32 = 0;

    pub(crate) fn new(most_keys: usize) -> Self {
        Places {
            list: vec![Place::default()],
            table: HashMap::new(),
            most_keys,
            limits: Limits::default(),
            added: Vec::new(),
            full: Vec::new(),
            changed: false,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    #[inline]
    pub(crate) fn is_folded(&self, place: u32) -> bool {
        self.list[place as usize].is_folded
    }

    /// The key that occurred at position `guess`, with the place below it.
    #[inline]
    pub(crate) fn guess(&self, place: u32, guess: usize) -> Option<(u32, u32)> {
        match self.list[place as usize].below.get(guess)? {
            (PlaceStep::Key(label), below) => Some((*label, *below)),
            _ => None,
        }
    }

    /// The place below, and the index of the step.
    pub(crate) fn below(&mut self, place: u32, step: PlaceStep) -> Result<(u32, usize)> {
        let here = &self.list[place as usize];
        // The elements of a sequence are usually first.
        if let Some((_, below)) = here.below.first().filter(|(first, _)| *first == step) {
            return Ok((*below, 0));
        }
        if let Some(index) = self.table.get(&(place, step)) {
            return Ok((here.below[*index].1, *index));
        }
        expect_nodes(self.limits, self.list.len() + 1)?;
        let (below, index) = (number(self.list.len())?, here.below.len());
        self.list.push(Place::default());
        self.added.push(place);
        self.link(place, step, below);
        Ok((below, index))
    }

    /// Adds a step that the place does not have.
    fn link(&mut self, place: u32, step: PlaceStep, below: u32) {
        let here = &mut self.list[place as usize];
        self.table.insert((place, step), here.below.len());
        here.below.push((step, below));
        here.keys += usize::from(matches!(step, PlaceStep::Key(_)));
        if !here.is_folded && (here.keys > self.most_keys || step == PlaceStep::AnyKey) {
            self.full.push(place);
        }
    }

    /// Undoes the additions of a document that was refused.
    pub(crate) fn undo(&mut self) {
        for place in self.added.drain(..).rev() {
            self.list.pop();
            let here = &mut self.list[place as usize];
            if let Some((step, _)) = here.below.pop() {
                self.table.remove(&(place, step));
                here.keys -= usize::from(matches!(step, PlaceStep::Key(_)));
            }
        }
        self.full.clear();
    }

    /// Whether a place is to be folded after the current document where earlier ones also had maps.
    /// Only such a fold makes different structures equal.
    pub(crate) fn folds_earlier(&self) -> bool {
        let earlier = self.list.len() - self.added.len();
        let has_maps = |(step, below): &(PlaceStep, u32)| {
            matches!(step, PlaceStep::Key(_) | PlaceStep::NoKey) && (*below as usize) < earlier
        };
        self.full.iter().any(|place| self.list[*place as usize].below.iter().any(has_maps))
    }

    /// Keeps the additions of a document that was counted, and folds places that are full.
    pub(crate) fn keep(&mut self) -> Result<()> {
        self.added.clear();
        while let Some(place) = self.full.pop() {
            let here = &mut self.list[place as usize];
            // Another place may have absorbed this one meanwhile: then nothing is below.
            if here.is_folded || here.below.is_empty() {
                continue;
            }
            here.is_folded = true;
            self.changed = true;
            let all = number(self.list.len())?;
            let mut moved = Place { is_folded: true, ..Place::default() };
            std::mem::swap(&mut moved, &mut self.list[place as usize]);
            self.list.push(Place::default());
            self.forget_steps(place, &moved);
            self.link(place, PlaceStep::AnyKey, all);
            self.take_up(place, moved);
        }
        Ok(())
    }

    /// Whether each step is found, and each place knows its keys.
    pub(crate) fn is_whole(&self) -> bool {
        let is_key = |(step, _): &&(PlaceStep, u32)| matches!(step, PlaceStep::Key(_));
        let is_whole = |(at, place): (u32, &Place)| {
            place.keys == place.below.iter().filter(is_key).count()
                && place.below.iter().enumerate().all(|(index, (step, below))| {
                    let is_there = (*below as usize) < self.list.len();
                    is_there && self.table.get(&(at, *step)) == Some(&index)
                })
        };
        let steps: usize = self.list.iter().map(|place| place.below.len()).sum();
        steps == self.table.len() && (0..).zip(&self.list).all(is_whole)
    }

    fn forget_steps(&mut self, place: u32, was: &Place) {
        for (step, _) in &was.below {
            self.table.remove(&(place, *step));
        }
    }

    /// Moves everything below another place to this one. The recursion is as deep as the places.
    fn take_up(&mut self, place: u32, other: Place) {
        for (step, below) in other.below {
            let here = &self.list[place as usize];
            let step = match step {
                PlaceStep::Key(_) if here.is_folded => PlaceStep::AnyKey,
                step => step,
            };
            match self.table.get(&(place, step)) {
                Some(index) => {
                    let known = here.below[*index].1;
                    let other = std::mem::take(&mut self.list[below as usize]);
                    self.forget_steps(below, &other);
                    self.take_up(known, other);
                }
                None => self.link(place, step, below),
            }
        }
    }
}
