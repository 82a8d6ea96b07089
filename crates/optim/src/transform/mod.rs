//! What a transform of gradients is.
//!
//! A [`Transform`] says what it remembers, by [`slots`](Transform::slots), and makes updates of
//! gradients, by [`update`](Transform::update). An optimiser is a transform that ends with a learning
//! rate. Here is one of one's own, which runs on all leaves, in place, in one pass over the numbers:
//!
//! ```
//! use treedef_optim::transform::{Number, Place, Rule, Slots, Step, Transform};
//! use treedef_optim::{Leaf, Optimiser, Result, chain};
//!
//! /// Descent by the sign of a moving average.
//! #[derive(Clone, Copy)]
//! struct SignDescent { rate: f64, decay: f64 }
//!
//! impl Rule<1> for SignDescent {
//!     fn next<X: Number>(&self, gradient: X, _: X, [average]: [X; 1]) -> (X, [X; 1]) {
//!         let average = average.times(self.decay) + gradient.times(1.0 - self.decay);
//!         (average.clone().sign().times(-self.rate), [average])
//!     }
//! }
//!
//! impl<L: Leaf> Transform<L> for SignDescent {
//!     fn slots(&self, place: Place<'_>, parameters: &[L]) -> Result<Slots<L>> {
//!         Slots::new("sign_descent").with_zeros("average", place, parameters)
//!     }
//!
//!     fn update(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
//!         step.update(self, slots.leaves("sign_descent", ["average"])?)
//!     }
//!
//!     /// It has a learning rate, so what it is kept from does not move.
//!     fn is_descent(&self) -> bool { true }
//! }
//!
//! let optimiser = chain!(SignDescent { rate: 0.5, decay: 0.9 });
//! let mut state = optimiser.init::<f64, _>(&[1.0, 2.0])?;
//! assert_eq!(optimiser.step([1.0, 2.0], [0.1, -7.0], &mut state)?, [0.5, 2.5]);
//!
//! let optimiser = optimiser.only(".0");
//! let mut state = optimiser.init::<f64, _>(&[1.0, 2.0])?;
//! assert_eq!(optimiser.step([1.0, 2.0], [0.1, -7.0], &mut state)?, [0.5, 2.0]);
//! # Ok::<(), treedef_optim::Error>(())
//! ```
//!
//! What needs more than a rule has the numbers themselves in [`Step`], for one type of leaf or all.

mod selection;
mod slots;
mod scale;
mod clip;
mod check;
mod ema;
mod accumulate;
mod select;
mod partition;
mod chain;

use std::ops::Range;

use treedef::TreeDef;

use crate::error::{Error, Result};
use crate::leaf::Leaf;
use crate::number::{Descend, Update};
pub use crate::number::{Kernel, Number, Rule, Term};
pub use accumulate::Accumulate;
pub(crate) use accumulate::NAME as ACCUMULATE;
pub use chain::Chain;
pub(crate) use check::expect_finite;
pub use check::{CheckFinite, check_finite};
pub(crate) use clip::Square;
pub use clip::{Clip, ClipByGlobalNorm, clip, clip_by_global_norm};
pub(crate) use ema::correction;
pub use ema::{Ema, ema};
pub use partition::{Partition, partition};
pub use scale::{Scale, ScaleBySchedule, WeightDecay, scale, scale_by_schedule, weight_decay};
pub use select::{Freeze, Frozen, Only, SetToZero, freeze, set_to_zero};
pub(crate) use selection::Selection;
#[cfg(feature = "candle")]
pub(crate) use selection::mask;
pub use slots::Slots;

/// Makes updates of gradients, as optax's `GradientTransformation`.
///
/// The [module](self) has an example.
pub trait Transform<L: Leaf> {
    /// What is remembered from step to step, before the first one.
    ///
    /// # Errors
    ///
    /// Returns an error when the transform does not fit the parameters.
    fn slots(&self, place: Place<'_>, parameters: &[L]) -> Result<Slots<L>>;

    /// Changes the updates, which are the gradients at the beginning of a chain.
    ///
    /// # Errors
    ///
    /// Returns an error when the slots are those of another transform, or an operation fails.
    fn update(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()>;

    /// Adds the updates to the parameters too. A transform may do both in one pass over the numbers.
    ///
    /// # Errors
    ///
    /// As [`update`](Self::update).
    fn descend(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        self.update(step, slots)?;
        step.apply()
    }

    /// Whether the updates go downhill, because a learning rate is in it. The leaves that such a
    /// transform is kept from, by [`only`](crate::Optimiser::only), do not move. With the default,
    /// `false`, they get their gradients.
    fn is_descent(&self) -> bool {
        false
    }
}

impl<L: Leaf, O: Transform<L> + ?Sized> Transform<L> for Box<O> {
    fn slots(&self, place: Place<'_>, parameters: &[L]) -> Result<Slots<L>> {
        (**self).slots(place, parameters)
    }

    fn update(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        (**self).update(step, slots)
    }

    fn descend(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        (**self).descend(step, slots)
    }

    fn is_descent(&self) -> bool {
        (**self).is_descent()
    }
}

/// Where a transform works: the structure of the parameters, and which leaves it is about.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    pub(crate) treedef: &'a TreeDef,
    pub(crate) ranges: &'a [Range<usize>],
}

impl<'a> Place<'a> {
    /// The structure of all parameters.
    pub fn treedef(self) -> &'a TreeDef {
        self.treedef
    }

    /// The leaves that the transform is about, in order. Others belong to other transforms.
    pub fn ranges(self) -> &'a [Range<usize>] {
        self.ranges
    }

    /// Runs a kernel on these leaves.
    ///
    /// # Errors
    ///
    /// Returns an error when an operation fails; it has the path.
    pub fn run<L: Leaf, K: Kernel<S, R>, const S: usize, const R: usize>(
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
    pub fn sum<L: Leaf, K: Term<R>, const R: usize>(
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

    fn failed(self, leaf: usize, source: crate::error::LeafError) -> Error {
        Error::Operation { path: self.treedef.leaf_path(leaf).unwrap_or_default(), source }
    }
}

/// One step: the updates that transforms change, and the parameters.
#[derive(Debug)]
pub struct Step<'a, L> {
    /// The leaves that the transform is about.
    pub place: Place<'a>,
    /// The gradients of all leaves, which become updates.
    pub updates: &'a mut [L],
    /// The parameters.
    pub parameters: &'a mut [L],
}

impl<L: Leaf> Step<'_, L> {
    /// Puts the updates of a rule in the place of the gradients.
    ///
    /// # Errors
    ///
    /// As [`Place::run`].
    pub fn update<Q: Rule<S>, const S: usize>(
        &mut self,
        rule: &Q,
        slots: [&mut [L]; S],
    ) -> Result<()> {
        self.place.run(&Update(*rule), self.updates, slots, [&*self.parameters])
    }

    /// Adds the updates of a rule to the parameters, in one pass.
    ///
    /// # Errors
    ///
    /// As [`Place::run`].
    pub fn descend<Q: Rule<S>, const S: usize>(
        &mut self,
        rule: &Q,
        slots: [&mut [L]; S],
    ) -> Result<()> {
        self.place.run(&Descend(*rule), self.parameters, slots, [&*self.updates])
    }

    /// Adds the updates to the parameters.
    ///
    /// # Errors
    ///
    /// As [`Place::run`].
    pub fn apply(&mut self) -> Result<()> {
        self.descend(&Unchanged, [])
    }

    /// The same step, about other leaves.
    pub(crate) fn among<'s>(&'s mut self, ranges: &'s [Range<usize>]) -> Step<'s, L> {
        let place = Place { ranges, treedef: self.place.treedef };
        Step { place, updates: self.updates, parameters: self.parameters }
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
