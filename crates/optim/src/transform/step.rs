//! A step of a transform.

use std::ops::Range;

use super::scope::Scope;
use super::slots::Slots;
use crate::error::Result;
use crate::leaf::Trainable;
use crate::number::{Descend, Number, Rule, Update};

/// Turns gradients into updates, like optax's `GradientTransformation`.
///
/// The [module](crate::transform) has an example.
pub trait Transform<L: Trainable> {
    /// The memory before the first step.
    ///
    /// # Errors
    ///
    /// Returns an error when the transform does not fit the parameters.
    fn slots(&self, scope: Scope<'_>, parameters: &[L]) -> Result<Slots<L>>;

    /// Changes the updates, which are the gradients at the beginning of a chain.
    ///
    /// # Errors
    ///
    /// Returns an error when the slots belong to another transform, or an operation fails.
    fn update(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()>;

    /// Adds the updates to the parameters, too. A transform may do both in one pass over the
    /// numbers.
    ///
    /// # Errors
    ///
    /// As [`update`](Self::update).
    fn descend(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        self.update(step, slots)?;
        step.apply()
    }

    /// Checks the settings and the slots, and changes nothing. A chain or a partition does so for all its transforms before
    /// the first one changes its slots, so that a step with an error in a setting leaves the state as it was. A transform with a
    /// memory asks here for its [`leaves`](Slots::leaves): otherwise, the state of another optimiser is only detected when transforms
    /// before it have changed theirs.
    ///
    /// # Errors
    ///
    /// As [`update`](Self::update), without the errors about numbers.
    fn check(&self, _step: &mut Step<'_, L>, _slots: &mut Slots<L>) -> Result<()> {
        Ok(())
    }

    /// Changes the parameters after all transforms have moved them, for what must hold exactly: a projection does, which
    /// another transform or a rounding would leave.
    ///
    /// # Errors
    ///
    /// As [`update`](Self::update).
    fn settle(&self, _step: &mut Step<'_, L>, _slots: &mut Slots<L>) -> Result<()> {
        Ok(())
    }

    /// Whether the updates go downhill, because they contain a learning rate. Leaves that
    /// [`only`](crate::Optimiser::only) excludes from such a transform do not move. With the
    /// default, `false`, they keep their gradients.
    fn is_descent(&self) -> bool {
        false
    }
}

macro_rules! behind {
    ($($pointer:ty),*) => {$(
        impl<L: Trainable, O: Transform<L> + ?Sized> Transform<L> for $pointer {
            fn slots(&self, scope: Scope<'_>, parameters: &[L]) -> Result<Slots<L>> {
                (**self).slots(scope, parameters)
            }

            fn update(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
                (**self).update(step, slots)
            }

            fn descend(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
                (**self).descend(step, slots)
            }

            fn check(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
                (**self).check(step, slots)
            }

            fn settle(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
                (**self).settle(step, slots)
            }

            fn is_descent(&self) -> bool {
                (**self).is_descent()
            }
        }
    )*};
}

behind! { Box<O>, &O }

/// One step: the updates, which transforms change, and the parameters. The
/// [module](crate::transform) has an example.
#[derive(Debug)]
pub struct Step<'a, L> {
    /// The leaves that the transform concerns.
    pub scope: Scope<'a>,
    /// The gradients of all leaves, which become updates.
    pub updates: &'a mut [L],
    /// The parameters.
    pub parameters: &'a mut [L],
}

impl<L: Trainable> Step<'_, L> {
    /// Replaces the gradients by the updates of a rule.
    ///
    /// # Errors
    ///
    /// Returns an error when an operation on a leaf fails; it has the path.
    pub fn update<Q: Rule<S>, const S: usize>(
        &mut self,
        rule: &Q,
        slots: [&mut [L]; S],
    ) -> Result<()> {
        self.scope.run(&Update(*rule), self.updates, slots, [&*self.parameters])
    }

    /// Adds the updates of a rule to the parameters, in one pass.
    ///
    /// # Errors
    ///
    /// Returns an error when an operation on a leaf fails; it has the path.
    pub fn descend<Q: Rule<S>, const S: usize>(
        &mut self,
        rule: &Q,
        slots: [&mut [L]; S],
    ) -> Result<()> {
        self.scope.run(&Descend(*rule), self.parameters, slots, [&*self.updates])
    }

    /// Adds the updates to the parameters.
    ///
    /// # Errors
    ///
    /// Returns an error when an operation on a leaf fails; it has the path.
    pub(crate) fn apply(&mut self) -> Result<()> {
        self.descend(&Unchanged, [])
    }

    /// The same step, for other leaves.
    pub(crate) fn among<'s>(&'s mut self, ranges: &'s [Range<usize>]) -> Step<'s, L> {
        let scope = Scope { ranges, treedef: self.scope.treedef };
        Step { scope, updates: self.updates, parameters: self.parameters }
    }
}

/// The update is the gradient.
#[derive(Clone, Copy)]
struct Unchanged;

impl Rule<0> for Unchanged {
    #[inline(always)]
    fn next<X: Number>(&self, gradient: X, _: X, []: [X; 0]) -> (X, [X; 0]) {
        (gradient, [])
    }
}
