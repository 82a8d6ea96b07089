//! The cursor of a walk that rebuilds a value.
//!
//! Nothing here depends on the type that is rebuilt, so it is compiled once.

use serde::de::{self, Expected, Unexpected};

use crate::call_stack;
use crate::error::{Error, ErrorKind, Result};
use crate::leaf::Scalar;
use crate::leaf::leaf_type::{Flat, Number, Source, Taken};
use crate::model::{Leaf, LeafKind, NodeKind, TreeDef, Value};
use crate::path::Key;
use crate::treedef::node_ref::NodeRef;

use super::layout::FixedNode;

/// The [`Deserializer`](super::deserializer) of the node at a cursor. It is only a reference, so
/// asking for a scalar moves nothing.
pub(super) struct NodeDeserializer<'c, 'de>(pub(super) &'c mut Cursor<'de>);

/// The current place of the walk, and the state of the whole walk.
pub(super) struct Cursor<'de> {
    pub(super) at: At<'de>,
    /// The current name, if `at.is_name` is set.
    name: &'de str,
    /// The number of requests for a value. If it does not change, a value was made without asking
    /// for its child.
    pub(super) requests: usize,
    pub(super) leaves: Source<'de>,
    pub(super) compact: bool,
    max_depth: u32,
    /// The layout of elements that was found last.
    pub(super) fixed: Option<Box<FixedNode<'de>>>,
    /// Room for the text of a character.
    character: [u8; 4],
}

/// A place in the structure.
#[derive(Clone, Copy)]
pub(super) struct At<'de> {
    pub(super) node: NodeRef<'de>,
    /// The kind that the node is treated as: its own, or that of the payload of a variant.
    pub(super) kind: NodeKind,
    /// The place is the name of a field or a variant, which is read like a leaf.
    is_name: bool,
    /// The number of newtypes around the node that were not asked for.
    newtypes: u32,
    pub(super) level: Level<'de>,
}

/// What siblings have in common.
#[derive(Clone, Copy)]
pub(super) struct Level<'de> {
    /// The key, static or opaque leaf that contains the siblings and holds their leaves.
    pub(super) holder: Option<&'de Value>,
    /// How many more levels of compounds are allowed.
    depth_left: u32,
    /// How many more times a node may answer in place of its inside. This ends `struct W(Box<W>)`.
    passes_left: u32,
}

impl Level<'_> {
    /// Whether `depth` more levels of compounds are allowed here.
    pub(super) fn admits(self, depth: u32) -> bool {
        depth <= self.depth_left
    }
}

impl<'de> Cursor<'de> {
    /// A cursor at the root of a structure.
    pub(super) fn new(treedef: &'de TreeDef, leaves: Source<'de>) -> Self {
        let compact = treedef.encoding.options.compact;
        let max_depth = call_stack::deepest(treedef.limits);
        Self::at(treedef.root(), leaves, compact, max_depth)
    }

    pub(super) fn at(
        node: NodeRef<'de>,
        leaves: Source<'de>,
        compact: bool,
        max_depth: usize,
    ) -> Self {
        // A limit beyond 2³² limits nothing: that many nodes do not fit into memory.
        let levels = u32::try_from(max_depth).unwrap_or(u32::MAX);
        let level = Level { holder: None, depth_left: levels, passes_left: levels };
        let at = At { node, kind: node.kind(), is_name: false, newtypes: 0, level };
        Cursor {
            at,
            name: "",
            requests: 0,
            leaves,
            compact,
            max_depth: levels,
            fixed: None,
            character: [0; 4],
        }
    }

    /// Goes to a node.
    #[inline]
    pub(super) fn go(&mut self, node: NodeRef<'de>, level: Level<'de>) {
        self.go_to_sibling(&node, 0, level);
    }

    /// Goes to a later sibling of a node in the same run. The fields are assigned one by one,
    /// because it is slow to copy a whole value that was just written in parts.
    #[inline]
    pub(super) fn go_to_sibling(&mut self, node: &NodeRef<'de>, after: usize, level: Level<'de>) {
        let at = &mut self.at;
        at.node = *node;
        at.node.skip(after);
        (at.kind, at.is_name, at.newtypes) = (node.kind(), false, 0);
        at.level = level;
    }

    /// Goes to the root of a key.
    pub(super) fn go_to_key(&mut self, value: &'de Value, level: Level<'de>) {
        self.go(value.root(), Level { holder: Some(value), ..level });
    }

    /// Goes to a name, which serde reads as a value.
    #[inline]
    pub(super) fn go_to_name(&mut self, name: &'de str, level: Level<'de>) {
        self.name = name;
        let kind = NodeKind::Leaf;
        self.at = At { node: self.at.node, kind, is_name: true, newtypes: 0, level };
    }

    /// Goes to the only child.
    pub(super) fn go_to_child(&mut self) -> Result<()> {
        let Some(node) = self.at.node.first_child() else {
            return Err(Error::from(ErrorKind::Internal("a node has no child")));
        };
        let level = self.deeper()?;
        self.go(node, level);
        Ok(())
    }

    /// Goes to the payload of a variant, which is then read as a value of its own.
    pub(super) fn go_to_payload(&mut self) -> Result<()> {
        self.at.newtypes = 0;
        self.at.kind = match self.at.kind {
            NodeKind::NewtypeVariant => return self.go_to_child(),
            NodeKind::UnitVariant => NodeKind::Unit,
            NodeKind::TupleVariant => NodeKind::Tuple,
            NodeKind::StructVariant => NodeKind::Struct,
            kind => kind,
        };
        Ok(())
    }

    /// Stays at the node, which answers in place of its inside.
    pub(super) fn pass(&mut self) -> Result<()> {
        match self.at.level.passes_left.checked_sub(1) {
            Some(left) => self.at.level.passes_left = left,
            None => return Err(self.too_deep()),
        }
        Ok(())
    }

    /// The level of the children.
    #[inline]
    pub(super) fn deeper(&self) -> Result<Level<'de>> {
        match self.at.level.depth_left.checked_sub(1) {
            Some(depth_left) => Ok(Level { depth_left, ..self.at.level }),
            None => Err(self.too_deep()),
        }
    }

    #[cold]
    fn too_deep(&self) -> Error {
        // Lossless, because it was a `usize` before.
        call_stack::too_deep(self.max_depth as usize)
    }

    /// The value in place of the node: a static, or the content of an opaque leaf.
    fn held(&self) -> Option<&'de Value> {
        match &self.leaves {
            _ if self.at.kind == NodeKind::Static => self.at.node.static_value(),
            // The leaves of a value that is kept are scalars (invariant 6 of the encoding).
            _ if self.at.is_name || self.at.level.holder.is_some() => None,
            Source::Leaves(leaves) => {
                let leaves: &'de [Leaf] = leaves;
                leaves.get(self.at.node.first_leaf())?.opaque()
            }
            _ => None,
        }
    }

    /// Goes to the value in place of the node, if there is one.
    #[inline]
    pub(super) fn enter(&mut self) {
        self.requests = self.requests.wrapping_add(1);
        if matches!(self.at.kind, NodeKind::Static | NodeKind::Leaf) {
            self.enter_held();
        }
    }

    fn enter_held(&mut self) {
        while matches!(self.at.kind, NodeKind::Static | NodeKind::Leaf)
            && let Some(value) = self.held()
        {
            self.at.node = value.root();
            self.at.kind = self.at.node.kind();
            self.at.level.holder = Some(value);
        }
    }

    /// Goes inside the newtypes around a node, but not into one whose name no Rust type can have:
    /// the visitor knows it.
    pub(super) fn unwrap_to_message(&mut self) -> Result<()> {
        self.enter();
        let is_message = |at: &At<'_>| at.node.name().is_some_and(|name| name.starts_with('$'));
        while self.at.kind == NodeKind::NewtypeStruct && !is_message(&self.at) {
            self.unwrap_newtype()?;
        }
        Ok(())
    }

    /// Goes inside the newtypes around a node.
    #[inline]
    pub(super) fn unwrap(&mut self) -> Result<()> {
        self.enter();
        match self.at.kind {
            NodeKind::NewtypeStruct => self.unwrap_newtypes(),
            _ => Ok(()),
        }
    }

    fn unwrap_newtypes(&mut self) -> Result<()> {
        while self.at.kind == NodeKind::NewtypeStruct {
            self.unwrap_newtype()?;
        }
        Ok(())
    }

    fn unwrap_newtype(&mut self) -> Result<()> {
        let newtypes = self.at.newtypes + 1; // at most the number of levels
        self.go_to_child()?;
        self.at.newtypes = newtypes;
        self.enter_held();
        Ok(())
    }

    /// The index of the leaf, if it is one of the leaves given for rebuilding.
    #[inline]
    fn given(&self) -> Option<usize> {
        let At { node, kind, is_name, level, .. } = &self.at;
        let is_given = *kind == NodeKind::Leaf && level.holder.is_none() && !is_name;
        is_given.then(|| node.first_leaf())
    }

    /// The scalar, if the structure holds it: a name, or a scalar in a key, a static or an opaque
    /// leaf.
    fn kept(&self) -> Option<Scalar<'de>> {
        let At { node, kind, is_name, level, .. } = self.at;
        match kind {
            NodeKind::Leaf if is_name => Some(Scalar::Str(self.name)),
            NodeKind::Leaf => level.holder?.scalar(node.first_leaf()),
            NodeKind::UnitVariant => node.variant().map(Scalar::Str),
            _ => None,
        }
    }

    /// The scalar, if the node is one.
    #[inline]
    pub(super) fn scalar(&self) -> Option<Scalar<'_>> {
        match self.given() {
            Some(leaf) => self.leaves.scalar(leaf),
            None => self.kept(),
        }
    }

    /// The kind of the scalar, if the node is one.
    pub(super) fn leaf_kind(&self) -> Option<LeafKind> {
        self.scalar().map(Scalar::kind)
    }

    /// Takes the scalar, if the node is one.
    pub(super) fn take(&mut self) -> Option<Taken<'de>> {
        match self.given() {
            Some(leaf) => self.leaves.take(leaf),
            None => self.kept().map(Taken::Scalar),
        }
    }

    /// The number at the cursor.
    #[inline]
    pub(super) fn number(&mut self) -> Option<Number> {
        if let Some(leaf) = self.given() {
            self.requests = self.requests.wrapping_add(1);
            if let Some(number) = self.leaves.number(leaf) {
                return Some(number);
            }
        }
        self.held_number()
    }

    #[inline(never)]
    fn held_number(&mut self) -> Option<Number> {
        self.unwrap().ok()?;
        Number::of(self.scalar()?)
    }

    /// The text, the character or the bytes at the cursor.
    pub(super) fn text(&mut self) -> Option<Taken<'de>> {
        self.unwrap().ok()?;
        match self.scalar()? {
            Scalar::Str(_) | Scalar::Char(_) | Scalar::Bytes(_) => self.take(),
            _ => None,
        }
    }

    /// The key or the name at the cursor, for a request for a field. Below `#[serde(flatten)]` the
    /// keys of a map are fields, too.
    pub(super) fn identifier(&mut self) -> Option<Identifier<'de, '_>> {
        if self.at.is_name {
            self.requests = self.requests.wrapping_add(1);
            return Some(Identifier::Lent(self.name));
        }
        self.unwrap().ok()?;
        if let Some(Scalar::Char(value)) = self.scalar() {
            return Some(Identifier::Text(value.encode_utf8(&mut self.character)));
        }
        let lent = match self.given() {
            Some(leaf) => self.leaves.lent_text(leaf),
            None => match self.kept() {
                Some(Scalar::Str(text)) => Some(text),
                _ => None,
            },
        };
        match lent {
            Some(text) => Some(Identifier::Lent(text)),
            None => Identifier::of(self.scalar()?),
        }
    }

    pub(super) fn boolean(&mut self) -> Option<bool> {
        self.unwrap().ok()?;
        match self.scalar()? {
            Scalar::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// Whether this is a unit.
    pub(super) fn is_unit(&mut self) -> bool {
        self.unwrap().is_ok() && matches!(self.at.kind, NodeKind::Unit | NodeKind::UnitStruct)
    }

    /// Whether this is a sequence, a tuple or a tuple struct.
    pub(super) fn is_sequence(&mut self) -> bool {
        self.unwrap().is_ok()
            && matches!(self.at.kind, NodeKind::Seq | NodeKind::Tuple | NodeKind::TupleStruct)
    }

    /// Whether this is a sequence of `u8`.
    pub(super) fn is_bytes(&self) -> bool {
        let At { node, kind, level, .. } = self.at;
        let is_byte = |leaf: usize| match level.holder {
            None => matches!(self.leaves.scalar(leaf), Some(Scalar::U8(_))),
            Some(holder) => matches!(holder.scalar(leaf), Some(Scalar::U8(_))),
        };
        matches!(kind, NodeKind::Seq | NodeKind::Tuple)
            && node.runs().all(|(child, _)| child.kind() == NodeKind::Leaf)
            && node.leaf_range().all(is_byte)
    }

    /// The error for a visitor that expected something else.
    #[cold]
    pub(super) fn unexpected(&mut self, expected: &dyn Expected) -> Error {
        if let Err(error) = self.unwrap() {
            return error;
        }
        let other;
        let found = match (self.at.kind, self.scalar()) {
            (_, Some(Scalar::Bool(value))) => Unexpected::Bool(value),
            (_, Some(Scalar::Char(value))) => Unexpected::Char(value),
            (_, Some(Scalar::Str(text))) => Unexpected::Str(text),
            (_, Some(Scalar::Bytes(bytes))) => Unexpected::Bytes(bytes),
            (_, Some(Scalar::None)) => Unexpected::Option,
            (_, Some(number)) => match Number::of(number) {
                Some(Number::U64(value)) => Unexpected::Unsigned(value),
                Some(Number::I64(value)) => Unexpected::Signed(value),
                Some(Number::F64(value)) => Unexpected::Float(value),
                Some(Number::F32(value)) => Unexpected::Float(value.into()),
                Some(Number::I128(value)) => {
                    other = format!("integer `{}` as i128", value.get());
                    Unexpected::Other(&other)
                }
                Some(Number::U128(value)) => {
                    other = format!("integer `{}` as u128", value.get());
                    Unexpected::Other(&other)
                }
                None => Unexpected::Other("something else"),
            },
            (NodeKind::None | NodeKind::Some, _) => Unexpected::Option,
            (NodeKind::Unit | NodeKind::UnitStruct | NodeKind::Static, _) => Unexpected::Unit,
            (NodeKind::Seq | NodeKind::Tuple | NodeKind::TupleStruct, _) => Unexpected::Seq,
            _ => Unexpected::Map,
        };
        let error = de::Error::invalid_type(found, expected);
        self.at.outside(error)
    }
}

impl At<'_> {
    /// Adds the newtypes around the node to the path of a visitor's error.
    #[cold]
    pub(super) fn outside(&self, error: Error) -> Error {
        let error = match error.kind() {
            // serde says nothing of what it tried.
            ErrorKind::Message(message)
                if error.is_at_root() && message.contains("did not match any variant") =>
            {
                error.with_hint(format!("here is `{}`", self.node.brief()))
            }
            _ => error,
        };
        (0..self.newtypes).fold(error, |error, _| error.under(Key::Position(0)))
    }

    /// Adds the key of a child to the path of its error, but not the newtypes around the node: see
    /// [`outside`](Self::outside).
    #[cold]
    pub(super) fn under(&self, error: Error, position: usize) -> Error {
        match self.node.key(position) {
            Some(key) => error.under(key),
            None => error,
        }
    }

    /// Adds the payload of a variant to the path of an error.
    #[cold]
    pub(super) fn under_payload(&self, error: Error) -> Error {
        match self.kind {
            NodeKind::NewtypeVariant => self.under(error, 0),
            _ => error,
        }
    }

    /// The error for a value that was made although `left` children were not read.
    #[cold]
    pub(super) fn unread(&self, left: usize) -> Error {
        let children = self.node.num_children();
        self.outside(ErrorKind::Unread { children, read: children - left }.into())
    }
}

/// The name of a field, a variant or an entry.
pub(super) enum Identifier<'de, 'c> {
    Lent(&'de str),
    Text(&'c str),
    U64(u64),
    I64(i64),
    Bool(bool),
}

impl<'c> Identifier<'_, 'c> {
    fn of(scalar: Scalar<'c>) -> Option<Self> {
        Some(match scalar {
            Scalar::Str(text) => Identifier::Text(text),
            // Not by `visit_bytes`, which the compiler would then make of every struct.
            Scalar::Bytes(bytes) => Identifier::Text(std::str::from_utf8(bytes).ok()?),
            Scalar::Bool(value) => Identifier::Bool(value),
            number => match Number::of(number)? {
                Number::U64(value) => Identifier::U64(value),
                Number::I64(value) => Identifier::I64(value),
                _ => return None,
            },
        })
    }
}
