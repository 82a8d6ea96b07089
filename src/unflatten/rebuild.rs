//! The functions that rebuild a value.

use std::sync::Arc;

use serde::Serialize;
use serde::de::{Deserialize, DeserializeOwned};

use crate::bug::OrBug;
use crate::call_stack::deepest;
use crate::error::{Cause, Difference, DifferenceKind, Error, Result};
use crate::flatten::Flattener;
use crate::leaf::leaf_type::{Flat, LeafType, Source};
use crate::message::joined;
use crate::model::{Content, Leaf, LeafKind, Limits, NodeKind, Tree, TreeDef, Value};
use crate::treedef::difference::tree_differences;
use crate::treedef::value::scalar_root;

use super::cursor::{Cursor, NodeDeserializer};
use super::fast::{is_plain, read_whole};

/// Rebuilds a value from a treedef and leaves, either the original leaves or new ones.
///
/// `leaves` may be a vector, an array or a slice, of [`Leaf`] or of any [`LeafType`]. Owned leaves
/// are moved into the value, borrowed leaves are cloned.
///
/// The value is built by its own `Deserialize`, so serde's attributes work as usual: fields are
/// found by name, `default` fills missing fields, and unknown fields are ignored. The type may
/// differ from the one that was flattened. As always in serde, an `f64` leaf is rounded into an `f32`
/// field.
///
/// # When to use which
///
/// | you want | call | it costs |
/// |---|---|---|
/// | a value | `unflatten`; of a [`Tree`], [`into_typed`](Tree::into_typed) | one walk |
/// | an error where serde would ignore, default or convert something | [`unflatten_strict`] | a second walk, to flatten the result; needs `Serialize`, too |
/// | a type that borrows, with a `&str` in it | [`unflatten_borrowed`] | nothing: texts are not copied |
/// | to keep `#[serde(skip)]` fields, and the memory of `Vec`s | [`unflatten_into`](crate::unflatten_into) | the feature `in_place` |
/// | to read a saved value into a changed type, with a report | [`Tree::migrate`] | the feature `migrate` |
///
/// # Errors
///
/// Returns an error when there are too many or too few leaves, or when the type does not fit the
/// treedef. The error has the path.
///
/// ```
/// let (_, treedef) = treedef::flatten(&(1.0, [2.0, 3.0]))?;
/// assert_eq!(
///     treedef::unflatten::<(f64, [f64; 2])>(&treedef, [10.0, 20.0, 30.0])?,
///     (10.0, [20.0, 30.0])
/// );
/// # Ok::<(), treedef::Error>(())
/// ```
#[doc(alias = "tree_unflatten")]
pub fn unflatten<T: DeserializeOwned>(treedef: &TreeDef, mut leaves: impl Leaves) -> Result<T> {
    rebuild(treedef, leaves.source())
}

/// Rebuilds a value that may borrow strings and bytes from the leaves, and names from the treedef.
///
/// [`unflatten`] and [`Tree::into_typed`] return only owned values. With a type that borrows, such as
/// `struct Row<'a> { name: &'a str, n: i32 }`, they do not compile:
///
/// ```text
/// error: implementation of `Deserialize` is not general enough
///   = note: `Row<'_>` must implement `Deserialize<'0>`, for any lifetime `'0`...
///   = note: ...but `Row<'_>` actually implements `Deserialize<'1>`,
///           for some specific lifetime `'1`
/// ```
///
/// Either call this function, which borrows from `treedef` and `leaves`, or let the type own its
/// strings (`String`, or `Cow<'static, str>`).
///
/// # Errors
///
/// As [`unflatten`].
///
/// ```
/// let (leaves, treedef) = treedef::flatten(&("a", [1, 2]))?;
/// let (name, _): (&str, [i32; 2]) = treedef::unflatten_borrowed(&treedef, &leaves)?;
/// assert_eq!(name.as_ptr(), leaves[0].as_str().unwrap().as_ptr());
/// # Ok::<(), treedef::Error>(())
/// ```
///
/// ```compile_fail
/// let (leaves, treedef) = treedef::flatten(&("a", [1, 2])).unwrap();
/// // This is not general enough:
/// let (name, _): (&str, [i32; 2]) = treedef::unflatten(&treedef, &leaves).unwrap();
/// ```
pub fn unflatten_borrowed<'de, T: Deserialize<'de>>(
    treedef: &'de TreeDef,
    leaves: &'de [Leaf],
) -> Result<T> {
    rebuild(treedef, Leaf::borrowed(leaves))
}

/// Rebuilds a value, flattens it again, and returns an error if something was lost or changed.
///
/// serde lets a type ignore unknown and `skip_deserializing` fields, turn a flattened `Option` that
/// fails into `None`, and convert numbers. All of these are errors here.
///
/// The comparison ignores the names of types, the order of map entries, whether a value is static or
/// an opaque leaf, an `f32` that was flattened into `f64` leaves, and a half that
/// [`ArrayRule::Half`](crate::ArrayRule::Half) flattened into a float.
///
/// # Errors
///
/// As [`unflatten`], and [`ErrorKind::Structure`](crate::ErrorKind::Structure) with the list of
/// [`Difference`](crate::Difference)s.
///
/// ```
/// let (leaves, treedef) = treedef::flatten(&(1u8, 2u8))?;
/// let error = treedef::unflatten_strict::<(u8, u32)>(&treedef, leaves).unwrap_err();
/// assert_eq!(error.to_string(), "expected `2u8`, found `2u32` at `.1`");
/// # Ok::<(), treedef::Error>(())
/// ```
pub fn unflatten_strict<T: DeserializeOwned + Serialize>(
    treedef: &TreeDef,
    leaves: impl Leaves,
) -> Result<T> {
    let widened = leaves.kind() == LeafKind::F64;
    let given = Tree::new(treedef.clone(), leaves.into_leaves())?;
    let value = unflatten(treedef, &given.leaves)?;
    let (leaves, treedef) = Flattener::with_options_of(treedef).flatten(&value)?;
    let differences = tree_differences(&given, &Tree::from_parts(treedef, leaves), widened);
    match what_serde_did(&differences) {
        _ if differences.is_empty() => Ok(value),
        Some(did) => Err(Error::structure(differences).with_hint(did)),
        None => Err(Error::structure(differences)),
    }
}

/// The first part that the type ignored, and the first that it filled by a default.
fn what_serde_did(differences: &[Difference]) -> Option<String> {
    let first = |kind| differences.iter().find(|difference| difference.kind == kind);
    let dropped = first(DifferenceKind::Missing).map(|at| format!("dropped `{}`", at.path.brief()));
    let filled =
        first(DifferenceKind::Extra).map(|at| format!("filled `{}` by default", at.path.brief()));
    let did = joined([dropped, filled].iter().flatten(), " and ");
    (!did.is_empty()).then(|| format!("the type {did}"))
}

/// Rebuilds a value in place, so that `#[serde(skip)]` fields keep their content.
///
/// Needs the feature `in_place`, which turns on serde_derive's `deserialize_in_place` for the whole
/// build. Like serde, it works through nested structs, tuples and the existing elements of a `Vec`.
/// Skipped fields are still reset to their default inside enums, `Option`s, maps, types with a
/// `#[serde(flatten)]` field, and new elements.
///
/// # Errors
///
/// As [`unflatten`]. The value may have been rebuilt in part on error.
///
/// ```
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Layer {
///     w: f64,
///     #[serde(skip)]
///     cache: Vec<u8>,
/// }
///
/// let mut layers = vec![Layer { w: 1.0, cache: vec![1, 2, 3] }];
/// let (_, treedef) = treedef::flatten(&layers)?;
/// treedef::unflatten_into(&mut layers, &treedef, [2.0])?;
/// assert_eq!((layers[0].w, &*layers[0].cache), (2.0, &[1, 2, 3][..]));
/// # Ok::<(), treedef::Error>(())
/// ```
#[cfg(feature = "in_place")]
pub fn unflatten_into<T: DeserializeOwned>(
    value: &mut T,
    treedef: &TreeDef,
    mut leaves: impl Leaves,
) -> Result<()> {
    rebuild_into(value, treedef, leaves.source())
}

#[cfg(feature = "in_place")]
pub(super) fn rebuild_into<T: DeserializeOwned>(
    value: &mut T,
    treedef: &TreeDef,
    leaves: Source<'_>,
) -> Result<()> {
    expect_fit(treedef, &leaves)?;
    let mut cursor = cursor(treedef, leaves);
    let result = T::deserialize_in_place(NodeDeserializer(&mut cursor), value);
    ended(result, &cursor, treedef)
}

pub(super) fn rebuild<'de, T: Deserialize<'de>>(
    treedef: &'de TreeDef,
    leaves: Source<'de>,
) -> Result<T> {
    if let Err(error) = expect_fit(treedef, &leaves) {
        return Err(error);
    }
    let mut cursor = cursor(treedef, leaves);
    if const { is_plain::<T>() }
        && let Some(value) = read_whole(&cursor)
    {
        return Ok(value);
    }
    ended(T::deserialize(NodeDeserializer(&mut cursor)), &cursor, treedef)
}

/// The result of a walk, at its end.
#[inline]
fn ended<T>(result: Result<T>, cursor: &Cursor<'_>, treedef: &TreeDef) -> Result<T> {
    match result {
        Err(error) => Err(naming_struct(error, treedef)),
        value => {
            cursor.check_end();
            value
        }
    }
}

/// Says which struct a type refused, which serde calls a map.
#[cold]
fn naming_struct(mut error: Error, treedef: &TreeDef) -> Error {
    let node = treedef.node(error.path()).ok();
    if let Some(node) = node.filter(|node| node.kind() == NodeKind::Struct)
        && let Cause::InvalidType { found, .. } = error.cause_mut()
        && found == "map"
    {
        *found = format!("struct `{}`", node.name().or_bug());
    }
    error
}

/// Checks the leaf count and the limits before a value is rebuilt.
fn expect_fit(treedef: &TreeDef, leaves: &Source<'_>) -> Result<()> {
    treedef.expect_leaves(leaves.len())?;
    treedef.expect_work(leaves.len())
}

/// Apart from the checks, so that the large cursor is built in the place of the caller, not copied out of a `Result`.
#[inline(never)]
fn cursor<'de>(treedef: &'de TreeDef, leaves: Source<'de>) -> Cursor<'de> {
    let (compact, levels) = (treedef.encoding.options.compact, deepest(treedef.limits));
    Cursor::new(treedef, leaves, compact, levels)
}

/// Leaves for rebuilding a value: `Vec<L>` and `[L; N]`, which are moved, or `&Vec<L>`, `&[L]` and
/// `&[L; N]`.
///
/// The supertrait is internal, and may change in any release: call [`unflatten`].
pub trait Leaves: IntoSource {}

/// Cannot be named outside the crate, so that [`Leaves`] is sealed.
pub trait IntoSource {
    /// The kind of the leaf type.
    fn kind(&self) -> LeafKind;
    fn source(&mut self) -> Source<'_>;
    fn into_leaves(self) -> Vec<Leaf>;
}

macro_rules! leaves {
    ($([$($generics:tt)*] $type:ty: $self:ident => $source:expr, $own:expr;)*) => {$(
        impl<$($generics)*> Leaves for $type {}

        impl<$($generics)*> IntoSource for $type {
            fn kind(&self) -> LeafKind {
                L::KIND
            }

            fn source(&mut $self) -> Source<'_> {
                $source
            }

            fn into_leaves($self) -> Vec<Leaf> {
                $own.map(L::into).collect()
            }
        }
    )*};
}

leaves! {
    [L: LeafType] Vec<L>: self => L::handed_over(self), self.into_iter();
    [L: LeafType, const N: usize] [L; N]: self => L::handed_over(self), self.into_iter();
    ['l, L: LeafType] &'l Vec<L>: self => L::borrowed(self), self.iter().cloned();
    ['l, L: LeafType] &'l [L]: self => L::borrowed(self), self.iter().cloned();
    ['l, L: LeafType, const N: usize] &'l [L; N]: self => L::borrowed(*self), self.iter().cloned();
}

impl Value {
    /// Rebuilds the value as a type.
    ///
    /// # Errors
    ///
    /// As [`unflatten`].
    pub fn into_typed<T: DeserializeOwned>(self) -> Result<T> {
        let (mut leaf, limits) = match self.0 {
            Content::Tree(treedef, leaves) => return unflatten(&treedef, leaves.into_vec()),
            Content::Scalar(leaf) => (leaf, Limits::default()),
            Content::Array(array) => {
                let limits = array.treedef.limits;
                (Leaf::Opaque(Arc::new(Value(Content::Array(array)))), limits)
            }
        };
        let leaves = Flat::handed_over(std::slice::from_mut(&mut leaf));
        let treedef = scalar_root().treedef;
        let mut cursor = Cursor::new(treedef, leaves, false, deepest(limits));
        ended(T::deserialize(NodeDeserializer(&mut cursor)), &cursor, treedef)
    }
}

impl Leaf {
    /// Rebuilds the leaf as a type: a scalar, or the subtree in an opaque leaf.
    ///
    /// A leaf does not store the options of its walk, so it is rebuilt as human-readable. If the
    /// walk was not human-readable, use its treedef:
    ///
    /// ```
    /// use std::net::IpAddr;
    ///
    /// use treedef::{Flattener, Opaque};
    ///
    /// let compact = Flattener::new().compact(true);
    /// let (leaves, treedef) = compact.flatten(&vec![Opaque(IpAddr::from([127, 0, 0, 1]))])?;
    /// let place = treedef.node("[0]")?.to_treedef();
    /// assert_eq!(treedef::unflatten::<IpAddr>(&place, &leaves)?, IpAddr::from([127, 0, 0, 1]));
    /// assert!(leaves[0].clone().into_typed::<IpAddr>().is_err());
    /// # Ok::<(), treedef::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`unflatten`].
    pub fn into_typed<T: DeserializeOwned>(self) -> Result<T> {
        Value::from(self).into_typed()
    }
}
