//! Rebuilds values whose leaves are [objects](crate::object).

use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::leaf::leaf_type::Source;
use crate::leaf::object::handing_out;
use crate::model::TreeDef;

use super::rebuild::rebuild;
#[cfg(feature = "in_place")]
use super::rebuild::rebuild_into;

/// Rebuilds a value from a treedef and objects, which are moved into it.
///
/// An object is only cloned where serde reads from a buffer, below `untagged` and `flatten`.
///
/// # Errors
///
/// As [`unflatten`](crate::unflatten()). Also when the type takes objects of another type, or does
/// not take all of them. The error has the path. An object that a variant of an `untagged` enum took
/// counts as taken, also if serde then tried the next variant.
///
/// ```
/// use treedef::Object;
///
/// let (objects, treedef) = treedef::flatten_objects::<char>(&(Object('a'), "static"))?;
/// let (object, text): (Object<char>, String) =
///     treedef::unflatten_objects(&treedef, vec!['b'])?;
/// assert_eq!((*object, &*text), ('b', "static"));
/// # Ok::<(), treedef::Error>(())
/// ```
pub fn unflatten_objects<T: DeserializeOwned, O: Clone + 'static>(
    treedef: &TreeDef,
    objects: Vec<O>,
) -> Result<T> {
    taking_all(treedef, objects, |source| rebuild(treedef, source))
}

/// Rebuilds a value from objects in place, as [`unflatten_into`](crate::unflatten_into) does from leaves.
///
/// # Errors
///
/// As [`unflatten_objects`]. The value may have been rebuilt in part on error.
#[cfg(feature = "in_place")]
pub fn unflatten_objects_into<T: DeserializeOwned, O: Clone + 'static>(
    value: &mut T,
    treedef: &TreeDef,
    objects: Vec<O>,
) -> Result<()> {
    taking_all(treedef, objects, |source| rebuild_into(value, treedef, source))
}

/// The result of a walk that takes all objects.
fn taking_all<R, O: Clone + 'static>(
    treedef: &TreeDef,
    objects: Vec<O>,
    walk: impl FnOnce(Source<'static>) -> Result<R>,
) -> Result<R> {
    let source = Source::Objects(objects.len());
    let (result, left) = handing_out(objects, || walk(source));
    let result = result?;
    match left {
        None => Ok(result),
        Some(index) => {
            let error = Error::protocol("the type did not read this object");
            let hint =
                "a field that it ignores or skips, or one without `with = \"treedef::object\"`";
            Err(treedef.error_at_leaf(index, error.with_hint(hint)))
        }
    }
}
