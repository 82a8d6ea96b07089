//! Conversions from other types to `Leaf`.

use std::borrow::Cow;
use std::sync::Arc;

use crate::model::{Content, Leaf, NodeKind, Value};

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
