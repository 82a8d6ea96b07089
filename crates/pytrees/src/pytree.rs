//! A structure in Python's terms. Each format is written from it and read into it.

use std::cmp::Ordering;
use std::fmt::{self, Write};

use crate::py_key::{Notation, PyDisplay, PyKey, write_items, write_tuple};

/// A container of Python, or a leaf.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PyTree {
    /// A leaf, with its index in the original.
    Leaf(usize),
    None,
    Tuple(Vec<PyTree>),
    List(Vec<PyTree>),
    Dict(Vec<(PyKey, PyTree)>),
    /// A container of a class that only Python has, as the container that is closest to it.
    Custom {
        class: String,
        inside: Box<PyTree>,
    },
}

/// A number for comparisons as in Python: exact for numbers of any type.
#[derive(Clone, Copy, Debug, PartialEq)]
enum PyNumber {
    /// Whether it is not negative, and its bits in two's complement.
    Int(bool, u128),
    /// A number with a fraction, or larger than every integer here.
    Float(f64),
}

impl PyNumber {
    fn of_i128(value: i128) -> Self {
        PyNumber::Int(value >= 0, value.cast_unsigned())
    }

    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is within range"
    )]
    fn of_f64(value: f64) -> Self {
        const BEYOND: f64 = 340_282_366_920_938_463_463_374_607_431_768_211_456.0; // 2¹²⁸
        match value {
            _ if value.fract() != 0.0 || !(-BEYOND / 2.0..BEYOND).contains(&value) => {
                PyNumber::Float(value)
            }
            _ if value >= 0.0 => PyNumber::Int(true, value as u128),
            _ => PyNumber::of_i128(value as i128),
        }
    }

    #[allow(clippy::cast_possible_truncation, reason = "a float with a fraction is below 2⁵³")]
    fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (PyNumber::Int(..), PyNumber::Int(..)) => self.int().cmp(&other.int()),
            (PyNumber::Float(a), PyNumber::Float(b)) => a.total_cmp(&b), // no NaN is a key
            (PyNumber::Float(_), PyNumber::Int(..)) => other.compare(self).reverse(),
            (PyNumber::Int(positive, bits), PyNumber::Float(float)) => match float {
                _ if float.fract() == 0.0 || float.is_infinite() => {
                    if float > 0.0 {
                        Ordering::Less
                    } else {
                        Ordering::Greater
                    }
                }
                // The next integer below it, so what equals that integer is less.
                _ => match (positive, bits).cmp(&PyNumber::of_i128(float.floor() as i128).int()) {
                    Ordering::Equal => Ordering::Less,
                    other => other,
                },
            },
        }
    }

    fn int(self) -> (bool, u128) {
        match self {
            PyNumber::Int(positive, bits) => (positive, bits),
            PyNumber::Float(_) => (false, 0),
        }
    }
}

impl PyKey {
    /// A text that is equal for keys that are equal in Python: `1 == 1.0 == True`.
    pub(crate) fn identity(&self) -> String {
        match self {
            PyKey::Tuple(keys) => {
                let keys: Vec<String> = keys.iter().map(PyKey::identity).collect();
                format!("({})", keys.join(","))
            }
            _ => match self.number() {
                Some(PyNumber::Int(positive, bits)) => format!("n{positive}{bits}"),
                Some(PyNumber::Float(value)) => format!("f{}", value.to_bits()),
                None => self.to_string(),
            },
        }
    }

    fn number(&self) -> Option<PyNumber> {
        match self {
            PyKey::Bool(value) => Some(PyNumber::Int(true, (*value).into())),
            PyKey::Int(value) => Some(PyNumber::of_i128(*value)),
            PyKey::Large(value) => Some(PyNumber::Int(true, *value)),
            PyKey::Float(value) => Some(PyNumber::of_f64(*value)),
            _ => None,
        }
    }

    /// The order of two keys in Python, if they have one.
    fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (PyKey::Str(a), PyKey::Str(b)) => Some(a.cmp(b)), // by code points, as there
            (PyKey::Bytes(a), PyKey::Bytes(b)) => Some(a.cmp(b)),
            (PyKey::None, PyKey::None) => Some(Ordering::Equal),
            (PyKey::Tuple(a), PyKey::Tuple(b)) => {
                for (a, b) in a.iter().zip(b) {
                    match a.compare(b)? {
                        Ordering::Equal => {}
                        different => return Some(different),
                    }
                }
                Some(a.len().cmp(&b.len()))
            }
            _ => Some(self.number()?.compare(other.number()?)),
        }
    }

    /// A total order, which agrees with Python's order where Python has one.
    fn total_compare(&self, other: &Self) -> Ordering {
        if let (PyKey::Tuple(a), PyKey::Tuple(b)) = (self, other) {
            let pairs = a.iter().zip(b).map(|(a, b)| a.total_compare(b));
            let different = pairs.into_iter().find(|order| order.is_ne());
            return different.unwrap_or_else(|| a.len().cmp(&b.len()));
        }
        let class = |key: &PyKey| match key {
            PyKey::Bool(_) | PyKey::Int(_) | PyKey::Large(_) | PyKey::Float(_) => 0,
            PyKey::Str(_) => 1,
            PyKey::Bytes(_) => 2,
            PyKey::None | PyKey::Other => 3,
            PyKey::Tuple(_) => 4,
        };
        self.compare(other).unwrap_or_else(|| class(self).cmp(&class(other)))
    }

    /// The depth of its nested tuples.
    pub(crate) fn depth(&self) -> usize {
        match self {
            PyKey::Tuple(keys) => 1 + keys.iter().map(PyKey::depth).max().unwrap_or(0),
            _ => 0,
        }
    }

    /// The bytes of its texts.
    pub(crate) fn num_bytes(&self) -> usize {
        match self {
            PyKey::Str(text) => text.len(),
            PyKey::Bytes(bytes) => bytes.len(),
            PyKey::Tuple(keys) => keys.iter().map(PyKey::num_bytes).sum(),
            _ => 0,
        }
    }
}

/// Sorts entries by their keys, like JAX and optree. Returns two keys that Python cannot compare,
/// if there are such keys.
pub(crate) fn sort(entries: &mut [(PyKey, PyTree)]) -> Option<(PyKey, PyKey)> {
    entries.sort_by(|(a, _), (b, _)| a.total_compare(b));
    entries.windows(2).find_map(|pair| match pair {
        [(a, _), (b, _)] if a.compare(b).is_none() => Some((a.clone(), b.clone())),
        _ => None,
    })
}

impl fmt::Display for PyTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        PyDisplay(self, Notation::Literal).fmt(f)
    }
}

impl fmt::Display for PyDisplay<'_, PyTree> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PyDisplay(tree, notation) = *self;
        match tree {
            PyTree::Leaf(_) if notation == Notation::Repr => f.write_str("*"),
            PyTree::Leaf(index) => write!(f, "{index}"),
            PyTree::None => f.write_str("None"),
            PyTree::Tuple(children) => write_tuple(f, children, notation),
            PyTree::List(children) => {
                f.write_char('[')?;
                write_items(f, children.iter().map(|child| PyDisplay(child, notation)))?;
                f.write_char(']')
            }
            PyTree::Dict(entries) => {
                f.write_char('{')?;
                write_items(f, entries.iter().map(|entry| PyDisplay(entry, notation)))?;
                f.write_char('}')
            }
            PyTree::Custom { inside, .. } => PyDisplay(&**inside, notation).fmt(f),
        }
    }
}

impl fmt::Display for PyDisplay<'_, (PyKey, PyTree)> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PyDisplay((key, child), notation) = *self;
        write!(f, "{}: {}", PyDisplay(key, notation), PyDisplay(child, notation))
    }
}

impl PyTree {
    /// The leaves in the order of the tree, by their indices in the original.
    pub(crate) fn leaves(&self) -> Vec<usize> {
        let mut leaves = Vec::new();
        self.each_leaf(&mut |leaf| leaves.extend(leaf));
        leaves
    }

    /// See [`leaves`](Self::leaves); a `None` is a leaf as well.
    pub(crate) fn leaves_and_nones(&self) -> Vec<Option<usize>> {
        let mut leaves = Vec::new();
        self.each_leaf(&mut |leaf| leaves.push(leaf));
        leaves
    }

    fn each_leaf(&self, f: &mut impl FnMut(Option<usize>)) {
        match self {
            PyTree::Leaf(index) => f(Some(*index)),
            PyTree::None => f(None),
            PyTree::Tuple(children) | PyTree::List(children) => {
                children.iter().for_each(|child| child.each_leaf(f));
            }
            PyTree::Dict(entries) => entries.iter().for_each(|(_, child)| child.each_leaf(f)),
            PyTree::Custom { inside, .. } => inside.each_leaf(f),
        }
    }
}
