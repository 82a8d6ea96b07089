//! The canonical order of values, in which maps keep their keys. Frozen: saved treedefs and fingerprints depend on it.

use std::cmp::Ordering;

use crate::leaf::Scalar;
use crate::model::{Leaf, LeafKind, Name, NodeKind, Value};
use crate::node::{Children, NodeRef};

/// Kinds in the order of [`LeafKind`] and [`NodeKind`], integers by value and then width, floats by `total_cmp`,
/// strings by bytes, everything else lexicographically.
impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.as_str(), other.as_str()) {
            (Some(a), Some(b)) => a.cmp(b),
            _ => Tokens::of(self).cmp(Tokens::of(other)),
        }
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Value {
    /// How a scalar is ordered beside this value.
    pub(crate) fn order_of(&self, scalar: Scalar<'_>) -> Option<Ordering> {
        match (scalar, self.as_leaf()?) {
            (Scalar::Str(text), Leaf::Str(known)) => Some(text.cmp(known)),
            (scalar, known) => {
                Some(ScalarRank::of(scalar).cmp(&ScalarRank::of(known.as_scalar()?)))
            }
        }
    }
}

/// What a walk through a value meets. A shorter sequence ends first, so `Close` comes before everything.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Token<'a> {
    Close,
    Field(&'a Name),
    Key(&'a Value),
    Scalar(ScalarRank<'a>),
    Node(NodeKind, Option<&'a str>, Option<&'a str>),
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum ScalarRank<'a> {
    Bool(bool),
    /// Negative numbers first, in two's complement; then by width, of one width the signed first.
    Integer(bool, u128, (u32, LeafKind)),
    F32(FloatBits<i32>),
    F64(FloatBits<i64>),
    Char(char),
    Str(&'a str),
    Bytes(&'a [u8]),
    /// No scalar: never part of a value (invariant 6 of the encoding).
    None,
}

/// Bits of a float, arranged so that integers compare as `total_cmp` does.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct FloatBits<B>(B);

impl<'a> ScalarRank<'a> {
    fn of(scalar: Scalar<'a>) -> Self {
        let signed = |value: i128, width| {
            ScalarRank::Integer(value >= 0, value.cast_unsigned(), (width, scalar.kind()))
        };
        let unsigned =
            |value: u128, width| ScalarRank::Integer(true, value, (width, scalar.kind()));
        match scalar {
            Scalar::Bool(value) => ScalarRank::Bool(value),
            Scalar::I8(value) => signed(value.into(), 8),
            Scalar::I16(value) => signed(value.into(), 16),
            Scalar::I32(value) => signed(value.into(), 32),
            Scalar::I64(value) => signed(value.into(), 64),
            Scalar::I128(value) => signed(value, 128),
            Scalar::U8(value) => unsigned(value.into(), 8),
            Scalar::U16(value) => unsigned(value.into(), 16),
            Scalar::U32(value) => unsigned(value.into(), 32),
            Scalar::U64(value) => unsigned(value.into(), 64),
            Scalar::U128(value) => unsigned(value, 128),
            Scalar::F32(value) => {
                let bits = value.to_bits().cast_signed();
                ScalarRank::F32(FloatBits(bits ^ ((bits >> 31).cast_unsigned() >> 1).cast_signed()))
            }
            Scalar::F64(value) => {
                let bits = value.to_bits().cast_signed();
                ScalarRank::F64(FloatBits(bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()))
            }
            Scalar::Char(value) => ScalarRank::Char(value),
            Scalar::Str(value) => ScalarRank::Str(value),
            Scalar::Bytes(value) => ScalarRank::Bytes(value),
            Scalar::None => ScalarRank::None,
        }
    }
}

/// A walk through a value, node by node, without recursion.
struct Tokens<'a> {
    leaves: &'a [Leaf],
    /// A node to enter; it comes after its label.
    pending: Option<NodeRef<'a>>,
    open: Vec<(NodeRef<'a>, Children<'a>)>,
}

impl<'a> Tokens<'a> {
    fn of(value: &'a Value) -> Self {
        let (root, leaves) = value.parts();
        Tokens { leaves, pending: Some(root), open: Vec::new() }
    }

    fn enter(&mut self, node: NodeRef<'a>) -> Token<'a> {
        if node.kind() == NodeKind::Leaf
            && let Some(leaf) = self.leaves.get(node.first_leaf())
        {
            return Token::Scalar(leaf.as_scalar().map_or(ScalarRank::None, ScalarRank::of));
        }
        self.open.push((node, node.children()));
        Token::Node(node.kind(), node.name(), node.variant())
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        if let Some(node) = self.pending.take() {
            return Some(self.enter(node));
        }
        let (node, children) = self.open.last_mut()?;
        let position = node.num_children() - children.len();
        let Some(child) = children.next() else {
            self.open.pop();
            return Some(Token::Close);
        };
        let label = match node.kind() {
            NodeKind::Map => node.keys().get(position).map(Token::Key),
            _ => node.fields().get(position).map(Token::Field),
        };
        match label {
            Some(label) => {
                self.pending = Some(child);
                Some(label)
            }
            None => Some(self.enter(child)),
        }
    }
}
