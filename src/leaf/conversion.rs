//! Conversions from other types to `Leaf`.

use std::borrow::Cow;
use std::sync::Arc;

use crate::error::{Cause, Error};
use crate::leaf::each_scalar;
use crate::leaf::leaf_type::Emit;
use crate::model::{Content, Leaf, LeafKind, NodeKind, Value};

/// Conversions of a leaf into the type of its kind. A `usize` is the `u64` that serde makes of it,
/// if it fits.
macro_rules! leaf_into {
    ($($kind:ident: $type:ty, $calls:tt;)*) => {$(
        impl TryFrom<Leaf> for $type {
            type Error = Error;

            fn try_from(leaf: Leaf) -> Result<Self, Error> {
                let (expected, found) = (LeafKind::$kind, leaf.kind());
                Self::from_leaf(leaf).ok_or_else(|| Cause::LeafKind { expected, found }.into())
            }
        }
    )*};
}

each_scalar!([sized] => leaf_into U64: usize, {}; I64: isize, {};);

/// As `leaf_into`, for types that take over the memory of the leaf.
macro_rules! leaf_moved_into {
    ($($kind:ident: $type:ty;)*) => {$(
        impl TryFrom<Leaf> for $type {
            type Error = Error;

            fn try_from(leaf: Leaf) -> Result<Self, Error> {
                match leaf {
                    Leaf::$kind(value) => Ok(value.into()),
                    other => {
                        let (expected, found) = (LeafKind::$kind, other.kind());
                        Err(Cause::LeafKind { expected, found }.into())
                    }
                }
            }
        }
    )*};
}

leaf_moved_into! {
    Str: String;
    Bytes: Vec<u8>;
}

macro_rules! leaf_from {
    ($($type:ty => $variant:ident;)*) => {$(
        impl From<$type> for Leaf {
            fn from(value: $type) -> Self {
                Leaf::$variant(value.into())
            }
        }
    )*};
}

leaf_from! {
    &str => Str;
    Cow<'_, str> => Str;
    Box<str> => Str;
    &[u8] => Bytes;
    Vec<u8> => Bytes;
    Box<[u8]> => Bytes;
}

/// 64 bits wide, as in serde.
impl From<usize> for Leaf {
    fn from(value: usize) -> Self {
        Leaf::U64(value as u64) // usize has at most 64 bits
    }
}

/// 64 bits wide, as in serde.
impl From<isize> for Leaf {
    fn from(value: isize) -> Self {
        Leaf::I64(value as i64) // isize has at most 64 bits
    }
}

/// `None` becomes the absent leaf, and `Some(x)` becomes `x`, as under
/// [`none_is_leaf`](crate::Flattener::none_is_leaf).
impl<T: Into<Leaf>> From<Option<T>> for Leaf {
    fn from(value: Option<T>) -> Self {
        value.map_or(Leaf::None, T::into)
    }
}

/// A scalar becomes that leaf, None becomes the absent leaf, and anything else an opaque leaf.
impl From<Value> for Leaf {
    fn from(value: Value) -> Self {
        match value.0 {
            Content::Scalar(leaf) => leaf,
            Content::Tree(tree)
                if tree.treedef.encoding.nodes.iter().all(|node| node.kind == NodeKind::None) =>
            {
                Leaf::None
            }
            content => Leaf::Opaque(Arc::new(Value(content))),
        }
    }
}

impl Leaf {
    /// The scalar of this kind with this text, as Rust spells it. For an absent value and an opaque
    /// leaf there is none.
    pub(crate) fn parsed(text: &str, kind: LeafKind) -> Option<Self> {
        macro_rules! integer {
            ($widest:ident $($kind:ident: $type:ty, $calls:tt;)*) => {
                match kind {
                    $(LeafKind::$kind => <$type>::try_from(text.parse::<$widest>().ok()?).ok()?.into(),)*
                    _ => return None,
                }
            };
        }
        let leaf: Leaf = match kind {
            LeafKind::Bool => text.parse::<bool>().ok()?.into(),
            LeafKind::Char => text.parse::<char>().ok()?.into(),
            LeafKind::F32 => text.parse::<f32>().ok()?.into(),
            LeafKind::F64 => text.parse::<f64>().ok()?.into(),
            LeafKind::Str => text.into(),
            LeafKind::Bytes => text.as_bytes().into(),
            LeafKind::U8 | LeafKind::U16 | LeafKind::U32 | LeafKind::U64 | LeafKind::U128 => {
                each_scalar!([unsigned u128] => integer u128)
            }
            _ => each_scalar!([signed i128] => integer i128),
        };
        // What is too large for a float is not an infinity.
        let spelled = || text.to_ascii_lowercase().contains("inf");
        let is_finite = leaf.as_f64().is_none_or(|value| !value.is_infinite());
        (is_finite || spelled()).then_some(leaf)
    }
}
