//! Forward gradients by dual numbers: exact, for any function that is generic over its numbers.
//!
//! ```
//! use num_dual::{Dual64, DualNum};
//! use serde::{Deserialize, Serialize};
//! use treedef_optim::dual;
//!
//! #[derive(Debug, PartialEq, Serialize, Deserialize)]
//! struct Orbit<T> { mass: T, velocity: [T; 2] }
//!
//! impl<T: DualNum<Primitive = f64> + Copy> Orbit<T> {
//!     fn energy(&self) -> T {
//!         self.velocity.into_iter().map(|v| v * v).sum::<T>() * self.mass * 0.5
//!     }
//! }
//!
//! let orbit = Orbit { mass: 2.0, velocity: [3.0, 4.0] };
//! let (energy, gradient) = dual::value_and_grad(|p: &Orbit<Dual64>| p.energy(), &orbit)?;
//! assert_eq!((energy, gradient), (25.0, Orbit { mass: 12.5, velocity: [6.0, 8.0] }));
//! # Ok::<(), treedef_optim::Error>(())
//! ```
//!
//! The function runs once for each number of the model. With [`DualSVec64<N>`](num_dual::DualSVec64) it
//! runs once for `N` of them. That type has no serde, so the fields of the struct need
//! `#[serde(with = "treedef::object")]`, as for other [objects](treedef::object).
//!
//! # Differentiated numbers
//!
//! All `f64` of the model are differentiated; everything else, such as a name, is unchanged. For a
//! model of millions of numbers, compute gradients backward, with candle.

use std::sync::LazyLock;

use num_dual::{Dual64, DualSVec64, HyperDual64};
use serde::Serialize;
use serde::de::DeserializeOwned;
use treedef::{Tree, TreeDef};

use crate::composed::composed;
use crate::error::{Error, Result};
use crate::leaf::Trainable;
use crate::state::expect_kept;

/// A number with some of its derivatives: the type of the numbers of a model in all functions here. Its
/// content is private.
pub trait Dual: Clone + 'static {
    #[doc(hidden)]
    /// The number of derivatives that are computed at once.
    const LANES: usize;

    #[doc(hidden)]
    /// The number, with no derivative.
    fn of(re: f64) -> Self;

    #[doc(hidden)]
    /// The number with derivative 1 in an additional lane.
    fn along(self, lane: usize) -> Self;

    #[doc(hidden)]
    /// The number alone.
    fn re(&self) -> f64;

    #[doc(hidden)]
    /// The derivative of a lane.
    fn lane(&self, lane: usize) -> f64;

    #[doc(hidden)]
    /// The serialized form of the type. `None` if it does not implement serde's traits.
    fn form() -> Option<&'static Form> {
        None
    }
}

impl Dual for Dual64 {
    const LANES: usize = 1;

    fn of(re: f64) -> Self {
        Dual64::from_re(re)
    }

    fn along(self, _lane: usize) -> Self {
        self.derivative()
    }

    fn re(&self) -> f64 {
        self.re
    }

    fn lane(&self, _lane: usize) -> f64 {
        self.eps
    }

    fn form() -> Option<&'static Form> {
        static FORM: LazyLock<Option<Form>> = LazyLock::new(Form::of::<Dual64>);
        FORM.as_ref()
    }
}

impl<const N: usize> Dual for DualSVec64<N> {
    const LANES: usize = {
        assert!(N > 0, "a dual number needs at least one derivative");
        N
    };

    fn of(re: f64) -> Self {
        DualSVec64::from_re(re)
    }

    fn along(self, lane: usize) -> Self {
        self.derivative(lane)
    }

    fn re(&self) -> f64 {
        self.re
    }

    fn lane(&self, lane: usize) -> f64 {
        // Without derivatives, it depends on no parameter.
        self.eps
            .0
            .as_ref()
            .and_then(|lanes| lanes.as_slice().get(lane))
            .copied()
            .unwrap_or_default()
    }
}

impl Dual for HyperDual64 {
    const LANES: usize = 2;

    fn of(re: f64) -> Self {
        HyperDual64::from_re(re)
    }

    fn along(self, lane: usize) -> Self {
        if lane == 0 { self.derivative1() } else { self.derivative2() }
    }

    fn re(&self) -> f64 {
        self.re
    }

    fn lane(&self, lane: usize) -> f64 {
        if lane == 0 { self.eps1 } else { self.eps2 }
    }

    fn form() -> Option<&'static Form> {
        static FORM: LazyLock<Option<Form>> = LazyLock::new(Form::of::<HyperDual64>);
        FORM.as_ref()
    }
}

#[doc(hidden)]
/// A dual number in its serialized form: a structure of floats, one for the number and one for the
/// derivative of each lane.
#[derive(Debug)]
pub struct Form {
    treedef: TreeDef,
    number: usize,
    lanes: Vec<usize>,
}

impl Form {
    /// `None` unless serde writes each part as a float.
    fn of<D: Dual + Serialize>() -> Option<Self> {
        let place_of_one = |dual: D| {
            let floats = Tree::<f64>::of_as(&dual).ok()?;
            floats.leaves().iter().position(|float| *float == 1.0)
        };
        Some(Form {
            treedef: Tree::<f64>::of_as(&D::of(0.0)).ok()?.into_parts().0,
            number: place_of_one(D::of(1.0))?,
            lanes: (0..D::LANES)
                .map(|lane| place_of_one(D::of(0.0).along(lane)))
                .collect::<Option<_>>()?,
        })
    }
}

/// A model of numbers, and its numbers as duals, from which the model of duals is rebuilt for each call of
/// the function.
struct Model<D> {
    numbers: Tree<f64>,
    duals: Duals<D>,
    /// Whether a model was made of these duals.
    is_taken: bool,
}

/// The numbers of a model as duals.
enum Duals<D> {
    /// The model has them as [objects](treedef::object).
    Objects(Vec<D>),
    /// Each is serialized as several floats.
    Written {
        form: &'static Form,
        /// The structure of the model, with the structure of a dual in the place of each leaf.
        treedef: TreeDef,
        /// The floats of all duals.
        floats: Vec<f64>,
    },
}

impl<D: Dual> Duals<D> {
    /// As floats, if the type has such a form.
    fn of(numbers: &Tree<f64>) -> Result<Self> {
        let Some(form) = D::form() else { return Ok(Self::objects(numbers)) };
        let each = form.treedef.num_leaves();
        let mut floats = vec![0.0; numbers.leaves().len() * each];
        for (dual, number) in floats.chunks_exact_mut(each).zip(numbers.leaves()) {
            dual[form.number] = *number;
        }
        let treedef = composed(numbers.treedef(), &form.treedef)?;
        Ok(Duals::Written { form, treedef, floats })
    }

    fn objects(numbers: &Tree<f64>) -> Self {
        Duals::Objects(numbers.leaves().iter().copied().map(D::of).collect())
    }

    /// Gives a number the derivative 1 in a lane.
    fn set(&mut self, leaf: usize, lane: usize) {
        match self {
            Duals::Objects(duals) => duals[leaf] = duals[leaf].clone().along(lane),
            Duals::Written { form, floats, .. } => {
                floats[leaf * form.treedef.num_leaves() + form.lanes[lane]] = 1.0;
            }
        }
    }

    /// Resets its derivatives.
    fn clear(&mut self, leaf: usize) {
        match self {
            Duals::Objects(duals) => duals[leaf] = D::of(duals[leaf].re()),
            Duals::Written { form, floats, .. } => {
                for lane in &form.lanes {
                    floats[leaf * form.treedef.num_leaves() + lane] = 0.0;
                }
            }
        }
    }

    fn model<A: DeserializeOwned>(&self, treedef: &TreeDef) -> Result<A> {
        Ok(match self {
            Duals::Objects(duals) => treedef::unflatten_objects(treedef, duals.clone())?,
            Duals::Written { treedef, floats, .. } => treedef::unflatten(treedef, floats)?,
        })
    }
}

impl<D: Dual> Model<D> {
    fn of(model: &impl Serialize) -> Result<Self> {
        let numbers = f64::tree(model)?;
        if numbers.leaves().is_empty() {
            return Err(Error::NoLeaves { leaf: "f64" });
        }
        let duals = Duals::of(&numbers)?;
        Ok(Model { numbers, duals, is_taken: false })
    }

    fn num_leaves(&self) -> usize {
        self.numbers.leaves().len()
    }

    /// The result of a function for the model of duals, with derivatives by these leaves: one lane for
    /// each.
    fn call<A: DeserializeOwned, R>(
        &mut self,
        lanes: impl Iterator<Item = usize> + Clone,
        function: impl FnOnce(&A) -> R,
    ) -> Result<R> {
        let model = match self.model::<A>(lanes.clone()) {
            Err(failure) if !self.is_taken && matches!(self.duals, Duals::Written { .. }) => {
                self.duals = Duals::objects(&self.numbers);
                self.model(lanes).map_err(|_| failure)
            }
            model => model,
        }?;
        self.is_taken = true;
        Ok(function(&model))
    }

    /// The model with derivatives by these leaves.
    fn model<A: DeserializeOwned>(
        &mut self,
        lanes: impl Iterator<Item = usize> + Clone,
    ) -> Result<A> {
        for (lane, leaf) in lanes.clone().enumerate() {
            self.duals.set(leaf, lane);
        }
        let model = self.duals.model(self.numbers.treedef());
        lanes.for_each(|leaf| self.duals.clear(leaf));
        model
    }

    fn typed<T: Serialize + DeserializeOwned>(&self, numbers: Vec<f64>) -> Result<T> {
        let value = f64::rebuild(self.numbers.treedef(), &mut numbers.clone())?;
        expect_kept(self.numbers.treedef(), &numbers, &value, "it cannot hold a derivative")?;
        Ok(value)
    }

    /// Calls a function for each group of leaves whose derivatives are computed at once.
    fn each_group<A: DeserializeOwned, R>(
        &mut self,
        function: impl Fn(&A) -> R,
        mut take: impl FnMut(usize, R) -> Result<()>,
    ) -> Result<()> {
        let lanes = D::LANES.max(1);
        for first in (0..self.num_leaves()).step_by(lanes) {
            let group = first..self.num_leaves().min(first + lanes);
            let result = self.call(group.clone(), &function)?;
            take(group.len(), result)?;
        }
        Ok(())
    }
}

/// The value of a function, and its gradient as a model.
///
/// # Errors
///
/// Returns an error when the model cannot be flattened, or the model of duals cannot be rebuilt, and when
/// the type of the model changes its numbers, so that it cannot hold derivatives.
pub fn value_and_grad<A, T, D>(function: impl Fn(&A) -> D, model: &T) -> Result<(f64, T)>
where
    A: DeserializeOwned,
    T: Serialize + DeserializeOwned,
    D: Dual,
{
    let mut at = Model::<D>::of(model)?;
    let (mut value, mut gradient) = (0.0, Vec::with_capacity(at.num_leaves()));
    at.each_group(function, |lanes, result| {
        value = result.re();
        gradient.extend((0..lanes).map(|lane| result.lane(lane)));
        Ok(())
    })?;
    Ok((value, at.typed(gradient)?))
}

/// The values of a function with several results, and the gradient of each as a model.
///
/// # Errors
///
/// As [`value_and_grad`]; also when the number of results changes from call to call.
///
/// ```
/// use num_dual::Dual64;
/// use treedef_optim::dual;
///
/// let both = |p: &(Dual64, Dual64)| [p.0 * p.1, p.0 + p.1];
/// let (values, rows) = dual::jacobian(both, &(2.0, 3.0))?;
/// assert_eq!((values, rows), (vec![6.0, 5.0], vec![(3.0, 2.0), (1.0, 1.0)]));
/// # Ok::<(), treedef_optim::Error>(())
/// ```
pub fn jacobian<A, T, D, R>(function: impl Fn(&A) -> R, model: &T) -> Result<(Vec<f64>, Vec<T>)>
where
    A: DeserializeOwned,
    T: Serialize + DeserializeOwned,
    D: Dual,
    R: IntoIterator<Item = D>,
{
    let mut at = Model::<D>::of(model)?;
    let mut values: Option<Vec<f64>> = None;
    let mut rows: Vec<Vec<f64>> = Vec::new();
    at.each_group(function, |lanes, results| {
        let results: Vec<D> = results.into_iter().collect();
        let known = values.get_or_insert_with(|| results.iter().map(Dual::re).collect());
        if known.len() != results.len() {
            let (before, now) = (known.len(), results.len());
            let message = format!("the function has given {before} and {now} results");
            return Err(Error::Argument(message));
        }
        rows.resize(results.len(), Vec::new());
        for (row, result) in rows.iter_mut().zip(results) {
            row.extend((0..lanes).map(|lane| result.lane(lane)));
        }
        Ok(())
    })?;
    let rows = rows.into_iter().map(|row| at.typed(row));
    Ok((values.unwrap_or_default(), rows.collect::<Result<_>>()?))
}

/// A function's value with its first and second derivatives: made by [`hessian`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Hessian<T> {
    /// The value.
    pub value: f64,
    /// The gradient.
    pub gradient: T,
    /// For each number of the model, in the order of its leaves, the derivative of the gradient with
    /// respect to it.
    pub rows: Vec<T>,
}

/// The second derivatives of a function. It runs once for each pair of numbers.
///
/// # Errors
///
/// As [`value_and_grad`].
///
/// ```
/// use num_dual::HyperDual64;
/// use treedef_optim::dual;
///
/// let hessian = dual::hessian(|p: &(HyperDual64, HyperDual64)| p.0 * p.0 * p.1, &(2.0, 3.0))?;
/// assert_eq!((hessian.value, hessian.gradient), (12.0, (12.0, 4.0)));
/// assert_eq!(hessian.rows, [(6.0, 4.0), (4.0, 0.0)]);
/// # Ok::<(), treedef_optim::Error>(())
/// ```
pub fn hessian<A, T>(function: impl Fn(&A) -> HyperDual64, model: &T) -> Result<Hessian<T>>
where
    A: DeserializeOwned,
    T: Serialize + DeserializeOwned,
{
    let mut at = Model::<HyperDual64>::of(model)?;
    let count = at.num_leaves();
    let mut value = 0.0;
    let mut gradient = vec![0.0; count];
    let mut rows = vec![vec![0.0; count]; count];
    let pairs = (0..count).flat_map(|first| (0..=first).map(move |second| (first, second)));
    for (first, second) in pairs {
        let result = at.call([first, second].into_iter(), &function)?;
        value = result.re;
        // In bounds: both are less than the count.
        gradient[first] = result.eps1;
        rows[first][second] = result.eps1eps2;
        rows[second][first] = result.eps1eps2;
    }
    let rows = rows.into_iter().map(|row| at.typed(row)).collect::<Result<_>>()?;
    Ok(Hessian { value, gradient: at.typed(gradient)?, rows })
}
