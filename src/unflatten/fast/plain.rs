//! Fast deserializers for plain data: types that own nothing, such as numbers and structs of
//! numbers.
//!
//! They read by value and by position, several times as fast as node by node: rows `unflatten` of
//! `mlp`, `particles` and `wide` in `benches/ratios`.
//!
//! A value that does not fit is read again from its beginning by the general
//! [deserializer](super::super::deserializer), which adapts or reports the error. This is possible because
//! plain data takes nothing from the leaves. Whether a type owns nothing is known at compile time,
//! so no other type is compiled for this module.

use std::cell::Cell;
use std::marker::PhantomData;
use std::mem;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use crate::error::{Matched, Mismatch};
use crate::leaf::Scalar;
use crate::leaf::each_scalar;
use crate::leaf::float::{narrow_in_range, widen};
use crate::leaf::leaf_type::Number;
use crate::model::{Leaf, NodeKind};

use super::super::cursor::Cursor;
use super::super::layout::{FixedNode, LayoutSteps};
use super::super::supply::Supply;

/// Whether values of a type own nothing, and are not zero-sized.
pub(in crate::unflatten) const fn is_plain<T>() -> bool {
    !mem::needs_drop::<T>() && size_of::<T>() > 0
}

/// Whether values of a type may be one number, by its size. A type of 128 bits also needs the alignment of an integer,
/// which most pairs do not have.
pub(in crate::unflatten) const fn may_be_leaf<T>() -> bool {
    size_of::<T>() <= size_of::<u64>()
        || size_of::<T>() == size_of::<u128>() && align_of::<T>() == align_of::<u128>()
}

impl<'de> FixedNode<'de> {
    /// Reads the value whose leaves begin at index `first`.
    #[inline(always)]
    pub(super) fn read<'t, T: Deserialize<'t>>(
        &mut self,
        supply: &Supply<'_>,
        first: usize,
    ) -> Matched<T> {
        // A type aligned like `f32` has no `f64`, and one aligned like a byte no float at all: what
        // it cannot need is not compiled for it.
        if const { align_of::<T>() >= align_of::<f64>() }
            && let Some(leaves @ [_, ..]) = supply.f64s.get(first..)
        {
            return self.read_from(leaves);
        }
        if const { align_of::<T>() == align_of::<f32>() }
            && let Some(leaves @ [_, ..]) = supply.f32s.get(first..)
        {
            return self.read_from(leaves);
        }
        let leaves = match supply.as_leaves().get(first..) {
            Some(leaves @ [_, ..]) => leaves,
            _ => {
                self.convert(supply, first);
                &self.converted
            }
        };
        self.read_from(leaves)
    }

    /// Converts the leaves of the node, which begin at index `first`.
    #[inline(never)]
    fn convert(&mut self, supply: &Supply<'_>, first: usize) {
        let (range, converted) = (first..first + self.layout.leaves, &mut self.converted);
        converted.clear();
        if let Some(leaves) = supply.f64s.get(range.clone()) {
            converted.extend(leaves.iter().copied().map(Leaf::F64));
        } else if let Some(leaves) = supply.f32s.get(range.clone()) {
            converted.extend(leaves.iter().copied().map(Leaf::F32));
        } else {
            converted.extend(range.map_while(|index| supply.scalar(index)).map(Leaf::from));
        }
    }

    #[inline(always)]
    fn read_from<'t, W: LeafWindow, T: Deserialize<'t>>(&self, window: W) -> Matched<T> {
        let mut steps = LayoutSteps::new(self, window);
        let value = T::deserialize(FixedDeserializer(&mut steps))?;
        if steps.is_complete() { Ok(value) } else { Err(Mismatch) }
    }
}

/// The leaves of a node with a fixed layout, and perhaps more.
trait LeafWindow: Copy {
    fn scalar(&self, leaf: usize) -> Matched<Scalar<'_>>;
    fn f64(&self, leaf: usize) -> Matched<f64>;
}

impl LeafWindow for &[f64] {
    #[inline(always)]
    fn scalar(&self, leaf: usize) -> Matched<Scalar<'_>> {
        self.f64(leaf).map(Scalar::F64)
    }

    #[inline(always)]
    fn f64(&self, leaf: usize) -> Matched<f64> {
        self.get(leaf).copied().ok_or(Mismatch)
    }
}

impl LeafWindow for &[f32] {
    #[inline(always)]
    fn scalar(&self, leaf: usize) -> Matched<Scalar<'_>> {
        self.get(leaf).copied().map(Scalar::F32).ok_or(Mismatch)
    }

    #[inline(always)]
    fn f64(&self, leaf: usize) -> Matched<f64> {
        self.get(leaf).copied().map(widen).ok_or(Mismatch)
    }
}

impl LeafWindow for &[Leaf] {
    #[inline(always)]
    fn scalar(&self, leaf: usize) -> Matched<Scalar<'_>> {
        self.get(leaf).and_then(Leaf::as_scalar).ok_or(Mismatch)
    }

    #[inline(always)]
    fn f64(&self, leaf: usize) -> Matched<f64> {
        match self.get(leaf) {
            Some(Leaf::F64(value)) => Ok(*value),
            Some(Leaf::F32(value)) => Ok(widen(*value)),
            _ => Err(Mismatch),
        }
    }
}

/// Reads a whole value, if it is plain data.
#[inline]
pub(in crate::unflatten) fn read_whole<'de, T: Deserialize<'de>>(
    cursor: &Cursor<'de>,
) -> Option<T> {
    let mut fixed = cursor.fixed_node();
    cursor.lay_out(&mut fixed, cursor.location.rest)?;
    fixed.read(&cursor.supply, 0).ok()
}

/// Reads a node with a fixed layout, or a value inside it. After a failed request the walk stays
/// incomplete. So there is no value even if a `Deserialize` implementation ignores the error.
struct FixedDeserializer<'c, 'w, 'n, W>(&'c mut LayoutSteps<'w, 'n, W>);

impl<W: LeafWindow> FixedDeserializer<'_, '_, '_, W> {
    #[inline(always)]
    fn children<'de, V: Visitor<'de>>(
        self,
        kind: NodeKind,
        count: usize,
        visitor: V,
    ) -> Matched<V::Value> {
        self.0.compound(kind, count)?;
        visitor.visit_seq(PlainChildren { steps: self.0, left: count })
    }
}

/// A type of scalars that is asked for.
pub(super) trait Requested: Sized {
    /// The scalar, if the general deserializer would give it to a visitor as this type.
    fn of(scalar: Scalar<'_>) -> Matched<Self>;

    /// The same. Most leaves are of the type, so this looks for it first.
    fn of_leaf(leaf: &Leaf) -> Matched<Self>;

    #[inline(never)]
    fn of_other_leaf(leaf: &Leaf) -> Matched<Self> {
        leaf.as_plain().ok_or(Mismatch).and_then(Self::of)
    }
}

macro_rules! requested {
    ($otherwise:expr; $($variant:ident: $type:ty, $calls:tt;)*) => {$(
        impl Requested for $type {
            #[inline(always)]
            fn of(scalar: Scalar<'_>) -> Matched<Self> {
                match scalar {
                    Scalar::$variant(value) => Ok(value),
                    other => $otherwise(other),
                }
            }

            #[inline(always)]
            fn of_leaf(leaf: &Leaf) -> Matched<Self> {
                match leaf {
                    Leaf::$variant(value) => Ok((*value).into()),
                    other => Self::of_other_leaf(other),
                }
            }
        }
    )*};
}

each_scalar! { [integers] => requested other_integer; }
each_scalar! { [bool char] => requested |_| Err(Mismatch); }
requested! { other_f32; F32: f32, {}; }
requested! { other_f64; F64: f64, {}; }

/// An integer from one of another width.
#[inline(always)]
fn other_integer<T: TryFrom<u64> + TryFrom<i64>>(scalar: Scalar<'_>) -> Matched<T> {
    match Number::of(scalar) {
        Some(Number::U64(value)) => value.try_into().map_err(|_| Mismatch),
        Some(Number::I64(value)) => value.try_into().map_err(|_| Mismatch),
        _ => Err(Mismatch),
    }
}

#[inline(always)]
fn other_f32(scalar: Scalar<'_>) -> Matched<f32> {
    match scalar {
        Scalar::F64(value) => narrow_in_range(value).ok_or(Mismatch),
        _ => Err(Mismatch),
    }
}

#[inline(always)]
fn other_f64(scalar: Scalar<'_>) -> Matched<f64> {
    match scalar {
        Scalar::F32(value) => Ok(widen(value)),
        _ => Err(Mismatch),
    }
}

/// Requests for a scalar.
macro_rules! scalars {
    ($($variant:ident: $type:ty, {$serialize:ident $visit:ident $method:ident};)*) => {$(
        #[inline(always)]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Matched<V::Value> {
            let value = <$type>::of(self.0.window.scalar(self.0.leaves)?)?;
            self.0.leaf()?;
            visitor.$visit(value)
        }
    )*};
}

impl<'de, W: LeafWindow> Deserializer<'de> for FixedDeserializer<'_, '_, '_, W> {
    type Error = Mismatch;

    each_scalar! { [bool integers char] => scalars F32: f32, {serialize_f32 visit_f32 deserialize_f32}; }

    #[inline(always)]
    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Matched<V::Value> {
        let value = self.0.window.f64(self.0.leaves)?;
        self.0.leaf()?;
        visitor.visit_f64(value)
    }

    #[inline(always)]
    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Matched<V::Value> {
        self.0.compound(NodeKind::Unit, 0)?;
        visitor.visit_unit()
    }

    #[inline(always)]
    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Matched<V::Value> {
        self.0.compound(NodeKind::UnitStruct, 0)?;
        visitor.visit_unit()
    }

    #[inline(always)]
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Matched<V::Value> {
        self.0.compound(NodeKind::NewtypeStruct, 1)?;
        visitor.visit_newtype_struct(self)
    }

    #[inline(always)]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Matched<V::Value> {
        if self.0.is_next(NodeKind::None, 0) {
            self.0.compound(NodeKind::None, 0)?;
            return visitor.visit_none();
        }
        self.0.compound(NodeKind::Some, 1)?;
        visitor.visit_some(self)
    }

    #[inline(always)]
    fn deserialize_tuple<V: Visitor<'de>>(self, count: usize, visitor: V) -> Matched<V::Value> {
        self.children(NodeKind::Tuple, count, visitor)
    }

    #[inline(always)]
    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        count: usize,
        visitor: V,
    ) -> Matched<V::Value> {
        self.children(NodeKind::TupleStruct, count, visitor)
    }

    /// By position, if the type has the very fields of the node: a visitor reads them in the order
    /// of `fields`, as serde has it. Otherwise, and after any error, by name.
    #[inline(always)]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Matched<V::Value> {
        if !self.0.has_fields(fields) {
            return Err(Mismatch);
        }
        self.children(NodeKind::Struct, fields.len(), visitor)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Matched<V::Value> {
        Err(Mismatch)
    }

    fn is_human_readable(&self) -> bool {
        !self.0.node.compact
    }

    forward_to_deserialize_any! {
        str string bytes byte_buf seq map enum identifier ignored_any
    }
}

/// The last `left` children of a compound.
struct PlainChildren<'c, 'w, 'n, W> {
    steps: &'c mut LayoutSteps<'w, 'n, W>,
    left: usize,
}

impl<'de, W: LeafWindow> SeqAccess<'de> for PlainChildren<'_, '_, '_, W> {
    type Error = Mismatch;

    #[inline(always)]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Matched<Option<T::Value>> {
        if const { mem::needs_drop::<T::Value>() } {
            return Err(Mismatch);
        }
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        seed.deserialize(FixedDeserializer(self.steps)).map(Some)
    }

    /// As serde has it, but always inlined.
    #[inline(always)]
    fn next_element<T: Deserialize<'de>>(&mut self) -> Matched<Option<T>> {
        self.next_element_seed(PhantomData)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

/// A leaf of a run, whether it was read, and whether it was asked for its form, which only the cursor knows.
struct LoneLeaf<'c, L>(L, &'c mut bool, &'c Cell<bool>);

/// The source of a [`LoneLeaf`].
pub(super) trait Lone: Copy {
    fn as_requested<T: Requested>(self) -> Matched<T>;
}

impl Lone for Scalar<'_> {
    #[inline(always)]
    fn as_requested<T: Requested>(self) -> Matched<T> {
        T::of(self)
    }
}

impl Lone for &Leaf {
    #[inline(always)]
    fn as_requested<T: Requested>(self) -> Matched<T> {
        T::of_leaf(self)
    }
}

/// Reads a leaf. Returns `None` on a mismatch, even if a `Deserialize` implementation ignores it, and for a type with
/// another form in a compact walk.
#[inline(always)]
pub(super) fn lone<'de, L: Lone, T: Deserialize<'de>>(leaf: L) -> Option<T> {
    let (mut given, asked) = (false, Cell::new(false));
    let value = T::deserialize(LoneLeaf(leaf, &mut given, &asked)).ok();
    value.filter(|_| given && !asked.get())
}

/// Requests for a lone leaf.
macro_rules! lone {
    ($($variant:ident: $type:ty, {$serialize:ident $visit:ident $method:ident};)*) => {$(
        #[inline(always)]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Matched<V::Value> {
            let value = visitor.$visit(self.0.as_requested()?);
            *self.1 = value.is_ok();
            value
        }
    )*};
}

impl<'de, L: Lone> Deserializer<'de> for LoneLeaf<'_, L> {
    type Error = Mismatch;

    each_scalar! { [sized] => lone }

    fn is_human_readable(&self) -> bool {
        self.2.set(true);
        true
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Matched<V::Value> {
        Err(Mismatch)
    }

    forward_to_deserialize_any! {
        str string bytes byte_buf option unit unit_struct newtype_struct seq tuple tuple_struct map
        struct enum identifier ignored_any
    }
}
