//! Reads tensors whose numbers are not contiguous, or have another byte order.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::file_bytes::FileBytes;
use crate::formats::pytorch::container::ByteRange;
use crate::source::ReadAt;

/// Parts of a storage with smaller gaps are read together.
const GAP: u64 = 1 << 12;
/// The number of bytes that are read at once.
const MOST: u64 = 1 << 20;

/// The location of the bytes of a storage.
#[derive(Clone)]
pub(super) enum Base<'a> {
    File(FileBytes<'a>, ByteRange),
    Pickled(Arc<[u8]>),
}

impl Base<'_> {
    pub(super) fn len(&self) -> u64 {
        match self {
            Base::File(_, span) => span.length,
            Base::Pickled(bytes) => u64::try_from(bytes.len()).unwrap_or(u64::MAX),
        }
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        match self {
            Base::File(bytes, span) => {
                bytes.read_exact_at(buffer, span.start.saturating_add(offset))
            }
            Base::Pickled(bytes) => FileBytes::Memory(bytes).read_exact_at(buffer, offset),
        }
    }
}

/// A tensor that is read in the order of its elements.
pub(super) struct StridedReader<'a> {
    pub(super) base: Base<'a>,
    /// In bytes, like the strides. All elements are inside of the base.
    pub(super) offset: u64,
    pub(super) shape: Vec<u64>,
    pub(super) strides: Vec<u64>,
    /// The bytes of an element.
    pub(super) size: u64,
    /// The size of the groups whose bytes are reversed; 1 if none are.
    pub(super) swapped: usize,
}

impl ReadAt for StridedReader<'_> {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let size = usize::try_from(self.size).map_err(io::Error::other)?;
        let inside = usize::try_from(offset % self.size.max(1)).map_err(io::Error::other)?;
        let elements = inside.saturating_add(buffer.len()).div_ceil(size.max(1));
        if inside == 0 && buffer.len() == elements.saturating_mul(size) {
            return self.elements(buffer, offset / self.size.max(1));
        }
        let mut whole = vec![0; elements.saturating_mul(size)];
        self.elements(&mut whole, offset / self.size.max(1))?;
        let part = whole.get(inside..).and_then(|rest| rest.get(..buffer.len()));
        buffer.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn path(&self) -> Option<&Path> {
        match &self.base {
            Base::File(FileBytes::File(file), _) => Some(file.path()),
            _ => None,
        }
    }
}

impl StridedReader<'_> {
    /// Fills the buffer with elements from `first` on. Each part of it takes some memory more.
    fn elements(&self, buffer: &mut [u8], mut first: u64) -> io::Result<()> {
        let most = usize::try_from((MOST / self.size.max(1)).max(1) * self.size.max(1));
        for part in buffer.chunks_mut(most.map_err(io::Error::other)?) {
            self.part(part, first)?;
            let length = u64::try_from(part.len()).map_err(io::Error::other)?;
            first = first.saturating_add(length / self.size.max(1));
        }
        Ok(())
    }

    fn part(&self, buffer: &mut [u8], first: u64) -> io::Result<()> {
        let size = usize::try_from(self.size).map_err(io::Error::other)?.max(1);
        let mut wanted = self.places(first, buffer.len() / size);
        wanted.sort_unstable();
        let mut rest = wanted.as_slice();
        let mut block = Vec::new();
        while let Some((start, _)) = rest.first().copied() {
            let mut end = start.saturating_add(self.size);
            let together = rest.iter().take_while(|(at, _)| {
                let next = at.saturating_add(self.size);
                let near = *at <= end.saturating_add(GAP) && next.saturating_sub(start) <= MOST;
                end = if near { end.max(next) } else { end };
                near
            });
            let (these, others) = rest.split_at(together.count().max(1));
            let length = usize::try_from(end.saturating_sub(start)).map_err(io::Error::other)?;
            block.resize(length, 0);
            self.base.read_exact_at(&mut block, start)?;
            for (at, to) in these {
                let from = usize::try_from(at.saturating_sub(start)).map_err(io::Error::other)?;
                let element = block.get(from..from.saturating_add(size));
                let place = buffer.get_mut(*to..to.saturating_add(size));
                if let Some((element, place)) = element.zip(place) {
                    place.copy_from_slice(element);
                }
            }
            rest = others;
        }
        if self.swapped > 1 {
            buffer.chunks_exact_mut(self.swapped).for_each(<[u8]>::reverse);
        }
        Ok(())
    }

    /// The places of elements in the base, and their destinations.
    fn places(&self, first: u64, count: usize) -> Vec<(u64, usize)> {
        let size = usize::try_from(self.size).unwrap_or(usize::MAX);
        let (mut index, mut left) = (vec![0; self.shape.len()], first);
        for (at, dim) in index.iter_mut().zip(&self.shape).rev() {
            *at = left % (*dim).max(1);
            left /= (*dim).max(1);
        }
        let offset = |(at, stride): (&u64, &u64)| at.saturating_mul(*stride);
        let mut offset =
            index.iter().zip(&self.strides).map(offset).fold(self.offset, u64::saturating_add);
        let mut places = Vec::with_capacity(count);
        for position in 0..count {
            places.push((offset, position.saturating_mul(size)));
            let dims = index.iter_mut().zip(self.shape.iter().zip(&self.strides));
            for (at, (dim, stride)) in dims.rev() {
                *at += 1; // at most the dimension
                offset = offset.saturating_add(*stride);
                if *at < *dim {
                    break;
                }
                offset = offset.saturating_sub(at.saturating_mul(*stride));
                *at = 0;
            }
        }
        places
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::formats::pytorch::strided_reader::{Base, StridedReader};
    use crate::source::ReadAt;

    /// The places of all elements would take 16 times the memory of bytes.
    #[test]
    fn a_transposed_tensor_is_read_in_parts() {
        const N: u64 = 1500;
        let numbers: Vec<u8> = (0..N * N).map(|number| (number % 251) as u8).collect();
        let transposed = StridedReader {
            base: Base::Pickled(numbers.clone().into()),
            offset: 0,
            shape: vec![N, N],
            strides: vec![1, N],
            size: 1,
            swapped: 1,
        };
        let mut read = vec![0; numbers.len()];
        let used = allocation_counter::measure(|| {
            transposed.read_exact_at(&mut read, 0).unwrap();
        });
        assert!(used.bytes_max < 20 << 20, "{} bytes at once", used.bytes_max);
        let n = usize::try_from(N).unwrap();
        let columns = (0..n).flat_map(|column| numbers.iter().skip(column).step_by(n));
        assert!(columns.eq(&read));
        // From the middle of a part on.
        let mut rest = vec![0; 10];
        transposed.read_exact_at(&mut rest, N * N - 10).unwrap();
        assert!(read.ends_with(&rest));
    }
}
