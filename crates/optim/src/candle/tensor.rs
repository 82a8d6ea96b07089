//! Tensors as leaves.
//!
//! Tensors of `f32` and `f64` in the memory of the CPU are read as slices, so that an optimiser makes one
//! pass over the numbers. Others use candle's own operations, on their device.

use std::ops::{Add, Div, Mul, Sub};

use candle_core::{CpuStorage, DType, Device, DeviceLocation, Storage, Tensor, WithDType};

use crate::error::{LeafError, ON};
use crate::leaf::Trainable;
use crate::number::{Kernel, Number, Term};
use crate::pairwise;

impl Trainable for Tensor {
    fn run<K: Kernel<S, R>, const S: usize, const R: usize>(
        kernel: &K,
        main: &mut Self,
        slots: [&mut Self; S],
        read: [&Self; R],
    ) -> Result<(), LeafError> {
        if !main.dtype().is_float() {
            return Ok(()); // an integer is no parameter: it stays as it is
        }
        for other in slots.iter().map(|slot| &**slot).chain(read) {
            expect_like(main, other)?;
        }
        let inputs = slots.each_ref().map(|slot| (**slot).clone());
        let (new, remembered) = match (main.device(), main.dtype()) {
            (Device::Cpu, DType::F32) => run_slices::<f32, K, S, R>(kernel, main, inputs, read)?,
            (Device::Cpu, DType::F64) => run_slices::<f64, K, S, R>(kernel, main, inputs, read)?,
            _ => run_tensors(kernel, main, inputs, read)?,
        };
        *main = new;
        slots.into_iter().zip(remembered).for_each(|(slot, new)| *slot = new);
        Ok(())
    }

    fn sum<K: Term<R>, const R: usize>(term: &K, read: [&Self; R]) -> Result<f64, LeafError> {
        let Some(first) = read.first() else { return Ok(0.0) };
        for other in &read {
            expect_like(first, other)?;
        }
        match (first.device(), first.dtype()) {
            (Device::Cpu, DType::F32) => sum_slices::<f32, K, R>(term, read),
            (Device::Cpu, DType::F64) => sum_slices::<f64, K, R>(term, read),
            (_, dtype) if !dtype.is_float() => Ok(0.0),
            (device, _) => {
                // Not all devices have doubles.
                let wide = if device.is_cpu() { DType::F64 } else { DType::F32 };
                let lanes = read.map(|tensor| Lane(tensor.to_dtype(wide)));
                Ok(term.term(lanes).0?.sum_all()?.to_numbers()?.iter().sum())
            }
        }
    }

    fn zero(&self) -> Result<Self, LeafError> {
        // One number for all places, so that a moment of a frozen parameter needs no memory.
        let zero = Tensor::zeros((), self.dtype(), self.device())?;
        Ok(zero.broadcast_as(self.shape())?)
    }

    fn describe(&self) -> String {
        let tensor = format!("{}{:?}", self.dtype().as_str(), self.dims());
        match self.device().location() {
            DeviceLocation::Cpu => tensor,
            other => format!("{tensor}{ON}{other:?}"),
        }
    }

    fn shape(&self) -> Vec<usize> {
        self.dims().to_vec()
    }

    fn is_like(&self, other: &Self) -> bool {
        self.dtype() == other.dtype()
            && self.dims() == other.dims()
            && self.device().same_device(other.device())
    }

    fn is_float(&self) -> bool {
        self.dtype().is_float()
    }

    fn to_numbers(&self) -> Result<Vec<f64>, LeafError> {
        // Not all devices have doubles.
        Ok(self.to_device(&Device::Cpu)?.to_dtype(DType::F64)?.flatten_all()?.to_vec1()?)
    }

    fn with_numbers(&self, numbers: &[f64]) -> Result<Self, LeafError> {
        let tensor = Tensor::from_slice(numbers, self.shape(), &Device::Cpu)?;
        Ok(tensor.to_dtype(self.dtype())?.to_device(self.device())?)
    }

    /// The mean is in memory once for all numbers along the axis.
    fn mean_along(&self, axis: usize) -> Result<Self, LeafError> {
        let wide = if self.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
        let mean = self.detach().to_dtype(wide)?.mean_keepdim(axis)?.to_dtype(self.dtype())?;
        Ok(mean.broadcast_as(self.shape())?)
    }

    fn of_count(count: u64) -> Option<Self> {
        Tensor::new(i64::try_from(count).ok()?, &Device::Cpu).ok()
    }

    fn to_count(&self) -> Option<u64> {
        u64::try_from(self.to_scalar::<i64>().ok()?).ok()
    }
}

fn expect_like(expected: &Tensor, found: &Tensor) -> Result<(), LeafError> {
    if expected.is_like(found) {
        return Ok(());
    }
    let (expected, found) = (expected.describe(), found.describe());
    Err(format!("a tensor {expected} beside one {found}").into())
}

/// A type of numbers whose storage is a slice on the CPU.
trait Slice: WithDType + Number + Into<f64> {
    fn of(storage: &CpuStorage) -> Option<&[Self]>;
}

impl Slice for f32 {
    fn of(storage: &CpuStorage) -> Option<&[Self]> {
        match storage {
            CpuStorage::F32(numbers) => Some(numbers),
            _ => None,
        }
    }
}

impl Slice for f64 {
    fn of(storage: &CpuStorage) -> Option<&[Self]> {
        match storage {
            CpuStorage::F64(numbers) => Some(numbers),
            _ => None,
        }
    }
}

/// The numbers of a tensor, in the order of its shape.
macro_rules! slices {
    ($tensors:expr => $guards:ident, $slices:ident: $N:ident) => {
        let $guards = $tensors.each_ref().map(|tensor| tensor.storage_and_layout());
        let mut failed = None;
        let $slices = $guards.each_ref().map(|(storage, layout)| {
            let numbers = match &**storage {
                Storage::Cpu(storage) => $N::of(storage),
                _ => None,
            };
            let range = layout.contiguous_offsets();
            let found = numbers.zip(range).and_then(|(numbers, (from, to))| numbers.get(from..to));
            found.unwrap_or_else(|| {
                failed = Some("a tensor is not contiguous in the memory of the CPU");
                &[]
            })
        });
        if let Some(failed) = failed {
            return Err(failed.into());
        }
    };
}

fn contiguous<const N: usize>(tensors: [&Tensor; N]) -> Result<[Tensor; N], LeafError> {
    let mut failed = None;
    let tensors = tensors.map(|tensor| {
        tensor.contiguous().unwrap_or_else(|error| {
            failed = Some(error);
            tensor.clone()
        })
    });
    failed.map_or(Ok(tensors), |error| Err(error.into()))
}

type Results<const S: usize> = Result<(Tensor, [Tensor; S]), LeafError>;

fn run_slices<N: Slice, K: Kernel<S, R>, const S: usize, const R: usize>(
    kernel: &K,
    main: &Tensor,
    slots: [Tensor; S],
    read: [&Tensor; R],
) -> Results<S> {
    let (shape, length) = (main.shape().clone(), main.elem_count());
    let [main] = contiguous([main])?;
    let (slots, read) = (contiguous(slots.each_ref())?, contiguous(read)?);
    let mut new = vec![N::from_f64(0.0); length];
    let mut remembered = [(); S].map(|()| vec![N::from_f64(0.0); length]);
    {
        slices!([&main] => guards, mains: N);
        slices!(slots => slot_guards, slots: N);
        slices!(read => read_guards, read: N);
        let [main] = mains.map(|main| &main[..length]);
        // Of the length of the shape, so that the loop has no checks.
        let slots = slots.map(|slot| &slot[..length]);
        let read = read.map(|read| &read[..length]);
        let new = &mut new[..length];
        let mut remembered = remembered.each_mut().map(|slot| &mut slot[..length]);
        for at in 0..length {
            let before = slots.map(|slot| slot[at]);
            let (number, after) = kernel.run(main[at], before, read.map(|read| read[at]));
            new[at] = number;
            for (slot, number) in remembered.iter_mut().zip(after) {
                slot[at] = number;
            }
        }
    }
    let tensor = |numbers: Vec<N>| Tensor::from_vec(numbers, shape.clone(), &Device::Cpu);
    collected(tensor(new), remembered.map(tensor))
}

/// The tensors, or the first error.
fn collected<const S: usize>(
    main: candle_core::Result<Tensor>,
    slots: [candle_core::Result<Tensor>; S],
) -> Results<S> {
    let main = main?;
    let mut failed = None;
    let slots = slots.map(|slot| {
        slot.unwrap_or_else(|error| {
            failed = Some(error);
            main.clone()
        })
    });
    failed.map_or(Ok((main, slots)), |error| Err(error.into()))
}

fn sum_slices<N: Slice, K: Term<R>, const R: usize>(
    term: &K,
    read: [&Tensor; R],
) -> Result<f64, LeafError> {
    let length = read.first().map_or(0, |tensor| tensor.elem_count());
    let read = contiguous(read)?;
    slices!(read => guards, numbers: N);
    let numbers = numbers.map(|numbers| &numbers[..length]);
    let term = |at: usize| term.term(numbers.map(|numbers| numbers[at].into()));
    Ok(pairwise::sum(0..length, &term))
}

/// Computes with candle's operations. Halves are computed in `f32`, and rounded at the end.
fn run_tensors<K: Kernel<S, R>, const S: usize, const R: usize>(
    kernel: &K,
    main: &Tensor,
    slots: [Tensor; S],
    read: [&Tensor; R],
) -> Results<S> {
    let dtype = main.dtype();
    let wide = if matches!(dtype, DType::F32 | DType::F64) { dtype } else { DType::F32 };
    // A result of a tracked tensor would keep it, and so all steps before.
    let lane = |tensor: &Tensor| Lane(tensor.detach().to_dtype(wide));
    let (new, remembered) = kernel.run(lane(main), slots.each_ref().map(lane), read.map(lane));
    let back = |Lane(tensor): Lane| tensor?.to_dtype(dtype)?.contiguous();
    collected(back(new), remembered.map(back))
}

/// A whole tensor in the role of a number: the result of an operation, or the first error.
struct Lane(candle_core::Result<Tensor>);

impl Clone for Lane {
    fn clone(&self) -> Self {
        Lane(match &self.0 {
            Ok(tensor) => Ok(tensor.clone()),
            Err(error) => Err(candle_core::Error::Msg(error.to_string())),
        })
    }
}

macro_rules! operators {
    ($($trait:ident $name:ident)*) => {$(
        impl $trait for Lane {
            type Output = Lane;

            fn $name(self, other: Lane) -> Lane {
                Lane(self.0.and_then(|a| Tensor::$name(&a, &other.0?)))
            }
        }
    )*};
}

operators! { Add add Sub sub Mul mul Div div }

impl Lane {
    fn then(self, operation: impl FnOnce(Tensor) -> candle_core::Result<Tensor>) -> Lane {
        Lane(self.0.and_then(operation))
    }
}

impl Number for Lane {
    fn times(self, factor: f64) -> Self {
        self.then(|tensor| tensor.affine(factor, 0.0))
    }

    fn plus(self, term: f64) -> Self {
        self.then(|tensor| tensor.affine(1.0, term))
    }

    fn zero(self) -> Self {
        self.then(|tensor| tensor.zeros_like())
    }

    fn sqrt(self) -> Self {
        self.then(|tensor| tensor.sqrt())
    }

    fn sign(self) -> Self {
        // candle returns 0 for NaN.
        self.then(|tensor| tensor.ne(&tensor)?.where_cond(&tensor, &tensor.sign()?))
    }

    fn clamp(self, lower: f64, upper: f64) -> Self {
        self.then(|tensor| tensor.clamp(lower, upper))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;
    use crate::number::Update;
    use crate::transform::Rule;

    /// Uses all operations.
    #[derive(Clone, Copy)]
    struct All;

    impl Rule<2> for All {
        fn next<X: Number>(&self, gradient: X, parameter: X, [a, b]: [X; 2]) -> (X, [X; 2]) {
            let root = (b.clone() * b.clone()).plus(0.5).sqrt();
            let update =
                gradient.clone().clamp(-0.5, 0.5) / root + parameter.clone().sign().times(0.25);
            (update - a.clone().zero(), [a + gradient, b - parameter])
        }
    }

    /// Otherwise each step would keep the tensors of all steps before it.
    #[test]
    fn results_are_not_tracked() {
        let variable = Tensor::new(&[1.0f32, 2.0], &Device::Cpu).unwrap();
        let variable = variable.to_dtype(DType::BF16).unwrap();
        let variable = candle_core::Var::from_tensor(&variable).unwrap().into_inner();
        let slots = [variable.clone(), variable.clone()];
        let (new, slots) = run_tensors(&Update(All), &variable, slots, [&variable]).unwrap();
        let mean = variable.mean_along(0).unwrap();
        for tensor in slots.iter().chain([&new, &mean]) {
            assert!(!tensor.track_op());
        }
    }

    #[test]
    fn operations_of_candle_give_what_slices_give() {
        let tensor = |from: f64| {
            let numbers: Vec<f64> = (0..12).map(|at| (from + f64::from(at)).sin()).collect();
            Tensor::from_vec(numbers, (3, 4), &Device::Cpu).unwrap()
        };
        let (main, parameter) = (tensor(0.0), tensor(1.0));
        let slots = || [tensor(2.0), tensor(3.0)];
        let kernel = Update(All);
        let (a, b) = run_slices::<f64, _, 2, 1>(&kernel, &main, slots(), [&parameter]).unwrap();
        let (c, d) = run_tensors(&kernel, &main, slots(), [&parameter]).unwrap();
        let numbers = |tensor: &Tensor| tensor.to_numbers().unwrap();
        let pairs = [(&a, &c), (&b[0], &d[0]), (&b[1], &d[1])];
        for (slices, tensors) in pairs {
            for (slice, tensor) in numbers(slices).iter().zip(numbers(tensors)) {
                assert!((slice - tensor).abs() < 1e-15, "{slice} {tensor}");
            }
        }
    }
}
