//! A type that has moved on since its values were flattened.

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

/// How a value differs from the tree that it was rebuilt from: what serde did beside copying.
///
/// It prints as a sentence, an empty one when there is nothing to say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Migration {
    /// What the tree did not have: `default` filled it.
    pub filled: Vec<Path>,
    /// What the type did not take: it is unknown to it, or skipped.
    pub dropped: Vec<Path>,
    /// What the tree has under the first path and the value, unchanged, under the second: an `alias`, say.
    pub renamed: Vec<(Path, Path)>,
    /// What is another leaf, kind of node or length: a number that was converted, say.
    pub changed: Vec<Difference>,
}

impl<L: LeafType> Tree<L> {
    /// Rebuilds the typed value as [`into_typed`](Tree::into_typed) does, and says what serde filled, dropped or changed.
    ///
    /// A checkpoint outlives the definition of its type. What that may have become is serde's to say: a new field needs
    /// `default`, one with a new name `alias`, one that is gone is ignored. This makes it visible.
    ///
    /// # Errors
    ///
    /// As [`unflatten`]: a field that is missing and has no default, say.
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

    /// Takes what was dropped here and filled there for one and the same, where it stands in the same node and is equal.
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

    /// Whether the value has just what the tree has.
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

/// A verb and what it was done to, of which the first few stand for all.
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
