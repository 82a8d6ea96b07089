//! The errors at the border, as exceptions of Python.

use std::fmt;

use pyo3::exceptions::{PyKeyError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::types::PyAnyMethods;
use pyo3::{PyErr, Python};
use serde::{de, ser};

use crate::mark;

/// The result of a conversion.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a value could not cross the border. `?` in a function of PyO3 raises it.
///
/// Its text has the path in Python's notation, and the expected and the found type:
/// `params['layers'][2].w: expected f64[3, 4], found float32[4, 3]`.
#[derive(Debug)]
pub struct Error(Box<ErrorData>);

/// The exception that an [`Error`] is in Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// `TypeError`: an object or an array is of another type.
    Type,
    /// `ValueError`: another shape, length or variant, a number out of range, a limit.
    Value,
    /// `KeyError`: a key or an attribute is missing, unknown or unused.
    Key,
    /// `RuntimeError`: work in Rust panicked.
    Panic,
    /// The exception of an object that was read, with the path as a note.
    Raised,
}

#[derive(Debug)]
struct ErrorData {
    kind: ErrorKind,
    message: String,
    /// `None` until the innermost place that knows it has set it.
    path: Option<String>,
    raised: Option<PyErr>,
    origin: Origin,
}

/// The origin of an error in a buffer of serde, which has no paths.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Other,
    /// A visitor that expects this refused a value.
    Value(String),
    /// A struct lacks this field.
    Missing(&'static str),
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl fmt::Display) -> Self {
        mark::failed();
        let message = message.to_string();
        Error(Box::new(ErrorData {
            kind,
            message,
            path: None,
            raised: None,
            origin: Origin::Other,
        }))
    }

    pub(crate) fn expected(expected: impl fmt::Display, found: impl fmt::Display) -> Self {
        Error::new(ErrorKind::Type, format_args!("expected {expected}, found {found}"))
    }

    /// The exception that it is in Python.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Where it is, in Python's notation. Empty at the root.
    pub fn path(&self) -> &str {
        self.0.path.as_deref().unwrap_or_default()
    }

    /// Sets the path, unless a place further inside has set it.
    pub(crate) fn at(mut self, path: impl FnOnce() -> String) -> Self {
        self.0.path.get_or_insert_with(path);
        self
    }

    /// Puts a step before the path.
    pub(crate) fn below(mut self, step: impl FnOnce() -> String) -> Self {
        self.0.path = Some(step() + self.path());
        self
    }

    pub(crate) fn has_path(&self) -> bool {
        self.0.path.is_some()
    }

    pub(crate) fn origin(&self) -> &Origin {
        &self.0.origin
    }

    /// The error at a place further inside.
    pub(crate) fn moved_to(mut self, path: String) -> Self {
        self.0.path = Some(path);
        self
    }

    /// The error of a value that was refused.
    fn refused(kind: ErrorKind, found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        let text = expected.to_string();
        let mut error = Error::new(kind, format_args!("expected {text}, found {found}"));
        mark::refused(found, expected);
        error.0.origin = Origin::Value(text);
        error
    }

    pub(crate) fn and(mut self, more: impl fmt::Display) -> Self {
        self.0.message.push_str(&more.to_string());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path() {
            "" => f.write_str(&self.0.message),
            path => write!(f, "{path}: {}", self.0.message),
        }
    }
}

impl std::error::Error for Error {}

impl From<PyErr> for Error {
    fn from(raised: PyErr) -> Self {
        let mut error = Error::new(ErrorKind::Raised, &raised);
        error.0.raised = Some(raised);
        error
    }
}

impl From<treedef::Error> for Error {
    fn from(error: treedef::Error) -> Self {
        Error::new(ErrorKind::Value, error)
    }
}

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match (error.0.kind, error.0.raised) {
            (ErrorKind::Type, _) => PyTypeError::new_err(text),
            (ErrorKind::Panic, _) => PyRuntimeError::new_err(text),
            (ErrorKind::Key, _) => PyKeyError::new_err(text),
            (ErrorKind::Raised, Some(raised)) => {
                if let Some(path) = error.0.path.filter(|path| !path.is_empty()) {
                    // Before Python 3.11 there are no notes.
                    let note = format!("while `{path}` was converted");
                    Python::attach(|py| {
                        let _ = raised.value(py).call_method1("add_note", (note,));
                    });
                }
                raised
            }
            _ => PyValueError::new_err(text),
        }
    }
}

impl ser::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Error::new(ErrorKind::Value, message)
    }
}

impl de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Error::new(ErrorKind::Value, message)
    }

    fn invalid_type(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Error::refused(ErrorKind::Type, found, expected)
    }

    fn invalid_value(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Error::refused(ErrorKind::Value, found, expected)
    }

    fn missing_field(field: &'static str) -> Self {
        let mut error = Error::new(ErrorKind::Key, format_args!("`{field}` is missing"));
        error.0.origin = Origin::Missing(field);
        error
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let expected = expected.join("`, `");
        Error::new(ErrorKind::Key, format_args!("`{field}` is unknown, expected `{expected}`"))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Error::new(ErrorKind::Key, format_args!("`{field}` is there twice"))
    }
}
