//! The state as a serde value: its moments are values of the trained type.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::ops::Range;

use serde::de::{DeserializeOwned, Error as _};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use treedef::{Limits, TreeDef, object};

use crate::error::{Error, Result};
use crate::leaf::Trainable;
use crate::state::{State, expect_kept, origins};
use crate::transform::{SELECTING, Slots, contains, ranges};

/// Slots whose leaves are values.
#[derive(Serialize, Deserialize)]
#[serde(rename = "State", bound(serialize = "T: Serialize", deserialize = "T: DeserializeOwned"))]
struct SavedState<T, L: Trainable> {
    transform: String,
    count: Count<L>,
    leaves: BTreeMap<String, T>,
    parts: Vec<SavedState<T, L>>,
    /// The ranges of the leaves that the transforms inside concern, if they select some.
    holds: Vec<Count<L>>,
    /// The text of the structure of the leaves, only at the root. If the type has a new field since, it is
    /// not in this text, so that the values that serde filled in are not mistaken for moments.
    structure: Option<String>,
    /// The leaves of that structure that had no moments.
    absent: Vec<Count<L>>,
}

/// A count, which becomes an object if the leaves are objects, so that it can be in files that hold
/// nothing else.
struct Count<L>(u64, PhantomData<L>);

impl<L: Trainable> Serialize for Count<L> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match L::of_count(self.0) {
            Some(leaf) => object::serialize(&leaf, serializer),
            None => self.0.serialize(serializer),
        }
    }
}

impl<'de, L: Trainable> Deserialize<'de> for Count<L> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let count = if L::of_count(0).is_some() {
            let leaf: L = object::deserialize(deserializer)?;
            let no_count =
                || D::Error::custom(format!("expected a count, found {}", leaf.describe()));
            leaf.to_count().ok_or_else(no_count)?
        } else {
            u64::deserialize(deserializer)?
        };
        Ok(Count(count, PhantomData))
    }
}

fn bounds<L>(ranges: &[Range<usize>]) -> Vec<Count<L>> {
    let bounds = ranges.iter().flat_map(|range| [range.start, range.end]);
    bounds.map(|bound| Count(bound as u64, PhantomData)).collect() // never wider
}

/// The ranges of bounds, which must be in order.
fn ranges_in<L>(bounds: Vec<Count<L>>) -> Result<Vec<Range<usize>>> {
    let bounds: Vec<usize> =
        bounds.iter().map(|bound| usize::try_from(bound.0).unwrap_or(usize::MAX)).collect();
    let (pairs, rest) = bounds.as_chunks::<2>();
    if !rest.is_empty() || !bounds.is_sorted() {
        return Err(Error::Argument("ranges of leaves are not in order".to_owned()));
    }
    Ok(pairs.iter().map(|[start, end]| *start..*end).collect())
}

/// Moves leaves to the places where they were before.
pub(crate) fn settle<L>(slots: &mut Slots<L>, origins: &[Option<usize>]) {
    if let Some(held) = &mut slots.holds {
        let origins = origins.iter().enumerate();
        let now = origins.filter(|(_, was)| was.is_some_and(|was| contains(held, was)));
        *held = ranges(now.map(|(leaf, _)| leaf));
    }
    slots.parts.iter_mut().for_each(|part| settle(part, origins));
}

/// The value with these leaves, if its type keeps them unchanged.
fn value_of<T: Serialize + DeserializeOwned, L: Trainable>(
    treedef: &TreeDef,
    leaves: &[L],
) -> Result<T> {
    let value = L::rebuild(treedef, &mut leaves.to_vec())?;
    expect_kept(treedef, leaves, &value, "it cannot hold a moment")?;
    Ok(value)
}

impl<T: Serialize + DeserializeOwned, L: Trainable> SavedState<T, L> {
    fn of(state: &State<T, L>) -> Result<Self> {
        let mut saved = SavedState::of_slots(&state.slots, state.treedef.as_ref())?;
        saved.structure = state.treedef.as_ref().map(ToString::to_string);
        saved.absent = bounds(&state.absent);
        Ok(saved)
    }

    fn of_slots(slots: &Slots<L>, treedef: Option<&TreeDef>) -> Result<Self> {
        let mut saved = BTreeMap::new();
        for (name, leaves) in &slots.leaves {
            let treedef = treedef.ok_or(Error::NoLeaves { leaf: std::any::type_name::<L>() })?;
            saved.insert(name.to_string(), value_of(treedef, leaves)?);
        }
        let parts = slots.parts.iter().map(|part| SavedState::of_slots(part, treedef));
        Ok(SavedState {
            transform: slots.transform.to_string(),
            count: Count(slots.count, PhantomData),
            leaves: saved,
            parts: parts.collect::<Result<_>>()?,
            holds: bounds(slots.holds.as_deref().unwrap_or_default()),
            structure: None,
            absent: Vec::new(),
        })
    }

    fn into_state(mut self) -> Result<State<T, L>> {
        // It may have as many leaves as the model; nothing is allocated for it.
        let limits = Limits { max_work: usize::MAX, max_nodes: usize::MAX, ..Limits::default() };
        let saved = self.structure.take();
        let saved = saved.map(|text| TreeDef::parse_with(&text, limits)).transpose()?;
        let absent = ranges_in(std::mem::take(&mut self.absent))?;
        let mut found = None;
        let mut slots = self.into_slots(&mut found)?;
        let Some(treedef) = found else { return Ok(State::read(saved, slots)) };
        let no_structure = || Error::Argument("a state with leaves has no `structure`".to_owned());
        let saved = saved.ok_or_else(no_structure)?;
        let origins = origins(&saved, &treedef);
        let selects = slots.selects();
        let is_absent = |(leaf, origin): (usize, &Option<usize>)| {
            Ok(match origin {
                Some(origin) => contains(&absent, *origin),
                None => selects || is_default(&slots, leaf)?,
            })
        };
        let is_absent = origins.iter().enumerate().map(is_absent).collect::<Result<Vec<bool>>>()?;
        let absent =
            ranges(is_absent.iter().enumerate().filter_map(|(leaf, it)| it.then_some(leaf)));
        settle(&mut slots, &origins);
        let mut state = State::read(Some(treedef), slots);
        state.absent = absent;
        Ok(state)
    }

    /// The slots, and the structure of their leaves.
    fn into_slots(self, treedef: &mut Option<TreeDef>) -> Result<Slots<L>> {
        if i64::try_from(self.count.0).is_err() {
            return Err(Error::Argument(format!("no training has {} steps", self.count.0)));
        }
        let mut leaves = Vec::new();
        for (name, value) in self.leaves {
            let (found, moments) = L::tree(&value)?.into_parts();
            expect_alike(treedef.get_or_insert_with(|| found.clone()), &found)?;
            leaves.push((Cow::Owned(name), moments));
        }
        let holds = ranges_in(self.holds)?;
        let holds = SELECTING.contains(&&*self.transform).then_some(holds);
        let parts = self.parts.into_iter().map(|part| part.into_slots(treedef));
        Ok(Slots {
            transform: Cow::Owned(self.transform),
            count: self.count.0,
            leaves,
            parts: parts.collect::<Result<_>>()?,
            holds,
            selection: None,
            blocks: None,
            checked_for: None,
            still: None,
        })
    }
}

/// Whether all moments of a leaf are equal, as if serde filled them. Otherwise they were saved under
/// another name, which is an alias now.
fn is_default<L: Trainable>(slots: &Slots<L>, leaf: usize) -> Result<bool> {
    fn moments<'s, L>(slots: &'s Slots<L>, leaf: usize, found: &mut Vec<&'s L>) {
        found.extend(slots.leaves.iter().filter_map(|(_, leaves)| leaves.get(leaf)));
        slots.parts.iter().for_each(|part| moments(part, leaf, found));
    }
    let mut found = Vec::new();
    moments(slots, leaf, &mut found);
    let numbers = found.iter().map(|leaf| leaf.to_numbers().map_err(Error::Function));
    let numbers = numbers.collect::<Result<Vec<_>>>()?;
    Ok(numbers.windows(2).all(|pair| matches!(pair, [first, second] if first == second)))
}

fn expect_alike(first: &TreeDef, found: &TreeDef) -> Result<()> {
    if first == found {
        return Ok(());
    }
    let what = "a moment of the state has another structure than the first";
    crate::state::expect_same(what, first, found)
}

impl<T: Serialize + DeserializeOwned, L: Trainable> Serialize for State<T, L> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let saved = SavedState::of(self);
        saved.map_err(S::Error::custom)?.serialize(serializer)
    }
}

impl<'de, T: Serialize + DeserializeOwned, L: Trainable> Deserialize<'de> for State<T, L> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        SavedState::<T, L>::deserialize(deserializer)?.into_state().map_err(D::Error::custom)
    }
}
