//! A part as a matrix of `nalgebra`, which asks for its numbers column by column.

use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};

use crate::error::{Error, Result};
use crate::matrix::MatrixShape;
use crate::read::part::whole::Part;

#[derive(Clone, Copy)]
pub(super) struct Matrix {
    rows: usize,
    columns: usize,
    pub(super) is_fixed: bool,
}

impl Part<'_> {
    /// The numbers in the order of columns, if the type is a matrix of `nalgebra`, and its shape.
    pub(super) fn matrix<V>(&self, length: Option<usize>) -> Option<Matrix> {
        let shape = MatrixShape::of_visitor::<V>()?;
        let (rows, columns) = match *self.dims {
            [rows] => (rows, 1),
            [rows, columns] => (rows, columns),
            _ => return None,
        };
        let is_fixed = shape != MatrixShape::Dynamic;
        let fits = match shape {
            MatrixShape::Fixed(..) => {
                shape == MatrixShape::Fixed(rows, columns) && length == Some(rows * columns)
            }
            MatrixShape::Dynamic => length == Some(3),
        };
        fits.then_some(Matrix { rows, columns, is_fixed })
    }
}

/// The numbers of a matrix, column by column.
pub(super) struct Columns<'a> {
    pub(super) part: Part<'a>,
    pub(super) matrix: Matrix,
    pub(super) next: usize,
}

impl<'de> SeqAccess<'de> for Columns<'_> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        let Matrix { rows, columns, .. } = self.matrix;
        if self.next == rows * columns {
            return Ok(None);
        }
        let (column, row) = (self.next / rows, self.next % rows);
        self.next += 1;
        let start = self.part.start + row * columns + column;
        seed.deserialize(Part { dims: &[], start, ..self.part }).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.matrix.rows * self.matrix.columns - self.next)
    }
}

/// A dynamic matrix of `nalgebra`: the numbers, the rows and the columns.
pub(super) struct MatrixParts<'a> {
    pub(super) part: Part<'a>,
    pub(super) matrix: Matrix,
    pub(super) next: usize,
}

impl<'de> SeqAccess<'de> for MatrixParts<'_> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        self.next += 1;
        let MatrixParts { part, matrix, next } = *self;
        match next {
            1 => seed.deserialize(MatrixNumbers(Columns { part, matrix, next: 0 })).map(Some),
            2 => seed.deserialize(Size(matrix.rows)).map(Some),
            3 => seed.deserialize(Size(matrix.columns)).map(Some),
            _ => Ok(None),
        }
    }
}

struct MatrixNumbers<'a>(Columns<'a>);

impl<'de> Deserializer<'de> for MatrixNumbers<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_seq(self.0)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// A dimension, or nothing where the type has it.
struct Size(usize);

impl<'de> Deserializer<'de> for Size {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_u64(self.0 as u64) // usize has at most 64 bits
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}
