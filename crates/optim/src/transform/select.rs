//! Transforms of a part of the leaves.

use super::accumulate::Zero;
use super::selection::{FROZEN, ONLY};
use super::{Mask, Scope, Selection, Slots, Step, Transform};
use crate::error::Result;
use crate::leaf::Trainable;

/// A transform that acts on some leaves only: made by [`only`](crate::Optimiser::only).
#[derive(Clone, Debug)]
pub struct Only<O> {
    pub(crate) inner: O,
    pub(crate) masks: Vec<Mask>,
}

/// An optimiser from which some leaves are excluded: made by [`freeze`](crate::Optimiser::freeze).
#[derive(Clone, Debug)]
pub struct Frozen<O> {
    pub(crate) inner: O,
    pub(crate) masks: Vec<Mask>,
}

/// Continues with the leaves that the inner transform concerns, and with its slots.
fn with_selected<L: Trainable>(
    (name, masks): (&'static str, &[Mask]),
    make: impl FnOnce(Scope<'_>, &[Mask], &[L]) -> Result<Selection>,
    step: &mut Step<'_, L>,
    slots: &mut Slots<L>,
    go: impl FnOnce(&mut Step<'_, L>, &Selection, &mut Slots<L>) -> Result<()>,
) -> Result<()> {
    if slots.transform != name || slots.parts.len() != 1 {
        return Err(slots.another(name, &[], 1));
    }
    let kept = slots.selection.take().filter(|kept| kept.is_of(step.scope, masks, step.parameters));
    let selection = kept.map_or_else(|| make(step.scope, masks, step.parameters), Ok)?;
    slots.selection = Some(selection);
    let part = || match name {
        ONLY => "inside of `only`".to_owned(),
        _ => "outside of `freeze`".to_owned(),
    };
    slots.expect_holds(part, step)?;
    match (&slots.selection, &mut *slots.parts) {
        (Some(selection), [inner]) => go(step, selection, inner),
        _ => Err(slots.another(name, &[], 1)),
    }
}

impl<O> Only<O> {
    fn with_selected<L: Trainable>(
        &self,
        step: &mut Step<'_, L>,
        slots: &mut Slots<L>,
        go: impl FnOnce(&mut Step<'_, L>, &Selection, &mut Slots<L>) -> Result<()>,
    ) -> Result<()> {
        with_selected((ONLY, &self.masks), Selection::of, step, slots, go)
    }
}

impl<L: Trainable, O: Transform<L>> Transform<L> for Only<O> {
    fn slots(&self, scope: Scope<'_>, parameters: &[L]) -> Result<Slots<L>> {
        let selection = Selection::of(scope, &self.masks, parameters)?;
        let inner = self.inner.slots(Scope { ranges: &selection.inside, ..scope }, parameters)?;
        let mut slots = Slots::new(ONLY).with_parts([inner]).holding(&selection.inside);
        if self.inner.is_descent() {
            slots.still = selection.outside.first().map(|range| range.start).or(slots.still);
        }
        Ok(slots)
    }

    fn update(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        self.with_selected(step, slots, |step, selection, inner| {
            self.inner.update(&mut step.among(&selection.inside), inner)?;
            if self.inner.is_descent() {
                step.among(&selection.outside).update(&Zero, [])?;
            }
            Ok(())
        })
    }

    fn descend(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        self.with_selected(step, slots, |step, selection, inner| {
            self.inner.descend(&mut step.among(&selection.inside), inner)?;
            if !self.inner.is_descent() {
                step.among(&selection.outside).apply()?;
            }
            Ok(())
        })
    }

    fn check(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        self.with_selected(step, slots, |step, selection, inner| {
            self.inner.check(&mut step.among(&selection.inside), inner)
        })
    }

    fn settle(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        self.with_selected(step, slots, |step, selection, inner| {
            self.inner.settle(&mut step.among(&selection.inside), inner)
        })?;
        slots.hold();
        Ok(())
    }

    fn is_descent(&self) -> bool {
        self.inner.is_descent()
    }
}

impl<O> Frozen<O> {
    fn with_selected<L: Trainable>(
        &self,
        step: &mut Step<'_, L>,
        slots: &mut Slots<L>,
        go: impl FnOnce(&mut Step<'_, L>, &Selection, &mut Slots<L>) -> Result<()>,
    ) -> Result<()> {
        with_selected((FROZEN, &self.masks), Selection::out_of, step, slots, go)
    }
}

impl<L: Trainable, O: Transform<L>> Transform<L> for Frozen<O> {
    fn slots(&self, scope: Scope<'_>, parameters: &[L]) -> Result<Slots<L>> {
        let selection = Selection::out_of(scope, &self.masks, parameters)?;
        let inner = self.inner.slots(Scope { ranges: &selection.inside, ..scope }, parameters)?;
        Ok(Slots::new(FROZEN).with_parts([inner]).holding(&selection.inside))
    }

    fn update(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        self.with_selected(step, slots, |step, selection, inner| {
            self.inner.update(&mut step.among(&selection.inside), inner)?;
            step.among(&selection.outside).update(&Zero, [])
        })
    }

    fn descend(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        self.with_selected(step, slots, |step, selection, inner| {
            self.inner.descend(&mut step.among(&selection.inside), inner)
        })
    }

    fn check(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        self.with_selected(step, slots, |step, selection, inner| {
            self.inner.check(&mut step.among(&selection.inside), inner)
        })
    }

    fn settle(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        self.with_selected(step, slots, |step, selection, inner| {
            self.inner.settle(&mut step.among(&selection.inside), inner)
        })?;
        slots.hold();
        Ok(())
    }

    fn is_descent(&self) -> bool {
        self.inner.is_descent()
    }
}

/// Makes all updates zero: optax's `set_to_zero`.
///
/// With [`only`](crate::Optimiser::only), at the end of a chain, it keeps leaves from moving. Before a
/// weight decay they would still move: [`freeze`](crate::Optimiser::freeze) excludes leaves from
/// everything.
///
/// ```
/// use treedef_optim::transform::set_to_zero;
/// use treedef_optim::{Optimiser, chain, sgd};
///
/// let optimiser = chain!(sgd(1.0), set_to_zero().only(".0"));
/// let mut state = optimiser.init::<f64, _>(&(1.0, 1.0))?;
/// assert_eq!(optimiser.step((1.0, 1.0), (0.5, 0.5), &mut state)?, (1.0, 0.5));
/// # Ok::<(), treedef_optim::Error>(())
/// ```
pub fn set_to_zero() -> SetToZero {
    SetToZero
}

/// Makes all updates zero: made by [`set_to_zero`].
#[derive(Clone, Debug)]
pub struct SetToZero;

impl<L: Trainable> Transform<L> for SetToZero {
    fn slots(&self, _: Scope<'_>, _: &[L]) -> Result<Slots<L>> {
        Ok(Slots::new("set_to_zero"))
    }

    fn update(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        step.update(&Zero, slots.leaves("set_to_zero", [])?)
    }

    fn descend(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        self.check(step, slots)
    }

    fn check(&self, _: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        slots.leaves("set_to_zero", []).map(|[]| ())
    }
}
