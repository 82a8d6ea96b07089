//! Nested lists where a type requests an array.

use numpy::PyUntypedArray;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyTuple};

use crate::error::Result;
use crate::read::array::BorrowedArray;
use crate::read::context::ObjectDeserializer;
use crate::read::slice::{ArraySlice, ArraySource};

impl<'py> ObjectDeserializer<'_, 'py> {
    /// Reads nested lists as the array to which numpy converts them. `None` if it does not, and the reader is
    /// returned.
    pub(crate) fn as_listed<A, R>(
        &self,
        argument: A,
        read: impl FnOnce(ArraySlice<'_>, A) -> Result<R>,
    ) -> Result<std::result::Result<R, A>> {
        static ASARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        if list_items(self.object).is_none() || !self.is_of_numbers(self.object, 0)? {
            return Ok(Err(argument));
        }
        let asarray = ASARRAY.import(self.context.py, "numpy", "asarray")?;
        let array = match asarray.call1((self.object,)) {
            Ok(array) => array,
            // Rows of several lengths are no array, nor are integers that no type of numpy holds.
            Err(error) if error.is_instance_of::<PyException>(self.context.py) => {
                return Ok(Err(argument));
            }
            Err(interrupt) => return Err(interrupt.into()),
        };
        let array = array.cast_into::<PyUntypedArray>().map_err(PyErr::from)?;
        let Some(array) = BorrowedArray::of(&array)? else { return Ok(Err(argument)) };
        let convert = self.context.convert || is_of_python(self.object);
        let (numbers, shape) = (array.numbers()?, array.shape.as_slice());
        let (marked, describe) = (false, &|| array.describe());
        let whole = ArraySource { numbers, shape, convert, marked, describe };
        let value = read(ArraySlice::new(&whole), argument)?;
        Ok(Ok(value))
    }

    /// Whether lists have numbers of Python and of numpy only: of other objects, numpy would run the code, and a
    /// list that contains itself has no end.
    fn is_of_numbers(&self, object: &Bound<'py, PyAny>, dims: usize) -> Result<bool> {
        let Some(items) = list_items(object) else { return is_number(object) };
        self.context.enter(self.at, items.len())?;
        if dims == MOST_DIMS {
            return Ok(false);
        }
        for item in items {
            if !self.is_of_numbers(&item, dims + 1)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The most dimensions of nested lists.
const MOST_DIMS: usize = 16;

fn list_items<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyList>> {
    match object.cast_exact::<PyList>() {
        Ok(list) => Some(list.clone()),
        Err(_) => object.cast_exact::<PyTuple>().ok().map(|tuple| tuple.to_list()),
    }
}

fn is_number(object: &Bound<'_, PyAny>) -> Result<bool> {
    static GENERIC: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    Ok(is_plain_number(object)
        || object.cast::<PyUntypedArray>().is_ok()
        || object.is_instance(GENERIC.import(object.py(), "numpy", "generic")?)?)
}

fn is_plain_number(object: &Bound<'_, PyAny>) -> bool {
    object.is_exact_instance_of::<PyFloat>()
        || object.is_exact_instance_of::<PyInt>()
        || object.is_exact_instance_of::<PyBool>()
}

/// Whether the first of the numbers is one of Python, which has no width.
fn is_of_python(object: &Bound<'_, PyAny>) -> bool {
    match list_items(object) {
        Some(items) => items.iter().next().is_none_or(|first| is_of_python(&first)),
        None => is_plain_number(object),
    }
}
