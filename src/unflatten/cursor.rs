//! Where a value is rebuilt from: a node, with the leaves below it. Nothing here depends on the type that is rebuilt, so it
//! is compiled once.

use serde::de::{self, Expected, Unexpected};

use crate::error::{Error, ErrorKind, Result};
use crate::leaf::Scalar;
use crate::leaf::leaf_type::{Flat, Number, Source, Taken};
use crate::model::{Arrival, Leaf, LeafKind, NodeKind, TreeDef, Value};
use crate::path::Key;
use crate::stack;
use crate::treedef::node::NodeRef;

use super::layout::FixedNode;

/// What stands at a cursor. No more than where to look, so that asking for a scalar moves nothing. It is a
/// [`Deserializer`](super::deserializer).
pub(super) struct NodeDeserializer<'c, 'de>(pub(super) &'c mut Cursor<'de>);

/// What serde may ask for what it holds: where the walk is, and what holds for the whole of it.
pub(super) struct Cursor<'de> {
    pub(super) at: At<'de>,
    /// If that is a name.
    name: &'de str,
    /// Whoever is asked counts: so a value that was made without asking for a child is found out.
    pub(super) requests: usize,
    pub(super) leaves: Source<'de>,
    pub(super) arrivals: &'de [Arrival],
    pub(super) compact: bool,
    max_depth: u32,
    /// The layout of the elements of the sequence that was last found to have one.
    pub(super) fixed: Option<Box<FixedNode<'de>>>,
    /// Room for the text of a character.
    character: [u8; 4],
}

/// A place in the structure.
#[derive(Clone, Copy)]
pub(super) struct At<'de> {
    pub(super) node: NodeRef<'de>,
    /// What the node is taken for: its own kind, or that of a variant's payload.
    pub(super) kind: NodeKind,
    /// It is the name of a field or a variant, which is a leaf where serde asks for a value.
    is_name: bool,
    /// Newtypes around the node that were not asked for.
    newtypes: u32,
    pub(super) level: Level<'de>,
}

/// What a node has in common with its siblings.
#[derive(Clone, Copy)]
pub(super) struct Level<'de> {
    /// The key, the static or the opaque leaf that holds them, and their leaves.
    pub(super) holder: Option<&'de Value>,
    /// Compounds that may still stand inside each other.
    depth_left: u32,
    /// Times that a node may still answer in the place of its own inside: what ends `struct W(Box<W>)`.
    passes_left: u32,
}

impl Level<'_> {
    /// Whether so many compounds may stand inside each other here.
    pub(super) fn admits(self, depth: u32) -> bool {
        depth <= self.depth_left
    }
}

impl<'de> Cursor<'de> {
    /// At the root of a structure.
    pub(super) fn new(treedef: &'de TreeDef, leaves: Source<'de>) -> Self {
        let compact = treedef.encoding.options.compact;
        let max_depth = stack::deepest(treedef.limits);
        Self::at(treedef.root(), leaves, treedef.arrivals(), compact, max_depth)
    }

    pub(super) fn at(
        node: NodeRef<'de>,
        leaves: Source<'de>,
        arrivals: &'de [Arrival],
        compact: bool,
        max_depth: usize,
    ) -> Self {
        // A limit beyond 2³² is none: so many nodes do not fit into memory.
        let levels = u32::try_from(max_depth).unwrap_or(u32::MAX);
        let level = Level { holder: None, depth_left: levels, passes_left: levels };
        let at = At { node, kind: node.kind(), is_name: false, newtypes: 0, level };
        Cursor {
            at,
            name: "",
            requests: 0,
            leaves,
            arrivals,
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

    /// Goes to one of the siblings that follow a node in its run. Field by field: what was written in parts is slow to be
    /// read as a whole.
    #[inline]
    pub(super) fn go_to_sibling(&mut self, node: &NodeRef<'de>, after: usize, level: Level<'de>) {
        let at = &mut self.at;
        at.node = *node;
        at.node.skip(after);
        (at.kind, at.is_name, at.newtypes) = (node.kind(), false, 0);
        at.level = level;
    }

    /// Goes to the root of a value that is a key.
    pub(super) fn go_to_key(&mut self, value: &'de Value, level: Level<'de>) {
        self.go(value.root(), Level { holder: Some(value), ..level });
    }

    /// Goes to a name, where serde asks for a value.
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

    /// Goes to what stands behind the name of a variant, as a value of its own.
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

    /// The same node once more, where serde asks for what is inside it.
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
        // Lossless: it came from a `usize`.
        stack::too_deep(self.max_depth as usize)
    }

    /// What stands in the place of the node: a static, or what an opaque leaf stands for.
    fn held(&self) -> Option<&'de Value> {
        let leaves: &'de [Leaf] = match (self.at.level.holder, &self.leaves) {
            _ if self.at.kind == NodeKind::Static => return self.at.node.static_value(),
            _ if self.at.is_name => return None,
            (Some(holder), _) => holder.leaves(),
            (None, Source::Leaves(leaves)) => leaves,
            _ => return None,
        };
        leaves.get(self.at.node.first_leaf())?.opaque()
    }

    /// Goes to the value that stands in the place of the node, if there is one.
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
            let newtypes = self.at.newtypes + 1; // no more than there are levels
            self.go_to_child()?;
            self.at.newtypes = newtypes;
            self.enter_held();
        }
        Ok(())
    }

    /// The index of the leaf, if it is one of those that the value is rebuilt from.
    #[inline]
    fn given(&self) -> Option<usize> {
        let At { node, kind, is_name, level, .. } = &self.at;
        let is_given = *kind == NodeKind::Leaf && level.holder.is_none() && !is_name;
        is_given.then(|| node.first_leaf())
    }

    /// The scalar, if the structure holds it: a name, or one in a key or static.
    fn kept(&self) -> Option<Scalar<'de>> {
        let At { node, kind, is_name, level, .. } = self.at;
        match kind {
            NodeKind::Leaf if is_name => Some(Scalar::Str(self.name)),
            NodeKind::Leaf => level.holder?.leaves().get(node.first_leaf())?.as_scalar(),
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

    /// The number that stands here.
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

    /// The text or the character that stands here.
    pub(super) fn text(&mut self) -> Option<Taken<'de>> {
        self.unwrap().ok()?;
        match self.scalar()? {
            Scalar::Str(_) | Scalar::Char(_) => self.take(),
            _ => None,
        }
    }

    /// The key or the name that stands here, where serde may ask for a field: below `#[serde(flatten)]` the keys of a map
    /// are fields, too.
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

    /// Whether this is nothing, which a unit is.
    pub(super) fn is_unit(&mut self) -> bool {
        self.unwrap().is_ok() && matches!(self.at.kind, NodeKind::Unit | NodeKind::UnitStruct)
    }

    /// Whether this is something with elements.
    pub(super) fn is_sequence(&mut self) -> bool {
        self.unwrap().is_ok()
            && matches!(self.at.kind, NodeKind::Seq | NodeKind::Tuple | NodeKind::TupleStruct)
    }

    /// Whether this is a sequence of `u8`.
    pub(super) fn is_bytes(&self) -> bool {
        let At { node, kind, level, .. } = self.at;
        let is_byte = |leaf: usize| match level.holder {
            None => matches!(self.leaves.scalar(leaf), Some(Scalar::U8(_))),
            Some(holder) => matches!(holder.leaves().get(leaf), Some(Leaf::U8(_))),
        };
        matches!(kind, NodeKind::Seq | NodeKind::Tuple)
            && node.runs().all(|(child, _)| child.kind() == NodeKind::Leaf)
            && node.leaf_range().all(is_byte)
    }

    /// The error of a visitor that expected something else.
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
    /// What a visitor said about the node, where the newtypes around it stand.
    #[cold]
    pub(super) fn outside(&self, error: Error) -> Error {
        (0..self.newtypes).fold(error, |error, _| error.under(Key::Position(0)))
    }

    /// What is wrong with a child, as an error of the node alone: see [`outside`](Self::outside).
    #[cold]
    pub(super) fn under(&self, error: Error, position: usize) -> Error {
        match self.node.key(position) {
            Some(key) => error.under(key),
            None => error,
        }
    }

    /// What is wrong with what stands behind the name of a variant.
    #[cold]
    pub(super) fn under_payload(&self, error: Error) -> Error {
        match self.kind {
            NodeKind::NewtypeVariant => self.under(error, 0),
            _ => error,
        }
    }

    /// Refuses a value that was made without a look at so many of the children.
    #[cold]
    pub(super) fn unread(&self, left: usize) -> Error {
        let children = self.node.num_children();
        self.outside(ErrorKind::Unread { children, read: children - left }.into())
    }
}

/// What names a field, a variant or an entry.
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
            Scalar::Bool(value) => Identifier::Bool(value),
            number => match Number::of(number)? {
                Number::U64(value) => Identifier::U64(value),
                Number::I64(value) => Identifier::I64(value),
                _ => return None,
            },
        })
    }
}
