//! Probes the requests of a type, for an error that names them.

use serde::de::{DeserializeSeed, Deserializer, Error as _, SeqAccess, Visitor};

use crate::error::{Error, Result};
use crate::matrix::MatrixShape;

/// Numbers of a type with some dimensions, or something else.
#[derive(Clone, Default)]
pub(crate) struct TypeRequest {
    dims: Vec<Option<usize>>,
    /// Rust's name of the numbers, or of another type. Empty if it is unknown.
    of: &'static str,
    is_number: bool,
}

impl TypeRequest {
    pub(crate) fn number(of: &'static str) -> Self {
        TypeRequest { dims: Vec::new(), of, is_number: true }
    }

    pub(crate) fn other(of: &'static str) -> Self {
        TypeRequest { dims: Vec::new(), of, is_number: false }
    }

    pub(crate) fn bytes() -> Self {
        TypeRequest { dims: vec![None], ..TypeRequest::number("u8") }
    }

    pub(crate) fn of_seed<'de, S: DeserializeSeed<'de>>(seed: S) -> Self {
        let mut wish = TypeRequest::default();
        // It ends with an error, or without elements.
        let _ = seed.deserialize(Probe(&mut wish));
        wish
    }

    /// The request for the elements of a sequence of this length.
    pub(crate) fn of_sequence<'de, V: Visitor<'de>>(length: Option<usize>, visitor: V) -> Self {
        let mut wish = TypeRequest { dims: vec![length], ..TypeRequest::default() };
        // It ends with an error, or without elements.
        let _ = visitor.visit_seq(ProbeElements(&mut wish));
        wish
    }

    /// Its text below these dimensions, as `f64[3, _]`.
    pub(crate) fn inside(&self, mut dims: Vec<Option<usize>>) -> String {
        dims.extend(&self.dims);
        let sizes = dims.iter().map(|dim| dim.map_or("_".to_owned(), |dim| dim.to_string()));
        let sizes = sizes.collect::<Vec<_>>().join(", ");
        match (self.of, dims.is_empty()) {
            ("", _) => format!("an array[{sizes}]"),
            (of, true) => of.to_owned(),
            (of, false) => format!("{of}[{sizes}]"),
        }
    }

    pub(crate) fn is_unknown(&self) -> bool {
        self.of.is_empty()
    }

    /// The type of the numbers. `None` if they are none.
    pub(crate) fn number_type(&self) -> Option<&'static str> {
        self.is_number.then_some(self.of)
    }

    /// The type of a single number.
    pub(crate) fn scalar_type(&self) -> Option<&'static str> {
        self.number_type().filter(|_| self.dims.is_empty())
    }

    pub(crate) fn has_dims(&self, dims: &[usize]) -> bool {
        let is_same = |(wish, dim): (&Option<usize>, &usize)| wish.is_none_or(|wish| wish == *dim);
        self.dims.len() == dims.len() && self.dims.iter().zip(dims).all(is_same)
    }
}

/// numpy has no more dimensions.
const MAX_DIMS: usize = 64;

struct ProbeElements<'a>(&'a mut TypeRequest);

impl<'de> SeqAccess<'de> for ProbeElements<'_> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        // A type may contain itself.
        if self.0.dims.len() > MAX_DIMS {
            return Err(Error::custom("a probe"));
        }
        seed.deserialize(Probe(&mut *self.0)).map(Some)
    }
}

struct Probe<'a>(&'a mut TypeRequest);

impl Probe<'_> {
    fn number<T>(self, of: &'static str) -> Result<T> {
        self.0.is_number = true;
        self.other(of)
    }

    fn other<T>(self, of: &'static str) -> Result<T> {
        self.0.of = of;
        Err(Error::custom("a probe"))
    }
}

/// Requests that end without their visitor, by a method that gets the name of the requested type.
macro_rules! without_visitor {
    ($answer:ident: $($deserialize:ident $of:literal)*) => {
        $(fn $deserialize<V: Visitor<'de>>(self, _: V) -> Result<V::Value> {
            self.$answer($of)
        })*
    };
}

pub(crate) use without_visitor;

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = Error;

    without_visitor! { number:
        deserialize_bool "bool"
        deserialize_i8 "i8"
        deserialize_i16 "i16"
        deserialize_i32 "i32"
        deserialize_i64 "i64"
        deserialize_i128 "i128"
        deserialize_u8 "u8"
        deserialize_u16 "u16"
        deserialize_u32 "u32"
        deserialize_u64 "u64"
        deserialize_u128 "u128"
        deserialize_f32 "f32"
        deserialize_f64 "f64"
    }

    without_visitor! { other:
        deserialize_char "char"
        deserialize_str "str"
        deserialize_string "str"
        deserialize_identifier "str"
        deserialize_unit "None"
        deserialize_map "dict"
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value> {
        Err(Error::custom("a probe"))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.0.dims.push(None);
        visitor.visit_seq(ProbeElements(self.0))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value> {
        match MatrixShape::of_visitor::<V>() {
            Some(MatrixShape::Fixed(rows, columns)) => {
                self.0.dims.extend([Some(rows), Some(columns)]);
            }
            Some(MatrixShape::Dynamic) => return Err(Error::custom("a probe")),
            None => self.0.dims.push(Some(length)),
        }
        visitor.visit_seq(ProbeElements(self.0))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        match name {
            "f16" | "bf16" => self.number(name),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    serde::forward_to_deserialize_any! {
        bytes byte_buf unit_struct tuple_struct struct enum ignored_any
    }
}
