//! Errors for leaves whose type cannot hold what comes.

use crate::error::{Cause, Error, Result};
use crate::leaf::sink::Sink;
use crate::message::brief;
use crate::model::{Leaf, LeafKind};

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

/// An object is in what is kept as one value.
#[cold]
pub(super) fn object_is_kept() -> Error {
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
