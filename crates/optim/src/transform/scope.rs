//! The scope of a transform.

use std::ops::Range;

use treedef::__private::OrBug;
use treedef::TreeDef;

use crate::error::{Error, LeafError, Result};
use crate::leaf::Trainable;
use crate::number::{Kernel, Term};

/// The scope of a transform: the structure of the parameters, and the leaves that it concerns.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    pub(crate) treedef: &'a TreeDef,
    pub(crate) ranges: &'a [Range<usize>],
}

impl<'a> Scope<'a> {
    /// The structure of all parameters.
    pub fn treedef(self) -> &'a TreeDef {
        self.treedef
    }

    /// The leaves that the transform concerns, in order. Others belong to other transforms.
    pub fn ranges(self) -> &'a [Range<usize>] {
        self.ranges
    }

    /// Runs a kernel on these leaves.
    ///
    /// # Errors
    ///
    /// Returns an error when an operation fails; it has the path.
    pub(crate) fn run<L: Trainable, K: Kernel<S, R>, const S: usize, const R: usize>(
        self,
        kernel: &K,
        main: &mut [L],
        mut slots: [&mut [L]; S],
        read: [&[L]; R],
    ) -> Result<()> {
        for range in self.ranges {
            let lengths =
                slots.iter().map(|slot| slot.len()).chain(read.iter().map(|read| read.len()));
            if lengths.into_iter().chain([main.len()]).any(|length| length < range.end) {
                return Err(Error::Argument(format!(
                    "the slices have fewer leaves than the structure, which has {}",
                    self.treedef.num_leaves()
                )));
            }
            // In bounds, as checked above.
            let slots = slots.each_mut().map(|slot| &mut slot[range.clone()]);
            let read = read.map(|read| &read[range.clone()]);
            L::run_all(kernel, &mut main[range.clone()], slots, read)
                .map_err(|(at, source)| self.failed(range.start + at, source))?;
        }
        Ok(())
    }

    /// The sum of a term over these leaves, pairwise.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub(crate) fn sum<L: Trainable, K: Term<R>, const R: usize>(
        self,
        term: &K,
        read: [&[L]; R],
    ) -> Result<f64> {
        let mut sum = 0.0;
        for range in self.ranges {
            if read.iter().any(|read| read.len() < range.end) {
                return Err(Error::Argument("the slices have different lengths".to_owned()));
            }
            sum += L::sum_all(term, read.map(|read| &read[range.clone()]))
                .map_err(|(at, source)| self.failed(range.start + at, source))?;
        }
        Ok(sum)
    }

    pub(crate) fn failed(self, leaf: usize, source: LeafError) -> Error {
        Error::Operation { path: self.treedef.leaf_path(leaf).ok().or_bug(), source }
    }
}

/// Sorted leaves as ranges.
pub(crate) fn ranges(leaves: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for leaf in leaves {
        match ranges.last_mut() {
            Some(last) if last.end == leaf => last.end += 1,
            _ => ranges.push(leaf..leaf + 1),
        }
    }
    ranges
}

/// Whether a leaf is in sorted ranges.
pub(crate) fn contains(ranges: &[Range<usize>], leaf: usize) -> bool {
    let next = ranges.partition_point(|range| range.end <= leaf);
    ranges.get(next).is_some_and(|range| range.contains(&leaf))
}
