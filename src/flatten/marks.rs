//! Marks, which say in the code of a type what a value is, and the errors for leaves whose type cannot hold it.

use std::sync::Arc;

use crate::error::{Cause, Error, Result};
use crate::leaf::markers;
use crate::leaf::object::{OBJECT_MARK, Objects};
use crate::leaf::sink::Sink;
use crate::message::brief;
use crate::model::{Content, Leaf, LeafKind, Value};

/// The role of a subtree that is captured as one value: by a mark, or as a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The subtree is the key of an entry.
    Key,
    /// The subtree is stored in the treedef.
    Static,
    /// The subtree is one leaf.
    Leaf,
    /// The subtree is the number of an object.
    Object,
}

impl Role {
    /// The meaning of a newtype of this name, if it is a mark.
    pub(super) fn marked_by(name: &str) -> Option<Self> {
        match name {
            markers::STATIC_MARK => Some(Role::Static),
            markers::LEAF_MARK => Some(Role::Leaf),
            OBJECT_MARK => Some(Role::Object),
            _ => None,
        }
    }

    /// How this mark acts in a walk for objects: only objects end up as leaves, so an opaque mark makes a static.
    pub(super) fn among(self, objects: Objects) -> Self {
        match self {
            Role::Leaf if objects.are_leaves() => Role::Static,
            role => role,
        }
    }
}

/// An object [among leaves](Objects::AmongLeaves): an opaque leaf around a scalar. No other opaque leaf is around one.
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

/// Puts a leaf. If it is a subtree, a mark or a rule made one of it.
pub(super) fn put_leaf(leaves: &mut Sink, leaf: Leaf, by: &str) -> Result<()> {
    let kind = leaf.kind();
    let opaque = (kind == LeafKind::Opaque).then(|| leaf.clone());
    if leaves.push_leaf(leaf) {
        return Ok(());
    }
    let expected = leaves.kind();
    Err(match opaque {
        Some(leaf) => wrong_kind(expected, kind, || {
            format!("{by} made one opaque leaf of `{}`", brief(&leaf))
        }),
        None => wrong_scalar(expected, kind),
    })
}

/// An object is in a captured value.
#[cold]
pub(super) fn captured_object() -> Error {
    Error::protocol("an object cannot be in a key, in a static or in an opaque leaf")
}

/// The leaves have a type that cannot hold a scalar.
#[cold]
pub(super) fn wrong_scalar(expected: LeafKind, found: LeafKind) -> Error {
    wrong_kind(expected, found, || {
        if expected.is_float() && found.is_float() {
            // An f32 is widened, so what does not fit is an f64.
            format!("`flatten_as::<{found}>` takes both, `flatten` leaves of every kind")
        } else if expected.is_integer() && found.is_integer() {
            format!("`flatten_as::<{found}>` if all are {found}, else `flatten`")
        } else {
            "mark it `treedef::as_static`, or choose the leaves with `Flattener::leaves_where`"
                .to_owned()
        }
    })
}

/// The leaves have a type that cannot hold a leaf. The hint says what can be done.
#[cold]
fn wrong_kind(expected: LeafKind, found: LeafKind, hint: impl FnOnce() -> String) -> Error {
    Error::from(Cause::LeafKind { expected, found }).with_hint(hint())
}
