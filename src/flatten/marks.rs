//! Marks, which say in the code of a type what a value is.

use std::sync::Arc;

use crate::leaf::markers;
use crate::leaf::object::OBJECT_MARK;
use crate::model::{Content, Leaf, Value};

/// What a subtree is that is kept as one value, by a mark or as a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// The subtree is the key of an entry.
    Key,
    /// The subtree is stored in the treedef.
    Static,
    /// The subtree is one leaf.
    Leaf,
    /// The subtree is the number of an object.
    Object,
}

/// Whether objects are leaves, and scalars are not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Objects {
    /// Scalars are leaves, and an object is an error.
    #[default]
    None,
    /// Scalars are static.
    AmongStatics,
    /// Scalars are leaves, too, and an object is an opaque leaf: rules are applied later.
    AmongLeaves,
}

impl Keep {
    /// The meaning of a newtype of this name, if it is a mark.
    pub(super) fn marked_by(name: &str) -> Option<Self> {
        match name {
            markers::STATIC_MARK => Some(Keep::Static),
            markers::LEAF_MARK => Some(Keep::Leaf),
            OBJECT_MARK => Some(Keep::Object),
            _ => None,
        }
    }

    /// What it is among such leaves: where objects are the only leaves, one of another value is
    /// static.
    pub(super) fn among(self, objects: Objects) -> Self {
        match self {
            Keep::Leaf if objects != Objects::None => Keep::Static,
            keep => keep,
        }
    }
}

/// An object [among leaves](Objects::AmongLeaves): an opaque leaf around a scalar, as no other is.
pub(super) fn object_leaf(number: Leaf) -> Leaf {
    Leaf::Opaque(Arc::new(Value(Content::Scalar(number))))
}

/// The number of an object among leaves.
pub(super) fn object_in(leaf: &Leaf) -> Option<&Leaf> {
    match leaf {
        Leaf::Opaque(value) => value.as_leaf(),
        _ => None,
    }
}
