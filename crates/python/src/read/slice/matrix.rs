//! A slice as a matrix of `nalgebra`, which requests its numbers column by column.

use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};

use crate::error::{Error, Result};
use crate::matrix::MatrixShape;
use crate::read::slice::array_slice::ArraySlice;

#[derive(Clone, Copy)]
pub(super) struct MatrixLayout {
    rows: usize,
    columns: usize,
    pub(super) is_fixed: bool,
}

impl ArraySlice<'_> {
    /// The numbers in the order of columns, if the type is a matrix of `nalgebra`, and its shape.
    pub(super) fn matrix<V>(&self, length: Option<usize>) -> Option<MatrixLayout> {
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
        fits.then_some(MatrixLayout { rows, columns, is_fixed })
    }
}

/// The numbers of a matrix, column by column.
pub(super) struct ColumnSeqAccess<'a> {
    pub(super) slice: ArraySlice<'a>,
    pub(super) matrix: MatrixLayout,
    pub(super) next: usize,
}

impl<'de> SeqAccess<'de> for ColumnSeqAccess<'_> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        let MatrixLayout { rows, columns, .. } = self.matrix;
        if self.next == rows * columns {
            return Ok(None);
        }
        let (column, row) = (self.next / rows, self.next % rows);
        self.next += 1;
        let start = self.slice.start + row * columns + column;
        seed.deserialize(ArraySlice { dims: &[], start, ..self.slice }).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.matrix.rows * self.matrix.columns - self.next)
    }
}

/// A dynamic matrix of `nalgebra`: the numbers, the rows and the columns.
pub(super) struct MatrixTuple<'a> {
    pub(super) slice: ArraySlice<'a>,
    pub(super) matrix: MatrixLayout,
    pub(super) next: usize,
}

impl<'de> SeqAccess<'de> for MatrixTuple<'_> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        self.next += 1;
        let MatrixTuple { slice, matrix, next } = *self;
        match next {
            1 => seed
                .deserialize(MatrixNumbers(ColumnSeqAccess { slice, matrix, next: 0 }))
                .map(Some),
            2 => seed.deserialize(SizeDeserializer(matrix.rows)).map(Some),
            3 => seed.deserialize(SizeDeserializer(matrix.columns)).map(Some),
            _ => Ok(None),
        }
    }
}

struct MatrixNumbers<'a>(ColumnSeqAccess<'a>);

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
struct SizeDeserializer(usize);

impl<'de> Deserializer<'de> for SizeDeserializer {
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
