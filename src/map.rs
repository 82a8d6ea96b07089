//! Maps the leaves of a value, and returns a value of the same structure.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Result;
use crate::leaf::leaf_type::LeafType;
use crate::model::Tree;

/// Applies `f` to every leaf of a value. Leaves of type [`Leaf`](crate::Leaf) may be of any kind; for
/// another [`LeafType`], all leaves must have its kind.
///
/// # When to use which
///
/// This is [`Tree::of_as`], [`Tree::map`] and [`Tree::into_typed`] in one call. Use these three if you need
/// something else in the middle: [`try_map`](Tree::try_map) for a function that may fail,
/// [`map_with_path`](Tree::map_with_path), or [`select_mut`](Tree::select_mut) for some of the leaves. To
/// change only the leaves of one kind, match on the kind, or choose them with a flattener:
/// `flattener.tree_as::<f32>(&value)?.map(f).into_typed()`.
///
/// # Errors
///
/// Returns an error when the value cannot be flattened to leaves of this type, or cannot be rebuilt
/// from the new leaves.
///
/// ```
/// use treedef::{Leaf, Tree};
///
/// let doubled = treedef::map(&(1.5, "a".to_owned()), |leaf| match leaf {
///     Leaf::F64(x) => Leaf::F64(2.0 * x),
///     other => other,
/// })?;
/// assert_eq!(doubled, (3.0, "a".to_owned()));
///
/// assert_eq!(treedef::map(&[(1.0f32, 2.0f32)], |x: f32| 0.5 * x)?, [(0.5, 1.0)]);
///
/// let numbered = Tree::of(&vec![String::new(); 2])?
///     .map_with_path(|path, _| Leaf::from(path.to_string()))
///     .into_typed::<Vec<String>>()?;
/// assert_eq!(numbered, ["[0]", "[1]"]);
/// # Ok::<(), treedef::Error>(())
/// ```
#[doc(alias = "tree_map")]
#[doc(alias = "map_structure")]
pub fn map<T, L>(value: &T, f: impl FnMut(L) -> L) -> Result<T>
where
    T: Serialize + DeserializeOwned,
    L: LeafType,
{
    Tree::of_as(value)?.map(f).into_typed()
}
