//! The errors of this crate.

use std::fmt;
use std::sync::Arc;

use treedef::{LeafKind, Path};
pub(crate) use treedef_pytrees::__private::quoted;

use crate::report::LoadReport;

/// The result of reading, writing or loading tensors.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The error for tensors that cannot be read, written or loaded, with its place if that is known: a
/// path of the structure, or a byte of the input.
///
/// `Debug` prints the same text as `Display`, because that is what `unwrap` and a `main` that
/// returns an error print.
///
/// ```
/// use treedef_tensors::npy;
///
/// let error = npy::from_bytes(b"PK").unwrap_err();
/// assert_eq!(format!("{error:?}"), error.to_string());
/// ```
#[derive(Clone)]
pub struct Error {
    kind: Arc<ErrorKind>,
    location: ErrorLocation,
    /// The file that was read, unless it is in the kind.
    file: Option<Arc<str>>,
}

#[derive(Clone)]
enum ErrorLocation {
    Unknown,
    Path(Path),
    Byte(usize),
}

/// The kind of an error.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input is not valid in the format.
    Malformed(String),
    /// A feature of the file that is not supported here: a type that is not a
    /// [`Dtype`](crate::Dtype), metadata of an npz file.
    Unsupported(String),
    /// The input or the structure is larger or deeper than the limits allow.
    Limit {
        /// The limited quantity: `levels`, `bytes of names`, `bytes to unpack`.
        what: &'static str,
        /// The quantity, or its limit.
        message: String,
    },
    /// The structure differs from the one that was lowered, or from the tensors.
    Structure(String),
    /// Two paths have the same name: the path of the error, and this one.
    Clash {
        /// The name of both paths.
        name: String,
        /// The path that was first.
        first: Path,
    },
    /// A reserved name.
    Reserved(String),
    /// Leaves that cannot be stored in a tensor, with the paths of their blocks.
    NoDtype(Vec<(Path, LeafKind)>),
    /// A pattern that stacks nothing, or a pattern of a [`Loader`](crate::Loader) that matches no
    /// tensor, or two.
    Rule(String),
    /// The tensors do not fit the type.
    Load(Box<LoadReport>),
    /// All faults in the files of a checkpoint.
    Faults(Vec<Fault>),
    /// An error of the operating system.
    Io(std::io::Error),
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
            ErrorKind::Limit { what: "bytes to unpack", .. } => {
                Some("see `npy::ReadOptions::max_bytes`")
            }
            ErrorKind::Limit { what: "bytes of the structure", .. } => {
                Some("see `Export::structure_in_metadata`")
            }
            _ => None,
        }
    }
}

/// A fault of a file, or of a tensor in it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The name of the file.
    pub file: String,
    /// The tensor, if the fault concerns one.
    pub tensor: Option<String>,
    /// The fault.
    pub what: String,
}

impl Fault {
    pub(crate) fn new(file: &str, tensor: Option<&str>, what: impl Into<String>) -> Self {
        Fault { file: file.to_owned(), tensor: tensor.map(str::to_owned), what: what.into() }
    }
}

/// `model.safetensors: "w": fault`
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.file.escape_debug())?;
        if let Some(tensor) = &self.tensor {
            write!(f, "{}: ", quoted(tensor))?;
        }
        f.write_str(&self.what)
    }
}

/// The maximum number of faults that are printed.
const PRINTED: usize = 100;

impl Error {
    /// The kind of the error.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// A hint. It is the end of the text, in brackets.
    ///
    /// ```
    /// use treedef_tensors::{Error, ErrorKind};
    ///
    /// let message = "2 GiB to unpack, the limit is 1 GiB".to_owned();
    /// let error = Error::from(ErrorKind::Limit { what: "bytes to unpack", message });
    /// assert_eq!(error.hint(), Some("see `npy::ReadOptions::max_bytes`"));
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
    /// use treedef::Tree;
    /// use treedef_tensors::Tensors;
    ///
    /// let tree = Tree::new(r#"{"a": {"b": *}, "a.b": *}"#.parse()?, vec![0.5, 1.5])?;
    /// let error = Tensors::of(&tree).unwrap_err(); // two tensors would have the name `a.b`
    /// assert_eq!(error.path(), Some(&r#"["a.b"]"#.parse()?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn path(&self) -> Option<&Path> {
        match (&self.location, &*self.kind) {
            (ErrorLocation::Path(path), _) => Some(path),
            (_, ErrorKind::TreeDef(error)) => Some(error.path()),
            _ => None,
        }
    }

    /// Whether a file or a folder does not exist, for example because there is no checkpoint yet.
    ///
    /// ```
    /// use treedef_tensors::{Tensors, npz};
    ///
    /// let error = npz::save(&Tensors::default(), "no such folder/model.npz").unwrap_err();
    /// assert!(error.is_not_found());
    /// ```
    pub fn is_not_found(&self) -> bool {
        match &*self.kind {
            ErrorKind::Io(error) => error.kind() == std::io::ErrorKind::NotFound,
            ErrorKind::TreeDef(error) => error.is_not_found(),
            _ => false,
        }
    }

    /// The byte of the input at which reading failed.
    #[cfg(feature = "numpy")]
    pub(crate) fn offset(&self) -> Option<usize> {
        match self.location {
            ErrorLocation::Byte(offset) => Some(offset),
            ErrorLocation::Unknown | ErrorLocation::Path(_) => None,
        }
    }

    /// Adds the file that was read.
    #[doc(hidden)]
    #[must_use]
    pub fn in_file(mut self, file: Option<Arc<str>>) -> Self {
        self.file = self.file.or(file);
        self
    }

    pub(crate) fn at_path(self, path: Path) -> Self {
        Error { location: ErrorLocation::Path(path), ..self }
    }

    /// Adds the part of the input that the error concerns.
    pub(crate) fn about(self, subject: &str) -> Self {
        let kind = match &*self.kind {
            ErrorKind::Malformed(what) => ErrorKind::Malformed(format!("{subject}: {what}")),
            ErrorKind::Unsupported(what) => ErrorKind::Unsupported(format!("{subject}: {what}")),
            ErrorKind::Limit { what, message } => {
                ErrorKind::limit(what, format!("{subject}: {message}"))
            }
            _ => return self,
        };
        Error { kind: kind.into(), ..self }
    }

    pub(crate) fn at_byte(self, offset: usize) -> Self {
        Error { location: ErrorLocation::Byte(offset), ..self }
    }
}

/// The error for an input that is not valid in the format.
pub(crate) fn malformed(offset: usize, what: impl Into<String>) -> Error {
    Error::from(ErrorKind::Malformed(what.into())).at_byte(offset)
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        ErrorKind::Io(error).into()
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Error { kind: Arc::new(kind), location: ErrorLocation::Unknown, file: None }
    }
}

/// The header of an array is a literal of Python, which `treedef-pytrees` reads.
impl From<treedef_pytrees::Error> for Error {
    fn from(error: treedef_pytrees::Error) -> Self {
        use treedef_pytrees::ErrorKind as Of;
        let kind = match error.kind() {
            Of::Malformed(what) => ErrorKind::Malformed(what.clone()),
            Of::Limit { what, message } => ErrorKind::limit(what, message.clone()),
            _ => ErrorKind::Malformed(error.to_string()),
        };
        match error.__offset() {
            Some(offset) => Error::from(kind).at_byte(offset),
            None => kind.into(),
        }
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
        if let Some(file) = &self.file
            && !matches!(&*self.kind, ErrorKind::Faults(_))
        {
            write!(f, "{}: ", file.escape_debug())?;
        }
        match &*self.kind {
            ErrorKind::TreeDef(error) => error.fmt(f)?,
            ErrorKind::Io(error) => error.fmt(f)?,
            ErrorKind::Load(report) => {
                write!(f, "the tensors do not fit the type\n{}", report.lines())?;
            }
            ErrorKind::Faults(faults) => {
                if let [fault] = faults.as_slice() {
                    return fault.fmt(f);
                }
                write!(f, "{} faults", faults.len())?;
                faults.iter().take(PRINTED).try_for_each(|fault| write!(f, "\n{fault}"))?;
                if faults.len() > PRINTED {
                    write!(f, "\nand {} more", faults.len() - PRINTED)?;
                }
            }
            ErrorKind::Clash { name, first } => {
                write!(f, "the name `{name}` is also that of `{first}`")?;
            }
            ErrorKind::Reserved(name) => write!(f, "the name `{name}` is reserved")?,
            ErrorKind::Internal(location) => write!(f, "a bug in treedef-tensors: {location}")?,
            ErrorKind::NoDtype(leaves) => {
                let leaves: Vec<String> =
                    leaves.iter().map(|(path, kind)| format!("{kind} at `{path}`")).collect();
                let leaves = leaves.join(", ");
                write!(f, "tensors hold no {leaves} (see `Export::rest_in_metadata`)")?;
            }
            ErrorKind::Malformed(what)
            | ErrorKind::Unsupported(what)
            | ErrorKind::Limit { message: what, .. }
            | ErrorKind::Rule(what)
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
            ErrorKind::Io(error) => Some(error),
            _ => None,
        }
    }
}
