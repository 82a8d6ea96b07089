//! Arrays of the library as arrays of numpy.

use numpy::npyffi::NPY_ORDER;
use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use treedef::{Array, Dtype};

use crate::error::{Error, ErrorKind, Result};

/// Copies the numbers into an array of numpy.
pub(crate) fn to_numpy<'py>(py: Python<'py>, array: &Array) -> Result<Bound<'py, PyAny>> {
    match array.dtype() {
        Dtype::Bool => plain(py, array, array.as_slice::<bool>()),
        Dtype::U8 => plain(py, array, array.as_slice::<u8>()),
        Dtype::I8 => plain(py, array, array.as_slice::<i8>()),
        Dtype::U16 => plain(py, array, array.as_slice::<u16>()),
        Dtype::I16 => plain(py, array, array.as_slice::<i16>()),
        Dtype::U32 => plain(py, array, array.as_slice::<u32>()),
        Dtype::I32 => plain(py, array, array.as_slice::<i32>()),
        Dtype::U64 => plain(py, array, array.as_slice::<u64>()),
        Dtype::I64 => plain(py, array, array.as_slice::<i64>()),
        Dtype::F32 => plain(py, array, array.as_slice::<f32>()),
        Dtype::F64 => plain(py, array, array.as_slice::<f64>()),
        Dtype::F16 => viewed(py, array, array.as_slice::<u16>(), "float16"),
        Dtype::Bf16 => {
            py.import("ml_dtypes")?; // it has numpy learn the type
            viewed(py, array, array.as_slice::<u16>(), "bfloat16")
        }
        Dtype::C64 => viewed(py, array, array.as_slice::<f32>(), "complex64"),
        Dtype::C128 => viewed(py, array, array.as_slice::<f64>(), "complex128"),
        other => Err(other_numbers(&other)),
    }
}

fn other_numbers(dtype: &Dtype) -> Error {
    Error::new(ErrorKind::Value, format_args!("numpy has no numbers of the type {dtype}"))
}

fn order(array: &Array) -> NPY_ORDER {
    if array.is_column_major() { NPY_ORDER::NPY_FORTRANORDER } else { NPY_ORDER::NPY_CORDER }
}

fn plain<'py, T: Element>(
    py: Python<'py>,
    array: &Array,
    numbers: Option<&[T]>,
) -> Result<Bound<'py, PyAny>> {
    let numbers = numbers.ok_or_else(|| other_numbers(&array.dtype()))?;
    let flat = PyArray1::from_slice(py, numbers);
    match array.shape().len() {
        1 => Ok(flat.into_any()),
        _ => Ok(flat.reshape_with_order(array.shape().to_vec(), order(array))?.into_any()),
    }
}

/// Numbers with the bits of a type that Rust lacks.
fn viewed<'py, T: Element>(
    py: Python<'py>,
    array: &Array,
    numbers: Option<&[T]>,
    dtype: &str,
) -> Result<Bound<'py, PyAny>> {
    let numbers = numbers.ok_or_else(|| other_numbers(&array.dtype()))?;
    let viewed = PyArray1::from_slice(py, numbers).call_method1(intern!(py, "view"), (dtype,))?;
    let order = if array.is_column_major() { "F" } else { "C" };
    let named = pyo3::types::PyDict::new(py);
    named.set_item("order", order)?;
    Ok(viewed.call_method(intern!(py, "reshape"), (array.shape().to_vec(),), Some(&named))?)
}
