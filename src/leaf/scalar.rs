//! Scalars, and conversions from and to leaves.

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::leaf::each_scalar;
use crate::leaf::float::widen;
use crate::model::{Leaf, LeafKind};

// Rows for all scalars, and for scalars of one size.
each_scalar! { [sized] ($kind $type) => {
    /// A serde scalar. Texts are borrowed from the value that is walked.
    #[derive(Clone, Copy)]
    pub enum Scalar<'a> {
        $($kind($type),)*
        Str(&'a str),
        Bytes(&'a [u8]),
        None,
    }

    impl Scalar<'_> {
        pub(crate) fn kind(self) -> LeafKind {
            match self {
                $(Scalar::$kind(_) => LeafKind::$kind,)*
                Scalar::Str(_) => LeafKind::Str,
                Scalar::Bytes(_) => LeafKind::Bytes,
                Scalar::None => LeafKind::None,
            }
        }
    }

    impl LeafKind {
        /// All kinds, in order.
        pub const ALL: &'static [LeafKind] = &[
            $(LeafKind::$kind,)*
            LeafKind::Str,
            LeafKind::Bytes,
            LeafKind::None,
            LeafKind::Opaque,
        ];

        /// The name of the kind, as [`Display`](std::fmt::Display) prints it.
        pub fn name(self) -> &'static str {
            match self {
                $(LeafKind::$kind => stringify!($type),)*
                LeafKind::Str => "str",
                LeafKind::Bytes => "bytes",
                LeafKind::None => "none",
                LeafKind::Opaque => "opaque",
            }
        }

        /// The size of a value in bytes, if all values of the kind have one.
        pub(crate) fn size(self) -> Option<usize> {
            match self {
                $(LeafKind::$kind => Some(size_of::<$type>()),)*
                _ => None,
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
                Leaf::Str(_) | Leaf::Bytes(_) | Leaf::Opaque(_) => return None,
            })
        }

        /// The scalar; `None` for an opaque leaf.
        pub(crate) fn as_scalar(&self) -> Option<Scalar<'_>> {
            match self {
                Leaf::Str(value) => Some(Scalar::Str(value)),
                Leaf::Bytes(value) => Some(Scalar::Bytes(value)),
                other => other.as_plain(),
            }
        }
    }

    impl From<Scalar<'_>> for Leaf {
        #[inline(always)] // callers know the kind, so only one arm is compiled
        fn from(scalar: Scalar<'_>) -> Self {
            match scalar {
                $(Scalar::$kind(value) => Leaf::$kind(value.into()),)*
                Scalar::Str(value) => Leaf::Str(value.into()),
                Scalar::Bytes(value) => Leaf::Bytes(value.into()),
                Scalar::None => Leaf::None,
            }
        }
    }
}}

// Floats are equal if their bits are.
each_scalar! { [bool integers char texts] ($kind $type) => {
    impl PartialEq for Scalar<'_> {
        fn eq(&self, other: &Self) -> bool {
            match (*self, *other) {
                $((Scalar::$kind(a), Scalar::$kind(b)) => a == b,)*
                (Scalar::F32(a), Scalar::F32(b)) => a.to_bits() == b.to_bits(),
                (Scalar::F64(a), Scalar::F64(b)) => a.to_bits() == b.to_bits(),
                (Scalar::None, Scalar::None) => true,
                _ => false,
            }
        }
    }

    impl Scalar<'_> {
        fn hash_bits<H: Hasher>(self, state: &mut H) {
            match self {
                Scalar::F32(value) => value.to_bits().hash(state),
                Scalar::F64(value) => value.to_bits().hash(state),
                $(Scalar::$kind(value) => value.hash(state),)*
                Scalar::None => {}
            }
        }
    }
}}

/// An integer of any kind, widened to 128 bits.
#[derive(Clone, Copy)]
pub(crate) enum Integer {
    Signed(i128),
    Unsigned(u128),
}

impl Scalar<'_> {
    pub(crate) fn as_integer(self) -> Option<Integer> {
        each_scalar! { [unsigned u128] ($kind $type) => {
            match self {
                $(Scalar::$kind(value) => return Some(Integer::Unsigned(value.into())),)*
                _ => {}
            }
        }}
        each_scalar! { [signed i128] ($kind $type) => {
            match self {
                $(Scalar::$kind(value) => Some(Integer::Signed(value.into())),)*
                _ => None,
            }
        }}
    }

    /// The nearest `f64` of a number.
    #[allow(clippy::cast_precision_loss, reason = "callers compare with the way back, or round")]
    pub(crate) fn nearest_f64(self) -> Option<f64> {
        match self {
            Scalar::F32(value) => Some(widen(value)),
            Scalar::F64(value) => Some(value),
            other => other.as_integer().map(|integer| match integer {
                Integer::Signed(value) => value as f64,
                Integer::Unsigned(value) => value as f64,
            }),
        }
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
        LeafKind::ALL.iter().copied().find(|kind| kind.name() == name)
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
