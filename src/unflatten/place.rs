//! A node with the leaves below it, and how it is handed to serde.

use crate::error::{Error, ErrorKind, Result};
use crate::model::{Name, NodeKind, Value};
use crate::node::NodeRef;
use crate::stack;

use super::source::{Context, Source};

/// A node as serde sees it: no more than where to look, so that asking for a scalar moves nothing.
pub(super) struct NodeDeserializer<'p, 'a, 'r, S>(pub(super) &'p mut Place<'a, 'r, S>);

/// A node with the leaves below it.
pub(super) struct Place<'a, 'r, S> {
    pub(super) node: NodeRef<'a>,
    /// What the node is taken for: its own kind, or that of a variant's payload.
    pub(super) kind: NodeKind,
    pub(super) context: Context<'a, 'r>,
    pub(super) source: &'r mut S,
    /// Somebody asked what stands here.
    pub(super) asked: bool,
}

impl<'a, 'r, S> Place<'a, 'r, S> {
    pub(super) fn new(node: NodeRef<'a>, context: Context<'a, 'r>, source: &'r mut S) -> Self {
        Place { node, kind: node.kind(), context, source, asked: false }
    }

    /// A value that stands inside another structure, in the context of its own; `source` has its leaves.
    pub(super) fn of_value(value: &'a Value, context: Context<'a, 'r>, source: &'r mut S) -> Self {
        Place::new(value.parts().0, context, source)
    }

    /// Hands the only child to `f`.
    #[inline]
    pub(super) fn with_child<'de, R>(self, f: impl FnOnce(Self) -> Result<R>) -> Result<R>
    where
        S: Source<'a, 'de>,
    {
        let Place { node, source, context, .. } = self;
        let context = context.deeper()?;
        match node.first_child() {
            Some(child) => stack::grow(|| f(Place::new(child, context, source))),
            None => Err(Error::protocol("a node without its child")),
        }
        .map_err(|error| under(error, node, 0))
    }

    /// Hands the only child to serde, and makes sure that it was asked for.
    #[inline]
    pub(super) fn with_asked_child<'de, R>(
        self,
        f: impl FnOnce(NodeDeserializer<'_, 'a, '_, S>) -> Result<R>,
    ) -> Result<R>
    where
        S: Source<'a, 'de>,
    {
        let node = self.node;
        let (result, asked) = self.with_child(|mut child| {
            let result = f(child.lend())?;
            Ok((result, child.asked))
        })?;
        fully_read(node, usize::from(!asked))?;
        Ok(result)
    }

    /// Hands the payload of a variant, as a plain value, to `f`.
    pub(super) fn with_payload<'de, R>(self, f: impl FnOnce(Self) -> Result<R>) -> Result<R>
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
        f(Place { kind, ..self })
    }

    /// The same place for the time being.
    #[inline]
    pub(super) fn reborrow(&mut self) -> Place<'a, '_, S> {
        Place { source: &mut *self.source, ..*self }
    }

    /// The node for serde to ask.
    #[inline]
    pub(super) fn lend(&mut self) -> NodeDeserializer<'_, 'a, 'r, S> {
        NodeDeserializer(self)
    }

    pub(super) fn passed(self) -> Result<Self> {
        Ok(Place { context: self.context.passed()?, ..self })
    }
}

#[cold]
pub(super) fn under(error: Error, node: NodeRef<'_>, position: usize) -> Error {
    match node.key(position) {
        Some(key) => error.under(key),
        None => error,
    }
}

#[inline]
pub(super) fn fully_read(node: NodeRef<'_>, left: usize) -> Result<()> {
    let children = node.num_children();
    match left {
        0 => Ok(()),
        left => Err(ErrorKind::Unread { children, read: children - left }.into()),
    }
}

/// What a struct is asked for by name; one with a flattened field is a map.
pub(super) fn field_names(node: NodeRef<'_>) -> Vec<Name> {
    let keys = node.keys().iter().filter_map(Value::as_str).map(|key| Name::Owned(key.to_owned()));
    node.fields().iter().cloned().chain(keys).collect()
}

/// Calls what is slower in any case. Its result comes back in a place of its own, so that what is made the other way, which
/// is compiled into the caller, need not stand in memory to be copied from there.
#[inline(always)]
pub(super) fn aside<R>(f: impl FnOnce() -> Result<R>) -> Result<R> {
    #[inline(never)]
    fn put<R>(place: &mut Option<Result<R>>, f: impl FnOnce() -> Result<R>) {
        *place = Some(f());
    }
    let mut result = None;
    put(&mut result, f);
    result.unwrap_or_else(|| Err(Error::protocol("no result")))
}
