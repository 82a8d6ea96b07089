//! Internals for the tests and the other members of this workspace. They depend on exactly this version, so
//! nothing here is part of the public interface.

use std::fmt;
use std::ops::Range;

use crate::arrays::{Block, Blocks};
use crate::call_stack;
use crate::error::{Cause, Error, Result};
#[cfg(feature = "migrate")]
use crate::error::{Difference, DifferenceKind};
use crate::flatten::Flattener;
use crate::leaf::object::Objects;
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
pub use crate::flatten::{CBOR_TAG, is_cbor_tag, private_struct};
pub use crate::leaf::decimal::Decimal;
pub use crate::leaf::float::{narrow_to_odd, shortest_half};
pub use crate::message::{is_invisible, without_open_escape};
pub use crate::replacement::{FlushedFile, Replacement, flush_folder, folder, sweep, sweep_folder};
pub use crate::tree::private::{PrivateJson, private_json};
pub use crate::tree::raw::{is_json, is_one_ron};
pub use crate::treedef::lookup::edits;
#[cfg(feature = "in_place")]
pub use crate::unflatten::unflatten_objects_into;

/// The most compounds that a recursive walk may enter.
pub fn deepest(limits: Limits) -> usize {
    call_stack::deepest(limits)
}

/// The error of a walk that found a compound deeper than `limit`, the result of [`deepest`].
pub fn too_deep(limit: usize) -> Error {
    call_stack::too_deep(limit)
}

/// The greater of each limit.
pub fn either(limits: Limits, other: Limits) -> Limits {
    limits.max(other)
}

/// Returns an error if this number of nodes exceeds the limits.
pub fn expect_nodes(limits: Limits, nodes: usize) -> Result<()> {
    limits.expect_nodes(nodes)
}

/// Returns an error with a hint if `needed` exceeds `limit`.
pub fn at_most(what: &'static str, needed: usize, limit: usize, hint: &'static str) -> Result<()> {
    limits::at_most(what, needed, limit, hint)
}

/// A flattener for which an object is an error, also one that is a scalar.
pub fn without_objects(mut flattener: Flattener) -> Flattener {
    flattener.objects = Objects::Refused;
    flattener
}

/// Two different leaves at one place, as in [`Migration::changed`](crate::Migration::changed).
#[cfg(feature = "migrate")]
pub fn leaf_difference(path: Path, expected: String, found: String) -> Difference {
    Difference { path, kind: DifferenceKind::Leaf, expected, found }
}

/// The error for a broken invariant.
#[track_caller]
pub fn broken(what: &'static str) -> Error {
    Error::broken(what)
}

/// The next block. Other containers are blocks as a whole if `shape_as_whole` returns their shape.
/// If the leaves of a block do not `belong_together`, its children are the blocks.
pub fn next_block<'a>(
    blocks: &mut Blocks<'a>,
    shape_as_whole: impl FnMut(&Path, NodeRef<'a>) -> Option<Vec<usize>>,
    belong_together: impl Fn(Range<usize>) -> bool,
) -> Option<Block<'a>> {
    blocks.next_or_struct(shape_as_whole, belong_together)
}

/// The error with another path.
pub fn at(error: Error, path: Path) -> Error {
    error.at(path)
}

/// The error of a child, with the key of the child prepended to the path.
pub fn under(error: Error, key: Key) -> Error {
    error.under(key)
}

/// The error with another hint, in place of the one that it has.
pub fn hinting(error: Error, hint: String) -> Error {
    error.with_other_hint(hint)
}

/// An error about an argument.
pub fn argument(message: impl fmt::Display) -> Error {
    Error::argument(message)
}

/// An error of a function that does not belong to this library.
pub fn failed(message: String) -> Error {
    Error::of_function(message)
}

/// The error for a value that is nested too deeply to be read.
pub fn beyond_depth(limit: usize) -> Error {
    Cause::Depth { limit }.into()
}

/// The error for a count that exceeds `usize`.
pub fn too_large() -> Error {
    Cause::TooLarge.into()
}

/// The error for a text that is none of the expected ones.
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

/// The pattern that was probably meant, if a pattern matched nothing.
pub fn nearest(error: &Error) -> Option<&Pattern> {
    match error.cause() {
        Cause::NoMatch { nearest, .. } => nearest.as_ref(),
        _ => None,
    }
}

/// The error for a part of a file that breaks a rule of the format.
pub fn invalid(part: &'static str, reason: &'static str) -> Error {
    Error::invalid_file(part, reason)
}

/// The sibling that is `skip` places further in the same run.
pub fn later(node: NodeRef<'_>, skip: usize) -> NodeRef<'_> {
    node.later(skip)
}

/// The children of a node with their keys.
pub fn entries<'t>(node: NodeRef<'t>) -> impl Iterator<Item = (Key, NodeRef<'t>)> {
    node.entries()
}

/// An existing child, with its key.
pub fn entry(node: NodeRef<'_>, position: usize) -> (Key, NodeRef<'_>) {
    (node.child_key(position), node.child_at(position))
}

/// The maximum number of nodes that a visit of the subtree sees, with keys and statics.
pub fn work(node: NodeRef<'_>) -> usize {
    node.work()
}

/// The same for a value, where 16 bytes of text count as a node.
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

/// The common form of all keys that are the same value, whatever their types and widths.
pub fn key_form(key: &Value) -> Value {
    key.key_form().into_owned()
}
