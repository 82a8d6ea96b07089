//! What differs between a rebuilt value and its tree, as lists of paths.

use crate::error::Difference;
use crate::path::Path;
use crate::records::as_record;

as_record! {
    // Earlier versions had no `renamed_nodes`.
    Migration { filled, dropped, renamed, renamed_nodes = Vec::new(), computed, changed }
}

/// The differences between a rebuilt value and the tree that it was rebuilt from.
///
/// It prints as one line, which is empty if there is no difference, and with `{:#}` as one line for
/// each of its [groups](Migration::groups).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Migration {
    /// The value has it and the tree did not: `default` filled it.
    pub filled: Vec<Path>,
    /// The tree had it and the type did not read it: the field is unknown or skipped.
    pub dropped: Vec<Path>,
    /// The tree has it under the first path, and the value under the second, e.g. after an `alias`.
    /// What differs inside is reported of its own, with the paths that it has in the two.
    pub renamed: Vec<(Path, Path)>,
    /// Nodes of which all that was carried over is below the second path now, at the same indices,
    /// though something below them was renamed, too. It is in [`renamed`](Self::renamed): if
    /// `.l[0].w` was renamed to `.body[0].weight`, and so on, `.l` was renamed to `.body`.
    pub renamed_nodes: Vec<(Path, Path)>,
    /// What the value has under the second path depends on what the tree has under the first, and
    /// is another value, e.g. because a `#[serde(from)]` computes it.
    pub computed: Vec<(Path, Path)>,
    /// The leaf, the kind of node or the length differs, e.g. because a number was converted, or a
    /// `Vec<f64>` became a `[f64; 3]`, which is a tuple.
    ///
    /// Some kinds of nodes are the same here: a struct and a map with its fields as keys, a tuple
    /// and a tuple struct, a unit and a unit struct, and a value with and without a `Some` around
    /// it.
    pub changed: Vec<Difference>,
}

impl Migration {
    /// Whether the value has all that the tree has, under the same names, and nothing else.
    ///
    /// The two trees may differ nevertheless in what does not change a value: in the names of
    /// types (not of variants), the order of fields and entries, the kinds of nodes that are the
    /// same in [`changed`](Self::changed), and which values are static. An `f32` also equals the
    /// `f64` that it was widened to, if the tree has `f64` leaves.
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
