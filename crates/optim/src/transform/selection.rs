//! The leaves that a transform concerns.

use std::ops::Range;

use super::Scope;
use super::mask::{Mask, joined, mask};
use treedef::__private::OrBug;

use crate::error::{Error, Result};
use crate::leaf::Trainable;

pub(super) const ONLY: &str = "only";
pub(super) const FROZEN: &str = "frozen";
/// The slots around the slots of a group.
pub(super) const PART: &str = "part";

/// The transforms that concern some of the leaves around them.
pub(crate) const SELECTING: [&str; 3] = [ONLY, FROZEN, PART];

/// The leaves of a scope that masks select for a transform, and the others.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    pub(crate) inside: Vec<Range<usize>>,
    pub(crate) outside: Vec<Range<usize>>,
    /// The masks from which it was made.
    masks: Vec<Mask>,
    among: Vec<Range<usize>>,
}

impl Selection {
    /// Selects by masks. Each must select a leaf of the structure, and all together one of the scope.
    /// Without masks, nothing is selected.
    pub(crate) fn of<L: Trainable>(scope: Scope<'_>, masks: &[Mask], leaves: &[L]) -> Result<Self> {
        let named = mask(scope.treedef, leaves, masks)?;
        let is_named = |leaf: &usize| named.get(*leaf).copied().or_bug();
        let inside = ranges_of(scope, is_named);
        if !masks.is_empty() {
            expect_some(scope, masks, &inside)?;
        }
        Ok(Selection::new(scope, masks, inside, ranges_of(scope, |leaf| !is_named(leaf))))
    }

    /// The leaves of a scope that no mask selects.
    pub(crate) fn out_of<L: Trainable>(
        scope: Scope<'_>,
        masks: &[Mask],
        leaves: &[L],
    ) -> Result<Self> {
        let Selection { inside, outside, masks, among } = Selection::of(scope, masks, leaves)?;
        if outside.is_empty() {
            let masks = joined(&masks);
            return Err(Error::Argument(format!(
                "freezing `{masks}` leaves nothing to train in its place"
            )));
        }
        Ok(Selection { inside: outside, outside: inside, masks, among })
    }

    pub(crate) fn new(
        scope: Scope<'_>,
        masks: &[Mask],
        inside: Vec<Range<usize>>,
        outside: Vec<Range<usize>>,
    ) -> Self {
        Selection { inside, outside, masks: masks.to_vec(), among: scope.ranges.to_vec() }
    }

    /// Whether it was made from these masks: an optimiser may have other masks in a later step.
    pub(crate) fn is_of(&self, scope: Scope<'_>, masks: &[Mask]) -> bool {
        self.masks == masks && self.among == scope.ranges
    }
}

/// Checks that masks select a leaf in their scope. That may be smaller than the model, whose other
/// leaves may be in other groups, or outside of an `only` around it.
pub(crate) fn expect_some(scope: Scope<'_>, masks: &[Mask], found: &[Range<usize>]) -> Result<()> {
    if !found.is_empty() {
        return Ok(());
    }
    let masks = joined(masks);
    let among = match scope.ranges.first() {
        None => "there is nothing to train".to_owned(),
        Some(first) => {
            let count: usize = scope.ranges.iter().map(ExactSizeIterator::len).sum();
            let path = crate::error::place(&scope.treedef.leaf_path(first.start)?);
            match count - 1 {
                0 => format!("that is {path} alone"),
                more => format!("these are {path} and {more} more"),
            }
        }
    };
    Err(Error::Argument(format!(
        "`{masks}` names none of the leaves that are trained in its place: {among}"
    )))
}

/// The leaves of a scope for which a function holds, as ranges.
pub(crate) fn ranges_of(scope: Scope<'_>, holds: impl Fn(&usize) -> bool) -> Vec<Range<usize>> {
    ranges(scope.ranges.iter().cloned().flatten().filter(holds))
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
