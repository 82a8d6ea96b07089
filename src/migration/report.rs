//! The differences between a rebuilt value and its tree, as lists of paths.

use crate::error::Difference;
use crate::path::Path;

/// The differences between a rebuilt value and the tree that it was rebuilt from.
///
/// Each leaf of the tree that the value does not have at the same place and as the same value is in one of
/// the lists, itself or a node around it.
///
/// It prints as one line, which is empty if there is no difference. Entries whose paths differ only in
/// indices are grouped; entries with two paths, if the indices are the same on both sides: `.l[0].w` to
/// `.body[0].weight` and `.l[1].w` to `.body[1].weight`. With `{:#}` each group has a line:
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use treedef::Tree;
///
/// #[derive(Serialize)]
/// struct Old {
///     l: Vec<Layer>,
/// }
/// #[derive(Serialize)]
/// struct Layer {
///     w: f64,
///     b: f64,
/// }
///
/// #[derive(Serialize, Deserialize)]
/// struct New {
///     #[serde(alias = "l")]
///     body: Vec<Linear>,
/// }
/// #[derive(Serialize, Deserialize)]
/// struct Linear {
///     #[serde(alias = "w")]
///     weight: f64,
/// }
///
/// let layer = |_| Layer { w: 0.5, b: 0.0 };
/// let old = Tree::of(&Old { l: (0..40).map(layer).collect() })?;
/// let (_, migration) = old.migrate::<New>()?;
/// let groups = format!("{migration:#}");
/// assert_eq!(groups.lines().collect::<Vec<_>>(), [
///     "dropped `.l[*].b` (×40)",
///     "renamed `.l` to `.body`",
///     "renamed `.l[*].w` to `.body[*].weight` (×40)",
/// ]);
/// assert_eq!(migration.renamed.len(), 41);
/// # Ok::<(), treedef::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Migration {
    /// The value has it and the tree did not: `default` filled it, or it was computed from the
    /// [`dropped`](Self::dropped) parts.
    pub filled: Vec<Path>,
    /// The tree had it and the value does not: the type did not read it, or converted it into
    /// something else.
    pub dropped: Vec<Path>,
    /// The tree has it under the first path, and the value under the second, e.g. after an `alias`.
    ///
    /// Differences inside are listed too, with their paths on both sides: `.l[0].w` may be renamed
    /// to `.body[0].weight`, where `.l` is renamed to `.body`.
    pub renamed: Vec<(Path, Path)>,
    /// The leaf, the kind of node or the length differs, e.g. because a number was converted, or a
    /// `Vec<f64>` became a `[f64; 3]`, which is a tuple. The paths are the paths in the value.
    /// Differences below are listed too.
    ///
    /// If only the kinds of two numbers differ, the entry has the kinds: `expected u32, found u64`. So
    /// it has if an `f64` became its nearest `f32`. For other leaves it has the values.
    ///
    /// Some kinds of nodes are the same here: a struct and a map with its fields as keys, a tuple
    /// and a tuple struct, a unit and a unit struct, and a value with and without a `Some` around
    /// it.
    pub changed: Vec<Difference>,
}

impl Migration {
    /// Whether the value has everything that the tree has, under the same names, and nothing else.
    ///
    /// The two trees may differ in details that do not change a value: in the names of types (not
    /// of variants), the order of fields and entries, the widths of keys, the kinds of nodes that
    /// are treated as equal in [`changed`](Self::changed), and which values are static. An `f32`
    /// also equals the `f64` that it was widened to, if the tree has `f64` leaves.
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
    ///     seed: Option<u32>,
    ///     w: f64,
    /// }
    ///
    /// let old = Tree::of(&Old { w: 2.0, seed: 7 })?;
    /// let (new, migration) = old.clone().migrate::<New>()?;
    /// assert!(migration.is_empty());
    /// assert_ne!(Tree::of(&new)?, old);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        *self == Migration::default()
    }
}
