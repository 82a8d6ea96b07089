//! What a deserializer needs: where the leaves come from, what is asked for, and where we are.

use std::ops::Range;

use serde::de::Visitor;

use crate::error::{Error, Result};
use crate::leaf::Flat;
use crate::model::{Arrival, Leaf, LeafKind, TreeDef, Value};
use crate::stack;

/// Leaves, by index: serde's buffers ask for fields in another order than they stand in, so nothing may depend on a
/// cursor. Each leaf is asked for at most once, because a deserializer is consumed when it answers; only what stays is tried
/// before.
///
/// `'a` is how long the structure lives, `'de` how long the value may borrow.
pub trait Source<'a, 'de>: Sized {
    /// What the leaves are.
    type Leaf: Flat;

    /// The source for leaves that the structure itself holds, in keys and statics.
    type Kept: Source<'a, 'de>;

    /// Some of the leaves, counted from zero: at hand, not behind a reference, which makes reading runs of them faster.
    type Part<'s>: Source<'a, 'de>
    where
        Self: 's;

    fn part(&mut self, leaves: Range<usize>) -> Self::Part<'_>;

    /// Whether what was read can be read again, so that it may be tried.
    const STAY: bool = false;

    /// All of them, as they are now.
    fn leaves(&self) -> &[Self::Leaf];

    #[inline]
    fn len(&self) -> usize {
        self.leaves().len()
    }

    #[inline]
    fn kind(&self, index: usize) -> LeafKind {
        // In range: a source is made for as many leaves as its treedef has, and positions count within those
        // (`TreeDef::expect_leaves`, and invariant 2 of the encoding).
        self.leaves()[index].kind()
    }

    fn kept(leaves: &'a [Leaf]) -> Self::Kept;

    /// Hands out a text of the structure: a name.
    fn text<V: Visitor<'de>>(text: &'a str, visitor: V) -> Result<V::Value>;

    /// Hands out a scalar.
    fn visit<V: Visitor<'de>>(&mut self, index: usize, visitor: V) -> Result<V::Value>;

    /// The subtree that an opaque leaf stands for.
    fn opaque(&self, _: usize) -> Option<&'a Value> {
        None
    }
}

/// What a type asks for, as far as the answer depends on it.
#[derive(Clone, Copy)]
pub(super) enum Request {
    Any,
    Option,
    Newtype(&'static str),
    Enum,
    Bytes,
    F32,
    F64,
}

impl Request {
    /// Whether a leaf of this kind answers with its scalar, if such is asked for: not with what an opaque leaf stands for,
    /// nor with what may be beyond the range of `f32`, nor with what may be another NaN as an `f64`.
    #[inline(always)]
    pub(super) fn is_for_scalar(self, kind: LeafKind) -> bool {
        !matches!(
            (kind, self),
            (LeafKind::Opaque, _) | (LeafKind::F64, Request::F32) | (LeafKind::F32, Request::F64)
        )
    }
}

/// The calls of serde that are requests, all to `answer`. How a struct is asked for depends on who is asked.
macro_rules! requests {
    () => {
        #[inline]
        fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            self.any(visitor)
        }

        scalar_requests!();

        #[inline]
        fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            self.sequence(None, visitor)
        }

        #[inline]
        fn deserialize_tuple<V: Visitor<'de>>(self, count: usize, visitor: V) -> Result<V::Value> {
            self.sequence(Some(count), visitor)
        }

        #[inline]
        fn deserialize_tuple_struct<V: Visitor<'de>>(
            self,
            _: &'static str,
            count: usize,
            visitor: V,
        ) -> Result<V::Value> {
            self.sequence(Some(count), visitor)
        }

        #[inline]
        fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            self.option(visitor)
        }

        fn deserialize_newtype_struct<V: Visitor<'de>>(
            self,
            name: &'static str,
            visitor: V,
        ) -> Result<V::Value> {
            self.answer(Request::Newtype(name), visitor)
        }

        fn deserialize_enum<V: Visitor<'de>>(
            self,
            _: &'static str,
            _: &'static [&'static str],
            visitor: V,
        ) -> Result<V::Value> {
            self.answer(Request::Enum, visitor)
        }

        fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            self.answer(Request::Bytes, visitor)
        }

        fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            self.answer(Request::Bytes, visitor)
        }

        fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            self.ignored(visitor)
        }

        serde::forward_to_deserialize_any! {
            unit unit_struct map identifier
        }
    };
}

/// Those for a scalar, all to `scalar`.
macro_rules! scalar_requests {
    () => {
        scalar_requests! {
            Any: deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
            deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_char
            deserialize_str deserialize_string
        }
        scalar_requests!(F32: deserialize_f32);
        scalar_requests!(F64: deserialize_f64);
    };
    ($request:ident: $($method:ident)*) => {$(
        #[inline(always)]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> std::result::Result<V::Value, Self::Error> {
            self.scalar(Request::$request, visitor)
        }
    )*};
}

pub(super) use {requests, scalar_requests};

/// What holds for a whole structure while it is rebuilt.
pub(super) struct Shared<'a> {
    pub(super) arrivals: &'a [Arrival],
    pub(super) compact: bool,
    pub(super) max_depth: u32,
}

/// Where we are in a structure.
#[derive(Clone, Copy)]
pub(super) struct Context<'a, 'r> {
    pub(super) shared: &'r Shared<'a>,
    /// Compounds that may still stand inside each other.
    depth_left: u32,
    /// Times that a node may still answer in the place of its own inside: what ends `struct W(Box<W>)`.
    passes_left: u32,
}

impl<'a> Shared<'a> {
    /// A limit beyond 2³² is none: so many nodes do not fit into memory.
    pub(super) fn new(arrivals: &'a [Arrival], compact: bool, max_depth: usize) -> Self {
        let max_depth = u32::try_from(max_depth).unwrap_or(u32::MAX);
        Shared { arrivals, compact, max_depth }
    }

    pub(super) fn of(treedef: &'a TreeDef) -> Self {
        let max_depth = stack::deepest(treedef.limits);
        Shared::new(treedef.arrivals(), treedef.encoding.options.compact, max_depth)
    }

    /// One less of what may still be.
    #[inline]
    fn less(&self, left: u32) -> Result<u32> {
        left.checked_sub(1).ok_or_else(|| self.too_deep())
    }

    #[cold]
    fn too_deep(&self) -> Error {
        // Lossless: it came from a `usize`.
        stack::too_deep(self.max_depth as usize)
    }
}

impl<'a, 'r> Context<'a, 'r> {
    /// At the root.
    pub(super) fn of(shared: &'r Shared<'a>) -> Self {
        Context { shared, depth_left: shared.max_depth, passes_left: shared.max_depth }
    }

    /// Whether so many compounds may stand inside each other here.
    pub(super) fn admits(self, depth: u32) -> bool {
        depth <= self.depth_left
    }

    #[inline]
    pub(super) fn deeper(self) -> Result<Self> {
        Ok(Context { depth_left: self.shared.less(self.depth_left)?, ..self })
    }

    pub(super) fn passed(self) -> Result<Self> {
        Ok(Context { passes_left: self.shared.less(self.passes_left)?, ..self })
    }

    /// At the same place, in the structure of a value that stands there.
    pub(super) fn inside<'v, 'n>(self, shared: &'n Shared<'v>) -> Context<'v, 'n> {
        Context { shared, depth_left: self.depth_left, passes_left: self.passes_left }
    }

    /// What holds for a value that stands here.
    pub(super) fn shared_for<'v>(self, value: &'v Value) -> Shared<'v> {
        let Shared { compact, max_depth, .. } = *self.shared;
        Shared { arrivals: value.arrivals(), compact, max_depth }
    }
}
