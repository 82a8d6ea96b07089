//! What can go wrong, as one line.

use std::fmt;
use std::io;

use treedef::Leaf;

use crate::paths::with_shown_paths;

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

/// What the libraries say about their limits, and the option that sets the limit here.
const OPTIONS: [(&str, &str); 6] = [
    ("`Flattener::max_depth` and `Limits::max_depth` allow more", "`--max-depth` allows more"),
    ("deeper only with the feature `stacker`, which grows the stack", "there may be no more"),
    ("see `Limits::max_depth`", "`--max-depth` allows more"),
    ("see `Limits::max_nodes`", "`--max-nodes` allows more"),
    ("see `Limits::max_work`", "`--max-nodes` allows more"),
    (": see `npy::Reading::max_bytes`", ": `--max-bytes` allows more"),
];

impl Failure {
    /// A failure that is about no file.
    pub fn new(message: impl fmt::Display) -> Self {
        Failure::at("", message)
    }

    /// A failure at a place: a file, or a file with a line and a column.
    pub fn at(place: impl fmt::Display, message: impl fmt::Display) -> Self {
        // What a document holds must not reach the terminal as control characters, nor turn the text
        // round there.
        let clean = |text: String| -> String {
            let mut shown = String::with_capacity(text.len());
            for char in text.chars() {
                match char {
                    _ if char.is_control() => shown.push(' '),
                    _ if char.is_ascii() => shown.push(char),
                    // As the texts of trees have it.
                    _ => shown.push_str(Leaf::from(char).to_string().trim_matches('\'')),
                }
            }
            shown.trim().to_owned()
        };
        let message = with_shown_paths(&message.to_string());
        let message = OPTIONS
            .iter()
            .fold(message, |message, (of_library, option)| message.replace(of_library, option));
        Failure::Told { place: clean(place.to_string()), message: clean(message) }
    }

    /// The same failure with other words.
    #[must_use]
    pub(crate) fn with_message(self, message: String) -> Self {
        match self {
            Failure::Told { place, .. } => Failure::at(place, message),
            Failure::BrokenPipe => self,
        }
    }

    /// The place and what is wrong, for JSON.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match self {
            Failure::Told { place, message } => {
                serde_json::json!({"place": place, "message": message})
            }
            Failure::BrokenPipe => serde_json::Value::Null,
        }
    }

    /// What is wrong, without the place.
    pub(crate) fn message(&self) -> &str {
        match self {
            Failure::Told { message, .. } => message,
            Failure::BrokenPipe => "",
        }
    }

    /// The same failure, of which the text was a line of a file: `1:7` is `4:7` then.
    #[must_use]
    pub(crate) fn on_line(self, number: u64) -> Self {
        match &self {
            Failure::Told { place, message } => match place.rsplit_once(':') {
                Some((_, column)) => Failure::at(format!("{number}:{column}"), message),
                None => Failure::at(number, message),
            },
            Failure::BrokenPipe => self,
        }
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

impl From<treedef_exchange::Error> for Failure {
    fn from(error: treedef_exchange::Error) -> Self {
        Failure::new(error)
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
