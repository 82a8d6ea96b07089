//! Leaves: their kinds, and how they compare.

use std::hash::{Hash, Hasher};

use crate::leaf::float::widen;
use crate::model::{Leaf, LeafKind};

/// One serde scalar, borrowed from the value that is walked.
#[derive(Clone, Copy)]
pub enum Scalar<'a> {
    Bool(bool),
    I8(i8),
    I16(i16),
    I32(i32),
    I64(i64),
    I128(i128),
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    U128(u128),
    F32(f32),
    F64(f64),
    Char(char),
    Str(&'a str),
    Bytes(&'a [u8]),
    None,
}

impl Scalar<'_> {
    pub(crate) fn kind(self) -> LeafKind {
        match self {
            Scalar::Bool(_) => LeafKind::Bool,
            Scalar::I8(_) => LeafKind::I8,
            Scalar::I16(_) => LeafKind::I16,
            Scalar::I32(_) => LeafKind::I32,
            Scalar::I64(_) => LeafKind::I64,
            Scalar::I128(_) => LeafKind::I128,
            Scalar::U8(_) => LeafKind::U8,
            Scalar::U16(_) => LeafKind::U16,
            Scalar::U32(_) => LeafKind::U32,
            Scalar::U64(_) => LeafKind::U64,
            Scalar::U128(_) => LeafKind::U128,
            Scalar::F32(_) => LeafKind::F32,
            Scalar::F64(_) => LeafKind::F64,
            Scalar::Char(_) => LeafKind::Char,
            Scalar::Str(_) => LeafKind::Str,
            Scalar::Bytes(_) => LeafKind::Bytes,
            Scalar::None => LeafKind::None,
        }
    }
}

impl LeafKind {
    /// All kinds, in their order.
    pub const ALL: [LeafKind; 18] = {
        use LeafKind as Is;
        [
            Is::Bool,
            Is::I8,
            Is::I16,
            Is::I32,
            Is::I64,
            Is::I128,
            Is::U8,
            Is::U16,
            Is::U32,
            Is::U64,
            Is::U128,
            Is::F32,
            Is::F64,
            Is::Char,
            Is::Str,
            Is::Bytes,
            Is::None,
            Is::Opaque,
        ]
    };

    /// The kind of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        LeafKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether this is one of the float kinds.
    pub fn is_float(self) -> bool {
        matches!(self, LeafKind::F32 | LeafKind::F64)
    }

    /// Whether this is one of the integer kinds, signed or not.
    pub fn is_integer(self) -> bool {
        (LeafKind::I8..=LeafKind::U128).contains(&self)
    }

    /// Whether this is an integer or a float.
    pub fn is_number(self) -> bool {
        self.is_integer() || self.is_float()
    }

    /// The kind's name, as [`Display`](std::fmt::Display) prints it.
    pub fn name(self) -> &'static str {
        match self {
            LeafKind::Bool => "bool",
            LeafKind::I8 => "i8",
            LeafKind::I16 => "i16",
            LeafKind::I32 => "i32",
            LeafKind::I64 => "i64",
            LeafKind::I128 => "i128",
            LeafKind::U8 => "u8",
            LeafKind::U16 => "u16",
            LeafKind::U32 => "u32",
            LeafKind::U64 => "u64",
            LeafKind::U128 => "u128",
            LeafKind::F32 => "f32",
            LeafKind::F64 => "f64",
            LeafKind::Char => "char",
            LeafKind::Str => "str",
            LeafKind::Bytes => "bytes",
            LeafKind::None => "none",
            LeafKind::Opaque => "opaque",
        }
    }
}

impl std::fmt::Display for LeafKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl Leaf {
    /// The kind of this leaf.
    #[inline]
    pub fn kind(&self) -> LeafKind {
        match self {
            Leaf::Opaque(_) => LeafKind::Opaque,
            _ => self.as_scalar().map_or(LeafKind::Opaque, Scalar::kind),
        }
    }

    /// The text, if this leaf is a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Leaf::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The bytes, if this leaf is a byte string.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Leaf::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The truth value, if this leaf is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Leaf::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The number, if this leaf is a float: the leaves that [`flatten_as::<f64>`](crate::flatten_as) takes.
    ///
    /// ```
    /// use treedef::Leaf;
    ///
    /// assert_eq!(Leaf::F32(0.5).as_f64(), Some(0.5));
    /// assert_eq!(Leaf::I32(1).as_f64(), None);
    /// ```
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Leaf::F64(value) => Some(*value),
            Leaf::F32(value) => Some(widen(*value)),
            _ => None,
        }
    }

    /// The number, if this leaf is an integer of any kind that fits.
    ///
    /// ```
    /// use treedef::Leaf;
    ///
    /// assert_eq!(Leaf::U8(7).as_i64(), Some(7));
    /// assert_eq!(Leaf::U64(u64::MAX).as_i64(), None);
    /// assert_eq!(Leaf::F64(7.0).as_i64(), None);
    /// ```
    pub fn as_i64(&self) -> Option<i64> {
        self.as_i128().and_then(|value| value.try_into().ok())
    }

    /// As [`as_i64`](Self::as_i64), without a sign.
    pub fn as_u64(&self) -> Option<u64> {
        self.as_u128().and_then(|value| value.try_into().ok())
    }

    /// The number, if this leaf is an integer that fits.
    pub fn as_i128(&self) -> Option<i128> {
        match self.as_integer()? {
            Ok(value) => Some(value),
            Err(value) => value.try_into().ok(),
        }
    }

    /// As [`as_i128`](Self::as_i128), without a sign.
    pub fn as_u128(&self) -> Option<u128> {
        match self.as_integer()? {
            Ok(value) => value.try_into().ok(),
            Err(value) => Some(value),
        }
    }

    /// With or without a sign.
    fn as_integer(&self) -> Option<Result<i128, u128>> {
        Some(match self {
            Leaf::I8(value) => Ok((*value).into()),
            Leaf::I16(value) => Ok((*value).into()),
            Leaf::I32(value) => Ok((*value).into()),
            Leaf::I64(value) => Ok((*value).into()),
            Leaf::I128(value) => Ok(value.get()),
            Leaf::U8(value) => Err((*value).into()),
            Leaf::U16(value) => Err((*value).into()),
            Leaf::U32(value) => Err((*value).into()),
            Leaf::U64(value) => Err((*value).into()),
            Leaf::U128(value) => Err(value.get()),
            _ => return None,
        })
    }

    /// The scalar; an opaque leaf has none.
    pub(crate) fn as_scalar(&self) -> Option<Scalar<'_>> {
        Some(match self {
            Leaf::Str(value) => Scalar::Str(value),
            Leaf::Bytes(value) => Scalar::Bytes(value),
            other => return other.as_plain(),
        })
    }

    /// The scalar, if it owns no memory.
    #[inline]
    pub(crate) fn as_plain(&self) -> Option<Scalar<'static>> {
        Some(match self {
            Leaf::Bool(value) => Scalar::Bool(*value),
            Leaf::I8(value) => Scalar::I8(*value),
            Leaf::I16(value) => Scalar::I16(*value),
            Leaf::I32(value) => Scalar::I32(*value),
            Leaf::I64(value) => Scalar::I64(*value),
            Leaf::I128(value) => Scalar::I128(value.get()),
            Leaf::U8(value) => Scalar::U8(*value),
            Leaf::U16(value) => Scalar::U16(*value),
            Leaf::U32(value) => Scalar::U32(*value),
            Leaf::U64(value) => Scalar::U64(*value),
            Leaf::U128(value) => Scalar::U128(value.get()),
            Leaf::F32(value) => Scalar::F32(*value),
            Leaf::F64(value) => Scalar::F64(*value),
            Leaf::Char(value) => Scalar::Char(*value),
            Leaf::None => Scalar::None,
            Leaf::Str(_) | Leaf::Bytes(_) | Leaf::Opaque(_) => return None,
        })
    }
}

impl From<Scalar<'_>> for Leaf {
    #[inline(always)] // the kind is known where it is called, so that one arm is left
    fn from(scalar: Scalar<'_>) -> Self {
        match scalar {
            Scalar::Bool(value) => Leaf::Bool(value),
            Scalar::I8(value) => Leaf::I8(value),
            Scalar::I16(value) => Leaf::I16(value),
            Scalar::I32(value) => Leaf::I32(value),
            Scalar::I64(value) => Leaf::I64(value),
            Scalar::I128(value) => Leaf::I128(value.into()),
            Scalar::U8(value) => Leaf::U8(value),
            Scalar::U16(value) => Leaf::U16(value),
            Scalar::U32(value) => Leaf::U32(value),
            Scalar::U64(value) => Leaf::U64(value),
            Scalar::U128(value) => Leaf::U128(value.into()),
            Scalar::F32(value) => Leaf::F32(value),
            Scalar::F64(value) => Leaf::F64(value),
            Scalar::Char(value) => Leaf::Char(value),
            Scalar::Str(value) => Leaf::Str(value.into()),
            Scalar::Bytes(value) => Leaf::Bytes(value.into()),
            Scalar::None => Leaf::None,
        }
    }
}

/// By bits: floats that print alike may differ, and a NaN equals itself.
impl PartialEq for Leaf {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Leaf::Str(a), Leaf::Str(b)) => a == b, // most keys
            (Leaf::Opaque(a), Leaf::Opaque(b)) => a == b,
            _ => match (self.as_scalar(), other.as_scalar()) {
                (Some(a), Some(b)) => a == b,
                _ => false,
            },
        }
    }
}

impl Eq for Leaf {}

impl Hash for Leaf {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.kind().hash(state);
        match self {
            Leaf::Opaque(value) => value.hash(state),
            _ => {
                if let Some(scalar) = self.as_scalar() {
                    scalar.hash_bits(state);
                }
            }
        }
    }
}

impl PartialEq for Scalar<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (*self, *other) {
            (Scalar::Bool(a), Scalar::Bool(b)) => a == b,
            (Scalar::I8(a), Scalar::I8(b)) => a == b,
            (Scalar::I16(a), Scalar::I16(b)) => a == b,
            (Scalar::I32(a), Scalar::I32(b)) => a == b,
            (Scalar::I64(a), Scalar::I64(b)) => a == b,
            (Scalar::I128(a), Scalar::I128(b)) => a == b,
            (Scalar::U8(a), Scalar::U8(b)) => a == b,
            (Scalar::U16(a), Scalar::U16(b)) => a == b,
            (Scalar::U32(a), Scalar::U32(b)) => a == b,
            (Scalar::U64(a), Scalar::U64(b)) => a == b,
            (Scalar::U128(a), Scalar::U128(b)) => a == b,
            (Scalar::F32(a), Scalar::F32(b)) => a.to_bits() == b.to_bits(),
            (Scalar::F64(a), Scalar::F64(b)) => a.to_bits() == b.to_bits(),
            (Scalar::Char(a), Scalar::Char(b)) => a == b,
            (Scalar::Str(a), Scalar::Str(b)) => a == b,
            (Scalar::Bytes(a), Scalar::Bytes(b)) => a == b,
            (Scalar::None, Scalar::None) => true,
            _ => false,
        }
    }
}

impl Scalar<'_> {
    fn hash_bits<H: Hasher>(self, state: &mut H) {
        match self {
            Scalar::Bool(value) => value.hash(state),
            Scalar::I8(value) => value.hash(state),
            Scalar::I16(value) => value.hash(state),
            Scalar::I32(value) => value.hash(state),
            Scalar::I64(value) => value.hash(state),
            Scalar::I128(value) => value.hash(state),
            Scalar::U8(value) => value.hash(state),
            Scalar::U16(value) => value.hash(state),
            Scalar::U32(value) => value.hash(state),
            Scalar::U64(value) => value.hash(state),
            Scalar::U128(value) => value.hash(state),
            Scalar::F32(value) => value.to_bits().hash(state),
            Scalar::F64(value) => value.to_bits().hash(state),
            Scalar::Char(value) => value.hash(state),
            Scalar::Str(value) => value.hash(state),
            Scalar::Bytes(value) => value.hash(state),
            Scalar::None => {}
        }
    }
}
