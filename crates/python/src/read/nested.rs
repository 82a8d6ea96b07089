//! Nested sequences of numbers as an array: from a buffer of serde, and from other formats.

use std::fmt;

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, IntoDeserializer, SeqAccess, Visitor,
};

/// The numbers so far, and the dimensions.
pub(crate) struct NestedNumbers<T> {
    pub(crate) shape: Vec<usize>,
    pub(crate) data: Vec<T>,
    /// The number of dimensions, known after the first number.
    rank: Option<usize>,
    /// The name of the type of the numbers in errors.
    of: &'static str,
}

/// The most dimensions, as numpy has them.
const MOST_DIMS: usize = 64;

impl<T: DeserializeOwned> NestedNumbers<T> {
    /// The rows of an array.
    pub(crate) fn read<'de, A: SeqAccess<'de>>(
        of: &'static str,
        rows: A,
    ) -> Result<Self, A::Error> {
        let mut nested = NestedNumbers { shape: Vec::new(), data: Vec::new(), rank: None, of };
        NestedElement { nested: &mut nested, depth: 0 }.visit_seq(rows)?;
        Ok(nested)
    }
}

/// A number, or a row of them.
struct NestedElement<'a, T> {
    nested: &'a mut NestedNumbers<T>,
    depth: usize,
}

impl<T> NestedElement<'_, T> {
    fn is_number<E: Error>(&mut self) -> Result<(), E> {
        match self.nested.rank.get_or_insert(self.depth) {
            rank if *rank == self.depth && self.nested.shape.len() <= self.depth => Ok(()),
            _ => Err(E::custom("expected rows of one length, found a number beside a row")),
        }
    }
}

impl<'de, T: DeserializeOwned> DeserializeSeed<'de> for NestedElement<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

macro_rules! numbers {
    ($($visit:ident $type:ty;)*) => {
        $(fn $visit<E: Error>(mut self, number: $type) -> Result<(), E> {
            self.is_number()?;
            self.nested.data.push(T::deserialize(number.into_deserializer())?);
            Ok(())
        })*
    };
}

impl<'de, T: DeserializeOwned> Visitor<'de> for NestedElement<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.nested.of)
    }

    numbers! {
        visit_bool bool;
        visit_i64 i64;
        visit_u64 u64;
        visit_f32 f32;
        visit_f64 f64;
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let NestedElement { nested, depth } = self;
        if depth >= nested.rank.unwrap_or(MOST_DIMS) {
            return Err(A::Error::custom(
                "expected rows of one length, found a row beside a number",
            ));
        }
        let mut length = 0usize;
        // The first row decides the length of all: inner rows end before it does.
        let known = nested.shape.get(depth).copied();
        if known.is_none() {
            nested.shape.push(0);
        }
        while items
            .next_element_seed(NestedElement { nested: &mut *nested, depth: depth + 1 })?
            .is_some()
        {
            length += 1; // elements in memory
        }
        match (known, nested.shape.get_mut(depth)) {
            (None, Some(dim)) => *dim = length,
            (Some(known), _) if known != length => {
                let message = format_args!("expected rows of {known}, found one of {length}");
                return Err(A::Error::custom(message));
            }
            _ => {}
        }
        Ok(())
    }
}
