//! Matrices for types that have them column by column, without a name: `nalgebra` and `glam`.
//!
//! A static matrix is a tuple of its numbers, and a dynamic one a tuple of the numbers, rows and columns.
//! For a tuple of 3, the first request shows which one it is.

use std::cell::Cell;

use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};

use crate::load::access::Elements;
use crate::load::failure::Failure;
use crate::load::part::Part;
use crate::load::place::Place;

/// A tensor of one or two dimensions as a tuple. Its dimensions are columns and rows.
#[derive(Clone, Copy)]
struct Matrix<'de> {
    part: Part<'de>,
    rows: usize,
    /// `None` for a vector.
    columns: Option<usize>,
}

/// Reads a tuple of this length: the numbers, or the numbers, rows and columns.
pub(crate) fn visit<'de, V: Visitor<'de>>(
    part: Part<'de>,
    is_whole: bool,
    length: Option<usize>,
    visitor: V,
) -> Result<V::Value, Failure> {
    let matrix = Matrix::of(part)?;
    if !is_whole {
        return Err(refuse(part, "a tensor for each matrix (see `Loader::stack`)"));
    }
    match length {
        Some(3) => Parts::new(matrix, None).visit(visitor),
        Some(length) if length == matrix.num_elements() => {
            Elements::flat(part, matrix.rank()).visit(visitor)
        }
        Some(length) => Err(refuse(part, &format!("a matrix of {length} numbers"))),
        None => Err(refuse(part, "nested sequences, which are read without `column_major`")),
    }
}

/// Reads the numbers for a buffer of serde.
pub(crate) fn visit_numbers<'de, V: Visitor<'de>>(
    part: Part<'de>,
    visitor: V,
) -> Result<V::Value, Failure> {
    let matrix = Matrix::of(part)?;
    Elements::flat(part, matrix.rank()).visit(visitor)
}

/// Reads the numbers, rows and columns for a buffer of serde. A size that the type fixes is a unit.
pub(crate) fn visit_tuple<'de, V: Visitor<'de>>(
    part: Part<'de>,
    sizes: [bool; 2],
    visitor: V,
) -> Result<V::Value, Failure> {
    let matrix = Matrix::of(part)?;
    Parts::new(matrix, Some(sizes)).visit(visitor)
}

fn refuse(part: Part<'_>, expected: &str) -> Failure {
    part.table.change(part.entry, expected.to_owned());
    Failure::Reported
}

impl<'de> Matrix<'de> {
    fn of(part: Part<'de>) -> Result<Self, Failure> {
        Matrix::new(part).ok_or_else(|| refuse(part, "a matrix, which has two dimensions"))
    }

    fn new(part: Part<'de>) -> Option<Self> {
        let array = part.array;
        let dims = array.dims.get(part.depth..)?;
        // The parts of a complex number are a dimension here.
        let dims = if array.dtype == array.tensor.dtype() { dims } else { dims.split_last()?.1 };
        match dims {
            [rows] => Some(Matrix { part, rows: *rows, columns: None }),
            [columns, rows] => Some(Matrix { part, rows: *rows, columns: Some(*columns) }),
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
struct Parts<'de> {
    matrix: Matrix<'de>,
    next: usize,
    /// Whether the first was requested as a sequence.
    is_dynamic: Cell<bool>,
    /// Which of the sizes the type requested: it fixes the others.
    asked: [Cell<bool>; 2],
    /// Which of the sizes a buffer gets.
    buffered: Option<[bool; 2]>,
}

impl<'de> Parts<'de> {
    fn new(matrix: Matrix<'de>, buffered: Option<[bool; 2]>) -> Self {
        let (is_dynamic, asked) = (Cell::new(false), [const { Cell::new(false) }; 2]);
        Parts { matrix, next: 0, is_dynamic, asked, buffered }
    }

    fn visit<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Failure> {
        let value = visitor.visit_seq(&mut self)?;
        let Matrix { part, rows, columns } = self.matrix;
        let asked = [self.asked[0].get(), self.asked[1].get()];
        // A vector has one row or column in its type, and is a tensor of one dimension.
        let fits = match (asked, columns) {
            _ if !self.is_dynamic.get() => true,
            ([true, true], columns) => columns.is_some(),
            ([true, false], Some(columns)) => columns != 1,
            ([false, true], Some(_)) => rows != 1,
            ([rows, columns], None) => rows || columns,
            ([false, false], Some(_)) => false,
        };
        match (fits, columns) {
            (true, _) => Ok(value),
            (false, Some(_)) => Err(refuse(part, "a vector, which has one dimension")),
            (false, None) => Err(refuse(part, "a matrix, which has two dimensions")),
        }
    }
}

impl<'de> SeqAccess<'de> for &mut Parts<'de> {
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
        seed.deserialize(Item { parts: self, index }).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(3 - self.next) // it is at most 3
    }
}

/// An element of the tuple.
struct Item<'a, 'de> {
    parts: &'a Parts<'de>,
    index: usize,
}

impl<'de> Item<'_, 'de> {
    /// The number of rows or columns, if the matrix is dynamic.
    fn size(&self) -> Option<u64> {
        let Matrix { rows, columns, .. } = self.parts.matrix;
        let (asked, size) = match self.index {
            1 => (&self.parts.asked[0], rows),
            2 => (&self.parts.asked[1], columns.unwrap_or(rows)),
            _ => return None,
        };
        let size = self.parts.is_dynamic.get().then_some(size)?;
        asked.set(true);
        Some(u64::try_from(size).unwrap_or(u64::MAX))
    }

    /// The number of a static matrix.
    fn number(&self) -> Result<Place<'de>, Failure> {
        let matrix = &self.parts.matrix;
        if self.parts.is_dynamic.get() {
            Err(refuse(matrix.part, "a matrix of numbers, rows and columns"))
        } else if matrix.num_elements() == 3 {
            Ok(Place::Part(matrix.part.element_of_all(matrix.rank(), self.index)))
        } else {
            Err(refuse(matrix.part, "a matrix of 3 numbers"))
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

impl<'de> Deserializer<'de> for Item<'_, 'de> {
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
        self.parts.is_dynamic.set(true);
        let Matrix { part, .. } = self.parts.matrix;
        Elements::flat(part, self.parts.matrix.rank()).visit(visitor)
    }

    /// A size that the type fixes.
    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_unit()
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        let Some([rows, columns]) = self.parts.buffered else {
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
