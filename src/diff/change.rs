//! A [`Diff`] is a list of [changes](Change).

use crate::error::DifferenceKind;
use crate::model::Name;
use crate::path::{Key, Path};

/// The changes that turn one tree or structure into another. See [`Tree::diff`](crate::Tree::diff)
/// and [`TreeDef::diff`](crate::TreeDef::diff).
///
/// It prints as a report with one line for each change. More than 20 changes are cut off, unless
/// the format is `{:#}`.
///
/// ```
/// use treedef::TreeDef;
///
/// let old: TreeDef =
///     "Model { layers: [(*, *); 12], head: Linear { w: * }, seed: static 7 }".parse()?;
/// let new: TreeDef =
///     "Model { layers: [(*, *); 9], head: Linear { weight: * }, seed: static 8 }".parse()?;
/// let diff = old.diff(&new);
/// assert_eq!(diff.to_string(), "\
/// 3 changes
/// - .layers[9]: (*, *), and 2 more like it
/// ~ .head.w is now .head.weight
/// ~ .seed: static 7 → static 8");
/// assert_eq!(old.patch(&diff)?, new);
/// # Ok::<(), treedef::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diff<T> {
    /// All changes, in the order of the old tree. Within one node, added children come last.
    pub changes: Vec<Change<T>>,
}

/// One difference between two trees.
///
/// ```
/// use treedef::{ChangeKind, TreeDef};
///
/// let old: TreeDef = "[[Point { x: * }; 3]; 4]".parse()?;
/// let new: TreeDef = "[[Point { x: *, y: * }; 3]; 4]".parse()?;
/// let diff = old.diff(&new);
/// let [change] = &diff.changes[..] else { panic!("one change") };
/// assert_eq!((change.path.to_string().as_str(), change.places()), ("[0][0].y", 12));
/// assert_eq!(change.kind, ChangeKind::Added { position: 1, new: TreeDef::leaf() });
/// # Ok::<(), treedef::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change<T> {
    /// The path in the old tree. If something was added, the last key is the key in the new tree.
    pub path: Path,
    /// What changed there.
    pub kind: ChangeKind<T>,
    /// For each key of the path, how many siblings the change covers, starting at that key.
    pub(crate) spans: Vec<usize>,
}

/// The kind of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeKind<T> {
    /// A field, an entry or an element that was removed.
    Removed(T),
    /// A field, an entry or an element that was added.
    Added {
        /// The index among the children of the new node.
        position: usize,
        /// The new subtree.
        new: T,
    },
    /// A subtree that was replaced by another.
    Replaced {
        /// The roots of the two subtrees differ: in kind of node, variant, static, leaf or options.
        by: DifferenceKind,
        /// The old subtree.
        old: T,
        /// The new subtree.
        new: T,
    },
    /// A field or key that was renamed. The subtree is the same.
    Renamed {
        /// The new field or key.
        to: Key,
    },
    /// A node whose type was renamed.
    Retyped {
        /// The old name.
        old: Name,
        /// The new name.
        new: Name,
    },
    /// Fields or keys whose order changed.
    Reordered {
        /// The new order, without added fields or keys.
        keys: Vec<Key>,
    },
}

impl<T> Change<T> {
    /// The number of places that the change covers. A change in equal siblings is listed once, with
    /// the path of the first. For a change in each of 3 siblings, which are in each of 4 siblings, it is 12.
    pub fn places(&self) -> usize {
        self.spans.iter().fold(1, |places, span| places.saturating_mul(*span))
    }
}
