//! Additions to the errors of visitors: what the tree has at the place, and a hint.

use crate::error::{Cause, Error};
use crate::message::{joined, limited};
use crate::model::Name;
use crate::treedef::lookup::distance;
use crate::treedef::node_ref::NodeRef;

/// Adds the node that an untagged enum could not read: serde's error does not say it.
#[cold]
pub(super) fn of_untagged(node: NodeRef<'_>, error: Error) -> Error {
    match error.cause() {
        Cause::Message(message)
            if error.is_at_root() && message.contains("did not match any variant") =>
        {
            error.with_hint(format!("here is `{}`", node.brief()))
        }
        _ => error,
    }
}

/// Adds a hint to an error of the visitor of an enum, or of its payload.
#[cold]
pub(super) fn of_variant(is_variant: bool, error: Error) -> Error {
    match error.cause() {
        Cause::UnknownVariant { variant, .. } if is_variant && error.is_at_root() => {
            let variant = limited(&format_args!("{variant:?}"), 60);
            error.with_hint(format!("renamed? `#[serde(alias = {variant})]`"))
        }
        _ => error,
    }
}

/// Adds a hint to an error of the visitor of a struct with these fields, which was read from a node. `taken` are
/// the names that elements of a sequence were given.
#[cold]
pub(super) fn of_struct(
    node: NodeRef<'_>,
    fields: &[&str],
    taken: Option<&'static [&'static str]>,
    error: Error,
) -> Error {
    let error = error.with_fields(|| match taken {
        Some(taken) => taken.iter().copied().map(Name::Borrowed).collect(),
        None => field_names(node),
    });
    match (error.cause(), taken) {
        (Cause::MissingField { field, .. }, _) if error.is_at_root() => {
            let is_unknown = |name: &&Name| !fields.contains(&name.as_ref());
            let unknown: Vec<&Name> = node.fields().iter().filter(is_unknown).collect();
            let is_only = node.fields().len() == fields.len();
            let hint = match old_name(&unknown, is_only, field) {
                // A type with a flattened field does not say which fields it has.
                _ if fields.is_empty() || unknown.is_empty() => {
                    "new? `#[serde(default)]`".to_owned()
                }
                Some(old) => {
                    let old = limited(&format_args!("{old:?}"), 60);
                    format!("renamed? `#[serde(alias = {old})]`; new? `#[serde(default)]`")
                }
                None => "renamed? `#[serde(alias)]`; new? `#[serde(default)]`".to_owned(),
            };
            error.with_hint(hint)
        }
        (Cause::Message(message), Some(taken))
            if error.is_at_root() && message.starts_with("duplicate field") =>
        {
            let taken = limited(&format_args!("`{}`", joined(taken, "`, `")), 60);
            error.with_hint(format!("the elements were read as the fields {taken}"))
        }
        _ => error,
    }
}

/// Adds a hint, if a node cannot be a struct of this name.
#[cold]
pub(super) fn of_no_struct(name: &str, error: Error) -> Error {
    match name {
        "$__serde_spanned_private_Spanned" => error.with_hint(
            "a `Spanned` serializes as its value alone and cannot come back: keep spans elsewhere",
        ),
        _ => error,
    }
}

/// Adds a hint, if a visitor rejected text or bytes that it could not borrow.
#[cold]
pub(super) fn of_borrowed(error: Error, hint: &'static str) -> Error {
    match error.cause() {
        Cause::InvalidType { expected, .. } if expected.contains("borrowed") => {
            error.with_hint(hint)
        }
        _ => error,
    }
}

/// Adds a hint, if a 128-bit integer was rejected because of a gap in serde.
#[cold]
pub(super) fn of_wide_integer(error: Error) -> Error {
    match error.cause() {
        // The error of a visitor that has no method for them.
        Cause::InvalidType { found, .. }
            if found.ends_with(" as i128") || found.ends_with(" as u128") =>
        {
            error.with_hint(
                "below `flatten`, `untagged` and an internal `tag` serde buffers values, and its \
                 buffer has no 128-bit integers: serde issue 1682; serialize them as strings there",
            )
        }
        _ => error,
    }
}

/// The name that a missing field perhaps had before. `unknown` are the fields that the type does not know: the one
/// with nearly the same spelling, or the only one if the type finds all other fields.
fn old_name<'n>(unknown: &[&'n Name], finds_others: bool, missing: &str) -> Option<&'n Name> {
    let spelled = unknown.iter().filter_map(|name| Some((distance(missing, name)?, *name)));
    let nearest = spelled.min_by_key(|(distance, _)| *distance).map(|(_, name)| name);
    nearest.or(match unknown {
        [only] if finds_others => Some(*only),
        _ => None,
    })
}

/// The names of the fields of a struct. A struct with a flattened field is a map.
fn field_names(node: NodeRef<'_>) -> Vec<Name> {
    let mut names = node.fields().to_vec();
    for key in node.entry_keys() {
        names.extend(key.as_str().map(|key| Name::Owned(key.to_owned())));
    }
    names
}
