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
//!
//! All of this is compiled for each type that is rebuilt. So nothing is kept alive across a call without
//! need, and each branch that drops a value returns by itself: with a shared exit the compiler would add
//! drop flags.

use std::mem::needs_drop;

use serde::de::{self, Deserializer, Unexpected, Visitor};

use crate::call_stack::grow;
use crate::error::{Error, Result};
use crate::leaf::Scalar;
use crate::leaf::each_scalar;
use crate::leaf::float::{narrow_in_range, widen};
use crate::leaf::leaf_type::{Number, Taken};
use crate::model::{Leaf, NodeKind};

use super::cursor::{Found, Interior, NodeDeserializer};
use super::elements::Elements;
use super::entries::Entries;
use super::hints;
use super::scalars::{Identifier, TakenText};
use super::variant::Variant;

/// Adds the newtypes around the node to the path of an error by a visitor.
macro_rules! outside {
    ($this:expr, $result:expr) => {
        match $result {
            Ok(value) => Ok(value),
            Err(error) => Err($this.0.outside(error)),
        }
    };
}

/// Requests for a number. The visitor gets the requested type or, if the number does not fit, the
/// widest type of its family. The visitor itself rejects numbers out of its range.
macro_rules! numbers {
    ($($kind:ident: $type:ty, {$serialize:ident $visit:ident $method:ident};)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            // Not as a `Number`, whose halves would be written and read in different parts: that takes twice as long.
            if const { size_of::<$type>() > size_of::<u64>() }
                && let Some(Leaf::$kind(value)) = self.0.plain_leaf()
            {
                let value = <$type>::from(*value);
                return outside!(self, visitor.$visit(value));
            }
            let number =
                if const { is_u16::<$type>() } { self.0.u16() } else { self.0.integer() };
            let result = match number {
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

/// Whether this integer is the `u16`, in which a float of 16 bits has its bits.
const fn is_u16<T: Copy>() -> bool {
    size_of::<T>() == 2
}

/// Reads the inside of an option or of a newtype, where the cursor is. `$parent` is the option or the newtype.
macro_rules! inside {
    ($this:ident, $visitor:ident.$visit:ident, $inside:ident, $parent:ident) => {{
        match grow!($visitor.$visit(NodeDeserializer($this.0))) {
            Ok(value) => {
                if let Err(error) = $this.0.end_inside(&$parent) {
                    return Err(error);
                }
                Ok(value)
            }
            Err(error) => Err($this.0.inside_failed(&$parent, $inside, error)),
        }
    }};
}

impl<'de> Deserializer<'de> for NodeDeserializer<'_, 'de> {
    type Error = Error;

    each_scalar!([integers] => numbers);

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_string(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_string(visitor)
    }

    /// Also for a character. A visitor may take bytes as a text, for example as a path.
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let Some(text) = self.0.text() else { return Err(self.0.unexpected(&visitor)) };
        let result = match text {
            TakenText::Own(text) => visitor.visit_string(text),
            TakenText::Lent(text) => visitor.visit_borrowed_str(text),
            TakenText::Char(value) => visitor.visit_char(value),
            TakenText::LentBytes(bytes) => visitor.visit_borrowed_bytes(bytes),
            TakenText::OwnBytes(bytes) => visitor.visit_byte_buf(bytes),
        };
        outside!(self, result)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0.boolean() {
            Some(value) => outside!(self, visitor.visit_bool(value)),
            None => Err(self.0.unexpected(&visitor)),
        }
    }

    #[inline]
    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0.f32() {
            Some(value) => outside!(self, visitor.visit_f32(value)),
            None => self.f32_of_other(visitor),
        }
    }

    #[inline]
    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0.f64() {
            Some(value) => outside!(self, visitor.visit_f64(value)),
            None => self.f64_of_other(visitor),
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.bytes(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.0.enter_kept_option();
        let parent = self.0.parent();
        match self.0.option() {
            Interior::Nothing => visitor.visit_none(),
            Interior::TooDeep => Err(self.0.too_deep()),
            inside => inside!(self, visitor.visit_some, inside, parent),
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
        self.0.enter_kept();
        let parent = self.0.parent();
        match self.0.newtype(name) {
            Interior::Entries => self.deserialize_map(visitor),
            Interior::TooDeep => Err(self.0.too_deep()),
            // Only an object is told by its number in place of its inside.
            Interior::Object => outside!(self, visitor.visit_u64(self.0.location.leaf as u64)), // not wider
            Interior::NoObject => Err(self.0.unexpected(&visitor)),
            inside => inside!(self, visitor.visit_newtype_struct, inside, parent),
        }
    }

    #[inline]
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if !self.0.is_sequence() {
            return Err(self.0.unexpected(&visitor));
        }
        let mut elements = Elements::of(self.0);
        match grow!(visitor.visit_seq(elements.access())) {
            Ok(value) => {
                if let Err(error) = elements.end() {
                    return Err(error);
                }
                Ok(value)
            }
            Err(error) => Err(elements.failed(error)),
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
        let mut variant = match Variant::of(self.0, &visitor) {
            Ok(variant) => variant,
            Err(error) => return Err(error),
        };
        match grow!(visitor.visit_enum(&mut variant)) {
            Ok(value) => {
                if let Err(error) = variant.end() {
                    return Err(error);
                }
                Ok(value)
            }
            Err(error) => Err(variant.failed(error)),
        }
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let result = match self.0.identifier() {
            Some(Identifier::Lent(text)) => visitor.visit_borrowed_str(text),
            Some(Identifier::Text(text)) => visitor.visit_str(text),
            Some(Identifier::U64(value)) => visitor.visit_u64(value),
            Some(Identifier::I64(value)) => visitor.visit_i64(value),
            Some(Identifier::Bool(value)) => visitor.visit_bool(value),
            // Only a field that collects others, below `flatten`, takes these. It owns something; no other is compiled for
            // them.
            Some(Identifier::F32(value)) if const { needs_drop::<V::Value>() } => {
                visitor.visit_f32(value)
            }
            Some(Identifier::F64(value)) if const { needs_drop::<V::Value>() } => {
                visitor.visit_f64(value)
            }
            Some(Identifier::Unit) if const { needs_drop::<V::Value>() } => visitor.visit_unit(),
            _ => return Err(self.0.unexpected(&visitor)),
        };
        outside!(self, result)
    }

    /// Skips the whole subtree.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.0.asked = true;
        visitor.visit_unit()
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        // Most are of these kinds, so there is less to decide.
        let result = match self.0.take_leaf() {
            Some(Taken::String(text)) => visitor.visit_string(text),
            Some(Taken::Scalar(Scalar::Str(text))) => visitor.visit_borrowed_str(text),
            Some(Taken::Scalar(Scalar::F64(value))) => visitor.visit_f64(value),
            Some(Taken::Scalar(Scalar::I64(value))) => visitor.visit_i64(value),
            Some(Taken::Scalar(Scalar::U64(value))) => visitor.visit_u64(value),
            Some(Taken::Scalar(Scalar::Bool(value))) => visitor.visit_bool(value),
            _ => return self.any_other(visitor),
        };
        outside!(self, result)
    }

    fn is_human_readable(&self) -> bool {
        !self.0.compact
    }
}

impl<'de> NodeDeserializer<'_, 'de> {
    /// A request for anything, where something else is than in most documents.
    fn any_other<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        use NodeKind as Is;
        match self.0.take_other() {
            Ok(None) => {}
            Ok(Some(taken)) => return self.scalar_as_it_is(taken, visitor),
            Err(error) => return Err(error),
        }
        let Found::Node(kind) = self.0.found else { return Err(self.0.unexpected(&visitor)) };
        match kind {
            Is::NewtypeStruct | Is::Some => {
                let parent = self.0.parent();
                match (self.0.go_inside(), kind) {
                    (Interior::TooDeep, _) => Err(self.0.too_deep()),
                    (inside, Is::Some) => inside!(self, visitor.visit_some, inside, parent),
                    (inside, _) => inside!(self, visitor.visit_newtype_struct, inside, parent),
                }
            }
            Is::UnitVariant => self.deserialize_str(visitor),
            Is::None => outside!(self, visitor.visit_none()),
            Is::Unit | Is::UnitStruct | Is::Static | Is::Leaf => {
                outside!(self, visitor.visit_unit())
            }
            Is::Seq | Is::Tuple | Is::TupleStruct => self.deserialize_seq(visitor),
            Is::Map | Is::Struct | Is::NewtypeVariant | Is::TupleVariant | Is::StructVariant => {
                self.deserialize_map(visitor)
            }
        }
    }

    /// serde would turn a finite `f64` beyond the range of `f32` into infinity, and a signalling
    /// NaN into a quiet NaN. So it is narrowed here.
    fn f32_of_other<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let result = match self.0.number() {
            Some(Number::F32(value)) => visitor.visit_f32(value),
            Some(Number::F64(value)) => match narrow_in_range(value) {
                Some(value) => visitor.visit_f32(value),
                None => Err(beyond_f32(value)),
            },
            Some(Number::U64(value)) => visitor.visit_u64(value),
            Some(Number::I64(value)) => visitor.visit_i64(value),
            Some(Number::U128(value)) => visitor.visit_u128(value.get()),
            Some(Number::I128(value)) => visitor.visit_i128(value.get()),
            None => return Err(self.0.unexpected(&visitor)),
        };
        outside!(self, result)
    }

    fn f64_of_other<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
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

    /// Reads entries, or the fields of a struct, by name. Nothing here calls `visit_seq` of a
    /// struct, so the compiler need not compile it for this deserializer.
    fn map<V: Visitor<'de>>(
        self,
        name: &str,
        fields: Option<&'static [&'static str]>,
        visitor: V,
    ) -> Result<V::Value> {
        if !self.0.is_map(fields) {
            let error = self.0.unexpected(&visitor);
            return Err(hints::of_no_struct(name, error));
        }
        let mut entries = Entries::of(self.0, fields.unwrap_or_default());
        match grow!(visitor.visit_map(&mut entries)) {
            Ok(value) => {
                if let Err(error) = entries.end() {
                    return Err(error);
                }
                Ok(value)
            }
            Err(error) => Err(entries.failed(error)),
        }
    }

    fn bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if let Err(error) = self.0.settle() {
            return Err(error);
        }
        let parent = self.0.parent();
        match self.0.byte_sequence() {
            Ok(Some(bytes)) => visitor.visit_byte_buf(bytes).map_err(|error| {
                let hint = "a plain `&[u8]` serializes as a sequence and cannot come back: annotate it with `serde_bytes`";
                self.0.outside_of(&parent, hints::of_borrowed(error, hint))
            }),
            Ok(None) => self.deserialize_any(visitor).map_err(|error| {
                let hint = "a type that borrows its bytes needs `unflatten_borrowed`";
                hints::of_borrowed(error, hint)
            }),
            Err(error) => Err(error),
        }
    }

    /// Hands over the scalar as its own kind.
    fn scalar_as_it_is<V: Visitor<'de>>(self, taken: Taken<'de>, visitor: V) -> Result<V::Value> {
        let scalar = match taken {
            Taken::Scalar(scalar) => scalar,
            Taken::String(text) => return outside!(self, visitor.visit_string(text)),
            Taken::Bytes(bytes) => return outside!(self, visitor.visit_byte_buf(bytes)),
        };
        let is_wide = matches!(scalar, Scalar::I128(_) | Scalar::U128(_));
        let result = {
            each_scalar! { [sized] ($kind $type $serialize $visit) => {
                match scalar {
                    $(Scalar::$kind(value) => visitor.$visit(value),)*
                    Scalar::Str(text) => visitor.visit_borrowed_str(text),
                    Scalar::Bytes(bytes) => visitor.visit_borrowed_bytes(bytes),
                    Scalar::None => visitor.visit_none(),
                }
            }}
        };
        match result {
            Ok(value) => Ok(value),
            Err(error) if is_wide => Err(self.0.outside(hints::of_wide_integer(error))),
            Err(error) => Err(self.0.outside(error)),
        }
    }
}

#[cold]
fn beyond_f32(value: f64) -> Error {
    let found = format!("floating point `{value:?}`");
    de::Error::invalid_value(Unexpected::Other(&found), &"f32")
}
