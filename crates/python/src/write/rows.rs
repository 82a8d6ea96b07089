//! Buffer of one type in sequences and tuples that nest as the rows of an array do.

use std::fmt;

use crate::matrix::MatrixShape;
use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use serde::ser::{Impossible, Serialize, SerializeSeq, SerializeTuple, Serializer};

/// The numbers so far, and the dimensions.
pub(crate) struct Rows {
    numbers: Buffer,
    dims: Vec<Dim>,
    /// The number of dimensions, known after the first number.
    rank: Option<usize>,
    /// The size hint of the outermost sequence.
    hint: usize,
}

#[derive(Clone, Copy)]
struct Dim {
    is_tuple: bool,
    /// Known once the first such row has ended.
    length: Option<usize>,
}

/// A sequence or a tuple that is open, and the number of its elements so far.
pub(crate) struct OpenRow {
    depth: usize,
    length: usize,
}

/// numpy has 64 dimensions, and had 32.
const MAX_RANK: usize = 32;

/// The maximum number of numbers for which memory is reserved in advance.
const MOST_RESERVED: usize = 1 << 24;

/// Below this number, a copy is faster than an object that owns the memory.
const FEW: usize = 1 << 10;

impl Rows {
    pub(crate) fn new(is_tuple: bool, hint: usize) -> (Rows, OpenRow) {
        let dims = vec![Dim { is_tuple, length: None }];
        (Rows { numbers: Buffer::None, dims, rank: None, hint }, OpenRow { depth: 0, length: 0 })
    }

    /// Opens a row in a row.
    fn open(&mut self, is_tuple: bool, depth: usize) -> Result<OpenRow, NoArray> {
        match self.dims.get(depth) {
            Some(dim) if dim.is_tuple == is_tuple => {}
            None if self.rank.is_none() && depth < MAX_RANK => {
                self.dims.push(Dim { is_tuple, length: None });
            }
            _ => return Err(NoArray),
        }
        Ok(OpenRow { depth, length: 0 })
    }

    /// The array. `None` if there was no number.
    pub(crate) fn into_numpy(self, py: Python<'_>) -> PyResult<Option<Bound<'_, PyAny>>> {
        let shape = self.dims.iter().filter_map(|dim| dim.length).collect();
        self.numbers.into_numpy(py, shape)
    }
}

impl OpenRow {
    pub(crate) fn element<T>(&mut self, rows: &mut Rows, value: &T) -> Result<(), NoArray>
    where
        T: Serialize + ?Sized,
    {
        self.length += 1; // elements in memory
        if MatrixShape::of_value::<T>().is_some() {
            return Err(NoArray);
        }
        value.serialize(RowElement { rows, depth: self.depth + 1 })
    }

    /// Whether only one element was serialized.
    pub(crate) fn is_first(&self) -> bool {
        self.length == 1
    }

    pub(crate) fn end(self, rows: &mut Rows) -> Result<(), NoArray> {
        let dim = rows.dims.get_mut(self.depth).ok_or(NoArray)?;
        match dim.length {
            Some(length) if length == self.length => Ok(()),
            None if self.length > 0 => {
                dim.length = Some(self.length);
                if self.depth == 1 {
                    rows.numbers.reserve(rows.hint);
                }
                Ok(())
            }
            _ => Err(NoArray),
        }
    }
}

/// The elements are no numbers, or of several types, or the rows are of several lengths.
#[derive(Debug)]
pub(crate) struct NoArray;

impl fmt::Display for NoArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not the numbers of an array")
    }
}

impl std::error::Error for NoArray {}

impl serde::ser::Error for NoArray {
    fn custom<T: fmt::Display>(_: T) -> Self {
        NoArray
    }
}

/// An element, which is a number or a row.
struct RowElement<'a> {
    rows: &'a mut Rows,
    /// How many rows are around it.
    depth: usize,
}

/// A row that is open, with all rows.
struct RowSerializer<'a> {
    rows: &'a mut Rows,
    row: OpenRow,
}

macro_rules! refused {
    ($($serialize:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(fn $serialize(self, $($argument: $type),*) -> Result<$result, NoArray> {
            $(let _ = $argument;)*
            Err(NoArray)
        })*
    };
}

macro_rules! numbers {
    ($($kind:ident $type:ty, $serialize:ident;)*) => {
        enum Buffer {
            None,
            $($kind(Vec<$type>),)*
        }

        impl Buffer {
            /// Reserves memory for this multiple of the numbers so far.
            fn reserve(&mut self, times: usize) {
                match self {
                    Buffer::None => {}
                    $(Buffer::$kind(numbers) => {
                        let more = numbers.len().saturating_mul(times.saturating_sub(1));
                        numbers.reserve_exact(more.min(MOST_RESERVED));
                    })*
                }
            }

            fn into_numpy(
                self,
                py: Python<'_>,
                shape: Vec<usize>,
            ) -> PyResult<Option<Bound<'_, PyAny>>> {
                match self {
                    Buffer::None => Ok(None),
                    $(Buffer::$kind(numbers) => to_array(py, numbers, shape).map(Some),)*
                }
            }
        }

        impl<'a> Serializer for RowElement<'a> {
            type Ok = ();
            type Error = NoArray;
            type SerializeSeq = RowSerializer<'a>;
            type SerializeTuple = RowSerializer<'a>;
            type SerializeTupleStruct = Impossible<(), NoArray>;
            type SerializeTupleVariant = Impossible<(), NoArray>;
            type SerializeMap = Impossible<(), NoArray>;
            type SerializeStruct = Impossible<(), NoArray>;
            type SerializeStructVariant = Impossible<(), NoArray>;

            $(#[inline]
            fn $serialize(self, number: $type) -> Result<(), NoArray> {
                let Rows { numbers, rank, hint, .. } = self.rows;
                match numbers {
                    Buffer::$kind(numbers) if *rank == Some(self.depth) => numbers.push(number),
                    Buffer::None if self.rows.dims.len() == self.depth => {
                        *rank = Some(self.depth);
                        let room = if self.depth == 1 { *hint } else { 1 };
                        let mut first = Vec::with_capacity(room.min(MOST_RESERVED));
                        first.push(number);
                        *numbers = Buffer::$kind(first);
                    }
                    _ => return Err(NoArray),
                }
                Ok(())
            })*

            fn serialize_seq(self, _: Option<usize>) -> Result<RowSerializer<'a>, NoArray> {
                let row = self.rows.open(false, self.depth)?;
                Ok(RowSerializer { rows: self.rows, row })
            }

            fn serialize_tuple(self, _: usize) -> Result<RowSerializer<'a>, NoArray> {
                let row = self.rows.open(true, self.depth)?;
                Ok(RowSerializer { rows: self.rows, row })
            }

            refused! {
                serialize_i128(number: i128) -> ();
                serialize_u128(number: u128) -> ();
                serialize_char(char: char) -> ();
                serialize_str(text: &str) -> ();
                serialize_bytes(bytes: &[u8]) -> ();
                serialize_none() -> ();
                serialize_unit() -> ();
                serialize_unit_struct(name: &'static str) -> ();
                serialize_unit_variant(name: &'static str, index: u32, variant: &'static str) -> ();
                serialize_tuple_struct(name: &'static str, length: usize) -> Impossible<(), NoArray>;
                serialize_tuple_variant(name: &'static str, index: u32, variant: &'static str, length: usize) -> Impossible<(), NoArray>;
                serialize_map(length: Option<usize>) -> Impossible<(), NoArray>;
                serialize_struct(name: &'static str, length: usize) -> Impossible<(), NoArray>;
                serialize_struct_variant(name: &'static str, index: u32, variant: &'static str, length: usize) -> Impossible<(), NoArray>;
            }

            fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<(), NoArray> {
                Err(NoArray)
            }

            fn serialize_newtype_struct<T: Serialize + ?Sized>(
                self,
                _: &'static str,
                _: &T,
            ) -> Result<(), NoArray> {
                Err(NoArray)
            }

            fn serialize_newtype_variant<T: Serialize + ?Sized>(
                self,
                _: &'static str,
                _: u32,
                _: &'static str,
                _: &T,
            ) -> Result<(), NoArray> {
                Err(NoArray)
            }
        }
    };
}

numbers! {
    Bool bool, serialize_bool;
    I8 i8, serialize_i8;
    I16 i16, serialize_i16;
    I32 i32, serialize_i32;
    I64 i64, serialize_i64;
    U8 u8, serialize_u8;
    U16 u16, serialize_u16;
    U32 u32, serialize_u32;
    U64 u64, serialize_u64;
    F32 f32, serialize_f32;
    F64 f64, serialize_f64;
}

fn to_array<T: Element + Copy>(
    py: Python<'_>,
    numbers: Vec<T>,
    shape: Vec<usize>,
) -> PyResult<Bound<'_, PyAny>> {
    let array = if numbers.len() < FEW {
        PyArray1::from_slice(py, &numbers)
    } else {
        PyArray1::from_vec(py, numbers)
    };
    if shape.len() == 1 { Ok(array.into_any()) } else { Ok(array.reshape(shape)?.into_any()) }
}

impl SerializeSeq for RowSerializer<'_> {
    type Ok = ();
    type Error = NoArray;

    #[inline]
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NoArray> {
        self.row.element(self.rows, value)
    }

    fn end(self) -> Result<(), NoArray> {
        self.row.end(self.rows)
    }
}

impl SerializeTuple for RowSerializer<'_> {
    type Ok = ();
    type Error = NoArray;

    #[inline]
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NoArray> {
        self.row.element(self.rows, value)
    }

    fn end(self) -> Result<(), NoArray> {
        self.row.end(self.rows)
    }
}
