//! Arithmetic of typed values, as in `optax.tree`: the numbers change, everything else comes from the first
//! value.
//!
//! ```
//! use treedef_optim::tree;
//!
//! assert_eq!(tree::norm::<f64, _>(&(3.0, [4.0]))?, 5.0);
//! assert_eq!(tree::add::<f64, _>((3.0, [4.0]), &(1.0, [1.0]))?, (4.0, [5.0]));
//!
//! let error = tree::add::<f64, _>(vec![3.0, 4.0], &vec![3.0]).unwrap_err();
//! let reason = "expected 2 children, found 1 child at the root";
//! let message = format!("the second value has another structure than the first: {reason}");
//! assert_eq!(error.to_string(), message);
//! # Ok::<(), treedef_optim::Error>(())
//! ```
//!
//! Tensors of integers count as constants: they stay as they are, and are in no sum.
//!
//! A `Tree` has its own arithmetic: `map`, and `zip` for two.

use std::slice;

use serde::Serialize;
use serde::de::DeserializeOwned;
use treedef::{Tree, TreeDef};

use crate::argument::expect_step_size;
use crate::error::{Error, Result};
use crate::leaf::Trainable;
use crate::number::{AddScaled, Kernel, Number, Term};
use crate::state::expect_alike;
use crate::transform::{self, Projection, Scope, expect_finite};

const SECOND: &str = "the second value has another structure than the first";

/// Calls a function with all leaves of a structure.
fn everywhere<R>(treedef: &TreeDef, run: impl FnOnce(Scope<'_>) -> Result<R>) -> Result<R> {
    let all = 0..treedef.num_leaves();
    run(Scope { treedef, ranges: slice::from_ref(&all) })
}

/// The leaves of the second value, which has the structure of the first; its statics may differ.
fn like<L: Trainable>(first: &Tree<L>, second: &impl Serialize) -> Result<Vec<L>> {
    let mut leaves = Vec::new();
    L::leaves_like(first.treedef(), second, &mut leaves, true)
        .map_err(|source| Error::Structure { what: SECOND, source })?;
    expect_alike("the second value", first.treedef(), first.leaves(), &leaves)?;
    Ok(leaves)
}

/// The leaves whose numbers are summed. Without a float among them, all sums would be 0.
fn summands<L: Trainable>(value: &impl Serialize) -> Result<Tree<L>> {
    let tree = L::tree(value)?;
    match tree.leaves().first() {
        Some(first) if !tree.leaves().iter().any(L::is_float) => {
            Err(Error::NoFloats { found: first.describe(), path: tree.treedef().leaf_path(0)? })
        }
        _ => Ok(tree),
    }
}

/// The value after a kernel has changed its leaves.
fn changed<L: Trainable, T: Serialize + DeserializeOwned, const R: usize>(
    value: &T,
    kernel: &impl Kernel<0, R>,
    read: impl FnOnce(&Tree<L>) -> Result<[Vec<L>; R]>,
) -> Result<T> {
    let tree = L::tree(value)?;
    let read = read(&tree)?;
    let (treedef, mut leaves) = tree.into_parts();
    everywhere(&treedef, |scope| {
        scope.run(kernel, &mut leaves, [], read.each_ref().map(Vec::as_slice))
    })?;
    Ok(L::rebuild(&treedef, &mut leaves)?)
}

/// The sum of two values.
///
/// # Errors
///
/// Returns an error when the structures, shapes or types differ; it has the path and both sides. Also when a value
/// cannot be flattened or rebuilt.
pub fn add<L: Trainable, T: Serialize + DeserializeOwned>(first: T, second: &T) -> Result<T> {
    add_scaled::<L, T>(first, 1.0, second)
}

/// The difference of two values.
///
/// # Errors
///
/// As [`add`].
pub fn sub<L: Trainable, T: Serialize + DeserializeOwned>(first: T, second: &T) -> Result<T> {
    add_scaled::<L, T>(first, -1.0, second)
}

/// All numbers multiplied by a factor.
///
/// # Errors
///
/// Returns an error when the value cannot be flattened or rebuilt, or an operation on a leaf fails.
pub fn scale<L: Trainable, T: Serialize + DeserializeOwned>(factor: f64, value: T) -> Result<T> {
    changed::<L, T, 0>(&value, &Times(factor), |_| Ok([]))
}

/// Adds a multiple of the second value: `first + factor * second`.
///
/// # Errors
///
/// As [`add`].
#[doc(alias = "add_scale")]
pub fn add_scaled<L: Trainable, T: Serialize + DeserializeOwned>(
    first: T,
    factor: f64,
    second: &T,
) -> Result<T> {
    changed::<L, T, 1>(&first, &AddScaled(factor), |first| Ok([like(first, second)?]))
}

/// The moving average of parameters, in place: `step_size * new + (1 - step_size) * old`, optax's
/// `incremental_update`. Everything else is taken from the new value, such as its number of epochs and
/// tensors of integers.
///
/// # Errors
///
/// As [`add`], and when the step size is not from 0 to 1.
///
/// ```
/// use treedef_optim::tree::incremental_update;
///
/// // The average of decay 0.9.
/// let mut average = [1.0, 1.0];
/// incremental_update::<f64, _>(&[2.0f64, 0.0], &mut average, 1.0 - 0.9)?;
/// assert!((average[0] - 1.1).abs() < 1e-15 && (average[1] - 0.9).abs() < 1e-15);
/// # Ok::<(), treedef_optim::Error>(())
/// ```
pub fn incremental_update<L: Trainable, T: Serialize + DeserializeOwned>(
    new: &T,
    old: &mut T,
    step_size: f64,
) -> Result<()> {
    expect_step_size(step_size)?;
    let new = L::tree(new)?;
    let mut average = like(&new, old)?;
    everywhere(new.treedef(), |scope| {
        scope.run(&Towards(step_size), &mut average, [], [new.leaves()])
    })?;
    for (average, new) in average.iter_mut().zip(new.leaves()) {
        if !new.is_float() {
            *average = new.clone();
        }
    }
    let before = L::tree(old)?;
    let before = (before.treedef(), before.leaves());
    Ok(L::rebuild_into(new.treedef(), &mut average, old, before)?)
}

/// The nearest value in a set, such as a simplex: optax's `projections`. [`transform::project`] keeps the parameters of a
/// training in it.
///
/// # Errors
///
/// As [`scale`], and when the set is empty, a number is infinite or NaN, or a simplex has no number.
///
/// ```
/// use treedef_optim::transform::Projection;
/// use treedef_optim::tree::project;
///
/// let weights = project::<f64, _>([0.5, 1.0, -3.0], Projection::Simplex { sum: 1.0 })?;
/// assert_eq!(weights, [0.25, 0.75, 0.0]);
/// # Ok::<(), treedef_optim::Error>(())
/// ```
#[doc(alias = "projections")]
pub fn project<L: Trainable, T: Serialize + DeserializeOwned>(
    value: T,
    onto: Projection,
) -> Result<T> {
    onto.expect_sensible()?;
    let (treedef, mut leaves) = L::tree(&value)?.into_parts();
    everywhere(&treedef, |scope| onto.apply(scope, &mut leaves))?;
    Ok(L::rebuild(&treedef, &mut leaves)?)
}

/// The sum of the products of numbers in the same place, pairwise and in `f64`.
///
/// # Errors
///
/// As [`add`], and when all leaves are tensors of integers.
#[doc(alias = "vdot")]
pub fn dot<L: Trainable, T: Serialize>(first: &T, second: &T) -> Result<f64> {
    let first = summands::<L>(first)?;
    let second = like(&first, second)?;
    everywhere(first.treedef(), |scope| scope.sum(&Product, [first.leaves(), &second]))
}

/// The square root of the sum of all squares: optax's `global_norm`. It is also right if the
/// squares are too large or too small for an `f64`.
///
/// # Errors
///
/// As [`scale`], and when all leaves are tensors of integers.
#[doc(alias = "global_norm")]
pub fn norm<L: Trainable, T: Serialize>(value: &T) -> Result<f64> {
    let tree = summands::<L>(value)?;
    everywhere(tree.treedef(), |scope| transform::norm(scope, tree.leaves()))
}

/// The sum of all numbers, pairwise and in `f64`: the error does not grow with their count.
///
/// # Errors
///
/// As [`scale`], and when all leaves are tensors of integers.
pub fn sum<L: Trainable, T: Serialize>(value: &T) -> Result<f64> {
    let tree = summands::<L>(value)?;
    everywhere(tree.treedef(), |scope| scope.sum(&Same, [tree.leaves()]))
}

/// Zeros in the same places.
///
/// # Errors
///
/// As [`scale`].
pub fn zeros_like<L: Trainable, T: Serialize + DeserializeOwned>(value: &T) -> Result<T> {
    let tree = L::tree(value)?;
    let zeros = tree
        .iter()
        .map(|(path, leaf)| leaf.zero().map_err(|source| Error::Operation { path, source }));
    let mut zeros = zeros.collect::<Result<Vec<L>>>()?;
    Ok(L::rebuild(tree.treedef(), &mut zeros)?)
}

/// Whether no number is infinite or NaN.
///
/// # Errors
///
/// As [`scale`].
pub fn is_finite<L: Trainable, T: Serialize>(value: &T) -> Result<bool> {
    let tree = L::tree(value)?;
    match everywhere(tree.treedef(), |scope| expect_finite("a value", scope, tree.leaves())) {
        Ok(()) => Ok(true),
        Err(Error::NotFinite { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// A value that is generic over its numbers, with numbers of another type: `f32` or `f64`. Tensors have `to_dtype` of
/// `treedef-candle`.
///
/// # Errors
///
/// Returns an error when a value cannot be flattened or rebuilt.
///
/// ```
/// use treedef_optim::tree::cast;
///
/// let value: (f32, [f32; 1]) = cast::<f32, f64, _, _>(&(0.5f64, [1.5f64]))?;
/// assert_eq!(value, (0.5, [1.5]));
/// # Ok::<(), treedef_optim::Error>(())
/// ```
pub fn cast<M, L, T, U>(value: &T) -> Result<U>
where
    L: Trainable + Into<f64>,
    M: Trainable + Number + Default,
    T: Serialize,
    U: DeserializeOwned,
{
    let tree = L::tree(value)?;
    let cast = tree.iter().map(|(path, leaf)| {
        let cast = M::default().with_numbers(&[leaf.clone().into()]);
        cast.map_err(|source| Error::Operation { path, source })
    });
    let mut leaves = cast.collect::<Result<Vec<M>>>()?;
    Ok(M::rebuild(tree.treedef(), &mut leaves)?)
}

#[derive(Clone, Copy)]
struct Towards(f64);

impl Kernel<0, 1> for Towards {
    #[inline(always)]
    fn run<X: Number>(&self, old: X, []: [X; 0], [new]: [X; 1]) -> (X, [X; 0]) {
        (new.times(self.0) + old.times(1.0 - self.0), [])
    }
}

#[derive(Clone, Copy)]
struct Times(f64);

impl Kernel<0, 0> for Times {
    #[inline(always)]
    fn run<X: Number>(&self, number: X, []: [X; 0], []: [X; 0]) -> (X, [X; 0]) {
        (number.times(self.0), [])
    }
}

#[derive(Clone, Copy)]
struct Product;

impl Term<2> for Product {
    #[inline(always)]
    fn term<X: Number>(&self, [a, b]: [X; 2]) -> X {
        a * b
    }
}

#[derive(Clone, Copy)]
struct Same;

impl Term<1> for Same {
    #[inline(always)]
    fn term<X: Number>(&self, [x]: [X; 1]) -> X {
        x
    }
}
