//! Arithmetic of trees and of typed values, as in `optax.tree`.
//!
//! Each function exists for trees and, with the same name in [`typed`], for values:
//!
//! ```
//! use treedef::Tree;
//! use treedef_optim::tree::{self, typed};
//!
//! let tree = Tree::<f64>::of_as(&(3.0, [4.0]))?;
//! assert_eq!(tree::norm(&tree)?, 5.0);
//! assert_eq!(typed::norm::<f64, _>(&(3.0, [4.0]))?, 5.0);
//! assert_eq!(typed::add::<f64, _>((3.0, [4.0]), &(1.0, [1.0]))?, (4.0, [5.0]));
//!
//! let error = tree::add(tree, &Tree::<f64>::of_as(&(3.0, [4.0, 5.0]))?).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "the second value has another structure than the first: \
//!      expected 1 child, found 2 children at `.1`"
//! );
//! # Ok::<(), treedef_optim::Error>(())
//! ```

use std::slice;

use treedef::Tree;

use crate::argument::expect_step_size;
use crate::error::{Error, Result};
use crate::leaf::Leaf;
use crate::number::{Kernel, Number, Term};
use crate::state::{expect_alike, expect_same};
use crate::transform::{Place, expect_finite, scaled_norm};

const SECOND: &str = "the second value has another structure than the first";

/// Runs something on all leaves of a tree.
fn all<L: Leaf, R>(tree: &Tree<L>, run: impl FnOnce(Place<'_>) -> Result<R>) -> Result<R> {
    let all = 0..tree.leaves().len();
    run(Place { treedef: tree.treedef(), ranges: slice::from_ref(&all) })
}

fn expect_both<L: Leaf>(first: &Tree<L>, second: &Tree<L>) -> Result<()> {
    if first.treedef() != second.treedef() {
        expect_same(SECOND, first.treedef(), second.treedef())?;
    }
    expect_alike("the second value", first.treedef(), first.leaves(), second.leaves())
}

fn zip_in_place<L: Leaf>(
    first: &mut Tree<L>,
    second: &Tree<L>,
    kernel: &impl Kernel<0, 1>,
) -> Result<()> {
    expect_both(first, second)?;
    let all = 0..second.leaves().len();
    let place = Place { treedef: second.treedef(), ranges: slice::from_ref(&all) };
    place.run(kernel, first.leaves_mut(), [], [second.leaves()])
}

/// The sum of two trees.
///
/// # Errors
///
/// Returns an error when the structures, shapes or types differ; it has the path and both sides.
pub fn add<L: Leaf>(first: Tree<L>, second: &Tree<L>) -> Result<Tree<L>> {
    add_scaled(first, 1.0, second)
}

/// The difference of two trees.
///
/// # Errors
///
/// As [`add`].
pub fn sub<L: Leaf>(first: Tree<L>, second: &Tree<L>) -> Result<Tree<L>> {
    add_scaled(first, -1.0, second)
}

/// All numbers multiplied by a factor.
///
/// # Errors
///
/// Returns an error when an operation on a leaf fails.
pub fn scale<L: Leaf>(factor: f64, tree: Tree<L>) -> Result<Tree<L>> {
    let (treedef, mut leaves) = tree.into_parts();
    let all = 0..leaves.len();
    let place = Place { treedef: &treedef, ranges: slice::from_ref(&all) };
    place.run(&Times(factor), &mut leaves, [], [])?;
    Ok(Tree::new(treedef, leaves)?)
}

/// `first + factor * second`.
///
/// # Errors
///
/// As [`add`].
#[doc(alias = "add_scale")]
pub fn add_scaled<L: Leaf>(first: Tree<L>, factor: f64, second: &Tree<L>) -> Result<Tree<L>> {
    let mut sum = first;
    zip_in_place(&mut sum, second, &AddScaled(factor))?;
    Ok(sum)
}

/// The moving average of parameters, which becomes `step_size * new + (1 - step_size) * old`: optax's
/// `incremental_update`, in place.
///
/// # Errors
///
/// As [`add`], and when the step size is not from 0 to 1.
///
/// ```
/// use treedef_optim::tree::typed::incremental_update;
///
/// // The average of decay 0.9.
/// let mut average = [1.0, 1.0];
/// incremental_update::<f64, _>(&[2.0f64, 0.0], &mut average, 1.0 - 0.9)?;
/// assert!((average[0] - 1.1).abs() < 1e-15 && (average[1] - 0.9).abs() < 1e-15);
/// # Ok::<(), treedef_optim::Error>(())
/// ```
pub fn incremental_update<L: Leaf>(new: &Tree<L>, old: &mut Tree<L>, step_size: f64) -> Result<()> {
    expect_step_size(step_size)?;
    zip_in_place(old, new, &Towards(step_size))
}

/// The sum of the products of numbers in the same place, pairwise and in `f64`.
///
/// # Errors
///
/// As [`add`].
#[doc(alias = "vdot")]
pub fn dot<L: Leaf>(first: &Tree<L>, second: &Tree<L>) -> Result<f64> {
    expect_both(first, second)?;
    all(first, |place| place.sum(&Product, [first.leaves(), second.leaves()]))
}

/// The square root of the sum of all squares: optax's `global_norm`. Squares may be too large or too
/// small for an `f64` where the root is not.
///
/// # Errors
///
/// As [`scale`].
#[doc(alias = "global_norm")]
pub fn norm<L: Leaf>(tree: &Tree<L>) -> Result<f64> {
    let (scale, norm) = all(tree, |place| scaled_norm(place, tree.leaves()))?;
    Ok(norm / scale)
}

/// The sum of all numbers, pairwise and in `f64`: the error does not grow with their count.
///
/// # Errors
///
/// As [`scale`].
pub fn sum<L: Leaf>(tree: &Tree<L>) -> Result<f64> {
    all(tree, |place| place.sum(&Same, [tree.leaves()]))
}

/// Zeros in the same places.
///
/// # Errors
///
/// As [`scale`].
pub fn zeros_like<L: Leaf>(tree: &Tree<L>) -> Result<Tree<L>> {
    let zeros = tree
        .iter()
        .map(|(path, leaf)| leaf.zero().map_err(|source| Error::Operation { path, source }));
    Ok(Tree::new(tree.treedef().clone(), zeros.collect::<Result<Vec<L>>>()?)?)
}

/// Whether no number is infinite or NaN.
///
/// # Errors
///
/// As [`scale`].
pub fn is_finite<L: Leaf>(tree: &Tree<L>) -> Result<bool> {
    match all(tree, |place| expect_finite("a value", place, tree.leaves())) {
        Ok(()) => Ok(true),
        Err(Error::NotFinite { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The numbers in another type: what [`cast`] makes.
pub trait Cast<M>: Leaf {
    /// The number in the other type, rounded.
    fn cast(&self) -> M;
}

macro_rules! cast {
    ($($from:ident to $to:ident;)*) => {$(
        #[allow(clippy::cast_possible_truncation, reason = "it is rounded")]
        impl Cast<$to> for $from {
            fn cast(&self) -> $to {
                *self as $to
            }
        }
    )*};
}

cast! { f32 to f32; f32 to f64; f64 to f32; f64 to f64; }

/// The numbers in another type. Those of tensors: `to_dtype` of `treedef-candle`.
pub fn cast<M, L: Cast<M>>(tree: Tree<L>) -> Tree<M> {
    tree.map(|leaf| leaf.cast())
}

/// The same functions for values.
pub mod typed {
    use serde::Serialize;
    use serde::de::DeserializeOwned;

    use super::*;

    fn with<L: Leaf, T: Serialize + DeserializeOwned>(
        value: &T,
        change: impl FnOnce(Tree<L>) -> Result<Tree<L>>,
    ) -> Result<T> {
        let (treedef, mut leaves) = change(L::tree(value)?)?.into_parts();
        Ok(L::rebuild(&treedef, &mut leaves)?)
    }

    /// The tree of the second value, with the structure of the first, whatever its statics are.
    fn like<L: Leaf, T: Serialize>(first: &Tree<L>, second: &T) -> Result<Tree<L>> {
        let mut leaves = Vec::new();
        let found = L::leaves_like(first.treedef(), second, &mut leaves, true);
        found.map_err(|source| Error::Structure { what: SECOND, source })?;
        Ok(Tree::new(first.treedef().clone(), leaves)?)
    }

    macro_rules! of_two {
        ($($(#[$doc:meta])* $name:ident $(($factor:ident: f64))?;)*) => {$(
            #[doc = concat!("As [`tree::", stringify!($name), "`](super::", stringify!($name), "()). The statics are those of the first.")]
            ///
            /// # Errors
            ///
            /// As there.
            pub fn $name<L: Leaf, T: Serialize + DeserializeOwned>(
                first: T,
                $($factor: f64,)?
                second: &T,
            ) -> Result<T> {
                with::<L, T>(&first, |tree| {
                    let second = like(&tree, second)?;
                    super::$name(tree, $($factor,)? &second)
                })
            }
        )*};
    }

    of_two! { add; sub; add_scaled(factor: f64); }

    /// As [`tree::scale`](super::scale).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn scale<L: Leaf, T: Serialize + DeserializeOwned>(factor: f64, value: T) -> Result<T> {
        with::<L, T>(&value, |tree| super::scale(factor, tree))
    }

    /// As [`tree::incremental_update`](super::incremental_update()).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn incremental_update<L: Leaf, T: Serialize + DeserializeOwned>(
        new: &T,
        old: &mut T,
        step_size: f64,
    ) -> Result<()> {
        let new = L::tree(new)?;
        let mut average = like(&new, old)?;
        super::incremental_update(&new, &mut average, step_size)?;
        // With the statics of the new one, such as its number of epochs.
        let (treedef, mut leaves) = average.into_parts();
        Ok(L::rebuild_into(&treedef, &mut leaves, old)?)
    }

    /// As [`tree::dot`](super::dot).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn dot<L: Leaf, T: Serialize>(first: &T, second: &T) -> Result<f64> {
        let first = L::tree(first)?;
        super::dot(&first, &like(&first, second)?)
    }

    macro_rules! of_one {
        ($($name:ident: $result:ty;)*) => {$(
            #[doc = concat!("As [`tree::", stringify!($name), "`](super::", stringify!($name), "()).")]
            ///
            /// # Errors
            ///
            /// As there.
            pub fn $name<L: Leaf, T: Serialize>(value: &T) -> Result<$result> {
                super::$name(&L::tree(value)?)
            }
        )*};
    }

    of_one! { norm: f64; sum: f64; is_finite: bool; }

    /// As [`tree::zeros_like`](super::zeros_like).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn zeros_like<L: Leaf, T: Serialize + DeserializeOwned>(value: &T) -> Result<T> {
        with::<L, T>(value, |tree| super::zeros_like(&tree))
    }

    /// As [`tree::cast`](super::cast()): a value that is generic over its numbers, with others.
    ///
    /// # Errors
    ///
    /// Returns an error when a value cannot be flattened or rebuilt.
    ///
    /// ```
    /// use treedef_optim::tree::typed::cast;
    ///
    /// let value: (f32, [f32; 1]) = cast::<f32, f64, _, _>(&(0.5f64, [1.5f64]))?;
    /// assert_eq!(value, (0.5, [1.5]));
    /// # Ok::<(), treedef_optim::Error>(())
    /// ```
    pub fn cast<M, L, T, U>(value: &T) -> Result<U>
    where
        L: Cast<M>,
        M: Leaf,
        T: Serialize,
        U: DeserializeOwned,
    {
        let (treedef, mut leaves) = super::cast::<M, L>(L::tree(value)?).into_parts();
        Ok(M::rebuild(&treedef, &mut leaves)?)
    }
}

#[derive(Clone, Copy)]
struct AddScaled(f64);

impl Kernel<0, 1> for AddScaled {
    #[inline(always)]
    fn run<X: Number>(&self, first: X, []: [X; 0], [second]: [X; 1]) -> (X, [X; 0]) {
        (first + second.times(self.0), [])
    }
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
