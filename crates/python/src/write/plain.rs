//! Plain values as objects, without a tree in between: structs and maps with texts as keys, sequences of
//! them, scalars, and rectangles of numbers. Any other value goes by the library, where it stands in a plain one.

use std::cell::{Cell, RefCell};
use std::fmt;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde::ser::{
    Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple, Serializer,
};
use treedef::__private::ArrayFields;

use crate::matrix::MatrixShape;
use crate::read::nd_array::{MOVED, take_last_moved};
use crate::write::build::namespace;
use crate::write::library::Options;
use crate::write::names::NameCache;
use crate::write::rows::{NoArray, OpenRow, Rows};

/// Makes an object of a value. `None` if the library has to: the value is not plain, too deep or
/// large, or there is an error, which the library explains.
pub(crate) fn plain<'py>(
    py: Python<'py>,
    options: &Options,
    value: &(impl Serialize + ?Sized),
) -> Option<Bound<'py, PyAny>> {
    let walk =
        PlainWalk { py, options, names: RefCell::new(NameCache::take()), entries: Cell::new(0) };
    let object = PlainSerializer { walk: &walk, depth: 0, is_item: false }.value(value);
    walk.names.into_inner().store();
    object.ok()
}

/// How deep and large a plain value is at most. The library counts more exactly.
const MAX_DEPTH: usize = 32;
const MAX_ENTRIES: usize = 1 << 16;

struct PlainWalk<'a, 'py> {
    py: Python<'py>,
    options: &'a Options,
    names: RefCell<NameCache>,
    entries: Cell<usize>,
}

/// Why a value is not plain.
#[derive(Debug)]
pub(crate) enum NotPlain {
    /// The library makes the object of it.
    Here,
    /// The library makes the object of the whole value.
    Everywhere,
}

impl fmt::Display for NotPlain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the value is not plain")
    }
}

impl std::error::Error for NotPlain {}

impl serde::ser::Error for NotPlain {
    fn custom<T: fmt::Display>(_: T) -> Self {
        NotPlain::Everywhere
    }
}

impl From<NoArray> for NotPlain {
    fn from(_: NoArray) -> Self {
        NotPlain::Here
    }
}

impl From<PyErr> for NotPlain {
    fn from(_: PyErr) -> Self {
        NotPlain::Everywhere
    }
}

type Object<'py> = Result<Bound<'py, PyAny>, NotPlain>;

#[derive(Clone, Copy)]
pub(crate) struct PlainSerializer<'a, 'py> {
    walk: &'a PlainWalk<'a, 'py>,
    depth: usize,
    /// Whether the value is an item of a list: a struct, a map or a text, which cannot be in an array.
    is_item: bool,
}

impl<'py> PlainSerializer<'_, 'py> {
    /// The object of a value.
    #[inline]
    fn value<T: Serialize + ?Sized>(self, value: &T) -> Object<'py> {
        match MatrixShape::of_value::<T>() {
            None => value.serialize(self),
            Some(_) => Err(NotPlain::Here),
        }
    }

    /// The object of an entry.
    fn entry<T: Serialize + ?Sized>(self, value: &T) -> Object<'py> {
        match self.inside(false)?.value(value) {
            Err(NotPlain::Here) => {
                let object = self.walk.options.object(self.walk.py, value);
                object.map_err(|_| NotPlain::Everywhere)
            }
            result => result,
        }
    }

    fn item<T: Serialize + ?Sized>(self, value: &T) -> Object<'py> {
        self.inside(true)?.value(value)
    }

    fn inside(self, is_item: bool) -> Result<Self, NotPlain> {
        let entries = self.walk.entries.get() + 1; // at most the limit
        self.walk.entries.set(entries);
        if self.depth == MAX_DEPTH || entries > MAX_ENTRIES {
            return Err(NotPlain::Everywhere);
        }
        Ok(PlainSerializer { depth: self.depth + 1, is_item, ..self })
    }

    fn no_item(self) -> Result<(), NotPlain> {
        if self.is_item { Err(NotPlain::Here) } else { Ok(()) }
    }
}

macro_rules! scalars {
    ($($serialize:ident $type:ty, |$py:ident, $value:ident| $object:expr;)*) => {
        $(fn $serialize(self, $value: $type) -> Object<'py> {
            let $py = self.walk.py;
            self.no_item().map(|()| $object)
        })*
    };
}

impl<'a, 'py> Serializer for PlainSerializer<'a, 'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = NotPlain;
    type SerializeSeq = PlainSequence<'a, 'py>;
    type SerializeTuple = PlainSequence<'a, 'py>;
    type SerializeTupleStruct = Impossible<Self::Ok, NotPlain>;
    type SerializeTupleVariant = Impossible<Self::Ok, NotPlain>;
    type SerializeMap = PlainEntries<'a, 'py>;
    type SerializeStruct = PlainFields<'a, 'py>;
    type SerializeStructVariant = Impossible<Self::Ok, NotPlain>;

    scalars! {
        serialize_bool bool, |py, value| PyBool::new(py, value).to_owned().into_any();
        serialize_i8 i8, |py, value| PyInt::new(py, value).into_any();
        serialize_i16 i16, |py, value| PyInt::new(py, value).into_any();
        serialize_i32 i32, |py, value| PyInt::new(py, value).into_any();
        serialize_i64 i64, |py, value| PyInt::new(py, value).into_any();
        serialize_i128 i128, |py, value| PyInt::new(py, value).into_any();
        serialize_u8 u8, |py, value| PyInt::new(py, value).into_any();
        serialize_u16 u16, |py, value| PyInt::new(py, value).into_any();
        serialize_u32 u32, |py, value| PyInt::new(py, value).into_any();
        serialize_u64 u64, |py, value| PyInt::new(py, value).into_any();
        serialize_u128 u128, |py, value| PyInt::new(py, value).into_any();
        serialize_f32 f32, |py, value| PyFloat::new(py, value.into()).into_any();
        serialize_f64 f64, |py, value| PyFloat::new(py, value).into_any();
        serialize_char char, |py, value| PyString::new(py, value.encode_utf8(&mut [0; 4])).into_any();
        serialize_bytes &[u8], |py, value| PyBytes::new(py, value).into_any();
    }

    fn serialize_str(self, text: &str) -> Object<'py> {
        Ok(PyString::new(self.walk.py, text).into_any())
    }

    fn serialize_none(self) -> Object<'py> {
        self.no_item().map(|()| self.walk.py.None().into_bound(self.walk.py))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Object<'py> {
        self.no_item()?;
        self.value(value)
    }

    fn serialize_unit(self) -> Object<'py> {
        self.serialize_none()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Object<'py> {
        self.serialize_none()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Object<'py> {
        self.no_item()?;
        Ok(self.walk.names.borrow_mut().name(self.walk.py, variant).into_any())
    }

    /// Some names mean something to the library.
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: &T,
    ) -> Object<'py> {
        Err(NotPlain::Here)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Object<'py> {
        self.no_item()?;
        match if name == MOVED { take_last_moved() } else { None } {
            Some(array) => Ok(array.into_numpy(self.walk.py)?),
            None => Err(NotPlain::Here),
        }
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<PlainSequence<'a, 'py>, NotPlain> {
        PlainSequence::new(self, false, length.unwrap_or_default())
    }

    fn serialize_tuple(self, length: usize) -> Result<PlainSequence<'a, 'py>, NotPlain> {
        PlainSequence::new(self, true, length)
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, NotPlain> {
        Err(NotPlain::Here)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, NotPlain> {
        Err(NotPlain::Here)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<PlainEntries<'a, 'py>, NotPlain> {
        let dict = PyDict::new(self.walk.py);
        Ok(PlainEntries { plain: self, dict, key: None, length: 0 })
    }

    fn serialize_struct(
        self,
        _: &'static str,
        length: usize,
    ) -> Result<PlainFields<'a, 'py>, NotPlain> {
        // A struct with few fields may be an array.
        let names =
            if length <= MOST_ARRAY_FIELDS { Vec::with_capacity(length) } else { Vec::new() };
        Ok(PlainFields { plain: self, dict: PyDict::new(self.walk.py), names, length, count: 0 })
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, NotPlain> {
        Err(NotPlain::Here)
    }
}

/// The most fields that a struct has which holds an array.
const MOST_ARRAY_FIELDS: usize = 4;

/// The fields of a struct.
pub(crate) struct PlainFields<'a, 'py> {
    plain: PlainSerializer<'a, 'py>,
    dict: Bound<'py, PyDict>,
    names: Vec<&'static str>,
    length: usize,
    /// The fields so far.
    count: usize,
}

impl<'py> SerializeStruct for PlainFields<'_, 'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = NotPlain;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), NotPlain> {
        if self.length <= MOST_ARRAY_FIELDS {
            self.names.push(name);
        }
        let object = self.plain.entry(value)?;
        let name = self.plain.walk.names.borrow_mut().name(object.py(), name);
        self.count += 1; // at most the limit
        Ok(self.dict.set_item(name, object)?)
    }

    fn end(self) -> Object<'py> {
        // The library handles a duplicate name.
        if ArrayFields::of(&self.names).is_some() || self.dict.len() != self.count {
            return Err(NotPlain::Here);
        }
        if self.plain.walk.options.namespaces {
            return namespace(&self.dict).map_err(|_| NotPlain::Everywhere);
        }
        Ok(self.dict.into_any())
    }
}

/// The entries of a map.
pub(crate) struct PlainEntries<'a, 'py> {
    plain: PlainSerializer<'a, 'py>,
    dict: Bound<'py, PyDict>,
    key: Option<Bound<'py, PyAny>>,
    length: usize,
}

impl<'py> SerializeMap for PlainEntries<'_, 'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = NotPlain;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), NotPlain> {
        let key = key.serialize(self.plain)?;
        if !key.is_exact_instance_of::<PyString>() {
            return Err(NotPlain::Here);
        }
        self.key = Some(key);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotPlain> {
        let key = self.key.take().ok_or(NotPlain::Everywhere)?;
        self.length += 1; // at most the entries
        Ok(self.dict.set_item(key, self.plain.entry(value)?)?)
    }

    fn end(self) -> Object<'py> {
        // The library handles a duplicate key.
        if self.dict.len() == self.length { Ok(self.dict.into_any()) } else { Err(NotPlain::Here) }
    }
}

/// A sequence or a tuple: of numbers and of rows of them, or of items.
pub(crate) struct PlainSequence<'a, 'py> {
    plain: PlainSerializer<'a, 'py>,
    is_tuple: bool,
    rows: Rows,
    row: OpenRow,
    /// Empty where it is of numbers.
    items: Vec<Bound<'py, PyAny>>,
}

impl<'a, 'py> PlainSequence<'a, 'py> {
    fn new(
        plain: PlainSerializer<'a, 'py>,
        is_tuple: bool,
        length: usize,
    ) -> Result<Self, NotPlain> {
        plain.no_item()?;
        let (rows, row) = Rows::new(is_tuple, length);
        Ok(PlainSequence { plain, is_tuple, rows, row, items: Vec::new() })
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotPlain> {
        if self.items.is_empty() {
            match self.row.element(&mut self.rows, value) {
                Err(NoArray) if self.row.is_first() => {}
                result => return Ok(result?),
            }
        }
        self.items.push(self.plain.item(value)?);
        Ok(())
    }

    fn object(mut self) -> Object<'py> {
        let py = self.plain.walk.py;
        if self.items.is_empty() {
            self.row.end(&mut self.rows)?;
            return self.rows.into_numpy(py)?.ok_or(NotPlain::Here);
        }
        Ok(if self.is_tuple {
            PyTuple::new(py, self.items)?.into_any()
        } else {
            PyList::new(py, self.items)?.into_any()
        })
    }
}

impl<'py> SerializeSeq for PlainSequence<'_, 'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = NotPlain;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotPlain> {
        self.element(value)
    }

    fn end(self) -> Object<'py> {
        self.object()
    }
}

impl<'py> SerializeTuple for PlainSequence<'_, 'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = NotPlain;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotPlain> {
        self.element(value)
    }

    fn end(self) -> Object<'py> {
        self.object()
    }
}
