//! The leaves that a transform concerns.

use std::ops::Range;

use super::mask::{Mask, joined, mask};
use super::scope::{Scope, ranges};
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
    /// The shapes of all leaves, if a mask is a test of shapes.
    shapes: Option<Vec<Vec<usize>>>,
}

impl Selection {
    /// Selects by masks. Each must select a leaf of the scope. Without masks, nothing is selected.
    pub(crate) fn of<L: Trainable>(scope: Scope<'_>, masks: &[Mask], leaves: &[L]) -> Result<Self> {
        for one in masks.chunks(1) {
            let named = mask(scope.treedef, leaves, one)?;
            expect_some(scope, one, &ranges_of(scope, |leaf| named.get(*leaf).copied().or_bug()))?;
        }
        let named = mask(scope.treedef, leaves, masks)?;
        let is_named = |leaf: &usize| named.get(*leaf).copied().or_bug();
        let (inside, outside) =
            (ranges_of(scope, is_named), ranges_of(scope, |leaf| !is_named(leaf)));
        Ok(Selection::new((scope, leaves), masks, inside, outside))
    }

    /// The leaves of a scope that no mask selects.
    pub(crate) fn out_of<L: Trainable>(
        scope: Scope<'_>,
        masks: &[Mask],
        leaves: &[L],
    ) -> Result<Self> {
        let Selection { inside, outside, .. } = Selection::of(scope, masks, leaves)?;
        if outside.is_empty() {
            let masks = joined(masks);
            return Err(Error::Argument(format!(
                "freezing `{masks}` leaves nothing to train in its place"
            )));
        }
        Ok(Selection::new((scope, leaves), masks, outside, inside))
    }

    pub(crate) fn new<L: Trainable>(
        (scope, leaves): (Scope<'_>, &[L]),
        masks: &[Mask],
        inside: Vec<Range<usize>>,
        outside: Vec<Range<usize>>,
    ) -> Self {
        let tests_shapes = masks.iter().any(Mask::tests_shapes);
        let shapes = tests_shapes.then(|| leaves.iter().map(L::shape).collect());
        let (masks, among) = (masks.to_vec(), scope.ranges.to_vec());
        Selection { inside, outside, masks, among, shapes }
    }

    /// Whether it was made from these masks and for such leaves: an optimiser may have other masks in a later
    /// step, and a model other shapes.
    pub(crate) fn is_of<L: Trainable>(
        &self,
        scope: Scope<'_>,
        masks: &[Mask],
        leaves: &[L],
    ) -> bool {
        let fits =
            |shapes: &Vec<Vec<usize>>| leaves.iter().map(L::shape).eq(shapes.iter().cloned());
        self.masks == masks && self.among == scope.ranges && self.shapes.as_ref().is_none_or(fits)
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
