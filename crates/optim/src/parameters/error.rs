//! The errors of parameters.

use treedef::Path;

/// The result of the functions of [`Parameters`](crate::Parameters).
pub(crate) type Result<T> = std::result::Result<T, Error>;

/// An error of parameters, a vector or a model. Each error about a leaf has its path.
///
/// ```
/// use treedef_optim::Parameters;
///
/// let error = Parameters::new(&(0.5, 2.0))?.interval(".1", 0.0..=1.0).unwrap_err();
/// assert_eq!(error.to_string(), "2 is not in [0, 1] at `.1`");
/// # Ok::<(), treedef_optim::ParametersError>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of the walk through the model, of a path or of a pattern.
    #[error(transparent)]
    Tree(#[from] treedef::Error),
    /// Two calls contradict each other about one leaf.
    #[error("{} is {before}, so it cannot be {asked}", quoted(.path))]
    Contradiction {
        /// The leaf.
        path: Path,
        /// The earlier constraint.
        before: String,
        /// The new constraint.
        asked: String,
    },
    /// A pattern matches nothing, because the variant of an enum is written like a field.
    #[error("no node matches `{pattern}` (did you mean `{meant}`?)")]
    NoVariant {
        /// The pattern.
        pattern: String,
        /// A pattern that matches.
        meant: String,
    },
    /// A leaf that is not a float should vary.
    #[error("expected a float that may vary, found {found} at {}", quoted(.path))]
    NotAFloat {
        /// The matched node.
        path: Path,
        /// The kind of the node.
        found: String,
    },
    /// Two leaves that are tied differ.
    #[error("{} and {} are tied, but the first is {first} and the second {second}", quoted(.path), quoted(.other))]
    Tied {
        /// The first leaf.
        path: Path,
        /// The leaf that is tied to it.
        other: Path,
        /// The first leaf's value or constraint.
        first: String,
        /// The second leaf's value or constraint.
        second: String,
    },
    /// Nodes that cannot be tied, or form one block.
    #[error("{} cannot be {asked}: {reason}", quoted(.path))]
    Shape {
        /// The node.
        path: Path,
        /// The requested constraint.
        asked: &'static str,
        /// The reason.
        reason: String,
    },
    /// A range that no parameter can have.
    #[error("no parameter can be in {range}: {reason}")]
    Range {
        /// The range.
        range: String,
        /// A hint.
        reason: &'static str,
    },
    /// A number outside of the range of its leaf.
    #[error("{} is not {} at {}", shown(*.value), among(.allowed), quoted(.path))]
    Outside {
        /// The leaf.
        path: Path,
        /// The number.
        value: f64,
        /// The range, or a word for it.
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
    /// A model that the parameters cannot produce, because a fixed or tied leaf differs.
    #[error("expected {}, found {} at {}: it is {why}", shown(*.expected), shown(*.found), quoted(.path))]
    NotAPoint {
        /// The leaf.
        path: Path,
        /// The required number.
        expected: f64,
        /// The number in the model.
        found: f64,
        /// The reason.
        why: String,
    },
    /// A vector or a matrix of another length.
    #[error("expected {expected} numbers in {what}, found {found}")]
    Length {
        /// The name of the vector or matrix.
        what: &'static str,
        /// The required length.
        expected: usize,
        /// The found length.
        found: usize,
    },
    /// A result of a function of the model that is NaN or infinite.
    #[error("expected a finite number, found {} as {what}", shown(*.value))]
    NotFinite {
        /// The name of the result.
        what: String,
        /// The number.
        value: f64,
    },
    /// A matrix that is not a covariance, or that belongs to another point.
    #[error("no covariance: {reason}")]
    Covariance {
        /// The reason.
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
