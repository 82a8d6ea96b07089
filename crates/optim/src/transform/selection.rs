//! Which leaves patterns name.

use std::ops::Range;

use treedef::{Pattern, Tree, TreeDef};

use super::Place;
use crate::error::{Error, Result};

pub(super) const ONLY: &str = "only";
pub(super) const FROZEN: &str = "frozen";
/// The slots around those of a group.
pub(super) const PART: &str = "part";

/// The transforms that are about some leaves of those around them.
pub(crate) const SELECTING: [&str; 3] = [ONLY, FROZEN, PART];

/// The leaves of a place that a transform is about, by patterns, and the others.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    pub(crate) inside: Vec<Range<usize>>,
    pub(crate) outside: Vec<Range<usize>>,
    /// What it was made of.
    patterns: Vec<String>,
    among: Vec<Range<usize>>,
}

impl Selection {
    /// Selects by patterns, each of which must name a leaf of the structure, and all together one of the
    /// place. Without a pattern, nothing is selected.
    pub(crate) fn of(place: Place<'_>, patterns: &[String]) -> Result<Self> {
        let named = mask(place.treedef, patterns)?;
        let is_named = |leaf: &usize| named.get(*leaf).copied().unwrap_or_default();
        let inside = ranges_of(place, is_named);
        if !patterns.is_empty() {
            expect_some(place, patterns, &inside)?;
        }
        Ok(Selection::new(place, patterns, inside, ranges_of(place, |leaf| !is_named(leaf))))
    }

    /// The leaves of a place without those that patterns name.
    pub(crate) fn out_of(place: Place<'_>, patterns: &[String]) -> Result<Self> {
        let Selection { inside, outside, patterns, among } = Selection::of(place, patterns)?;
        if outside.is_empty() {
            let patterns = patterns.join("`, `");
            return Err(Error::Argument(format!(
                "freezing `{patterns}` leaves nothing to train in its place"
            )));
        }
        Ok(Selection { inside: outside, outside: inside, patterns, among })
    }

    pub(crate) fn new(
        place: Place<'_>,
        patterns: &[String],
        inside: Vec<Range<usize>>,
        outside: Vec<Range<usize>>,
    ) -> Self {
        Selection { inside, outside, patterns: patterns.to_vec(), among: place.ranges.to_vec() }
    }

    /// Whether it was made of this: an optimiser may have other patterns in a later step.
    pub(crate) fn is_of(&self, place: Place<'_>, patterns: &[String]) -> bool {
        self.patterns == patterns && self.among == place.ranges
    }
}

/// For each leaf, whether one of the patterns names it. Each pattern must name a leaf.
pub(crate) fn mask(treedef: &TreeDef, patterns: &[String]) -> Result<Vec<bool>> {
    let mut named = vec![false; treedef.num_leaves()];
    let tree = Tree::new(treedef.clone(), named.clone())?;
    for pattern in patterns {
        let parsed: Pattern = pattern
            .parse()
            .map_err(|error| Error::Argument(format!("the pattern `{pattern}`: {error}")))?;
        let mask = tree.mask(parsed)?;
        if !mask.leaves().contains(&true) {
            return Err(Error::Argument(format!("`{pattern}` names nothing that is trained")));
        }
        named.iter_mut().zip(mask.leaves()).for_each(|(named, found)| *named |= found);
    }
    Ok(named)
}

/// Checks that patterns select a leaf in their place. It may be smaller than the model, whose other leaves
/// are those of other groups, or outside of an `only` around it.
pub(crate) fn expect_some(
    place: Place<'_>,
    patterns: &[String],
    found: &[Range<usize>],
) -> Result<()> {
    if !found.is_empty() {
        return Ok(());
    }
    let patterns = patterns.join("`, `");
    let among = match place.ranges.first() {
        None => "there is nothing to train".to_owned(),
        Some(first) => {
            let count: usize = place.ranges.iter().map(ExactSizeIterator::len).sum();
            let path = crate::error::place(&place.treedef.leaf_path(first.start)?);
            match count - 1 {
                0 => format!("that is {path} alone"),
                more => format!("these are {path} and {more} more"),
            }
        }
    };
    Err(Error::Argument(format!(
        "`{patterns}` names none of the leaves that are trained in its place: {among}"
    )))
}

/// The leaves of a place for which a function holds, as few ranges.
pub(crate) fn ranges_of(place: Place<'_>, holds: impl Fn(&usize) -> bool) -> Vec<Range<usize>> {
    ranges(place.ranges.iter().cloned().flatten().filter(holds))
}

/// Leaves in order as few ranges.
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

/// Whether a leaf is in ranges that are in order.
pub(crate) fn contains(ranges: &[Range<usize>], leaf: usize) -> bool {
    let next = ranges.partition_point(|range| range.end <= leaf);
    ranges.get(next).is_some_and(|range| range.contains(&leaf))
}
