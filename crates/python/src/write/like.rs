//! Objects in the containers of an example.

use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyComplex, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PySet, PyString, PyTuple,
    PyType,
};

use crate::error::{Error, ErrorKind, Result};
use crate::read::array::is_array;
use crate::read::names::describe;
use crate::read::object::{Entries, is_sequence, member_name};
use crate::read::place::{At, Context, Step};

/// Puts an object of dicts, lists, tuples and arrays of numpy into the containers of an example.
pub(crate) fn like<'py>(
    value: &Bound<'py, PyAny>,
    example: &Bound<'py, PyAny>,
    at: &At<'_, 'py>,
    context: &Context<'py>,
) -> Result<Bound<'py, PyAny>> {
    let put = Put { value, example, at, context };
    put.put().map_err(|error| error.at(|| at.path()))
}

#[derive(Clone, Copy)]
struct Put<'a, 'py> {
    value: &'a Bound<'py, PyAny>,
    example: &'a Bound<'py, PyAny>,
    at: &'a At<'a, 'py>,
    context: &'a Context<'py>,
}

impl<'py> Put<'_, 'py> {
    fn put(self) -> Result<Bound<'py, PyAny>> {
        let Put { value, example, .. } = self;
        if example.is_none() || value.is_none() {
            return Ok(value.clone());
        }
        if is_array(example)? {
            return self.array();
        }
        if example.is_instance_of::<PyFloat>()
            || example.is_instance_of::<PyInt>()
            || example.is_instance_of::<PyComplex>()
        {
            return self.scalar();
        }
        if example.is_instance_of::<PyString>() || member_name(example).is_some() {
            return Ok(match member_name(example) {
                Some(_) if value.is_instance_of::<PyString>() => {
                    example.get_type().as_any().get_item(value)?
                }
                _ => value.clone(),
            });
        }
        if let Some(entries) = Entries::of(example, self.context)? {
            self.context.enter(self.at, entries.len())?;
            return self.fields(&entries);
        }
        if is_sequence(example) {
            return self.sequence();
        }
        let is_set = example.is_instance_of::<PySet>() || example.is_instance_of::<PyFrozenSet>();
        if is_set && is_sequence(value) {
            return Ok(example.get_type().call1((value,))?);
        }
        Ok(value.clone())
    }

    #[cold]
    fn mismatch(&self, expected: &str) -> Error {
        Error::expected(format_args!("{expected} as in the example"), describe(self.value))
    }

    /// A number of Python. Pairs are complex numbers.
    fn scalar(self) -> Result<Bound<'py, PyAny>> {
        let Put { value, example, .. } = self;
        let is_array = value.cast::<PyUntypedArray>().is_ok();
        if example.is_instance_of::<PyComplex>() && is_array {
            let parts = value.call_method0(intern!(value.py(), "tolist"))?.cast_into::<PyList>();
            let parts = parts.map_err(|_| self.mismatch("a complex number"))?;
            return Ok(example.py().get_type::<PyComplex>().call1(parts.to_tuple())?);
        }
        let ends = is_array || value.is_instance_of::<PyDict>() || is_sequence(value);
        if ends {
            return Err(self.mismatch("a number"));
        }
        let is_float = example.is_instance_of::<PyFloat>();
        let is_integer = value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>();
        match value.extract::<f64>() {
            Ok(number) if is_float && is_integer => Ok(PyFloat::new(value.py(), number).into_any()),
            _ => Ok(value.clone()),
        }
    }

    fn array(self) -> Result<Bound<'py, PyAny>> {
        static ARRAY_LIKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let py = self.value.py();
        if let Ok(value) = self.value.cast_exact::<PyUntypedArray>()
            && let Ok(example) = self.example.cast_exact::<PyUntypedArray>()
            && !value.is_empty()
            && value.dtype().is_equiv_to(&example.dtype())
        {
            return Ok(self.value.clone());
        }
        let array_like = ARRAY_LIKE.get_or_try_init(py, || -> PyResult<_> {
            let module = PyModule::from_code(py, ARRAYS, c"arrays.py", c"treedef_python_arrays")?;
            Ok(module.getattr("array_like")?.unbind())
        })?;
        Ok(array_like.bind(py).call1((self.value, self.example))?)
    }

    fn sequence(self) -> Result<Bound<'py, PyAny>> {
        let Put { value, example, at, context } = self;
        let py = value.py();
        let is_list = is_sequence(value) || value.cast::<PyUntypedArray>().is_ok();
        let length = example.len()?;
        if !is_list || value.len()? != length {
            return Err(self.mismatch(&describe(example)));
        }
        context.enter(at, length)?;
        // Numbers of numpy become Python's, unless the example has arrays in its place.
        let has_arrays =
            example.try_iter()?.any(|item| item.is_ok_and(|item| is_array(&item).unwrap_or(false)));
        let value = match value.cast::<PyUntypedArray>() {
            Ok(array) if !has_arrays => &array.call_method0(intern!(py, "tolist"))?,
            _ => value,
        };
        let items = PyList::empty(py);
        for index in 0..length {
            let at = at.child(Step::Item(index));
            items.append(like(
                &value.get_item(index)?,
                &example.get_item(index)?,
                &at,
                context,
            )?)?;
        }
        let class = example.get_type();
        Ok(if example.is_exact_instance_of::<PyList>() {
            items.into_any()
        } else if example.is_exact_instance_of::<PyTuple>() {
            items.to_tuple().into_any()
        } else {
            class.call1((items,))?
        })
    }

    /// A dict, or an object with attributes.
    fn fields(self, entries: &Entries<'py>) -> Result<Bound<'py, PyAny>> {
        let Put { value, example, at, context } = self;
        let py = value.py();
        let is_tuple = example.is_instance_of::<PyTuple>();
        let named = match value.cast::<PyDict>() {
            Ok(dict) => dict.clone(),
            // A tuple in Rust may be a named tuple in Python.
            Err(_) if is_tuple => return self.sequence_of_fields(),
            Err(_) => return Err(self.mismatch(&describe(example))),
        };
        let filled = PyDict::new(py);
        let mut taken = 0;
        for index in 0..entries.len() {
            let key = entries.key(index, py)?;
            let old = entries.value(index, &key)?;
            let at = at.child(entries.step(&key));
            let new = match named.get_item(&key)? {
                Some(new) => {
                    taken += 1;
                    like(&new, &old, &at, context)?
                }
                None if is_kept(&old, context)? => old,
                None => {
                    let found = describe(&old);
                    let message = format_args!("the value has none, the example has {found}");
                    return Err(Error::new(ErrorKind::Key, message).at(|| at.path()));
                }
            };
            filled.set_item(key, new)?;
        }
        if taken < named.len() {
            let is_unknown = |key: &Bound<'py, PyAny>| !filled.contains(key).unwrap_or(false);
            let unknown = named.keys().iter().find(is_unknown);
            let unknown = unknown.map(|key| crate::read::names::literal(&key)).unwrap_or_default();
            let message = format_args!("the example lacks {unknown}, found {}", entries.found(py));
            return Err(Error::new(ErrorKind::Key, message));
        }
        self.instance(&filled, matches!(entries, Entries::Items { .. }))
    }

    fn sequence_of_fields(self) -> Result<Bound<'py, PyAny>> {
        let fields =
            PyTuple::new(self.value.py(), self.example.try_iter()?.collect::<PyResult<Vec<_>>>()?)?;
        let items = Put { example: fields.as_any(), ..self }.sequence()?;
        Ok(self.example.get_type().call_method1(intern!(self.value.py(), "_make"), (items,))?)
    }

    /// A new instance of the example's class.
    fn instance(self, filled: &Bound<'py, PyDict>, is_dict: bool) -> Result<Bound<'py, PyAny>> {
        static COPY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        static SET: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let example = self.example;
        let py = example.py();
        if example.is_exact_instance_of::<PyDict>()
            || is_dict && !example.is_instance_of::<PyDict>()
        {
            return Ok(filled.clone().into_any());
        }
        if example.is_instance_of::<PyTuple>() {
            return Ok(example
                .get_type()
                .call_method1(intern!(py, "_make"), (filled.values(),))?);
        }
        let copy = COPY.import(py, "copy", "copy")?.call1((example,))?;
        for (key, item) in filled {
            if is_dict {
                copy.set_item(key, item)?;
            } else {
                // Also of a frozen class, which is still being made.
                let set = SET.get_or_try_init(py, || -> PyResult<_> {
                    Ok(py.get_type::<PyAny>().getattr("__setattr__")?.unbind())
                })?;
                set.bind(py).call1((&copy, key, item))?;
            }
        }
        Ok(copy)
    }
}

/// Whether what the value lacks stays as in the example: it has no numbers.
fn is_kept<'py>(old: &Bound<'py, PyAny>, context: &Context<'py>) -> Result<bool> {
    let is_number = old.is_instance_of::<PyFloat>()
        || old.is_instance_of::<PyComplex>()
        || old.is_instance_of::<PyInt>() && !old.is_instance_of::<PyBool>();
    if is_number || is_array(old)? {
        return Ok(false);
    }
    let is_class = old.cast::<PyType>().is_ok() || old.is_callable();
    let is_empty = !is_sequence(old) || old.len()? == 0;
    Ok(is_empty
        && (is_class
            || old.is_instance_of::<PyString>()
            || Entries::of(old, context)?.is_none_or(|entries| entries.len() == 0)))
}

/// What is one line each in Python, and ten here.
const ARRAYS: &std::ffi::CStr = cr#"
import numpy as np

def array_like(value, example):
    kind = type(example)
    if kind.__module__.partition(".")[0] == "torch":
        import torch
        value = pairs(np.asarray(value), example.ndim, str(example.dtype).startswith("torch.complex"))
        return torch.as_tensor(value, dtype=example.dtype, device=example.device)
    dtype = getattr(example, "dtype", None)
    if not isinstance(dtype, np.dtype):
        dtype = np.asarray(example).dtype
    # An integer of Python has no width: numpy checks that it fits.
    value = np.asarray(value, dtype if type(value) is int and dtype.kind in "iu" else None)
    if value.size == np.size(example) == 0:
        value = np.zeros(np.shape(example), dtype)  # nested sequences do not show all of it
    elif value.size == 0 and value.dtype == np.float64:
        value = value.astype(dtype)
    value = pairs(value, np.ndim(example), dtype.kind == "c")
    casting = "unsafe" if dtype.kind == "V" or value.dtype.kind == "V" else "same_kind"
    value = value.astype(dtype, casting=casting, copy=False)
    if isinstance(example, np.generic):
        return value[()]
    if isinstance(example, np.ndarray) or not hasattr(kind, "__array_namespace__"):
        return value
    return example.__array_namespace__().asarray(value)

def pairs(value, ndim, is_complex):
    """Of complex numbers, serde sees the parts."""
    if not is_complex or value.dtype.kind == "c" or value.ndim != ndim + 1:
        return value
    parts = np.ascontiguousarray(value if value.dtype.kind == "f" else value.astype("f8"))
    return np.asarray(parts.view(f"c{2 * parts.itemsize}")[..., 0])
"#;
