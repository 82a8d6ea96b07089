//! The names of objects and types in errors.

use numpy::{PyArrayDescr, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyList, PyString, PyTuple};

pub(crate) fn type_name(object: &Bound<'_, PyAny>) -> String {
    object
        .get_type()
        .name()
        .map_or_else(|_| "an object".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// A name as it is. Lone surrogates are replaced.
pub(crate) fn text(name: &Bound<'_, PyAny>) -> String {
    name.cast::<PyString>().map_or_else(|_| "?".to_owned(), |name| name.to_string_lossy().into())
}

/// A key as Python writes it. Of a class of the user it is only the name, because its `__repr__` is
/// code, too.
pub(crate) fn literal(key: &Bound<'_, PyAny>) -> String {
    let is_plain = key.is_exact_instance_of::<PyString>() || key.is_exact_instance_of::<PyInt>();
    match is_plain.then(|| key.repr()) {
        Some(Ok(repr)) => {
            let text = repr.to_string_lossy();
            match text.char_indices().nth(MOST_PRINTED) {
                Some(_) => text.chars().take(MOST_PRINTED).chain(['…']).collect(),
                None => text.into(),
            }
        }
        _ => type_name(key),
    }
}

/// The most characters of a key or a text in a message.
const MOST_PRINTED: usize = 60;

/// The description of a found object in an error. It runs no code of a user.
pub(crate) fn describe(object: &Bound<'_, PyAny>) -> String {
    let name = type_name(object);
    if object.is_none() {
        "None".to_owned()
    } else if object.is_exact_instance_of::<PyString>() || object.is_exact_instance_of::<PyInt>() {
        format!("{name} {}", literal(object))
    } else if let Ok(float) = object.cast_exact::<PyFloat>() {
        format!("float {:?}", float.value())
    } else if let Ok(bool) = object.cast_exact::<PyBool>() {
        (if bool.is_true() { "True" } else { "False" }).to_owned()
    } else if let Ok(list) = object.cast_exact::<PyList>() {
        format!("list of {}", list.len())
    } else if let Ok(tuple) = object.cast_exact::<PyTuple>() {
        format!("tuple of {}", tuple.len())
    } else if let Ok(bytes) = object.cast_exact::<PyBytes>() {
        format!("bytes of {}", bytes.as_bytes().len())
    } else if let Ok(array) = object.cast::<PyUntypedArray>() {
        describe_array(array)
    } else {
        name
    }
}

/// The type of an array in numpy's notation, e.g. `float32`.
pub(crate) fn dtype_name(dtype: &Bound<'_, PyArrayDescr>) -> String {
    let name = dtype.getattr(intern!(dtype.py(), "name"));
    name.and_then(|name| name.extract()).unwrap_or_else(|_| "?".to_owned())
}

/// Its type and shape, as `float32[4, 3]`.
pub(crate) fn describe_array(array: &Bound<'_, PyUntypedArray>) -> String {
    format!("{}{:?}", dtype_name(&array.dtype()), array.shape())
}
