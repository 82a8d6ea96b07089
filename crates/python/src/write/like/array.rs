//! Numbers in the kind of array that the example has.

use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::error::{Error, ErrorKind, Result};

/// An array, or an object that is made of one.
pub(crate) struct ArrayLike<'py> {
    example: Bound<'py, PyAny>,
    /// The type of the numbers, if it is an array of numpy itself.
    dtype: Option<Bound<'py, PyArrayDescr>>,
    /// The function that makes such an array of a value.
    make: Option<Bound<'py, PyAny>>,
    /// Whether its elements are numbers, not texts, dates or random keys.
    pub(crate) has_numbers: bool,
}

impl<'py> ArrayLike<'py> {
    pub(crate) fn of(example: &Bound<'py, PyAny>) -> Result<Self> {
        let example = example.clone();
        if let Ok(array) = example.cast_exact::<PyUntypedArray>() {
            // Most values need nothing to be done.
            let dtype = array.dtype();
            let has_numbers = !matches!(dtype.kind(), b'U' | b'S' | b'T' | b'M' | b'm');
            return Ok(ArrayLike { example, dtype: Some(dtype), make: None, has_numbers });
        }
        let make = Some(maker(&example)?);
        let has_numbers = code(example.py())?.getattr("has_numbers")?.call1((&example,))?;
        let has_numbers = has_numbers.is_truthy()?;
        Ok(ArrayLike { example, dtype: None, make, has_numbers })
    }

    /// Whether the object is an array for which this is the plan.
    pub(crate) fn fits(&self, example: &Bound<'py, PyAny>) -> bool {
        let array = example.cast_exact::<PyUntypedArray>();
        let found = array.as_ref().map(|array| (array.dtype(), array.shape()));
        match (&self.dtype, found, self.example.cast_exact::<PyUntypedArray>()) {
            (Some(dtype), Ok((found, shape)), Ok(own)) => {
                dtype.is_equiv_to(&found) && own.shape() == shape
            }
            _ => self.example.is(example),
        }
    }

    /// Whether the value already is such an array.
    pub(crate) fn is_put(&self, value: &Bound<'py, PyAny>) -> bool {
        match (&self.dtype, value.cast_exact::<PyUntypedArray>()) {
            (Some(dtype), Ok(array)) => {
                !array.is_empty() && array.dtype().is_equiv_to(dtype) && self.has_shape(array)
            }
            _ => false,
        }
    }

    pub(crate) fn put(&self, value: Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        if self.is_put(&value) {
            return Ok(value);
        }
        let made = match &self.make {
            Some(make) => make.call1((&value,)),
            None => maker(&self.example)?.call1((&value,)),
        };
        made.map_err(|error| explain(error, value.py()))
    }

    /// Whether no dimension is added for complex numbers or for a column.
    fn has_shape(&self, array: &Bound<'py, PyUntypedArray>) -> bool {
        let own = self.example.cast_exact::<PyUntypedArray>();
        own.is_ok_and(|own| own.ndim() == array.ndim())
    }
}

fn maker<'py>(example: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
    let py = example.py();
    let made = code(py)?.getattr("maker")?.call1((example,));
    made.map_err(|error| explain(error, py))
}

/// Our own exceptions are about the value, and get a path.
fn explain(error: PyErr, py: Python<'_>) -> Error {
    let refused = code(py).and_then(|code| Ok(code.getattr("Refused")?));
    if !refused.is_ok_and(|refused| error.is_instance(py, &refused)) {
        return error.into();
    }
    let is_type = error.is_instance_of::<PyTypeError>(py);
    Error::new(if is_type { ErrorKind::Type } else { ErrorKind::Value }, error.value(py))
}

fn code(py: Python<'_>) -> Result<&Bound<'_, PyAny>> {
    static MODULE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let code = pyo3::ffi::c_str!(include_str!("arrays.py"));
    let module = MODULE.get_or_try_init(py, || -> PyResult<_> {
        let module = PyModule::from_code(py, code, c"arrays.py", c"treedef_python_arrays")?;
        Ok(module.into_any().unbind())
    })?;
    Ok(module.bind(py))
}
