//! The state as a serde value: its moments are values of the type that is trained.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::{DeserializeOwned, Error as _};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use treedef::{TreeDef, object};

use crate::error::{Error, Result};
use crate::leaf::Leaf;
use crate::state::State;
use crate::transform::Slots;

/// Slots whose leaves are values.
#[derive(Serialize, Deserialize)]
#[serde(rename = "State", bound(serialize = "T: Serialize", deserialize = "T: DeserializeOwned"))]
struct SavedState<T, L: Leaf> {
    transform: String,
    #[serde(with = "count")]
    count: Count<L>,
    leaves: BTreeMap<String, T>,
    parts: Vec<SavedState<T, L>>,
}

/// A count, which is an object among objects: so it gets into files that hold nothing else.
struct Count<L>(u64, std::marker::PhantomData<L>);

mod count {
    use super::*;

    pub(super) fn serialize<L: Leaf, S: Serializer>(
        count: &Count<L>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match L::of_count(count.0) {
            Some(leaf) => object::serialize(&leaf, serializer),
            None => count.0.serialize(serializer),
        }
    }

    pub(super) fn deserialize<'de, L: Leaf, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Count<L>, D::Error> {
        let count = if L::of_count(0).is_some() {
            let leaf: L = object::deserialize(deserializer)?;
            let no_count =
                || D::Error::custom(format!("expected a count, found {}", leaf.describe()));
            leaf.to_count().ok_or_else(no_count)?
        } else {
            u64::deserialize(deserializer)?
        };
        Ok(Count(count, std::marker::PhantomData))
    }
}

impl<T: Serialize + DeserializeOwned, L: Leaf> SavedState<T, L> {
    fn of(treedef: Option<&TreeDef>, slots: &Slots<L>) -> Result<Self> {
        let mut saved = BTreeMap::new();
        for (name, leaves) in &slots.leaves {
            let treedef = treedef.ok_or(Error::NoLeaves { leaf: std::any::type_name::<L>() })?;
            saved.insert(name.to_string(), L::rebuild(treedef, &mut leaves.clone())?);
        }
        let parts = slots.parts.iter().map(|part| SavedState::of(treedef, part));
        Ok(SavedState {
            transform: slots.transform.to_string(),
            count: Count(slots.count, std::marker::PhantomData),
            leaves: saved,
            parts: parts.collect::<Result<_>>()?,
        })
    }

    /// The slots, and the structure of their leaves.
    fn into_slots(self, treedef: &mut Option<TreeDef>) -> Result<Slots<L>> {
        let mut leaves = Vec::new();
        for (name, value) in self.leaves {
            let (found, moments) = L::tree(&value)?.into_parts();
            let first = treedef.get_or_insert_with(|| found.clone());
            if *first != found {
                let what = "a moment of the state has another structure than the first";
                crate::state::expect_same(what, first, &found)?;
            }
            leaves.push((Cow::Owned(name), moments));
        }
        let parts = self.parts.into_iter().map(|part| part.into_slots(treedef));
        Ok(Slots {
            transform: Cow::Owned(self.transform),
            count: self.count.0,
            leaves,
            parts: parts.collect::<Result<_>>()?,
            selection: None,
            still: None,
        })
    }
}

impl<T: Serialize + DeserializeOwned, L: Leaf> Serialize for State<T, L> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let saved = SavedState::<T, L>::of(self.treedef.as_ref(), &self.slots);
        saved.map_err(S::Error::custom)?.serialize(serializer)
    }
}

impl<'de, T: Serialize + DeserializeOwned, L: Leaf> Deserialize<'de> for State<T, L> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut treedef = None;
        let saved = SavedState::<T, L>::deserialize(deserializer)?;
        let slots = saved.into_slots(&mut treedef).map_err(D::Error::custom)?;
        Ok(State::read(treedef, slots))
    }
}
