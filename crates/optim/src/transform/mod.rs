//! Transforms of gradients.
//!
//! A [`Transform`] declares its memory in [`slots`](Transform::slots), and turns gradients into updates in
//! [`update`](Transform::update). An optimiser is a transform that ends with a learning rate. This is a
//! transform of your own, which runs on all leaves, in place, in one pass over the numbers:
//!
//! ```
//! use treedef::Tree;
//! use treedef_optim::transform::{Number, Scope, Rule, Slots, Step, Transform, ema};
//! use treedef_optim::{Trainable, Optimiser, Result, adam, chain};
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
//! impl<L: Trainable> Transform<L> for SignDescent {
//!     fn slots(&self, scope: Scope<'_>, parameters: &[L]) -> Result<Slots<L>> {
//!         Slots::new("sign_descent").with_filled("average", 0.0, scope, parameters)
//!     }
//!
//!     fn update(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
//!         step.update(self, slots.leaves("sign_descent", ["average"])?)
//!     }
//!
//!     /// Before any transform of a chain has changed its memory.
//!     fn check(&self, _: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
//!         slots.leaves("sign_descent", ["average"]).map(drop)
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
//!
//! // A state of another optimiser is refused, and unchanged.
//! let mut other = chain!(ema(0.9), adam(0.1)).init::<f64, _>(&[1.0, 2.0])?;
//! let optimiser = chain!(ema(0.9), SignDescent { rate: 0.5, decay: 0.9 });
//! let before = Tree::of(&other)?;
//! assert!(optimiser.step([1.0, 2.0], [0.1, -7.0], &mut other).is_err());
//! assert_eq!(Tree::of(&other)?, before);
//! # Ok::<(), treedef_optim::Error>(())
//! ```
//!
//! A transform that needs more than a rule finds the numbers in [`Step`], for one type of leaf or
//! for all.

mod scope;
mod blocks;
mod statistics;
mod mask;
mod selection;
mod slots;
mod step;
mod scale;
mod clip;
mod check;
mod ema;
mod accumulate;
mod lookahead;
mod project;
mod select;
mod partition;
mod chain;

pub use crate::number::{Kernel, Number, Rule, Term};
pub use accumulate::Accumulate;
pub(crate) use accumulate::NAME as ACCUMULATE;
pub(crate) use blocks::NumberArrays;
pub use chain::Chain;
pub(crate) use check::APPLY_IF_FINITE;
pub(crate) use check::expect_finite;
pub use check::{ApplyIfFinite, CheckFinite, check_finite};
pub(crate) use clip::norm;
pub use clip::{Clip, ClipByGlobalNorm, clip, clip_by_global_norm};
pub(crate) use ema::correction;
pub use ema::{Ema, ema};
pub(crate) use lookahead::LOOKAHEAD;
pub use lookahead::Lookahead;
pub use mask::Mask;
pub(crate) use mask::joined;
#[cfg(feature = "candle")]
pub(crate) use mask::mask;
pub use partition::{Partition, partition};
pub use project::{Project, Projection, project};
pub(crate) use scale::DECAY;
pub use scale::{Scale, ScaleBySchedule, WeightDecay, scale, scale_by_schedule, weight_decay};
pub use scope::Scope;
pub(crate) use scope::{contains, ranges};
pub use select::{Frozen, Only, SetToZero, set_to_zero};
pub(crate) use selection::{SELECTING, Selection};
pub use slots::Slots;
#[doc(hidden)]
pub use statistics::running_statistics;
pub(crate) use statistics::{parameters_of, trained};
pub use step::{Step, Transform};
