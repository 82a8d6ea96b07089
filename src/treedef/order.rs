//! The canonical order of values, used to sort map keys. It never changes: saved treedefs and
//! fingerprints depend on it.

use std::cmp::Ordering;

use crate::leaf::{Integer, Scalar};
use crate::model::{Leaf, LeafKind, NodeKind, Value};
use crate::treedef::node_ref::{NodeRef, Overlaps};

/// Kinds compare in the order of [`LeafKind`] and [`NodeKind`], integers by value and then by
/// width, floats by `total_cmp`, strings by bytes, and everything else lexicographically.
impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.as_str(), other.as_str()) {
            (Some(a), Some(b)) => a.cmp(b),
            _ => compare(self, other),
        }
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Value {
    /// Compares a scalar with this value. Returns `None` if the value is not a scalar.
    pub(crate) fn order_of(&self, scalar: Scalar<'_>) -> Option<Ordering> {
        match (scalar, self.as_leaf()?) {
            (Scalar::Str(text), Leaf::Str(known)) => Some(text.cmp(known)),
            (scalar, known) => {
                Some(ScalarRank::of(scalar).cmp(&ScalarRank::of(known.as_scalar()?)))
            }
        }
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum ScalarRank<'a> {
    Bool(bool),
    /// Whether the number is not negative; its value in two's complement; its width. For equal
    /// widths the signed kind is first.
    Integer(bool, u128, (u32, LeafKind)),
    F32(FloatBits<i32>),
    F64(FloatBits<i64>),
    Char(char),
    Str(&'a str),
    Bytes(&'a [u8]),
    /// Not a scalar. It never occurs in a value (invariant 6 of the encoding).
    None,
}

/// The bits of a float, changed so that they compare as integers in the order of `total_cmp`.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct FloatBits<B>(B);

impl<'a> ScalarRank<'a> {
    fn of(scalar: Scalar<'a>) -> Self {
        if let Some(integer) = scalar.as_integer() {
            let (is_positive, bits) = match integer {
                Integer::Signed(value) => (value >= 0, value.cast_unsigned()),
                Integer::Unsigned(value) => (true, value),
            };
            return ScalarRank::Integer(is_positive, bits, (width(scalar.kind()), scalar.kind()));
        }
        match scalar {
            Scalar::Bool(value) => ScalarRank::Bool(value),
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
            _ => ScalarRank::None,
        }
    }
}

/// The width in bits of an integer kind.
fn width(kind: LeafKind) -> u32 {
    match kind {
        LeafKind::I8 | LeafKind::U8 => 8,
        LeafKind::I16 | LeafKind::U16 => 16,
        LeafKind::I32 | LeafKind::U32 => 32,
        LeafKind::I64 | LeafKind::U64 => 64,
        _ => 128,
    }
}

/// Two compounds that are equal up to here, and their remaining children.
struct OpenPair<'a, 'b> {
    a: NodeRef<'a>,
    b: NodeRef<'b>,
    position: usize,
    pairs: Overlaps<'a, 'b>,
}

impl<'a, 'b> OpenPair<'a, 'b> {
    fn of(a: NodeRef<'a>, b: NodeRef<'b>) -> Self {
        OpenPair { a, b, position: 0, pairs: a.overlaps(b) }
    }

    /// The next pair of children, and the order of their labels.
    fn next(&mut self) -> Option<(NodeRef<'a>, NodeRef<'b>, Ordering)> {
        let labelled = self.a.is_labelled();
        // Equal pairs without leaves and labels are compared once: there may be 2⁶⁰ of them.
        let (x, y, passed) = self.pairs.next_up_to(|x, y| {
            let leafless = x.num_leaves() == 0 && y.num_leaves() == 0;
            if leafless && !labelled { usize::MAX } else { 1 }
        })?;
        let labels = self.labels();
        self.position += passed;
        Some((x, y, labels))
    }

    fn labels(&self) -> Ordering {
        match self.a.kind() {
            NodeKind::Map => {
                self.a.entry_keys().get(self.position).cmp(&self.b.entry_keys().get(self.position))
            }
            _ => self.a.fields().get(self.position).cmp(&self.b.fields().get(self.position)),
        }
    }
}

fn rank<'a>(node: NodeRef<'_>, of: &'a Value) -> ScalarRank<'a> {
    of.scalar(node.first_leaf()).map_or(ScalarRank::None, ScalarRank::of)
}

/// If two compounds are equal up to the end of the shorter one, the shorter one is less.
fn compare(a: &Value, b: &Value) -> Ordering {
    let mut open: Vec<OpenPair<'_, '_>> = Vec::new();
    let mut next = Some((a.root(), b.root(), Ordering::Equal));
    loop {
        match next {
            Some((x, y, labels)) => {
                let is_leaf = |node: NodeRef<'_>| node.kind() == NodeKind::Leaf;
                let heads = labels.then_with(|| match (is_leaf(x), is_leaf(y)) {
                    (true, true) => rank(x, a).cmp(&rank(y, b)),
                    (false, false) => {
                        (x.kind(), x.name(), x.variant()).cmp(&(y.kind(), y.name(), y.variant()))
                    }
                    (x, y) => y.cmp(&x), // a scalar is less than any other node
                });
                match heads {
                    Ordering::Equal if !is_leaf(x) => open.push(OpenPair::of(x, y)),
                    Ordering::Equal => {}
                    different => return different,
                }
            }
            None => {
                if let Some(OpenPair { a, b, .. }) = open.pop()
                    && a.num_children() != b.num_children()
                {
                    return a.num_children().cmp(&b.num_children());
                }
            }
        }
        let Some(top) = open.last_mut() else { return Ordering::Equal };
        next = top.next();
    }
}
