//! The places of the numbers of tensors.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::descriptor::Descriptor;
use crate::error::quoted;
use crate::file_bytes::FileBytes;
use crate::formats::pytorch::constructors::{self, DataLocation, StorageView};
use crate::formats::pytorch::container::{ByteRange, StorageTable};
use crate::formats::pytorch::object::{Graph, ObjectId};
use crate::formats::pytorch::strided_reader::{Base, StridedReader};
use crate::formats::pytorch::types;
use crate::shape::MAX_DIMS;
use crate::source::{ReadAt, StoredTensor};

/// Finds the numbers of tensors.
pub(super) struct TensorLocator<'p, 'a> {
    pub(super) bytes: &'p FileBytes<'a>,
    pub(super) graph: &'p Graph,
    pub(super) storages: &'p StorageTable,
    /// The bytes of the arrays of numpy, which several tensors may share.
    pub(super) pickled: HashMap<ObjectId, Arc<[u8]>>,
}

impl<'a> TensorLocator<'_, 'a> {
    /// The tensor of a view. If it cannot be read, this is a fault: it has the reason, which is also the
    /// error of each read.
    pub(super) fn stored(
        &mut self,
        view: &StorageView,
    ) -> Result<(StoredTensor<'a>, Option<String>), String> {
        let shape: Result<Vec<usize>, _> =
            view.shape.iter().map(|it| usize::try_from(*it)).collect();
        let shape = shape.ok().filter(|shape| shape.len() <= MAX_DIMS);
        let shape = shape.ok_or("a shape that no tensor has")?;
        let descriptor = Descriptor::of(String::new(), view.element, shape);
        let total = descriptor.num_bytes().ok_or("a shape that no tensor has")?;
        Ok(self.readable(view, &descriptor, total).map_or_else(
            |why| {
                let unreadable = Arc::new(UnreadableTensor(why.clone()));
                (StoredTensor::read_by(descriptor.clone(), total, unreadable), Some(why))
            },
            |stored| (stored, None),
        ))
    }

    fn readable(
        &mut self,
        view: &StorageView,
        descriptor: &Descriptor,
        total: u64,
    ) -> Result<StoredTensor<'a>, String> {
        let (size, descriptor) = (types::size_of(view.element), descriptor.clone());
        let (base, big_endian) = self.base(&view.data)?;
        let (start, end) = extent(view, size).ok_or("strides that no tensor has")?;
        if end > base.len() {
            let length = base.len();
            return Err(format!("its last byte is {end}, and its storage has {length} bytes"));
        }
        let swapped = if big_endian { types::part_of(view.element) } else { 1 };
        if swapped == 1
            && is_contiguous(view)
            && let Base::File(bytes, span) = &base
        {
            let start = span.start.saturating_add(start);
            return Ok(StoredTensor::within(descriptor, total, bytes, start));
        }
        let strides = view.strides.iter().map(|stride| stride.saturating_mul(size)).collect();
        let swapped = usize::try_from(swapped).unwrap_or(1); // at most 8
        let shape = view.shape.clone();
        let strided = StridedReader { base, offset: start, shape, strides, size, swapped };
        Ok(StoredTensor::read_by(descriptor, total, Arc::new(strided)))
    }

    fn base(&mut self, data: &DataLocation) -> Result<(Base<'a>, bool), String> {
        match data {
            DataLocation::StoredTensor(key) => {
                let missing = || format!("there is no storage {}", quoted(key));
                let span = self.storages.places.get(&**key).ok_or_else(missing)?;
                let span: ByteRange = *span.as_ref().map_err(Clone::clone)?;
                Ok((Base::File(self.bytes.clone(), span), self.storages.big_endian))
            }
            DataLocation::Pickled { object, big_endian } => {
                if let Some(bytes) = self.pickled.get(object) {
                    return Ok((Base::Pickled(bytes.clone()), *big_endian));
                }
                let bytes = constructors::bytes(self.graph, *object);
                let bytes: Arc<[u8]> = bytes.ok_or("an array without bytes")?.into();
                self.pickled.insert(*object, bytes.clone());
                Ok((Base::Pickled(bytes), *big_endian))
            }
        }
    }
}

/// The first byte of a tensor in its storage, and the end of the last one. The offset of an empty view may be
/// behind the storage.
fn extent(view: &StorageView, size: u64) -> Option<(u64, u64)> {
    if view.shape.contains(&0) {
        return Some((0, 0));
    }
    let start = view.offset.checked_mul(size)?;
    let steps = view.shape.iter().zip(&view.strides);
    let mut steps = steps.map(|(dim, stride)| (dim - 1).checked_mul(*stride));
    let last = steps.try_fold(0_u64, |sum, step| sum.checked_add(step?))?;
    Some((start, last.checked_add(1)?.checked_mul(size)?.checked_add(start)?))
}

/// Whether the elements are contiguous.
fn is_contiguous(view: &StorageView) -> bool {
    let mut expected = 1_u64;
    view.shape.contains(&0)
        || view.shape.iter().zip(&view.strides).rev().all(|(dim, stride)| {
            let is_next = *dim == 1 || *stride == expected;
            expected = expected.saturating_mul(*dim);
            is_next
        })
}

/// The bytes of a damaged tensor: the reason why there are none.
struct UnreadableTensor(String);

impl ReadAt for UnreadableTensor {
    fn read_exact_at(&self, _: &mut [u8], _: u64) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::InvalidData, self.0.clone()))
    }

    fn path(&self) -> Option<&Path> {
        None
    }
}
