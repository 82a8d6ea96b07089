//! A slice of a tensor, or a placeholder for one.

use std::borrow::Cow;

use crate::bug::OrBug;
use crate::load::context::LoadContext;
use crate::load::entry::{ArrayView, LoadEntry};
use crate::load::failure::Failure;
use crate::load::report::TensorRequest;
use crate::tensor::Dtype;

/// The maximum depth of serde's recursion.
const MAX_DEPTH: usize = 128;

/// A slice of a tensor, with an index in each of the first `depth` dimensions.
#[derive(Clone, Copy)]
pub(crate) struct TensorSlice<'c> {
    pub(crate) context: &'c LoadContext<'c>,
    pub(crate) entry: &'c LoadEntry<'c>,
    pub(crate) array: &'c ArrayView<'c>,
    pub(crate) depth: usize,
    pub(crate) offset: usize,
}

/// A name that is missing, or has another type than requested. The values that are read from it are
/// dropped, but show the requested type.
#[derive(Clone)]
pub(crate) struct Placeholder<'c> {
    pub(crate) context: &'c LoadContext<'c>,
    pub(crate) name: String,
    /// The lengths of the sequences that were requested since, and the indices in them.
    pub(crate) dims: Vec<(Option<usize>, usize)>,
    /// The tensor that has another shape.
    pub(crate) mismatched: Option<&'c LoadEntry<'c>>,
    pub(crate) depth: usize,
}

pub(crate) fn check_depth(depth: usize) -> Result<(), Failure> {
    if depth > MAX_DEPTH {
        Err(Failure::Limit(format!("names of more than {MAX_DEPTH} parts")))
    } else {
        Ok(())
    }
}

impl<'c> TensorSlice<'c> {
    /// The bytes of all remaining elements, in row-major order.
    pub(crate) fn all_bytes(&self) -> Cow<'c, [u8]> {
        let (array, size) = (self.array, self.array.dtype.size());
        let all = array.tensor.all(&self.context.reading);
        let is_whole = self.depth == 0 && array.strides.is_sorted_by(|a, b| a >= b);
        // After an error, nothing is read.
        if is_whole || all.is_empty() {
            return all;
        }
        let over = self.depth..array.dims.len();
        let bytes = (0..self.num_left()).flat_map(|number| {
            let start = self.offset.saturating_add(array.offset(over.clone(), number));
            let start = start.saturating_mul(size);
            all.get(start..start.saturating_add(size)).or_bug()
        });
        bytes.copied().collect()
    }

    /// The number of remaining elements.
    pub(crate) fn num_left(&self) -> usize {
        let above = self.array.dims.iter().take(self.depth);
        // The product of all dimensions is the size of a tensor, so it fits.
        let above = above.fold(1usize, |all, dim| all.saturating_mul(*dim));
        self.array.num_numbers().checked_div(above).unwrap_or(0)
    }

    /// Passes the bytes of the element to a function, if no dimension is left.
    #[inline]
    pub(crate) fn with_bytes<R>(&self, read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        if self.depth != self.array.dims.len() {
            return None;
        }
        let size = self.array.dtype.size();
        let start = self.offset.checked_mul(size)?;
        self.array.tensor.with(&self.context.reading, start, size, read)
    }

    /// Copies the bytes of elements from this one on, which has no dimension left: as many complete
    /// ones as are in memory and fit. Returns the number of bytes.
    pub(crate) fn copy_numbers(&self, to: &mut [u8]) -> usize {
        let size = self.array.dtype.size();
        match self.offset.checked_mul(size) {
            Some(start) if self.depth == self.array.dims.len() => {
                self.array.tensor.copy(start, size, to)
            }
            _ => 0,
        }
    }

    /// The bytes of the element, if they are in memory and no dimension is left.
    #[inline]
    pub(crate) fn bytes(&self) -> Option<&'c [u8]> {
        let size = self.array.dtype.size();
        let start = self.offset.checked_mul(size)?;
        let bytes = self.array.tensor.bytes()?.get(start..start.checked_add(size)?)?;
        (self.depth == self.array.dims.len()).then_some(bytes)
    }

    pub(crate) fn length(&self) -> Option<usize> {
        self.array.dims.get(self.depth).copied()
    }

    #[inline]
    pub(crate) fn element(&self, index: usize) -> TensorSlice<'c> {
        let stride = self.array.strides.get(self.depth).copied().or_bug();
        TensorSlice {
            depth: self.depth + 1,
            offset: self.offset.saturating_add(index.saturating_mul(stride)),
            ..*self
        }
    }

    /// Whether it is a matrix that a type stores by columns, and not an element of it.
    pub(crate) fn is_column_major(&self) -> bool {
        let parts = usize::from(self.array.dtype != self.array.tensor.dtype()); // of a complex number
        self.array.column_major && self.depth.saturating_add(parts) < self.array.dims.len()
    }

    /// The element with this number over some dimensions, in row-major order.
    pub(crate) fn flat_element(&self, rank: usize, number: usize) -> TensorSlice<'c> {
        let below = self.depth.saturating_add(rank).min(self.array.dims.len());
        let within = self.array.offset(self.depth.min(below)..below, number);
        TensorSlice { depth: below, offset: self.offset.saturating_add(within), ..*self }
    }

    /// The distance of the elements of some dimensions, if they are in row-major order in memory.
    pub(crate) fn flat_stride(&self, rank: usize) -> Option<usize> {
        let end = self.depth.saturating_add(rank).min(self.array.dims.len());
        let dims = self.array.dims.get(self.depth..end)?;
        let strides = self.array.strides.get(self.depth..end)?;
        let pairs = strides.windows(2).zip(dims.iter().skip(1));
        let mut pairs = pairs.map(|(strides, dim)| match strides {
            [outer, inner] => inner.checked_mul(*dim) == Some(*outer),
            _ => true,
        });
        pairs.all(|is_row_major| is_row_major).then(|| strides.last().copied().unwrap_or(0))
    }

    /// The element with this number over some dimensions with equal distances.
    #[inline]
    pub(crate) fn strided_element(
        &self,
        rank: usize,
        number: usize,
        stride: usize,
    ) -> TensorSlice<'c> {
        let below = self.depth.saturating_add(rank).min(self.array.dims.len());
        let offset = self.offset.saturating_add(number.saturating_mul(stride));
        TensorSlice { depth: below, offset, ..*self }
    }

    /// A replacement to read, in order to find out the shape that the type expects.
    pub(crate) fn mismatch(&self) -> Placeholder<'c> {
        let dims = self.array.dims.iter().take(self.depth).map(|dim| (Some(*dim), 0)).collect();
        let (context, name) = (self.context, self.entry.name.to_string());
        Placeholder { context, name, dims, mismatched: Some(self.entry), depth: 0 }
    }
}

impl<'c> Placeholder<'c> {
    pub(crate) fn new(context: &'c LoadContext<'c>, name: String, depth: usize) -> Self {
        Placeholder { context, name, dims: Vec::new(), mismatched: None, depth }
    }

    /// Reports the type that is requested here.
    pub(crate) fn report(&self, dtype: Option<Dtype>, kind: &'static str) {
        let dims = self.dims.iter().map(|(dim, _)| *dim).collect();
        let requested = TensorRequest { dtype, dims, kind };
        match self.mismatched {
            Some(entry) if dtype.is_some() && self.is_shape_of(entry, usize::eq) => {}
            Some(entry) if dtype.is_some() => {
                self.context.report_mismatch(entry, requested.to_string())
            }
            _ => self.context.report_missing(&self.name, requested),
        }
    }

    /// Whether a tensor without numbers has the requested lengths. `compares` compares the numbers of
    /// dimensions.
    pub(crate) fn is_shape_of(
        &self,
        entry: &LoadEntry<'_>,
        compares: fn(&usize, &usize) -> bool,
    ) -> bool {
        let Some(array) = entry.array().filter(|array| array.tensor.is_empty()) else {
            return false;
        };
        let mut lengths = self.dims.iter().zip(&array.dims);
        compares(&self.dims.len(), &array.dims.len())
            && lengths
                .all(|((requested, _), dim)| requested.is_none_or(|requested| requested == *dim))
    }

    /// Reports that a sequence is requested here, with its length if it is known.
    pub(crate) fn report_sequence(&self, length: Option<usize>) {
        match (self.mismatched, length) {
            (Some(entry), _) if self.element(length, 0).is_shape_of(entry, usize::le) => {}
            (Some(entry), None) => self.context.report_mismatch(entry, "a sequence".to_owned()),
            (Some(entry), Some(length)) => {
                self.context.report_mismatch(entry, format!("a sequence of {length}"));
            }
            // A fixed sequence of elements without tensors needs none.
            (None, Some(_)) => {}
            (None, None) => self.report(None, "a sequence"),
        }
    }

    /// The name with the indices in the sequences above.
    pub(crate) fn full_name(&self) -> String {
        let indices = self.dims.iter().map(|(_, index)| index.to_string());
        join(&self.name, indices, self.context.separator)
    }

    pub(crate) fn child(&self, part: &str) -> Self {
        let name = join(&self.full_name(), [part.to_owned()].into_iter(), self.context.separator);
        Placeholder::new(self.context, name, self.depth + 1)
    }

    pub(crate) fn element(&self, length: Option<usize>, index: usize) -> Self {
        let mut element = self.clone();
        element.dims.push((length, index));
        element.depth += 1;
        element
    }

    pub(crate) fn check_depth(&self) -> Result<(), Failure> {
        check_depth(self.depth)
    }
}

fn join(name: &str, parts: impl Iterator<Item = String>, separator: &str) -> String {
    let parts = Some(name.to_owned()).filter(|name| !name.is_empty()).into_iter().chain(parts);
    parts.collect::<Vec<_>>().join(separator)
}
