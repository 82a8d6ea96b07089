//! The deserializer over an object of Python.

use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash};

use numpy::PyUntypedArray;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyComplex, PyComplexMethods, PyDict, PyFloat, PyInt, PyList,
    PyString, PyTuple,
};
use serde::de::value::{StrDeserializer, U16Deserializer};
use serde::de::{Deserializer, Visitor};
use treedef::__private::ArrayFields;

use crate::error::{Error, Result};
use crate::mark::MARK;
use crate::matrix::MatrixShape;
use crate::read::access::{FieldAccess, ItemAccess, KeyDeserializer, ObjectVariant};
use crate::read::array::{BorrowedArray, Numbers, WideNumber, as_array, expect_unmasked};
use crate::read::buffer::{Mark, is_buffer};
use crate::read::context::{ObjectDeserializer, UnusedKeys};
use crate::read::names::describe;
use crate::read::nd_array;
use crate::read::number::NumberRequest;
use crate::read::object::{ObjectEntries, is_iterable, is_scalar, member_name};
use crate::read::shared::{self, SHARED};
use crate::read::slice::{ArraySlice, ArraySource};

impl<'py> ObjectDeserializer<'_, 'py> {
    #[cold]
    pub(crate) fn expected(&self, expected: &str) -> Error {
        Error::expected(expected, describe(self.object))
    }

    /// The object as an array, or the array that it returns. Arrays of objects are read as nested lists.
    pub(crate) fn array(&self) -> Result<Option<BorrowedArray<'py>>> {
        match as_array(self.object)? {
            Some(array) => BorrowedArray::of(&array),
            None => Ok(None),
        }
    }

    /// Its number among the values in buffers of serde. `None` if a mark is in its place.
    fn buffered(&self) -> Option<usize> {
        let ObjectDeserializer { object, at, context } = self;
        context.buffered.next(
            || at.path(),
            |structure| {
                // If the value around it is in the buffer, too, that value has hashed the steps before.
                if context.buffered.is_inside.get() {
                    at.hash_step(structure);
                } else {
                    at.hash(structure);
                }
                (object.get_type().as_ptr() as usize).hash(structure);
            },
        )
    }

    /// Hashes what decides which types are read. An object without a hash decides nothing.
    fn hash_into(&self, hasher: &RefCell<DefaultHasher>) {
        if let Ok(hash) = self.object.hash() {
            hash.hash(&mut *hasher.borrow_mut());
        }
    }

    /// Reads it as an array, which it has to be.
    pub(crate) fn as_part<R>(
        &self,
        array: &BorrowedArray<'py>,
        read: impl FnOnce(ArraySlice<'_>) -> Result<R>,
    ) -> Result<R> {
        self.as_shaped(array, &array.shape, read)
    }

    /// Reads its numbers with a shape.
    pub(crate) fn as_shaped<R>(
        &self,
        array: &BorrowedArray<'py>,
        shape: &[usize],
        read: impl FnOnce(ArraySlice<'_>) -> Result<R>,
    ) -> Result<R> {
        let (numbers, convert) = (array.numbers()?, self.context.convert);
        read(ArraySlice::new(&ArraySource::new(numbers, shape, convert, &|| array.describe())))
    }

    fn text<'de, V: Visitor<'de>>(self, expected: &str, visitor: V) -> Result<V::Value> {
        match self.object.cast::<PyString>() {
            Ok(text) => text.to_str().map_err(Error::from).and_then(|text| visitor.visit_str(text)),
            Err(_) => Err(self.expected(expected)),
        }
    }

    fn bytes<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if let Ok(bytes) = self.object.cast::<PyBytes>() {
            return visitor.visit_bytes(bytes.as_bytes());
        }
        if let Ok(bytes) = self.object.cast::<PyByteArray>() {
            return visitor.visit_byte_buf(bytes.to_vec());
        }
        match self.array()? {
            Some(array) => self.as_part(&array, |part| part.deserialize_bytes(visitor)),
            None => Err(self.expected("bytes")),
        }
    }

    fn sequence<'de, V: Visitor<'de>>(
        self,
        length: Option<usize>,
        visitor: V,
        of_part: impl FnOnce(ArraySlice<'_>, V) -> Result<V::Value>,
    ) -> Result<V::Value> {
        let object = self.object;
        let items = if let Ok(list) = object.cast::<PyList>() {
            ItemAccess::list(self, list.clone())
        } else if let Ok(tuple) = object.cast::<PyTuple>() {
            ItemAccess::tuple(self, tuple.clone())
        } else if let Ok(bytes) = object.cast::<PyBytes>() {
            let (numbers, shape) = (Numbers::U8(bytes.as_bytes()), &[bytes.as_bytes().len()]);
            let describe = &|| describe(object);
            let source = ArraySource::new(numbers, shape, self.context.convert, describe);
            return of_part(ArraySlice::new(&source), visitor);
        } else if let Some(array) = self.array()? {
            return self.as_part(&array, |part| of_part(part, visitor));
        } else if let Ok(array) = object.cast::<PyUntypedArray>() {
            let list = array.call_method0(intern!(object.py(), "tolist"))?.cast_into();
            ItemAccess::list(self, list.map_err(|_| self.expected("a sequence"))?)
        } else if let Ok(complex) = object.cast::<PyComplex>() {
            ItemAccess::tuple(self, PyTuple::new(object.py(), [complex.real(), complex.imag()])?)
        } else if is_iterable(object)? {
            ItemAccess::list(self, self.context.list(object, self.at)?)
        } else {
            return Err(match length {
                Some(length) => self.expected(&format!("a sequence of {length}")),
                None => self.expected("a sequence"),
            });
        };
        items.visit(length, visitor)
    }

    /// The fields of a struct, or the entries of a map.
    fn fields<'de, V: Visitor<'de>>(
        self,
        name: &str,
        requested: &[&str],
        visitor: V,
    ) -> Result<V::Value> {
        let entries = match ObjectEntries::of(self.object, self.at, self.context)? {
            Some(entries) => Some(entries.with_requested(requested, self.context.py)?),
            None => ObjectEntries::requested(self.object, requested)?,
        };
        match entries {
            Some(entries) => FieldAccess::new(self, entries, !name.is_empty())?.visit(visitor),
            None if name.is_empty() => Err(self.expected("a dict or an object with attributes")),
            None => Err(self.expected(&format!("{name} (a dict or an object with attributes)"))),
        }
    }

    fn any_number<'de, V: Visitor<'de>>(
        self,
        buffered: Option<usize>,
        visitor: V,
    ) -> Result<V::Value> {
        if let Some(number) = buffered {
            self.note_refusals(number);
        }
        if let Ok(float) = self.object.cast::<PyFloat>() {
            return visitor.visit_f64(float.value());
        }
        if buffered.is_some() {
            self.hash_into(&self.context.buffered.details);
        }
        self.integer(NumberRequest::AnyInteger, visitor)
    }

    fn any_array<'de, V: Visitor<'de>>(
        self,
        array: &BorrowedArray<'py>,
        buffered: Option<usize>,
        visitor: V,
    ) -> Result<V::Value> {
        let (numbers, convert) = (array.numbers()?, self.context.convert);
        let (shape, describe) = (array.shape.as_slice(), &|| array.describe());
        let source = ArraySource::new(numbers, shape, convert, describe);
        let Some(number) = buffered else {
            return ArraySlice::new(&source).deserialize_any(visitor);
        };
        let (path, log) = (|| self.at.path(), &self.context.buffered);
        if shape.is_empty()
            && let Some(WideNumber::Integer(integer)) = numbers.wide(0)
        {
            integer.hash(&mut *log.details.borrow_mut());
        }
        if convert && !log.is_replay() {
            for (name, error) in ArraySlice::new(&source).refusals() {
                let refusal = (Mark::Number(number), name, error.at(path));
                log.refusals.borrow_mut().push(refusal);
            }
        }
        let marked = log.array(number, numbers.type_name(), shape, path, describe);
        ArraySlice::new(&ArraySource { marked, ..source }).deserialize_any(visitor)
    }

    /// Reads it as what it is: for a buffer of serde, if it has a number there.
    fn any<'de, V: Visitor<'de>>(self, buffered: Option<usize>, visitor: V) -> Result<V::Value> {
        let object = self.object;
        if object.is_none() {
            return visitor.visit_unit();
        }
        if object.is_exact_instance_of::<PyBool>() {
            return self.deserialize_bool(visitor);
        }
        if object.is_exact_instance_of::<PyInt>() || object.is_exact_instance_of::<PyFloat>() {
            return self.any_number(buffered, visitor);
        }
        if object.is_instance_of::<PyString>() {
            if buffered.is_some() {
                self.hash_into(&self.context.buffered.structure);
            }
            return match member_name(object)? {
                Some(name) => KeyDeserializer(&name).deserialize_any(visitor),
                None => self.text("str", visitor),
            };
        }
        if object.is_instance_of::<PyBytes>() || object.is_instance_of::<PyByteArray>() {
            return self.bytes(visitor);
        }
        if let Ok(tuple) = object.cast::<PyTuple>()
            && tuple.is_exact_instance_of::<PyTuple>()
        {
            return self.deserialize_seq(visitor);
        }
        if !object.is_instance_of::<PyDict>()
            && !object.is_instance_of::<PyList>()
            && let Some(array) = self.array()?
        {
            return self.any_array(&array, buffered, visitor);
        }
        if let Some(name) = member_name(object)?
            && let Ok(name) = name.cast::<PyString>()
        {
            if buffered.is_some() {
                self.hash_into(&self.context.buffered.structure);
            }
            let name = StrDeserializer::<Error>::new(name.to_str()?);
            return name.deserialize_any(visitor);
        }
        if object.is_instance_of::<PyInt>() || object.is_instance_of::<PyFloat>() {
            return self.any_number(buffered, visitor);
        }
        if !object.is_instance_of::<PyList>()
            && let Some(entries) = ObjectEntries::of(object, self.at, self.context)?
        {
            let fields = FieldAccess::new(self, entries, false)?;
            return fields.with_mark(self.context.buffered.entry(buffered)).visit(visitor);
        }
        self.deserialize_seq(visitor)
    }
}

macro_rules! numbers {
    ($($deserialize:ident $wanted:expr;)*) => {
        $(fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            self.number($wanted, visitor, |part, visitor| part.$deserialize(visitor))
        })*
    };
}

impl<'de> Deserializer<'de> for ObjectDeserializer<'_, '_> {
    type Error = Error;

    numbers! {
        deserialize_i8 NumberRequest::Integer("i8");
        deserialize_i16 NumberRequest::Integer("i16");
        deserialize_i32 NumberRequest::Integer("i32");
        deserialize_i64 NumberRequest::Integer("i64");
        deserialize_i128 NumberRequest::Integer("i128");
        deserialize_u8 NumberRequest::Integer("u8");
        deserialize_u16 NumberRequest::Integer("u16");
        deserialize_u32 NumberRequest::Integer("u32");
        deserialize_u64 NumberRequest::Integer("u64");
        deserialize_u128 NumberRequest::Integer("u128");
        deserialize_f32 NumberRequest::F32;
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.object.cast_exact::<PyFloat>() {
            Ok(float) => visitor.visit_f64(float.value()),
            Err(_) => self
                .number(NumberRequest::F64, visitor, |part, visitor| part.deserialize_f64(visitor)),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if let Ok(bool) = self.object.cast_exact::<PyBool>() {
            return visitor.visit_bool(bool.is_true());
        }
        match if is_scalar(self.object) { None } else { self.array()? } {
            Some(array) => self.as_part(&array, |part| part.deserialize_bool(visitor)),
            None => Err(self.expected("bool")),
        }
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.text("one character", visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.text("str", visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.text("str", visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        // A tag, which decides what else is read: it is hashed. The keys of a struct with flattened fields may be the keys
        // of a map.
        self.hash_into(&self.context.buffered.structure);
        self.context.buffered.inside(|| self.any(None, visitor))
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.bytes(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.object.is_none() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let is_empty = self.object.cast::<PyTuple>().is_ok_and(|tuple| tuple.is_empty());
        if self.object.is_none() || is_empty {
            visitor.visit_unit()
        } else {
            Err(self.expected("None"))
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        match name {
            nd_array::MARK => {
                return match self.array()? {
                    Some(array) if !self.context.convert => {
                        let numbers = array.numbers()?;
                        nd_array::offer(numbers, &array.shape, array.source().unbind());
                        visitor.visit_unit()
                    }
                    _ => visitor.visit_newtype_struct(self),
                };
            }
            SHARED => match as_array(self.object)? {
                Some(array) => {
                    expect_unmasked(&array)?;
                    shared::offer(array.unbind());
                    visitor.visit_unit()
                }
                None => visitor.visit_newtype_struct(self),
            },
            "f16" | "bf16" => match self.half(name)? {
                Some(bits) => visitor.visit_newtype_struct(U16Deserializer::<Error>::new(bits)),
                None => match self.array()? {
                    Some(array) => {
                        self.as_part(&array, |part| part.deserialize_newtype_struct(name, visitor))
                    }
                    None => Err(self.expected(name)),
                },
            },
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.sequence(None, visitor, |part, visitor| part.deserialize_seq(visitor))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value> {
        let visitor = match MatrixShape::of_visitor::<V>() {
            Some(_) => match self
                .as_listed(visitor, |part, visitor| part.deserialize_tuple(length, visitor))?
            {
                Ok(value) => return Ok(value),
                Err(visitor) => visitor,
            },
            None => visitor,
        };
        self.sequence(Some(length), visitor, |part, visitor| {
            part.deserialize_tuple(length, visitor)
        })
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value> {
        self.deserialize_tuple(length, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.fields("", &[], visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        if self.object.is_exact_instance_of::<PyDict>() {
            return self.fields(name, fields, visitor);
        }
        if fields == ["re", "im"] && self.object.is_instance_of::<PyComplex>() {
            return self.deserialize_tuple(2, visitor);
        }
        if ArrayFields::of(fields).is_none() && fields != ["re", "im"] {
            return self.fields(name, fields, visitor);
        }
        if let Some(array) = self.array()? {
            return self.as_part(&array, |part| part.deserialize_struct(name, fields, visitor));
        }
        let read = |part: ArraySlice<'_>, visitor| part.deserialize_struct(name, fields, visitor);
        match self.as_listed(visitor, read)? {
            Ok(value) => Ok(value),
            Err(visitor) => self.fields(name, fields, visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        let variant = if let Ok(dict) = self.object.cast::<PyDict>() {
            let (keys, values) = (dict.keys(), dict.values());
            match (keys.get_item(0), values.get_item(0)) {
                (Ok(key), Ok(value)) if keys.len() == 1 => {
                    ObjectVariant::new(self, key, Some(value))
                }
                _ => {
                    return Err(
                        self.expected(&format!("{name} as a dict with one key, its variant"))
                    );
                }
            }
        } else if let Some(member) = member_name(self.object)? {
            ObjectVariant::new(self, member, None)
        } else if self.object.is_instance_of::<PyString>() {
            ObjectVariant::new(self, self.object.clone(), None)
        } else {
            return Err(
                self.expected(&format!("{name} (the name of a variant, or a dict with one)"))
            );
        };
        // It may be a tag.
        if variant.is_unit() {
            self.hash_into(&self.context.buffered.structure);
        }
        self.context.enter(self.at, 1)?;
        visitor.visit_enum(variant)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.context.unused_keys != UnusedKeys::Ignored {
            self.context.unused.borrow_mut().push(self.at.path());
        }
        visitor.visit_unit()
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if !is_buffer::<V>() {
            return self.any(None, visitor);
        }
        match self.buffered() {
            None => visitor.visit_bytes(MARK),
            number => self.context.buffered.inside(|| self.any(number, visitor)),
        }
    }
}
