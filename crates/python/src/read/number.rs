//! One number, as a type requests it.

use std::fmt;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};
use serde::de::Visitor;

use crate::error::{Error, ErrorKind, Result};
use crate::read::buffer::Mark;
use crate::read::context::ObjectDeserializer;
use crate::read::names::describe;
use crate::read::slice::ArraySlice;

/// The number that a type requests.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberRequest {
    /// An integer of the type of this name.
    Integer(&'static str),
    /// An integer of any size, if the type of the object decides.
    AnyInteger,
    F16,
    Bf16,
    F32,
    F64,
}

impl NumberRequest {
    fn name(self) -> &'static str {
        match self {
            NumberRequest::Integer(name) => name,
            NumberRequest::AnyInteger => "an integer",
            NumberRequest::F16 => "f16",
            NumberRequest::Bf16 => "bf16",
            NumberRequest::F32 => "f32",
            NumberRequest::F64 => "f64",
        }
    }

    fn is_float(self) -> bool {
        !matches!(self, NumberRequest::Integer(_) | NumberRequest::AnyInteger)
    }

    /// The next float of this type. `None` if the type has none.
    fn rounded(self, value: f64) -> Option<f64> {
        match self {
            NumberRequest::Integer(_) | NumberRequest::AnyInteger => None,
            NumberRequest::F16 => Some(half::f16::from_f64(value).to_f64()),
            NumberRequest::Bf16 => Some(half::bf16::from_f64(value).to_f64()),
            NumberRequest::F32 => Some(f64::from(value as f32)),
            NumberRequest::F64 => Some(value),
        }
    }
}

/// Takes a float.
pub(crate) struct FloatVisitor;

impl Visitor<'_> for FloatVisitor {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a float")
    }

    fn visit_f64<E>(self, value: f64) -> std::result::Result<f64, E> {
        Ok(value)
    }
}

impl ObjectDeserializer<'_, '_> {
    /// A number of Python, or an array without dimensions.
    pub(crate) fn number<'de, V: Visitor<'de>>(
        self,
        request: NumberRequest,
        visitor: V,
        of_part: impl FnOnce(ArraySlice<'_>, V) -> Result<V::Value>,
    ) -> Result<V::Value> {
        let object = self.object;
        if object.is_exact_instance_of::<PyInt>() {
            return self.integer(request, visitor);
        }
        if let Ok(float) = object.cast_exact::<PyFloat>() {
            return self.float(request, float.value(), visitor);
        }
        // Of numpy's `float64` and `bool`, one is a float of Python, too.
        if !object.is_exact_instance_of::<PyBool>()
            && let Some(array) = self.array()?
        {
            return self.as_part(&array, |part| of_part(part, visitor));
        }
        if let Ok(float) = object.cast::<PyFloat>() {
            return self.float(request, float.value(), visitor);
        }
        if object.is_instance_of::<PyInt>() && !object.is_instance_of::<PyBool>() {
            return self.integer(request, visitor);
        }
        Err(self.expected(request.name()))
    }

    fn float<'de, V: Visitor<'de>>(
        self,
        request: NumberRequest,
        value: f64,
        visitor: V,
    ) -> Result<V::Value> {
        match request.rounded(value) {
            None => Err(self.expected(request.name())),
            Some(rounded) if rounded.is_infinite() && value.is_finite() => {
                Err(self.out_of_range(request))
            }
            Some(_) => visitor.visit_f64(value),
        }
    }

    /// The bits of the half float that a number of Python is. `None` if it is none.
    pub(crate) fn half(self, name: &str) -> Result<Option<u16>> {
        let request = if name == "f16" { NumberRequest::F16 } else { NumberRequest::Bf16 };
        let value = if let Ok(float) = self.object.cast_exact::<PyFloat>() {
            self.float(request, float.value(), FloatVisitor)?
        } else if self.object.is_exact_instance_of::<PyInt>() {
            self.integer(request, FloatVisitor)?
        } else {
            return Ok(None);
        };
        Ok(Some(match request {
            NumberRequest::F16 => half::f16::from_f64(value).to_bits(),
            _ => half::bf16::from_f64(value).to_bits(),
        }))
    }

    pub(crate) fn integer<'de, V: Visitor<'de>>(
        self,
        request: NumberRequest,
        visitor: V,
    ) -> Result<V::Value> {
        let object = self.object;
        let value = if request.is_float() {
            let value = object.extract().ok().and_then(|value| request.rounded(value));
            let value = value.filter(|value| value.is_finite());
            let value = value.ok_or_else(|| self.out_of_range(request))?;
            let is_exact = match object.extract::<i64>() {
                Ok(integer) => value as i128 == i128::from(integer),
                // Python compares exactly.
                Err(_) => object.eq(value)?,
            };
            if !is_exact {
                return Err(self.inexact(request));
            }
            return self.float(request, value, visitor);
        } else if let Ok(value) = object.extract::<i64>() {
            visitor.visit_i64(value)
        } else if let Ok(value) = object.extract::<u64>() {
            visitor.visit_u64(value)
        } else if let Ok(value) = object.extract::<i128>() {
            visitor.visit_i128(value)
        } else if let Ok(value) = object.extract::<u128>() {
            visitor.visit_u128(value)
        } else {
            return Err(self.out_of_range(request));
        };
        value.map_err(|error: Error| match (request, error.kind()) {
            // serde calls it an invalid value, or type where the type has no such width.
            (NumberRequest::Integer(_), ErrorKind::Value | ErrorKind::Type)
                if !error.has_path() =>
            {
                self.out_of_range(request)
            }
            _ => error,
        })
    }

    /// Records which floats would refuse a number that is read into a buffer of serde, from which all would accept it.
    pub(crate) fn note_refusals(self, number: usize) {
        if self.context.buffered.is_replay() {
            return;
        }
        for (name, request) in [("f32", NumberRequest::F32), ("f64", NumberRequest::F64)] {
            let read = match self.object.cast::<PyFloat>() {
                Ok(float) => self.float(request, float.value(), FloatVisitor),
                Err(_) => self.integer(request, FloatVisitor),
            };
            if let Err(error) = read {
                let error = error.at(|| self.at.path());
                let refusal = (Mark::Value(number), name, error);
                self.context.buffered.refusals.borrow_mut().push(refusal);
            }
        }
    }

    #[cold]
    fn inexact(&self, request: NumberRequest) -> Error {
        let (expected, found) = (request.name(), describe(self.object));
        let message =
            format_args!("expected {expected}, found {found}, which it does not have exactly");
        Error::new(ErrorKind::Value, message)
    }

    #[cold]
    fn out_of_range(&self, request: NumberRequest) -> Error {
        let (expected, found) = (request.name(), describe(self.object));
        let message = format!("expected {expected}, found {found}, which is out of its range");
        Error::new(ErrorKind::Value, message)
    }
}
