//! An array of numpy as it is, in a value of Rust.

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;

use numpy::{
    PyArray1, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use serde::de::{self, DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};

use crate::read::names::describe_array;
use crate::read::nd_array::{IntoNumpy, MOVED, NdArray, Number, move_out};

/// The name by which it requests the array itself from our deserializer.
pub(crate) const SHARED: &str = "treedef_python::SharedArray";

/// An array of numpy as it is: neither copied in nor out, so that one of any size costs nothing.
///
/// Its numbers are read and written by [`numpy`], which checks that they are not borrowed twice. An array of JAX or
/// PyTorch becomes one of numpy with the same memory, where numpy can. A type is never converted. For other formats it is
/// a struct as an [`NdArray`], and below tagged, untagged and flattened types it is copied.
///
/// ```
/// use numpy::PyArrayMethods;
/// use pyo3::prelude::*;
/// use treedef_python::SharedArray;
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Field { values: SharedArray<f64>, scale: f64 }
///
/// Python::attach(|py| {
///     let code = c"{'values': __import__('numpy').ones(3), 'scale': 2.0}";
///     let object = py.eval(code, None, None)?;
///     let field: Field = treedef_python::from_python(&object)?;
///     let values = field.values.bind(py).readonly();
///     assert_eq!(values.as_slice()?.iter().sum::<f64>() * field.scale, 6.0);
///
///     let back = treedef_python::to_python(py, &field)?;
///     assert!(back.get_item("values")?.is(&object.get_item("values")?));
///     Ok::<_, PyErr>(())
/// })
/// # .unwrap();
/// ```
pub struct SharedArray<T>(Py<PyArrayDyn<T>>);

impl<T: Number> SharedArray<T> {
    /// An array that Python has.
    ///
    /// ```
    /// use numpy::{PyArray1, PyArrayDescrMethods, PyArrayMethods};
    /// use pyo3::prelude::*;
    /// use treedef_python::SharedArray;
    ///
    /// Python::attach(|py| {
    ///     let shared = SharedArray::new(PyArray1::from_vec(py, vec![1.0, 2.0]).to_dyn());
    ///     assert_eq!(shared.bind(py).readonly().as_slice()?, [1.0, 2.0]);
    ///     Ok::<_, PyErr>(())
    /// })
    /// # .unwrap();
    /// ```
    pub fn new(array: &Bound<'_, PyArrayDyn<T>>) -> Self {
        SharedArray(array.clone().unbind())
    }

    /// The array, whose `readonly` and `readwrite` return the numbers.
    pub fn bind<'py>(&self, py: Python<'py>) -> &Bound<'py, PyArrayDyn<T>> {
        self.0.bind(py)
    }

    fn copied<E: ser::Error>(&self, py: Python<'_>) -> Result<NdArray<T>, E> {
        let numbers = self.bind(py).try_readonly().map_err(E::custom)?;
        let data = numbers.as_array().iter().copied().collect();
        NdArray::new(numbers.shape().to_vec(), data)
            .ok_or_else(|| E::custom("an array has other than its numbers"))
    }
}

impl<T> Clone for SharedArray<T> {
    fn clone(&self) -> Self {
        Python::attach(|py| SharedArray(self.0.clone_ref(py)))
    }
}

impl<T: Number> fmt::Debug for SharedArray<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = Python::attach(|py| describe_array(self.bind(py).as_untyped()));
        write!(f, "SharedArray({text})")
    }
}

thread_local! {
    /// The array that our deserializer passes to the visitor that requested it.
    static OFFER: RefCell<Option<Py<PyUntypedArray>>> = const { RefCell::new(None) };
}

pub(crate) fn offer(array: Py<PyUntypedArray>) {
    OFFER.set(Some(array));
}

struct SharedVisitor<T>(PhantomData<T>);

impl<'de, T: Number + DeserializeOwned> Visitor<'de> for SharedVisitor<T> {
    type Value = SharedArray<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an array of {} as it is", T::NAME)
    }

    fn visit_unit<E: de::Error>(self) -> Result<SharedArray<T>, E> {
        let Some(array) = OFFER.take() else {
            return Err(E::invalid_type(de::Unexpected::Unit, &self));
        };
        Python::attach(|py| match array.bind(py).cast::<PyArrayDyn<T>>() {
            Ok(array) => Ok(SharedArray::new(array)),
            Err(_) => {
                let mut found = describe_array(array.bind(py));
                if array.bind(py).dtype().is_native_byteorder() == Some(false) {
                    found.push_str(" of another byte order");
                }
                Err(E::invalid_type(de::Unexpected::Other(&found), &self))
            }
        })
    }

    /// There is no array of numpy.
    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<SharedArray<T>, D::Error> {
        let array = NdArray::<T>::deserialize(deserializer)?;
        let shape = array.shape().to_vec();
        Python::attach(|py| {
            let made = PyArray1::from_vec(py, array.into_data()).reshape(shape);
            made.map(|made| SharedArray::new(&made)).map_err(de::Error::custom)
        })
    }
}

impl<'de, T: Number + DeserializeOwned> Deserialize<'de> for SharedArray<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(SHARED, SharedVisitor(PhantomData))
    }
}

impl<T: Number> IntoNumpy for SharedArray<T> {
    fn into_numpy<'py>(self: Box<Self>, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.0.into_bound(py).into_any())
    }
}

impl<T: Number + Serialize> Serialize for SharedArray<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match move_out(|| Box::new(self.clone())) {
            Some(number) => serializer.serialize_newtype_variant(MOVED, 0, "moved", &number),
            None => Python::attach(|py| self.copied(py))?.serialize(serializer),
        }
    }
}
