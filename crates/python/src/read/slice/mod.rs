//! An array and its slices, as a type requests them.

mod array_slice;
mod row;
mod elements;
mod matrix;
mod fields;
mod deserializer;

pub(crate) use crate::read::slice::array_slice::{ArraySlice, ArraySource, CONVERT};
