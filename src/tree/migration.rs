//! Rebuilds values of a type that has changed since they were flattened.

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Difference, DifferenceKind, ErrorKind, Result};
use crate::flatten::Flattener;
use crate::leaf::leaf_type::{Flat, LeafType};
use crate::model::{Leaf, LeafKind, Name, Tree};
use crate::path::{Key, Path};
use crate::treedef::difference::migration_differences;
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

/// # Save and load
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
        let rebuild = |tree: &Tree<Leaf>| -> Result<(T, Tree<Leaf>)> {
            let value = unflatten(&tree.treedef, &tree.leaves)?;
            let (leaves, treedef) = Flattener::with_options_of(&tree.treedef).flatten(&value)?;
            Ok((value, Tree { treedef, leaves }))
        };
        let (value, new) = rebuild(&old)?;
        let without = |tree: &Tree<Leaf>| rebuild(tree).map(|(_, new)| new);
        Ok((value, Migration::between(&old, &new, widened, without)))
    }
}

/// At most this many nodes that are not in the value are followed.
const FOLLOWED: usize = 64;

impl Migration {
    fn between(
        old: &Tree<Leaf>,
        new: &Tree<Leaf>,
        widened: bool,
        rebuild: impl Fn(&Tree<Leaf>) -> Result<Tree<Leaf>>,
    ) -> Self {
        let mut migration = Migration::default();
        for difference in migration_differences(old, new, widened) {
            match difference.kind {
                DifferenceKind::Missing => migration.dropped.push(difference.path),
                DifferenceKind::Extra => migration.filled.push(difference.path),
                _ => migration.changed.push(difference),
            }
        }
        if !migration.dropped.is_empty() && !migration.filled.is_empty() {
            migration.find_renamed(old, new, &rebuild);
        }
        migration
    }

    /// Takes what was dropped here and filled there for one, where the value depends on it. Elements
    /// of a sequence that are renamed alike are followed once.
    fn find_renamed(
        &mut self,
        old: &Tree<Leaf>,
        new: &Tree<Leaf>,
        rebuild: &impl Fn(&Tree<Leaf>) -> Result<Tree<Leaf>>,
    ) {
        // A default that is never the same says nothing.
        let Ok(again) = rebuild(old) else { return };
        let there = |tree: &Tree<Leaf>, path: &Path| tree.subtree(path).ok();
        let mut filled: HashSet<Path> = self.filled.iter().cloned().collect();
        filled.retain(|path| there(new, path) == there(&again, path));
        let (mut alike, mut followed) = (HashMap::new(), 0);
        for from in self.dropped.clone() {
            let (general, indices) = generalised(&from);
            let known = alike.get(&general).map(|to| specialised(to, &indices));
            let to = known.filter(|to| filled.contains(to)).or_else(|| {
                followed += 1;
                if followed > FOLLOWED {
                    return None;
                }
                follow(&from, old, new, &filled, rebuild)
            });
            let Some(to) = to else { continue };
            filled.remove(&to);
            alike.insert(general, generalised(&to).0);
            self.changed.extend(retyped(&from, &to, old, new));
            self.renamed.push((from, to));
        }
        let moved: HashSet<&Path> = self.renamed.iter().flat_map(|(from, to)| [from, to]).collect();
        self.dropped.retain(|path| !moved.contains(path));
        self.filled.retain(|path| !moved.contains(path));
    }

    /// Whether the value has no difference to the tree.
    pub fn is_empty(&self) -> bool {
        *self == Migration::default()
    }
}

/// Where the type put what the tree has at a path: the field that is missing without it, or that has
/// another value without it or with other leaves.
fn follow(
    from: &Path,
    old: &Tree<Leaf>,
    new: &Tree<Leaf>,
    filled: &HashSet<Path>,
    rebuild: &impl Fn(&Tree<Leaf>) -> Result<Tree<Leaf>>,
) -> Option<Path> {
    let there = |tree: &Tree<Leaf>, path: &Path| tree.subtree(path).ok();
    let differs = |other: &Tree<Leaf>| {
        let mut differing: Vec<&Path> =
            filled.iter().filter(|path| there(new, path) != there(other, path)).collect();
        differing.sort();
        differing.first().map(|path| (*path).clone())
    };
    let mut without = old.clone();
    without.remove(from).ok()?;
    let found = match rebuild(&without) {
        Ok(other) => differs(&other),
        Err(error) => match error.kind() {
            ErrorKind::MissingField { field, .. } => {
                let to = error.path().child(Key::Field(Name::Borrowed(*field)));
                filled.contains(&to).then_some(to)
            }
            _ => None,
        },
    };
    found.or_else(|| {
        // It may be what the default is.
        let mut other = old.clone();
        let range = other.treedef.leaf_range(from).ok()?;
        other.leaves.get_mut(range)?.iter_mut().for_each(disturb);
        differs(&rebuild(&other).ok()?)
    })
}

/// Another leaf of the same kind.
fn disturb(leaf: &mut Leaf) {
    match leaf {
        Leaf::Bool(value) => *value = !*value,
        Leaf::I8(value) => *value ^= 1,
        Leaf::I16(value) => *value ^= 1,
        Leaf::I32(value) => *value ^= 1,
        Leaf::I64(value) => *value ^= 1,
        Leaf::U8(value) => *value ^= 1,
        Leaf::U16(value) => *value ^= 1,
        Leaf::U32(value) => *value ^= 1,
        Leaf::U64(value) => *value ^= 1,
        Leaf::F32(value) => *value += 1.0,
        Leaf::F64(value) => *value += 1.0,
        Leaf::Str(text) => *text = format!("{text}_").into(),
        _ => {}
    }
}

/// A path without its indices, and these.
fn generalised(path: &Path) -> (Path, Vec<usize>) {
    let mut indices = Vec::new();
    let keys = path.keys().iter().map(|key| match key {
        Key::Index(index) => {
            indices.push(*index);
            Key::Index(0)
        }
        key => key.clone(),
    });
    (keys.collect(), indices)
}

/// The path that has these indices.
fn specialised(general: &Path, indices: &[usize]) -> Path {
    let mut indices = indices.iter();
    let keys = general.keys().iter().map(|key| match key {
        Key::Index(_) => Key::Index(indices.next().copied().unwrap_or(0)),
        key => key.clone(),
    });
    keys.collect()
}

/// The kind of what was renamed, if all its leaves are of one kind and the type has another.
fn retyped(from: &Path, to: &Path, old: &Tree<Leaf>, new: &Tree<Leaf>) -> Option<Difference> {
    let kind = |tree: &Tree<Leaf>, path: &Path| {
        let leaves = tree.leaves.get(tree.treedef.leaf_range(path).ok()?)?;
        let first = leaves.first()?.kind();
        leaves.iter().all(|leaf| leaf.kind() == first).then_some(first)
    };
    let (before, after) = (kind(old, from)?, kind(new, to)?);
    (before != after).then(|| Difference {
        path: to.clone(),
        kind: DifferenceKind::Leaf,
        expected: before.name().to_owned(),
        found: after.name().to_owned(),
    })
}

impl fmt::Display for Migration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = |path: &Path| format!("`{path}`");
        let rename = |(from, to): &(Path, Path)| format!("`{from}` to `{to}`");
        let change = |Difference { path, expected, found, .. }: &Difference| match path.is_root() {
            true => format!("{expected} to {found} at the root"),
            false => format!("{expected} to {found} at `{path}`"),
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
