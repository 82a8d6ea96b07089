//! Leaves and treedef → value.
//!
//! A value flows so: [`cursor`] is where the walk is; [`deserializer`] answers what serde asks there, by [`elements`],
//! [`entries`] and a [`variant`] where that has children. [`plain`] is for speed alone: without it every test passes.

#![allow(
    clippy::question_mark,
    reason = "`?` is one more function for each type that is rebuilt: see the page about speed"
)]

mod layout;
mod cursor;
mod plain;
mod elements;
mod entries;
mod variant;
mod deserializer;

use serde::Serialize;
use serde::de::{Deserialize, DeserializeOwned};

use crate::error::Result;
use crate::flatten::Flattener;
use crate::leaf::leaf_type::{Flat, LeafType, Source};
use crate::model::{Arrival, Content, Leaf, LeafKind, Limits, Tree, TreeDef, Value};
use crate::treedef::difference::{expect_none, tree_differences};
use crate::treedef::value::scalar_root;

use cursor::{Cursor, NodeDeserializer};
use plain::{is_plain, read_whole};

/// Rebuilds a value from a treedef and leaves: those it was flattened to, or new ones.
///
/// `leaves` may be a vector, an array or a slice, of [`Leaf`] or of any [`LeafType`]. What is handed over is moved into
/// the value, what is lent is cloned.
///
/// The value is built by its own `Deserialize`, so serde's attributes do what they say: fields are found by their
/// names, `default` fills what is missing, unknown fields are ignored. The type need not be the one that was
/// flattened. [`unflatten_strict`] reports what was ignored.
///
/// # Errors
///
/// When there are too many or too few leaves, and when the type asks for something else than the treedef has; the
/// error says at which path.
///
/// ```
/// let (_, treedef) = treedef::flatten(&(1.0, [2.0, 3.0]))?;
/// assert_eq!(treedef::unflatten::<(f64, [f64; 2])>(&treedef, [10.0, 20.0, 30.0])?, (10.0, [20.0, 30.0]));
/// # Ok::<(), treedef::Error>(())
/// ```
#[doc(alias = "tree_unflatten")]
pub fn unflatten<T: DeserializeOwned>(treedef: &TreeDef, mut leaves: impl Leaves) -> Result<T> {
    rebuild(treedef, leaves.source())
}

/// Rebuilds a value that may borrow strings and bytes from the leaves, and names from the treedef.
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
pub fn unflatten_borrowed<'de, T: Deserialize<'de>>(
    treedef: &'de TreeDef,
    leaves: &'de [Leaf],
) -> Result<T> {
    rebuild(treedef, Leaf::lent(leaves))
}

/// Rebuilds a value, flattens it again, and refuses it when something was lost or changed.
///
/// serde lets a type ignore unknown and `skip_deserializing` fields, turn a flattened `Option` that fails into `None`,
/// and convert numbers. All of these are differences here. The names of types are not, nor that a value is static or an
/// opaque leaf, nor an `f32` that was flattened into `f64` leaves.
///
/// # Errors
///
/// As [`unflatten`]; and [`ErrorKind::Structure`](crate::ErrorKind::Structure) with the list of [`Difference`](crate::Difference)s.
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
    expect_none(tree_differences(&given, &Tree { treedef, leaves }, widened))?;
    Ok(value)
}

/// Rebuilds a value in its place, so that `#[serde(skip)]` fields keep what they hold.
///
/// Needs the feature `in_place`, which turns on serde_derive's `deserialize_in_place` for the whole build. It goes as
/// far as serde does: through nested structs, tuples and the elements of a `Vec` that stay. Skipped fields become their
/// default all the same inside enums, `Option`s, maps, and types that contain a `#[serde(flatten)]` field, and in
/// elements that are new.
///
/// # Errors
///
/// As [`unflatten`]; then the value may have been rebuilt in part.
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
    let mut cursor = cursor(treedef, leaves.source())?;
    T::deserialize_in_place(NodeDeserializer(&mut cursor), value)
}

fn rebuild<'de, T: Deserialize<'de>>(treedef: &'de TreeDef, leaves: Source<'de>) -> Result<T> {
    let mut cursor = cursor(treedef, leaves)?;
    if const { is_plain::<T>() }
        && let Some(value) = read_whole(&cursor)
    {
        return Ok(value);
    }
    T::deserialize(NodeDeserializer(&mut cursor))
}

/// Checks what can be checked before a value is rebuilt.
fn cursor<'de>(treedef: &'de TreeDef, leaves: Source<'de>) -> Result<Cursor<'de>> {
    treedef.expect_leaves(leaves.len())?;
    treedef.expect_work(leaves.len())?;
    Ok(Cursor::new(treedef, leaves))
}

/// Leaves that a value can be rebuilt from: `Vec<L>`, `[L; N]`, which are handed over, or `&Vec<L>`, `&[L]`, `&[L; N]`.
///
/// What it inherits is internal, and may change in any release: call [`unflatten`].
pub trait Leaves: Given {}

/// Not nameable outside, so that [`Leaves`] is sealed.
pub trait Given {
    /// The kind of typed leaves.
    fn kind(&self) -> LeafKind;
    fn source(&mut self) -> Source<'_>;
    fn into_leaves(self) -> Vec<Leaf>;
}

macro_rules! leaves {
    ($([$($generics:tt)*] $type:ty: $self:ident => $source:expr, $own:expr;)*) => {$(
        impl<$($generics)*> Leaves for $type {}

        impl<$($generics)*> Given for $type {
            fn kind(&self) -> LeafKind {
                L::KIND
            }

            fn source(&mut $self) -> Source<'_> {
                $source
            }

            fn into_leaves($self) -> Vec<Leaf> {
                $own.map(Flat::into_leaf).collect()
            }
        }
    )*};
}

leaves! {
    [L: LeafType] Vec<L>: self => L::handed_over(self), self.into_iter();
    [L: LeafType, const N: usize] [L; N]: self => L::handed_over(self), self.into_iter();
    ['l, L: LeafType] &'l Vec<L>: self => L::lent(self), self.iter().cloned();
    ['l, L: LeafType] &'l [L]: self => L::lent(self), self.iter().cloned();
    ['l, L: LeafType, const N: usize] &'l [L; N]: self => L::lent(*self), self.iter().cloned();
}

impl Value {
    pub(crate) fn arrivals(&self) -> &[Arrival] {
        match &self.0 {
            Content::Scalar(_) => &[],
            Content::Tree(tree) => tree.treedef.arrivals(),
        }
    }

    /// Rebuilds the value as a type.
    ///
    /// # Errors
    ///
    /// As [`unflatten`].
    pub fn into_typed<T: DeserializeOwned>(self) -> Result<T> {
        match self.0 {
            Content::Scalar(mut leaf) => {
                let leaves = Flat::handed_over(std::slice::from_mut(&mut leaf));
                let mut cursor =
                    Cursor::at(scalar_root(), leaves, &[], false, Limits::default().max_depth);
                T::deserialize(NodeDeserializer(&mut cursor))
            }
            Content::Tree(tree) => tree.into_typed(),
        }
    }
}

impl Leaf {
    /// Rebuilds the leaf as a type: a scalar, or the subtree that an opaque leaf stands for.
    ///
    /// A leaf knows nothing of the walk that it comes from, so it is rebuilt as human-readable. Where the walk was not, its
    /// treedef knows:
    ///
    /// ```
    /// use std::net::IpAddr;
    ///
    /// use treedef::{Flattener, Opaque};
    ///
    /// let compact = Flattener::new().human_readable(false);
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
