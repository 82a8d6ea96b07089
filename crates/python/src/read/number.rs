//! One number, as a type asks for it.

use std::fmt;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};
use serde::de::Visitor;

use crate::error::{Error, ErrorKind, Result};
use crate::read::names::describe;
use crate::read::part::Part;
use crate::read::place::Place;

/// The number that a type asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// An integer of the type of this name.
    Integer(&'static str),
    /// An integer of any size, where the object says what it is.
    AnyInteger,
    F16,
    Bf16,
    F32,
    F64,
}

impl Wanted {
    fn name(self) -> &'static str {
        match self {
            Wanted::Integer(name) => name,
            Wanted::AnyInteger => "an integer",
            Wanted::F16 => "f16",
            Wanted::Bf16 => "bf16",
            Wanted::F32 => "f32",
            Wanted::F64 => "f64",
        }
    }

    fn is_float(self) -> bool {
        !matches!(self, Wanted::Integer(_) | Wanted::AnyInteger)
    }

    /// The next float of this type. `None` if the type has none.
    fn rounded(self, value: f64) -> Option<f64> {
        match self {
            Wanted::Integer(_) | Wanted::AnyInteger => None,
            Wanted::F16 => Some(half::f16::from_f64(value).to_f64()),
            Wanted::Bf16 => Some(half::bf16::from_f64(value).to_f64()),
            Wanted::F32 => Some(f64::from(value as f32)),
            Wanted::F64 => Some(value),
        }
    }
}

/// Takes a float.
struct Value;

impl Visitor<'_> for Value {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a float")
    }

    fn visit_f64<E>(self, value: f64) -> std::result::Result<f64, E> {
        Ok(value)
    }
}

impl Place<'_, '_> {
    /// A number of Python, or an array without dimensions.
    pub(crate) fn number<'de, V: Visitor<'de>>(
        self,
        wanted: Wanted,
        visitor: V,
        of_part: impl FnOnce(Part<'_>, V) -> Result<V::Value>,
    ) -> Result<V::Value> {
        let object = self.object;
        if object.is_exact_instance_of::<PyInt>() {
            return self.integer(wanted, visitor);
        }
        if let Ok(float) = object.cast_exact::<PyFloat>() {
            return self.float(wanted, float.value(), visitor);
        }
        // Of numpy's `float64` and `bool`, one is a float of Python, too.
        if !object.is_exact_instance_of::<PyBool>()
            && let Some(array) = self.array()?
        {
            return self.as_part(&array, |part| of_part(part, visitor));
        }
        if let Ok(float) = object.cast::<PyFloat>() {
            return self.float(wanted, float.value(), visitor);
        }
        if object.is_instance_of::<PyInt>() && !object.is_instance_of::<PyBool>() {
            return self.integer(wanted, visitor);
        }
        Err(self.expected(wanted.name()))
    }

    fn float<'de, V: Visitor<'de>>(
        self,
        wanted: Wanted,
        value: f64,
        visitor: V,
    ) -> Result<V::Value> {
        match wanted.rounded(value) {
            None => Err(self.expected(wanted.name())),
            Some(rounded) if rounded.is_infinite() && value.is_finite() => {
                Err(self.out_of_range(wanted))
            }
            Some(_) => visitor.visit_f64(value),
        }
    }

    /// The bits of the half float that a number of Python is. `None` if it is none.
    pub(crate) fn half(self, name: &str) -> Result<Option<u16>> {
        let wanted = if name == "f16" { Wanted::F16 } else { Wanted::Bf16 };
        let value = if let Ok(float) = self.object.cast_exact::<PyFloat>() {
            self.float(wanted, float.value(), Value)?
        } else if self.object.is_exact_instance_of::<PyInt>() {
            self.integer(wanted, Value)?
        } else {
            return Ok(None);
        };
        Ok(Some(match wanted {
            Wanted::F16 => half::f16::from_f64(value).to_bits(),
            _ => half::bf16::from_f64(value).to_bits(),
        }))
    }

    pub(crate) fn integer<'de, V: Visitor<'de>>(
        self,
        wanted: Wanted,
        visitor: V,
    ) -> Result<V::Value> {
        let object = self.object;
        let value = if wanted.is_float() {
            let value = object.extract().ok().and_then(|value| wanted.rounded(value));
            let value = value.filter(|value| value.is_finite());
            let value = value.ok_or_else(|| self.out_of_range(wanted))?;
            let is_exact = match object.extract::<i64>() {
                Ok(integer) => value as i128 == i128::from(integer),
                // Python compares exactly.
                Err(_) => object.eq(value)?,
            };
            if !is_exact {
                return Err(self.inexact(wanted));
            }
            return self.float(wanted, value, visitor);
        } else if let Ok(value) = object.extract::<i64>() {
            visitor.visit_i64(value)
        } else if let Ok(value) = object.extract::<u64>() {
            visitor.visit_u64(value)
        } else if let Ok(value) = object.extract::<i128>() {
            visitor.visit_i128(value)
        } else if let Ok(value) = object.extract::<u128>() {
            visitor.visit_u128(value)
        } else {
            return Err(self.out_of_range(wanted));
        };
        value.map_err(|error: Error| match (wanted, error.kind()) {
            // serde calls it an invalid value, or type where the type has no such width.
            (Wanted::Integer(_), ErrorKind::Value | ErrorKind::Type) if !error.has_path() => {
                self.out_of_range(wanted)
            }
            _ => error,
        })
    }

    /// Notes which floats refuse the number, that goes into a buffer of serde: there all take it.
    pub(crate) fn note_refusals(self, number: usize) {
        for (name, wanted) in [("f32", Wanted::F32), ("f64", Wanted::F64)] {
            let read = match self.object.cast_exact::<PyFloat>() {
                Ok(float) => self.float(wanted, float.value(), Value),
                Err(_) => self.integer(wanted, Value),
            };
            if let Err(error) = read {
                let error = error.at(|| self.at.path());
                self.context.buffered.refusals.borrow_mut().push((number, name, error));
            }
        }
    }

    #[cold]
    fn inexact(&self, wanted: Wanted) -> Error {
        let (expected, found) = (wanted.name(), describe(self.object));
        let message =
            format_args!("expected {expected}, found {found}, which it does not have exactly");
        Error::new(ErrorKind::Value, message)
    }

    #[cold]
    fn out_of_range(&self, wanted: Wanted) -> Error {
        let (expected, found) = (wanted.name(), describe(self.object));
        let message = format!("expected {expected}, found {found}, which is out of its range");
        Error::new(ErrorKind::Value, message)
    }
}
