//! What can go wrong, as one line.

use std::fmt;
use std::io;

/// A result whose error is a line for the user.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// Why the command failed: `file.json:3:14: what, and what to do`.
#[derive(Debug)]
#[non_exhaustive]
pub enum Failure {
    /// Nobody reads the output any more.
    BrokenPipe,
    /// Where it failed, and why.
    Told {
        /// The file, with line and column where they are known; may be empty.
        place: String,
        /// What is wrong, and what to do.
        message: String,
    },
}

impl Failure {
    /// A failure that is about no file.
    pub fn new(message: impl fmt::Display) -> Self {
        Failure::at("", message)
    }

    /// A failure at a place: a file, or a file with a line and a column.
    pub fn at(place: impl fmt::Display, message: impl fmt::Display) -> Self {
        // What a document holds must not reach the terminal as control characters.
        let clean = |text: String| -> String {
            let shown = text.chars().map(|c| if c.is_control() { ' ' } else { c });
            shown.collect::<String>().trim().to_owned()
        };
        Failure::Told { place: clean(place.to_string()), message: clean(message.to_string()) }
    }

    /// The same failure, of a file.
    #[must_use]
    pub fn in_file(self, name: &str) -> Self {
        match self {
            Failure::Told { place, message } if place.is_empty() => Failure::at(name, message),
            Failure::Told { place, message } => Failure::at(format!("{name}:{place}"), message),
            Failure::BrokenPipe => self,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::BrokenPipe => f.write_str("nobody reads the output"),
            Failure::Told { place, message } if place.is_empty() => f.write_str(message),
            Failure::Told { place, message } => write!(f, "{place}: {message}"),
        }
    }
}

impl std::error::Error for Failure {}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
            io::ErrorKind::NotFound => Failure::new("there is no such file"),
            io::ErrorKind::PermissionDenied => Failure::new("it may not be opened"),
            _ => Failure::new(error),
        }
    }
}

impl From<treedef::Error> for Failure {
    fn from(error: treedef::Error) -> Self {
        Failure::new(error)
    }
}

/// Writing JSON fails where the output does.
impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        match error.io_error_kind() {
            Some(kind) => io::Error::from(kind).into(),
            None => Failure::new(error),
        }
    }
}
