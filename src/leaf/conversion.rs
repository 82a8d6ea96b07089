//! Conversions from other types to `Leaf`.

use std::borrow::Cow;
use std::sync::Arc;

use crate::error::{Cause, Error};
use crate::leaf::each_scalar;
use crate::leaf::leaf_type::Emit;
use crate::model::{Content, Leaf, LeafKind, NodeKind, Value};

// Conversions of a leaf into the type of its kind. A `usize` is a `u64`, as in serde, and has to
// fit.
each_scalar! { [sized { Str: String; U64: usize; I64: isize; }] ($kind $type) => {$(
    impl TryFrom<Leaf> for $type {
        type Error = Error;

        fn try_from(leaf: Leaf) -> Result<Self, Error> {
            let found = leaf.kind();
            Self::from_leaf(leaf).ok_or_else(|| other_kind(LeafKind::$kind, found))
        }
    }
)*}}

impl TryFrom<Leaf> for Vec<u8> {
    type Error = Error;

    fn try_from(leaf: Leaf) -> Result<Self, Error> {
        match leaf {
            Leaf::Bytes(bytes) => Ok(bytes.into()),
            other => Err(other_kind(LeafKind::Bytes, other.kind())),
        }
    }
}

#[cold]
fn other_kind(expected: LeafKind, found: LeafKind) -> Error {
    Cause::LeafKind { expected, found }.into()
}

each_scalar! {
    [
        sized {
            Str: &str;
            Str: String;
            Str: Cow<'_, str>;
            Str: Box<str>;
            Bytes: &[u8];
            Bytes: Vec<u8>;
            Bytes: Box<[u8]>;
        }
    ] ($kind $type) => {$(
        impl From<$type> for Leaf {
            #[inline]
            fn from(value: $type) -> Self {
                Leaf::$kind(value.into())
            }
        }
    )*}
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
            Content::Tree(treedef, _)
                if treedef.encoding.nodes.iter().all(|node| node.kind == NodeKind::None) =>
            {
                Leaf::None
            }
            content => Leaf::Opaque(Arc::new(Value(content))),
        }
    }
}

impl Leaf {
    /// The scalar of this kind with this text, in Rust's spelling. `None` for absent values and
    /// opaque leaves.
    pub(crate) fn parsed(text: &str, kind: LeafKind) -> Option<Self> {
        let leaf: Leaf = {
            // The widest integers are parsed, for less code than a parser of each.
            each_scalar! { [signed i128 unsigned] ($kind $type) => {
                match kind {
                    $(LeafKind::$kind => <$type>::try_from(text.parse::<i128>().ok()?).ok()?.into(),)*
                    LeafKind::U128 => text.parse::<u128>().ok()?.into(),
                    LeafKind::Bool => text.parse::<bool>().ok()?.into(),
                    LeafKind::F32 => text.parse::<f32>().ok()?.into(),
                    LeafKind::F64 => text.parse::<f64>().ok()?.into(),
                    LeafKind::Char => text.parse::<char>().ok()?.into(),
                    LeafKind::Str => text.into(),
                    LeafKind::Bytes => text.as_bytes().into(),
                    LeafKind::None | LeafKind::Opaque => return None,
                }
            }}
        };
        // A number that is too large for a float is not an infinity, which is spelled.
        let is_finite = leaf.as_f64().is_none_or(|value| !value.is_infinite());
        (is_finite || text.contains(['i', 'I'])).then_some(leaf)
    }
}
