//! The trait of leaves.

use std::ops::Range;

use serde::Serialize;
use serde::de::DeserializeOwned;
use treedef::{Flattener, Tree, TreeDef};

use crate::error::LeafError;
use crate::number::{Kernel, Term};
use crate::pairwise;

/// A leaf that can be trained: `f32`, `f64`, a [`TrainableArray`](crate::TrainableArray), or a tensor of
/// candle.
///
/// For your own array type in memory, implement [`TrainableArray`](crate::TrainableArray), which takes ten
/// lines. This trait is for numbers that are not in this memory, such as a tensor on a GPU.
///
/// # Which leaves a value has
///
/// For `f32` and `f64`, the leaves are the floats of the value; everything else in it is static, and is not
/// trained. A `Vec` of a million floats is a million leaves, and all leaves are in one flat vector. If some
/// numbers of that type are [objects](treedef::object), as in a model that is generic over its numbers,
/// only these are leaves: plain floats are static, too.
///
/// For all other types the leaves are the [objects](treedef::object) of that type.
///
/// Hidden functions are not part of the interface. `f32` and `f64` override them.
pub trait Trainable: Clone + 'static {
    /// Whether the leaf is one number, so that it has neither a shape nor a type of its own.
    const IS_NUMBER: bool = false;

    #[doc(hidden)]
    /// The leaves of a value with its structure.
    ///
    /// # Errors
    ///
    /// Returns an error when the value cannot be flattened.
    fn tree<T: Serialize + ?Sized>(value: &T) -> treedef::Result<Tree<Self>> {
        Tree::of_objects(value)
    }

    #[doc(hidden)]
    /// Puts the leaves of a value with a known structure into a buffer. The statics of the value
    /// may be ignored.
    ///
    /// # Errors
    ///
    /// Returns an error when the value has another structure.
    fn leaves_like<T: Serialize + ?Sized>(
        treedef: &TreeDef,
        value: &T,
        buffer: &mut Vec<Self>,
        ignore_statics: bool,
    ) -> treedef::Result<()> {
        Flattener::new().ignore_statics(ignore_statics).flatten_objects_like(treedef, value, buffer)
    }

    #[doc(hidden)]
    /// The value with these leaves, which are moved out of the vector.
    ///
    /// # Errors
    ///
    /// Returns an error when the type does not fit the structure.
    fn rebuild<T: DeserializeOwned>(
        treedef: &TreeDef,
        leaves: &mut Vec<Self>,
    ) -> treedef::Result<T> {
        treedef::unflatten_objects(treedef, std::mem::take(leaves))
    }

    #[doc(hidden)]
    /// Puts leaves into a value of this structure. With the feature `in_place`, fields that serde skips
    /// keep their content. On an error, the value is as before: a structure and the leaves that it had.
    ///
    /// # Errors
    ///
    /// As [`rebuild`](Self::rebuild).
    fn rebuild_into<T: DeserializeOwned>(
        treedef: &TreeDef,
        leaves: &mut Vec<Self>,
        value: &mut T,
        _before: (&TreeDef, &[Self]),
    ) -> treedef::Result<()> {
        #[cfg(feature = "in_place")]
        {
            // If the type refuses the numbers, it fails here: in place, a part of the value would
            // already be changed.
            Self::rebuild::<T>(treedef, &mut leaves.clone())?;
            treedef::__private::unflatten_objects_into(value, treedef, std::mem::take(leaves))
        }
        #[cfg(not(feature = "in_place"))]
        {
            *value = Self::rebuild(treedef, leaves)?;
            Ok(())
        }
    }

    /// Runs a kernel on the numbers of leaves of one type and shape.
    ///
    /// # Errors
    ///
    /// Returns an error when the shapes or types differ, or the operation fails.
    fn run<K: Kernel<S, R>, const S: usize, const R: usize>(
        kernel: &K,
        main: &mut Self,
        slots: [&mut Self; S],
        read: [&Self; R],
    ) -> Result<(), LeafError>;

    #[doc(hidden)]
    /// Runs a kernel on slices of one length. On an error, returns the position of the leaf, too.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    fn run_all<K: Kernel<S, R>, const S: usize, const R: usize>(
        kernel: &K,
        main: &mut [Self],
        mut slots: [&mut [Self]; S],
        read: [&[Self]; R],
    ) -> Result<(), (usize, LeafError)> {
        expect_length(main.len(), &slots, &read)?;
        for (at, main) in main.iter_mut().enumerate() {
            // In bounds, as checked above.
            let slots = slots.each_mut().map(|slot| &mut slot[at]);
            Self::run(kernel, main, slots, read.map(|read| &read[at]))
                .map_err(|error| (at, error))?;
        }
        Ok(())
    }

    /// The sum of a term over the numbers of leaves of one type and shape, pairwise and in `f64`.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    fn sum<K: Term<R>, const R: usize>(term: &K, read: [&Self; R]) -> Result<f64, LeafError>;

    #[doc(hidden)]
    /// The sum of a term over slices of one length.
    ///
    /// # Errors
    ///
    /// As [`run_all`](Self::run_all).
    fn sum_all<K: Term<R>, const R: usize>(
        term: &K,
        read: [&[Self]; R],
    ) -> Result<f64, (usize, LeafError)> {
        let length = read.first().map_or(0, |slice| slice.len());
        expect_length::<Self>(length, &[], &read)?;
        let sum =
            |at: usize| Self::sum(term, read.map(|read| &read[at])).map_err(|error| (at, error));
        pairwise::try_sum(0..length, &sum)
    }

    /// A leaf of this type and shape, all of whose numbers are zero.
    ///
    /// # Errors
    ///
    /// Returns an error when there is no such leaf.
    fn zero(&self) -> Result<Self, LeafError>;

    /// The type of the numbers and the shape, for messages: `f32[3, 4]`.
    fn describe(&self) -> String;

    /// The size of each dimension. A number has none.
    fn shape(&self) -> Vec<usize> {
        Vec::new()
    }

    /// Whether the other leaf has the type and the shape of this one.
    fn is_like(&self, other: &Self) -> bool;

    /// The numbers, in an order that depends only on the shape.
    ///
    /// # Errors
    ///
    /// Returns an error when they cannot be read.
    fn to_numbers(&self) -> Result<Vec<f64>, LeafError>;

    /// A leaf of this type and shape with other numbers, rounded to its type.
    ///
    /// # Errors
    ///
    /// Returns an error when there are too many or too few.
    fn with_numbers(&self, numbers: &[f64]) -> Result<Self, LeafError>;

    #[doc(hidden)]
    /// A leaf of this type and shape, with the mean along an axis in the place of each number.
    ///
    /// # Errors
    ///
    /// Returns an error when there is no such axis, or the numbers cannot be read.
    fn mean_along(&self, axis: usize) -> Result<Self, LeafError> {
        let (shape, mut numbers) = (self.shape(), self.to_numbers()?);
        let size =
            *shape.get(axis).ok_or_else(|| format!("there is no axis {axis} in {shape:?}"))?;
        let inner: usize = shape.iter().skip(axis + 1).product();
        if size > 0 && inner > 0 {
            for block in numbers.chunks_mut(size * inner) {
                for at in 0..inner {
                    let places = block.iter().skip(at).step_by(inner);
                    let mean = places.sum::<f64>() / size as f64;
                    block.iter_mut().skip(at).step_by(inner).for_each(|number| *number = mean);
                }
            }
        }
        self.with_numbers(&numbers)
    }

    /// Whether the numbers are floats. Other numbers have no derivative.
    fn is_float(&self) -> bool {
        true
    }

    #[doc(hidden)]
    /// The leaves that a value stores with less precision than this type: its `f32` among `f64`.
    ///
    /// # Errors
    ///
    /// Returns an error when the value cannot be flattened.
    fn coarse<T: Serialize + ?Sized>(_value: &T) -> treedef::Result<Vec<Range<usize>>> {
        Ok(Vec::new())
    }

    #[doc(hidden)]
    /// Rounds a leaf as its value does.
    fn coarsen(&mut self) {}

    /// The number, if the leaf is one.
    #[doc(hidden)]
    fn to_number(&self) -> Option<f64> {
        None
    }

    #[doc(hidden)]
    /// A count as a leaf, for files that can hold only leaves. `None` if a leaf cannot hold one.
    fn of_count(_count: u64) -> Option<Self> {
        None
    }

    #[doc(hidden)]
    /// The count in a leaf from [`of_count`](Self::of_count).
    fn to_count(&self) -> Option<u64> {
        None
    }
}

/// Checks that slices have one length.
pub(super) fn expect_length<L>(
    length: usize,
    slots: &[&mut [L]],
    read: &[&[L]],
) -> Result<(), (usize, LeafError)> {
    let lengths = slots.iter().map(|slot| slot.len()).chain(read.iter().map(|read| read.len()));
    match lengths.into_iter().find(|other| *other != length) {
        None => Ok(()),
        Some(other) => Err((0, format!("slices of {length} and {other} leaves").into())),
    }
}
