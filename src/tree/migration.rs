//! Rebuilds values of a type that has changed since they were flattened.

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Difference, DifferenceKind, Result};
use crate::flatten::Flattener;
use crate::leaf::leaf_type::{Flat, LeafType};
use crate::model::{Leaf, LeafKind, Tree};
use crate::path::Path;
use crate::treedef::difference::{same_below, tree_differences};
use crate::unflatten::unflatten;

/// The differences between a rebuilt value and the tree that it was rebuilt from.
///
/// It prints as one line, which is empty if there is no difference.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Migration {
    /// The value has it and the tree did not: `default` filled it.
    pub filled: Vec<Path>,
    /// The tree had it and the type did not read it: the field is unknown or skipped.
    pub dropped: Vec<Path>,
    /// The tree has it under the first path, and the value, unchanged, under the second, e.g. after
    /// an `alias`.
    pub renamed: Vec<(Path, Path)>,
    /// The leaf, the kind of node or the length differs, e.g. because a number was converted.
    pub changed: Vec<Difference>,
}

impl<L: LeafType> Tree<L> {
    /// Rebuilds the typed value as [`into_typed`](Tree::into_typed) does, and reports what serde
    /// filled, dropped or changed.
    ///
    /// A saved value may be older than the definition of its type. serde decides which changes it
    /// accepts: a new field needs `default`, a renamed field needs `alias`, and a removed field is
    /// ignored.
    ///
    /// # Errors
    ///
    /// As [`unflatten`], e.g. when a field is missing and has no default.
    ///
    /// ```
    /// use serde::{Deserialize, Serialize};
    /// use treedef::Tree;
    ///
    /// #[derive(Serialize)]
    /// struct Old {
    ///     w: f64,
    ///     seed: u32,
    /// }
    ///
    /// #[derive(Serialize, Deserialize)]
    /// struct New {
    ///     #[serde(alias = "w")]
    ///     weight: f64,
    ///     #[serde(default)]
    ///     momentum: f64,
    /// }
    ///
    /// let (new, migration) = Tree::of(&Old { w: 2.0, seed: 7 })?.migrate::<New>()?;
    /// assert_eq!((new.weight, new.momentum), (2.0, 0.0));
    /// assert_eq!(migration.to_string(), "filled `.momentum`; dropped `.seed`; renamed `.w` to `.weight`");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn migrate<T: Serialize + DeserializeOwned>(self) -> Result<(T, Migration)> {
        let (treedef, widened) = (self.treedef, L::KIND == LeafKind::F64);
        let old = Tree { treedef, leaves: self.leaves.into_iter().map(Flat::into_leaf).collect() };
        let value = unflatten(&old.treedef, &old.leaves)?;
        let (leaves, treedef) = Flattener::with_options_of(&old.treedef).flatten(&value)?;
        Ok((value, Migration::between(&old, &Tree { treedef, leaves }, widened)))
    }
}

impl Migration {
    fn between(old: &Tree<Leaf>, new: &Tree<Leaf>, widened: bool) -> Self {
        let mut migration = Migration::default();
        for difference in tree_differences(old, new, widened) {
            match difference.kind {
                DifferenceKind::Missing => migration.dropped.push(difference.path),
                DifferenceKind::Extra => migration.filled.push(difference.path),
                _ => migration.changed.push(difference),
            }
        }
        migration.find_renamed(old, new);
        migration
    }

    /// Finds renamed fields: dropped and filled siblings whose subtrees are equal.
    fn find_renamed(&mut self, old: &Tree<Leaf>, new: &Tree<Leaf>) {
        let mut filled: HashMap<Option<Path>, Vec<&Path>> = HashMap::new();
        self.filled.iter().for_each(|path| filled.entry(path.parent()).or_default().push(path));
        let is_equal = |from: &Path, to: &Path| {
            let sides = (old.treedef.node(from), new.treedef.node(to));
            let (Ok(a), Ok(b)) = sides else { return false };
            same_below((a, &old.leaves), (b, &new.leaves))
        };
        let mut renamed = Vec::new();
        for from in &self.dropped {
            let siblings = filled.get_mut(&from.parent());
            let place =
                siblings.as_ref().and_then(|all| all.iter().position(|to| is_equal(from, to)));
            if let (Some(siblings), Some(place)) = (siblings, place) {
                renamed.push((from.clone(), siblings.remove(place).clone()));
            }
        }
        let moved: HashSet<&Path> = renamed.iter().flat_map(|(from, to)| [from, to]).collect();
        self.dropped.retain(|path| !moved.contains(path));
        self.filled.retain(|path| !moved.contains(path));
        self.renamed = renamed;
    }

    /// Whether the value has no difference to the tree.
    pub fn is_empty(&self) -> bool {
        *self == Migration::default()
    }
}

impl fmt::Display for Migration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = |path: &Path| format!("`{path}`");
        let rename = |(from, to): &(Path, Path)| format!("`{from}` to `{to}`");
        let change = |Difference { path, expected, found, .. }: &Difference| {
            format!("{expected} to {found} at `{path}`")
        };
        let clauses = [
            clause("filled", &self.filled, path),
            clause("dropped", &self.dropped, path),
            clause("renamed", &self.renamed, rename),
            clause("changed", &self.changed, change),
        ];
        let clauses: Vec<String> = clauses.into_iter().flatten().collect();
        f.write_str(&clauses.join("; "))
    }
}

/// A verb with the first few of the things that it applies to.
fn clause<T>(verb: &str, all: &[T], print: impl Fn(&T) -> String) -> Option<String> {
    const SHOWN: usize = 3;
    let shown: Vec<String> = all.iter().take(SHOWN).map(print).collect();
    let listed = format!("{verb} {}", shown.join(", "));
    match all.len() {
        0 => None,
        count if count > SHOWN => Some(format!("{listed} and {} more", count - SHOWN)),
        _ => Some(listed),
    }
}
