//! What can be wrong with parameters, and where.

use treedef::Path;

/// The result of the functions of [`Parameters`](crate::Parameters).
pub(crate) type Result<T> = std::result::Result<T, Error>;

/// What is wrong with parameters, a vector or a model. Each error about a leaf has its path.
///
/// ```
/// use treedef_optim::Parameters;
///
/// let error = Parameters::new(&(0.5, 2.0))?.bounded(".1", 0.0..=1.0).unwrap_err();
/// assert_eq!(error.to_string(), "2 is not in [0, 1] at `.1`");
/// # Ok::<(), treedef_optim::ParametersError>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of the walk through the model, of a path or of a pattern.
    #[error(transparent)]
    Tree(#[from] treedef::Error),
    /// Two calls say different things of one leaf.
    #[error("{} is {before}, so it cannot be {asked}", quoted(.path))]
    Contradiction {
        /// The leaf.
        path: Path,
        /// What an earlier call said of it.
        before: String,
        /// What this call says.
        asked: String,
    },
    /// A pattern names nothing, because the variant of an enum is named as a field would be.
    #[error("no node matches `{pattern}` (did you mean `{meant}`?)")]
    NoVariant {
        /// The pattern.
        pattern: String,
        /// A pattern that names something.
        meant: String,
    },
    /// Something that is no float should vary.
    #[error("expected a float that may vary, found {found} at {}", quoted(.path))]
    NotAFloat {
        /// The node that was named.
        path: Path,
        /// What is there.
        found: String,
    },
    /// Two leaves that are tied differ.
    #[error("{} and {} are tied, but the first is {first} and the second {second}", quoted(.path), quoted(.other))]
    Tied {
        /// The first leaf.
        path: Path,
        /// The leaf that is tied to it.
        other: Path,
        /// What the first leaf is.
        first: String,
        /// What the second leaf is.
        second: String,
    },
    /// Nodes that cannot be tied, or be one block.
    #[error("{} cannot be {asked}: {reason}", quoted(.path))]
    Shape {
        /// The node.
        path: Path,
        /// What was asked.
        asked: &'static str,
        /// Why it cannot be.
        reason: String,
    },
    /// A range that no parameter can have.
    #[error("no parameter can be in {range}: {reason}")]
    Range {
        /// The range.
        range: String,
        /// What to do.
        reason: &'static str,
    },
    /// A number that is outside of what its leaf may be.
    #[error("{} is not {} at {}", shown(*.value), among(.allowed), quoted(.path))]
    Outside {
        /// The leaf.
        path: Path,
        /// The number.
        value: f64,
        /// What the leaf may be: a range, or a word.
        allowed: String,
    },
    /// A number at the end of its range, which a transform reaches only at infinity.
    #[error("{} is an end of {range} at {}: a transform reaches it only at infinity (start inside, or use `bounds`)", shown(*.value), quoted(.path))]
    AtEnd {
        /// The leaf.
        path: Path,
        /// The number.
        value: f64,
        /// The range.
        range: String,
    },
    /// A model that the parameters cannot make, because a leaf that is fixed or tied differs.
    #[error("expected {}, found {} at {}: it is {why}", shown(*.expected), shown(*.found), quoted(.path))]
    NotAPoint {
        /// The leaf.
        path: Path,
        /// The number that the leaf must be.
        expected: f64,
        /// The number that it is.
        found: f64,
        /// Why it must be.
        why: String,
    },
    /// A vector or a matrix of another length.
    #[error("expected {expected} numbers in {what}, found {found}")]
    Length {
        /// What has another length.
        what: &'static str,
        /// The length that it must have.
        expected: usize,
        /// The length that it has.
        found: usize,
    },
    /// A matrix that is no covariance, or that belongs to another point.
    #[error("no covariance: {reason}")]
    Covariance {
        /// Why.
        reason: String,
    },
}

/// A number in the shorter of its two notations.
pub(super) fn shown(value: f64) -> String {
    let (plain, scientific) = (format!("{value}"), format!("{value:e}"));
    if plain.len() <= 12 || plain.len() <= scientific.len() { plain } else { scientific }
}

/// A path as messages show it.
pub(super) fn quoted(path: &Path) -> String {
    if path.is_root() { "the root".to_owned() } else { format!("`{path}`") }
}

/// Ranges are `in (0, 1)`, words such as `finite` stand alone.
fn among(allowed: &str) -> String {
    if allowed.starts_with(['[', '(']) { format!("in {allowed}") } else { allowed.to_owned() }
}
