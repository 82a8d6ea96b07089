//! Converts tensors to bytes and back.

use std::io;
use std::sync::{Mutex, PoisonError};

use candle_core::{CpuStorage, DType, Device, Storage, Tensor, WithDType};
use half::{bf16, f16};
use treedef_tensors::{Descriptor, StoredTensor};

use super::AnyError;

/// The types of both sides, by the names of the files.
const TYPES: [(DType, &str); 14] = [
    (DType::U8, "u8"),
    (DType::U32, "u32"),
    (DType::I16, "i16"),
    (DType::I32, "i32"),
    (DType::I64, "i64"),
    (DType::BF16, "bf16"),
    (DType::F16, "f16"),
    (DType::F32, "f32"),
    (DType::F64, "f64"),
    (DType::F8E4M3, "f8_e4m3"),
    (DType::F6E2M3, "f6_e2m3"),
    (DType::F6E3M2, "f6_e3m2"),
    (DType::F4, "f4"),
    (DType::F8E8M0, "f8_e8m0"),
];

/// The type and the shape of a tensor.
pub(super) fn descriptor(name: &str, tensor: &Tensor) -> Result<Descriptor, AnyError> {
    let of_file = TYPES.iter().find(|(dtype, _)| *dtype == tensor.dtype());
    let descriptor = of_file.and_then(|(_, of)| Descriptor::of_type(name, of, tensor.dims()));
    descriptor.ok_or_else(|| format!("no file has {}", tensor.dtype().as_str()).into())
}

/// A tensor whose bytes are read from its memory, piece by piece. A tensor on a device, or one that is not
/// contiguous, is copied for the time from the first to the last piece.
pub(super) fn stored(name: &str, tensor: &Tensor) -> Result<StoredTensor<'static>, AnyError> {
    let descriptor = descriptor(name, tensor)?;
    let (size, tensor) = (descriptor.num_bytes().unwrap_or(0), tensor.detach());
    let near = Mutex::new(None::<Tensor>);
    let read = move |offset: u64, bytes: &mut [u8]| {
        let mut near = near.lock().unwrap_or_else(PoisonError::into_inner);
        let copy = || tensor.to_device(&Device::Cpu)?.contiguous();
        let here = near.take().map_or_else(copy, Ok).map_err(io::Error::other)?;
        copy_bytes(&here, usize::try_from(offset).unwrap_or(usize::MAX), bytes)?;
        let is_last =
            u64::try_from(bytes.len()).is_ok_and(|length| offset.saturating_add(length) >= size);
        *near = Some(here).filter(|_| !is_last);
        Ok(())
    };
    Ok(StoredTensor::read_from(descriptor, read)?)
}

/// Copies bytes of a contiguous tensor on the CPU, from an offset on.
fn copy_bytes(tensor: &Tensor, offset: usize, to: &mut [u8]) -> io::Result<()> {
    let outside = || io::Error::from(io::ErrorKind::UnexpectedEof);
    let (storage, layout) = tensor.storage_and_layout();
    let Storage::Cpu(storage) = &*storage else { return Err(outside()) };
    let start = match storage {
        // Candle keeps the bytes of the file, for any number of elements.
        CpuStorage::F6E2M3(_) | CpuStorage::F6E3M2(_) => packed_start(layout.start_offset(), 6)?,
        CpuStorage::F4(_) => packed_start(layout.start_offset(), 4)?,
        _ => layout.start_offset(),
    };
    macro_rules! copy {
        ($numbers:ident, $bytes:expr) => {
            copy($numbers.get(start..).ok_or_else(outside)?, $bytes, offset, to).ok_or_else(outside)
        };
    }
    match storage {
        CpuStorage::U8(numbers) => copy!(numbers, |x| [*x]),
        CpuStorage::U32(numbers) => copy!(numbers, |x| x.to_le_bytes()),
        CpuStorage::I16(numbers) => copy!(numbers, |x| x.to_le_bytes()),
        CpuStorage::I32(numbers) => copy!(numbers, |x| x.to_le_bytes()),
        CpuStorage::I64(numbers) => copy!(numbers, |x| x.to_le_bytes()),
        CpuStorage::BF16(numbers) => copy!(numbers, |x| x.to_le_bytes()),
        CpuStorage::F16(numbers) => copy!(numbers, |x| x.to_le_bytes()),
        CpuStorage::F32(numbers) => copy!(numbers, |x| x.to_le_bytes()),
        CpuStorage::F64(numbers) => copy!(numbers, |x| x.to_le_bytes()),
        CpuStorage::F8E4M3(numbers) => copy!(numbers, |x| [x.to_bits()]),
        CpuStorage::F6E2M3(bytes)
        | CpuStorage::F6E3M2(bytes)
        | CpuStorage::F4(bytes)
        | CpuStorage::F8E8M0(bytes) => copy!(bytes, |x| [*x]),
    }
}

/// The first byte of a part of numbers of 4 or 6 bits.
fn packed_start(numbers: usize, bits: usize) -> io::Result<usize> {
    let bits = numbers.checked_mul(bits).filter(|bits| bits.is_multiple_of(8));
    bits.map(|bits| bits / 8).ok_or_else(|| {
        let message = "the part of a tensor begins inside a byte (save the whole tensor)";
        io::Error::new(io::ErrorKind::InvalidInput, message)
    })
}

/// Copies the bytes of numbers, from an offset on. `None` if there are fewer.
fn copy<T, const N: usize>(
    numbers: &[T],
    bytes: impl Fn(&T) -> [u8; N],
    offset: usize,
    to: &mut [u8],
) -> Option<()> {
    let (mut from, within) = (numbers.get(offset / N..)?, offset % N);
    let mut to = to;
    if within > 0 {
        let (first, rest) = from.split_first()?;
        let tail = bytes(first);
        let tail = tail.get(within..)?;
        let (here, others) = to.split_at_mut(tail.len().min(to.len()));
        here.copy_from_slice(tail.get(..here.len())?);
        (from, to) = (rest, others);
    }
    let (whole, rest) = to.as_chunks_mut::<N>();
    let (numbers, others) = from.split_at_checked(whole.len())?;
    for (number, to) in numbers.iter().zip(whole) {
        *to = bytes(number);
    }
    if !rest.is_empty() {
        rest.copy_from_slice(bytes(others.first()?).get(..rest.len())?);
    }
    Some(())
}

/// Reads a tensor onto the CPU: piece by piece into its own memory.
pub(super) fn read(stored: &StoredTensor<'_>) -> Result<Tensor, AnyError> {
    let descriptor = stored.descriptor();
    let here = TYPES.iter().find(|(_, of_file)| *of_file == descriptor.type_name());
    let Some((dtype, _)) = here else {
        return Err(format!("candle has no tensors of {}", descriptor.type_name()).into());
    };
    match dtype {
        DType::U32 => numbers(stored, u32::from_le_bytes),
        DType::I16 => numbers(stored, i16::from_le_bytes),
        DType::I32 => numbers(stored, i32::from_le_bytes),
        DType::I64 => numbers(stored, i64::from_le_bytes),
        DType::BF16 => numbers(stored, bf16::from_le_bytes),
        DType::F16 => numbers(stored, f16::from_le_bytes),
        DType::F32 => numbers(stored, f32::from_le_bytes),
        DType::F64 => numbers(stored, f64::from_le_bytes),
        DType::U8 => Ok(Tensor::from_vec(
            stored.read_bytes()?.into_owned(),
            descriptor.shape(),
            &Device::Cpu,
        )?),
        _ => {
            let bytes = stored.read_bytes()?;
            Ok(Tensor::from_raw_buffer(&bytes, *dtype, descriptor.shape(), &Device::Cpu)?)
        }
    }
}

fn numbers<T: WithDType, const N: usize>(
    stored: &StoredTensor<'_>,
    number: impl Fn([u8; N]) -> T,
) -> Result<Tensor, AnyError> {
    let length = usize::try_from(stored.num_bytes())? / N;
    let mut numbers = Vec::new();
    numbers.try_reserve_exact(length)?;
    // A piece has complete numbers: its size is a power of two.
    stored.pieces(|piece| {
        numbers.extend(piece.as_chunks().0.iter().map(|bytes| number(*bytes)));
        Ok(())
    })?;
    Ok(Tensor::from_vec(numbers, stored.descriptor().shape(), &Device::Cpu)?)
}
