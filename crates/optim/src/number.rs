//! Arithmetic that is written once, for single numbers and for tensors on any device.

use std::ops::{Add, Div, Mul, Sub};

/// A type for the arithmetic of rules: `f32` and `f64`, or a whole tensor whose numbers are not in
/// this memory. A [`Rule`] is generic over it, as in the example of the [module](crate::transform).
pub trait Number:
    Clone + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// The product with a constant.
    fn times(self, factor: f64) -> Self;

    /// The sum with a constant.
    fn plus(self, term: f64) -> Self;

    /// Zero, whatever this number is.
    fn zero(self) -> Self;

    /// The square root.
    fn sqrt(self) -> Self;

    /// 1, −1 or 0, and NaN for NaN.
    fn sign(self) -> Self;

    /// The nearest number between two others, and NaN for NaN.
    fn clamp(self, lower: f64, upper: f64) -> Self;
}

macro_rules! number {
    ($($type:ident)*) => {$(
        #[allow(clippy::cast_possible_truncation, reason = "constants are rounded to the type of the numbers")]
        impl Number for $type {
            #[inline(always)]
            fn times(self, factor: f64) -> Self {
                self * factor as $type
            }

            #[inline(always)]
            fn plus(self, term: f64) -> Self {
                self + term as $type
            }

            #[inline(always)]
            fn zero(self) -> Self {
                0.0
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                $type::sqrt(self)
            }

            #[inline(always)]
            fn sign(self) -> Self {
                if self > 0.0 {
                    1.0
                } else if self < 0.0 {
                    -1.0
                } else {
                    self
                }
            }

            #[inline(always)]
            fn clamp(self, lower: f64, upper: f64) -> Self {
                let (lower, upper) = (lower as $type, upper as $type);
                if self > upper {
                    upper
                } else if self < lower {
                    lower
                } else {
                    self
                }
            }
        }
    )*};
}

number! { f32 f64 }

/// The moving average of a number. The old average has the weight `decay`.
#[inline(always)]
pub(crate) fn mean<X: Number>(number: X, before: X, decay: f64) -> X {
    number.times(1.0 - decay) + before.times(decay)
}

/// The update with momentum, and the new trace.
#[inline(always)]
pub(crate) fn momentum<X: Number>(update: X, trace: X, decay: f64, nesterov: bool) -> (X, X) {
    let trace = update.clone() + trace.times(decay);
    let update = if nesterov { update + trace.clone().times(decay) } else { trace.clone() };
    (update, trace)
}

/// An operation on each number of several leaves at once: one number and `S` others are changed, and `R`
/// are read.
///
/// Optimisers are written as a [`Rule`]. You only need this trait to implement
/// [`Trainable`](crate::Trainable) for a type, whose functions get a kernel and run it on their numbers.
pub trait Kernel<const S: usize, const R: usize>: Copy {
    /// The new numbers.
    fn run<X: Number>(&self, main: X, slots: [X; S], read: [X; R]) -> (X, [X; S]);
}

/// One term of a sum over the numbers of `R` leaves, such as the square of a number for a norm. Only
/// implementations of [`Trainable`](crate::Trainable) need it.
pub trait Term<const R: usize>: Copy {
    /// The term for the numbers in one place.
    fn term<X: Number>(&self, read: [X; R]) -> X;
}

/// The rule of an optimiser, for one number: it computes the update of a parameter from its
/// gradient, its value and `S` remembered numbers.
///
/// The update is *added* to the parameter, as in optax, so the rule of plain descent returns
/// `gradient.times(-rate)`. A rule is a few `Copy` numbers, so that a loop has them in registers. The
/// [module](crate::transform) has an example.
pub trait Rule<const S: usize>: Copy {
    /// The update, and the new remembered numbers.
    fn next<X: Number>(&self, gradient: X, parameter: X, slots: [X; S]) -> (X, [X; S]);
}

/// Replaces the gradient by the update.
#[derive(Clone, Copy)]
pub(crate) struct Update<Q>(pub(crate) Q);

impl<Q: Rule<S>, const S: usize> Kernel<S, 1> for Update<Q> {
    #[inline(always)]
    fn run<X: Number>(&self, gradient: X, slots: [X; S], [parameter]: [X; 1]) -> (X, [X; S]) {
        self.0.next(gradient, parameter, slots)
    }
}

/// Adds the update to the parameter.
#[derive(Clone, Copy)]
pub(crate) struct Descend<Q>(pub(crate) Q);

impl<Q: Rule<S>, const S: usize> Kernel<S, 1> for Descend<Q> {
    #[inline(always)]
    fn run<X: Number>(&self, parameter: X, slots: [X; S], [gradient]: [X; 1]) -> (X, [X; S]) {
        let (update, slots) = self.0.next(gradient, parameter.clone(), slots);
        (parameter + update, slots)
    }
}

/// Adds a multiple of the other number.
#[derive(Clone, Copy)]
pub(crate) struct AddScaled(pub(crate) f64);

impl Kernel<0, 1> for AddScaled {
    #[inline(always)]
    fn run<X: Number>(&self, first: X, []: [X; 0], [second]: [X; 1]) -> (X, [X; 0]) {
        (first + second.times(self.0), [])
    }
}
