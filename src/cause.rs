//! What goes wrong: the causes of errors, their categories and what each says.

use std::io;

use crate::message::{alternatives, counted, quoted_names};
use crate::model::{LeafKind, Name};
use crate::path::{Key, Path};
use crate::pattern::Pattern;

/// The category of an error. The message says the rest.
///
/// ```
/// use treedef::ErrorKind;
///
/// let (leaves, treedef) = treedef::flatten(&(1, "a"))?;
/// let error = treedef::unflatten::<(i32, i32)>(&treedef, leaves).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Value);
/// # Ok::<(), treedef::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A type does not fit the content of the tree, or a `Serialize` or `Deserialize`
    /// implementation failed.
    Value,
    /// Two structures differ, which [`Error::differences`](crate::Error::differences) may list, or the number of leaves
    /// differs from the structure's.
    Structure,
    /// A structure, a file or an operation exceeds one of its [`Limits`](crate::Limits), or a count exceeds
    /// this platform's `usize`. [`Error::hint`](crate::Error::hint) names the limit.
    Limit,
    /// A text cannot be parsed, e.g. as a treedef, value, path or pattern.
    Text,
    /// The bytes are not a file of this library, are damaged, or were written by a later release; or
    /// an error of the operating system: see [`is_not_found`](crate::Error::is_not_found).
    File,
    /// An argument does not suit an operation, e.g. a path that is not there, a number that its leaf cannot
    /// hold, or no trees to stack.
    Argument,
    /// A function that was passed to this crate failed; [`source`](std::error::Error::source)
    /// returns its error.
    Function,
    /// A bug of this library. Please report it.
    Internal,
}

/// The cause.
#[derive(Debug, thiserror::Error)]
#[cfg_attr(not(all(feature = "diff", feature = "persist")), allow(dead_code))]
pub(crate) enum Cause {
    /// The message of a `Serialize` or `Deserialize` implementation, or a violation of serde's
    /// protocol.
    #[error("{0}")]
    Message(String),
    /// The error of a function that was passed to this crate; [`source`](std::error::Error::source)
    /// returns it.
    #[error("{0}")]
    Function(Box<dyn std::error::Error + Send + Sync>),
    /// A type refused the content of the tree.
    #[error("invalid type: {found}, expected {expected}")]
    InvalidType {
        /// The content of the tree in serde's words, such as `map`.
        found: String,
        /// The content that the type accepts.
        expected: String,
    },
    /// A struct requests a field that its node does not have and that has no default.
    #[error("missing field `{field}`; here {}", quoted_names(.present))]
    MissingField {
        /// The field.
        field: &'static str,
        /// The fields that the node has.
        present: Vec<Name>,
    },
    /// A variant that the enum does not have.
    #[error("unknown variant `{variant}`, the type has {}", alternatives(.expected))]
    UnknownVariant {
        /// The name of the variant, from the treedef or from a string leaf.
        variant: String,
        /// The variants of the enum.
        expected: &'static [&'static str],
    },
    /// The number of leaves differs from the treedef's.
    #[error("expected {}, found {found}", counted(*.expected, "leaf", "leaves"))]
    LeafCount {
        /// The number of leaves of the treedef.
        expected: usize,
        /// The number of leaves that were passed.
        found: usize,
    },
    /// A leaf of a kind that the typed leaves cannot hold.
    #[error("expected {expected}, found {found}")]
    LeafKind {
        /// The kind of the typed leaves.
        expected: LeafKind,
        /// The kind that was found.
        found: LeafKind,
    },
    /// The rebuilt type did not read all children of a node.
    #[error("the type read {read} of {}", counted(*.children, "child", "children"))]
    Unread {
        /// The number of children of the node.
        children: usize,
        /// The number of children that were read.
        read: usize,
    },
    /// Containers are nested deeper than [`Limits::max_depth`](crate::Limits::max_depth).
    #[error("nested deeper than {}", counted(*.limit, "level", "levels"))]
    Depth {
        /// The limit.
        limit: usize,
    },
    /// A count exceeds this platform's `usize`.
    #[error("too large: a count exceeds {} bits", usize::BITS)]
    TooLarge,
    /// Two structures differ. The list is in the order of the tree. If only structures were
    /// compared, it ends after the first 4,096 differences or a few more.
    #[error("{}", expected_and_found(.0))]
    Structure(Vec<Difference>),
    /// A diff was made for another structure or tree.
    #[error("{0}")]
    DoesNotApply(String),
    /// An argument does not suit an operation, e.g. a number that its leaf cannot hold, the path of
    /// a struct where a leaf is expected, or two parts to combine that both have a leaf.
    #[error("{0}")]
    Argument(String),
    /// A bug of this library. Please report it.
    #[error("a bug in treedef: {0}")]
    Internal(&'static str),
    /// A text cannot be parsed, e.g. as a treedef, value, path or pattern.
    #[error("expected {expected}, found {found} at byte {offset}")]
    Syntax {
        /// The index of the byte where parsing failed.
        offset: usize,
        /// What was expected there.
        expected: &'static str,
        /// What was found there.
        found: String,
    },
    /// A path names a child that its parent does not have.
    #[error("no child `{key}` in `{node}`")]
    NoSuchChild {
        /// The key of the missing child.
        key: Key,
        /// The parent.
        node: String,
        /// The path that was probably meant.
        nearest: Option<Path>,
    },
    /// A pattern names no node.
    #[error("no node matches `{pattern}`")]
    NoMatch {
        /// The pattern.
        pattern: String,
        /// The pattern that was probably meant.
        nearest: Option<Pattern>,
    },
    /// A key in a path fits two children of the node.
    #[error("`{key}` can mean `{first}` or `{second}`")]
    Ambiguous {
        /// The key.
        key: Key,
        /// The key of one child.
        first: Key,
        /// The key of another.
        second: Key,
    },
    /// The index of a leaf is out of range.
    #[error("no leaf {index}, the treedef has {}", counted(*.leaves, "leaf", "leaves"))]
    NoSuchLeaf {
        /// The index.
        index: usize,
        /// The number of leaves of the treedef.
        leaves: usize,
    },
    /// An input or a result is empty where it must not be, e.g. no trees to stack or no parts to
    /// combine.
    #[error("{0}")]
    Nothing(&'static str),
    /// The bytes are not a file of this library, or a file of the other kind: a tree instead of a
    /// treedef.
    #[error("expected {expected}, found {found}")]
    FileKind {
        /// What was expected.
        expected: &'static str,
        /// The content of the file: its kind, the file type that its first bytes indicate, or these
        /// bytes.
        found: String,
    },
    /// A later release wrote the file, and this release cannot read it.
    #[error("unknown {what} {found}: a later release wrote it, this one knows {known}")]
    Unsupported {
        /// The unknown part: the format, the options, the kind of file.
        what: &'static str,
        /// The value in the file.
        found: u32,
        /// The values that this release can read.
        known: &'static str,
    },
    /// A file of this library was changed: its length differs from the header, a checksum does not
    /// match, or a part breaks a rule of the format.
    #[error("{0}")]
    Damaged(String),
    /// A structure, a file or an operation exceeds a field of [`Limits`](crate::Limits) other than
    /// its depth.
    #[error("{needed} {what}, the limit is {limit}")]
    Limit {
        /// The limited quantity, e.g. `nodes`, or `nodes to visit` for
        /// [`Limits::max_work`](crate::Limits::max_work).
        what: &'static str,
        /// The amount that is needed.
        needed: u64,
        /// The limit.
        limit: usize,
    },
    /// An error of the operating system.
    #[error("{0}")]
    Io(io::Error),
}

/// One place in which two structures differ.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Difference {
    /// The path of the place.
    pub path: Path,
    /// The kind of the difference.
    pub kind: DifferenceKind,
    /// The expected side, e.g. the treedef's.
    pub expected: String,
    /// The found side.
    pub found: String,
}

/// The kind of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DifferenceKind {
    /// An expected field or key is missing.
    Missing,
    /// A field or key was not expected.
    Extra,
    /// The nodes are of different kinds.
    Node,
    /// The types have different names.
    Name,
    /// The variants have different names.
    Variant,
    /// The numbers of children differ.
    Length,
    /// The fields or keys are the same, but their order differs.
    Order,
    /// The static values differ.
    Static,
    /// The leaves differ (only if leaves are compared).
    Leaf,
    /// The treedefs were made with different options.
    Options,
}

impl Cause {
    pub(crate) fn kind(&self) -> ErrorKind {
        use Cause::*;
        match self {
            Message(_)
            | InvalidType { .. }
            | MissingField { .. }
            | UnknownVariant { .. }
            | LeafKind { .. }
            | Unread { .. } => ErrorKind::Value,
            LeafCount { .. } | Structure(_) | DoesNotApply(_) => ErrorKind::Structure,
            Depth { .. } | TooLarge | Limit { .. } => ErrorKind::Limit,
            Syntax { .. } => ErrorKind::Text,
            FileKind { .. } | Unsupported { .. } | Damaged(_) | Io(_) => ErrorKind::File,
            Argument(_)
            | NoSuchChild { .. }
            | NoMatch { .. }
            | Ambiguous { .. }
            | NoSuchLeaf { .. }
            | Nothing(_) => ErrorKind::Argument,
            Function(_) => ErrorKind::Function,
            Internal(_) => ErrorKind::Internal,
        }
    }

    /// Whether the error is not about a node, so that its path is not printed.
    pub(crate) fn is_about_the_whole(&self) -> bool {
        use Cause::*;
        matches!(
            self,
            LeafCount { .. }
                | Nothing(_)
                | NoSuchLeaf { .. }
                | NoMatch { .. }
                | Syntax { .. }
                | FileKind { .. }
                | Unsupported { .. }
                | Damaged(_)
                | Io(_)
        )
    }
}

/// The first difference. The number of the others is printed after the path.
fn expected_and_found(differences: &[Difference]) -> String {
    match differences.first() {
        Some(Difference { expected, found, .. }) => format!("expected {expected}, found {found}"),
        None => "the structures differ".to_owned(),
    }
}
