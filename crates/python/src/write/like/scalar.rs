//! One number or text, in the type that the example has.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyDict, PyFloat, PyInt, PyString};

use crate::error::{Error, ErrorKind, Result};
use crate::read::array::is_array;
use crate::read::names::describe;

/// A number or a text of Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScalarKind {
    Float,
    Int,
    Bool,
    Complex,
    Text,
}

impl ScalarKind {
    /// The kind of an object of Python's own class, or of one that inherits from it.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> Option<Self> {
        Some(if object.is_instance_of::<PyFloat>() {
            ScalarKind::Float
        } else if object.is_instance_of::<PyBool>() {
            ScalarKind::Bool
        } else if object.is_instance_of::<PyInt>() {
            ScalarKind::Int
        } else if object.is_instance_of::<PyString>() {
            ScalarKind::Text
        } else if object.is_instance_of::<PyComplex>() {
            ScalarKind::Complex
        } else {
            return None;
        })
    }

    /// Whether the object is of this kind, and of Python's own class.
    pub(crate) fn is_of(self, object: &Bound<'_, PyAny>) -> bool {
        match self {
            ScalarKind::Float => object.is_exact_instance_of::<PyFloat>(),
            ScalarKind::Int => object.is_exact_instance_of::<PyInt>(),
            ScalarKind::Bool => object.is_exact_instance_of::<PyBool>(),
            ScalarKind::Complex => object.is_exact_instance_of::<PyComplex>(),
            ScalarKind::Text => object.is_exact_instance_of::<PyString>(),
        }
    }

    fn name(self) -> &'static str {
        match self {
            ScalarKind::Float => "a float",
            ScalarKind::Int => "an integer",
            ScalarKind::Bool => "a bool",
            ScalarKind::Complex => "a complex number",
            ScalarKind::Text => "a str",
        }
    }

    /// The value as a number of this kind, which it has to be without a change.
    pub(crate) fn put<'py>(self, value: Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        if self.is_of(&value) {
            return Ok(value);
        }
        match self {
            ScalarKind::Complex => self.complex(value),
            // A variant with content, where the one of the example has none.
            ScalarKind::Text if value.cast::<PyDict>().is_ok_and(|dict| dict.len() == 1) => {
                Ok(value)
            }
            ScalarKind::Text => Err(self.mismatch(&value)),
            _ => self.number(value),
        }
    }

    fn number<'py>(self, value: Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        let py = value.py();
        let value = if is_array(&value)? {
            let item = value.call_method0(intern!(py, "tolist"))?;
            if self.is_of(&item) {
                return Ok(item);
            }
            if ScalarKind::of(&item).is_none() {
                return Err(self.mismatch(&value));
            }
            item
        } else {
            value
        };
        let is_number = matches!(
            ScalarKind::of(&value),
            Some(ScalarKind::Float | ScalarKind::Int | ScalarKind::Bool)
        );
        if !is_number {
            return Err(self.mismatch(&value));
        }
        // Python compares numbers of two types exactly. A number that does not convert is out of range.
        let converted = match self {
            ScalarKind::Float => py.get_type::<PyFloat>().call1((&value,)),
            ScalarKind::Bool => py.get_type::<PyBool>().call1((&value,)),
            _ => py.get_type::<PyInt>().call1((&value,)),
        };
        match converted {
            Ok(converted) if converted.eq(&value)? => Ok(converted),
            _ => Err(self.unfit(&value)),
        }
    }

    /// Pairs are complex numbers, and so are reals.
    fn complex<'py>(self, value: Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        let py = value.py();
        let parts = if is_array(&value)? {
            value.call_method0(intern!(py, "tolist"))?
        } else {
            value.clone()
        };
        if self.is_of(&parts) {
            return Ok(parts);
        }
        let parts = match parts.cast::<PyDict>() {
            Ok(dict) if dict.len() == 2 => dict.values().into_any(),
            _ => parts,
        };
        let part = |part| ScalarKind::Float.number(part).map_err(|_| self.mismatch(&value));
        let pair = parts.extract::<[Bound<'py, PyAny>; 2]>();
        let (real, imaginary) = match (pair, ScalarKind::of(&parts)) {
            (_, Some(ScalarKind::Text)) => return Err(self.mismatch(&value)),
            (Ok([real, imaginary]), _) => (part(real)?, part(imaginary)?),
            _ => (part(parts)?, PyFloat::new(py, 0.0).into_any()),
        };
        let (real, imaginary) = (real.extract()?, imaginary.extract()?);
        Ok(PyComplex::from_doubles(py, real, imaginary).into_any())
    }

    #[cold]
    fn mismatch(self, value: &Bound<'_, PyAny>) -> Error {
        Error::expected(format_args!("{} as in the example", self.name()), describe(value))
    }

    #[cold]
    fn unfit(self, value: &Bound<'_, PyAny>) -> Error {
        let (name, found) = (self.name(), describe(value));
        let message =
            format_args!("expected {name} as in the example, found {found}, which does not fit");
        Error::new(ErrorKind::Value, message)
    }
}
