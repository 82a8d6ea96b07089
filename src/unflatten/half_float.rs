//! Floats of 16 bits, which the crate `half` reads as a newtype of their bits.

use serde::de::{self, Deserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;

use crate::error::{Error, Result};
use crate::leaf::float::{Half, narrow_to_odd};
use crate::leaf::leaf_type::Number;
use crate::model::NodeKind;

use super::cursor::Cursor;

/// The inside of a newtype whose name is that of a [`Half`], where a float stands: its bits, or the
/// float, whichever is asked for.
pub(super) struct HalfDeserializer {
    half: Half,
    float: Number,
}

impl Cursor<'_> {
    /// The float at the cursor, if a newtype of this name is one of 16 bits.
    #[inline]
    pub(super) fn half(&mut self, name: &str) -> Option<HalfDeserializer> {
        let half = Half::named(name).filter(|_| self.at.kind == NodeKind::Leaf)?;
        let float = self.number()?;
        let is_float = matches!(float, Number::F32(_) | Number::F64(_));
        is_float.then_some(HalfDeserializer { half, float })
    }
}

impl<'de> Deserializer<'de> for HalfDeserializer {
    type Error = Error;

    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let (value, is_finite) = match self.float {
            Number::F64(value) => (narrow_to_odd(value), value.is_finite()),
            Number::F32(value) => (value, value.is_finite()),
            _ => return self.deserialize_any(visitor),
        };
        let bits = self.half.narrow(value);
        if is_finite && self.half.widen(bits).is_infinite() {
            let found = format!("floating point `{value:?}`");
            return Err(de::Error::invalid_value(Unexpected::Other(&found), &self.half.name()));
        }
        visitor.visit_u16(bits)
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.float {
            Number::F32(value) => visitor.visit_f32(value),
            Number::F64(value) => visitor.visit_f64(value),
            Number::U64(value) => visitor.visit_u64(value),
            Number::I64(value) => visitor.visit_i64(value),
            Number::U128(value) => visitor.visit_u128(value.get()),
            Number::I128(value) => visitor.visit_i128(value.get()),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}
