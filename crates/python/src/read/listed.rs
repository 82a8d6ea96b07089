//! Nested lists where a type requests an array.

use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray};
use pyo3::exceptions::PyException;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyTuple};

use crate::error::Result;
use crate::read::array::{BorrowedArray, Numbers, is_masked};
use crate::read::context::{ObjectDeserializer, PathStep};
use crate::read::number::{FloatVisitor, NumberRequest};
use crate::read::slice::{ArraySlice, ArraySource};

impl<'py> ObjectDeserializer<'_, 'py> {
    /// Reads nested lists as the array to which numpy converts them. `None` if it does not, and the reader is
    /// returned.
    pub(crate) fn as_listed<A, R>(
        &self,
        argument: A,
        read: impl FnOnce(ArraySlice<'_>, A) -> Result<R>,
    ) -> Result<std::result::Result<R, A>> {
        let mut kinds = ListedKinds::default();
        if list_items(self.object).is_none() || !self.is_of_numbers(self.object, 0, &mut kinds)? {
            return Ok(Err(argument));
        }
        let Some(mut array) = self.as_array_of(None)? else { return Ok(Err(argument)) };
        let mut integers = LargeIntegers::default();
        if kinds.has_large && matches!(array.numbers()?, Numbers::F64(_)) {
            let unsigned = if kinds.has_floats { None } else { self.as_array_of(Some("uint64"))? };
            match unsigned {
                Some(unsigned) => array = unsigned,
                None => self.large_integers(&mut integers)?,
            }
        }
        let convert = self.context.convert || is_of_python(self.object);
        let describe = &|| array.describe();
        let whole = ArraySource::new(array.numbers()?, &array.shape, convert, describe);
        let whole = ArraySource { integers: &integers.places, ..whole };
        let value = read(ArraySlice::new(&whole), argument)?;
        Ok(Ok(value))
    }

    /// The array that numpy makes of it. `None` if it makes none of numbers.
    fn as_array_of(&self, dtype: Option<&str>) -> Result<Option<BorrowedArray<'py>>> {
        static ASARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let asarray = ASARRAY.import(self.context.py, "numpy", "asarray")?;
        match asarray.call1((self.object, dtype)) {
            Ok(array) => {
                BorrowedArray::of(&array.cast_into::<PyUntypedArray>().map_err(PyErr::from)?)
            }
            // Rows of several lengths are no array, nor are integers that no type of numpy holds.
            Err(error) if error.is_instance_of::<PyException>(self.context.py) => Ok(None),
            Err(interrupt) => Err(interrupt.into()),
        }
    }

    /// Finds the integers that numpy made floats of, because there are floats beside them. A float of 64 bits has to be
    /// each of them, for any type that may be requested.
    fn large_integers(self, found: &mut LargeIntegers) -> Result<()> {
        if let Some(items) = list_items(self.object) {
            for (index, object) in items.iter().enumerate() {
                let at = &self.at.child(PathStep::Item(index));
                let item = ObjectDeserializer { object: &object, at, context: self.context };
                item.large_integers(found).map_err(|error| error.at(|| at.path()))?;
            }
            return Ok(());
        }
        if is_plain_number(self.object) {
            if is_large(self.object)? {
                self.integer(NumberRequest::F64, FloatVisitor)?;
                found.places.push(found.count);
            }
            found.count += 1; // at most the numbers of the array
            return Ok(());
        }
        let py = self.context.py;
        if is_large(self.object)? {
            let object = &self.object.call_method0(intern!(py, "tolist"))?;
            return ObjectDeserializer { object, ..self }.large_integers(found);
        }
        found.count += self.object.getattr(intern!(py, "size"))?.extract::<usize>()?;
        Ok(())
    }

    /// Whether lists have numbers of Python and of numpy only: of other objects, numpy would run the code, and a
    /// list that contains itself has no end.
    fn is_of_numbers(
        &self,
        object: &Bound<'py, PyAny>,
        dims: usize,
        kinds: &mut ListedKinds,
    ) -> Result<bool> {
        let Some(items) = list_items(object) else {
            let is_number = is_number(object)?;
            if is_number {
                let is_large = is_large(object)?;
                kinds.has_large |= is_large;
                kinds.has_floats |= !is_large && !object.is_instance_of::<PyInt>();
            }
            return Ok(is_number);
        };
        self.context.enter(self.at, items.len())?;
        if dims == MOST_DIMS {
            return Ok(false);
        }
        for item in items {
            if !self.is_of_numbers(&item, dims + 1, kinds)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The numbers of lists.
#[derive(Default)]
struct ListedKinds {
    has_large: bool,
    /// Whether others than integers of Python and large ones may be there.
    has_floats: bool,
}

/// The large integers among the numbers of an array, and how many numbers were counted.
#[derive(Default)]
struct LargeIntegers {
    places: Vec<usize>,
    count: usize,
}

/// Whether it is an integer that a float of 32 bits may not have, or an array of numpy with such a type.
fn is_large(object: &Bound<'_, PyAny>) -> Result<bool> {
    if object.is_exact_instance_of::<PyInt>() {
        return Ok(!object.extract().is_ok_and(|integer: i32| integer.unsigned_abs() <= 1 << 24));
    }
    if is_plain_number(object) {
        return Ok(false);
    }
    let dtype = object.getattr(intern!(object.py(), "dtype"))?;
    let dtype = dtype.cast_into::<PyArrayDescr>().map_err(PyErr::from)?;
    Ok(matches!(dtype.kind(), b'i' | b'u') && dtype.itemsize() >= 4)
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
    if let Ok(array) = object.cast::<PyUntypedArray>() {
        return Ok(!is_masked(array)?);
    }
    Ok(is_plain_number(object)
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
