//! The state as a serde value: its moments are values of the type that is trained.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;

use serde::de::{DeserializeOwned, Error as _};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use treedef::{TreeDef, object};

use crate::error::{Error, Result};
use crate::leaf::Leaf;
use crate::state::{State, expect_kept};
use crate::transform::{SELECTING, Slots, ranges};

/// Slots whose leaves are values.
#[derive(Serialize, Deserialize)]
#[serde(rename = "State", bound(serialize = "T: Serialize", deserialize = "T: DeserializeOwned"))]
struct SavedState<T, L: Leaf> {
    transform: String,
    count: Count<L>,
    leaves: BTreeMap<String, T>,
    parts: Vec<SavedState<T, L>>,
    /// The classes of leaves that the transforms inside are about, if it selects some.
    holds: Vec<Count<L>>,
    /// The class of each leaf, once in a state that has leaves. See [`marked`].
    marks: Vec<T>,
}

/// A count, which is an object among objects: so it gets into files that hold nothing else.
struct Count<L>(u64, PhantomData<L>);

impl<L: Leaf> Serialize for Count<L> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match L::of_count(self.0) {
            Some(leaf) => object::serialize(&leaf, serializer),
            None => self.0.serialize(serializer),
        }
    }
}

impl<'de, L: Leaf> Deserialize<'de> for Count<L> {
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

/// Divides the leaves into classes, by what each transform is about.
fn divide<L>(slots: &Slots<L>, classes: &mut [usize]) {
    if let Some(holds) = &slots.holds {
        let mut is_held = vec![false; classes.len()];
        for range in holds {
            is_held.get_mut(range.clone()).into_iter().flatten().for_each(|held| *held = true);
        }
        let mut divided = BTreeMap::new();
        for (class, is_held) in classes.iter_mut().zip(is_held) {
            let new = divided.len();
            *class = *divided.entry((*class, is_held)).or_insert(new);
        }
    }
    slots.parts.iter().for_each(|part| divide(part, classes));
}

/// The leaves of the first name, of the first transform that has some.
fn first_leaves<L>(slots: &Slots<L>) -> Option<&[L]> {
    let first = slots.leaves.iter().min_by(|(name, _), (other, _)| name.cmp(other));
    first
        .map(|(_, leaves)| &**leaves)
        .or_else(|| slots.parts.iter().find_map(|part| first_leaves(part)))
}

/// A class as a leaf that differs from a moment in its place. Where a type has got a field with a default,
/// both read the default: so what is read into such a field is known from what was saved.
fn marked<L: Leaf>(moment: &L, class: usize) -> Result<L> {
    let numbers = moment.to_numbers().map_err(Error::Function)?;
    let mark = 2.0 * (class + 1) as f64;
    let mark = if numbers.first() == Some(&mark) { mark + 1.0 } else { mark };
    moment.with_numbers(&vec![mark; numbers.len()]).map_err(Error::Function)
}

/// The class in a mark, if it was saved.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a small integer")]
fn class_in<L: Leaf>(mark: &L, moment: &L) -> Result<Option<usize>> {
    if let Some(class) = mark.to_count() {
        return Ok(usize::try_from(class).ok());
    }
    let first =
        |leaf: &L| Ok::<_, Error>(leaf.to_numbers().map_err(Error::Function)?.first().copied());
    let (Some(mark), Some(moment)) = (first(mark)?, first(moment)?) else { return Ok(Some(0)) };
    let is_class = mark != moment && mark >= 2.0 && mark.fract() == 0.0;
    Ok(is_class.then(|| (mark / 2.0) as usize - 1))
}

fn classes_in<L: Leaf>(marks: &[L], moments: &[L]) -> Result<Vec<Option<usize>>> {
    marks.iter().zip(moments).map(|(mark, moment)| class_in(mark, moment)).collect()
}

/// The value of leaves, if it holds them as they are.
fn value_of<T: Serialize + DeserializeOwned, L: Leaf>(
    treedef: &TreeDef,
    leaves: &[L],
) -> Result<T> {
    let value = L::rebuild(treedef, &mut leaves.to_vec())?;
    expect_kept(treedef, leaves, &value, "it cannot hold a moment")?;
    Ok(value)
}

impl<T: Serialize + DeserializeOwned, L: Leaf> SavedState<T, L> {
    fn of(state: &State<T, L>) -> Result<Self> {
        let (treedef, slots) = (state.treedef.as_ref(), &state.slots);
        let (Some(treedef), Some(moments)) = (treedef, first_leaves(slots)) else {
            return SavedState::with_classes(treedef, slots, &[]);
        };
        // What was read is written as it was, until the first step.
        if let Some(marks) = &state.marks {
            let classes = classes_in(marks, moments)?;
            let mut saved = SavedState::with_classes(Some(treedef), slots, &classes)?;
            saved.marks.push(value_of(treedef, marks)?);
            return Ok(saved);
        }
        let mut classes = vec![0; treedef.num_leaves()];
        divide(slots, &mut classes);
        let some: Vec<Option<usize>> = classes.iter().copied().map(Some).collect();
        let mut saved = SavedState::with_classes(Some(treedef), slots, &some)?;
        // A count is smaller than a tensor, but a type may refuse it.
        let counts: Option<Vec<L>> =
            classes.iter().map(|class| L::of_count(u64::try_from(*class).ok()?)).collect();
        let counts = counts.and_then(|counts| value_of(treedef, &counts).ok());
        saved.marks.push(match counts {
            Some(counts) => counts,
            None => {
                let marks = moments.iter().zip(&classes).map(|(leaf, class)| marked(leaf, *class));
                value_of(treedef, &marks.collect::<Result<Vec<L>>>()?)?
            }
        });
        Ok(saved)
    }

    fn with_classes(
        treedef: Option<&TreeDef>,
        slots: &Slots<L>,
        classes: &[Option<usize>],
    ) -> Result<Self> {
        let mut saved = BTreeMap::new();
        for (name, leaves) in &slots.leaves {
            let treedef = treedef.ok_or(Error::NoLeaves { leaf: std::any::type_name::<L>() })?;
            saved.insert(name.to_string(), value_of(treedef, leaves)?);
        }
        let parts = slots.parts.iter().map(|part| SavedState::with_classes(treedef, part, classes));
        let held = slots.holds.iter().flatten().cloned().filter_map(|range| classes.get(range));
        let held: BTreeSet<usize> = held.flatten().copied().flatten().collect();
        Ok(SavedState {
            transform: slots.transform.to_string(),
            count: Count(slots.count, PhantomData),
            leaves: saved,
            parts: parts.collect::<Result<_>>()?,
            holds: held.into_iter().map(|class| Count(class as u64, PhantomData)).collect(),
            marks: Vec::new(),
        })
    }

    fn into_state(mut self) -> Result<State<T, L>> {
        let marks = self.marks.pop();
        let mut treedef = None;
        let slots = self.into_slots(&mut treedef)?;
        let mut state = State::read(treedef, slots);
        let (Some(treedef), Some(moments)) = (&state.treedef, first_leaves(&state.slots)) else {
            return Ok(state);
        };
        let no_marks = || Error::Argument("a state with leaves has no `marks`".to_owned());
        let (found, marks) = L::tree(&marks.ok_or_else(no_marks)?)?.into_parts();
        expect_alike(treedef, &found)?;
        let classes = classes_in(&marks, moments)?;
        settle(&mut state.slots, &classes);
        state.absent = ranges((0..classes.len()).filter(|leaf| classes.get(*leaf) == Some(&None)));
        state.marks = Some(marks);
        Ok(state)
    }

    /// The slots, and the structure of their leaves. What a transform holds are classes, not yet leaves.
    fn into_slots(self, treedef: &mut Option<TreeDef>) -> Result<Slots<L>> {
        let mut leaves = Vec::new();
        for (name, value) in self.leaves {
            let (found, moments) = L::tree(&value)?.into_parts();
            expect_alike(treedef.get_or_insert_with(|| found.clone()), &found)?;
            leaves.push((Cow::Owned(name), moments));
        }
        let class = |Count(class, _): Count<L>| usize::try_from(class).unwrap_or(usize::MAX);
        let holds = SELECTING
            .contains(&&*self.transform)
            .then(|| ranges(self.holds.into_iter().map(class).filter(|class| *class < usize::MAX)));
        let parts = self.parts.into_iter().map(|part| part.into_slots(treedef));
        Ok(Slots {
            transform: Cow::Owned(self.transform),
            count: self.count.0,
            leaves,
            parts: parts.collect::<Result<_>>()?,
            holds,
            selection: None,
            still: None,
        })
    }
}

/// Puts leaves in the place of their classes.
fn settle<L>(slots: &mut Slots<L>, classes: &[Option<usize>]) {
    if let Some(held) = &mut slots.holds {
        let is_held = |leaf: &usize| match classes.get(*leaf) {
            Some(Some(class)) => held.iter().any(|range| range.contains(class)),
            _ => false,
        };
        *held = ranges((0..classes.len()).filter(is_held));
    }
    slots.parts.iter_mut().for_each(|part| settle(part, classes));
}

fn expect_alike(first: &TreeDef, found: &TreeDef) -> Result<()> {
    if first == found {
        return Ok(());
    }
    let what = "a moment of the state has another structure than the first";
    crate::state::expect_same(what, first, found)
}

impl<T: Serialize + DeserializeOwned, L: Leaf> Serialize for State<T, L> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let saved = SavedState::of(self);
        saved.map_err(S::Error::custom)?.serialize(serializer)
    }
}

impl<'de, T: Serialize + DeserializeOwned, L: Leaf> Deserialize<'de> for State<T, L> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        SavedState::<T, L>::deserialize(deserializer)?.into_state().map_err(D::Error::custom)
    }
}
