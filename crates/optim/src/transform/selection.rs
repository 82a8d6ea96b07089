//! Which leaves patterns name.

use std::ops::Range;

use treedef::{Tree, TreeDef};

use super::Place;
use crate::error::{Error, Result};

/// The leaves of a place that patterns name, and the others.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    pub(crate) inside: Vec<Range<usize>>,
    pub(crate) outside: Vec<Range<usize>>,
    /// What it was made of.
    patterns: Vec<String>,
    among: Vec<Range<usize>>,
}

impl Selection {
    /// Selects by patterns, each of which must name a leaf of the structure.
    pub(crate) fn of(place: Place<'_>, patterns: &[String]) -> Result<Self> {
        let named = mask(place.treedef, patterns)?;
        let is_named = |leaf: &usize| named.get(*leaf).copied().unwrap_or_default();
        Ok(Selection::new(
            place,
            patterns,
            ranges(place, is_named),
            ranges(place, |leaf| !is_named(leaf)),
        ))
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

    /// Takes the selection that was kept, if it is of this, or else makes it.
    pub(crate) fn taken(
        kept: &mut Option<Selection>,
        place: Place<'_>,
        patterns: &[String],
    ) -> Result<Self> {
        match kept.take() {
            Some(found) if found.is_of(place, patterns) => Ok(found),
            _ => Selection::of(place, patterns),
        }
    }
}

/// For each leaf, whether one of the patterns names it. Each pattern must name a leaf.
pub(crate) fn mask(treedef: &TreeDef, patterns: &[String]) -> Result<Vec<bool>> {
    let mut named = vec![false; treedef.num_leaves()];
    let tree = Tree::new(treedef.clone(), named.clone())?;
    for pattern in patterns {
        let mask = tree.mask(pattern.as_str())?;
        if !mask.leaves().contains(&true) {
            return Err(Error::Argument(format!("`{pattern}` names nothing that is trained")));
        }
        named.iter_mut().zip(mask.leaves()).for_each(|(named, found)| *named |= found);
    }
    Ok(named)
}

/// The leaves of a place for which a function holds, as few ranges.
pub(crate) fn ranges(place: Place<'_>, holds: impl Fn(&usize) -> bool) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for leaf in place.ranges.iter().cloned().flatten().filter(holds) {
        match ranges.last_mut() {
            Some(last) if last.end == leaf => last.end += 1,
            _ => ranges.push(leaf..leaf + 1),
        }
    }
    ranges
}
