//! Internals that the other members of this workspace need. They ask for exactly this version,
//! so nothing here is part of the public face.

use std::fmt;
use std::ops::Range;

use crate::arrays::{Block, Blocks};
use crate::call_stack;
use crate::error::{Cause, Error, Result};
use crate::message;
use crate::model::{Limits, Value};
use crate::path::{Key, Path};
use crate::pattern::Pattern;
use crate::text;
use crate::treedef::limits;
use crate::treedef::node_ref::NodeRef;

pub use crate::arrays::array_struct::{ArrayFields, ArrayStruct, array_struct};
pub use crate::arrays::collect::matrix_shape;
pub use crate::bug::OrBug;
pub use crate::destination::destination;
#[cfg(feature = "diff")]
pub use crate::diff::report::alike;
pub use crate::leaf::decimal::Decimal;
pub use crate::leaf::float::{narrow_to_odd, shortest_half};
pub use crate::message::{is_invisible, without_open_escape};
pub use crate::replacement::{Flushed, Replacement, flush_folder, folder, sweep, sweep_folder};
pub use crate::treedef::lookup::edits;
#[cfg(feature = "in_place")]
pub use crate::unflatten::unflatten_objects_into;

/// The most compounds that a recursive walk may enter.
pub fn deepest(limits: Limits) -> usize {
    call_stack::deepest(limits)
}

/// The error of a walk that met a compound deeper than `limit`, the result of [`deepest`].
pub fn too_deep(limit: usize) -> Error {
    call_stack::too_deep(limit)
}

/// Limits that allow what one of the two allows.
pub fn either(limits: Limits, other: Limits) -> Limits {
    limits.or(other)
}

/// Returns an error if this number of nodes exceeds the limits.
pub fn expect_nodes(limits: Limits, nodes: usize) -> Result<()> {
    limits.expect_nodes(nodes)
}

/// Returns an error with a hint if `needed` exceeds `limit`.
pub fn at_most(what: &'static str, needed: usize, limit: usize, hint: &'static str) -> Result<()> {
    limits::at_most(what, needed, limit, hint)
}

/// The error for what cannot happen.
#[track_caller]
pub fn broken(what: &'static str) -> Error {
    Error::broken(what)
}

/// The next block, where other containers may be blocks as a whole: those for which `shape_as_whole`
/// has a shape. A block whose leaves do not `belong_together` is none: its children are.
pub fn next_block<'a>(
    blocks: &mut Blocks<'a>,
    shape_as_whole: impl FnMut(&Path, NodeRef<'a>) -> Option<Vec<usize>>,
    belong_together: impl Fn(Range<usize>) -> bool,
) -> Option<Block<'a>> {
    blocks.next_or_struct(shape_as_whole, belong_together)
}

/// The error at another path.
pub fn at(error: Error, path: Path) -> Error {
    error.at(path)
}

/// The error of a child, seen from the node around it.
pub fn under(error: Error, key: Key) -> Error {
    error.under(key)
}

/// The error with another hint.
pub fn hinting(error: Error, hint: String) -> Error {
    error.with_other_hint(hint)
}

/// An error about an argument.
pub fn argument(message: impl fmt::Display) -> Error {
    Error::argument(message)
}

/// The error of a function that is not of this library.
pub fn failed(message: String) -> Error {
    Error::of_function(message)
}

/// The error for a value that is nested too deeply to be read.
pub fn beyond_depth(limit: usize) -> Error {
    Cause::Depth { limit }.into()
}

/// A count is larger than can be.
pub fn too_large() -> Error {
    Cause::TooLarge.into()
}

/// A text that is none of those expected.
pub fn unknown_text(expected: &'static str, text: &str) -> Error {
    Error::unknown_text(expected, text)
}

/// The limited quantity in an error, such as `levels` or `nodes to visit`.
pub fn limited(error: &Error) -> Option<&'static str> {
    match error.cause() {
        Cause::Depth { .. } => Some("levels"),
        Cause::Limit { what, .. } => Some(what),
        _ => None,
    }
}

/// The pattern that was perhaps meant, if one matched nothing.
pub fn nearest(error: &Error) -> Option<&Pattern> {
    match error.cause() {
        Cause::NoMatch { nearest, .. } => nearest.as_ref(),
        _ => None,
    }
}

/// A part of a file breaks a rule of the format.
pub fn invalid(part: &'static str, reason: &'static str) -> Error {
    Error::invalid_file(part, reason)
}

/// The sibling of the same run that comes `skip` later.
pub fn later(node: NodeRef<'_>, skip: usize) -> NodeRef<'_> {
    node.later(skip)
}

/// The children of a node with their keys.
pub fn entries<'t>(node: NodeRef<'t>) -> impl Iterator<Item = (Key, NodeRef<'t>)> {
    node.entries()
}

/// A child that is there, with its key.
pub fn entry(node: NodeRef<'_>, position: usize) -> (Key, NodeRef<'_>) {
    (node.child_key(position), node.child_at(position))
}

/// How many nodes a visit of the subtree has at most, with keys and statics.
pub fn work(node: NodeRef<'_>) -> usize {
    node.work()
}

/// The same of a value, whose texts count as a node for each 16 bytes.
pub fn work_of(value: &Value) -> usize {
    value.work()
}

/// One line, cut off if it is long.
pub fn brief(printed: &impl fmt::Display) -> String {
    message::brief(printed)
}

/// The form of a key as a person reads it, without the kinds of numbers.
pub fn bare_key(key: &Value) -> String {
    text::bare_value(&key.key_form())
}

/// The one form of all keys that are the same value, however wide or of which type they are.
pub fn key_form(key: &Value) -> Value {
    key.key_form().into_owned()
}
