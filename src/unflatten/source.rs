//! Where the leaves come from when a value is rebuilt, and for how long they can be borrowed.

use serde::de::Visitor;

use crate::error::Result;
use crate::leaf::{Flat, wide};
use crate::model::{Leaf, LeafKind, Value};

use super::deserializer::{Context, NodeDeserializer, Request};

/// Leaves, by index: serde's buffers ask for fields in another order than they stand in, so nothing may depend on a
/// cursor. Each leaf is asked for at most once, because a deserializer is consumed when it answers.
///
/// `'a` is how long the structure lives, `'de` how long the value may borrow. They are the same, except inside an
/// opaque leaf that was handed over: what it holds goes when it has been read.
pub trait Source<'a, 'de>: Sized {
    /// The source for leaves that the structure itself holds, in keys and statics.
    type Kept: Source<'a, 'de>;

    fn kept(leaves: &'a [Leaf]) -> Self::Kept;

    /// Hands out a text of the structure: a name.
    fn text<V: Visitor<'de>>(text: &'a str, visitor: V) -> Result<V::Value>;

    fn kind(&self, index: usize) -> LeafKind;

    /// Hands out a scalar.
    fn visit<V: Visitor<'de>>(&mut self, index: usize, visitor: V) -> Result<V::Value>;

    /// Answers a request from inside an opaque leaf.
    fn replay<V: Visitor<'de>>(
        &mut self,
        index: usize,
        request: Request,
        context: Context<'a>,
        visitor: V,
    ) -> Result<V::Value>;
}

// Indices: a source is made for as many leaves as its treedef has, and positions count within those
// (`TreeDef::expect_leaves`, and invariant 2 of the encoding).

/// Leaves that were handed over: each is moved out.
pub struct Owned<L>(pub(super) Vec<L>);

impl<'de, L: Flat> Source<'de, 'de> for Owned<L> {
    type Kept = Lent<'de>;

    fn kept(leaves: &'de [Leaf]) -> Lent<'de> {
        Lent(leaves)
    }

    #[inline]
    fn text<V: Visitor<'de>>(text: &'de str, visitor: V) -> Result<V::Value> {
        visitor.visit_borrowed_str(text)
    }

    #[inline]
    fn kind(&self, index: usize) -> LeafKind {
        self.0[index].kind()
    }

    #[inline]
    fn visit<V: Visitor<'de>>(&mut self, index: usize, visitor: V) -> Result<V::Value> {
        self.0[index].take().visit(visitor)
    }

    fn replay<V: Visitor<'de>>(
        &mut self,
        index: usize,
        request: Request,
        context: Context<'de>,
        visitor: V,
    ) -> Result<V::Value> {
        replay_moved(self.0[index].take(), request, context, visitor)
    }
}

/// Typed leaves of a slice: each is cloned.
pub struct Shared<'s, L>(pub(super) &'s [L]);

impl<'de, L: Flat> Source<'de, 'de> for Shared<'_, L> {
    type Kept = Lent<'de>;

    fn kept(leaves: &'de [Leaf]) -> Lent<'de> {
        Lent(leaves)
    }

    #[inline]
    fn text<V: Visitor<'de>>(text: &'de str, visitor: V) -> Result<V::Value> {
        visitor.visit_borrowed_str(text)
    }

    #[inline]
    fn kind(&self, index: usize) -> LeafKind {
        self.0[index].kind()
    }

    #[inline]
    fn visit<V: Visitor<'de>>(&mut self, index: usize, visitor: V) -> Result<V::Value> {
        self.0[index].clone().visit(visitor)
    }

    fn replay<V: Visitor<'de>>(
        &mut self,
        index: usize,
        request: Request,
        context: Context<'de>,
        visitor: V,
    ) -> Result<V::Value> {
        replay_moved(self.0[index].clone(), request, context, visitor)
    }
}

/// Leaves that the value may borrow from.
pub struct Lent<'de>(pub(super) &'de [Leaf]);

impl<'de> Source<'de, 'de> for Lent<'de> {
    type Kept = Lent<'de>;

    fn kept(leaves: &'de [Leaf]) -> Lent<'de> {
        Lent(leaves)
    }

    #[inline]
    fn text<V: Visitor<'de>>(text: &'de str, visitor: V) -> Result<V::Value> {
        visitor.visit_borrowed_str(text)
    }

    fn kind(&self, index: usize) -> LeafKind {
        self.0[index].kind()
    }

    fn visit<V: Visitor<'de>>(&mut self, index: usize, visitor: V) -> Result<V::Value> {
        match &self.0[index] {
            Leaf::Str(text) => visitor.visit_borrowed_str(text),
            Leaf::Bytes(bytes) => visitor.visit_borrowed_bytes(bytes),
            scalar => scalar.clone().visit(visitor),
        }
    }

    fn replay<V: Visitor<'de>>(
        &mut self,
        index: usize,
        request: Request,
        context: Context<'de>,
        visitor: V,
    ) -> Result<V::Value> {
        match self.0[index].opaque() {
            Some(value) => NodeDeserializer::of_value(value, context, &mut Lent(value.parts().1))
                .answer(request, visitor),
            None => self.visit(index, visitor),
        }
    }
}

/// The leaves of an opaque leaf that was handed over: moved out, while its structure lasts only for the moment.
pub(super) struct Moved(Vec<Leaf>);

impl<'a, 'de> Source<'a, 'de> for Moved {
    type Kept = Passing<'a>;

    fn kept(leaves: &'a [Leaf]) -> Passing<'a> {
        Passing(leaves)
    }

    fn text<V: Visitor<'de>>(text: &'a str, visitor: V) -> Result<V::Value> {
        visitor.visit_str(text)
    }

    fn kind(&self, index: usize) -> LeafKind {
        self.0[index].kind()
    }

    fn visit<V: Visitor<'de>>(&mut self, index: usize, visitor: V) -> Result<V::Value> {
        Flat::take(&mut self.0[index]).visit(visitor)
    }

    /// There is no opaque leaf inside a value (invariant 6 of the encoding).
    fn replay<V: Visitor<'de>>(
        &mut self,
        index: usize,
        _: Request,
        _: Context<'a>,
        visitor: V,
    ) -> Result<V::Value> {
        self.visit(index, visitor)
    }
}

/// Leaves of a structure that lasts only for the moment.
pub(super) struct Passing<'a>(&'a [Leaf]);

impl<'a, 'de> Source<'a, 'de> for Passing<'a> {
    type Kept = Passing<'a>;

    fn kept(leaves: &'a [Leaf]) -> Passing<'a> {
        Passing(leaves)
    }

    fn text<V: Visitor<'de>>(text: &'a str, visitor: V) -> Result<V::Value> {
        visitor.visit_str(text)
    }

    fn kind(&self, index: usize) -> LeafKind {
        self.0[index].kind()
    }

    fn visit<V: Visitor<'de>>(&mut self, index: usize, visitor: V) -> Result<V::Value> {
        match &self.0[index] {
            Leaf::Str(text) => visitor.visit_str(text),
            Leaf::Bytes(bytes) => visitor.visit_bytes(bytes),
            Leaf::I128(value) => wide(visitor.visit_i128(**value)),
            Leaf::U128(value) => wide(visitor.visit_u128(**value)),
            scalar => scalar.clone().visit(visitor),
        }
    }

    /// There is no opaque leaf inside a value (invariant 6 of the encoding).
    fn replay<V: Visitor<'de>>(
        &mut self,
        index: usize,
        _: Request,
        _: Context<'a>,
        visitor: V,
    ) -> Result<V::Value> {
        self.visit(index, visitor)
    }
}

fn replay_moved<'de, V: Visitor<'de>>(
    leaf: impl Flat,
    request: Request,
    context: Context<'_>,
    visitor: V,
) -> Result<V::Value> {
    match leaf.clone().into_opaque() {
        Some(mut value) => {
            let mut leaves = Moved(value.take_leaves());
            NodeDeserializer::of_value(&value, context, &mut leaves).answer(request, visitor)
        }
        None => leaf.visit(visitor),
    }
}

impl Value {
    /// Moves the leaves out; the structure stays.
    fn take_leaves(&mut self) -> Vec<Leaf> {
        match &mut self.0 {
            crate::model::Content::Scalar(leaf) => vec![Flat::take(leaf)],
            crate::model::Content::Tree(tree) => std::mem::take(&mut tree.leaves),
        }
    }
}
