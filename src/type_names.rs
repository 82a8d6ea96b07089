//! Facts that only the name of a type reveals.
//!
//! Some types of serde and of formats differ only in their name: `FlatMapSerializer` drops the name of a
//! newtype, and the number of `serde_json` is a map like any other. Comparing `TypeId`s would need
//! `'static`, which serde does not require of a serializer, deserializer or error. So names are compared,
//! whole or up to their parameters. For each name, a test fails when a dependency renames it.

use std::any::type_name;

use crate::error::{ElementMismatch, Error, Mismatch};

/// The owner of the errors of a serializer or a deserializer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorOwner {
    /// The walks of this crate, also behind a type of serde.
    Walk,
    /// Attempts of this crate at elements or plain data. A value that they refuse is walked again.
    Guess,
    /// Another format.
    Format,
}

impl ErrorOwner {
    /// The owner of errors of type `E`.
    pub(crate) fn of<E>() -> Self {
        let name = type_name::<E>();
        if name == type_name::<Error>() {
            ErrorOwner::Walk
        } else if name == type_name::<ElementMismatch>() || name == type_name::<Mismatch>() {
            ErrorOwner::Guess
        } else {
            ErrorOwner::Format
        }
    }
}

/// Whether a serializer of serde drops the name of a newtype struct: the serializers for flattened fields,
/// and for the payloads of internally tagged newtype variants.
pub(crate) fn drops_newtypes<S>() -> bool {
    let path = base(type_name::<S>());
    let name = path.rsplit_once("::").map_or(path, |(_, name)| name);
    crate_of::<S>() == "serde" && matches!(name, "FlatMapSerializer" | "TaggedSerializer")
}

/// Whether a type is this one, with any parameters.
pub(crate) fn is<T>(path: &str) -> bool {
    base(type_name::<T>()) == path
}

/// The crate of a type, or of the type behind a reference.
pub(crate) fn crate_of<T>() -> &'static str {
    let path = base(type_name::<T>());
    path.split_once("::").map_or(path, |(name, _)| name)
}

/// The path of a type without references and parameters.
fn base(mut path: &'static str) -> &'static str {
    while let Some(referred) = path.strip_prefix("&mut ").or(path.strip_prefix('&')) {
        path = referred;
    }
    path.split_once('<').map_or(path, |(path, _)| path)
}
