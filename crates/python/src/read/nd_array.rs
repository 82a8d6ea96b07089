//! An array that crosses the border at once: copied once on the way in, moved on the way out.

use std::any::Any;
use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use numpy::{PyArray1, PyArrayMethods, PyUntypedArray};
use pyo3::prelude::*;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, DeserializeOwned, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::read::array::Numbers;
use crate::read::names::describe_array;
use crate::read::nested::NestedNumbers;
use crate::read::slice::CONVERT;

/// The name by which an array requests all numbers at once from our deserializer.
pub(crate) const MARK: &str = "treedef_python::NdArray";
/// The name of the enum around the number of an array that is moved out.
pub(crate) const MOVED: &str = "treedef_python::Moved";

/// Numbers with a shape, in row-major order.
///
/// Nested `Vec`s and arrays of other crates cross the border as well, number by number.
/// This one is copied in at once, and [`into_python`](crate::into_python) moves its numbers into numpy.
/// A clone shares the numbers until one of the two changes. For serde it is a struct with the fields
/// `shape` and `data`; formats that people read may have nested sequences in its place.
///
/// ```
/// use pyo3::prelude::*;
/// use treedef_python::NdArray;
///
/// Python::attach(|py| {
///     let ones = py.import("numpy")?.call_method1("ones", ((2, 3),))?;
///     let mut array: NdArray<f64> = treedef_python::from_python(&ones)?;
///     array.data_mut().iter_mut().for_each(|x| *x *= 2.0);
///     assert_eq!((array.shape(), array.data()), (&[2, 3][..], &[2.0; 6][..]));
///
///     let back = treedef_python::into_python(py, array)?;
///     assert_eq!(back.get_item((1, 2))?.extract::<f64>()?, 2.0);
///     Ok::<_, PyErr>(())
/// })
/// # .unwrap();
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NdArray<T> {
    shape: Vec<usize>,
    data: Arc<Vec<T>>,
}

impl<T> NdArray<T> {
    /// An array of these numbers. `None` if the shape has another number of them.
    ///
    /// ```
    /// use treedef_python::NdArray;
    ///
    /// assert!(NdArray::new(vec![2, 3], vec![0.0; 6]).is_some());
    /// assert!(NdArray::new(vec![2, 3], vec![0.0; 5]).is_none());
    /// ```
    pub fn new(shape: Vec<usize>, data: Vec<T>) -> Option<Self> {
        let length = shape.iter().try_fold(1usize, |length, dim| length.checked_mul(*dim));
        (length == Some(data.len())).then(|| NdArray { shape, data: Arc::new(data) })
    }

    /// The number of elements in each dimension, outermost first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The numbers.
    pub fn data(&self) -> &[T] {
        &self.data
    }
}

impl<T: Clone> NdArray<T> {
    /// The numbers, to be changed. They are copied first if a clone shares them.
    pub fn data_mut(&mut self) -> &mut [T] {
        Arc::make_mut(&mut self.data).as_mut_slice()
    }

    /// The numbers alone. They are copied if a clone shares them.
    pub fn into_data(self) -> Vec<T> {
        Arc::try_unwrap(self.data).unwrap_or_else(|shared| shared.to_vec())
    }
}

/// The types of the numbers of an [`NdArray`].
pub trait Number: sealed::Number + 'static {}

mod sealed {
    use std::borrow::Cow;

    use crate::read::array::Numbers;

    pub trait Number: numpy::Element + Copy {
        /// The name of their type in errors.
        const NAME: &'static str;

        /// Numbers that are of this type.
        fn of(numbers: Numbers<'_>) -> Option<Cow<'_, [Self]>>;
    }
}

macro_rules! numbers {
    ($($type:ident $kind:ident $of:expr;)*) => {
        $(impl Number for $type {}

        impl sealed::Number for $type {
            const NAME: &'static str = stringify!($type);

            fn of(numbers: Numbers<'_>) -> Option<Cow<'_, [Self]>> {
                match numbers {
                    Numbers::$kind(numbers) => Some($of(numbers)),
                    _ => None,
                }
            }
        })*

        /// All numbers of an array, as a `Vec` of their type. `None` for half floats.
        fn copied(numbers: Numbers<'_>) -> Option<Box<dyn Any>> {
            match numbers {
                $(Numbers::$kind(numbers) => {
                    let numbers: Cow<'_, [$type]> = $of(numbers);
                    Some(Box::new(numbers.into_owned()))
                })*
                Numbers::F16(_) | Numbers::Bf16(_) => None,
            }
        }
    };
}

numbers! {
    bool Bool |bytes: &[u8]| Cow::Owned(bytes.iter().map(|byte| *byte != 0).collect());
    i8 I8 Cow::Borrowed;
    i16 I16 Cow::Borrowed;
    i32 I32 Cow::Borrowed;
    i64 I64 Cow::Borrowed;
    u8 U8 Cow::Borrowed;
    u16 U16 Cow::Borrowed;
    u32 U32 Cow::Borrowed;
    u64 U64 Cow::Borrowed;
    f32 F32 Cow::Borrowed;
    f64 F64 Cow::Borrowed;
}

/// An array that our deserializer passes to the visitor that requested it.
struct ArrayOffer {
    numbers: Option<Box<dyn Any>>,
    shape: Vec<usize>,
    /// For an error: describing its type would take longer than a copy of the reference.
    source: Py<PyUntypedArray>,
    /// None of its numbers.
    kind: Numbers<'static>,
}

thread_local! {
    static OFFER: RefCell<Option<ArrayOffer>> = const { RefCell::new(None) };
    /// The arrays that a walk moves out. `None` outside of such a walk.
    static MOVED_ARRAYS: RefCell<Option<MovedArrays>> = const { RefCell::new(None) };
}

pub(crate) fn offer(numbers: Numbers<'_>, shape: &[usize], source: Py<PyUntypedArray>) {
    let (kind, numbers, shape) = (numbers.none(), copied(numbers), shape.to_vec());
    OFFER.set(Some(ArrayOffer { numbers, shape, source, kind }));
}

/// The representation in other formats.
#[derive(Deserialize)]
#[serde(rename = "NdArray")]
struct SerdeArray<T> {
    shape: Vec<usize>,
    data: Vec<T>,
}

struct ArrayVisitor<T>(PhantomData<T>);

impl<'de, T: Number + DeserializeOwned> Visitor<'de> for ArrayVisitor<T> {
    type Value = NdArray<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an array of {}", T::NAME)
    }

    fn visit_unit<E: de::Error>(self) -> Result<NdArray<T>, E> {
        let Some(offer) = OFFER.take() else {
            return Err(E::invalid_type(de::Unexpected::Unit, &self));
        };
        match offer.numbers.map(|numbers| numbers.downcast::<Vec<T>>()) {
            Some(Ok(numbers)) => Ok(NdArray { shape: offer.shape, data: Arc::new(*numbers) }),
            _ => {
                let mut found = Python::attach(|py| describe_array(offer.source.bind(py)));
                if offer.kind.is_converted_to(T::NAME) {
                    found.push_str(CONVERT);
                }
                Err(E::invalid_type(de::Unexpected::Other(&found), &self))
            }
        }
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<NdArray<T>, D::Error> {
        let is_readable = deserializer.is_human_readable();
        let visitor = SerdeArrayVisitor { is_readable, of: PhantomData };
        deserializer.deserialize_struct("NdArray", &["shape", "data"], visitor)
    }
}

fn shaped<T, E: de::Error>(shape: Vec<usize>, data: Vec<T>) -> Result<NdArray<T>, E> {
    let length = shape.iter().try_fold(1usize, |length, dim| length.checked_mul(*dim));
    if length != Some(data.len()) {
        let found = data.len();
        return Err(E::custom(format_args!("expected the numbers of {shape:?}, found {found}")));
    }
    Ok(NdArray { shape, data: Arc::new(data) })
}

/// Reads the struct, or nested sequences: so a buffer of serde has an array.
struct SerdeArrayVisitor<T> {
    /// Whether a format tells the two apart: in others, the fields of a struct are a sequence, too.
    is_readable: bool,
    of: PhantomData<T>,
}

impl<'de, T: Number + DeserializeOwned> Visitor<'de> for SerdeArrayVisitor<T> {
    type Value = NdArray<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an array of {}", T::NAME)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<NdArray<T>, A::Error> {
        let SerdeArray { shape, data } = SerdeArray::deserialize(MapAccessDeserializer::new(map))?;
        shaped(shape, data)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<NdArray<T>, A::Error> {
        if self.is_readable {
            let NestedNumbers { shape, data, .. } = NestedNumbers::read(T::NAME, items)?;
            return shaped(shape, data);
        }
        match (items.next_element()?, items.next_element()?) {
            (Some(shape), Some(data)) => shaped(shape, data),
            _ => Err(de::Error::invalid_length(2, &self)),
        }
    }
}

impl<'de, T: Number + DeserializeOwned> Deserialize<'de> for NdArray<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(MARK, ArrayVisitor(PhantomData))
    }
}

impl<T: Number + Serialize> Serialize for NdArray<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;

        let array = || -> Box<dyn IntoNumpy> {
            Box::new(NdArray { shape: self.shape.clone(), data: self.data.clone() })
        };
        if let Some(number) = move_out(array) {
            return serializer.serialize_newtype_variant(MOVED, 0, "moved", &number);
        }
        let mut fields = serializer.serialize_struct("NdArray", 2)?;
        fields.serialize_field("shape", &self.shape)?;
        fields.serialize_field("data", &*self.data)?;
        fields.end()
    }
}

/// The arrays that a walk gave up, by their numbers, until they are taken.
type MovedArrays = Vec<Option<Box<dyn IntoNumpy>>>;

/// An array whose numbers become numpy's. They are moved after their value was dropped.
pub(crate) trait IntoNumpy {
    fn into_numpy<'py>(self: Box<Self>, py: Python<'py>) -> PyResult<Bound<'py, PyAny>>;
}

impl<T: Number> IntoNumpy for NdArray<T> {
    fn into_numpy<'py>(self: Box<Self>, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let array = match Arc::try_unwrap(self.data) {
            Ok(numbers) => PyArray1::from_vec(py, numbers),
            Err(shared) => PyArray1::from_slice(py, &shared),
        };
        match self.shape.len() {
            1 => Ok(array.into_any()),
            _ => Ok(array.reshape(self.shape)?.into_any()),
        }
    }
}

/// The number of an array that the current walk moves out. `None` outside of such a walk.
pub(crate) fn move_out(array: impl FnOnce() -> Box<dyn IntoNumpy>) -> Option<u64> {
    MOVED_ARRAYS.with_borrow_mut(|arrays| {
        let arrays = arrays.as_mut()?;
        arrays.push(Some(array()));
        Some(arrays.len() as u64 - 1) // it was pushed
    })
}

/// An array that was moved out before, by its number.
pub(crate) fn take_moved(number: usize) -> Option<Box<dyn IntoNumpy>> {
    MOVED_ARRAYS.with_borrow_mut(|arrays| arrays.as_mut()?.get_mut(number)?.take())
}

/// The array that was moved out last.
pub(crate) fn take_last_moved() -> Option<Box<dyn IntoNumpy>> {
    MOVED_ARRAYS.with_borrow_mut(|arrays| arrays.as_mut()?.pop()?)
}

/// Moves out the arrays that are serialized meanwhile.
pub(crate) fn moving_arrays<R>(work: impl FnOnce() -> R) -> R {
    /// The moved arrays of the outer work, which are restored even if this work panics.
    struct Restore(Option<MovedArrays>);

    impl Drop for Restore {
        fn drop(&mut self) {
            MOVED_ARRAYS.set(self.0.take());
        }
    }

    let _around = Restore(MOVED_ARRAYS.replace(Some(Vec::new())));
    work()
}
