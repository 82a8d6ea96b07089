//! An array and the parts of it, as a type asks for them.

mod whole;
mod row;
mod elements;
mod matrix;
mod fields;
mod deserializer;

pub(crate) use crate::read::part::whole::{CONVERT, Part, Whole};
