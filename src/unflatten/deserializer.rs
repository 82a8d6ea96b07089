//! serde's side of rebuilding: a node with the leaves below it, as a deserializer.
//!
//! Every request passes [`answer`](NodeDeserializer::answer). A node answers with what it is; where types ask for
//! something else that means the same, it gives way:
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
//! Structs are always read by name, never by position.

use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;

use crate::error::{Error, ErrorKind, Result};
use crate::model::{LeafKind, Name, NodeKind, Value};
use crate::node::{Children, NodeRef};
use crate::path::Path;
use crate::stack;

use super::name::{NoPayload, Text};
use super::source::{Context, Request, Source};

pub(super) struct NodeDeserializer<'a, 'r, S> {
    node: NodeRef<'a>,
    /// What the node is taken for: its own kind, or that of a variant's payload.
    kind: NodeKind,
    context: Context<'a>,
    source: &'r mut S,
}

impl<'a, 'r, S> NodeDeserializer<'a, 'r, S> {
    pub(super) fn new(node: NodeRef<'a>, context: Context<'a>, source: &'r mut S) -> Self {
        NodeDeserializer { node, kind: node.kind(), context, source }
    }

    /// A value that stands inside another structure, in `context`; `source` has its leaves.
    pub(super) fn of_value<'v>(
        value: &'v Value,
        context: Context<'_>,
        source: &'r mut S,
    ) -> NodeDeserializer<'v, 'r, S> {
        let Context { compact, max_depth, depth, passes, .. } = context;
        let context = Context { arrivals: value.arrivals(), compact, max_depth, depth, passes };
        NodeDeserializer::new(value.parts().0, context, source)
    }
}

impl<'a, S> NodeDeserializer<'a, '_, S> {
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
                let mut leaves = S::kept(value.parts().1);
                return NodeDeserializer::of_value(value, context, &mut leaves)
                    .answer(request, visitor);
            }
            NodeKind::Leaf if self.source.kind(node.first_leaf()) == LeafKind::Opaque => {
                return self.source.replay(node.first_leaf(), request, context, visitor);
            }
            _ => {}
        }
        if self.kind == NodeKind::NewtypeStruct && matches!(request, Request::Bytes | Request::F32)
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
        }
    }

    #[inline]
    fn any<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value>
    where
        S: Source<'a, 'de>,
    {
        match self.kind {
            NodeKind::Leaf => self.source.visit(self.node.first_leaf(), visitor),
            NodeKind::None => visitor.visit_none(),
            NodeKind::Some => self.with_child(|child| visitor.visit_some(child)),
            NodeKind::Unit | NodeKind::UnitStruct | NodeKind::Static => visitor.visit_unit(),
            NodeKind::NewtypeStruct => self.with_child(|child| child.answer(Request::Any, visitor)),
            NodeKind::Seq | NodeKind::Tuple | NodeKind::TupleStruct => self.seq(visitor),
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
            NodeKind::None => visitor.visit_none(),
            NodeKind::Some => self.with_child(|child| visitor.visit_some(child)),
            NodeKind::Leaf if self.source.kind(self.node.first_leaf()) == LeafKind::None => {
                visitor.visit_none()
            }
            _ => {
                let passed = self.passed()?;
                stack::grow(|| visitor.visit_some(passed))
            }
        }
    }

    fn newtype<'de, V: Visitor<'de>>(self, name: &str, visitor: V) -> Result<V::Value>
    where
        S: Source<'a, 'de>,
    {
        match self.kind {
            NodeKind::NewtypeStruct => self.with_child(|child| visitor.visit_newtype_struct(child)),
            NodeKind::Struct if self.node.name() == Some(name) => self.any(visitor),
            _ => {
                let passed = self.passed()?;
                stack::grow(|| visitor.visit_newtype_struct(passed))
            }
        }
    }

    fn variant<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value>
    where
        S: Source<'a, 'de>,
    {
        let NodeDeserializer { node, kind, context, .. } = self;
        match kind {
            _ if kind.is_variant() => {
                let name: Text<'a, S> = Text::new(node.variant().unwrap_or_default(), context);
                let result = visitor.visit_enum(Enum { name, payload: Payload::Variant(self) });
                result.map_err(|error: Error| match error.kind() {
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
                visitor.visit_enum(Enum { name: self.passed()?, payload: NoPayload })
            }
            NodeKind::Map if node.num_children() == 1 => match node.keys().first() {
                Some(key) => {
                    let mut kept = S::kept(key.parts().1);
                    let name = NodeDeserializer::of_value(key, context, &mut kept);
                    visitor.visit_enum(Enum { name, payload: Payload::Plain(self) })
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
            return self.any(visitor).map_err(|error| match node.kind() {
                NodeKind::Leaf => {
                    error.hint("a type that borrows its bytes needs `unflatten_borrowed`")
                }
                _ => error,
            });
        }
        let bytes = Vec::<u8>::deserialize(self)?;
        visitor.visit_byte_buf(bytes).map_err(|error: Error| {
            error.hint("a plain `&[u8]` serializes as a sequence and cannot come back: annotate it with `serde_bytes`")
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
        let value = f64::deserialize(self)?;
        let narrowed = value as f32; // rounds, and overflows to infinity
        if value.is_finite() && narrowed.is_infinite() {
            let found = format!("floating point `{value:?}`");
            return Err(de::Error::invalid_value(Unexpected::Other(&found), &"f32"));
        }
        visitor.visit_f64(value)
    }

    fn seq<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value>
    where
        S: Source<'a, 'de>,
    {
        let NodeDeserializer { node, source, context, .. } = self;
        let mut elements =
            Elements { node, children: node.children(), context: context.deeper()?, source };
        let value = visitor.visit_seq(&mut elements)?;
        fully_read(node, elements.children.len())?;
        Ok(value)
    }

    fn map<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value>
    where
        S: Source<'a, 'de>,
    {
        let NodeDeserializer { node, kind, source, context } = self;
        let arrival =
            context.arrivals.binary_search_by_key(&node.first_map(), |arrival| arrival.map);
        let arrived = arrival
            .ok()
            .filter(|_| kind == NodeKind::Map)
            .and_then(|index| context.arrivals.get(index));
        let order = match arrived {
            None => Order::Canonical(node.children()),
            Some(arrival) => {
                Order::Arrival { order: &arrival.order, children: node.children().collect() }
            }
        };
        let mut entries = Entries {
            node,
            order,
            keys: 0,
            values: 0,
            value: None,
            context: context.deeper()?,
            source,
        };
        let value = visitor
            .visit_map(&mut entries)
            .map_err(|error| error.with_fields(|| field_names(node)))?;
        if kind == NodeKind::Map {
            // Visitors of structs may stop early; a map's entry that was not read is a loss.
            fully_read(node, node.num_children() - entries.values)?;
        }
        Ok(value)
    }

    /// Hands the only child to `f`.
    fn with_child<'de, R>(self, f: impl FnOnce(Self) -> Result<R>) -> Result<R>
    where
        S: Source<'a, 'de>,
    {
        let NodeDeserializer { node, source, context, .. } = self;
        let context = context.deeper()?;
        match node.child(0) {
            Some(child) => stack::grow(|| f(NodeDeserializer::new(child, context, source))),
            None => Err(Error::protocol("a node without its child")),
        }
        .map_err(|error| under(error, node, 0))
    }

    /// Hands the payload of a variant, as a plain value, to `f`.
    fn with_payload<'de, R>(self, f: impl FnOnce(Self) -> Result<R>) -> Result<R>
    where
        S: Source<'a, 'de>,
    {
        let kind = match self.kind {
            NodeKind::NewtypeVariant => return self.with_child(f),
            NodeKind::UnitVariant => NodeKind::Unit,
            NodeKind::TupleVariant => NodeKind::Tuple,
            NodeKind::StructVariant => NodeKind::Struct,
            kind => kind,
        };
        f(NodeDeserializer { kind, ..self })
    }

    fn passed(self) -> Result<Self> {
        Ok(NodeDeserializer { context: self.context.passed()?, ..self })
    }
}

#[cold]
fn under(error: Error, node: NodeRef<'_>, position: usize) -> Error {
    match node.key(position) {
        Some(key) => error.under(key),
        None => error,
    }
}

fn fully_read(node: NodeRef<'_>, left: usize) -> Result<()> {
    let children = node.num_children();
    match left {
        0 => Ok(()),
        left => Err(ErrorKind::Unread { children, read: children - left }.into()),
    }
}

/// What a struct is asked for by name; one with a flattened field is a map.
fn field_names(node: NodeRef<'_>) -> Vec<Name> {
    let keys = node.keys().iter().filter_map(Value::as_str).map(|key| Name::Owned(key.to_owned()));
    node.fields().iter().cloned().chain(keys).collect()
}

impl<'a, 'de, S: Source<'a, 'de>> Deserializer<'de> for NodeDeserializer<'a, '_, S> {
    type Error = Error;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.answer(Request::Any, visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.answer(Request::Option, visitor)
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

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.answer(Request::F32, visitor)
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        let node = self.node;
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

    /// Skips the node with all below it, at once.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_unit()
    }

    fn is_human_readable(&self) -> bool {
        !self.context.compact
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f64 char str string unit unit_struct seq tuple tuple_struct map
        identifier
    }
}

/// The elements of a sequence, a tuple or the like.
struct Elements<'a, 'r, S> {
    node: NodeRef<'a>,
    children: Children<'a>,
    context: Context<'a>,
    source: &'r mut S,
}

impl<'a, 'de, S: Source<'a, 'de>> de::SeqAccess<'de> for &mut Elements<'a, '_, S> {
    type Error = Error;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        let Some(child) = self.children.next() else { return Ok(None) };
        let place = NodeDeserializer::new(child, self.context, &mut *self.source);
        match stack::grow(|| seed.deserialize(place)) {
            Ok(value) => Ok(Some(value)),
            Err(error) => {
                Err(under(error, self.node, self.node.num_children() - self.children.len() - 1))
            }
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.children.len())
    }
}

/// The entries of a map, or the fields of a struct.
struct Entries<'a, 'r, S> {
    node: NodeRef<'a>,
    order: Order<'a>,
    /// Entries whose key was handed out, and those whose value was, too.
    keys: usize,
    values: usize,
    /// The value of the last of these, with its position, until it was handed out.
    value: Option<(usize, NodeRef<'a>)>,
    context: Context<'a>,
    source: &'r mut S,
}

enum Order<'a> {
    Canonical(Children<'a>),
    Arrival { order: &'a [usize], children: Vec<NodeRef<'a>> },
}

impl<'a, 'de, S: Source<'a, 'de>> de::MapAccess<'de> for &mut Entries<'a, '_, S> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        let (position, child) = match &mut self.order {
            Order::Canonical(children) => (self.keys, children.next()),
            Order::Arrival { order, children } => match order.get(self.keys) {
                Some(&position) => (position, children.get(position).copied()),
                None => (self.keys, None),
            },
        };
        let Some(child) = child else { return Ok(None) };
        self.keys += 1;
        self.value = Some((position, child));
        if let Some(name) = self.node.fields().get(position) {
            return seed.deserialize(Text::<S>::new(name, self.context)).map(Some);
        }
        let Some(key) = self.node.keys().get(position) else {
            return Err(Error::protocol("a map without its keys"));
        };
        let mut kept = S::kept(key.parts().1);
        let place = NodeDeserializer::of_value(key, self.context, &mut kept);
        // What leads on inside a key is no way inside the map.
        let key = stack::grow(|| seed.deserialize(place));
        key.map(Some).map_err(|error| error.at(Path::root()))
    }

    #[inline]
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        let Some((position, child)) = self.value.take() else {
            return Err(Error::protocol(
                "a `Deserialize` implementation asked for a map's value before its key",
            ));
        };
        self.values += 1;
        let place = NodeDeserializer::new(child, self.context, &mut *self.source);
        stack::grow(|| seed.deserialize(place)).map_err(|error| under(error, self.node, position))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.node.num_children() - self.keys)
    }
}

/// A variant with its payload, as a map from its name: what serde's buffers understand.
struct OneEntry<'a, 'r, S> {
    name: Option<Text<'a, S>>,
    payload: Option<NodeDeserializer<'a, 'r, S>>,
}

impl<'a, 'de, S: Source<'a, 'de>> de::MapAccess<'de> for OneEntry<'a, '_, S> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        self.name.take().map(|name| seed.deserialize(name)).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        match (&self.name, self.payload.take()) {
            (None, Some(payload)) => payload.with_payload(|payload| seed.deserialize(payload)),
            _ => Err(Error::protocol(
                "a `Deserialize` implementation asked for a map's value before its key",
            )),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(usize::from(self.name.is_some()))
    }
}

/// A variant: a deserializer for its name, and access to its payload.
struct Enum<N, P> {
    name: N,
    payload: P,
}

enum Payload<'a, 'r, S> {
    /// The node is a variant.
    Variant(NodeDeserializer<'a, 'r, S>),
    /// The node is a map of one entry.
    Plain(NodeDeserializer<'a, 'r, S>),
}

impl<'de, N, P> de::EnumAccess<'de> for Enum<N, P>
where
    N: Deserializer<'de, Error = Error>,
    P: de::VariantAccess<'de, Error = Error>,
{
    type Error = Error;
    type Variant = P;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, P)> {
        Ok((seed.deserialize(self.name)?, self.payload))
    }
}

impl<'a, 'r, S> Payload<'a, 'r, S> {
    fn with<'de, R>(self, f: impl FnOnce(NodeDeserializer<'a, 'r, S>) -> Result<R>) -> Result<R>
    where
        S: Source<'a, 'de>,
    {
        match self {
            Payload::Variant(node) => node.with_payload(f),
            Payload::Plain(node) => node.with_child(f),
        }
    }
}

impl<'a, 'de, S: Source<'a, 'de>> de::VariantAccess<'de> for Payload<'a, '_, S> {
    type Error = Error;

    fn unit_variant(self) -> Result<()> {
        self.with(<()>::deserialize)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value> {
        self.with(|payload| seed.deserialize(payload))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value> {
        self.with(|payload| payload.answer(Request::Any, visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.with(|payload| payload.answer(Request::Any, visitor))
    }
}
