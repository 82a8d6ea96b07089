//! The types that a flat vector can have, and the sources that rebuilding reads leaves from.

use std::any::Any;
use std::mem;

use crate::bug::OrBug;
use crate::leaf::Scalar;
use crate::leaf::bits::{Bits, scalar};
use crate::leaf::column::LeafVec;
use crate::leaf::each_scalar;
use crate::leaf::float::widen;
use crate::model::{Leaf, LeafKind, Packed, Swap, Value};

/// A type for the elements of a flat vector: `bool`, an integer, a float, `char`, `String`, or
/// [`Leaf`] for any kind.
///
/// An `f32` may become an `f64` leaf. Every other leaf must have exactly the kind of the type. To
/// serde, `usize` is `u64` and `isize` is `i64`, and so they are here. The
/// supertraits are internal and may change in any release; use the bound `L: LeafType` only to call
/// functions of this crate.
///
/// ```
/// let (leaves, treedef) = treedef::flatten_as::<f64>(&[(1.0f64, 2.0f64), (3.0, 4.0)])?;
/// assert_eq!(leaves, [1.0, 2.0, 3.0, 4.0]);
/// assert_eq!(treedef.to_string(), "((*, *); 2)");
/// # Ok::<(), treedef::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a scalar of serde nor a `Leaf`",
    note = "objects of other types are leaves of their own: see `flatten_objects`, \
            `unflatten_objects`, `Tree::of_objects` and `Tree::into_objects`"
)]
pub trait LeafType: Flat {}

/// The part of a leaf type that flattening needs. Cannot be named outside the crate, like [`Flat`].
pub trait Emit: Clone + Sized + 'static {
    /// The kind in error messages.
    const KIND: LeafKind;
    fn from_scalar(scalar: Scalar<'_>) -> Option<Self>;
    /// Adds numbers of a kind that fits.
    fn extend_bits(leaves: &mut Vec<Self>, kind: LeafKind, bits: Bits<'_>) {
        push_each(leaves, kind, bits);
    }
    /// Converts a `Leaf`, if its kind fits.
    fn from_leaf(leaf: Leaf) -> Option<Self> {
        Self::from_scalar(leaf.as_scalar()?)
    }
}

/// The part of a leaf type that rebuilding needs. Cannot be named outside the crate, so [`LeafType`] is
/// sealed.
pub trait Flat: Emit + Into<Leaf> {
    fn kind(&self) -> LeafKind {
        Self::KIND
    }
    /// The scalar; `None` for an opaque leaf.
    fn as_scalar(&self) -> Option<Scalar<'_>>;
    /// The subtree of an opaque leaf.
    fn opaque(&self) -> Option<&Value> {
        None
    }
    /// A source of borrowed leaves, which stay unchanged.
    fn borrowed(leaves: &[Self]) -> Source<'_>;
    /// A source of leaves whose strings may be moved into the value.
    fn handed_over(leaves: &mut [Self]) -> Source<'_> {
        Self::borrowed(leaves)
    }
}

/// The leaves that a value is rebuilt from. They are read by index, because serde's buffers may ask
/// for fields in another order.
pub enum Source<'s> {
    Leaves(&'s [Leaf]),
    /// Contains no opaque leaf.
    OwnedLeaves(&'s mut [Leaf]),
    OwnedStrings(&'s mut [String]),
    Typed(Typed<'s>),
    /// So many [objects](crate::object), which are beside the walk.
    Objects(usize),
}

/// The leaf at an index of a [`Source`], borrowed or moved out.
pub(crate) enum Taken<'s> {
    Scalar(Scalar<'s>),
    String(String),
    Bytes(Vec<u8>),
}

/// A number in one of the types that serde's visitors accept from formats with few number types.
pub(crate) enum Number {
    U64(u64),
    I64(i64),
    F32(f32),
    F64(f64),
    U128(Packed<u128>),
    I128(Packed<i128>),
}

impl Number {
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn of(scalar: Scalar<'_>) -> Option<Self> {
        match scalar {
            Scalar::U128(value) => return Some(Number::U128(value.into())),
            Scalar::I128(value) => return Some(Number::I128(value.into())),
            Scalar::F32(value) => return Some(Number::F32(value)),
            Scalar::F64(value) => return Some(Number::F64(value)),
            _ => {}
        }
        each_scalar! { [unsigned] ($kind $type) => {
            match scalar {
                $(Scalar::$kind(value) => return Some(Number::U64(value.into())),)*
                _ => {}
            }
        }}
        each_scalar! { [signed] ($kind $type) => {
            match scalar {
                $(Scalar::$kind(value) => Some(Number::I64(value.into())),)*
                _ => None,
            }
        }}
    }
}

// Indices are in bounds: a source has as many leaves as its treedef (`TreeDef::expect_leaves`), and
// positions count within those (invariant 2 of the encoding).
impl<'s> Source<'s> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Source::Leaves(leaves) => leaves.len(),
            Source::OwnedLeaves(leaves) => leaves.len(),
            Source::OwnedStrings(leaves) => leaves.len(),
            Source::Typed(leaves) => leaves.len(),
            Source::Objects(count) => *count,
        }
    }

    /// The scalar; `None` for an opaque leaf and an object.
    pub(crate) fn scalar(&self, index: usize) -> Option<Scalar<'_>> {
        match self {
            Source::Leaves(leaves) => leaves[index].as_scalar(),
            Source::OwnedLeaves(leaves) => leaves[index].as_scalar(),
            Source::OwnedStrings(leaves) => Some(Scalar::Str(&leaves[index])),
            Source::Typed(leaves) => leaves.scalar(index),
            Source::Objects(_) => None,
        }
    }

    /// The text, if the leaf is a borrowed string.
    pub(crate) fn borrowed_text(&self, index: usize) -> Option<&'s str> {
        match self {
            Source::Leaves(leaves) => {
                let leaves: &'s [Leaf] = leaves;
                leaves[index].as_str()
            }
            Source::Typed(Typed::Str(leaves)) => Some(&leaves[index]),
            _ => None,
        }
    }

    /// Takes the leaf; called at most once for each index. Strings and bytes that were handed over
    /// are moved out. Returns `None` for an opaque leaf, which stays.
    pub(crate) fn take(&mut self, index: usize) -> Option<Taken<'s>> {
        Some(match self {
            Source::Leaves(leaves) => {
                let leaves: &'s [Leaf] = leaves;
                Taken::Scalar(leaves[index].as_scalar()?)
            }
            Source::OwnedLeaves(leaves) => match mem::replace(&mut leaves[index], Leaf::None) {
                Leaf::Str(text) => Taken::String(text.into()),
                Leaf::Bytes(bytes) => Taken::Bytes(bytes.into()),
                other => Taken::Scalar(other.as_plain()?),
            },
            Source::OwnedStrings(leaves) => Taken::String(mem::take(&mut leaves[index])),
            Source::Typed(leaves) => Taken::Scalar(leaves.scalar(index)?),
            Source::Objects(_) => return None,
        })
    }
}

impl<L: Emit> LeafVec for Vec<L> {
    fn kind(&self) -> LeafKind {
        L::KIND
    }

    fn push(&mut self, scalar: Scalar<'_>) -> bool {
        let Some(leaf) = L::from_scalar(scalar) else { return false };
        Vec::push(self, leaf);
        true
    }

    fn push_leaf(&mut self, leaf: Leaf) -> bool {
        let Some(leaf) = L::from_leaf(leaf) else { return false };
        Vec::push(self, leaf);
        true
    }

    fn extend_bits(&mut self, kind: LeafKind, bits: Bits<'_>) {
        L::extend_bits(self, kind, bits);
    }

    fn len(&self) -> usize {
        self.len()
    }

    fn reserve(&mut self, count: usize) {
        self.reserve(count);
    }

    fn swap_ranges(&mut self, swaps: &[Swap]) {
        for swap in swaps {
            swap.apply(self);
        }
    }

    fn truncate(&mut self, len: usize) {
        self.truncate(len);
    }

    fn shrink(&mut self) {
        self.shrink_to_fit();
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

/// Adds numbers of the kind of the type. A chunk of numbers is converted in a loop that has no branch.
fn extend_from_bits<L: Emit + Default>(leaves: &mut Vec<L>, kind: LeafKind, bits: Bits<'_>) {
    debug_assert_eq!(kind, L::KIND, "a number of another kind");
    let leaf = |bits| scalar(L::KIND, bits).and_then(L::from_scalar).or_bug();
    let first = leaves.len();
    match bits {
        Bits::Narrow(bits) if const { size_of::<L>() <= size_of::<u32>() } => {
            leaves.resize(first + bits.len(), L::default());
            for (to, bits) in leaves.get_mut(first..).or_bug().iter_mut().zip(bits) {
                *to = leaf(u64::from(*bits));
            }
        }
        Bits::Wide(bits) if const { size_of::<L>() > size_of::<u32>() } => {
            leaves.extend(bits.iter().map(|bits| leaf(bits.get())));
        }
        _ => push_each(leaves, kind, bits),
    }
}

/// Adds numbers one by one.
fn push_each(leaves: &mut dyn LeafVec, kind: LeafKind, bits: Bits<'_>) {
    leaves.reserve(bits.len());
    for index in 0..bits.len() {
        let fits = scalar(kind, bits.get(index)).is_some_and(|scalar| leaves.push(scalar));
        debug_assert!(fits, "a number of another kind");
    }
}

/// Adds numbers of a constant kind.
#[inline(always)]
fn push_from_bits(leaves: &mut Vec<Leaf>, kind: LeafKind, bits: Bits<'_>) {
    leaves.reserve(bits.len());
    for index in 0..bits.len() {
        match scalar(kind, bits.get(index)) {
            Some(scalar) => leaves.push(scalar.into()),
            None => debug_assert!(false, "a number of another kind"),
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

    fn extend_bits(leaves: &mut Vec<Self>, kind: LeafKind, bits: Bits<'_>) {
        match (kind, bits) {
            (LeafKind::F64, Bits::Doubles(numbers)) => {
                leaves.extend(numbers.iter().copied().map(Leaf::F64));
            }
            (LeafKind::F64, Bits::Wide(bits)) => {
                leaves.extend(bits.iter().map(|bits| Leaf::F64(f64::from_bits(bits.get()))));
            }
            (LeafKind::F32, Bits::Narrow(bits)) => {
                leaves.extend(bits.iter().map(|bits| Leaf::F32(f32::from_bits(*bits))));
            }
            (LeafKind::I64, Bits::Wide(bits)) => {
                leaves.extend(bits.iter().map(|bits| Leaf::I64(bits.get().cast_signed())));
            }
            (LeafKind::U64, Bits::Wide(bits)) => {
                leaves.extend(bits.iter().map(|bits| Leaf::U64(bits.get())));
            }
            (LeafKind::I32, Bits::Narrow(bits)) => {
                leaves.extend(bits.iter().map(|bits| Leaf::I32(bits.cast_signed())));
            }
            (LeafKind::Bool, Bits::Narrow(bits)) => {
                leaves.extend(bits.iter().map(|bits| Leaf::Bool(*bits != 0)));
            }
            _ => {
                each_scalar! { [bool signed unsigned floats char] ($kind $type) => {
                    match kind {
                        $(LeafKind::$kind => push_from_bits(leaves, LeafKind::$kind, bits),)*
                        _ => debug_assert!(false, "a number of another kind"),
                    }
                }}
            }
        }
    }

    fn from_leaf(leaf: Leaf) -> Option<Self> {
        Some(leaf)
    }
}

impl Flat for Leaf {
    fn kind(&self) -> LeafKind {
        Leaf::kind(self)
    }

    fn as_scalar(&self) -> Option<Scalar<'_>> {
        Leaf::as_scalar(self)
    }

    fn opaque(&self) -> Option<&Value> {
        match self {
            Leaf::Opaque(value) => Some(value),
            _ => None,
        }
    }

    fn borrowed(leaves: &[Self]) -> Source<'_> {
        Source::Leaves(leaves)
    }

    /// An opaque leaf is read in place, so if there is one, all leaves are borrowed.
    fn handed_over(leaves: &mut [Self]) -> Source<'_> {
        if leaves.iter().any(|leaf| leaf.opaque().is_some()) {
            Source::Leaves(leaves)
        } else {
            Source::OwnedLeaves(leaves)
        }
    }
}

each_scalar! {
    [sized { Str: String; Usize: usize; Isize: isize; }] ($kind $type) => {
        /// A slice of leaves of one type.
        #[derive(Clone, Copy)]
        pub enum Typed<'s> {
            $($kind(&'s [$type]),)*
        }

        impl<'s> Typed<'s> {
            fn len(self) -> usize {
                match self {
                    $(Typed::$kind(leaves) => leaves.len(),)*
                }
            }

            pub(crate) fn scalar(self, index: usize) -> Option<Scalar<'s>> {
                match self {
                    $(Typed::$kind(leaves) => leaves.get(index)?.as_scalar(),)*
                }
            }
        }

        $(
            impl<'s> From<&'s [$type]> for Typed<'s> {
                fn from(leaves: &'s [$type]) -> Self {
                    Typed::$kind(leaves)
                }
            }
        )*
    }
}

each_scalar! { [sized] ($kind $type) => {$(
    impl LeafType for $type {}

    impl Emit for $type {
        const KIND: LeafKind = LeafKind::$kind;

        #[inline]
        fn from_scalar(scalar: Scalar<'_>) -> Option<Self> {
            match scalar {
                Scalar::$kind(value) => Some(value),
                other => widened(other),
            }
        }

        fn extend_bits(leaves: &mut Vec<Self>, kind: LeafKind, bits: Bits<'_>) {
            use LeafKind as Is;
            if const {
                matches!(
                    Self::KIND,
                    Is::Bool | Is::I8 | Is::I16 | Is::I32 | Is::I64 | Is::U8 | Is::U16 | Is::U32 | Is::U64
                )
            } {
                extend_from_bits(leaves, kind, bits);
            } else {
                push_each(leaves, kind, bits);
            }
        }
    }

    impl Flat for $type {
        #[inline]
        fn as_scalar(&self) -> Option<Scalar<'_>> {
            Some(Scalar::$kind(*self))
        }

        fn borrowed(leaves: &[Self]) -> Source<'_> {
            Source::Typed(Typed::$kind(leaves))
        }
    }
)*}}

/// An `f32` as an `f64`, if leaves of that kind are asked for.
#[inline(always)]
fn widened<L: Emit>(scalar: Scalar<'_>) -> Option<L> {
    match scalar {
        Scalar::F32(value) if const { matches!(L::KIND, LeafKind::F64) } => {
            L::from_scalar(Scalar::F64(widen(value)))
        }
        _ => None,
    }
}

impl LeafType for String {}

impl Emit for String {
    const KIND: LeafKind = LeafKind::Str;

    #[inline]
    fn from_scalar(scalar: Scalar<'_>) -> Option<Self> {
        match scalar {
            Scalar::Str(value) => Some(value.into()),
            _ => None,
        }
    }

    fn from_leaf(leaf: Leaf) -> Option<Self> {
        match leaf {
            Leaf::Str(text) => Some(text.into()),
            _ => None,
        }
    }
}

impl Flat for String {
    #[inline]
    fn as_scalar(&self) -> Option<Scalar<'_>> {
        Some(Scalar::Str(self))
    }

    fn borrowed(leaves: &[Self]) -> Source<'_> {
        Source::Typed(Typed::Str(leaves))
    }

    fn handed_over(leaves: &mut [Self]) -> Source<'_> {
        Source::OwnedStrings(leaves)
    }
}

// The integers of 64 bits that serde makes of these.
each_scalar! { [{ U64: usize; I64: isize; }] ($kind $type) => {$(
    impl LeafType for $type {}

    impl Emit for $type {
        const KIND: LeafKind = LeafKind::$kind;

        #[inline]
        fn from_scalar(scalar: Scalar<'_>) -> Option<Self> {
            match scalar {
                Scalar::$kind(value) => value.try_into().ok(),
                _ => None,
            }
        }
    }

    impl Flat for $type {
        #[inline]
        fn as_scalar(&self) -> Option<Scalar<'_>> {
            Some(Scalar::$kind(*self as _)) // not wider
        }

        fn borrowed(leaves: &[Self]) -> Source<'_> {
            Source::Typed(leaves.into())
        }
    }
)*}}

/// The kind of a leaf as a leaf type, for signatures.
impl Emit for LeafKind {
    const KIND: LeafKind = LeafKind::Opaque;

    fn from_scalar(scalar: Scalar<'_>) -> Option<Self> {
        Some(scalar.kind())
    }

    fn extend_bits(leaves: &mut Vec<Self>, kind: LeafKind, bits: Bits<'_>) {
        leaves.resize(leaves.len() + bits.len(), kind);
    }

    fn from_leaf(leaf: Leaf) -> Option<Self> {
        Some(leaf.kind())
    }
}
