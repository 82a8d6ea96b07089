//! serde's side of rebuilding: a node with the leaves below it, as a deserializer.
//!
//! A node answers with what it is; where types ask for something else that means the same, it gives way. The usual
//! requests are answered at once, all others pass [`answer`](Place::answer):
//!
//! | asked for | of | answer |
//! |---|---|---|
//! | option | neither None nor Some | `Some` of the node |
//! | newtype struct | another kind | the node as the inside; a struct of that very name as itself |
//! | enum | a string leaf, a map of one entry | the variant of that name |
//! | anything | a newtype | its inside |
//! | anything | a variant (serde's buffers ask so) | its name, or a map from its name to its payload |
//! | payload | another form of payload | that payload as a plain value |
//! | bytes | a sequence of `u8` | the bytes |
//!
//! Structs are read by name; those of numbers perhaps by position, [elsewhere](super::rigid).

use std::cell::Cell;

use serde::Deserialize;
use serde::de::{self, Deserializer, Unexpected, Visitor};

use crate::error::{Error, ErrorKind, Result};
use crate::float::{narrow, widen};
use crate::model::{LeafKind, NodeKind};
use crate::node::NodeRef;
use crate::stack;

use super::elements::Elements;
use super::entries::{Entries, OneEntry};
use super::name::{NoPayload, Text};
use super::place::{NodeDeserializer, Place, field_names, fully_read};
use super::rigid::{RigidElements, rigid_element};
use super::scalars::Scalars;
use super::source::{Request, Source, requests, scalar_requests};
use super::variants::{Enum, Payload};

impl<'a, 'r, S> Place<'a, 'r, S> {
    #[inline]
    pub(super) fn answer<'de, V: Visitor<'de>>(
        self,
        request: Request,
        visitor: V,
    ) -> Result<V::Value>
    where
        S: Source<'a, 'de>,
    {
        let (node, context) = (self.node, self.context);
        match self.kind {
            NodeKind::Static => {
                let Some(value) = node.static_value() else { return self.any(visitor) };
                let (mut leaves, shared) = (S::kept(value.parts().1), context.shared_for(value));
                return Place::of_value(value, context.inside(&shared), &mut leaves)
                    .answer(request, visitor);
            }
            NodeKind::Leaf => {
                if let Some(value) = self.source.opaque(node.first_leaf()) {
                    let (mut leaves, shared) =
                        (S::kept(value.parts().1), context.shared_for(value));
                    return Place::of_value(value, context.inside(&shared), &mut leaves)
                        .answer(request, visitor);
                }
            }
            _ => {}
        }
        if self.kind == NodeKind::NewtypeStruct
            && matches!(request, Request::Bytes | Request::F32 | Request::F64)
        {
            return self.with_child(|child| child.answer(request, visitor));
        }
        match request {
            Request::Any => self.any(visitor),
            Request::Option => self.option(visitor),
            Request::Newtype(name) => self.newtype(name, visitor),
            Request::Enum => self.variant(visitor),
            Request::Bytes => self.bytes(visitor),
            Request::F32 => self.f32(visitor),
            Request::F64 => self.f64(visitor),
        }
    }

    #[inline]
    fn any<'de, V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value>
    where
        S: Source<'a, 'de>,
    {
        match self.kind {
            NodeKind::Leaf => self.source.visit(self.node.first_leaf(), visitor),
            NodeKind::None => visitor.visit_none(),
            NodeKind::Some => self.with_asked_child(|child| visitor.visit_some(child)),
            NodeKind::Unit | NodeKind::UnitStruct | NodeKind::Static => visitor.visit_unit(),
            NodeKind::NewtypeStruct => self.with_child(|child| child.answer(Request::Any, visitor)),
            NodeKind::Seq | NodeKind::Tuple | NodeKind::TupleStruct => self.elements(visitor),
            NodeKind::Map | NodeKind::Struct => self.map(visitor),
            NodeKind::UnitVariant => S::text(self.node.variant().unwrap_or_default(), visitor),
            NodeKind::NewtypeVariant | NodeKind::TupleVariant | NodeKind::StructVariant => {
                let name = Text::new(self.node.variant().unwrap_or_default(), self.context);
                visitor.visit_map(OneEntry::<S> { name: Some(name), payload: Some(self) })
            }
        }
    }

    fn option<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value>
    where
        S: Source<'a, 'de>,
    {
        match self.kind {
            // A `Some(())` has a node of its own.
            NodeKind::None | NodeKind::Unit => visitor.visit_none(),
            NodeKind::Some => self.with_asked_child(|child| visitor.visit_some(child)),
            NodeKind::Leaf if self.source.kind(self.node.first_leaf()) == LeafKind::None => {
                visitor.visit_none()
            }
            _ => {
                let mut passed = self.passed()?;
                stack::grow(|| visitor.visit_some(passed.lend()))
            }
        }
    }

    fn newtype<'de, V: Visitor<'de>>(self, name: &str, visitor: V) -> Result<V::Value>
    where
        S: Source<'a, 'de>,
    {
        match self.kind {
            NodeKind::NewtypeStruct => {
                self.with_asked_child(|child| visitor.visit_newtype_struct(child))
            }
            NodeKind::Struct if self.node.name() == Some(name) => self.any(visitor),
            _ => {
                let mut passed = self.passed()?;
                stack::grow(|| visitor.visit_newtype_struct(passed.lend()))
            }
        }
    }

    fn variant<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value>
    where
        S: Source<'a, 'de>,
    {
        let Place { node, kind, context, .. } = self;
        match kind {
            _ if kind.is_variant() => {
                let name: Text<'a, '_, S> = Text::new(node.variant().unwrap_or_default(), context);
                let asked = Cell::new(false);
                let payload = Payload { place: self, is_variant: true, asked: &asked };
                let result = visitor.visit_enum(Enum { name, payload });
                expect_asked(result, node, &asked).map_err(|error: Error| match error.kind() {
                    ErrorKind::UnknownVariant { .. } if error.path().is_root() => {
                        error.hint("a variant renamed for one direction only cannot come back")
                    }
                    _ => error,
                })
            }
            NodeKind::NewtypeStruct => {
                self.with_child(|child| child.answer(Request::Enum, visitor))
            }
            NodeKind::Leaf if self.source.kind(node.first_leaf()) == LeafKind::Str => {
                let mut passed = self.passed()?;
                visitor.visit_enum(Enum { name: passed.lend(), payload: NoPayload })
            }
            NodeKind::Map if node.num_children() == 1 => match node.keys().first() {
                Some(key) => {
                    let (mut kept, shared) = (S::kept(key.parts().1), context.shared_for(key));
                    let mut name = Place::of_value(key, context.inside(&shared), &mut kept);
                    let asked = Cell::new(false);
                    let payload = Payload { place: self, is_variant: false, asked: &asked };
                    let result = visitor.visit_enum(Enum { name: name.lend(), payload });
                    expect_asked(result, node, &asked)
                }
                None => self.any(visitor),
            },
            _ => self.any(visitor),
        }
    }

    fn bytes<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value>
    where
        S: Source<'a, 'de>,
    {
        let node = self.node;
        let is_bytes = matches!(self.kind, NodeKind::Seq | NodeKind::Tuple)
            && node.runs().all(|(child, _)| child.kind() == NodeKind::Leaf)
            && node.leaf_range().all(|leaf| self.source.kind(leaf) == LeafKind::U8);
        if !is_bytes {
            return self.any(visitor).map_err(|error| match wants_to_borrow(&error) {
                true if node.kind() == NodeKind::Leaf => {
                    error.hint("a type that borrows its bytes needs `unflatten_borrowed`")
                }
                _ => error,
            });
        }
        let mut place = self;
        let bytes = Vec::<u8>::deserialize(place.lend())?;
        visitor.visit_byte_buf(bytes).map_err(|error: Error| match wants_to_borrow(&error) {
            true => error.hint("a plain `&[u8]` serializes as a sequence and cannot come back: annotate it with `serde_bytes`"),
            false => error,
        })
    }

    /// serde turns a finite `f64` beyond the range of `f32` into infinity.
    fn f32<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value>
    where
        S: Source<'a, 'de>,
    {
        if self.kind != NodeKind::Leaf || self.source.kind(self.node.first_leaf()) != LeafKind::F64
        {
            return self.any(visitor);
        }
        let mut place = self;
        let value = f64::deserialize(place.lend())?;
        let narrowed = narrow(value); // rounds, and overflows to infinity
        if value.is_nan() {
            return visitor.visit_f32(narrowed);
        }
        if value.is_finite() && narrowed.is_infinite() {
            let found = format!("floating point `{value:?}`");
            return Err(de::Error::invalid_value(Unexpected::Other(&found), &"f32"));
        }
        visitor.visit_f64(value)
    }

    /// serde makes a signalling NaN a quiet one.
    fn f64<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value>
    where
        S: Source<'a, 'de>,
    {
        if self.kind != NodeKind::Leaf || self.source.kind(self.node.first_leaf()) != LeafKind::F32
        {
            return self.any(visitor);
        }
        let mut place = self;
        let value = f32::deserialize(place.lend())?;
        if value.is_nan() { visitor.visit_f64(widen(value)) } else { visitor.visit_f32(value) }
    }

    /// Whether the children are all leaves, and so many. That is mostly a constant, so the checks of each fold away.
    #[inline(always)]
    fn has_only_leaves(&self, count: Option<usize>) -> bool {
        let of_that_many = count.is_none_or(|count| self.node.num_children() == count);
        of_that_many && self.node.has_only_leaves()
    }

    /// Children that are all leaves.
    #[inline(always)]
    fn scalars<'de, V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value>
    where
        S: Source<'a, 'de>,
    {
        let Place { node, source, context, .. } = self;
        let leaves = source.part(node.leaf_range());
        let mut scalars = Scalars::of(*node, context.deeper()?, leaves);
        // Handed on as it is, so that it is made where it is to be.
        let result = visitor.visit_seq(&mut scalars);
        if result.is_ok() {
            fully_read(*node, scalars.left())?;
        }
        result
    }

    #[inline(never)]
    fn elements<'de, V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value>
    where
        S: Source<'a, 'de>,
    {
        self.with_elements(|elements| visitor.visit_seq(elements))
    }

    /// The elements of a sequence of any length.
    #[inline(never)]
    fn many_elements<'de, V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value>
    where
        S: Source<'a, 'de>,
    {
        self.with_elements(|elements| {
            if S::STAY
                && let Some(node) = rigid_element(elements)
            {
                return visitor.visit_seq(RigidElements::new(elements, &node));
            }
            visitor.visit_seq(elements)
        })
    }

    #[inline(always)]
    fn with_elements<'de, R>(
        &mut self,
        visit: impl FnOnce(&mut Elements<'a, '_, S>) -> Result<R>,
    ) -> Result<R>
    where
        S: Source<'a, 'de>,
    {
        let Place { node, source, context, .. } = self;
        let mut elements = Elements::of(*node, context.deeper()?, &mut **source);
        let result = visit(&mut elements);
        if result.is_ok() {
            fully_read(*node, elements.len())?;
        }
        result
    }

    fn map<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value>
    where
        S: Source<'a, 'de>,
    {
        let Place { node, kind, source, context, .. } = self;
        let mut entries = Entries::of(node, kind, context, source)?;
        let value = visitor
            .visit_map(&mut entries)
            .map_err(|error| error.with_fields(|| field_names(node)))?;
        if kind == NodeKind::Map {
            // Visitors of structs may stop early; a map's entry that was not read is a loss.
            fully_read(node, node.num_children() - entries.values())?;
        }
        Ok(value)
    }
}

/// Whether a visitor refused what was not lent to it for long enough.
fn wants_to_borrow(error: &Error) -> bool {
    error.refused_type().is_some_and(|(_, expected)| expected.contains("borrowed"))
}

/// Refuses a value that was made without a look at the children of its variant.
fn expect_asked<T>(result: Result<T>, node: NodeRef<'_>, asked: &Cell<bool>) -> Result<T> {
    let value = result?;
    let unread = if asked.get() { 0 } else { node.num_children() };
    fully_read(node, unread)?;
    Ok(value)
}

impl<'a, S> NodeDeserializer<'_, 'a, '_, S> {
    #[inline(never)]
    fn answer<'de, V: Visitor<'de>>(self, request: Request, visitor: V) -> Result<V::Value>
    where
        S: Source<'a, 'de>,
    {
        self.0.asked = true;
        self.0.reborrow().answer(request, visitor)
    }

    /// Most requests are for a scalar, an option or a sequence, and get it.
    #[inline]
    fn scalar<'de, V: Visitor<'de>>(self, request: Request, visitor: V) -> Result<V::Value>
    where
        S: Source<'a, 'de>,
    {
        self.0.asked = true;
        if self.0.kind == NodeKind::Leaf {
            let index = self.0.node.first_leaf();
            if request.is_for_scalar(self.0.source.kind(index)) {
                return self.0.source.visit(index, visitor);
            }
        }
        self.answer(request, visitor)
    }

    #[inline]
    fn option<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value>
    where
        S: Source<'a, 'de>,
    {
        self.0.asked = true;
        match self.0.kind {
            NodeKind::None => visitor.visit_none(),
            NodeKind::Some => self.0.reborrow().with_asked_child(|child| visitor.visit_some(child)),
            _ => self.answer(Request::Option, visitor),
        }
    }

    #[inline]
    fn sequence<'de, V: Visitor<'de>>(self, count: Option<usize>, visitor: V) -> Result<V::Value>
    where
        S: Source<'a, 'de>,
    {
        self.0.asked = true;
        match self.0.kind {
            NodeKind::Seq | NodeKind::Tuple | NodeKind::TupleStruct => {
                match (self.0.has_only_leaves(count), count) {
                    (true, _) => self.0.scalars(visitor),
                    (false, Some(_)) => self.0.elements(visitor),
                    (false, None) => self.0.many_elements(visitor),
                }
            }
            _ => self.answer(Request::Any, visitor),
        }
    }

    #[inline]
    fn any<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value>
    where
        S: Source<'a, 'de>,
    {
        match self.0.kind {
            NodeKind::Leaf => self.scalar(Request::Any, visitor),
            _ => self.sequence(None, visitor),
        }
    }

    /// Skips the node with all below it, at once.
    fn ignored<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value>
    where
        S: Source<'a, 'de>,
    {
        self.0.asked = true;
        visitor.visit_unit()
    }

    /// A struct by its names.
    pub(super) fn by_name<'de, V: Visitor<'de>>(
        self,
        name: &str,
        fields: &[&str],
        visitor: V,
    ) -> Result<V::Value>
    where
        S: Source<'a, 'de>,
    {
        let node = self.0.node;
        self.answer(Request::Any, visitor).map_err(|error| {
            if name == "$__serde_spanned_private_Spanned" {
                return error.hint("a `Spanned` serializes as its value alone and cannot come back: keep spans elsewhere");
            }
            let unknown = || node.fields().iter().any(|field| !fields.contains(&field.as_ref()));
            match error.kind() {
                ErrorKind::MissingField { .. } if error.path().is_root() && unknown() => error.hint(
                    "the type does not know all of these: a field renamed for one direction only cannot come back",
                ),
                _ => error,
            }
        })
    }
}

impl<'a, 'de, S: Source<'a, 'de>> Deserializer<'de> for NodeDeserializer<'_, 'a, '_, S> {
    type Error = Error;

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.by_name(name, fields, visitor)
    }

    fn is_human_readable(&self) -> bool {
        !self.0.context.shared.compact
    }

    requests!();
}
