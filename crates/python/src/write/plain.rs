//! Plain values as objects, without a tree in between: structs and maps with texts as keys, scalars,
//! and rectangles of numbers. Any other value goes by the library, where it stands in a plain one.

use std::cell::{Cell, RefCell};
use std::fmt;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyString};
use serde::ser::{
    Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple, Serializer,
};
use treedef::ArrayFields;

use crate::read::nd_array::{MOVED, last_given_up};
use crate::write::build::namespace;
use crate::write::library::Options;
use crate::write::names::Names;
use crate::write::rows::{NoArray, Row, Rows};

/// Makes an object of a value. `None` if the library has to: the value is not plain, too deep or
/// large, or there is an error, which the library explains.
pub(crate) fn plain<'py>(
    py: Python<'py>,
    options: &Options,
    value: &(impl Serialize + ?Sized),
) -> Option<Bound<'py, PyAny>> {
    let walk = Walk { py, options, names: RefCell::new(Names::take()), entries: Cell::new(0) };
    let object = value.serialize(Plain { walk: &walk, depth: 0 });
    walk.names.into_inner().give_back();
    object.ok()
}

/// How deep and large a plain value is at most. The library counts more exactly.
const MAX_DEPTH: usize = 32;
const MAX_ENTRIES: usize = 1 << 16;

struct Walk<'a, 'py> {
    py: Python<'py>,
    options: &'a Options,
    names: RefCell<Names>,
    entries: Cell<usize>,
}

/// Why a value is not plain.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The library makes the object of it.
    Here,
    /// The library makes that of the whole value.
    Everywhere,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the value is not plain")
    }
}

impl std::error::Error for Stop {}

impl serde::ser::Error for Stop {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Stop::Everywhere
    }
}

impl From<NoArray> for Stop {
    fn from(_: NoArray) -> Self {
        Stop::Here
    }
}

impl From<PyErr> for Stop {
    fn from(_: PyErr) -> Self {
        Stop::Everywhere
    }
}

type Object<'py> = Result<Bound<'py, PyAny>, Stop>;

#[derive(Clone, Copy)]
pub(crate) struct Plain<'a, 'py> {
    walk: &'a Walk<'a, 'py>,
    depth: usize,
}

impl<'py> Plain<'_, 'py> {
    /// The object of an entry.
    fn entry<T: Serialize + ?Sized>(self, value: &T) -> Object<'py> {
        let entries = self.walk.entries.get() + 1; // at most the limit
        self.walk.entries.set(entries);
        if self.depth == MAX_DEPTH || entries > MAX_ENTRIES {
            return Err(Stop::Everywhere);
        }
        match value.serialize(Plain { depth: self.depth + 1, ..self }) {
            Err(Stop::Here) => {
                let object = self.walk.options.object(self.walk.py, value);
                object.map_err(|_| Stop::Everywhere)
            }
            result => result,
        }
    }
}

macro_rules! scalars {
    ($($serialize:ident $type:ty, |$py:ident, $value:ident| $object:expr;)*) => {
        $(fn $serialize(self, $value: $type) -> Object<'py> {
            let $py = self.walk.py;
            Ok($object)
        })*
    };
}

impl<'a, 'py> Serializer for Plain<'a, 'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = Stop;
    type SerializeSeq = Numbers<'py>;
    type SerializeTuple = Numbers<'py>;
    type SerializeTupleStruct = Impossible<Self::Ok, Stop>;
    type SerializeTupleVariant = Impossible<Self::Ok, Stop>;
    type SerializeMap = Entries<'a, 'py>;
    type SerializeStruct = Fields<'a, 'py>;
    type SerializeStructVariant = Impossible<Self::Ok, Stop>;

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
        serialize_str &str, |py, value| PyString::new(py, value).into_any();
        serialize_bytes &[u8], |py, value| PyBytes::new(py, value).into_any();
    }

    fn serialize_none(self) -> Object<'py> {
        Ok(self.walk.py.None().into_bound(self.walk.py))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Object<'py> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Object<'py> {
        self.serialize_none()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Object<'py> {
        self.serialize_none()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Object<'py> {
        Ok(self.walk.names.borrow_mut().name(self.walk.py, variant).into_any())
    }

    /// Some names mean something to the library.
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: &T,
    ) -> Object<'py> {
        Err(Stop::Here)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Object<'py> {
        match if name == MOVED { last_given_up() } else { None } {
            Some(array) => Ok(array.into_numpy(self.walk.py)?),
            None => Err(Stop::Here),
        }
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Numbers<'py>, Stop> {
        let (rows, row) = Rows::new(false, length.unwrap_or_default());
        Ok(Numbers { py: self.walk.py, rows, row })
    }

    fn serialize_tuple(self, length: usize) -> Result<Numbers<'py>, Stop> {
        let (rows, row) = Rows::new(true, length);
        Ok(Numbers { py: self.walk.py, rows, row })
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, Stop> {
        Err(Stop::Here)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Stop> {
        Err(Stop::Here)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Entries<'a, 'py>, Stop> {
        let dict = PyDict::new(self.walk.py);
        Ok(Entries { plain: self, dict, key: None, length: 0 })
    }

    fn serialize_struct(self, _: &'static str, length: usize) -> Result<Fields<'a, 'py>, Stop> {
        // A struct with few fields may be an array.
        let names =
            if length <= MOST_ARRAY_FIELDS { Vec::with_capacity(length) } else { Vec::new() };
        Ok(Fields { plain: self, dict: PyDict::new(self.walk.py), names, length })
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Stop> {
        Err(Stop::Here)
    }
}

/// The most fields that a struct has which holds an array.
const MOST_ARRAY_FIELDS: usize = 4;

/// The fields of a struct.
pub(crate) struct Fields<'a, 'py> {
    plain: Plain<'a, 'py>,
    dict: Bound<'py, PyDict>,
    names: Vec<&'static str>,
    length: usize,
}

impl<'py> SerializeStruct for Fields<'_, 'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = Stop;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Stop> {
        if self.length <= MOST_ARRAY_FIELDS {
            self.names.push(name);
        }
        let object = self.plain.entry(value)?;
        let name = self.plain.walk.names.borrow_mut().name(object.py(), name);
        Ok(self.dict.set_item(name, object)?)
    }

    fn end(self) -> Object<'py> {
        if ArrayFields::of(&self.names).is_some() {
            return Err(Stop::Here);
        }
        if self.plain.walk.options.namespaces {
            return namespace(&self.dict).map_err(|_| Stop::Everywhere);
        }
        Ok(self.dict.into_any())
    }
}

/// The entries of a map.
pub(crate) struct Entries<'a, 'py> {
    plain: Plain<'a, 'py>,
    dict: Bound<'py, PyDict>,
    key: Option<Bound<'py, PyAny>>,
    length: usize,
}

impl<'py> SerializeMap for Entries<'_, 'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = Stop;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Stop> {
        let key = key.serialize(self.plain)?;
        if !key.is_exact_instance_of::<PyString>() {
            return Err(Stop::Here);
        }
        self.key = Some(key);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Stop> {
        let key = self.key.take().ok_or(Stop::Everywhere)?;
        self.length += 1; // at most the entries
        Ok(self.dict.set_item(key, self.plain.entry(value)?)?)
    }

    fn end(self) -> Object<'py> {
        // A key that comes twice is the library's matter.
        if self.dict.len() == self.length { Ok(self.dict.into_any()) } else { Err(Stop::Here) }
    }
}

/// A sequence or a tuple of numbers, or of rows of them.
pub(crate) struct Numbers<'py> {
    py: Python<'py>,
    rows: Rows,
    row: Row,
}

impl<'py> Numbers<'py> {
    fn array(mut self) -> Object<'py> {
        self.row.end(&mut self.rows)?;
        self.rows.into_numpy(self.py)?.ok_or(Stop::Here)
    }
}

impl<'py> SerializeSeq for Numbers<'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = Stop;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Stop> {
        Ok(self.row.element(&mut self.rows, value)?)
    }

    fn end(self) -> Object<'py> {
        self.array()
    }
}

impl<'py> SerializeTuple for Numbers<'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = Stop;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Stop> {
        Ok(self.row.element(&mut self.rows, value)?)
    }

    fn end(self) -> Object<'py> {
        self.array()
    }
}
