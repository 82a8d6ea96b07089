//! The scalars at a [`Cursor`].
//!
//! serde asks for a type, and most leaves are of that type. So a request looks at such a leaf
//! first, which is one test of a length and one of a kind. Anything else goes the general way: a
//! leaf of another type, a name, a leaf of a key or a static, the inside of a newtype.

use std::mem;

use crate::error::Result;
use crate::leaf::Scalar;
use crate::leaf::float::{Half, narrow_to_odd};
use crate::leaf::leaf_type::{Number, Taken};
use crate::leaf::object::buffered;
use crate::model::{Leaf, NodeKind};

use super::cursor::{Cursor, Found, LEAF};
use super::supply::LeafSlice;

impl<'de> Cursor<'de> {
    /// The scalar, if there is one.
    pub(super) fn scalar(&self) -> Option<Scalar<'_>> {
        match (self.found, self.structures.value) {
            (Found::Node(NodeKind::Leaf), _) | (Found::F16 | Found::Bf16, None) => {
                self.supply.scalar(self.location.leaf)
            }
            _ => self.scalar_of_structure(),
        }
    }

    /// The scalar, if the structure holds it: a name, or a scalar in a key, a static or an opaque
    /// leaf.
    fn scalar_of_structure(&self) -> Option<Scalar<'de>> {
        match self.found {
            Found::Name => Some(Scalar::Str(self.text)),
            Found::ValueLeaf | Found::F16 | Found::Bf16 => {
                self.structures.value?.scalar(self.location.leaf)
            }
            Found::Node(NodeKind::UnitVariant) => {
                self.data().map(|data| Scalar::Str(&data.variant))
            }
            _ => None,
        }
    }

    /// Takes the scalar, if there is one.
    #[inline(never)]
    pub(super) fn take(&mut self) -> Option<Taken<'de>> {
        match self.found {
            LEAF => self.supply.take(self.location.leaf),
            _ => self.scalar_of_structure().map(Taken::Scalar),
        }
    }

    /// Takes the leaf, for a request for anything, if it is of a kind that documents are made of.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn take_leaf(&mut self) -> Option<Taken<'de>> {
        if self.found != LEAF {
            return None;
        }
        self.asked = true;
        let scalar = match self.supply.as_leaves().get(self.location.leaf)? {
            Leaf::F64(value) => Scalar::F64(*value),
            Leaf::I64(value) => Scalar::I64(*value),
            Leaf::U64(value) => Scalar::U64(*value),
            Leaf::Bool(value) => Scalar::Bool(*value),
            Leaf::Str(_) => {
                return Some(match self.text()? {
                    TakenText::Own(text) => Taken::String(text),
                    TakenText::Lent(text) => Taken::Scalar(Scalar::Str(text)),
                    _ => return None,
                });
            }
            _ => return None,
        };
        Some(Taken::Scalar(scalar))
    }

    /// Takes any other scalar, for a request for anything. If there is none, this goes inside
    /// newtypes.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn take_other(&mut self) -> Result<Option<Taken<'de>>> {
        self.asked = true;
        if self.found.is_itself() { Ok(None) } else { self.take_inside() }
    }

    #[inline(never)]
    fn take_inside(&mut self) -> Result<Option<Taken<'de>>> {
        self.settle_to_message()?;
        if self.found == LEAF && self.supply.are_objects() {
            return Ok(Some(Taken::Bytes(buffered(self.location.leaf as u64)))); // not wider
        }
        Ok(match self.found {
            LEAF | Found::ValueLeaf | Found::Name => self.take(),
            _ => None,
        })
    }

    /// The leaf, if it is an `f64`.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn f64(&mut self) -> Option<f64> {
        if self.found != LEAF {
            return None;
        }
        self.asked = true;
        if let Some(value) = self.supply.f64s.get(self.location.leaf) {
            return Some(*value);
        }
        match self.supply.as_leaves().get(self.location.leaf) {
            Some(Leaf::F64(value)) => Some(*value),
            _ => None,
        }
    }

    /// The leaf, if it is an `f32`.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn f32(&mut self) -> Option<f32> {
        if self.found != LEAF {
            return None;
        }
        self.asked = true;
        if let Some(value) = self.supply.f32s.get(self.location.leaf) {
            return Some(*value);
        }
        match self.supply.as_leaves().get(self.location.leaf) {
            Some(Leaf::F32(value)) => Some(*value),
            _ => None,
        }
    }

    /// The leaf, if it is one of those given as [`Leaf`]s.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn plain_leaf(&mut self) -> Option<&Leaf> {
        if self.found != LEAF {
            return None;
        }
        self.asked = true;
        self.supply.as_leaves().get(self.location.leaf)
    }

    /// The number, for a request for an integer.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn integer(&mut self) -> Option<Number> {
        if self.found == LEAF {
            self.asked = true;
            match self.supply.as_leaves().get(self.location.leaf) {
                Some(Leaf::U64(value)) => return Some(Number::U64(*value)),
                Some(Leaf::U32(value)) => return Some(Number::U64((*value).into())),
                Some(Leaf::U8(value)) => return Some(Number::U64((*value).into())),
                Some(Leaf::I64(value)) => return Some(Number::I64(*value)),
                Some(Leaf::I32(value)) => return Some(Number::I64((*value).into())),
                _ => {}
            }
        }
        self.number()
    }

    /// The number, whatever it is.
    #[inline(never)]
    pub(super) fn number(&mut self) -> Option<Number> {
        self.settle().ok()?;
        Number::of(self.scalar()?)
    }

    /// The number, for a request for a `u16`: inside a newtype of 16 bits, the bits of the float.
    #[inline(never)]
    pub(super) fn u16(&mut self) -> Option<Number> {
        let Some(half) = self.found.half() else { return self.integer() };
        self.asked = true;
        let (bits, is_beyond) = self.bits(half)?;
        if is_beyond { None } else { Some(Number::U64(bits.into())) }
    }

    /// The bits of the float nearest to the one here, and whether that is infinite, but this is not.
    pub(super) fn bits(&self, half: Half) -> Option<(u16, bool)> {
        let (value, is_finite) = match self.scalar()? {
            Scalar::F64(value) => (narrow_to_odd(value), value.is_finite()),
            Scalar::F32(value) => (value, value.is_finite()),
            _ => return None,
        };
        let bits = half.narrow(value);
        Some((bits, is_finite && half.widen(bits).is_infinite()))
    }

    /// The text, the character or the bytes, for a request for a text.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn text(&mut self) -> Option<TakenText<'de>> {
        self.asked = true;
        if self.found == Found::Name {
            return Some(TakenText::Lent(self.text));
        }
        if self.found == LEAF {
            match &mut self.supply.leaves {
                LeafSlice::Owned(leaves) => {
                    if let Some(Leaf::Str(text)) = leaves.get_mut(self.location.leaf) {
                        return Some(TakenText::Own(mem::take(text).into()));
                    }
                }
                LeafSlice::Lent(leaves) => {
                    let leaves: &'de [Leaf] = leaves;
                    if let Some(Leaf::Str(text)) = leaves.get(self.location.leaf) {
                        return Some(TakenText::Lent(text));
                    }
                }
            }
        }
        self.other_text()
    }

    #[inline(never)]
    fn other_text(&mut self) -> Option<TakenText<'de>> {
        self.settle().ok()?;
        if !matches!(self.scalar()?, Scalar::Str(_) | Scalar::Char(_) | Scalar::Bytes(_)) {
            return None;
        }
        match self.take()? {
            Taken::Scalar(Scalar::Str(text)) => Some(TakenText::Lent(text)),
            Taken::Scalar(Scalar::Char(value)) => Some(TakenText::Char(value)),
            Taken::Scalar(Scalar::Bytes(bytes)) => Some(TakenText::LentBytes(bytes)),
            Taken::Scalar(_) => None,
            Taken::String(text) => Some(TakenText::Own(text)),
            Taken::Bytes(bytes) => Some(TakenText::OwnBytes(bytes)),
        }
    }

    #[inline(never)]
    pub(super) fn boolean(&mut self) -> Option<bool> {
        self.settle().ok()?;
        match self.scalar()? {
            Scalar::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// The key or the name, for a request for a field. Below `#[serde(flatten)]` the keys of a map
    /// are fields, too.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn identifier(&mut self) -> Option<Identifier<'de, '_>> {
        match self.found {
            Found::Name => {
                self.asked = true;
                Some(Identifier::Lent(self.text))
            }
            _ => self.other_identifier(),
        }
    }

    #[inline(never)]
    fn other_identifier(&mut self) -> Option<Identifier<'de, '_>> {
        self.settle().ok()?;
        if let Some(Scalar::Char(value)) = self.scalar() {
            return Some(Identifier::Text(value.encode_utf8(&mut self.character)));
        }
        let borrowed = match self.found {
            LEAF => self.supply.borrowed_text(self.location.leaf),
            _ => match self.scalar_of_structure() {
                Some(Scalar::Str(text)) => Some(text),
                _ => None,
            },
        };
        match borrowed {
            Some(text) => Some(Identifier::Lent(text)),
            None if self.is_unit() => Some(Identifier::Unit),
            None => Identifier::of(self.scalar()?),
        }
    }

    /// The bytes, if this is a sequence of `u8`.
    pub(super) fn byte_sequence(&mut self) -> Result<Option<Vec<u8>>> {
        let byte = |leaf: usize| {
            let scalar = match self.structures.value {
                None => self.supply.scalar(leaf),
                Some(holder) => holder.scalar(leaf),
            };
            match scalar {
                Some(Scalar::U8(byte)) => Some(byte),
                _ => None,
            }
        };
        let node = self.here();
        let may_be_bytes = matches!(self.found, Found::Node(NodeKind::Seq | NodeKind::Tuple))
            && node.runs().all(|(child, _)| child.is_leaf());
        if !may_be_bytes {
            return Ok(None);
        }
        match node.leaf_range().map(byte).collect() {
            Some(_) if !self.may_descend() => Err(self.too_deep()),
            bytes => Ok(bytes),
        }
    }
}

/// The answer to a request for a text.
pub(super) enum TakenText<'de> {
    Own(String),
    Lent(&'de str),
    Char(char),
    LentBytes(&'de [u8]),
    OwnBytes(Vec<u8>),
}

/// The name of a field, a variant or an entry.
pub(super) enum Identifier<'de, 'c> {
    Lent(&'de str),
    Text(&'c str),
    U64(u64),
    I64(i64),
    Bool(bool),
    F32(f32),
    F64(f64),
    Unit,
}

impl<'c> Identifier<'_, 'c> {
    fn of(scalar: Scalar<'c>) -> Option<Self> {
        Some(match scalar {
            Scalar::Str(text) => Identifier::Text(text),
            // Not by `visit_bytes`, which the compiler would then make of every struct.
            Scalar::Bytes(bytes) => Identifier::Text(std::str::from_utf8(bytes).ok()?),
            Scalar::Bool(value) => Identifier::Bool(value),
            number => match Number::of(number)? {
                Number::U64(value) => Identifier::U64(value),
                Number::I64(value) => Identifier::I64(value),
                Number::F32(value) => Identifier::F32(value),
                Number::F64(value) => Identifier::F64(value),
                Number::U128(_) | Number::I128(_) => return None,
            },
        })
    }
}
