//! A tensor or a text as the type sees it.

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::Range;

use crate::bug::OrBug;
use crate::load::tensor_reader::TensorReader;
use crate::shape::display;
use crate::tensor::Dtype;

/// The maximum number of elements that are made without bytes, or that the file does not have.
const ELEMENTS: usize = 1 << 18;
/// The additional number for each tensor.
const ELEMENTS_FOR_EACH: usize = 64;

/// A tensor or a text under its name in the type.
pub(crate) struct LoadEntry<'t> {
    pub(crate) name: Cow<'t, str>,
    /// The name in the file.
    pub(crate) original: Cow<'t, str>,
    pub(crate) content: Content<'t>,
    pub(crate) origin: Origin,
    /// Whether the type requested it.
    pub(crate) requested: Cell<bool>,
    /// Whether the shape of the type was determined, because there are no elements.
    pub(crate) is_shape_requested: Cell<bool>,
    /// The number of numbers of the tensor that were read.
    pub(crate) read: Cell<usize>,
    /// Whether the reason why the tensor cannot be read was reported.
    pub(crate) reported: Cell<bool>,
    /// Whether serde keeps it in a buffer, which hides the requested type.
    pub(crate) buffered: Cell<bool>,
    pub(crate) filled: bool,
    /// The number of the tensor in its source, which tied ones share.
    pub(crate) tie: Option<usize>,
    /// Whether a rule gave the tensor this name as an additional one.
    pub(crate) is_alias: bool,
}

pub(crate) enum Content<'t> {
    Array(ArrayView<'t>),
    /// A literal of the metadata, or the text for a part without a tensor.
    Text(Cow<'t, str>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A tensor or a text that is part of a value.
    Value,
    /// A part that only the structure in the metadata has.
    Structure,
    /// A text for the whole file.
    File,
}

/// A tensor with the shape and strides that the type sees: perhaps transposed, and with complex numbers as
/// pairs.
pub(crate) struct ArrayView<'t> {
    pub(crate) tensor: TensorReader<'t>,
    pub(crate) dtype: Dtype,
    pub(crate) dims: Vec<usize>,
    /// The distance of the next index of a dimension, in elements.
    pub(crate) strides: Vec<usize>,
    /// Whether it is a matrix for a type that stores columns: then the dimensions are in the type's order,
    /// columns first.
    pub(crate) column_major: bool,
}

pub(crate) fn is_float(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64)
}

impl<'t> ArrayView<'t> {
    pub(crate) fn new(tensor: TensorReader<'t>, transposed: bool) -> Self {
        let mut dims = tensor.shape().to_vec();
        let (dtype, mut stride) = match tensor.dtype() {
            Dtype::C64 => (Dtype::F32, 2),
            Dtype::C128 => (Dtype::F64, 2),
            dtype => (dtype, 1usize),
        };
        let mut strides: Vec<usize> = dims
            .iter()
            .rev()
            .map(|dim| {
                let here = stride;
                stride = stride.saturating_mul(*dim); // saturates only without elements
                here
            })
            .collect();
        strides.reverse();
        if let (true, [.., a, b], [.., c, d]) = (transposed, &mut dims[..], &mut strides[..]) {
            std::mem::swap(a, b);
            std::mem::swap(c, d);
            tensor.read_as_whole();
        }
        if dtype != tensor.dtype() {
            dims.push(2);
            strides.push(1);
        }
        ArrayView { tensor, dtype, dims, strides, column_major: false }
    }

    /// Whether its count of numbers fits its shape, and it has a stride for each dimension.
    pub(crate) fn is_sound(&self) -> bool {
        let count = self.dims.iter().try_fold(1usize, |count, dim| count.checked_mul(*dim));
        let count = if self.dims.contains(&0) { Some(0) } else { count };
        self.strides.len() == self.dims.len() && count == Some(self.num_numbers())
    }

    pub(crate) fn num_numbers(&self) -> usize {
        self.tensor.size() / self.dtype.size()
    }

    /// Swaps the last two dimensions, for a type that has columns.
    pub(crate) fn by_columns(tensor: TensorReader<'t>, transposed: bool) -> Self {
        let is_matrix = tensor.shape().len() > 1;
        ArrayView { column_major: true, ..ArrayView::new(tensor, is_matrix && !transposed) }
    }

    /// The type and the shape for messages: as in the file.
    pub(crate) fn display(&self) -> String {
        let mut dims = self.dims.clone();
        let complex = usize::from(self.dtype != self.tensor.dtype());
        let matrix = dims.len().saturating_sub(complex);
        if let (true, Some([.., a, b])) = (self.column_major, dims.get_mut(..matrix)) {
            std::mem::swap(a, b);
        }
        // The parts of complex numbers have a type of their own.
        if complex > 0 {
            display(self.dtype, &dims)
        } else {
            display(self.tensor.type_in_file(), &dims)
        }
    }

    /// The distance of the element with this number, in row-major order over some of the
    /// dimensions.
    pub(crate) fn offset(&self, over: Range<usize>, mut number: usize) -> usize {
        let mut offset = 0;
        let dims = self.dims.get(over.clone()).or_bug();
        let strides = self.strides.get(over).or_bug();
        for (dim, stride) in dims.iter().zip(strides).rev() {
            let index = number.checked_rem(*dim).unwrap_or(0);
            offset = index.saturating_mul(*stride).saturating_add(offset);
            number = number.checked_div(*dim).unwrap_or(0);
        }
        offset
    }
}

impl<'t> LoadEntry<'t> {
    pub(crate) fn new(
        name: Cow<'t, str>,
        original: Cow<'t, str>,
        content: Content<'t>,
        origin: Origin,
        tie: Option<usize>,
    ) -> Self {
        LoadEntry {
            name,
            original,
            content,
            origin,
            requested: Cell::new(false),
            is_shape_requested: Cell::new(false),
            read: Cell::new(0),
            reported: Cell::new(false),
            buffered: Cell::new(false),
            filled: false,
            tie,
            is_alias: false,
        }
    }

    /// Counts numbers that were read.
    #[inline]
    pub(crate) fn count_read(&self, numbers: usize) {
        self.read.set(self.read.get().saturating_add(numbers));
    }

    /// Uncounts some of them.
    pub(crate) fn count_unread(&self, numbers: usize) {
        self.read.set(self.read.get().saturating_sub(numbers));
    }

    /// Marks it as not requested.
    pub(crate) fn forget(&self) {
        self.requested.set(false);
        self.read.set(0);
    }

    /// The number of numbers of the tensor that are not in the value. A tensor without numbers
    /// counts as one if it was not requested. Zero if the tensor was already reported.
    pub(crate) fn unread(&self) -> usize {
        let Some(array) = self.array().filter(|_| !self.reported.get()) else { return 0 };
        match array.num_numbers() {
            0 => usize::from(!self.requested.get()),
            // A number that is read twice does not replace another one.
            numbers => numbers.abs_diff(self.read.get()),
        }
    }

    /// Whether a part of it is in the value.
    pub(crate) fn is_read(&self) -> bool {
        self.requested.get() || self.read.get() > 0
    }

    pub(crate) fn array(&self) -> Option<&ArrayView<'_>> {
        match &self.content {
            Content::Array(array) => Some(array),
            Content::Text(_) => None,
        }
    }
}

/// The number of elements without bytes that may be made for this number of tensors.
pub(crate) fn element_budget(tensors: usize) -> usize {
    tensors.saturating_mul(ELEMENTS_FOR_EACH).saturating_add(ELEMENTS)
}
