//! A zoo of values that between them meet every call of serde's data model and every attribute that
//! changes the calls.
//!
//! A specimen forgets its type, so that one law runs over all of them, and any treedef can be tried
//! on any type.

mod attributes;
mod containers;
mod enums;
mod flattened;
mod kinds;
mod maps;
mod marks;
mod names;
mod std_types;

use std::any::Any;
use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use treedef::{Flattener, Leaf, LeafKind, Result, Tree, TreeDef};

/// A value with its name.
pub(crate) struct Specimen {
    pub(crate) name: &'static str,
    pub(crate) laws: Box<dyn Laws>,
    /// serde's buffers replay it as human-readable for every format, so its compact form does not
    /// round-trip.
    pub(crate) readable_only: bool,
    /// It has a `HashMap`, so with the insertion order its treedef differs each time.
    pub(crate) random_order: bool,
}

const READABLE_ONLY: [&str; 1] = ["flattened addresses"];

const RANDOM_ORDER: [&str; 7] = [
    "table",
    "hash map",
    "hash map of enums",
    "hash map of hash maps",
    "hash map of one value each",
    "flattened hash map",
    "flattened map of numbers",
];

/// How a value is rebuilt.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    Owned,
    Shared,
    Borrowed,
    Strict,
}

pub(crate) const WAYS: [Way; 4] = [Way::Owned, Way::Shared, Way::Borrowed, Way::Strict];

/// The operations that the laws need, for values of any type.
pub(crate) trait Laws {
    fn as_any(&self) -> &dyn Any;
    fn type_name(&self) -> &'static str;
    fn debug(&self) -> String;
    fn equals(&self, other: &dyn Laws) -> bool;
    fn flatten(&self, flattener: &Flattener) -> Result<(Vec<Leaf>, TreeDef)>;
    fn flatten_like(&self, flattener: &Flattener, treedef: &TreeDef) -> Result<Vec<Leaf>>;
    fn signature(&self) -> Result<Tree<LeafKind>>;
    fn structure(&self) -> Result<TreeDef>;
    fn leaves(&self) -> Result<Vec<Leaf>>;
    /// The value as JSON, if it can be.
    fn json(&self) -> Option<String>;
    /// A value of this one's type.
    fn rebuild(&self, way: Way, treedef: &TreeDef, leaves: &[Leaf]) -> Result<Box<dyn Laws>>;
}

impl<T: Serialize + DeserializeOwned + PartialEq + Debug + 'static> Laws for T {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn type_name(&self) -> &'static str {
        std::any::type_name::<T>()
    }

    fn debug(&self) -> String {
        format!("{self:?}")
    }

    fn equals(&self, other: &dyn Laws) -> bool {
        other.as_any().downcast_ref::<T>().is_some_and(|other| self == other)
    }

    fn flatten(&self, flattener: &Flattener) -> Result<(Vec<Leaf>, TreeDef)> {
        flattener.flatten(self)
    }

    fn flatten_like(&self, flattener: &Flattener, treedef: &TreeDef) -> Result<Vec<Leaf>> {
        let mut leaves = vec![Leaf::from("what was there before")];
        let result = flattener.flatten_like(treedef, self, &mut leaves);
        assert!(result.is_ok() || leaves.is_empty());
        result.map(|()| leaves)
    }

    fn signature(&self) -> Result<Tree<LeafKind>> {
        treedef::signature(self)
    }

    fn structure(&self) -> Result<TreeDef> {
        treedef::structure(self)
    }

    fn leaves(&self) -> Result<Vec<Leaf>> {
        Ok(treedef::flatten(self)?.0)
    }

    fn json(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }

    fn rebuild(&self, way: Way, treedef: &TreeDef, leaves: &[Leaf]) -> Result<Box<dyn Laws>> {
        let value: T = match way {
            Way::Owned => treedef::unflatten(treedef, leaves.to_vec())?,
            Way::Shared => treedef::unflatten(treedef, leaves)?,
            Way::Borrowed => treedef::unflatten_borrowed(treedef, leaves)?,
            Way::Strict => treedef::unflatten_strict(treedef, leaves)?,
        };
        Ok(Box::new(value))
    }
}

/// Implements the trait of specimens for each type.
macro_rules! types {
    ($($type:item)*) => {$(
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        $type
    )*};
}

/// The same for types that are keys of maps.
macro_rules! key_types {
    ($($type:item)*) => {$(
        #[derive(
            Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
        )]
        $type
    )*};
}

/// A table of values with their names.
macro_rules! specimens {
    ($($name:literal => $value:expr,)*) => {
        vec![$($crate::specimens::Specimen {
            name: $name,
            laws: Box::new($value),
            readable_only: $crate::specimens::READABLE_ONLY.contains(&$name),
            random_order: $crate::specimens::RANDOM_ORDER.contains(&$name),
        }),*]
    };
}

use {key_types, specimens, types};

/// Every value that round-trips.
pub(crate) fn zoo() -> Vec<Specimen> {
    let mut zoo = Vec::new();
    zoo.extend(kinds::specimens());
    zoo.extend(containers::specimens());
    zoo.extend(maps::specimens());
    zoo.extend(enums::specimens());
    zoo.extend(flattened::specimens());
    zoo.extend(attributes::specimens());
    zoo.extend(std_types::specimens());
    zoo.extend(names::specimens());
    zoo.extend(marks::specimens());
    zoo
}

#[test]
fn the_zoo_is_large_and_its_names_are_distinct() {
    let zoo = zoo();
    let mut types: Vec<_> = zoo.iter().map(|specimen| specimen.laws.type_name()).collect();
    types.sort_unstable();
    types.dedup();
    let own = types.iter().filter(|name| name.contains("::specimens::")).count();
    let mut names = std::collections::HashSet::new();
    let repeated = zoo.iter().find(|specimen| !names.insert(specimen.name));
    assert!(repeated.is_none(), "two specimens are called {:?}", repeated.map(|twin| twin.name));
    assert!(zoo.len() >= 170, "{} values", zoo.len());
    assert!(own >= 110, "{own} types of our own, of {}", types.len());
}
