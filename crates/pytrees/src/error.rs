//! The errors of this crate.

use std::fmt;
use std::sync::Arc;

use treedef::Path;

/// The result of lowering or of reading a structure.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The error for a structure that cannot be lowered or read, with the path of the node or the byte
/// of the input if it is known.
///
/// `Debug` prints the same text as `Display`, because that is what `unwrap` and a `main` that
/// returns an error print.
///
/// ```
/// use treedef_pytrees::python;
///
/// let error = python::from_literal("[1, 2").unwrap_err();
/// assert_eq!(error.to_string(), "expected `,` or `]`, found the end at byte 5");
/// assert_eq!(format!("{error:?}"), error.to_string());
/// ```
#[derive(Clone)]
pub struct Error {
    kind: Arc<ErrorKind>,
    location: ErrorLocation,
}

#[derive(Clone)]
enum ErrorLocation {
    Unknown,
    Path(Path),
    Byte(usize),
}

/// The kind of the error.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The format does not have this node, and the [`Lowering`](crate::Lowering) does not replace
    /// it.
    NoCounterpart(String),
    /// The format does not allow this key of a map.
    Key(String),
    /// The input is not valid in the format.
    Malformed(String),
    /// The input or the structure is larger or deeper than the limits allow.
    Limit {
        /// The limited quantity: `levels`, `bytes of names`, `nodes`.
        what: &'static str,
        /// The quantity, or its limit.
        message: String,
    },
    /// The number of leaves differs from the structure.
    Leaves {
        /// The number of leaves in the structure.
        expected: usize,
        /// The number of leaves that were given.
        found: usize,
    },
    /// Without its statics, the structure is empty.
    Structure(String),
    /// An error of `treedef`.
    TreeDef(treedef::Error),
    /// A bug of this library, with the place in it. Please report it.
    Internal(&'static str),
}

impl ErrorKind {
    pub(crate) fn limit(what: &'static str, message: impl Into<String>) -> Self {
        ErrorKind::Limit { what, message: message.into() }
    }

    /// How to raise this limit.
    fn hint(&self) -> Option<&'static str> {
        match self {
            ErrorKind::Limit { what: "nodes", .. } => Some("see `Lowering::max_nodes`"),
            _ => None,
        }
    }
}

impl Error {
    /// The kind of the error.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// A hint. It is the end of the text, in brackets.
    ///
    /// ```
    /// use treedef_pytrees::{Lowering, python};
    ///
    /// let few = Lowering::new().max_nodes(5);
    /// let error = python::literal(&"[*; 9]".parse()?, &few).unwrap_err();
    /// assert_eq!(error.to_string(), "10 nodes, the limit is 5 (see `Lowering::max_nodes`)");
    /// assert_eq!(error.hint(), Some("see `Lowering::max_nodes`"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn hint(&self) -> Option<&str> {
        match &*self.kind {
            ErrorKind::TreeDef(error) => error.hint(),
            kind => kind.hint(),
        }
    }

    /// The path of the node that the error concerns, if it concerns one.
    ///
    /// ```
    /// use treedef_pytrees::{Lowering, python};
    ///
    /// let error = python::literal(&"(*, A { a: * })".parse()?, &Lowering::strict()).unwrap_err();
    /// assert_eq!(error.path(), Some(&".1".parse()?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn path(&self) -> Option<&Path> {
        match (&self.location, &*self.kind) {
            (ErrorLocation::Path(path), _) => Some(path),
            (_, ErrorKind::TreeDef(error)) => Some(error.path()),
            _ => None,
        }
    }

    /// The byte of the input at which reading failed.
    #[doc(hidden)]
    pub fn __offset(&self) -> Option<usize> {
        match self.location {
            ErrorLocation::Byte(offset) => Some(offset),
            ErrorLocation::Unknown | ErrorLocation::Path(_) => None,
        }
    }

    pub(crate) fn at_path(self, path: Path) -> Self {
        Error { location: ErrorLocation::Path(path), ..self }
    }

    pub(crate) fn at_byte(self, offset: usize) -> Self {
        Error { location: ErrorLocation::Byte(offset), ..self }
    }
}

/// A text of the input in quotes, cut off if it is long.
pub fn quoted(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{:?}…", text.get(..end).unwrap_or_default()),
        None => format!("{text:?}"),
    }
}

/// The error for an input that is not valid in the format.
pub(crate) fn malformed(offset: usize, what: impl Into<String>) -> Error {
    Error::from(ErrorKind::Malformed(what.into())).at_byte(offset)
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Error { kind: Arc::new(kind), location: ErrorLocation::Unknown }
    }
}

impl From<treedef::Error> for Error {
    fn from(error: treedef::Error) -> Self {
        ErrorKind::TreeDef(error).into()
    }
}

/// The same text as `Display`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.kind {
            ErrorKind::NoCounterpart(node) => {
                write!(f, "{node} has no counterpart in Python (see `Lowering`)")?;
            }
            ErrorKind::Leaves { expected, found } => {
                write!(f, "expected {expected} leaves, found {found}")?;
            }
            ErrorKind::TreeDef(error) => error.fmt(f)?,
            ErrorKind::Internal(place) => write!(f, "a bug in treedef-pytrees: {place}")?,
            ErrorKind::Key(what)
            | ErrorKind::Malformed(what)
            | ErrorKind::Limit { message: what, .. }
            | ErrorKind::Structure(what) => f.write_str(what)?,
        }
        match &self.location {
            ErrorLocation::Unknown => {}
            ErrorLocation::Path(path) if path.is_root() => f.write_str(" at the root")?,
            ErrorLocation::Path(path) => write!(f, " at `{path}`")?,
            ErrorLocation::Byte(offset) => write!(f, " at byte {offset}")?,
        }
        self.kind.hint().map_or(Ok(()), |hint| write!(f, " ({hint})"))
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.kind {
            ErrorKind::TreeDef(error) => Some(error),
            _ => None,
        }
    }
}
