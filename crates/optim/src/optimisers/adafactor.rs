//! Adafactor.

use std::slice;

use super::decay::{Decay, decays};
use super::mode::{Mode, descends};
use crate::argument::{expect_at_least_zero, expect_decay, expect_limit};
use crate::error::Result;
use crate::leaf::Trainable;
use crate::number::{Kernel, Number, Rule, mean};
use crate::schedules::Schedule;
use crate::transform::{Scope, Slots, Step, Transform, norm, scale};

/// Descent with the means of squared gradients of each row and each column instead of each number: optax's `adafactor`.
///
/// The two largest dimensions of a leaf are its rows and columns, if both have
/// [`min_dim_size_to_factor`](AdaFactor::min_dim_size_to_factor) numbers or more. Other leaves, and models of plain numbers, have
/// a mean for each number, as small arrays have in optax. In memory, the means of candle's tensors are as
/// small as a row and a column. Other leaves with shapes, and files, have three arrays of the size of the leaf, one more
/// than with `adam`; plain numbers have one. The means have the type of the leaf, which must hold
/// [`eps`](AdaFactor::eps): `f16` does not.
///
/// The root mean square of a step is at most the rate times the root mean square of the array, which counts as 0.001 or
/// more. An array is a leaf. Plain numbers in one `Vec`, array or tuple form an array, and so does a field that is a single number. N. Shazeer and M. Stern, *Adafactor*, 2018.
///
/// ```
/// use treedef_optim::{Optimiser, adafactor};
///
/// let mut state = adafactor(0.1).init::<f64, _>(&[1.0, 7.0])?;
/// let model = adafactor(0.1).step([1.0f64, 7.0], [0.5, -3.0], &mut state)?;
/// // The root mean square of the array is 5.
/// assert!((model[0] - 0.5).abs() < 1e-12 && (model[1] - 7.5).abs() < 1e-12);
/// # Ok::<(), treedef_optim::Error>(())
/// ```
pub fn adafactor(rate: impl Into<Schedule>) -> AdaFactor {
    AdaFactor {
        rate: rate.into(),
        smallest: 128,
        means: Schedule::from(|count: u64| 1.0 - (count as f64 + 1.0).powf(-0.8)),
        limit: 1.0,
        by_parameters: true,
        momentum: None,
        eps: 1e-30,
        decay: Decay::with_default(0.0),
    }
}

/// Descent with the means of squared gradients of each row and each column: made by [`adafactor`]. Methods change its settings.
#[derive(Clone, Debug)]
pub struct AdaFactor {
    rate: Schedule,
    smallest: usize,
    means: Schedule,
    limit: f64,
    by_parameters: bool,
    momentum: Option<f64>,
    eps: f64,
    decay: Decay,
}

const NAME: &str = "adafactor";
const MEANS: [&str; 3] = ["v", "v_row", "v_col"];
/// The slots of the momentum inside, which has no memory if there is none.
const MOMENTUM: &str = "adafactor.momentum";
/// The smallest length of parameters that is not zero.
const SMALLEST: f64 = 1e-3;

impl AdaFactor {
    /// Sets the smallest number of rows and columns for which only their means are stored. The default is 128; to store
    /// all means, use `usize::MAX`. During a training run, a change that concerns a leaf is an error,
    /// also after [`State::migrate`](crate::State::migrate), which keeps the means: begin a new state.
    pub fn min_dim_size_to_factor(mut self, smallest: usize) -> Self {
        self.smallest = smallest;
        self
    }

    /// Sets the decay of the means of the squares, which changes with the steps. The default is
    /// `|count| 1.0 - (count as f64 + 1.0).powf(-0.8)`; optax's `decay_rate` is 0.8 there, and its `decay_offset` is subtracted from
    /// the count.
    ///
    /// ```
    /// use treedef_optim::{Optimiser, adafactor};
    ///
    /// // optax's `decay_offset=100`, after as many steps with other settings.
    /// let after = |count: u64| 1.0 - (count.saturating_sub(100) as f64 + 1.0).powf(-0.8);
    /// let state = adafactor(0.1).decay_of_squares(after).init::<f64, _>(&[1.0, 7.0])?;
    /// assert_eq!((after(0), after(100), state.count()), (0.0, 0.0, 0));
    /// # Ok::<(), treedef_optim::Error>(())
    /// ```
    pub fn decay_of_squares(mut self, decay: impl Into<Schedule>) -> Self {
        self.means = decay.into();
        self
    }

    /// Sets the largest root mean square of the update of an array, before the rate. The default is 1; for none, use
    /// `f64::INFINITY`.
    pub fn clipping_threshold(mut self, limit: f64) -> Self {
        self.limit = limit;
        self
    }

    /// Sets whether an update is multiplied by the root mean square of its array. The default is `true`; otherwise the rate is
    /// the length of a step.
    pub fn multiply_by_parameter_scale(mut self, yes: bool) -> Self {
        self.by_parameters = yes;
        self
    }

    /// Sets the part of the previous updates that remains in their moving average. The default is no momentum.
    pub fn momentum(mut self, momentum: f64) -> Self {
        self.momentum = Some(momentum);
        self
    }

    /// Sets the number that is added to the squared gradients. The default is 1e-30.
    pub fn eps(mut self, eps: f64) -> Self {
        self.eps = eps;
        self
    }

    decays!("a parameter that a step removes, whatever the learning rate. The default is 0");

    /// The rule of the means, and the rate, if the numbers make sense.
    fn rules(&self, count: u64) -> Result<(Squares, f64)> {
        let decay = self.means.at(count);
        expect_decay(format_args!("`decay_of_squares` at count {count}"), decay)?;
        expect_limit("`clipping_threshold`", self.limit)?;
        expect_decay("`momentum`", self.momentum.unwrap_or_default())?;
        expect_at_least_zero("an eps", self.eps)?;
        Ok((Squares { decay, eps: self.eps }, self.rate.rate(count)?))
    }

    /// The axes of the rows and of the columns of a leaf, which has means of these alone.
    fn axes<L: Trainable>(&self, leaf: &L) -> Option<[usize; 2]> {
        let shape = leaf.shape();
        let mut axes: Vec<usize> = (0..shape.len()).collect();
        axes.sort_by_key(|axis| shape.get(*axis));
        let [.., d1, d0] = *axes else { return None };
        let is_large = shape.get(d1).is_some_and(|size| *size >= self.smallest);
        is_large.then_some([d1, d0])
    }

    fn is_factored<L: Trainable>(&self, parameters: &[L]) -> bool {
        !L::IS_NUMBER && parameters.iter().any(|leaf| self.axes(leaf).is_some())
    }

    /// Checks that the state has the means that `min_dim_size_to_factor` asks for: other means are zero.
    fn expect_means<L: Trainable>(&self, step: &Step<'_, L>, each: &[L], rows: &[L]) -> Result<()> {
        for leaf in step.scope.ranges().iter().cloned().flatten() {
            let range = leaf..leaf + 1;
            let one = Scope { ranges: slice::from_ref(&range), ..step.scope };
            let are_factored = step.parameters.get(leaf).and_then(|leaf| self.axes(leaf)).is_some();
            if norm(one, if are_factored { each } else { rows })? != 0.0 {
                let (found, expected) = ("of each number", "of rows and columns");
                let (found, expected) =
                    if are_factored { (found, expected) } else { (expected, found) };
                let smallest = self.smallest;
                let message = format!(
                    "the state has means {found}, but with `min_dim_size_to_factor({smallest})` it needs those {expected}: keep the setting, or begin a new state,"
                );
                return Err(one.failed(leaf, message.into()));
            }
        }
        Ok(())
    }

    /// Checks that the leaves can hold a mean as small as `eps`: with zero in its place, a step would be infinite or NaN.
    fn expect_wide<L: Trainable>(&self, scope: Scope<'_>, parameters: &[L]) -> Result<()> {
        if self.eps == 0.0 {
            return Ok(());
        }
        let least = Slots::new(NAME).with_filled("eps", self.eps, scope, parameters)?;
        let least = least.leaves.first().map_or(&[][..], |(_, leaves)| leaves);
        for leaf in scope.ranges().iter().cloned().flatten() {
            let range = leaf..leaf + 1;
            let one = Scope { ranges: slice::from_ref(&range), ..scope };
            let parameter = parameters.get(leaf).filter(|leaf| !leaf.shape().contains(&0));
            if let Some(parameter) = parameter
                && norm(one, least)? == 0.0
            {
                let (found, eps) = (parameter.describe(), self.eps);
                let message = format!(
                    "{found} cannot hold the `eps` of Adafactor, {eps:e}: use another type, such as bf16 or f32, or a larger `eps`,"
                );
                return Err(one.failed(leaf, message.into()));
            }
        }
        Ok(())
    }

    /// Checks, once for all steps with these settings, what depends on the leaves.
    fn expect_fitting<L: Trainable>(&self, step: &Step<'_, L>, slots: &mut Slots<L>) -> Result<()> {
        let settings = Some((self.smallest, self.eps));
        if slots.checked_for == settings {
            return Ok(());
        }
        self.expect_wide(step.scope, step.parameters)?;
        if self.is_factored(step.parameters) {
            let [nu, rows, _] = slots.inside::<3, 1>(NAME, MEANS)?.leaves;
            self.expect_means(step, nu, rows)?;
        }
        slots.checked_for = settings;
        Ok(())
    }

    /// Divides the gradients by the roots of the means.
    fn divide<L: Trainable>(
        &self,
        mode: Mode,
        step: &mut Step<'_, L>,
        slots: &mut Slots<L>,
        squares: Squares,
    ) -> Result<()> {
        if !self.is_factored(step.parameters) {
            let [nu] = slots.inside::<1, 1>(NAME, ["v"])?.leaves;
            let update = if mode == Mode::Check { mode } else { Mode::Update };
            return update.run(step, &squares, [nu]);
        }
        let [nu, rows, columns] = slots.inside::<3, 1>(NAME, MEANS)?.leaves;
        if mode == Mode::Check {
            return Ok(());
        }
        let scope = step.scope;
        for leaf in scope.ranges().iter().cloned().flatten() {
            let range = leaf..leaf + 1;
            let mut one = step.among(slice::from_ref(&range));
            let axes = one.parameters.get(leaf).and_then(|leaf| self.axes(leaf));
            let (Some([d1, d0]), Some(update), Some(row), Some(column)) =
                (axes, one.updates.get_mut(leaf), rows.get_mut(leaf), columns.get_mut(leaf))
            else {
                one.update(&squares, [&mut *nu])?;
                continue;
            };
            let mut factored = || {
                for (means, axis) in [(&mut *row, d0), (&mut *column, d1)] {
                    let mut all = means.clone();
                    L::run(&squares, &mut all, [], [update])?;
                    *means = all.mean_along(axis)?;
                }
                let whole = row.mean_along(d1)?;
                L::run(&ByRowsAndColumns, update, [], [row, &whole, column])
            };
            factored().map_err(|source| scope.failed(leaf, source))?;
        }
        Ok(())
    }

    fn go<L: Trainable>(
        &self,
        mode: Mode,
        step: &mut Step<'_, L>,
        slots: &mut Slots<L>,
    ) -> Result<()> {
        let (squares, rate) = self.rules(slots.count)?;
        self.end(Mode::Check, step, slots)?;
        self.expect_fitting(step, slots)?;
        self.divide(mode, step, slots, squares)?;
        if mode == Mode::Check {
            return Ok(());
        }
        for block in &slots.blocks(step)?.all {
            let mut step = step.among(&block.ranges);
            let root_mean_square =
                |leaves: &[L]| -> Result<f64> { Ok(norm(step.scope, leaves)? / block.len.sqrt()) };
            let clipped = at_least(1.0, root_mean_square(step.updates)? / self.limit);
            let by = if self.by_parameters {
                at_least(SMALLEST, root_mean_square(step.parameters)?)
            } else {
                1.0
            };
            step.update(&scale(rate * by / clipped), [])?;
        }
        self.end(mode, step, slots)?;
        slots.count += 1;
        Ok(())
    }

    /// The momentum and the decay.
    fn end<L: Trainable>(
        &self,
        mode: Mode,
        step: &mut Step<'_, L>,
        slots: &mut Slots<L>,
    ) -> Result<()> {
        let [inner] = &mut *slots.parts else { return Err(slots.another(NAME, &["v"], 1)) };
        match self.momentum {
            None => {
                self.decay.run(mode, step, inner, (MOMENTUM, []), |_, decay| Ok(Down { decay }))
            }
            Some(momentum) => self.decay.run(mode, step, inner, (MOMENTUM, ["ema"]), |_, decay| {
                Ok(Averaged { momentum, down: Down { decay } })
            }),
        }
    }
}

impl<L: Trainable> Transform<L> for AdaFactor {
    fn slots(&self, scope: Scope<'_>, parameters: &[L]) -> Result<Slots<L>> {
        self.decay.expect_sensible(scope, parameters)?;
        self.rules(0)?;
        self.expect_wide(scope, parameters)?;
        let mut inner = Slots::new(MOMENTUM);
        if self.momentum.is_some() {
            inner = inner.with_filled("ema", 0.0, scope, parameters)?;
        }
        let names: &[&str] = if self.is_factored(parameters) { &MEANS } else { &["v"] };
        let slots = names.iter().try_fold(Slots::new(NAME), |slots, name| {
            slots.with_filled(name, 0.0, scope, parameters)
        })?;
        Ok(slots.with_parts([inner]))
    }

    descends!();
}

/// The larger number, and NaN for NaN.
fn at_least(least: f64, found: f64) -> f64 {
    if found < least { least } else { found }
}

/// The mean of the squared gradients.
#[derive(Clone, Copy)]
struct Squares {
    decay: f64,
    eps: f64,
}

impl Rule<1> for Squares {
    #[inline(always)]
    fn next<X: Number>(&self, gradient: X, _: X, [nu]: [X; 1]) -> (X, [X; 1]) {
        let (nu, []) = self.run(nu, [], [gradient.clone()]);
        (gradient / nu.clone().sqrt(), [nu])
    }
}

impl Kernel<0, 1> for Squares {
    #[inline(always)]
    fn run<X: Number>(&self, nu: X, []: [X; 0], [gradient]: [X; 1]) -> (X, [X; 0]) {
        (mean((gradient.clone() * gradient).plus(self.eps), nu, self.decay), [])
    }
}

/// Divides by the roots of the means of rows, of all numbers, and of columns.
#[derive(Clone, Copy)]
struct ByRowsAndColumns;

impl Kernel<0, 3> for ByRowsAndColumns {
    #[inline(always)]
    fn run<X: Number>(&self, update: X, []: [X; 0], [row, all, column]: [X; 3]) -> (X, [X; 0]) {
        (update / (row / all).sqrt() / column.sqrt(), [])
    }
}

/// Goes down, and removes a part of the parameter.
#[derive(Clone, Copy)]
struct Down {
    decay: f64,
}

impl Rule<0> for Down {
    #[inline(always)]
    fn next<X: Number>(&self, update: X, parameter: X, []: [X; 0]) -> (X, [X; 0]) {
        ((update + parameter.times(self.decay)).times(-1.0), [])
    }
}

/// The same by a moving average of the updates.
#[derive(Clone, Copy)]
struct Averaged {
    momentum: f64,
    down: Down,
}

impl Rule<1> for Averaged {
    #[inline(always)]
    fn next<X: Number>(&self, update: X, parameter: X, [ema]: [X; 1]) -> (X, [X; 1]) {
        let ema = mean(update, ema, self.momentum);
        (self.down.next(ema.clone(), parameter, []).0, [ema])
    }
}
