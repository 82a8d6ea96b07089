//! Scalars: one table of their kinds, and conversions from and to leaves.

use std::convert::identity;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::error::{Error, ErrorKind};
use crate::leaf::float::widen;
use crate::model::{Leaf, LeafKind};

/// The table of scalar kinds, one line for each. `key` converts a scalar to the value that is
/// compared and hashed.
macro_rules! scalars {
    (
        plain { $($kind:ident $name:literal $type:ty, key: $key:path $(, from: $other:ident($found:ident) => $converted:expr)?;)* }
        texts { $($text:ident $text_name:literal $text_type:ty;)* }
    ) => {
        /// A serde scalar; texts are borrowed from the value that is walked.
        #[derive(Clone, Copy)]
        pub enum Scalar<'a> {
            $($kind($type),)*
            $($text(&'a $text_type),)*
            None,
        }

        impl Scalar<'_> {
            pub(crate) fn kind(self) -> LeafKind {
                match self {
                    $(Scalar::$kind(_) => LeafKind::$kind,)*
                    $(Scalar::$text(_) => LeafKind::$text,)*
                    Scalar::None => LeafKind::None,
                }
            }

            fn hash_bits<H: Hasher>(self, state: &mut H) {
                match self {
                    $(Scalar::$kind(value) => $key(value).hash(state),)*
                    $(Scalar::$text(value) => value.hash(state),)*
                    Scalar::None => {}
                }
            }
        }

        impl PartialEq for Scalar<'_> {
            fn eq(&self, other: &Self) -> bool {
                match (*self, *other) {
                    $((Scalar::$kind(a), Scalar::$kind(b)) => $key(a) == $key(b),)*
                    $((Scalar::$text(a), Scalar::$text(b)) => a == b,)*
                    (Scalar::None, Scalar::None) => true,
                    _ => false,
                }
            }
        }

        impl LeafKind {
            /// All kinds, in order.
            pub const ALL: [LeafKind; 18] =
                [$(LeafKind::$kind,)* $(LeafKind::$text,)* LeafKind::None, LeafKind::Opaque];

            /// The name of the kind, as [`Display`](std::fmt::Display) prints it.
            pub fn name(self) -> &'static str {
                match self {
                    $(LeafKind::$kind => $name,)*
                    $(LeafKind::$text => $text_name,)*
                    LeafKind::None => "none",
                    LeafKind::Opaque => "opaque",
                }
            }
        }

        impl Leaf {
            /// The scalar, if it owns no memory.
            #[inline]
            pub(crate) fn as_plain(&self) -> Option<Scalar<'static>> {
                Some(match self {
                    $(Leaf::$kind(value) => Scalar::$kind((*value).into()),)*
                    Leaf::None => Scalar::None,
                    $(Leaf::$text(_) => return None,)*
                    Leaf::Opaque(_) => return None,
                })
            }

            /// The scalar; `None` for an opaque leaf.
            pub(crate) fn as_scalar(&self) -> Option<Scalar<'_>> {
                match self {
                    $(Leaf::$text(value) => Some(Scalar::$text(value)),)*
                    other => other.as_plain(),
                }
            }
        }

        impl From<Scalar<'_>> for Leaf {
            #[inline(always)] // callers know the kind, so only one arm is compiled
            fn from(scalar: Scalar<'_>) -> Self {
                match scalar {
                    $(Scalar::$kind(value) => Leaf::$kind(value.into()),)*
                    $(Scalar::$text(value) => Leaf::$text(value.into()),)*
                    Scalar::None => Leaf::None,
                }
            }
        }

        $(
            leaf_into!($type, $kind $(, $other($found) => $converted)?);
        )*
    };
}

/// Implements the conversion of a leaf of one kind into its type.
macro_rules! leaf_into {
    ($type:ty, $kind:ident $(, $other:ident($found:ident) => $converted:expr)?) => {
        impl TryFrom<Leaf> for $type {
            type Error = Error;

            fn try_from(leaf: Leaf) -> Result<Self, Error> {
                match leaf {
                    Leaf::$kind(value) => Ok(value.into()),
                    $(Leaf::$other($found) => Ok($converted),)?
                    other => {
                        let (expected, found) = (LeafKind::$kind, other.kind());
                        Err(ErrorKind::LeafKind { expected, found }.into())
                    }
                }
            }
        }
    };
}

leaf_into!(String, Str);
leaf_into!(Vec<u8>, Bytes);

scalars! {
    plain {
        Bool "bool" bool, key: identity;
        I8 "i8" i8, key: identity;
        I16 "i16" i16, key: identity;
        I32 "i32" i32, key: identity;
        I64 "i64" i64, key: identity;
        I128 "i128" i128, key: identity;
        U8 "u8" u8, key: identity;
        U16 "u16" u16, key: identity;
        U32 "u32" u32, key: identity;
        U64 "u64" u64, key: identity;
        U128 "u128" u128, key: identity;
        F32 "f32" f32, key: f32::to_bits;
        F64 "f64" f64, key: f64::to_bits, from: F32(value) => widen(value);
        Char "char" char, key: identity;
    }
    texts {
        Str "str" str;
        Bytes "bytes" [u8];
    }
}

/// An integer of any kind, widened to 128 bits.
#[derive(Clone, Copy)]
pub(crate) enum Integer {
    Signed(i128),
    Unsigned(u128),
}

impl Scalar<'_> {
    pub(crate) fn as_integer(self) -> Option<Integer> {
        Some(match self {
            Scalar::I8(value) => Integer::Signed(value.into()),
            Scalar::I16(value) => Integer::Signed(value.into()),
            Scalar::I32(value) => Integer::Signed(value.into()),
            Scalar::I64(value) => Integer::Signed(value.into()),
            Scalar::I128(value) => Integer::Signed(value),
            Scalar::U8(value) => Integer::Unsigned(value.into()),
            Scalar::U16(value) => Integer::Unsigned(value.into()),
            Scalar::U32(value) => Integer::Unsigned(value.into()),
            Scalar::U64(value) => Integer::Unsigned(value.into()),
            Scalar::U128(value) => Integer::Unsigned(value),
            _ => return None,
        })
    }
}

impl fmt::Display for Integer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Integer::Signed(value) => value.fmt(f),
            Integer::Unsigned(value) => value.fmt(f),
        }
    }
}

impl LeafKind {
    /// The kind with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        LeafKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether this is `f32` or `f64`.
    pub fn is_float(self) -> bool {
        matches!(self, LeafKind::F32 | LeafKind::F64)
    }

    /// Whether this is an integer kind, signed or unsigned.
    pub fn is_integer(self) -> bool {
        (LeafKind::I8..=LeafKind::U128).contains(&self)
    }

    /// Whether this is an integer or float kind.
    pub fn is_number(self) -> bool {
        self.is_integer() || self.is_float()
    }
}

impl fmt::Display for LeafKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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

    /// The text, if this is a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Leaf::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The bytes, if this is a byte string.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Leaf::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The value, if this is a `bool`.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Leaf::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The number, if this is a float: the leaves that [`flatten_as::<f64>`](crate::flatten_as)
    /// accepts.
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

    /// The number, if this is an integer of any kind that fits into `i64`.
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

    /// As [`as_i64`](Self::as_i64), but unsigned.
    pub fn as_u64(&self) -> Option<u64> {
        self.as_u128().and_then(|value| value.try_into().ok())
    }

    /// The number, if this is an integer of any kind that fits into `i128`.
    pub fn as_i128(&self) -> Option<i128> {
        match self.as_integer()? {
            Integer::Signed(value) => Some(value),
            Integer::Unsigned(value) => value.try_into().ok(),
        }
    }

    /// As [`as_i128`](Self::as_i128), but unsigned.
    pub fn as_u128(&self) -> Option<u128> {
        match self.as_integer()? {
            Integer::Signed(value) => value.try_into().ok(),
            Integer::Unsigned(value) => Some(value),
        }
    }

    fn as_integer(&self) -> Option<Integer> {
        self.as_plain()?.as_integer()
    }
}

/// The methods of a serde visitor for all kinds of scalars. Each is `$visit!(self, Kind, value)`.
macro_rules! visit_scalars {
    ($visit:ident -> $output:ty) => {
        visit_scalars! {
            $visit -> $output;
            visit_bool Bool bool;
            visit_i8 I8 i8;
            visit_i16 I16 i16;
            visit_i32 I32 i32;
            visit_i64 I64 i64;
            visit_i128 I128 i128;
            visit_u8 U8 u8;
            visit_u16 U16 u16;
            visit_u32 U32 u32;
            visit_u64 U64 u64;
            visit_u128 U128 u128;
            visit_f32 F32 f32;
            visit_f64 F64 f64;
            visit_char Char char;
            visit_str Str &str;
            visit_bytes Bytes &[u8];
        }
    };
    ($visit:ident -> $output:ty; $($method:ident $kind:ident $type:ty;)*) => {$(
        #[inline]
        fn $method<E: serde::de::Error>(self, value: $type) -> Result<$output, E> {
            $visit!(self, $kind, value)
        }
    )*};
}

pub(crate) use visit_scalars;

impl PartialEq for Leaf {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Leaf::Str(a), Leaf::Str(b)) => a == b, // the most frequent keys
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
