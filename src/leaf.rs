//! Leaves: their kinds, their conversions, and the types that a flat vector can be made of.

use std::hash::{Hash, Hasher};
use std::mem;

use serde::de::{self, Visitor};

use crate::error::Error;
use crate::float::widen;
use crate::model::{Leaf, LeafKind, Value};

/// A type that the flat vector can be made of: `bool`, every integer and float, `char`, `String`, or [`Leaf`] for any.
///
/// An `f32` may become an `f64` leaf. Every other leaf has to be of the very kind. What the trait inherits is internal, and
/// may change in any release: a bound `L: LeafType` is there to call functions of this crate.
///
/// ```
/// let (leaves, treedef) = treedef::flatten_as::<f64>(&[(1.0f64, 2.0f64), (3.0, 4.0)])?;
/// assert_eq!(leaves, [1.0, 2.0, 3.0, 4.0]);
/// assert_eq!(treedef.to_string(), "((*, *); 2)");
/// # Ok::<(), treedef::Error>(())
/// ```
pub trait LeafType: Flat {}

/// What flattening emits. Not nameable outside, as [`Flat`].
pub trait Emit: Sized {
    /// What messages call it.
    const KIND: LeafKind;
    fn from_scalar(scalar: Scalar<'_>) -> Option<Self>;
    /// What stands in a slot until it is filled. It owns nothing, so that nobody has to drop it.
    fn filler() -> Self;
    /// What a leaf that was recorded as a value becomes.
    fn from_leaf(leaf: Leaf) -> Option<Self> {
        Self::from_scalar(leaf.as_scalar()?)
    }
}

/// What rebuilding needs of a leaf type. Not nameable outside, so that [`LeafType`] is sealed.
pub trait Flat: Emit + Clone {
    fn into_leaf(self) -> Leaf;
    /// The leaf itself, something cheap in its place.
    fn take(&mut self) -> Self;
    fn kind(&self) -> LeafKind {
        Self::KIND
    }
    /// These, if they are leaves of any kind.
    fn as_leaves(_: &[Self]) -> Option<&[Leaf]> {
        None
    }
    /// The scalar; an opaque leaf has none.
    fn as_scalar(&self) -> Option<Scalar<'_>>;
    /// The subtree that an opaque leaf stands for.
    fn opaque(&self) -> Option<&Value> {
        None
    }
    fn visit<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error>;
    /// [`visit`](Self::visit) of a leaf that nobody needs any more.
    #[inline]
    fn visit_last<'de, V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        self.take().visit(visitor)
    }
    /// [`visit`](Self::visit) of a leaf that stays.
    #[inline]
    fn visit_lent<'de, V: Visitor<'de>>(&self, visitor: V) -> Result<V::Value, Error> {
        self.clone().visit(visitor)
    }
}

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
    pub(crate) const ALL: [LeafKind; 18] = {
        use LeafKind::*;
        [
            Bool, I8, I16, I32, I64, I128, U8, U16, U32, U64, U128, F32, F64, Char, Str, Bytes,
            None, Opaque,
        ]
    };

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
            LeafKind::Opaque => "leaf",
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

    /// The scalar; an opaque leaf has none.
    pub(crate) fn as_scalar(&self) -> Option<Scalar<'_>> {
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
            Leaf::Str(value) => Scalar::Str(value),
            Leaf::Bytes(value) => Scalar::Bytes(value),
            Leaf::None => Scalar::None,
            Leaf::Opaque(_) => return None,
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

impl LeafType for Leaf {}

impl Emit for Leaf {
    const KIND: LeafKind = LeafKind::Opaque;

    #[inline(always)]
    fn from_scalar(scalar: Scalar<'_>) -> Option<Self> {
        Some(scalar.into())
    }

    #[inline]
    fn filler() -> Self {
        Leaf::None
    }

    fn from_leaf(leaf: Leaf) -> Option<Self> {
        Some(leaf)
    }
}

impl Flat for Leaf {
    fn as_leaves(leaves: &[Leaf]) -> Option<&[Leaf]> {
        Some(leaves)
    }

    fn into_leaf(self) -> Leaf {
        self
    }

    fn as_scalar(&self) -> Option<Scalar<'_>> {
        Leaf::as_scalar(self)
    }

    fn take(&mut self) -> Self {
        mem::replace(self, Leaf::None)
    }

    #[inline]
    fn kind(&self) -> LeafKind {
        Leaf::kind(self)
    }

    fn opaque(&self) -> Option<&Value> {
        match self {
            Leaf::Opaque(value) => Some(value),
            _ => None,
        }
    }

    #[inline]
    fn visit<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Leaf::Bool(value) => visitor.visit_bool(value),
            Leaf::I8(value) => visitor.visit_i8(value),
            Leaf::I16(value) => visitor.visit_i16(value),
            Leaf::I32(value) => visitor.visit_i32(value),
            Leaf::I64(value) => visitor.visit_i64(value),
            Leaf::I128(value) => wide(visitor.visit_i128(value.get())),
            Leaf::U8(value) => visitor.visit_u8(value),
            Leaf::U16(value) => visitor.visit_u16(value),
            Leaf::U32(value) => visitor.visit_u32(value),
            Leaf::U64(value) => visitor.visit_u64(value),
            Leaf::U128(value) => wide(visitor.visit_u128(value.get())),
            Leaf::F32(value) => visitor.visit_f32(value),
            Leaf::F64(value) => visitor.visit_f64(value),
            Leaf::Char(value) => visitor.visit_char(value),
            Leaf::Str(value) => visitor.visit_string(value.into()),
            Leaf::Bytes(value) => visitor.visit_byte_buf(value.into()),
            Leaf::None => visitor.visit_none(),
            Leaf::Opaque(value) => Err(de::Error::invalid_type(
                de::Unexpected::Other(&format!("the subtree {value}")),
                &visitor,
            )),
        }
    }

    /// Numbers are not written over: that takes as long as the rest.
    #[inline]
    fn visit_last<'de, V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Leaf::Str(_) | Leaf::Bytes(_) | Leaf::Opaque(_) => self.take().visit(visitor),
            scalar => scalar.visit_lent(visitor),
        }
    }

    #[inline]
    fn visit_lent<'de, V: Visitor<'de>>(&self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Leaf::F64(value) => visitor.visit_f64(*value),
            Leaf::F32(value) => visitor.visit_f32(*value),
            Leaf::Str(value) => visitor.visit_str(value),
            Leaf::Bytes(value) => visitor.visit_bytes(value),
            scalar => scalar.clone().visit(visitor),
        }
    }
}

/// Names the gap in serde when it is the reason for a refusal.
pub(crate) fn wide<T>(result: Result<T, Error>) -> Result<T, Error> {
    // What a visitor says that has no method for them.
    let unknown = |error: &Error| {
        error
            .refused_type()
            .is_some_and(|(found, _)| found.ends_with(" as i128") || found.ends_with(" as u128"))
    };
    result.map_err(|error| match unknown(&error) {
        true => error.hint(
            "below `flatten`, `untagged` and an internal `tag` serde buffers values, and its buffer has no 128-bit \
             integers: serde issue 1682; serialize them as strings there",
        ),
        false => error,
    })
}

macro_rules! scalar_leaves {
    ($($type:ty, $variant:ident, $visit:ident, ($($deref:tt)?);)*) => {$(
        impl LeafType for $type {}

        impl Emit for $type {
            const KIND: LeafKind = LeafKind::$variant;

            #[inline]
            fn from_scalar(scalar: Scalar<'_>) -> Option<Self> {
                match scalar {
                    Scalar::$variant(value) => Some(value.into()),
                    _ => None,
                }
            }

            #[inline]
            fn filler() -> Self {
                <$type>::default()
            }
        }

        impl Flat for $type {
            fn into_leaf(self) -> Leaf {
                self.into()
            }

            #[inline]
            fn as_scalar(&self) -> Option<Scalar<'_>> {
                Some(Scalar::$variant($($deref)? self))
            }

            #[inline]
            fn take(&mut self) -> Self {
                mem::take(self)
            }

            #[inline]
            fn visit<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
                let result = visitor.$visit(self);
                if matches!(Self::KIND, LeafKind::I128 | LeafKind::U128) { wide(result) } else { result }
            }
        }

        impl From<$type> for Leaf {
            fn from(value: $type) -> Self {
                Leaf::$variant(value.into())
            }
        }
    )*};
}

scalar_leaves! {
    bool, Bool, visit_bool, (*);
    i8, I8, visit_i8, (*);
    i16, I16, visit_i16, (*);
    i32, I32, visit_i32, (*);
    i64, I64, visit_i64, (*);
    i128, I128, visit_i128, (*);
    u8, U8, visit_u8, (*);
    u16, U16, visit_u16, (*);
    u32, U32, visit_u32, (*);
    u64, U64, visit_u64, (*);
    u128, U128, visit_u128, (*);
    f32, F32, visit_f32, (*);
    char, Char, visit_char, (*);
    String, Str, visit_string, ();
}

impl LeafType for f64 {}

impl Emit for f64 {
    const KIND: LeafKind = LeafKind::F64;

    #[inline]
    fn from_scalar(scalar: Scalar<'_>) -> Option<Self> {
        match scalar {
            Scalar::F64(value) => Some(value),
            Scalar::F32(value) => Some(widen(value)),
            _ => None,
        }
    }

    #[inline]
    fn filler() -> Self {
        0.0
    }
}

impl Flat for f64 {
    fn into_leaf(self) -> Leaf {
        self.into()
    }

    #[inline]
    fn as_scalar(&self) -> Option<Scalar<'_>> {
        Some(Scalar::F64(*self))
    }

    #[inline]
    fn take(&mut self) -> Self {
        *self
    }

    #[inline]
    fn visit<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_f64(self)
    }
}

/// A leaf of no size: what a walk emits when only the structure is wanted.
pub(crate) struct Ignored;

impl Emit for Ignored {
    const KIND: LeafKind = LeafKind::Opaque;

    #[inline]
    fn from_scalar(_: Scalar<'_>) -> Option<Self> {
        Some(Ignored)
    }

    #[inline]
    fn filler() -> Self {
        Ignored
    }

    fn from_leaf(_: Leaf) -> Option<Self> {
        Some(Ignored)
    }
}

/// The kinds of the leaves: what a walk emits for a signature.
impl Emit for LeafKind {
    const KIND: LeafKind = LeafKind::Opaque;

    fn from_scalar(scalar: Scalar<'_>) -> Option<Self> {
        Some(scalar.kind())
    }

    #[inline]
    fn filler() -> Self {
        LeafKind::None
    }

    fn from_leaf(leaf: Leaf) -> Option<Self> {
        Some(leaf.kind())
    }
}
