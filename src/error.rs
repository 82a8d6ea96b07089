//! The error type: what went wrong, and at which path.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

use serde::de::{Expected, Unexpected};

use crate::message::{Shown, alternatives, brief, counted, limited, quoted_names};
use crate::model::{LeafKind, Name};
use crate::path::{Key, Path};
use crate::pattern::Pattern;

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The maximum number of characters of an error kind in a message, because names and texts may have
/// any length.
const LONGEST_MESSAGE: usize = 1_000;

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
    cause: Cause,
    /// The path below the keys of `above`.
    path: Path,
    /// The keys that lead to `path`, the innermost first: an error may pass a million levels on its
    /// way up.
    above: Vec<Key>,
    /// `above` and `path` together.
    whole: OnceLock<Path>,
    /// The position in a text, if the error is about a text.
    byte: Option<usize>,
    /// The part of a file, if the error is about a file.
    part: Option<&'static str>,
    /// The file, if the error came from one.
    file: Option<PathBuf>,
    hint: Option<Cow<'static, str>>,
    /// Which of several trees the error is about.
    tree: Option<usize>,
    /// The structures that differ are a prefix and a tree.
    of_prefix: bool,
}

impl Inner {
    fn path(&self) -> &Path {
        if self.above.is_empty() {
            return &self.path;
        }
        self.whole.get_or_init(|| self.above.iter().rev().chain(&self.path).cloned().collect())
    }
}

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
    /// Two structures differ, which [`Error::differences`] may list, or the number of leaves
    /// differs from the structure's.
    Structure,
    /// A structure, a file or an operation exceeds one of its [`Limits`](crate::Limits), or a count exceeds
    /// this platform's `usize`. [`Error::hint`] names the limit.
    Limit,
    /// A text cannot be parsed, e.g. as a treedef, value, path or pattern.
    Text,
    /// The bytes are not a file of this library, are damaged, or were written by a later release; or
    /// an error of the operating system: see [`Error::is_not_found`].
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
    #[error("{} in the treedef, of which {} read", counted(*.children, "child", "children"), counted(*.read, "was", "were"))]
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
    /// compared, it ends after about 4,096 differences.
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
    #[error("`{key}` can mean `{first}` and `{second}`")]
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
        /// The unknown part: the format version, the codec, the flags.
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
#[derive(Clone, Debug, PartialEq, Eq)]
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

impl Error {
    /// An error with a custom message, for functions that are passed to this crate.
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
        Cause::Message(message.to_string()).into()
    }

    /// The category of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.cause.kind()
    }

    pub(crate) fn cause(&self) -> &Cause {
        &self.0.cause
    }

    /// Whether a file or a folder does not exist.
    ///
    /// ```
    /// let error = treedef::TreeDef::load("no such file").unwrap_err();
    /// assert!(error.is_not_found());
    /// assert_eq!(error.file(), Some("no such file".as_ref()));
    /// ```
    pub fn is_not_found(&self) -> bool {
        matches!(self.cause(), Cause::Io(error) if error.kind() == io::ErrorKind::NotFound)
    }

    /// The path of the error: the deepest node that was being walked or rebuilt.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Whether the error has no path yet. Each level may check this, so the path is not built.
    pub(crate) fn is_at_root(&self) -> bool {
        self.0.above.is_empty() && self.0.path.is_root()
    }

    /// A hint how to avoid the error, if there is one. It is the end of the message.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The file, if the error is about one.
    pub fn file(&self) -> Option<&std::path::Path> {
        self.0.file.as_deref()
    }

    /// All differences, if the error is that two structures differ; otherwise empty.
    pub fn differences(&self) -> &[Difference] {
        match self.cause() {
            Cause::Structure(differences) => differences,
            _ => &[],
        }
    }

    /// The error of a function that was passed to this crate. An error of this crate without a path
    /// is kept.
    #[cold]
    pub(crate) fn of_function(
        error: impl Into<Box<dyn std::error::Error + Send + Sync + 'static>>,
    ) -> Self {
        match error.into().downcast::<Error>() {
            Ok(ours) if ours.is_at_root() => *ours,
            Ok(ours) => Cause::Function(ours).into(),
            Err(other) => Cause::Function(other).into(),
        }
    }

    #[cold]
    pub(crate) fn argument(message: impl fmt::Display) -> Self {
        Cause::Argument(message.to_string()).into()
    }

    /// A broken invariant: `bug!` adds the place.
    #[cold]
    #[track_caller]
    pub(crate) fn broken(what: &'static str) -> Self {
        debug_assert!(false, "{what}");
        Cause::Internal(what).into()
    }

    /// Two structures differ in these places. The path leads to the first.
    #[cold]
    pub(crate) fn structure(differences: Vec<Difference>) -> Self {
        debug_assert!(!differences.is_empty(), "two structures do not differ");
        let path = differences.first().map(|first| first.path.clone()).unwrap_or_default();
        Error::from(Cause::Structure(differences)).at(path)
    }

    /// A text that is none of the expected ones.
    #[cold]
    pub(crate) fn unknown_text(expected: &'static str, text: &str) -> Self {
        Cause::Syntax { offset: 0, expected, found: format!("`{}`", brief(&text)) }.into()
    }

    /// A part of a file breaks a rule of the format.
    #[cold]
    pub(crate) fn invalid_file(part: &'static str, reason: &'static str) -> Self {
        Cause::Damaged(format!("invalid file, {part}: {reason}")).into()
    }

    #[cold]
    pub(crate) fn not_a_leaf(node: String) -> Self {
        Error::argument(format_args!("expected a leaf, found `{node}`"))
    }

    #[cold]
    pub(crate) fn protocol(message: &'static str) -> Self {
        Cause::Message(message.to_owned()).into()
    }

    /// Prepends `key` to the path. Each level calls it while the error returns to the root.
    #[cold]
    pub(crate) fn under(mut self, key: Key) -> Self {
        self.0.above.push(key);
        self.0.whole = OnceLock::new();
        self
    }

    #[cold]
    pub(crate) fn at(mut self, path: Path) -> Self {
        (self.0.path, self.0.above, self.0.whole) = (path, Vec::new(), OnceLock::new());
        self
    }

    /// Sets the path, unless the error already has one.
    #[cold]
    pub(crate) fn or_at(self, path: &Path) -> Self {
        if self.is_at_root() { self.at(path.clone()) } else { self }
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

    pub(crate) fn cause_mut(&mut self) -> &mut Cause {
        &mut self.0.cause
    }

    #[cold]
    pub(crate) fn in_tree(mut self, index: usize) -> Self {
        self.0.tree = Some(index);
        self
    }

    /// Marks the two structures that differ as a prefix and a tree.
    pub(crate) fn of_prefix(mut self) -> Self {
        self.0.of_prefix = true;
        self
    }

    /// Adds a hint for the user. If there is one already, it stays.
    #[cold]
    pub(crate) fn with_hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.0.hint.get_or_insert(hint.into());
        self
    }

    /// Sets the hint, also if there is one already.
    #[cold]
    pub(crate) fn with_other_hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Adds the fields that are present to a missing-field error, if the field is missing at this
    /// node.
    #[cold]
    pub(crate) fn with_fields(mut self, fields: impl FnOnce() -> Vec<Name>) -> Self {
        let is_here = self.is_at_root();
        if let Cause::MissingField { present, .. } = &mut self.0.cause
            && is_here
            && present.is_empty()
        {
            *present = fields();
        }
        self
    }
}

/// The error of a comparison that only returns whether a value has a structure. It is zero-sized. A
/// second walk finds the reason and returns an [`Error`].
#[derive(Debug, thiserror::Error)]
#[error("another structure")]
pub(crate) struct Mismatch;

/// The result of a comparison.
pub(crate) type Matched<T> = std::result::Result<T, Mismatch>;

/// The error of an element whose calls differ from the element before: a code of the place. The
/// element is walked again, and no user sees this error.
#[derive(Debug, thiserror::Error)]
#[error("another element")]
pub(crate) struct ElementMismatch(pub(crate) u32);

impl ElementMismatch {
    /// The code for an error of the value itself.
    pub(crate) const UNKNOWN: u32 = u32::MAX;

    /// The code for a number of another kind than in the element before.
    pub(crate) const NUMBER: u32 = u32::MAX - 1;
}

impl serde::ser::Error for ElementMismatch {
    fn custom<T: fmt::Display>(_: T) -> Self {
        ElementMismatch(ElementMismatch::UNKNOWN)
    }
}

impl serde::de::Error for Mismatch {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Mismatch
    }
}

impl From<Cause> for Error {
    #[cold]
    fn from(cause: Cause) -> Self {
        Error(Box::new(Inner {
            cause,
            path: Path::root(),
            above: Vec::new(),
            whole: OnceLock::new(),
            byte: None,
            part: None,
            file: None,
            hint: None,
            of_prefix: false,
            tree: None,
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
    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        const INTEGERS: [&str; 10] =
            ["i8", "i16", "i32", "i64", "isize", "u8", "u16", "u32", "u64", "usize"];
        let expected = expected.to_string();
        let is_cut = matches!(found, Unexpected::Float(_)) && INTEGERS.contains(&&*expected);
        let error = Error::from(Cause::InvalidType { found: found.to_string(), expected });
        if is_cut { error.with_hint("`Tree::ravel` keeps integers integers") } else { error }
    }

    #[cold]
    fn missing_field(field: &'static str) -> Self {
        Cause::MissingField { field, present: Vec::new() }.into()
    }

    #[cold]
    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Cause::UnknownVariant { variant: variant.to_owned(), expected }.into()
    }
}

impl std::error::Error for Error {
    /// The error of the operating system or of a function that was passed to this crate, if it is
    /// the cause.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self.cause() {
            Cause::Io(error) => Some(error),
            Cause::Function(error) => Some(&**error),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Shown(f), "{}", self.0)
    }
}

impl fmt::Display for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "`{}`: ", file.display())?;
        }
        if let Some(tree) = self.tree {
            write!(f, "tree {tree}: ")?;
        }
        match &self.cause {
            Cause::Structure(differences) if self.of_prefix => {
                f.write_str(&limited(&of_prefix(differences), LONGEST_MESSAGE))?;
            }
            cause => f.write_str(&limited(cause, LONGEST_MESSAGE))?,
        }
        match &self.cause {
            cause if cause.is_about_the_whole() => {}
            _ => match (self.byte, self.part) {
                (Some(byte), _) => write!(f, " at byte {byte}")?,
                // For nesting that is too deep, the beginning of the path is enough.
                _ if matches!(self.cause, Cause::Depth { .. }) && !self.path().is_root() => {
                    write!(f, " at `{}`", self.path().beginning())?;
                }
                _ if !self.path().is_root() => write!(f, " at `{}`", self.path().brief())?,
                (None, Some(part)) => write!(f, " in {part}")?,
                _ if matches!(self.cause, Cause::Function(_) | Cause::Limit { .. }) => {}
                (None, None) => f.write_str(" at the root")?,
            },
        }
        if let Cause::NoSuchChild { nearest: Some(nearest), .. } = &self.cause {
            write!(f, " (did you mean `{}`?)", nearest.brief())?;
        }
        if let Cause::Structure(differences) = &self.cause
            && differences.len() > 1
        {
            let more = counted(differences.len() - 1, "more difference", "more differences");
            write!(f, ", and {more}")?;
        }
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

impl Cause {
    fn kind(&self) -> ErrorKind {
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
    fn is_about_the_whole(&self) -> bool {
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

/// The first difference between a prefix and a tree.
fn of_prefix(differences: &[Difference]) -> String {
    let sides = |first: &Difference| (first.expected.clone(), first.found.clone());
    let (prefix, tree) = differences.first().map(sides).unwrap_or_default();
    format!("the prefix has {prefix}, the tree {tree}")
}

/// The text of `Display`, and the other differences on lines of their own, so that an `unwrap` in a test
/// prints them.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let others = self.differences().get(1..).unwrap_or_default();
        for Difference { path, expected, found, .. } in others.iter().take(SHOWN_DIFFERENCES) {
            let path = if path.is_root() { "the root".to_owned() } else { format!("`{path}`") };
            write!(f, "\n  {path}: expected {expected}, found {found}")?;
        }
        match others.len().saturating_sub(SHOWN_DIFFERENCES) {
            0 => Ok(()),
            rest => write!(f, "\n  … and {rest} more"),
        }
    }
}

/// The maximum number of differences that are printed after the first.
const SHOWN_DIFFERENCES: usize = 20;

/// The first difference. The number of the others is printed after the path.
fn expected_and_found(differences: &[Difference]) -> String {
    match differences.first() {
        Some(Difference { expected, found, .. }) => format!("expected {expected}, found {found}"),
        None => "the structures differ".to_owned(),
    }
}
