//! serde's side of rebuilding: the deserializer of the node at a [`Cursor`].
//!
//! There is only one deserializer type, for all types of leaves and also for names and keys. So
//! each type that a user rebuilds is compiled for it once. As in serde_json, a request calls only
//! the visitor methods that answer it, and only `deserialize_any` may call all of them. If a type
//! asks for another form of the same value, the node adapts:
//!
//! | asked for | found | answer |
//! |---|---|---|
//! | option | neither `None` nor `Some` | `Some` of the node |
//! | newtype struct | another kind | the node as the inside; a struct of the same name as a map |
//! | newtype struct `f16` or `bf16` | a float | its bits, if the inside is asked for as a `u16` |
//! | enum | a string leaf, a map of one entry | the variant of that name |
//! | anything else | a newtype | its inside |
//! | map, struct or anything | a variant (serde's buffers ask so) | a map from its name to its payload, or the name alone |
//! | payload | another form of payload | that payload as a plain value |
//! | struct | a sequence | a map from the first fields to the elements |
//! | bytes | a sequence of `u8` | the bytes |
//! | bytes | anything else | as it is |
//! | anything | a newtype with a name such as `$link` | the newtype: no Rust type has such a name, so it is a message to the type that reads it |

use std::cell::Cell;

use serde::Deserialize;
use serde::de::{self, Deserializer, Unexpected, Visitor};

use crate::call_stack::grow;
use crate::error::{Error, Result};
use crate::leaf::Scalar;
use crate::leaf::each_scalar;
use crate::leaf::float::{narrow, widen};
use crate::leaf::leaf_type::{Number, Taken};
use crate::model::{LeafKind, NodeKind};

use super::cursor::{Cursor, Identifier, NodeDeserializer};
use super::elements::Elements;
use super::entries::{self, Entries};
use super::variant::{self, Variant};

/// Adds the newtypes around the node to the path of an error by a visitor.
macro_rules! outside {
    ($this:expr, $result:expr) => {
        match $result {
            Ok(value) => Ok(value),
            Err(error) => Err($this.0.at.outside(error)),
        }
    };
}

/// Requests for a number. The visitor gets the requested type or, if the number does not fit, the
/// widest type of its family. The visitor itself rejects numbers out of its range.
macro_rules! numbers {
    ($($kind:ident: $type:ty, {$serialize:ident $visit:ident $method:ident};)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            let result = match self.0.number() {
                Some(Number::U64(value)) => match <$type>::try_from(value) {
                    Ok(value) => visitor.$visit(value),
                    Err(_) => visitor.visit_u64(value),
                },
                Some(Number::I64(value)) => match <$type>::try_from(value) {
                    Ok(value) => visitor.$visit(value),
                    Err(_) => visitor.visit_i64(value),
                },
                Some(Number::U128(value)) => visitor.visit_u128(value.get()),
                Some(Number::I128(value)) => visitor.visit_i128(value.get()),
                Some(Number::F32(value)) => visitor.visit_f32(value),
                Some(Number::F64(value)) => visitor.visit_f64(value),
                None => return Err(self.0.unexpected(&visitor)),
            };
            outside!(self, result)
        }
    )*};
}

/// Requests for a text or a character. Bytes may be a text to the visitor, e.g. that of a path.
macro_rules! texts {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            let result = match self.0.text() {
                Some(Taken::Scalar(Scalar::Str(text))) => visitor.visit_borrowed_str(text),
                Some(Taken::Scalar(Scalar::Char(value))) => visitor.visit_char(value),
                Some(Taken::Scalar(Scalar::Bytes(bytes))) => visitor.visit_borrowed_bytes(bytes),
                Some(Taken::String(text)) => visitor.visit_string(text),
                Some(Taken::Bytes(bytes)) => visitor.visit_byte_buf(bytes),
                _ => return Err(self.0.unexpected(&visitor)),
            };
            outside!(self, result)
        }
    )*};
}

/// Reads the only child of a `Some` or a newtype.
macro_rules! only_child {
    ($($method:ident $visit:ident;)*) => {$(
        fn $method<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
            let (parent, requests) = (self.at, self.requests);
            if let Err(error) = self.go_to_child() {
                return Err(error);
            }
            match grow!(visitor.$visit(NodeDeserializer(self))) {
                Ok(value) if self.requests != requests => Ok(value),
                Ok(_) => Err(parent.unread(1)),
                Err(error) => Err(parent.outside(parent.under(error, 0))),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for NodeDeserializer<'_, 'de> {
    type Error = Error;

    each_scalar!([integers] => numbers);

    texts! { deserialize_char deserialize_str deserialize_string }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0.boolean() {
            Some(value) => outside!(self, visitor.visit_bool(value)),
            None => Err(self.0.unexpected(&visitor)),
        }
    }

    /// serde would turn a finite `f64` beyond the range of `f32` into infinity, and a signalling
    /// NaN into a quiet NaN. So both are handled here.
    #[inline]
    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let result = match self.0.number() {
            Some(Number::F32(value)) => visitor.visit_f32(value),
            Some(Number::F64(value)) if value.is_nan() => visitor.visit_f32(narrow(value)),
            Some(Number::F64(value)) if value.is_finite() && narrow(value).is_infinite() => {
                Err(beyond_f32(value))
            }
            Some(Number::F64(value)) => visitor.visit_f64(value),
            Some(Number::U64(value)) => visitor.visit_u64(value),
            Some(Number::I64(value)) => visitor.visit_i64(value),
            Some(Number::U128(value)) => visitor.visit_u128(value.get()),
            Some(Number::I128(value)) => visitor.visit_i128(value.get()),
            None => return Err(self.0.unexpected(&visitor)),
        };
        outside!(self, result)
    }

    #[inline]
    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let result = match self.0.number() {
            Some(Number::F64(value)) => visitor.visit_f64(value),
            Some(Number::F32(value)) => visitor.visit_f64(widen(value)),
            Some(Number::U64(value)) => visitor.visit_u64(value),
            Some(Number::I64(value)) => visitor.visit_i64(value),
            Some(Number::U128(value)) => visitor.visit_u128(value.get()),
            Some(Number::I128(value)) => visitor.visit_i128(value.get()),
            None => return Err(self.0.unexpected(&visitor)),
        };
        outside!(self, result)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.bytes(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.0.enter();
        match self.0.at.kind {
            // A unit is read as `None`, because `Some(())` has a `Some` node.
            NodeKind::None | NodeKind::Unit => visitor.visit_none(),
            NodeKind::Some => self.0.some(visitor),
            NodeKind::Leaf if self.0.leaf_kind() == Some(LeafKind::None) => visitor.visit_none(),
            _ => match self.0.pass() {
                Ok(()) => grow!(visitor.visit_some(NodeDeserializer(self.0))),
                Err(error) => Err(error),
            },
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.0.is_unit() {
            outside!(self, visitor.visit_unit())
        } else {
            Err(self.0.unexpected(&visitor))
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        self.0.enter();
        match self.0.at.kind {
            NodeKind::NewtypeStruct => self.0.newtype(visitor),
            NodeKind::Struct if self.0.at.node.name() == Some(name) => {
                self.deserialize_map(visitor)
            }
            _ => match (self.0.half(name), self.0.pass()) {
                (Some(float), _) => outside!(self, visitor.visit_newtype_struct(float)),
                (None, Ok(())) => grow!(visitor.visit_newtype_struct(NodeDeserializer(self.0))),
                (None, Err(error)) => Err(error),
            },
        }
    }

    #[inline]
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let mut elements = match Elements::of(self.0, &visitor) {
            Ok(elements) => elements,
            Err(error) => return Err(error),
        };
        match grow!(visitor.visit_seq(&mut elements)) {
            Ok(value) => match elements.end() {
                Ok(()) => Ok(value),
                Err(error) => Err(error),
            },
            Err(error) => Err(elements.outside(error)),
        }
    }

    #[inline]
    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value> {
        self.deserialize_seq(visitor)
    }

    #[inline]
    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value> {
        self.deserialize_seq(visitor)
    }

    #[inline]
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.map("", None, visitor)
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.map(name, Some(fields), visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        let asked = Cell::new(false);
        let variant = match Variant::of(self.0, &asked, &visitor) {
            Ok(variant) => variant,
            Err(error) => return Err(error),
        };
        let node = variant.node();
        match grow!(visitor.visit_enum(variant)) {
            Ok(value) => match variant::end(node, asked.get()) {
                Ok(()) => Ok(value),
                Err(error) => Err(error),
            },
            Err(error) => Err(variant::explain(node, error)),
        }
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let result = match self.0.identifier() {
            Some(Identifier::Lent(text)) => visitor.visit_borrowed_str(text),
            Some(Identifier::Text(text)) => visitor.visit_str(text),
            Some(Identifier::U64(value)) => visitor.visit_u64(value),
            Some(Identifier::I64(value)) => visitor.visit_i64(value),
            Some(Identifier::Bool(value)) => visitor.visit_bool(value),
            None => return Err(self.0.unexpected(&visitor)),
        };
        outside!(self, result)
    }

    /// Skips the whole subtree.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.0.enter();
        visitor.visit_unit()
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        use NodeKind as Is;
        self.0.unwrap_to_message()?;
        match self.0.at.kind {
            Is::NewtypeStruct => self.0.newtype(visitor),
            Is::Leaf => self.0.scalar_as_it_is(visitor),
            Is::UnitVariant => self.deserialize_str(visitor),
            Is::None => outside!(self, visitor.visit_none()),
            Is::Some => self.0.some(visitor),
            Is::Unit | Is::UnitStruct | Is::Static => outside!(self, visitor.visit_unit()),
            Is::Seq | Is::Tuple | Is::TupleStruct => self.deserialize_seq(visitor),
            Is::Map | Is::Struct | Is::NewtypeVariant | Is::TupleVariant | Is::StructVariant => {
                self.deserialize_map(visitor)
            }
        }
    }

    fn is_human_readable(&self) -> bool {
        !self.0.compact
    }
}

impl<'de> NodeDeserializer<'_, 'de> {
    /// Reads entries, or the fields of a struct, by name. Nothing here calls `visit_seq` of a
    /// struct, so the compiler need not compile it for this deserializer.
    fn map<V: Visitor<'de>>(
        self,
        name: &str,
        fields: Option<&'static [&'static str]>,
        visitor: V,
    ) -> Result<V::Value> {
        let mut entries = match Entries::of(self.0, fields, &visitor) {
            Ok(entries) => entries,
            Err(error) => return Err(entries::explain(error, name)),
        };
        match grow!(visitor.visit_map(&mut entries)) {
            Ok(value) => match entries.end() {
                Ok(()) => Ok(value),
                Err(error) => Err(error),
            },
            Err(error) => Err(entries.outside(error)),
        }
    }

    fn bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.0.unwrap()?;
        let at = self.0.at;
        if self.0.is_bytes() {
            let bytes = Vec::<u8>::deserialize(NodeDeserializer(self.0))?;
            return visitor.visit_byte_buf(bytes).map_err(|error| {
                at.outside(lend_hint(
                    error,
                    "a plain `&[u8]` serializes as a sequence and cannot come back: annotate it with `serde_bytes`",
                ))
            });
        }
        let hint = "a type that borrows its bytes needs `unflatten_borrowed`";
        self.deserialize_any(visitor).map_err(|error| lend_hint(error, hint))
    }
}

impl<'de> Cursor<'de> {
    only_child! {
        some visit_some;
        newtype visit_newtype_struct;
    }

    /// Reads the scalar as its own kind.
    fn scalar_as_it_is<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
        let scalar = match self.take() {
            Some(Taken::Scalar(scalar)) => scalar,
            Some(Taken::String(text)) => {
                return visitor.visit_string(text).map_err(|error| self.at.outside(error));
            }
            Some(Taken::Bytes(bytes)) => {
                return visitor.visit_byte_buf(bytes).map_err(|error| self.at.outside(error));
            }
            None => return Err(self.unexpected(&visitor)),
        };
        macro_rules! visit {
            ($($kind:ident: $type:ty, {$serialize:ident $visit:ident $deserialize:ident};)*) => {
                match scalar {
                    $(Scalar::$kind(value) => visitor.$visit(value),)*
                    Scalar::Str(text) => visitor.visit_borrowed_str(text),
                    Scalar::Bytes(bytes) => visitor.visit_borrowed_bytes(bytes),
                    Scalar::None => visitor.visit_none(),
                }
            };
        }
        let is_wide = matches!(scalar, Scalar::I128(_) | Scalar::U128(_));
        each_scalar!([sized] => visit)
            .map_err(|error| self.at.outside(if is_wide { unbuffered(error) } else { error }))
    }
}

/// Adds a hint if a visitor rejected text or bytes that it could not borrow.
#[cold]
fn lend_hint(error: Error, hint: &'static str) -> Error {
    let borrows = |(_, expected): (&str, &str)| expected.contains("borrowed");
    if error.refused_type().is_some_and(borrows) { error.with_hint(hint) } else { error }
}

#[cold]
fn beyond_f32(value: f64) -> Error {
    let found = format!("floating point `{value:?}`");
    de::Error::invalid_value(Unexpected::Other(&found), &"f32")
}

/// Adds a hint if a 128-bit integer was rejected because of a gap in serde.
#[cold]
fn unbuffered(error: Error) -> Error {
    // The error of a visitor that has no method for them.
    let unknown =
        |(found, _): (&str, &str)| found.ends_with(" as i128") || found.ends_with(" as u128");
    if error.refused_type().is_some_and(unknown) {
        error.with_hint(
            "below `flatten`, `untagged` and an internal `tag` serde buffers values, and its buffer has no 128-bit \
             integers: serde issue 1682; serialize them as strings there",
        )
    } else {
        error
    }
}
