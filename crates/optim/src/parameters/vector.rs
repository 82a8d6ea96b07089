//! The vector of a struct, and the struct of a vector.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use serde::Serialize;
use serde::de::DeserializeOwned;
use treedef::__private::without_objects;
use treedef::{Flattener, LeafKind, flatten_objects, unflatten};

#[cfg(feature = "num-dual")]
use num_dual::{DualNum, HyperDual64};

use super::covariance::Covariance;
use super::derivatives::Jacobian;
use super::error::Result;
use super::plan::{Constraint, Plan};
use super::report::Report;
#[cfg(feature = "num-dual")]
use crate::dual::{Dual, Hessian};

/// A struct as the vector of numbers that a solver varies, and back.
///
/// At first all floats of the model are free, and everything else is structure. Then you fix, bound,
/// transform or tie parts by [patterns](treedef::Pattern). The solver sees [`initial`](Self::initial),
/// [`lower`](Self::lower) and [`upper`](Self::upper), and [`value`](Self::value) turns its vector into a
/// model.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use treedef_optim::Parameters;
///
/// #[derive(Debug, PartialEq, Serialize, Deserialize)]
/// struct Model {
///     name: String,
///     peaks: Vec<Peak>,
///     offset: f64,
/// }
///
/// #[derive(Debug, PartialEq, Serialize, Deserialize)]
/// struct Peak {
///     at: f64,
///     sigma: f32,
/// }
///
/// let peaks = vec![Peak { at: 1.0, sigma: 0.5 }, Peak { at: 4.0, sigma: 0.5 }];
/// let model = Model { name: "two peaks".to_owned(), peaks, offset: 0.25 };
/// let p = Parameters::new(&model)?.fix("offset")?.bounds("**.at", 0.0..=9.0)?;
/// let p = p.positive("**.sigma")?;
/// assert_eq!(p.names(), [".peaks[0].at", ".peaks[0].sigma", ".peaks[1].at", ".peaks[1].sigma"]);
/// assert_eq!((p.lower()[0], p.upper()[1]), (0.0, f64::INFINITY));
/// // Numbers that did not move come back exactly.
/// assert_eq!(p.value(p.initial())?, model);
///
/// let moved = p.value(&[2.0, 0.0, 4.0, -1.0])?;
/// assert_eq!((moved.peaks[0].at, moved.peaks[0].sigma, moved.offset), (2.0, 1.0, 0.25));
/// let error = p.value(&[9.5, 0.0, 4.0, -1.0]).unwrap_err();
/// assert_eq!(error.to_string(), "9.5 is not in [0, 9] at `.peaks[0].at`");
/// # Ok::<(), treedef_optim::ParametersError>(())
/// ```
///
/// # Two ways to keep a parameter in its range
///
/// | | the solver sees | for solvers |
/// |---|---|---|
/// | [`bounds`](Self::bounds) | the number itself, and its bounds | that respect bounds: cobyla, L-BFGS-B |
/// | [`positive`](Self::positive), [`softplus`](Self::softplus), [`interval`](Self::interval), [`simplex`](Self::simplex), [`ordered`](Self::ordered) | any real number, which a transform maps onto the range | all others, and samplers |
///
/// # Exact
///
/// A leaf whose numbers in the vector are the same as in [`initial`](Self::initial) is exactly unchanged,
/// through all transforms. A leaf of `f32` is the nearest `f32`, and so are its bounds. For a model without
/// NaN, no function returns a NaN, an infinity or a number outside of its range: it returns an error with
/// the path. So `value` also refuses vectors in which a solver leaves the [`bounds`](Self::bounds).
///
/// `Parameters` are [`Sync`], so threads can share them, whatever the model is.
pub struct Parameters<T> {
    pub(super) plan: Plan,
    model: PhantomData<fn() -> T>,
}

/// A rectangular part of a model, as samplers store it. See [`Parameters::dims`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dims {
    /// The path of the part.
    pub name: String,
    /// The number of elements in each dimension, outermost first; empty for a lone number.
    pub shape: Vec<usize>,
    /// Its numbers in [`leaves`](Parameters::leaves), in row-major order.
    pub leaves: Range<usize>,
}

/// # Make
impl<T: Serialize> Parameters<T> {
    /// All floats of the model are free. Everything else is structure: integers, texts, lengths,
    /// names.
    ///
    /// If some `f64` of the model are [objects](treedef::object), as in a model that is generic over its
    /// numbers, only these are parameters. Plain floats are structure.
    ///
    /// # Errors
    ///
    /// As [`flatten`](treedef::flatten()), and when objects are of another type than `f64`.
    pub fn new(model: &T) -> Result<Self> {
        // An object that is another scalar is an error: else the constants beside it would vary.
        let floats = without_objects(Flattener::new().leaves_where(LeafKind::is_float));
        let plan = match flatten_objects::<f64>(model) {
            Ok((start, treedef)) if !start.is_empty() => {
                Plan::new(treedef, Flattener::new(), true, start, None)
            }
            _ => {
                let (start, treedef) = floats.flatten_as::<f64>(model)?;
                let kinds = floats.signature(model)?;
                Plan::new(treedef, floats, false, start, Some(kinds.leaves()))
            }
        };
        Ok(Parameters { plan: plan.arranged()?, model: PhantomData })
    }
}

/// # What a solver asks for
impl<T> Parameters<T> {
    /// The vector of the model from which the parameters were made.
    pub fn initial(&self) -> &[f64] {
        &self.plan.initial
    }

    /// The lower bounds, −∞ where there is none.
    pub fn lower(&self) -> &[f64] {
        &self.plan.lower
    }

    /// The upper bounds, ∞ where there is none.
    pub fn upper(&self) -> &[f64] {
        &self.plan.upper
    }

    /// The number of numbers that the solver varies.
    pub fn len(&self) -> usize {
        self.plan.initial.len()
    }

    /// Whether nothing varies.
    pub fn is_empty(&self) -> bool {
        self.plan.initial.is_empty()
    }

    /// The path of the leaf that each number of the vector makes.
    pub fn names(&self) -> Vec<String> {
        let runs = self.plan.runs.iter();
        let leaves = runs.flat_map(|run| run.leaf..run.leaf + run.inputs);
        leaves.map(|leaf| self.plan.path(leaf).to_string()).collect()
    }

    /// The paths of all floats of the model, including floats that do not vary: the names of
    /// [`leaves`](Self::leaves).
    pub fn leaf_names(&self) -> Vec<String> {
        self.plan.treedef.leaf_paths().map(|path| path.to_string()).collect()
    }

    /// The rectangular parts of the model in which something varies, as samplers store draws.
    ///
    /// ```
    /// use treedef_optim::Parameters;
    ///
    /// let p = Parameters::new(&([[0.5; 3]; 2], 1.0, 2.0))?.fix(".1")?;
    /// let dims = p.dims();
    /// assert_eq!((&*dims[0].name, &*dims[0].shape, &dims[0].leaves), (".0", &[2, 3][..], &(0..6)));
    /// assert_eq!((&*dims[1].name, &*dims[1].shape, &dims[1].leaves), (".2", &[][..], &(7..8)));
    /// # Ok::<(), treedef_optim::ParametersError>(())
    /// ```
    pub fn dims(&self) -> Vec<Dims> {
        let blocks = self.plan.treedef.blocks();
        let varying = blocks.filter(|block| {
            block
                .node
                .leaf_range()
                .any(|leaf| self.plan.rules[self.plan.tied_to[leaf]] != Constraint::Fixed)
        });
        let dims = varying.map(|block| Dims {
            name: block.path.to_string(),
            shape: block.shape,
            leaves: block.node.leaf_range(),
        });
        dims.collect()
    }
}

/// # Models
impl<T: DeserializeOwned> Parameters<T> {
    /// The model of a vector.
    ///
    /// # Errors
    ///
    /// Returns an error when the vector has another length, when a number is not finite, and when a
    /// leaf would be NaN, infinite, or outside of its range.
    pub fn value(&self, x: &[f64]) -> Result<T> {
        self.plan.with_leaves(x, |leaves| Ok(unflatten(&self.plan.treedef, leaves)?))
    }

    /// Puts the model of a vector into `model`.
    ///
    /// A model of structs, tuples, numbers and arrays of numbers is rebuilt without an allocation, if it
    /// has at most 1,048,576 floats, except for the first call in a thread; an array of structs needs one.
    /// With the feature `in_place` the memory of its `Vec`s is reused, and `#[serde(skip)]` fields keep
    /// their content.
    ///
    /// # Errors
    ///
    /// As [`value`](Self::value). With `in_place`, the model may be partly changed on an error.
    ///
    /// ```
    /// use treedef_optim::Parameters;
    ///
    /// let mut model = (1.0, [2.0, 3.0]);
    /// let p = Parameters::new(&model)?;
    /// p.value_into(&[4.0, 5.0, 6.0], &mut model)?;
    /// assert_eq!(model, (4.0, [5.0, 6.0]));
    /// # Ok::<(), treedef_optim::ParametersError>(())
    /// ```
    pub fn value_into(&self, x: &[f64], model: &mut T) -> Result<()> {
        self.plan.with_leaves(x, |leaves| self.plan.rebuilt_into(leaves, model))
    }
}

/// # Vectors
impl<T: Serialize> Parameters<T> {
    /// The vector of a model: the inverse of [`value`](Self::value).
    ///
    /// # Errors
    ///
    /// Returns an error when the model has another structure, when a leaf is outside of its range or at
    /// an end that a transform does not reach, and when a fixed leaf or tied leaves differ.
    ///
    /// ```
    /// use treedef_optim::Parameters;
    ///
    /// let p = Parameters::new(&(0.5, 1.0))?.interval(".0", 0.0..=1.0)?.fix(".1")?;
    /// let error = p.point(&(2.0, 1.0)).unwrap_err();
    /// assert_eq!(error.to_string(), "2 is not in [0, 1] at `.0`");
    /// let error = p.point(&(0.5, 3.0)).unwrap_err();
    /// assert_eq!(error.to_string(), "expected 1, found 3 at `.1`: it is fixed");
    /// # Ok::<(), treedef_optim::ParametersError>(())
    /// ```
    pub fn point(&self, model: &T) -> Result<Vec<f64>> {
        self.plan.point(&self.plan.leaves_of(model, false)?)
    }

    /// The derivatives of a function by the vector, from its derivatives by the model, which are a
    /// model, too: the chain rule through transforms and ties. Leaves that are not floats are
    /// ignored.
    ///
    /// # Errors
    ///
    /// As [`value`](Self::value). Also when the derivatives have another structure than the model, and
    /// when a result is not finite.
    ///
    /// ```
    /// use treedef_optim::Parameters;
    ///
    /// // f(a, b) = a² + 3b, with a = eˣ
    /// let p = Parameters::new(&(2.0, 1.0))?.positive(".0")?;
    /// let gradient = p.gradient(p.initial(), &(4.0, 3.0))?;
    /// assert!((gradient[0] - 8.0).abs() < 1e-14 && gradient[1] == 3.0);
    /// # Ok::<(), treedef_optim::ParametersError>(())
    /// ```
    pub fn gradient(&self, x: &[f64], derivatives: &T) -> Result<Vec<f64>> {
        self.plan.gradient(x, &self.plan.leaves_of(derivatives, true)?)
    }
}

/// # Derivatives, errors and reports
impl<T> Parameters<T> {
    /// All floats of the model of a vector, in the order of [`leaf_names`](Self::leaf_names).
    ///
    /// # Errors
    ///
    /// As [`value`](Self::value).
    pub fn leaves(&self, x: &[f64]) -> Result<Vec<f64>> {
        let rounded = |(leaf, y): (usize, &f64)| self.plan.rounded(leaf, *y);
        self.plan.with_leaves(x, |leaves| Ok(leaves.iter().enumerate().map(rounded).collect()))
    }

    /// The derivatives of the leaves by the vector, by columns.
    ///
    /// # Errors
    ///
    /// As [`value`](Self::value).
    pub fn jacobian(&self, x: &[f64]) -> Result<Jacobian<'_>> {
        Jacobian::new(&self.plan, x)
    }

    /// The logarithm of the volume by which the transforms stretch the space at `x`. For a density over the
    /// model, a sampler adds it to the logarithm of the density. Its derivatives are added to `gradient`
    /// here.
    ///
    /// # Errors
    ///
    /// As [`value`](Self::value), and when `gradient` has another length.
    ///
    /// ```
    /// use treedef_optim::Parameters;
    ///
    /// let p = Parameters::new(&(1.0, 2.0))?.positive(".0")?;
    /// assert_eq!(p.log_jacobian(&[3.0, 4.0], None)?, 3.0);
    /// let mut gradient = [10.0, 20.0];
    /// assert_eq!(p.log_jacobian(&[3.0, 4.0], Some(&mut gradient))?, 3.0);
    /// assert_eq!(gradient, [11.0, 20.0]);
    /// # Ok::<(), treedef_optim::ParametersError>(())
    /// ```
    pub fn log_jacobian(&self, x: &[f64], gradient: Option<&mut [f64]>) -> Result<f64> {
        match gradient {
            Some(gradient) => self.plan.log_jacobian(x, gradient),
            None => self.plan.log_jacobian(x, &mut vec![0.0; x.len()]),
        }
    }

    /// The covariance of the leaves from the covariance of the vector, by the delta method: J C Jᵀ, where J
    /// is [`jacobian`](Self::jacobian). `matrix` has `len()` rows of `len()` numbers.
    ///
    /// # Errors
    ///
    /// As [`value`](Self::value), and when the matrix is not a covariance: of another size, not
    /// symmetric, not positive semidefinite, or with a number that is not finite.
    pub fn covariance(&self, x: &[f64], matrix: &[f64]) -> Result<Covariance<'_>> {
        Covariance::new(&self.plan, x, matrix)
    }

    /// The covariance of the leaves after a fit by least squares, from the residuals at the result and their
    /// Jacobian, a matrix by columns: s² (JᵀJ)⁻¹, where s² is the sum of squares, divided by the number of
    /// residuals beyond the number of parameters. So it is scipy's `curve_fit` without `absolute_sigma`.
    ///
    /// # Errors
    ///
    /// As [`covariance`](Self::covariance). Also when there are not more residuals than parameters, and when
    /// a parameter is not determined.
    ///
    /// ```
    /// use treedef_optim::Parameters;
    ///
    /// // The mean of 1, 2 and 6: the standard error is s / √n.
    /// let p = Parameters::new(&3.0)?;
    /// let covariance = p.covariance_of_residuals(&[3.0], &[2.0, 1.0, -3.0], &[1.0, 1.0, 1.0])?;
    /// assert!((covariance.standard_error("")? - (7f64 / 3.0).sqrt()).abs() < 1e-15);
    /// # Ok::<(), treedef_optim::ParametersError>(())
    /// ```
    pub fn covariance_of_residuals(
        &self,
        x: &[f64],
        residuals: &[f64],
        jacobian: &[f64],
    ) -> Result<Covariance<'_>> {
        Covariance::of_residuals(&self.plan, x, residuals, jacobian)
    }

    /// A table of the model of a vector: path, value, error, bound reached, fixed, tied.
    pub fn report(&self, x: &[f64]) -> Report<'_> {
        Report::new(&self.plan, x)
    }
}

/// # Derivatives by dual numbers
///
/// The model is generic over its numbers, and the functions here get it with [dual numbers](crate::dual). Its
/// fields may be of the type of numbers itself, with all types of duals that have serde, such as
/// [`Dual64`](num_dual::Dual64). Or they are [objects](treedef::object), with any type of duals:
/// [`DualSVec64<N>`](num_dual::DualSVec64) has `N` derivatives, so that a function runs once for each `N`
/// numbers of the vector. A model with objects may have plain floats, which are no parameters.
#[cfg(feature = "num-dual")]
impl<T> Parameters<T> {
    /// The model for a vector of [dual numbers](num_dual), so that derivatives pass through transforms and
    /// ties. `U` is the model over these numbers.
    ///
    /// # Errors
    ///
    /// As [`value`](Self::value), and when `U` does not fit the structure.
    ///
    /// ```
    /// use num_dual::{Dual64, DualNum};
    /// use serde::{Deserialize, Serialize};
    /// use treedef_optim::Parameters;
    ///
    /// #[derive(Serialize, Deserialize)]
    /// struct Model<D> { sigma: D, offset: D }
    ///
    /// let p = Parameters::new(&Model { sigma: 2.0, offset: 1.0 })?.positive("sigma")?;
    /// let x = p.initial();
    /// let x = [Dual64::from_re(x[0]).derivative(), Dual64::from_re(x[1])];
    /// let model = p.value_as::<Model<Dual64>>(&x)?;
    /// // d(σ² + offset)/dx, with σ = eˣ
    /// assert!(((model.sigma.powi(2) + model.offset).eps - 8.0).abs() < 1e-14);
    /// # Ok::<(), treedef_optim::ParametersError>(())
    /// ```
    pub fn value_as<U: DeserializeOwned>(
        &self,
        x: &[impl DualNum<Primitive = f64> + 'static],
    ) -> Result<U> {
        self.plan.value_as(x)
    }

    /// The value of a function of the model, and its gradient by the vector.
    ///
    /// # Errors
    ///
    /// As [`value_as`](Self::value_as). Also when a derivative is not finite: the path is the one of a number
    /// whose own derivative is not, as of a root at 0. And when a value of the function is not finite.
    ///
    /// ```
    /// use num_dual::DualSVec64;
    /// use serde::{Deserialize, Serialize};
    /// use treedef_optim::Parameters;
    ///
    /// #[derive(Serialize, Deserialize)]
    /// #[serde(bound = "")]
    /// struct Model<D: Clone + 'static> {
    ///     #[serde(with = "treedef::object")]
    ///     sigma: D,
    ///     #[serde(with = "treedef::object")]
    ///     offset: D,
    ///     weight: f64,
    /// }
    ///
    /// let p = Parameters::new(&Model { sigma: 2.0, offset: 1.0, weight: 3.0 })?.positive("sigma")?;
    /// let loss = |m: &Model<DualSVec64<2>>| m.sigma * m.sigma * m.weight + m.offset;
    /// let (value, gradient) = p.value_and_grad(loss, p.initial())?;
    /// assert!((value - 13.0).abs() < 1e-14);
    /// assert!((gradient[0] - 24.0).abs() < 1e-14 && gradient[1] == 1.0);
    /// # Ok::<(), treedef_optim::ParametersError>(())
    /// ```
    pub fn value_and_grad<U, D>(
        &self,
        function: impl Fn(&U) -> D,
        x: &[f64],
    ) -> Result<(f64, Vec<f64>)>
    where
        U: DeserializeOwned,
        D: Dual + DualNum<Primitive = f64>,
    {
        self.plan.value_and_grad(function, x)
    }

    /// The residuals of a model, and their derivatives by the vector: a matrix by columns, as in nalgebra, with
    /// a row for each residual.
    ///
    /// # Errors
    ///
    /// As [`value_and_grad`](Self::value_and_grad), and when the number of residuals changes.
    ///
    /// ```
    /// use num_dual::Dual64;
    /// use treedef_optim::Parameters;
    ///
    /// let p = Parameters::new(&(2.0, 3.0))?;
    /// let residuals = |m: &(Dual64, Dual64)| [m.0 * m.1, m.0 + m.1];
    /// let (values, jacobian) = p.residuals_and_jacobian(residuals, p.initial())?;
    /// assert_eq!((values, jacobian), (vec![6.0, 5.0], vec![3.0, 1.0, 2.0, 1.0]));
    /// # Ok::<(), treedef_optim::ParametersError>(())
    /// ```
    pub fn residuals_and_jacobian<U, D, R>(
        &self,
        residuals: impl Fn(&U) -> R,
        x: &[f64],
    ) -> Result<(Vec<f64>, Vec<f64>)>
    where
        U: DeserializeOwned,
        D: Dual + DualNum<Primitive = f64>,
        R: IntoIterator<Item = D>,
    {
        self.plan.residuals_and_jacobian(residuals, x)
    }

    /// The value of a function of the model, with its gradient and its second derivatives by the vector.
    ///
    /// # Errors
    ///
    /// As [`value_and_grad`](Self::value_and_grad).
    ///
    /// ```
    /// use num_dual::HyperDual64;
    /// use treedef_optim::Parameters;
    ///
    /// let p = Parameters::new(&(2.0, 3.0))?.positive(".1")?;
    /// let h = p.hessian(|m: &(HyperDual64, HyperDual64)| m.0 * m.0 * m.1, &[2.0, 0.0])?;
    /// assert_eq!((h.value, h.gradient), (4.0, vec![4.0, 4.0])); // a² eˣ
    /// assert_eq!(h.rows, [[2.0, 4.0], [4.0, 4.0]]);
    /// # Ok::<(), treedef_optim::ParametersError>(())
    /// ```
    pub fn hessian<U: DeserializeOwned>(
        &self,
        function: impl Fn(&U) -> HyperDual64,
        x: &[f64],
    ) -> Result<Hessian<Vec<f64>>> {
        self.plan.hessian(function, x)
    }
}

impl<T> Clone for Parameters<T> {
    fn clone(&self) -> Self {
        Parameters { plan: self.plan.clone(), model: PhantomData }
    }
}

impl<T> fmt::Debug for Parameters<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parameters")
            .field("treedef", &self.plan.treedef)
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
