//! One transform after another.

use super::{Scope, Slots, Step, Transform};
use crate::error::{Error, Result};
use crate::leaf::Trainable;

/// One transform after another, the first one first: optax's `chain`.
///
/// ```
/// use treedef_optim::{Optimiser, adam, chain, transform::clip_by_global_norm};
///
/// let optimiser = chain!(clip_by_global_norm(1.0), adam(0.1));
/// let mut state = optimiser.init::<f64, _>(&[0.5, -0.5])?;
/// let model = optimiser.step([0.5f64, -0.5], [3.0, 4.0], &mut state)?;
/// assert!((model[0] - 0.4).abs() < 1e-6);
/// # Ok::<(), treedef_optim::Error>(())
/// ```
#[macro_export]
macro_rules! chain {
    ($($transform:expr),+ $(,)?) => {
        $crate::transform::Chain(($($transform,)+))
    };
}

/// A tuple of up to eight transforms, one after another: made by [`chain!`](crate::chain!).
#[derive(Clone, Debug)]
pub struct Chain<T>(pub T);

/// Checks that a leaf that an `only` excludes from a learning rate is not expected to get another
/// one.
fn expect_one_rate(scope: Scope<'_>, rates: &[bool], still: Option<usize>) -> Result<()> {
    match still {
        Some(leaf) if rates.iter().filter(|has_rate| **has_rate).count() > 1 => {
            Err(Error::SecondRate { path: scope.treedef.leaf_path(leaf)? })
        }
        _ => Ok(()),
    }
}

macro_rules! chain_of {
    ($count:literal: $($before:ident $before_slots:ident)* ; $last:ident $last_slots:ident) => {
        #[allow(non_snake_case, reason = "a value is named as its type")]
        impl<L: Trainable, $($before: Transform<L>,)* $last: Transform<L>> Transform<L>
            for Chain<($($before,)* $last,)>
        {
            fn slots(&self, scope: Scope<'_>, parameters: &[L]) -> Result<Slots<L>> {
                let ($($before,)* $last,) = &self.0;
                let parts = [$($before.slots(scope, parameters)?,)* $last.slots(scope, parameters)?];
                let rates = [$($before.is_descent(),)* $last.is_descent()];
                let slots = Slots::new("chain").with_parts(parts);
                expect_one_rate(scope, &rates, slots.still)?;
                Ok(slots)
            }

            fn update(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
                if $count > 1 {
                    self.check(step, slots)?;
                }
                let ($($before,)* $last,) = &self.0;
                let inside = slots.inside::<0, $count>("chain", [])?;
                let [$($before_slots,)* $last_slots] = inside.parts;
                $($before.update(step, $before_slots)?;)*
                $last.update(step, $last_slots)
            }

            fn descend(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
                if $count > 1 {
                    self.check(step, slots)?;
                }
                let ($($before,)* $last,) = &self.0;
                let inside = slots.inside::<0, $count>("chain", [])?;
                let [$($before_slots,)* $last_slots] = inside.parts;
                $($before.update(step, $before_slots)?;)*
                $last.descend(step, $last_slots)
            }

            fn check(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
                let ($($before,)* $last,) = &self.0;
                let inside = slots.inside::<0, $count>("chain", [])?;
                let [$($before_slots,)* $last_slots] = inside.parts;
                $($before.check(step, $before_slots)?;)*
                $last.check(step, $last_slots)
            }

            fn settle(&self, step: &mut Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
                let ($($before,)* $last,) = &self.0;
                let inside = slots.inside::<0, $count>("chain", [])?;
                let [$($before_slots,)* $last_slots] = inside.parts;
                $($before.settle(step, $before_slots)?;)*
                $last.settle(step, $last_slots)
            }

            fn is_descent(&self) -> bool {
                let ($($before,)* $last,) = &self.0;
                $($before.is_descent() ||)* $last.is_descent()
            }
        }
    };
}

chain_of! { 1: ; A a }
chain_of! { 2: A a ; B b }
chain_of! { 3: A a B b ; C c }
chain_of! { 4: A a B b C c ; D d }
chain_of! { 5: A a B b C c D d ; E e }
chain_of! { 6: A a B b C c D d E e ; F f }
chain_of! { 7: A a B b C c D d E e F f ; G g }
chain_of! { 8: A a B b C c D d E e F f G g ; H h }
