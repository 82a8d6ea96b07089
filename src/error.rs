//! The one error: what happened, and at which path.

use std::fmt::{self, Write};
use std::io;
use std::path::PathBuf;

use crate::model::{LeafKind, Name};
use crate::path::{Key, Path};

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Characters of what went wrong that a message has: names and texts may be of any length.
const LONGEST: usize = 1_000;

/// What went wrong, and where.
///
/// ```
/// let (_, treedef) = treedef::flatten(&vec![1u8, 2])?;
/// let error = treedef::unflatten::<Vec<u8>>(&treedef, [1i32, 300]).unwrap_err();
/// assert_eq!(error.to_string(), "invalid value: integer `300`, expected u8 at `[1]`");
/// assert_eq!(error.path().to_string(), "[1]");
/// # Ok::<(), treedef::Error>(())
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    path: Path,
    /// Where in a text, if the error is about one.
    byte: Option<usize>,
    /// Which part of a file, if the error is about the whole of it.
    part: Option<&'static str>,
    /// Which file, if it came from one.
    file: Option<PathBuf>,
    hint: Option<&'static str>,
}

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// What a `Serialize` or `Deserialize` implementation said.
    #[error("{0}")]
    Message(String),
    /// A struct asked for a field that its node does not have, and gave no default.
    #[error("missing field `{field}`, the treedef has {}", quoted(.present))]
    MissingField {
        /// The field that was asked for.
        field: &'static str,
        /// The fields that are there.
        present: Vec<Name>,
    },
    /// A variant that the enum does not have.
    #[error("unknown variant `{variant}`, expected {}", alternatives(.expected))]
    UnknownVariant {
        /// The variant's name in the treedef, or a string leaf.
        variant: String,
        /// The variants of the enum.
        expected: &'static [&'static str],
    },
    /// Another number of leaves than the treedef has.
    #[error("expected {}, found {found}", counted(*.expected, "leaf", "leaves"))]
    LeafCount {
        /// Leaves of the treedef.
        expected: usize,
        /// Leaves that were given.
        found: usize,
    },
    /// A leaf of a kind that the typed leaves cannot hold.
    #[error("expected {expected}, found {found}")]
    LeafKind {
        /// The kind of the typed leaves.
        expected: LeafKind,
        /// The kind that was met.
        found: LeafKind,
    },
    /// The type that was rebuilt left children of a node unread.
    #[error("{} in the treedef, of which {} read", counted(*.children, "child", "children"), counted(*.read, "was", "were"))]
    Unread {
        /// Children of the node.
        children: usize,
        /// Children that were read.
        read: usize,
    },
    /// Containers inside each other beyond [`Limits::max_depth`](crate::Limits::max_depth).
    #[error("nested deeper than {}", counted(*.limit, "level", "levels"))]
    Depth {
        /// The limit.
        limit: usize,
    },
    /// More nodes without leaves than [`Limits::max_work`](crate::Limits::max_work) allows, or more text than an expansion may fill.
    #[error("{needed} nodes to visit, the limit is {limit}")]
    Work {
        /// The nodes that would be visited.
        needed: usize,
        /// The limit.
        limit: usize,
    },
    /// A count beyond this platform's `usize`.
    #[error("too large: a count exceeds {} bits", usize::BITS)]
    TooLarge,
    /// Two structures differ. The list has the differences, first path first: all, or the first 4,096 of them.
    #[error("{}", report(.0))]
    Structure(Vec<Difference>),
    /// A `Serialize` or `Deserialize` implementation broke serde's protocol.
    #[error("{0}")]
    Protocol(&'static str),
    /// Parts that are put together overlap: a leaf stands in two of them.
    #[error("{0}")]
    Conflict(&'static str),
    /// A diff that was made with another structure or tree.
    #[error("{0}")]
    DoesNotApply(&'static str),
    /// A bug of this library. Please report it.
    #[error("a bug in treedef: {0}")]
    Internal(&'static str),
    /// A text that is no treedef, value or path.
    #[error("expected {expected}, found {found} at byte {offset}")]
    Syntax {
        /// Bytes of the text before the place.
        offset: usize,
        /// What could stand there.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// A path that leads nowhere.
    #[error("no child `{key}` in `{node}`")]
    NoSuchChild {
        /// The key that was asked for.
        key: Key,
        /// The node that was asked.
        node: String,
    },
    /// A path that leads to another node than a leaf.
    #[error("expected a leaf, found `{node}`")]
    NotALeaf {
        /// The node that is there.
        node: String,
    },
    /// A leaf beyond the last.
    #[error("no leaf {index}, the treedef has {}", counted(*.leaves, "leaf", "leaves"))]
    NoSuchLeaf {
        /// The index that was asked for.
        index: usize,
        /// Leaves of the treedef.
        leaves: usize,
    },
    /// Nothing was given where something has to be: no trees to stack, no parts to combine.
    #[error("{0}")]
    Nothing(&'static str),
    /// Bytes that are no file of this library.
    #[error("expected a file with a treedef, found {found}")]
    NotATreeDef {
        /// The first bytes, or what they are known to be.
        found: String,
    },
    /// A file of this library that holds something else.
    #[error("expected {expected}, found {found}")]
    FileKind {
        /// What was asked for.
        expected: &'static str,
        /// What the file holds.
        found: &'static str,
    },
    /// A file that a later release wrote and this one cannot read.
    #[error("unknown {what} {found}: a later release wrote it, this one knows {known}")]
    Unsupported {
        /// What is unknown: the format version, the codec, the flags.
        what: &'static str,
        /// What the file has.
        found: u16,
        /// What this release can read.
        known: &'static str,
    },
    /// A file that is shorter than its header says.
    #[error("cut off: expected at least {expected} bytes, found {found}")]
    Truncated {
        /// Bytes that the file should have.
        expected: u64,
        /// Bytes that it has.
        found: u64,
    },
    /// A file that goes on after its end.
    #[error("expected the end after {expected} bytes, found {}", counted_bytes(*.extra))]
    TrailingBytes {
        /// Bytes that the file should have.
        expected: u64,
        /// Bytes after that.
        extra: u64,
    },
    /// Bytes that were changed after they were written: a checksum does not fit.
    #[error("damage in {part}: the checksum does not fit")]
    Damaged {
        /// The part that the checksum is of.
        part: String,
    },
    /// A part of a file whose checksum fits, and which no release wrote: it breaks a rule of the format.
    #[error("invalid file, {part}: {reason}")]
    Invalid {
        /// The part.
        part: &'static str,
        /// The rule.
        reason: &'static str,
    },
    /// A file that asks for more than a field of [`Limits`](crate::Limits) allows.
    #[error("{needed} {what}, the limit is {limit}")]
    Limit {
        /// What is limited.
        what: &'static str,
        /// What the file asks for.
        needed: u64,
        /// The limit.
        limit: usize,
    },
    /// What the operating system said.
    #[error("{0}")]
    Io(io::Error),
}

/// One place in which two structures differ.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// Where.
    pub path: Path,
    /// What differs there.
    pub kind: DifferenceKind,
    /// What the treedef has there.
    pub expected: String,
    /// What was found there.
    pub found: String,
}

/// What differs in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DifferenceKind {
    /// A field or key of the expected structure was not found.
    Missing,
    /// A field or key was found that was not expected.
    Extra,
    /// The nodes are of different kinds.
    Node,
    /// The types have different names.
    Name,
    /// The variants have different names.
    Variant,
    /// The numbers of children differ.
    Length,
    /// The same fields or keys stand in another order.
    Order,
    /// The values of a static differ.
    Static,
    /// The leaves differ, where leaves were compared.
    Leaf,
    /// The options of the walks differ that made the treedefs.
    Options,
}

impl Error {
    /// An error with a message of one's own, for functions that this crate calls.
    ///
    /// ```
    /// use treedef::{Error, Tree};
    ///
    /// let tree = Tree::of(&("a", 1))?;
    /// let error = tree.edit(|_, _, leaves| match leaves {
    ///     [leaf] if leaf.kind().is_number() => Err(Error::custom("no numbers, please")),
    ///     _ => Ok(treedef::Edit::Keep),
    /// });
    /// assert_eq!(error.unwrap_err().to_string(), "no numbers, please at `.1`");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[cold]
    pub fn custom(message: impl fmt::Display) -> Self {
        ErrorKind::Message(message.to_string()).into()
    }

    /// What went wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Where: the deepest node that was being walked or rebuilt.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// What can be done about it, if there is something; the message ends with it.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint
    }

    /// The file that the error is about, if it is about one.
    pub fn file(&self) -> Option<&std::path::Path> {
        self.0.file.as_deref()
    }

    /// All places in which the structures differ, if that is what went wrong.
    pub fn differences(&self) -> &[Difference] {
        match self.kind() {
            ErrorKind::Structure(differences) => differences,
            _ => &[],
        }
    }

    #[cold]
    pub(crate) fn protocol(message: &'static str) -> Self {
        ErrorKind::Protocol(message).into()
    }

    /// Adds the step that leads down to where the error comes from; called by each level on its way up.
    #[cold]
    pub(crate) fn under(mut self, key: Key) -> Self {
        self.0.path.0.insert(0, key);
        self
    }

    #[cold]
    pub(crate) fn at(mut self, path: Path) -> Self {
        self.0.path = path;
        self
    }

    /// Says where, unless that is known.
    #[cold]
    pub(crate) fn or_at(self, path: &Path) -> Self {
        if self.path().is_root() { self.at(path.clone()) } else { self }
    }

    #[cold]
    #[cfg(feature = "persist")]
    pub(crate) fn in_file(mut self, file: PathBuf) -> Self {
        self.0.file = Some(file);
        self
    }

    #[cold]
    #[cfg(feature = "persist")]
    pub(crate) fn in_part(mut self, part: &'static str) -> Self {
        self.0.part = Some(part);
        self
    }

    #[cold]
    pub(crate) fn at_byte(mut self, byte: usize) -> Self {
        self.0.byte = Some(byte);
        self
    }

    /// What was found and what was expected, if a visitor refused a type.
    pub(crate) fn refused_type(&self) -> Option<(&str, &str)> {
        match self.kind() {
            ErrorKind::Message(message) => {
                message.strip_prefix("invalid type: ")?.rsplit_once(", expected ")
            }
            _ => None,
        }
    }

    /// Adds what the user can do. The innermost hint stays.
    #[cold]
    pub(crate) fn with_hint(mut self, hint: &'static str) -> Self {
        self.0.hint.get_or_insert(hint);
        self
    }

    /// Tells a missing field which ones are there, if it is missing at this very node.
    #[cold]
    pub(crate) fn with_fields(mut self, fields: impl FnOnce() -> Vec<Name>) -> Self {
        if let ErrorKind::MissingField { present, .. } = &mut self.0.kind
            && self.0.path.is_root()
            && present.is_empty()
        {
            *present = fields();
        }
        self
    }
}

/// The error of a walk that only has to find out whether a value has some structure. It says nothing and has no size:
/// the walk that then looks for the reason has an [`Error`].
#[derive(Debug, thiserror::Error)]
#[error("another structure")]
pub(crate) struct Mismatch;

/// The outcome of a comparison.
pub(crate) type Matched<T> = std::result::Result<T, Mismatch>;

impl serde::ser::Error for Mismatch {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Mismatch
    }
}

impl serde::de::Error for Mismatch {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Mismatch
    }
}

impl From<ErrorKind> for Error {
    #[cold]
    fn from(kind: ErrorKind) -> Self {
        Error(Box::new(Inner {
            kind,
            path: Path::root(),
            byte: None,
            part: None,
            file: None,
            hint: None,
        }))
    }
}

impl serde::ser::Error for Error {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Self {
        Error::custom(message)
    }
}

impl serde::de::Error for Error {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Self {
        Error::custom(message)
    }

    #[cold]
    fn missing_field(field: &'static str) -> Self {
        ErrorKind::MissingField { field, present: Vec::new() }.into()
    }

    #[cold]
    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        ErrorKind::UnknownVariant { variant: variant.to_owned(), expected }.into()
    }
}

impl std::error::Error for Error {
    /// What the operating system said, if that is the reason.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self.kind() {
            ErrorKind::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "`{}`: ", file.display())?;
        }
        f.write_str(&limited(&self.kind, LONGEST))?;
        match &self.kind {
            kind if kind.is_about_the_whole() => {}
            _ if self.byte.is_some() => {
                self.byte.iter().try_for_each(|byte| write!(f, " at byte {byte}"))?
            }
            _ if !self.path.is_root() => write!(f, " at `{}`", self.path.brief())?,
            _ => match self.part {
                Some(part) => write!(f, " in {part}")?,
                None => write!(f, " at the root")?,
            },
        }
        if let ErrorKind::Structure(differences) = &self.kind
            && differences.len() > 1
        {
            let more = counted(differences.len() - 1, "more difference", "more differences");
            write!(f, ", and {more}")?;
        }
        match self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

impl ErrorKind {
    /// Whether there is no node to point at.
    fn is_about_the_whole(&self) -> bool {
        use ErrorKind::*;
        matches!(
            self,
            LeafCount { .. }
                | Nothing(_)
                | NoSuchLeaf { .. }
                | Syntax { .. }
                | NotATreeDef { .. }
                | FileKind { .. }
                | Unsupported { .. }
                | Truncated { .. }
                | TrailingBytes { .. }
                | Damaged { .. }
                | Invalid { .. }
                | Limit { .. }
                | Io(_)
        )
    }
}

/// The same prose as `Display`, so that an `unwrap` in a test prints it.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// What is printed, cut off after so many characters.
pub(crate) fn limited(printed: &impl fmt::Display, most: usize) -> String {
    let mut out = Limited { text: String::new(), left: most };
    match write!(out, "{printed}") {
        Ok(()) => out.text,
        Err(_) => out.text + "…",
    }
}

/// A writer that refuses more characters than it has room for.
pub(crate) struct Limited {
    pub(crate) text: String,
    pub(crate) left: usize,
}

impl fmt::Write for Limited {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for char in text.chars() {
            self.left = self.left.checked_sub(1).ok_or(fmt::Error)?;
            self.text.push(char);
        }
        Ok(())
    }
}

pub(crate) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn counted_bytes(count: u64) -> String {
    format!("{count} {} more", if count == 1 { "byte" } else { "bytes" })
}

fn quoted(names: &[Name]) -> String {
    if names.is_empty() {
        return "no fields".to_owned();
    }
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn alternatives(names: &[&str]) -> String {
    match names {
        [] => "none: there are no variants".to_owned(),
        [only] => format!("`{only}`"),
        [names @ .., last] => {
            let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
            format!("{} or `{last}`", names.join(", "))
        }
    }
}

/// The first; how many more there are is said behind its path.
fn report(differences: &[Difference]) -> String {
    match differences.first() {
        Some(Difference { expected, found, .. }) => format!("expected {expected}, found {found}"),
        None => "the structures differ".to_owned(),
    }
}
