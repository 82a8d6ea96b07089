//! The description of a tensor: its name, the type of its elements, and its shape.

use std::fmt;
use std::sync::Arc;

use treedef::Dtype;

use crate::numpy_type::{NumpyKind, NumpyType};
use crate::shape::display;
use crate::small_float::{SMALL_FLOATS, SmallFloat};

/// The types that both sides have, with their names in safetensors.
const DTYPES: [(&str, Dtype); 14] = [
    ("BOOL", Dtype::Bool),
    ("U8", Dtype::U8),
    ("I8", Dtype::I8),
    ("U16", Dtype::U16),
    ("I16", Dtype::I16),
    ("U32", Dtype::U32),
    ("I32", Dtype::I32),
    ("U64", Dtype::U64),
    ("I64", Dtype::I64),
    ("F16", Dtype::F16),
    ("BF16", Dtype::Bf16),
    ("F32", Dtype::F32),
    ("F64", Dtype::F64),
    ("C64", Dtype::C64),
];

/// The type of the numbers of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NumberType {
    Dtype(Dtype),
    /// Floats of at most 8 bits. Their bytes are copied, and their numbers are read as `f32`.
    Small(&'static SmallFloat),
}

impl NumberType {
    /// The type of this name in a file of safetensors.
    pub(crate) fn of_safetensors(name: &str) -> Option<Self> {
        let dtype = DTYPES.iter().find(|(of_file, _)| *of_file == name);
        let small = || SMALL_FLOATS.iter().find(|float| float.names.0 == name);
        let small = || small().map(NumberType::Small);
        dtype.map(|(_, dtype)| NumberType::Dtype(*dtype)).or_else(small)
    }

    /// The type with this name in this crate.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let dtype = Dtype::ALL.iter().find(|dtype| dtype.name() == name);
        let small = || SMALL_FLOATS.iter().find(|float| float.names.1 == name);
        let small = || small().map(NumberType::Small);
        dtype.map(|dtype| NumberType::Dtype(*dtype)).or_else(small)
    }

    /// Its name in a file of safetensors. `None` for complex numbers of 128 bits.
    pub(crate) fn in_safetensors(self) -> Option<&'static str> {
        match self {
            NumberType::Dtype(dtype) => {
                DTYPES.iter().find(|(_, of_file)| *of_file == dtype).map(|(name, _)| *name)
            }
            NumberType::Small(float) => Some(float.names.0),
        }
    }

    pub(crate) fn bits(self) -> u64 {
        match self {
            NumberType::Dtype(dtype) => 8 * u64::try_from(dtype.size()).unwrap_or(u64::MAX / 8), // at most 16
            NumberType::Small(float) => float.bits.into(),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            NumberType::Dtype(dtype) => dtype.name(),
            NumberType::Small(float) => float.names.1,
        }
    }
}

/// The type of the elements of a tensor, which may not be numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ElementType {
    Number(NumberType),
    Numpy(Arc<NumpyType>),
}

impl ElementType {
    pub(crate) fn name(&self) -> &str {
        match self {
            ElementType::Number(element) => element.name(),
            ElementType::Numpy(numpy) => &numpy.name,
        }
    }
}

/// The name of a tensor, the type of its elements, and its shape.
///
/// The type may be one that [`Dtype`] does not have, such as floats of 8 bits: these tensors are copied
/// unchanged, and their numbers are read [as `f32`](crate::StoredTensor::widened). The elements of an array of
/// numpy may not be numbers at all, such as texts and dates.
///
/// ```
/// use treedef_tensors::{Descriptor, Dtype};
///
/// let descriptor = Descriptor::new("w", Dtype::F32, [3, 4]);
/// assert_eq!(descriptor.num_bytes(), Some(48));
/// assert_eq!(descriptor.to_string(), "f32[3, 4]");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    name: String,
    element_type: ElementType,
    shape: Vec<usize>,
}

impl Descriptor {
    /// Makes a descriptor from its parts.
    pub fn new(name: impl Into<String>, dtype: Dtype, shape: impl Into<Vec<usize>>) -> Self {
        Descriptor::of(name.into(), NumberType::Dtype(dtype), shape.into())
    }

    /// As [`new`](Self::new), for a type by its [name](Self::type_name), including types that [`Dtype`]
    /// does not have.
    ///
    /// ```
    /// use treedef_tensors::Descriptor;
    ///
    /// let descriptor = Descriptor::of_type("w", "f8_e4m3", [3]).unwrap();
    /// assert_eq!(descriptor.to_string(), "f8_e4m3[3]");
    /// assert_eq!(Descriptor::of_type("w", "str", [3]), None);
    /// ```
    pub fn of_type(
        name: impl Into<String>,
        type_name: &str,
        shape: impl Into<Vec<usize>>,
    ) -> Option<Self> {
        Some(Descriptor::of(name.into(), NumberType::of_name(type_name)?, shape.into()))
    }

    pub(crate) fn of(name: String, element: NumberType, shape: Vec<usize>) -> Self {
        Descriptor::with(name, ElementType::Number(element), shape)
    }

    pub(crate) fn with(name: String, element_type: ElementType, shape: Vec<usize>) -> Self {
        Descriptor { name, element_type, shape }
    }

    pub(crate) fn with_shape(&self, shape: Vec<usize>) -> Self {
        Descriptor { shape, ..self.clone() }
    }

    /// The name of the tensor.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same tensor under another name.
    pub(crate) fn renamed(&self, name: impl Into<String>) -> Self {
        Descriptor { name: name.into(), ..self.clone() }
    }

    /// The type of the elements, if they are numbers.
    pub(crate) fn number_type(&self) -> Option<NumberType> {
        match &self.element_type {
            ElementType::Number(element) => Some(*element),
            ElementType::Numpy(_) => None,
        }
    }

    /// The type of the elements, if they are not numbers.
    pub(crate) fn numpy(&self) -> Option<&NumpyType> {
        match &self.element_type {
            ElementType::Number(_) => None,
            ElementType::Numpy(numpy) => Some(numpy),
        }
    }

    /// The type of the elements, if it is one of [`Dtype`].
    pub fn dtype(&self) -> Option<Dtype> {
        match self.element_type {
            ElementType::Number(NumberType::Dtype(dtype)) => Some(dtype),
            _ => None,
        }
    }

    /// The name of the type: of the [`Dtype`], or as in the file in small letters, such as
    /// `f8_e4m3`, or as in numpy, such as `str` or `datetime64[ns]`.
    pub fn type_name(&self) -> &str {
        self.element_type.name()
    }

    /// Why the elements cannot be read, if so: they may be pickled objects of Python.
    pub fn unread(&self) -> Option<&str> {
        match &self.numpy()?.kind {
            NumpyKind::Unread(why) => Some(why),
            _ => None,
        }
    }

    /// The number of elements in each dimension, outermost first. It is empty for a scalar.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The number of bytes. `None` if there are more than 2⁶⁴, or the last byte would not be full.
    pub fn num_bytes(&self) -> Option<u64> {
        // A zero anywhere makes the whole zero, also beside dimensions whose product is too large.
        if self.shape.contains(&0) {
            return Some(0);
        }
        let size = |product: u64, dim: &usize| product.checked_mul(u64::try_from(*dim).ok()?);
        let bits = self.shape.iter().try_fold(self.bits(), size)?;
        (bits % 8 == 0).then_some(bits / 8)
    }

    fn bits(&self) -> u64 {
        match &self.element_type {
            ElementType::Number(element) => element.bits(),
            ElementType::Numpy(numpy) => {
                u64::try_from(numpy.size).unwrap_or(u64::MAX).saturating_mul(8)
            }
        }
    }
}

/// `f32[3, 4]`
impl fmt::Display for Descriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&display(self.element_type.name(), &self.shape))
    }
}
