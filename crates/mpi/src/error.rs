//! The errors of collective operations.

use treedef::Path;

use crate::ranks::Ranks;

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a collective operation failed. All variants except [`Rebuild`](Error::Rebuild) are the same
/// on all ranks.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The examples of the ranks have different structures. The first structure is the most
    /// frequent one; if two are equally frequent, the structure of the lowest rank.
    #[error("the ranks have different structures: {}", .0.iter().map(Mismatch::to_string).collect::<Vec<_>>().join("; "))]
    Structure(Vec<Mismatch>),
    /// The value of some ranks cannot be sent, e.g. because it does not have the structure of the
    /// handshake.
    #[error("{ranks}: {message}")]
    Value {
        /// The ranks with that value.
        ranks: Ranks,
        /// The fault and its path. If the ranks report different ones, the fault of most of them, or of the
        /// lowest among equally many.
        message: String,
    },
    /// The ranks called different functions, or one with different arguments.
    #[error("{most} called {usual}, but {others} called {unusual}")]
    Call {
        /// The ranks that called what most called.
        most: Ranks,
        /// The function that they called.
        usual: String,
        /// The first ranks that called something else.
        others: Ranks,
        /// The function that they called.
        unusual: String,
    },
    /// Some ranks dropped their [`Collective`](crate::Collective), because of an error or a panic
    /// of their own, or because they are done. Also the error of ranks that [refuse](crate::Collective::refuse) in the
    /// same step.
    #[error("{0} left the collective: look there for the first error")]
    Left(Ranks),
    /// The result arrived, but the type of this rank cannot be rebuilt from it.
    #[error("the result does not fit the type: {0}")]
    Rebuild(treedef::Error),
}

/// The difference between the structure of some ranks and of most.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mismatch {
    /// The first path that differs.
    pub path: Path,
    /// The ranks that agree with most.
    pub most: Ranks,
    /// The structure there.
    pub expected: String,
    /// The ranks that differ.
    pub others: Ranks,
    /// The structure there.
    pub found: String,
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Mismatch { path, most, expected, others, found } = self;
        if path.is_root() {
            f.write_str("at the root")?
        } else {
            write!(f, "at `{path}`")?
        }
        write!(f, " {most} expected {expected}, {others} found {found}")
    }
}
