//! Matrices for types that have them column by column, without a name: `nalgebra` and `glam`.
//!
//! A static matrix is a tuple of its numbers, and a dynamic one a tuple of the numbers, rows and columns.
//! For a tuple of 3, the first request shows which one it is.

use std::cell::Cell;

use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};

use crate::load::access::TensorSeqAccess;
use crate::load::failure::Failure;
use crate::load::tensor_slice::TensorSlice;
use crate::load::value_deserializer::ValueDeserializer;

/// A tensor of one or two dimensions as a tuple. Its dimensions are columns and rows.
#[derive(Clone, Copy)]
struct Matrix<'de> {
    slice: TensorSlice<'de>,
    rows: usize,
    /// `None` for a vector.
    columns: Option<usize>,
}

/// Reads a tuple of this length: the numbers, or the numbers, rows and columns.
pub(crate) fn visit<'de, V: Visitor<'de>>(
    slice: TensorSlice<'de>,
    is_whole: bool,
    length: Option<usize>,
    visitor: V,
) -> Result<V::Value, Failure> {
    let matrix = Matrix::of(slice)?;
    if !is_whole {
        return Err(refuse(slice, "a tensor for each matrix (see `Loader::stack`)"));
    }
    match length {
        Some(3) => MatrixTuple::new(matrix, None).visit(visitor),
        Some(length) if length == matrix.num_elements() => {
            TensorSeqAccess::flat(slice, matrix.rank()).visit(visitor)
        }
        Some(length) => Err(refuse(slice, &format!("a matrix of {length} numbers"))),
        None => Err(refuse(slice, "nested sequences, which are read without `column_major`")),
    }
}

/// Reads the numbers for a buffer of serde.
pub(crate) fn visit_numbers<'de, V: Visitor<'de>>(
    slice: TensorSlice<'de>,
    visitor: V,
) -> Result<V::Value, Failure> {
    let matrix = Matrix::of(slice)?;
    TensorSeqAccess::flat(slice, matrix.rank()).visit(visitor)
}

/// Reads the numbers, rows and columns for a buffer of serde. A size that the type fixes is a unit.
pub(crate) fn visit_tuple<'de, V: Visitor<'de>>(
    slice: TensorSlice<'de>,
    sizes: [bool; 2],
    visitor: V,
) -> Result<V::Value, Failure> {
    let matrix = Matrix::of(slice)?;
    MatrixTuple::new(matrix, Some(sizes)).visit(visitor)
}

fn refuse(slice: TensorSlice<'_>, expected: &str) -> Failure {
    slice.context.report_mismatch(slice.entry, expected.to_owned());
    Failure::Reported
}

impl<'de> Matrix<'de> {
    fn of(slice: TensorSlice<'de>) -> Result<Self, Failure> {
        Matrix::new(slice).ok_or_else(|| refuse(slice, "a matrix, which has two dimensions"))
    }

    fn new(slice: TensorSlice<'de>) -> Option<Self> {
        let array = slice.array;
        let dims = array.dims.get(slice.depth..)?;
        // The parts of a complex number are a dimension here.
        let dims = if array.dtype == array.tensor.dtype() { dims } else { dims.split_last()?.1 };
        match dims {
            [rows] => Some(Matrix { slice, rows: *rows, columns: None }),
            [columns, rows] => Some(Matrix { slice, rows: *rows, columns: Some(*columns) }),
            _ => None,
        }
    }

    fn rank(&self) -> usize {
        1 + usize::from(self.columns.is_some())
    }

    fn num_elements(&self) -> usize {
        self.rows.saturating_mul(self.columns.unwrap_or(1)) // it saturates beside no bytes only
    }
}

/// The three elements of a tuple.
struct MatrixTuple<'de> {
    matrix: Matrix<'de>,
    next: usize,
    /// Whether the first was requested as a sequence.
    is_dynamic: Cell<bool>,
    /// Which of the sizes the type requested: it fixes the others.
    requested: [Cell<bool>; 2],
    /// Which of the sizes a buffer gets.
    buffered: Option<[bool; 2]>,
}

impl<'de> MatrixTuple<'de> {
    fn new(matrix: Matrix<'de>, buffered: Option<[bool; 2]>) -> Self {
        let (is_dynamic, requested) = (Cell::new(false), [const { Cell::new(false) }; 2]);
        MatrixTuple { matrix, next: 0, is_dynamic, requested, buffered }
    }

    fn visit<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Failure> {
        let value = visitor.visit_seq(&mut self)?;
        let Matrix { slice, rows, columns } = self.matrix;
        let requested = [self.requested[0].get(), self.requested[1].get()];
        // A vector has one row or column in its type, and is a tensor of one dimension.
        let fits = match (requested, columns) {
            _ if !self.is_dynamic.get() => true,
            ([true, true], columns) => columns.is_some(),
            ([true, false], Some(columns)) => columns != 1,
            ([false, true], Some(_)) => rows != 1,
            ([rows, columns], None) => rows || columns,
            ([false, false], Some(_)) => false,
        };
        match (fits, columns) {
            (true, _) => Ok(value),
            (false, Some(_)) => Err(refuse(slice, "a vector, which has one dimension")),
            (false, None) => Err(refuse(slice, "a matrix, which has two dimensions")),
        }
    }
}

impl<'de> SeqAccess<'de> for &mut MatrixTuple<'de> {
    type Error = Failure;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Failure> {
        if self.next == 3 {
            return Ok(None);
        }
        let index = self.next;
        self.next += 1;
        seed.deserialize(MatrixElement { tuple: self, index }).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(3 - self.next) // it is at most 3
    }
}

/// An element of the tuple.
struct MatrixElement<'a, 'de> {
    tuple: &'a MatrixTuple<'de>,
    index: usize,
}

impl<'de> MatrixElement<'_, 'de> {
    /// The number of rows or columns, if the matrix is dynamic.
    fn size(&self) -> Option<u64> {
        let Matrix { rows, columns, .. } = self.tuple.matrix;
        let (requested, size) = match self.index {
            1 => (&self.tuple.requested[0], rows),
            2 => (&self.tuple.requested[1], columns.unwrap_or(rows)),
            _ => return None,
        };
        let size = self.tuple.is_dynamic.get().then_some(size)?;
        requested.set(true);
        Some(u64::try_from(size).unwrap_or(u64::MAX))
    }

    /// The number of a static matrix.
    fn number(&self) -> Result<ValueDeserializer<'de>, Failure> {
        let matrix = &self.tuple.matrix;
        if self.tuple.is_dynamic.get() {
            Err(refuse(matrix.slice, "a matrix of numbers, rows and columns"))
        } else if matrix.num_elements() == 3 {
            Ok(ValueDeserializer::Slice(matrix.slice.flat_element(matrix.rank(), self.index)))
        } else {
            Err(refuse(matrix.slice, "a matrix of 3 numbers"))
        }
    }
}

macro_rules! sizes {
    ($($deserialize:ident)*) => {
        $(fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
            match self.size() {
                Some(size) => visitor.visit_u64(size),
                None => self.number()?.$deserialize(visitor),
            }
        })*
    };
}

macro_rules! numbers {
    ($($deserialize:ident($($argument:ident: $type:ty),*))*) => {
        $(fn $deserialize<V: Visitor<'de>>(
            self,
            $($argument: $type,)*
            visitor: V,
        ) -> Result<V::Value, Failure> {
            self.number()?.$deserialize($($argument,)* visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for MatrixElement<'_, 'de> {
    type Error = Failure;

    sizes! {
        deserialize_u8 deserialize_i8 deserialize_u16 deserialize_i16 deserialize_u32
        deserialize_i32 deserialize_u64 deserialize_i64 deserialize_u128 deserialize_i128
    }

    numbers! {
        deserialize_bool() deserialize_f32() deserialize_f64() deserialize_char()
        deserialize_str() deserialize_string() deserialize_bytes() deserialize_byte_buf()
        deserialize_option() deserialize_map() deserialize_identifier()
        deserialize_unit_struct(name: &'static str)
        deserialize_newtype_struct(name: &'static str)
        deserialize_tuple(length: usize)
        deserialize_tuple_struct(name: &'static str, length: usize)
        deserialize_struct(name: &'static str, fields: &'static [&'static str])
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        if self.index > 0 {
            return self.number()?.deserialize_seq(visitor);
        }
        self.tuple.is_dynamic.set(true);
        let Matrix { slice, .. } = self.tuple.matrix;
        TensorSeqAccess::flat(slice, self.tuple.matrix.rank()).visit(visitor)
    }

    /// A size that the type fixes.
    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_unit()
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        let Some([rows, columns]) = self.tuple.buffered else {
            return self.number()?.deserialize_any(visitor);
        };
        match self.index {
            0 => self.deserialize_seq(visitor),
            1 if rows => self.deserialize_u64(visitor),
            2 if columns => self.deserialize_u64(visitor),
            _ => self.deserialize_unit(visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_unit()
    }
}
