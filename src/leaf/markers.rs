//! Marks for fields: static, or one leaf.
//!
//! A mark is a newtype struct with a reserved name around the value. Only this crate's serializers
//! receive it; they are recognised by their error types. The output of every other format is
//! unchanged.

use std::fmt;
use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};

use crate::type_names::{ErrorOwner, drops_newtypes};

pub(crate) const STATIC_MARK: &str = "__treedef_private_Static";
pub(crate) const LEAF_MARK: &str = "__treedef_private_Leaf";

/// Marks a field as static: its value belongs to the treedef, and is part of its equality, hash and
/// text. The overview compares [static, opaque and skipped
/// fields](crate#what-belongs-to-the-structure).
///
/// Write `#[serde(serialize_with = "treedef::as_static")]`. `with` instead of `serialize_with`
/// works too, but then serde returns an error for an absent `Option` field. Other formats serialize
/// the field as usual.
///
/// serde hides the mark on a `#[serde(flatten)]` field, and on the payload of a newtype variant of
/// an internally tagged enum. That is an error: mark the inner fields instead.
///
/// # Errors
///
/// Errors of the value; also when serde hides the mark.
///
/// ```
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Debug, PartialEq, Serialize, Deserialize)]
/// struct Layer {
///     #[serde(serialize_with = "treedef::as_static")]
///     activation: String,
///     w: [f64; 2],
/// }
///
/// let layer = Layer { activation: "relu".to_owned(), w: [1.0, 2.0] };
/// let (leaves, treedef) = treedef::flatten_as::<f64>(&layer)?;
/// assert_eq!(leaves, [1.0, 2.0]);
/// assert_eq!(treedef.to_string(), r#"Layer { activation: static "relu", w: (*, *) }"#);
/// assert_eq!(treedef::unflatten::<Layer>(&treedef, leaves)?, layer);
/// # Ok::<(), treedef::Error>(())
/// ```
pub fn as_static<T: Serialize + ?Sized, S: Serializer>(
    value: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    mark(STATIC_MARK, value, serializer)
}

/// Marks a field as one leaf, with everything below it, e.g. a tensor, a matrix or a name.
///
/// Write it like [`as_static`](fn@as_static); the same exceptions apply. A scalar is a leaf anyway.
/// [`Leaf::into_typed`](crate::Leaf::into_typed) returns the value of the leaf, and any other value
/// can replace it:
///
/// # Errors
///
/// As [`as_static`](fn@as_static).
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use treedef::{Leaf, Value};
///
/// #[derive(Debug, PartialEq, Serialize, Deserialize)]
/// struct Image {
///     #[serde(serialize_with = "treedef::as_opaque")]
///     pixels: Vec<[u8; 3]>,
/// }
///
/// let (mut leaves, treedef) = treedef::flatten(&Image { pixels: vec![[1, 2, 3]] })?;
/// assert_eq!(treedef.to_string(), "Image { pixels: * }");
/// assert_eq!(leaves[0].clone().into_typed::<Vec<[u8; 3]>>()?, [[1, 2, 3]]);
///
/// leaves[0] = Leaf::from(Value::of(&[[4u8, 5, 6], [7, 8, 9]])?);
/// let image: Image = treedef::unflatten(&treedef, leaves)?;
/// assert_eq!(image.pixels, [[4, 5, 6], [7, 8, 9]]);
/// # Ok::<(), treedef::Error>(())
/// ```
pub fn as_opaque<T: Serialize + ?Sized, S: Serializer>(
    value: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    mark(LEAF_MARK, value, serializer)
}

fn mark<T: Serialize + ?Sized, S: Serializer>(
    name: &'static str,
    value: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    if ErrorOwner::of::<S::Error>() == ErrorOwner::Format {
        return value.serialize(serializer);
    }
    if drops_newtypes::<S>() {
        return Err(ser::Error::custom(
            "a mark on a flattened field, or on the newtype payload of an internally tagged variant, is hidden by serde: \
             mark the inner fields",
        ));
    }
    serializer.serialize_newtype_struct(name, value)
}

macro_rules! markers {
    ($($(#[$module_doc:meta])* $module:ident, $name:ident, $(#[$doc:meta])* $type:ident;)*) => {$(
        $(#[$module_doc])*
        pub mod $module {
            use super::*;

            /// Serializes the field with the mark.
            ///
            /// # Errors
            ///
            /// As the function with the name of this module.
            pub fn serialize<T: Serialize + ?Sized, S: Serializer>(
                value: &T,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                mark($name, value, serializer)
            }

            /// Deserializes the field. The data has no mark.
            ///
            /// # Errors
            ///
            /// Errors of the value.
            pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
                deserializer: D,
            ) -> Result<T, D::Error> {
                T::deserialize(deserializer)
            }
        }

        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $type<T: ?Sized>(pub T);

        impl<T: ?Sized> Deref for $type<T> {
            type Target = T;

            fn deref(&self) -> &T {
                &self.0
            }
        }

        impl<T: ?Sized> DerefMut for $type<T> {
            fn deref_mut(&mut self) -> &mut T {
                &mut self.0
            }
        }

        impl<T: ?Sized> AsRef<T> for $type<T> {
            fn as_ref(&self) -> &T {
                &self.0
            }
        }

        impl<T: ?Sized> AsMut<T> for $type<T> {
            fn as_mut(&mut self) -> &mut T {
                &mut self.0
            }
        }

        impl<T> From<T> for $type<T> {
            fn from(value: T) -> Self {
                $type(value)
            }
        }

        impl<T: fmt::Display + ?Sized> fmt::Display for $type<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl<T: Serialize + ?Sized> Serialize for $type<T> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                mark($name, &self.0, serializer)
            }
        }

        impl<'de, T: Deserialize<'de>> Deserialize<'de> for $type<T> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                T::deserialize(deserializer).map($type)
            }
        }
    )*};
}

markers! {
    /// For `#[serde(with = "treedef::as_static")]`: see [the function](fn@as_static).
    as_static, STATIC_MARK,
    /// A value that is static in any place: in a `Vec`, an `Option`, a tuple, a type parameter.
    ///
    /// ```
    /// use treedef::Static;
    ///
    /// let (leaves, treedef) = treedef::flatten(&vec![(Static("a"), 1), (Static("a"), 2)])?;
    /// assert_eq!(leaves, [1.into(), 2.into()]);
    /// assert_eq!(treedef.to_string(), r#"[(static "a", *); 2]"#);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    Static;

    /// For `#[serde(with = "treedef::as_opaque")]`: see [the function](fn@as_opaque).
    as_opaque, LEAF_MARK,
    /// A value that is one leaf in any place, with everything below it.
    ///
    /// ```
    /// use treedef::Opaque;
    ///
    /// let (leaves, treedef) = treedef::flatten(&[Opaque(vec![1, 2]), Opaque(vec![])])?;
    /// assert_eq!(treedef.to_string(), "(*, *)");
    /// assert_eq!(leaves[0].to_string(), "[1, 2]");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    Opaque;
}
