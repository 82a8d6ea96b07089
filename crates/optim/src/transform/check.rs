//! Refuses gradients that are not finite.

use std::slice;

use super::accumulate::Zero;
use super::{Number, Scope, Slots, Step, Term, Transform};
use treedef::__private::OrBug;

use crate::error::{Error, Result};
use crate::leaf::Trainable;

/// Returns an error with the path if a gradient is infinite or NaN.
///
/// At the beginning of the whole optimiser it refuses the gradients before anything has changed: the parameters of
/// [`step_in_place`](crate::Optimiser::step_in_place) and the state are unchanged, and the training may go
/// on with the next batch. Put it before [`accumulate`](crate::Optimiser::accumulate):
/// `chain!(check_finite(), adam(0.1).accumulate(4))`. Inside, it would only see the mean,
/// which an error loses; in a group of a [`partition`](super::partition), the groups before it have already taken their step.
///
/// ```
/// use treedef_optim::{Optimiser, adam, chain, transform::check_finite};
///
/// let optimiser = chain!(check_finite(), adam(0.1));
/// let mut model = [1.0, 2.0];
/// let mut state = optimiser.init::<f64, _>(&model)?;
/// let error = optimiser.step_in_place(&mut model, &[0.5, f64::NAN], &mut state).unwrap_err();
/// assert_eq!(error.to_string(), "the gradient is not finite at `.1`");
/// assert_eq!(model, [1.0, 2.0]);
/// # Ok::<(), treedef_optim::Error>(())
/// ```
pub fn check_finite() -> CheckFinite {
    CheckFinite
}

/// Refuses gradients that are infinite or NaN: made by [`check_finite`].
#[derive(Clone, Debug)]
pub struct CheckFinite;

impl<L: Trainable> Transform<L> for CheckFinite {
    fn slots(&self, _: Scope<'_>, _: &[L]) -> Result<Slots<L>> {
        Ok(Slots::new("check_finite"))
    }

    fn update(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        let [] = slots.leaves("check_finite", [])?;
        expect_finite("the gradient", step.scope, step.updates)
    }

    fn check(&self, _: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        slots.leaves("check_finite", []).map(|[]| ())
    }
}

/// Skips gradients that are not finite: made by [`apply_if_finite`](crate::Optimiser::apply_if_finite).
#[derive(Clone, Debug)]
pub struct ApplyIfFinite<O> {
    pub(crate) inner: O,
    pub(crate) limit: u64,
}

pub(crate) const APPLY_IF_FINITE: &str = "apply_if_finite";

impl<O> ApplyIfFinite<O> {
    /// Whether the gradients are finite. Counts those in a row that are not, and refuses one too many.
    fn is_finite<L: Trainable>(&self, step: &Step<'_, L>, errors: &mut u64) -> Result<bool> {
        match expect_finite("the gradient", step.scope, step.updates) {
            Ok(()) => *errors = 0,
            Err(Error::NotFinite { .. }) if *errors < self.limit => *errors += 1,
            Err(error) => return Err(error),
        }
        Ok(*errors == 0)
    }
}

impl<L: Trainable, O: Transform<L>> Transform<L> for ApplyIfFinite<O> {
    fn slots(&self, scope: Scope<'_>, parameters: &[L]) -> Result<Slots<L>> {
        Ok(Slots::new(APPLY_IF_FINITE).with_parts([self.inner.slots(scope, parameters)?]))
    }

    fn update(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        let inside = slots.inside::<0, 1>(APPLY_IF_FINITE, [])?;
        let [inner] = inside.parts;
        self.inner.check(step, inner)?;
        if self.is_finite(step, inside.count)? {
            self.inner.update(step, inner)
        } else {
            step.update(&Zero, [])
        }
    }

    fn descend(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        let inside = slots.inside::<0, 1>(APPLY_IF_FINITE, [])?;
        let [inner] = inside.parts;
        self.inner.check(step, inner)?;
        if self.is_finite(step, inside.count)? { self.inner.descend(step, inner) } else { Ok(()) }
    }

    fn check(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        let [inner] = slots.inside::<0, 1>(APPLY_IF_FINITE, [])?.parts;
        self.inner.check(step, inner)
    }

    fn settle(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        let inside = slots.inside::<0, 1>(APPLY_IF_FINITE, [])?;
        let [inner] = inside.parts;
        // Otherwise, the gradient was skipped.
        if *inside.count == 0 { self.inner.settle(step, inner) } else { Ok(()) }
    }

    fn is_descent(&self) -> bool {
        self.inner.is_descent()
    }
}

/// Zero for a number that is finite, and NaN for others.
#[derive(Clone, Copy)]
pub(crate) struct ZeroIfFinite;

impl Term<1> for ZeroIfFinite {
    #[inline(always)]
    fn term<X: Number>(&self, [x]: [X; 1]) -> X {
        x.times(0.0)
    }
}

pub(crate) fn expect_finite<L: Trainable>(
    what: &'static str,
    scope: Scope<'_>,
    leaves: &[L],
) -> Result<()> {
    if scope.sum(&ZeroIfFinite, [leaves])? == 0.0 {
        return Ok(());
    }
    for leaf in scope.ranges.iter().cloned().flatten() {
        let range = leaf..leaf + 1;
        let one = Scope { ranges: slice::from_ref(&range), ..scope };
        if one.sum(&ZeroIfFinite, [leaves])? != 0.0 {
            let path = scope.treedef.leaf_path(leaf).ok().or_bug();
            return Err(Error::NotFinite { what, path });
        }
    }
    Ok(())
}
