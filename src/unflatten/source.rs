//! What a deserializer needs: where the leaves come from, what is asked for, and where we are.

use serde::de::Visitor;

use crate::error::{ErrorKind, Result};
use crate::model::{Arrival, Leaf, LeafKind};

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

/// What a type asks for, as far as the answer depends on it.
#[derive(Clone, Copy)]
pub enum Request {
    Any,
    Option,
    Newtype(&'static str),
    Enum,
    Bytes,
    F32,
}

/// What holds for a whole structure, and how deep in it we are.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub(super) arrivals: &'a [Arrival],
    pub(super) compact: bool,
    pub(super) max_depth: usize,
    /// Compounds around the node.
    pub(super) depth: usize,
    /// Times that a node answered in the place of its own inside: what ends `struct W(Box<W>)`.
    pub(super) passes: usize,
}

impl Context<'_> {
    pub(super) fn deeper(self) -> Result<Self> {
        match self.depth < self.max_depth {
            true => Ok(Context { depth: self.depth + 1, ..self }),
            false => Err(ErrorKind::Depth { limit: self.max_depth }.into()),
        }
    }

    pub(super) fn passed(self) -> Result<Self> {
        match self.passes < self.max_depth {
            true => Ok(Context { passes: self.passes + 1, ..self }),
            false => Err(ErrorKind::Depth { limit: self.max_depth }.into()),
        }
    }
}
