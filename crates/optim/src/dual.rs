//! Gradients by dual numbers, forward: exact, for any function that is generic over its numbers.
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
//! # What is differentiated
//!
//! All `f64` of the model; everything else, such as a name, is as it is in the model. For a model of
//! millions of numbers, take gradients backward, by candle.

use num_dual::{Dual64, DualSVec64, HyperDual64};
use serde::Serialize;
use serde::de::DeserializeOwned;
use treedef::{Tree, TreeDef};

use crate::error::{Error, Result};
use crate::leaf::Trainable;
use crate::state::expect_kept;

/// A number with some of its derivatives: the number of the model in all functions here. What is in it is no part of the
/// interface.
pub trait Dual: Clone + 'static {
    #[doc(hidden)]
    /// How many derivatives are calculated at once.
    const LANES: usize;

    #[doc(hidden)]
    /// The number, with the derivative 1 with respect to one lane, and 0 to the others.
    fn with_lane(re: f64, lane: Option<usize>) -> Self;

    #[doc(hidden)]
    /// The number alone.
    fn re(&self) -> f64;

    #[doc(hidden)]
    /// The derivative of a lane.
    fn lane(&self, lane: usize) -> f64;

    #[doc(hidden)]
    /// The structure that the number has in serde, and its parts in this order. `None` if it has none.
    fn parts(&self) -> Option<Result<Tree<f64>>> {
        None
    }
}

impl Dual for Dual64 {
    const LANES: usize = 1;

    fn with_lane(re: f64, lane: Option<usize>) -> Self {
        Dual64::new(re, f64::from(u8::from(lane == Some(0))))
    }

    fn re(&self) -> f64 {
        self.re
    }

    fn lane(&self, _lane: usize) -> f64 {
        self.eps
    }

    fn parts(&self) -> Option<Result<Tree<f64>>> {
        Some(Tree::of_as(self).map_err(Into::into))
    }
}

impl<const N: usize> Dual for DualSVec64<N> {
    const LANES: usize = N;

    fn with_lane(re: f64, lane: Option<usize>) -> Self {
        let number = DualSVec64::from_re(re);
        match lane {
            Some(lane) => number.derivative(lane),
            None => number,
        }
    }

    fn re(&self) -> f64 {
        self.re
    }

    fn lane(&self, lane: usize) -> f64 {
        // Without derivatives, none of the parameters was in it.
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

    fn with_lane(re: f64, lane: Option<usize>) -> Self {
        let number = HyperDual64::from_re(re);
        match lane {
            Some(0) => number.derivative1(),
            Some(_) => number.derivative2(),
            None => number,
        }
    }

    fn re(&self) -> f64 {
        self.re
    }

    fn lane(&self, lane: usize) -> f64 {
        if lane == 0 { self.eps1 } else { self.eps2 }
    }

    fn parts(&self) -> Option<Result<Tree<f64>>> {
        Some(Tree::of_as(self).map_err(Into::into))
    }
}

/// A model of numbers, and the model of duals that is made of it.
struct Model {
    tree: Tree<f64>,
    /// The structure in which each number is a struct with its parts, if duals are no objects in this
    /// model.
    composed: Option<TreeDef>,
}

impl Model {
    fn of<A: DeserializeOwned, D: Dual>(model: &impl Serialize) -> Result<Self> {
        let tree = f64::tree(model)?;
        if tree.leaves().is_empty() {
            return Err(Error::NoLeaves { leaf: "f64" });
        }
        let mut model = Model { tree, composed: None };
        let Err(error) = model.with_lanes::<A, D>(&[]) else { return Ok(model) };
        let Some(parts) = D::with_lane(0.0, None).parts() else { return Err(error) };
        model.composed = Some(model.tree.treedef().compose(parts?.treedef())?);
        model.with_lanes::<A, D>(&[]).map(|_| model)
    }

    /// The model of duals, with derivatives with respect to these leaves.
    fn with_lanes<A: DeserializeOwned, D: Dual>(&self, lanes: &[usize]) -> Result<A> {
        let duals = self.tree.leaves().iter().enumerate().map(|(leaf, number)| {
            D::with_lane(*number, lanes.iter().position(|lane| *lane == leaf))
        });
        self.rebuild::<A, D>(duals)
    }

    fn rebuild<A: DeserializeOwned, D: Dual>(&self, duals: impl Iterator<Item = D>) -> Result<A> {
        let Some(composed) = &self.composed else {
            return Ok(treedef::unflatten_objects(self.tree.treedef(), duals.collect())?);
        };
        let mut parts = Vec::with_capacity(composed.num_leaves());
        for dual in duals {
            // All have it, as the first.
            let of_dual = dual.parts().transpose()?;
            parts.extend(of_dual.map(|parts| parts.into_parts().1).unwrap_or_default());
        }
        Ok(treedef::unflatten(composed, parts)?)
    }

    fn typed<T: Serialize + DeserializeOwned>(&self, numbers: Vec<f64>) -> Result<T> {
        let value = f64::rebuild(self.tree.treedef(), &mut numbers.clone())?;
        expect_kept(self.tree.treedef(), &numbers, &value, "it cannot hold a derivative")?;
        Ok(value)
    }

    /// Calls something for each group of leaves whose derivatives are calculated at once.
    fn each_group<D: Dual>(&self, mut call: impl FnMut(&[usize]) -> Result<()>) -> Result<()> {
        let leaves: Vec<usize> = (0..self.tree.leaves().len()).collect();
        leaves.chunks(D::LANES.max(1)).try_for_each(&mut call)
    }
}

/// The value of a function, and its gradient as a model.
///
/// # Errors
///
/// Returns an error when the model cannot be flattened, or the model of duals not be rebuilt, and when the
/// type of the model changes the numbers that it is made of, so that it cannot hold derivatives.
pub fn value_and_grad<A, T, D>(function: impl Fn(&A) -> D, model: &T) -> Result<(f64, T)>
where
    A: DeserializeOwned,
    T: Serialize + DeserializeOwned,
    D: Dual,
{
    let at = Model::of::<A, D>(model)?;
    let (mut value, mut gradient) = (0.0, Vec::with_capacity(at.tree.leaves().len()));
    at.each_group::<D>(|lanes| {
        let result = function(&at.with_lanes::<A, D>(lanes)?);
        value = result.re();
        gradient.extend((0..lanes.len()).map(|lane| result.lane(lane)));
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
    let at = Model::of::<A, D>(model)?;
    let mut values: Option<Vec<f64>> = None;
    let mut rows: Vec<Vec<f64>> = Vec::new();
    at.each_group::<D>(|lanes| {
        let results: Vec<D> = function(&at.with_lanes::<A, D>(lanes)?).into_iter().collect();
        let known = values.get_or_insert_with(|| results.iter().map(Dual::re).collect());
        if known.len() != results.len() {
            let (before, now) = (known.len(), results.len());
            let message = format!("the function has given {before} and {now} results");
            return Err(Error::Argument(message));
        }
        rows.resize(results.len(), Vec::new());
        for (row, result) in rows.iter_mut().zip(results) {
            row.extend((0..lanes.len()).map(|lane| result.lane(lane)));
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
    let at = Model::of::<A, HyperDual64>(model)?;
    let count = at.tree.leaves().len();
    let mut value = 0.0;
    let mut gradient = vec![0.0; count];
    let mut rows = vec![vec![0.0; count]; count];
    let pairs = (0..count).flat_map(|first| (0..=first).map(move |second| (first, second)));
    for (first, second) in pairs {
        let numbers = at.tree.leaves().iter().enumerate().map(|(leaf, number)| {
            let part = |at: usize| f64::from(u8::from(leaf == at));
            HyperDual64::new(*number, part(first), part(second), 0.0)
        });
        let result = function(&at.rebuild::<A, HyperDual64>(numbers)?);
        value = result.re;
        // In bounds: both are less than the count.
        gradient[first] = result.eps1;
        rows[first][second] = result.eps1eps2;
        rows[second][first] = result.eps1eps2;
    }
    let rows = rows.into_iter().map(|row| at.typed(row)).collect::<Result<_>>()?;
    Ok(Hessian { value, gradient: at.typed(gradient)?, rows })
}
