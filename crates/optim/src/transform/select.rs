//! Transforms of a part of the leaves.

use super::accumulate::Zero;
use super::{Place, Selection, Slots, Step, Transform};
use crate::error::Result;
use crate::leaf::Leaf;

/// A transform that acts on some leaves only: made by [`only`](crate::Optimiser::only).
#[derive(Clone, Debug)]
pub struct Only<O> {
    pub(crate) inner: O,
    pub(crate) patterns: Vec<String>,
}

/// An optimiser that some leaves are kept from: made by [`freeze`](crate::Optimiser::freeze).
#[derive(Clone, Debug)]
pub struct Frozen<O> {
    pub(crate) inner: O,
    pub(crate) patterns: Vec<String>,
}

/// Goes on with the leaves that are selected and with the slots of the transform inside.
fn with_selected<L: Leaf>(
    (name, patterns): (&'static str, &[String]),
    make: impl FnOnce(Place<'_>, &[String]) -> Result<Selection>,
    place: Place<'_>,
    slots: &mut Slots<L>,
    go: impl FnOnce(&Selection, &mut Slots<L>) -> Result<()>,
) -> Result<()> {
    if slots.transform != name {
        return Err(slots.another(name, &[], 1));
    }
    let selection = Selection::taken(&mut slots.selection, place, patterns, make)?;
    let done = match &mut *slots.parts {
        [inner] => go(&selection, inner),
        _ => Err(slots.another(name, &[], 1)),
    };
    slots.selection = Some(selection);
    done
}

impl<L: Leaf, O: Transform<L>> Transform<L> for Only<O> {
    fn slots(&self, place: Place<'_>, parameters: &[L]) -> Result<Slots<L>> {
        let selection = Selection::of(place, &self.patterns)?;
        let among = Place { ranges: &selection.inside, ..place };
        let mut slots = Slots::new("only").with_parts([self.inner.slots(among, parameters)?]);
        if self.inner.is_descent() {
            slots.still = selection.outside.first().map(|range| range.start).or(slots.still);
        }
        Ok(slots)
    }

    fn update(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        with_selected(
            ("only", &self.patterns),
            Selection::of,
            step.place,
            slots,
            |selection, inner| {
                self.inner.update(&mut step.among(&selection.inside), inner)?;
                if self.inner.is_descent() {
                    step.among(&selection.outside).update(&Zero, [])?;
                }
                Ok(())
            },
        )
    }

    fn descend(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        with_selected(
            ("only", &self.patterns),
            Selection::of,
            step.place,
            slots,
            |selection, inner| {
                self.inner.descend(&mut step.among(&selection.inside), inner)?;
                if !self.inner.is_descent() {
                    step.among(&selection.outside).apply()?;
                }
                Ok(())
            },
        )
    }

    fn is_descent(&self) -> bool {
        self.inner.is_descent()
    }
}

impl<L: Leaf, O: Transform<L>> Transform<L> for Frozen<O> {
    fn slots(&self, place: Place<'_>, parameters: &[L]) -> Result<Slots<L>> {
        let selection = Selection::out_of(place, &self.patterns)?;
        let among = Place { ranges: &selection.outside, ..place };
        Ok(Slots::new("frozen").with_parts([self.inner.slots(among, parameters)?]))
    }

    fn update(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        with_selected(
            ("frozen", &self.patterns),
            Selection::out_of,
            step.place,
            slots,
            |selection, inner| {
                self.inner.update(&mut step.among(&selection.outside), inner)?;
                step.among(&selection.inside).update(&Zero, [])
            },
        )
    }

    fn descend(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        with_selected(
            ("frozen", &self.patterns),
            Selection::out_of,
            step.place,
            slots,
            |selection, inner| self.inner.descend(&mut step.among(&selection.outside), inner),
        )
    }

    fn is_descent(&self) -> bool {
        self.inner.is_descent()
    }
}

/// Makes the updates of the leaves that a pattern names zero, as the last of a chain.
///
/// In front of a decay of weights the leaves would still move. [`Optimiser::freeze`] keeps the leaves
/// from all that an optimiser does.
///
/// [`Optimiser::freeze`]: crate::Optimiser::freeze
///
/// ```
/// use treedef_optim::{Optimiser, chain, sgd, transform::freeze};
///
/// let optimiser = chain!(sgd(1.0), freeze(".0"));
/// let mut state = optimiser.init::<f64, _>(&(1.0, 1.0))?;
/// assert_eq!(optimiser.step((1.0, 1.0), (0.5, 0.5), &mut state)?, (1.0, 0.5));
/// # Ok::<(), treedef_optim::Error>(())
/// ```
pub fn freeze(pattern: impl Into<String>) -> Freeze {
    Freeze { inner: SetToZero, patterns: vec![pattern.into()] }
}

/// Made by [`freeze`].
pub type Freeze = Only<SetToZero>;

/// Makes all updates zero: optax's `set_to_zero`.
pub fn set_to_zero() -> SetToZero {
    SetToZero
}

/// Made by [`set_to_zero`].
#[derive(Clone, Debug)]
pub struct SetToZero;

impl<L: Leaf> Transform<L> for SetToZero {
    fn slots(&self, _: Place<'_>, _: &[L]) -> Result<Slots<L>> {
        Ok(Slots::new("set_to_zero"))
    }

    fn update(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        step.update(&Zero, slots.leaves("set_to_zero", [])?)
    }

    fn descend(&self, _: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        let [] = slots.leaves("set_to_zero", [])?;
        Ok(())
    }
}
