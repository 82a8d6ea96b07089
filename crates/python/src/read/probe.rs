//! What a type would have asked for, for the error that says so.

use serde::de::{DeserializeSeed, Deserializer, Error as _, SeqAccess, Visitor};

use crate::error::{Error, Result};

/// Numbers of a type with some dimensions, or something else.
#[derive(Clone, Default)]
pub(crate) struct Wish {
    dims: Vec<Option<usize>>,
    /// Rust's name of the numbers, or what is no number.
    of: &'static str,
}

impl Wish {
    pub(crate) fn number(of: &'static str) -> Self {
        Wish { dims: Vec::new(), of }
    }

    pub(crate) fn other(of: &'static str) -> Self {
        Wish::number(of)
    }

    /// What a sequence of this length has as elements.
    pub(crate) fn of_sequence<'de, V: Visitor<'de>>(length: Option<usize>, visitor: V) -> Self {
        let mut wish = Wish { dims: vec![length], of: "" };
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

    /// What numpy calls the type of the numbers. `None` if they are none.
    pub(crate) fn dtype_in_numpy(&self) -> Option<&'static str> {
        NAMES.iter().find(|(name, _)| *name == self.of).map(|(_, name)| *name)
    }
}

/// The names of types in Rust and in numpy.
const NAMES: [(&str, &str); 15] = [
    ("bool", "bool"),
    ("i8", "int8"),
    ("i16", "int16"),
    ("i32", "int32"),
    ("i64", "int64"),
    ("i128", "int128"),
    ("u8", "uint8"),
    ("u16", "uint16"),
    ("u32", "uint32"),
    ("u64", "uint64"),
    ("u128", "uint128"),
    ("f16", "float16"),
    ("bf16", "bfloat16"),
    ("f32", "float32"),
    ("f64", "float64"),
];

/// numpy has no more dimensions.
const MAX_DIMS: usize = 64;

struct ProbeElements<'a>(&'a mut Wish);

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

struct Probe<'a>(&'a mut Wish);

macro_rules! numbers {
    ($($deserialize:ident $name:literal)*) => {
        $(fn $deserialize<V: Visitor<'de>>(self, _: V) -> Result<V::Value> {
            self.0.of = $name;
            Err(Error::custom("a probe"))
        })*
    };
}

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = Error;

    numbers! {
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

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value> {
        Err(Error::custom("a probe"))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.0.dims.push(None);
        visitor.visit_seq(ProbeElements(self.0))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value> {
        self.0.dims.push(Some(length));
        visitor.visit_seq(ProbeElements(self.0))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        match name {
            "f16" | "bf16" => {
                self.0.of = name;
                Err(Error::custom("a probe"))
            }
            _ => visitor.visit_newtype_struct(self),
        }
    }

    serde::forward_to_deserialize_any! {
        char str string bytes byte_buf option unit unit_struct tuple_struct map struct enum
        identifier ignored_any
    }
}
