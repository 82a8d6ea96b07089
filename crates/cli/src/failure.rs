//! Errors as one line.

use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use treedef::__private::limited;
use treedef::Leaf;
use treedef_tensors::{ErrorKind as Kind, Fault};

use crate::paths::with_shown_paths;

/// Prints a line on standard error.
macro_rules! message {
    ($($text:tt)*) => {
        $crate::failure::print_message(format_args!($($text)*))
    };
}

/// Whether a line could not be printed.
static UNPRINTED: AtomicBool = AtomicBool::new(false);

/// Prints a line to standard error. If that fails, the command goes on, and fails at its end.
pub(crate) fn print_message(line: fmt::Arguments<'_>) {
    match writeln!(anstream::stderr().lock(), "{line}") {
        // A reader that closed the pipe does not want the line.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            UNPRINTED.store(true, Ordering::Relaxed);
        }
        _ => {}
    }
}

/// Whether all lines could be printed.
pub(crate) fn are_all_printed() -> bool {
    !UNPRINTED.load(Ordering::Relaxed)
}

/// A result whose error is a line for the user.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// The reason why the command failed: `file.json:3:14: what, and what to do`.
#[derive(Debug)]
#[non_exhaustive]
pub enum Failure {
    /// Nobody reads the output any more.
    BrokenPipe,
    /// The place and the reason.
    Message {
        /// The file, with line and column if they are known; may be empty.
        place: String,
        /// The fault, and what to do.
        message: String,
    },
}

/// The option that raises the limit in an error, in place of the library's own hint.
fn option_of(error: &treedef::Error) -> Option<&'static str> {
    match limited(error) {
        Some("levels") => Some(MORE_LEVELS),
        Some("nodes" | "nodes to visit") => Some(MORE_NODES),
        Some("distinct structures") => Some(
            "pass `--fold-lengths`, or `--fold-keys 100` if keys are data; `--max-structures` allows \
             more",
        ),
        _ => None,
    }
}

const MORE_LEVELS: &str = "`--max-depth` allows more";
const MORE_NODES: &str = "`--max-nodes` allows more";

/// The same for errors that passed through the reader of a format, which keeps only their text.
const OPTIONS: [(&str, &str); 4] = [
    ("deeper only with the feature `stacker`, which grows the stack", "there may be no more"),
    ("see `Limits::max_depth`", MORE_LEVELS),
    ("see `Limits::max_nodes`", MORE_NODES),
    ("see `Limits::max_work`", MORE_NODES),
];

impl Failure {
    /// A failure that concerns no file.
    pub fn new(message: impl fmt::Display) -> Self {
        Failure::at("", message)
    }

    /// A failure at a place: a file, or a file with a line and a column.
    pub fn at(place: impl fmt::Display, message: impl fmt::Display) -> Self {
        // Content of a document must not reach the terminal as control characters, nor reverse the
        // text there.
        let clean = |text: String| -> String {
            let mut shown = String::with_capacity(text.len());
            for char in text.chars() {
                match char {
                    _ if char.is_control() => shown.push(' '),
                    _ if char.is_ascii() => shown.push(char),
                    // As in the texts of trees.
                    _ => shown.push_str(Leaf::from(char).to_string().trim_matches('\'')),
                }
            }
            shown.trim().to_owned()
        };
        let message = with_shown_paths(&message.to_string());
        let message = OPTIONS
            .iter()
            .fold(message, |message, (of_library, option)| message.replace(of_library, option));
        Failure::Message { place: clean(place.to_string()), message: clean(message) }
    }

    /// The same failure with another text.
    #[must_use]
    pub(crate) fn with_message(self, message: String) -> Self {
        match self {
            Failure::Message { place, .. } => Failure::at(place, message),
            Failure::BrokenPipe => self,
        }
    }

    /// The place and the fault, for JSON.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match self {
            Failure::Message { place, message } => {
                serde_json::json!({"place": place, "message": message})
            }
            Failure::BrokenPipe => serde_json::Value::Null,
        }
    }

    /// The fault, without the place.
    pub(crate) fn message(&self) -> &str {
        match self {
            Failure::Message { message, .. } => message,
            Failure::BrokenPipe => "",
        }
    }

    /// The same failure, if the text was a line of a file: `1:7` becomes `4:7`.
    #[must_use]
    pub(crate) fn on_line(self, number: u64) -> Self {
        match &self {
            Failure::Message { place, message } => match place.rsplit_once(':') {
                Some((_, column)) => Failure::at(format!("{number}:{column}"), message),
                None => Failure::at(number, message),
            },
            Failure::BrokenPipe => self,
        }
    }

    /// The same failure, in a file.
    #[must_use]
    pub fn in_file(self, name: &str) -> Self {
        match self {
            // An error of the library names the file already, or another file of the same model.
            Failure::Message { place, message }
                if place.is_empty() && message.starts_with(&format!("{name}: ")) =>
            {
                Failure::Message { place, message }
            }
            Failure::Message { place, message } if place.is_empty() => Failure::at(name, message),
            Failure::Message { place, message } => Failure::at(format!("{name}:{place}"), message),
            Failure::BrokenPipe => self,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::BrokenPipe => f.write_str("nobody reads the output"),
            Failure::Message { place, message } if place.is_empty() => f.write_str(message),
            Failure::Message { place, message } => write!(f, "{place}: {message}"),
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
            // Only writing can fill a disk, and errors of files have their names already.
            io::ErrorKind::StorageFull => {
                Failure::at("standard output", "no space left on the device")
            }
            _ => Failure::new(error),
        }
    }
}

impl From<treedef_tensors::Error> for Failure {
    fn from(error: treedef_tensors::Error) -> Self {
        let option = match error.kind() {
            Kind::TreeDef(inner) => option_of(inner),
            Kind::Limit { what: "bytes to unpack", .. } => Some("`--max-bytes` allows more"),
            _ => None,
        };
        of_library(&error, error.hint(), option)
    }
}

impl From<treedef_pytrees::Error> for Failure {
    fn from(error: treedef_pytrees::Error) -> Self {
        of_library(&error, error.hint(), None)
    }
}

impl From<&Fault> for Failure {
    fn from(fault: &Fault) -> Self {
        Failure::new(with_options(&fault.to_string()))
    }
}

impl From<treedef::Error> for Failure {
    fn from(error: treedef::Error) -> Self {
        of_library(&error, error.hint(), option_of(&error))
    }
}

/// The failure of an error, with the option in place of its hint.
fn of_library(error: &impl fmt::Display, hint: Option<&str>, option: Option<&str>) -> Failure {
    match (hint, option) {
        (Some(hint), Some(option)) => Failure::new(error.to_string().replace(hint, option)),
        _ => Failure::new(with_options(&error.to_string())),
    }
}

/// A message of the library, with options in place of the functions that it mentions.
fn with_options(message: &str) -> String {
    const OPTIONS: [(&str, &str); 3] = [
        ("see `OpenOptions::follow_links`", "`--follow-links` follows it"),
        ("choose one (`OpenOptions::variant`)", "choose one (`--variant`)"),
        ("Open these with `open_files`", "Pass one of them"),
    ];
    OPTIONS.into_iter().fold(message.to_owned(), |message, (of, to)| message.replace(of, to))
}

/// Writing JSON fails if the output does.
impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        match error.io_error_kind() {
            Some(kind) => io::Error::from(kind).into(),
            None => Failure::new(error),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde::de::DeserializeSeed;
    use treedef::{Limits, TreeDef, TreeSeed};
    use treedef_tensors::{npy, npz};

    use super::*;

    /// The errors of limits, unchanged and passed through a reader, which leaves their text.
    #[test]
    fn limits_are_told_with_their_options() {
        let (deep, wide) = ("[".repeat(3) + &"]".repeat(3), "[1, \"\", [], {}]");
        let few = Limits { max_depth: 2, max_nodes: 3, ..Limits::default() };
        for (text, option) in [(deep.as_str(), MORE_LEVELS), (wide, MORE_NODES)] {
            let json = &mut serde_json::Deserializer::from_str(text);
            let read = Failure::from(TreeSeed::new(few).deserialize(json).unwrap_err());
            let whole: treedef::Tree<Leaf> = serde_json::from_str(text).unwrap();
            let bytes = whole.treedef().to_bytes().unwrap();
            let loaded = Failure::from(TreeDef::from_bytes_with(&bytes, few).unwrap_err());
            for failure in [read, loaded] {
                let message = failure.message();
                assert!(message.contains(option), "{message}");
                assert!(!message.contains("Limits"), "{message}");
            }
        }
    }

    #[test]
    fn limits_of_files_are_told_with_their_options() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/commands/tensors.in");
        let file = std::fs::read(format!("{folder}/model.npz")).unwrap();
        let few = npy::ReadOptions::new().max_bytes(200);
        let failure = Failure::from(npz::from_bytes_with(&file, &few).unwrap_err());
        let expected =
            "\"layers.1.weight.npy\" unpacks to 160 bytes, 40 are left (`--max-bytes` allows more)";
        assert_eq!(failure.message(), expected);
    }
}
