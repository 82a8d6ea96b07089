//! Sets of ranks, as they are named in errors.

use std::fmt;

use mpi::Rank;

/// Some ranks of a communicator, in ascending order. It prints as `rank 2`, or as `ranks 0-2, 5`.
///
/// ```
/// use treedef_mpi::Ranks;
///
/// assert_eq!(Ranks::from(vec![5, 0, 1, 2]).to_string(), "ranks 0-2, 5");
/// assert_eq!(Ranks::from(vec![3]).to_string(), "rank 3");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranks(Vec<Rank>);

impl Ranks {
    /// The ranks, in ascending order.
    pub fn as_slice(&self) -> &[Rank] {
        &self.0
    }

    /// Adds a rank that is greater than all others.
    pub(crate) fn push(&mut self, rank: Rank) {
        self.0.push(rank);
    }
}

impl From<Vec<Rank>> for Ranks {
    fn from(mut ranks: Vec<Rank>) -> Self {
        ranks.sort_unstable();
        ranks.dedup();
        Ranks(ranks)
    }
}

impl fmt::Display for Ranks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.len() == 1 { "rank" } else { "ranks" })?;
        let runs = self.0.chunk_by(|a, b| a + 1 == *b);
        for (position, run) in runs.enumerate() {
            f.write_str(if position == 0 { " " } else { ", " })?;
            match run {
                [first, .., last] => write!(f, "{first}-{last}")?,
                [only] => write!(f, "{only}")?,
                [] => {}
            }
        }
        Ok(())
    }
}
