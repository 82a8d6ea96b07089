//! The canonical order of values, used to sort map keys. It never changes: saved treedefs and
//! fingerprints depend on it.

use std::cmp::Ordering;

use crate::leaf::{Integer, Scalar};
use crate::model::{Content, Leaf, LeafKind, NodeKind, Value};
use crate::treedef::node_ref::{NodeRef, Overlap};
use crate::treedef::walk::{PairEvent, PairWalk};

/// Kinds compare in the order of [`LeafKind`] and [`NodeKind`], integers by value and then by
/// width, floats by `total_cmp`, strings by bytes, and everything else lexicographically.
impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Content::Scalar(a), Content::Scalar(b)) => compare_leaves(a, b),
            (Content::Tree(a, leaves), Content::Tree(b, others)) if a == b => {
                compare_alike(leaves, others)
            }
            _ => compare_values(self, other),
        }
    }
}

/// Optimised for keys of one kind, for which computing ranks takes three times as long.
#[inline(always)]
fn compare_leaves(a: &Leaf, b: &Leaf) -> Ordering {
    match (a, b) {
        (Leaf::Str(a), Leaf::Str(b)) => a.cmp(b),
        (Leaf::I32(a), Leaf::I32(b)) => a.cmp(b),
        (Leaf::I64(a), Leaf::I64(b)) => a.cmp(b),
        (Leaf::U32(a), Leaf::U32(b)) => a.cmp(b),
        (Leaf::U64(a), Leaf::U64(b)) => a.cmp(b),
        _ => a.as_scalar().map(ScalarRank::of).cmp(&b.as_scalar().map(ScalarRank::of)),
    }
}

/// Compares the leaves of two equal structures.
fn compare_alike(leaves: &[Leaf], others: &[Leaf]) -> Ordering {
    for (a, b) in leaves.iter().zip(others) {
        let order = compare_leaves(a, b);
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Value {
    /// Whether this value is less than each integer of that number, whatever its type.
    pub(crate) fn is_below(&self, number: i128) -> bool {
        match self.as_leaf() {
            Some(Leaf::Bool(_)) => true,
            // A number that does not fit into `i128` is greater than all of them.
            leaf => leaf.and_then(Leaf::as_i128).is_some_and(|value| value < number),
        }
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum ScalarRank<'a> {
    Bool(bool),
    Integer {
        is_nonnegative: bool,
        /// The value in two's complement.
        bits: u128,
        /// Of equal numbers the narrower is first, and of equal sizes the signed one.
        size: Option<usize>,
        kind: LeafKind,
    },
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
            let (is_nonnegative, bits) = match integer {
                Integer::Signed(value) => (value >= 0, value.cast_unsigned()),
                Integer::Unsigned(value) => (true, value),
            };
            let (size, kind) = (scalar.kind().size(), scalar.kind());
            return ScalarRank::Integer { is_nonnegative, bits, size, kind };
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

fn rank<'a>(node: NodeRef<'_>, of: &'a Value) -> ScalarRank<'a> {
    of.scalar(node.first_leaf()).map_or(ScalarRank::None, ScalarRank::of)
}

/// If two compounds are equal up to the end of the shorter one, the shorter one is less.
fn compare_values(a: &Value, b: &Value) -> Ordering {
    if a.treedef() == b.treedef() {
        return compare_alike(&a.leaves(), &b.leaves());
    }
    let mut walk = PairWalk::new(a.root(), b.root(), most_alike);
    while let Some(event) = walk.next() {
        let order = match event {
            PairEvent::Enter(Overlap { a: x, b: y, position, .. }) => {
                let labels =
                    walk.parents().map_or(Ordering::Equal, |(x, y)| label_order(x, y, position));
                labels.then_with(|| {
                    if x.is_leaf() && y.is_leaf() {
                        rank(x, a).cmp(&rank(y, b))
                    } else {
                        // A scalar is less than any other node.
                        y.is_leaf().cmp(&x.is_leaf()).then_with(|| head(x).cmp(&head(y)))
                    }
                })
            }
            PairEvent::Leave(x, y) => x.num_children().cmp(&y.num_children()),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}

fn head(node: NodeRef<'_>) -> (NodeKind, Option<&str>, Option<&str>) {
    (node.kind(), node.name(), node.variant())
}

/// Equal pairs without leaves and labels are compared once: there may be 2⁶⁰ of them.
fn most_alike(parent: NodeRef<'_>, a: NodeRef<'_>, b: NodeRef<'_>, count: usize) -> usize {
    let leafless = a.num_leaves() == 0 && b.num_leaves() == 0;
    if leafless && !parent.is_labelled() { count } else { 1 }
}

/// The order of the labels of two children.
fn label_order(a: NodeRef<'_>, b: NodeRef<'_>, position: usize) -> Ordering {
    match a.kind() {
        NodeKind::Map => a.entry_keys().get(position).cmp(&b.entry_keys().get(position)),
        _ => a.fields().get(position).cmp(&b.fields().get(position)),
    }
}
