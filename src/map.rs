//! Functions that map the leaves of a value, and return a value of the same structure.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Result;
use crate::flatten::{flatten_as, structure};
use crate::leaf::leaf_type::LeafType;
use crate::model::{Leaf, Tree};
use crate::path::Path;
use crate::unflatten::{Leaves, unflatten};

/// Applies `f` to every leaf.
///
/// # Errors
///
/// Returns an error when the value cannot be flattened, or cannot be rebuilt from the new leaves.
///
/// ```
/// use treedef::Leaf;
///
/// let doubled = treedef::map(&(1.5, "a".to_owned()), |leaf| match leaf {
///     Leaf::F64(x) => Leaf::F64(2.0 * x),
///     other => other,
/// })?;
/// assert_eq!(doubled, (3.0, "a".to_owned()));
/// # Ok::<(), treedef::Error>(())
/// ```
#[doc(alias = "tree_map")]
#[doc(alias = "map_structure")]
pub fn map<T: Serialize + DeserializeOwned>(value: &T, f: impl FnMut(Leaf) -> Leaf) -> Result<T> {
    Tree::of(value)?.map(f).into_typed()
}

/// Applies `f`, which may fail, to every leaf.
///
/// # Errors
///
/// Returns the first error of `f`, with the path of its leaf; otherwise as [`map`].
///
/// ```
/// use treedef::Leaf;
///
/// let error = treedef::try_map(&vec![1, 0], |leaf| match leaf {
///     Leaf::I32(0) => Err("a zero"),
///     other => Ok(other),
/// });
/// assert_eq!(error.unwrap_err().to_string(), "a zero at `[1]`");
/// # Ok::<(), treedef::Error>(())
/// ```
pub fn try_map<T, E>(value: &T, f: impl FnMut(Leaf) -> Result<Leaf, E>) -> Result<T>
where
    T: Serialize + DeserializeOwned,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    Tree::of(value)?.try_map(f)?.into_typed()
}

/// Applies `f` to every leaf and its path.
///
/// # Errors
///
/// As [`map`].
///
/// ```
/// use treedef::Leaf;
///
/// let numbered =
///     treedef::map_with_path(&vec![String::new(); 2], |path, _| Leaf::from(path.to_string()))?;
/// assert_eq!(numbered, ["[0]", "[1]"]);
/// # Ok::<(), treedef::Error>(())
/// ```
#[doc(alias = "tree_map_with_path")]
pub fn map_with_path<T: Serialize + DeserializeOwned>(
    value: &T,
    f: impl FnMut(&Path, Leaf) -> Leaf,
) -> Result<T> {
    Tree::of(value)?.map_with_path(f).into_typed()
}

/// Applies `f` to every leaf, if all leaves have the same type. To change only the leaves of one
/// kind, match on the kind in [`map`], or choose them with a flattener:
/// `flattener.tree_as::<f32>(&value)?.map(f).into_typed()`.
///
/// # Errors
///
/// As [`map`]; also when a leaf has another kind.
///
/// ```
/// assert_eq!(treedef::map_as(&[(1.0f32, 2.0f32)], |x: f32| 0.5 * x)?, [(0.5, 1.0)]);
/// # Ok::<(), treedef::Error>(())
/// ```
pub fn map_as<T, L>(value: &T, f: impl FnMut(L) -> L) -> Result<T>
where
    T: Serialize + DeserializeOwned,
    L: LeafType,
{
    let (leaves, treedef) = flatten_as::<L>(value)?;
    unflatten(&treedef, leaves.into_iter().map(f).collect::<Vec<_>>())
}

/// A value with the structure of `example` and other leaves.
///
/// # Errors
///
/// Returns an error when `example` cannot be flattened or rebuilt from these leaves; when there are
/// too many or too few leaves.
///
/// ```
/// let example = ("a".to_owned(), vec![1, 2]);
/// let leaves: Vec<treedef::Leaf> = vec!["b".into(), 3.into(), 4.into()];
/// assert_eq!(treedef::pack_as(&example, leaves)?, ("b".to_owned(), vec![3, 4]));
/// # Ok::<(), treedef::Error>(())
/// ```
#[doc(alias = "pack_sequence_as")]
#[doc(alias = "unflatten_as")]
pub fn pack_as<T: Serialize + DeserializeOwned>(example: &T, leaves: impl Leaves) -> Result<T> {
    unflatten(&structure(example)?, leaves)
}
