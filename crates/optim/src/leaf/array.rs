//! Leaves that are arrays in memory.

use std::any::type_name;
use std::rc::Rc;
use std::sync::Arc;

use super::{Trainable, slices};
use crate::error::LeafError;
use crate::number::{Kernel, Number, Term};

/// An array of numbers in memory as one leaf. To train your own array type, implement only this
/// trait.
///
/// ```
/// use std::sync::Arc;
///
/// use treedef_optim::TrainableArray;
///
/// #[derive(Clone)]
/// struct Matrix { shape: [usize; 2], data: Arc<Vec<f32>> }
///
/// impl TrainableArray for Matrix {
///     type Number = f32;
///     fn numbers(&self) -> &[f32] { &self.data }
///     fn numbers_mut(&mut self) -> &mut [f32] { &mut Arc::make_mut(&mut self.data)[..] }
///     fn shape(&self) -> Vec<usize> { self.shape.to_vec() }
/// }
///
/// # use serde::{Deserialize, Serialize};
/// # use treedef_optim::{sgd, Optimiser};
/// #[derive(Serialize, Deserialize)]
/// struct Model { #[serde(with = "treedef::object")] w: Matrix }
///
/// let model = |number| Model { w: Matrix { shape: [1, 2], data: Arc::new(vec![number; 2]) } };
/// let mut state = sgd(0.5).init::<Matrix, _>(&model(1.0))?;
/// let model = sgd(0.5).step(model(1.0), model(0.5), &mut state)?;
/// assert_eq!(*model.w.data, [0.75, 0.75]);
/// # Ok::<(), treedef_optim::Error>(())
/// ```
///
/// If clones share their numbers, as here, [`step`](crate::Optimiser::step) updates them in place
/// unless another clone exists. The trait is implemented for `Vec<N>`, `Box<[N]>`, `Rc<[N]>`,
/// `Arc<[N]>`, `Rc<Vec<N>>` and `Arc<Vec<N>>` of `f32` and `f64`.
pub trait TrainableArray: Clone + 'static {
    /// `f32` or `f64`.
    type Number: Number + Copy + Default + Into<f64> + 'static;

    /// The numbers, in an order that depends only on the shape.
    fn numbers(&self) -> &[Self::Number];

    /// The numbers, for this array only: if they are shared, they are copied first.
    fn numbers_mut(&mut self) -> &mut [Self::Number];

    /// The shape. Arrays that are combined must have the same.
    fn shape(&self) -> Vec<usize> {
        vec![self.numbers().len()]
    }
}

impl<A: TrainableArray> Trainable for A {
    fn run<K: Kernel<S, R>, const S: usize, const R: usize>(
        kernel: &K,
        main: &mut Self,
        slots: [&mut Self; S],
        read: [&Self; R],
    ) -> Result<(), LeafError> {
        let main = main.numbers_mut();
        let length = main.len();
        let slots = slots.map(TrainableArray::numbers_mut);
        let read = read.map(TrainableArray::numbers);
        let lengths = slots.iter().map(|slot| slot.len()).chain(read.iter().map(|read| read.len()));
        if let Some(other) = lengths.into_iter().find(|other| *other != length) {
            return Err(format!("arrays of {length} and {other} numbers").into());
        }
        slices::run(kernel, main, slots, read);
        Ok(())
    }

    fn sum<K: Term<R>, const R: usize>(term: &K, read: [&Self; R]) -> Result<f64, LeafError> {
        let read = read.map(TrainableArray::numbers);
        let length = read.first().map_or(0, |numbers| numbers.len());
        if let Some(other) = read.iter().map(|read| read.len()).find(|other| *other != length) {
            return Err(format!("arrays of {length} and {other} numbers").into());
        }
        let read = read.map(|read| &read[..length]);
        let term = |at: usize| term.term(read.map(|read| read[at].into()));
        Ok(crate::pairwise::sum(0..length, &term))
    }

    fn zero(&self) -> Result<Self, LeafError> {
        let mut zero = self.clone();
        zero.numbers_mut().fill(A::Number::default());
        Ok(zero)
    }

    fn describe(&self) -> String {
        format!("{}{:?}", type_name::<A::Number>(), TrainableArray::shape(self))
    }

    fn to_numbers(&self) -> Result<Vec<f64>, LeafError> {
        Ok(self.numbers().iter().map(|number| (*number).into()).collect())
    }

    fn with_numbers(&self, numbers: &[f64]) -> Result<Self, LeafError> {
        let mut new = self.clone();
        let places = new.numbers_mut();
        if places.len() != numbers.len() {
            return Err(
                format!("expected {} numbers, found {}", places.len(), numbers.len()).into()
            );
        }
        let number = |number: &f64| A::Number::default().plus(*number);
        places.iter_mut().zip(numbers).for_each(|(place, new)| *place = number(new));
        Ok(new)
    }

    fn shape(&self) -> Vec<usize> {
        TrainableArray::shape(self)
    }

    fn is_like(&self, other: &Self) -> bool {
        self.numbers().len() == other.numbers().len()
            && TrainableArray::shape(self) == TrainableArray::shape(other)
    }
}

macro_rules! array {
    ($($number:ident { $($type:ty, $self:ident => $mutable:expr;)* })*) => {$($(
        impl TrainableArray for $type {
            type Number = $number;

            fn numbers(&self) -> &[$number] {
                self
            }

            fn numbers_mut(&mut $self) -> &mut [$number] {
                $mutable
            }
        }
    )*)*};
}

macro_rules! arrays {
    ($($number:ident)*) => {
        array! {$(
            $number {
                Vec<$number>, self => self;
                Box<[$number]>, self => self;
                Rc<[$number]>, self => Rc::make_mut(self);
                Arc<[$number]>, self => Arc::make_mut(self);
                Rc<Vec<$number>>, self => Rc::<Vec<_>>::make_mut(self);
                Arc<Vec<$number>>, self => Arc::<Vec<_>>::make_mut(self);
            }
        )*}
    };
}

arrays! { f32 f64 }
