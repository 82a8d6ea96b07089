//! An optimiser for each group of leaves.

use std::fmt;
use std::ops::Range;

use super::mask::{joined, mask};
use super::selection::{PART, expect_some, ranges_of};
use super::{Mask, Scope, Selection, Slots, Step, Transform};
use treedef::__private::OrBug;

use crate::error::{Error, Result};
use crate::leaf::Trainable;

/// An optimiser for each group of leaves. Each leaf must be in exactly one group: optax's
/// `partition`, formerly `multi_transform`.
///
/// ```
/// use treedef_optim::{Optimiser, adam, sgd, transform::{partition, set_to_zero}};
///
/// let optimiser = partition()
///     .group(["layers[0]"], set_to_zero())
///     .group(["layers[1].b", "scale"], sgd(0.5))
///     .rest(adam(0.1));
/// # use serde::{Deserialize, Serialize};
/// # #[derive(Serialize, Deserialize)] struct Layer { w: f64, b: f64 }
/// # #[derive(Serialize, Deserialize)] struct Model { layers: Vec<Layer>, scale: f64 }
/// let layer = || Layer { w: 1.0, b: 1.0 };
/// let model = || Model { layers: vec![layer(), layer()], scale: 1.0 };
/// let mut state = optimiser.init::<f64, _>(&model())?;
/// let model = optimiser.step(model(), model(), &mut state)?;
/// assert_eq!((model.layers[0].b, model.layers[1].b, model.scale), (1.0, 0.5, 0.5));
/// # Ok::<(), treedef_optim::Error>(())
/// ```
pub fn partition<L>() -> Partition<L> {
    Partition { groups: Vec::new(), rest: None }
}

/// The optimiser of a group.
type Group<L> = Box<dyn Transform<L> + Send + Sync>;

/// An optimiser for each group of leaves: made by [`partition`].
pub struct Partition<L> {
    groups: Vec<(Vec<Mask>, Group<L>)>,
    rest: Option<Group<L>>,
}

impl<L> fmt::Debug for Partition<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let masks = self.groups.iter().map(|(masks, _)| masks);
        f.debug_list().entries(masks).finish()
    }
}

impl<L: Trainable> Partition<L> {
    /// Adds a group: the leaves that one of the masks selects. Each must select a leaf that is trained. Masks
    /// inside its optimiser are also masks of the whole model, and each must select a leaf of the group.
    pub fn group<M: Into<Mask>>(
        mut self,
        masks: impl IntoIterator<Item = M>,
        optimiser: impl Transform<L> + Send + Sync + 'static,
    ) -> Self {
        let masks = masks.into_iter().map(Into::into).collect();
        self.groups.push((masks, Box::new(optimiser)));
        self
    }

    /// Sets the optimiser of the leaves that are in no group. Without it, such a leaf is an error.
    pub fn rest(mut self, optimiser: impl Transform<L> + Send + Sync + 'static) -> Self {
        self.rest = Some(Box::new(optimiser));
        self
    }

    fn optimisers(&self) -> impl Iterator<Item = &dyn Transform<L>> {
        let groups = self.groups.iter().map(|(_, optimiser)| optimiser).chain(&self.rest);
        groups.map(|optimiser| &**optimiser as &dyn Transform<L>)
    }

    /// The leaves of each optimiser.
    fn parts(&self, scope: Scope<'_>, leaves: &[L]) -> Result<Vec<Vec<Range<usize>>>> {
        let path = |leaf: usize| scope.treedef.leaf_path(leaf).ok().or_bug();
        let mut group_of: Vec<Option<usize>> = vec![None; scope.treedef.num_leaves()];
        for (group, (masks, _)) in self.groups.iter().enumerate() {
            if masks.is_empty() {
                return Err(Error::Argument("a group has no pattern".to_owned()));
            }
            let named = mask(scope.treedef, leaves, masks)?;
            // Leaves elsewhere belong to other optimisers.
            let is_named = |leaf: &usize| named.get(*leaf).copied().or_bug();
            for leaf in scope.ranges.iter().cloned().flatten().filter(is_named) {
                if let Some(first) = group_of.get(leaf).copied().flatten() {
                    let first = self.groups.get(first).map(|(masks, _)| joined(masks));
                    return Err(Error::TwoGroups {
                        first: first.or_bug(),
                        second: joined(masks),
                        path: path(leaf),
                    });
                }
                group_of.iter_mut().skip(leaf).take(1).for_each(|of| *of = Some(group));
            }
        }
        let none = ranges_of(scope, |leaf| group_of.get(*leaf).copied().flatten().is_none());
        if let (Some(first), None) = (none.first(), &self.rest) {
            return Err(Error::NoGroup { path: path(first.start) });
        }
        let parts = self.groups.iter().enumerate().map(|(group, (masks, _))| {
            let found =
                ranges_of(scope, |leaf| group_of.get(*leaf).copied().flatten() == Some(group));
            expect_some(scope, masks, &found)?;
            Ok(found)
        });
        parts.chain(self.rest.as_ref().map(|_| Ok(none))).collect()
    }

    fn each(
        &self,
        step: &mut Step<'_, L>,
        slots: &mut Slots<L>,
        go: impl Fn(&dyn Transform<L>, &mut Step<'_, L>, &mut Slots<L>) -> Result<()>,
    ) -> Result<()> {
        if slots.transform != "partition" || slots.parts.len() != self.optimisers().count() {
            return Err(slots.another("partition", &[], self.optimisers().count()));
        }
        let masks = || self.groups.iter().map(|(masks, _)| &**masks).chain([&[][..]]);
        // The leaves of one group depend on the masks of all.
        let is_kept = slots.parts.iter().zip(masks()).all(|(part, masks)| {
            part.selection
                .as_ref()
                .is_some_and(|kept| kept.is_of(step.scope, masks, step.parameters))
        });
        if !is_kept {
            let parts = self.parts(step.scope, step.parameters)?.into_iter().zip(masks());
            let made_for = (step.scope, &*step.parameters);
            for (slots, (inside, masks)) in slots.parts.iter_mut().zip(parts) {
                slots.selection = Some(Selection::new(made_for, masks, inside, Vec::new()));
            }
        }
        for (part, masks) in slots.parts.iter().zip(masks()) {
            let name = || match masks {
                [] => "by the rest".to_owned(),
                _ => format!("by the group `{}`", joined(masks)),
            };
            part.expect_holds(name, step)?;
        }
        for (optimiser, slots) in self.optimisers().zip(&mut slots.parts) {
            let (Some(selection), [inner]) = (&slots.selection, &mut *slots.parts) else {
                return Err(slots.another(PART, &[], 1));
            };
            go(optimiser, &mut step.among(&selection.inside), inner)?;
        }
        Ok(())
    }
}

impl<L: Trainable> Transform<L> for Partition<L> {
    fn slots(&self, scope: Scope<'_>, parameters: &[L]) -> Result<Slots<L>> {
        let parts = self.parts(scope, parameters)?;
        let slots = self.optimisers().zip(&parts).map(|(optimiser, ranges)| {
            let inner = optimiser.slots(Scope { ranges, ..scope }, parameters)?;
            Ok(Slots::new(PART).with_parts([inner]).holding(ranges))
        });
        Ok(Slots::new("partition").with_parts(slots.collect::<Result<Vec<_>>>()?))
    }

    fn update(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        self.check(step, slots)?;
        self.each(step, slots, |optimiser, step, slots| optimiser.update(step, slots))
    }

    fn descend(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        self.check(step, slots)?;
        self.each(step, slots, |optimiser, step, slots| optimiser.descend(step, slots))
    }

    fn check(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        self.each(step, slots, |optimiser, step, slots| optimiser.check(step, slots))
    }

    fn settle(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        self.each(step, slots, |optimiser, step, slots| optimiser.settle(step, slots))?;
        slots.parts.iter_mut().for_each(Slots::hold);
        Ok(())
    }

    fn is_descent(&self) -> bool {
        self.optimisers().any(Transform::is_descent)
    }
}
