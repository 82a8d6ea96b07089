//! The error type: what went wrong, and at which path.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

use serde::de::{Expected, Unexpected};

pub(crate) use crate::cause::Cause;
pub use crate::cause::{Difference, DifferenceKind, ErrorKind};
use crate::message::{EscapingWriter, brief, counted, limited};
use crate::model::Name;
use crate::path::{Key, Path};

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The maximum number of characters of an error kind in a message, because names and texts may have
/// any length.
const LONGEST_MESSAGE: usize = 1_000;

/// What went wrong, and where.
///
/// ```
/// use treedef::{DifferenceKind, ErrorKind};
///
/// let (_, treedef) = treedef::flatten(&vec![1u8, 2])?;
/// let error = treedef::unflatten::<Vec<u8>>(&treedef, [1i32, 300]).unwrap_err();
/// assert_eq!(error.to_string(), "invalid value: integer `300`, expected u8 at `[1]`");
/// assert_eq!((error.kind(), error.path().to_string()), (ErrorKind::Value, "[1]".to_owned()));
///
/// let error = treedef::flatten_as::<f64>(&("a", 1.5)).unwrap_err();
/// assert!(error.hint().unwrap().starts_with("mark it `treedef::as_static`"));
///
/// let error = treedef.check_equal(&treedef::structure(&vec![1u8])?).unwrap_err();
/// let [difference] = error.differences() else { panic!("one difference") };
/// assert_eq!(difference.kind, DifferenceKind::Length);
/// assert_eq!((&*difference.expected, &*difference.found), ("1 child", "2 children"));
/// # Ok::<(), treedef::Error>(())
/// ```
// The trait object keeps the code that drops an `Inner` in one place. Drop glue is compiled again in each
// codegen unit, and most of them drop errors. The outer box keeps results as small as a pointer.
pub struct Error(Box<Box<dyn Details>>);

trait Details: Send + Sync {
    fn inner(&self) -> &Inner;

    fn inner_mut(&mut self) -> &mut Inner;
}

impl Details for Inner {
    fn inner(&self) -> &Inner {
        self
    }

    fn inner_mut(&mut self) -> &mut Inner {
        self
    }
}

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
        self.whole.get_or_init(|| {
            let mut keys = self.above.clone();
            keys.reverse();
            keys.extend_from_slice(self.path.keys());
            Path(keys)
        })
    }
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
        self.0.inner().cause.kind()
    }

    pub(crate) fn cause(&self) -> &Cause {
        &self.0.inner().cause
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

    /// The path of the error: the deepest node that was being walked or rebuilt. For an error in a map key, this is the
    /// map. If a hand-written `Deserialize` ignores the error of a part and fails later, it is the path of the whole.
    pub fn path(&self) -> &Path {
        self.0.inner().path()
    }

    /// Whether the error has no path yet. Each level may check this, so the path is not built.
    pub(crate) fn is_at_root(&self) -> bool {
        let inner = self.0.inner();
        inner.above.is_empty() && inner.path.is_root()
    }

    /// A hint how to avoid the error, if there is one. It is at the end of the message.
    pub fn hint(&self) -> Option<&str> {
        self.0.inner().hint.as_deref()
    }

    /// The file, if the error is about one.
    pub fn file(&self) -> Option<&std::path::Path> {
        self.0.inner().file.as_deref()
    }

    /// The differences, if the error is that two structures or values differ; otherwise empty. Of two
    /// structures, they are the first 4,096 or a few more.
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
        let inner = self.0.inner_mut();
        inner.above.push(key);
        inner.whole = OnceLock::new();
        self
    }

    #[cold]
    pub(crate) fn at(mut self, path: Path) -> Self {
        let inner = self.0.inner_mut();
        (inner.path, inner.above, inner.whole) = (path, Vec::new(), OnceLock::new());
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
        self.0.inner_mut().file = Some(file);
        self
    }

    #[cold]
    #[cfg(feature = "persist")]
    pub(crate) fn in_part(mut self, part: &'static str) -> Self {
        self.0.inner_mut().part = Some(part);
        self
    }

    #[cold]
    pub(crate) fn at_byte(mut self, byte: usize) -> Self {
        self.0.inner_mut().byte = Some(byte);
        self
    }

    pub(crate) fn cause_mut(&mut self) -> &mut Cause {
        &mut self.0.inner_mut().cause
    }

    #[cold]
    pub(crate) fn in_tree(mut self, index: usize) -> Self {
        self.0.inner_mut().tree = Some(index);
        self
    }

    /// Marks the two structures that differ as a prefix and a tree.
    pub(crate) fn of_prefix(mut self) -> Self {
        self.0.inner_mut().of_prefix = true;
        self
    }

    /// Adds a hint for the user. If there is one already, it stays.
    #[cold]
    pub(crate) fn with_hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.0.inner_mut().hint.get_or_insert(hint.into());
        self
    }

    /// Sets the hint, also if there is one already.
    #[cold]
    pub(crate) fn with_other_hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.0.inner_mut().hint = Some(hint.into());
        self
    }

    /// Adds the fields that are present to a missing-field error, if the field is missing at this
    /// node.
    #[cold]
    pub(crate) fn with_fields(mut self, fields: impl FnOnce() -> Vec<Name>) -> Self {
        let is_here = self.is_at_root();
        if let Cause::MissingField { present, .. } = &mut self.0.inner_mut().cause
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
    #[inline(never)]
    fn from(cause: Cause) -> Self {
        Error(Box::new(Box::new(Inner {
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
        })))
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
        if is_cut { error.with_hint("to keep integers exact, use `Tree::ravel`") } else { error }
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
        write!(EscapingWriter(f), "{}", self.0.inner())
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
        write!(f, "{}", self.0.inner())?;
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
