//! The errors of this crate.

use std::error::Error as StdError;

use treedef::Path;

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The error of an operation on a leaf, for example an error of a tensor library.
pub type LeafError = Box<dyn StdError + Send + Sync>;

/// The errors of this crate, with their paths.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A value cannot be flattened or rebuilt, or a pattern matches nothing.
    #[error(transparent)]
    Tree(#[from] treedef::Error),
    /// A value, such as a gradient, does not have the structure of the parameters.
    #[error("{what}: {source}")]
    Structure {
        /// The two structures that differ: the found one, then the expected one.
        what: &'static str,
        /// The first difference, with both sides.
        source: treedef::Error,
    },
    /// A model of a batch does not have the structure of the first.
    #[error("model {model} has another structure than the first: {source}")]
    Model {
        /// Its index.
        model: usize,
        /// The first difference, with both sides.
        source: treedef::Error,
    },
    /// A value has no leaf of the requested type.
    #[error(
        "the value has no leaf of type `{leaf}`: numbers need `f32` or `f64`, and objects the type that they have"
    )]
    NoLeaves {
        /// The requested type.
        leaf: &'static str,
    },
    /// All leaves of a value are integers, which count as constants.
    #[error("the value has no floats: the leaf at {} is {found}", place(.path))]
    NoFloats {
        /// The first leaf.
        path: Path,
        /// Its type and shape.
        found: String,
    },
    /// A leaf has another shape or another type of numbers than the parameter in its place.
    #[error("{what} is {found}, the parameter is {expected}, at {}{}", place(.path), hint(what, expected, found))]
    Leaf {
        /// The value with the leaf.
        what: &'static str,
        /// The type and shape of the parameter.
        expected: String,
        /// The type and shape of the leaf.
        found: String,
        /// The place.
        path: Path,
    },
    /// A number is infinite or NaN.
    #[error("{what} is not finite at {}", place(.path))]
    NotFinite {
        /// The value that contains it, such as `the gradient`.
        what: &'static str,
        /// The leaf.
        path: Path,
    },
    /// The loss does not depend on a parameter, which is an error on request.
    #[error(
        "the loss does not depend on the parameter{} at {}: {} gradient is zero (see `Unreached`)",
        if .paths.len() > 1 { "s" } else { "" },
        places(.paths),
        if .paths.len() > 1 { "their" } else { "its" },
    )]
    Unreached {
        /// The parameters.
        paths: Vec<Path>,
    },
    /// Two groups of a partition match the same leaf.
    #[error("the groups `{first}` and `{second}` both name {}", place(.path))]
    TwoGroups {
        /// The patterns of one group.
        first: String,
        /// The patterns of the other.
        second: String,
        /// The leaf.
        path: Path,
    },
    /// No group of a partition matches a leaf.
    #[error("no group names {} (add a group, or `rest`)", place(.path))]
    NoGroup {
        /// The leaf.
        path: Path,
    },
    /// A chain has a second learning rate beside one that is restricted by
    /// [`only`](crate::Optimiser::only).
    #[error(
        "{} is outside of an `only` with a learning rate and stands still, so the other learning rate of the chain does not reach it (give each part its own by `partition`, or put `only` around the chain)", place(.path)
    )]
    SecondRate {
        /// A leaf outside.
        path: Path,
    },
    /// A type changes the numbers of a value.
    #[error("the type makes {found} of {given} at {}: {so}", place(.path))]
    Changed {
        /// The leaf.
        path: Path,
        /// The number that was set.
        given: f64,
        /// The number in the value.
        found: f64,
        /// The consequence.
        so: &'static str,
    },
    /// A state belongs to another optimiser.
    #[error("the state is that of {found}, the optimiser is {expected}{hint}")]
    State {
        /// The expected slots.
        expected: String,
        /// The slots in the state.
        found: String,
        /// A hint.
        hint: &'static str,
    },
    /// A state belongs to the same optimiser with other patterns: its moments belong to other leaves.
    #[error(
        "{} is trained {part} in {}, but not in {} (see `State::migrate`)",
        place(.path),
        if *.is_new { "the optimiser" } else { "the state" },
        if *.is_new { "the state" } else { "the optimiser" },
    )]
    Selection {
        /// The part of the optimiser that selects leaves.
        part: String,
        /// The first leaf that it selects only in the state, or only now.
        path: Path,
        /// Whether it selects the leaf only now.
        is_new: bool,
    },
    /// A state was read into a type with a new leaf, for which it has no moments.
    #[error("the state was saved without {} (see `State::migrate`)", place(.path))]
    Absent {
        /// The leaf.
        path: Path,
    },
    /// An argument that makes no sense, such as a negative limit.
    #[error("{0}")]
    Argument(String),
    /// A function that was passed to this crate, or an operation on a whole value, failed.
    #[error(transparent)]
    Function(LeafError),
    /// An operation on a leaf failed.
    #[error("{source} at {}", place(.path))]
    Operation {
        /// The leaf.
        path: Path,
        /// The message of the leaf.
        source: LeafError,
    },
}

impl Error {
    /// The path of the leaf that the error concerns, if there is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Error::Tree(source) | Error::Structure { source, .. } | Error::Model { source, .. } => {
                Some(source.path())
            }
            Error::Leaf { path, .. }
            | Error::NotFinite { path, .. }
            | Error::TwoGroups { path, .. }
            | Error::NoGroup { path }
            | Error::Changed { path, .. }
            | Error::Selection { path, .. }
            | Error::Absent { path }
            | Error::NoFloats { path, .. }
            | Error::SecondRate { path }
            | Error::Operation { path, .. } => Some(path),
            Error::Unreached { paths } => paths.first(),
            _ => None,
        }
    }
}

pub(crate) const STATE: &str = "the state";

/// Between the type and the device of a leaf that is not in the memory of the CPU.
pub(crate) const ON: &str = " on ";

fn hint(what: &str, expected: &str, found: &str) -> &'static str {
    let parts = [expected, found].map(|leaf| leaf.split_once(ON).unwrap_or((leaf, "")));
    match parts {
        [(expected, on), (found, other_on)]
            if expected == found && on.len() + other_on.len() > 0 =>
        {
            " (see `to_device` of `treedef-candle`)"
        }
        _ if what == STATE => " (see `State::migrate`)",
        _ => "",
    }
}

/// The first paths in a message.
pub(crate) fn places(paths: &[Path]) -> String {
    const SHOWN: usize = 10;
    let shown: Vec<String> = paths.iter().take(SHOWN).map(place).collect();
    let more = paths.len().saturating_sub(SHOWN);
    shown.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
}

/// A path in a message.
pub(crate) fn place(path: &Path) -> String {
    if path.keys().is_empty() { "the root".to_owned() } else { format!("`{path}`") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leaf_on_another_device_is_moved() {
        let error = |what, expected: &str, found: &str| {
            let (expected, found, path) = (expected.to_owned(), found.to_owned(), Path::root());
            Error::Leaf { what, expected, found, path }.to_string()
        };
        let moved = error(STATE, "f32[2] on Cuda { gpu_id: 0 }", "f32[2]");
        insta::assert_snapshot!(moved, @"the state is f32[2], the parameter is f32[2] on Cuda { gpu_id: 0 }, at the root (see `to_device` of `treedef-candle`)");
        let longer = error(STATE, "f32[3] on Metal { gpu_id: 0 }", "f32[2]");
        insta::assert_snapshot!(longer, @"the state is f32[2], the parameter is f32[3] on Metal { gpu_id: 0 }, at the root (see `State::migrate`)");
    }
}
