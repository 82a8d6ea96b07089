//! A structure as Python has it: what every format here is written from and read into.

use std::cmp::Ordering;
use std::fmt::{self, Write};

/// How deep containers may stand inside each other: both sides walk them recursively.
pub(crate) const MAX_DEPTH: usize = 256;

/// A container of Python, or what stands in one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PyTree {
    /// With the index of the leaf on the side that the tree came from.
    Leaf(usize),
    None,
    Tuple(Vec<PyTree>),
    List(Vec<PyTree>),
    Dict(Vec<(PyKey, PyTree)>),
    /// A container of a class that only Python has: closest to what is inside.
    Custom {
        class: String,
        inside: Box<PyTree>,
    },
}

/// The key of a dict.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PyKey {
    None,
    Bool(bool),
    Int(i128),
    /// An integer that is too large for the other.
    Large(u128),
    Float(f64),
    Str(String),
    Bytes(Vec<u8>),
    Tuple(Vec<PyKey>),
}

impl PyKey {
    /// A text that is the same for what Python takes for the same key: `1 == 1.0 == True`.
    pub(crate) fn identity(&self) -> String {
        match self {
            PyKey::Bool(value) => format!("n{}", u8::from(*value)),
            PyKey::Int(value) => format!("n{value}"),
            PyKey::Large(value) => format!("n{value}"),
            // Without a fraction it prints as the integer that it is.
            PyKey::Float(value) if value.fract() == 0.0 => format!("n{}", value + 0.0),
            PyKey::Float(value) => format!("n{value:?}"),
            PyKey::Tuple(keys) => {
                let keys: Vec<String> = keys.iter().map(PyKey::identity).collect();
                format!("({})", keys.concat())
            }
            PyKey::None | PyKey::Str(_) | PyKey::Bytes(_) => self.to_string(),
        }
    }

    /// The order of two keys in Python, if they have one.
    fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (PyKey::Str(a), PyKey::Str(b)) => Some(a.cmp(b)), // by code points, as there
            (PyKey::Bytes(a), PyKey::Bytes(b)) => Some(a.cmp(b)),
            (PyKey::Tuple(a), PyKey::Tuple(b)) => {
                for (a, b) in a.iter().zip(b) {
                    match a.compare(b)? {
                        Ordering::Equal => {}
                        different => return Some(different),
                    }
                }
                Some(a.len().cmp(&b.len()))
            }
            _ => match (self.integer(), other.integer()) {
                (Some(a), Some(b)) => Some(a.cmp(&b)),
                _ => self.float()?.partial_cmp(&other.float()?),
            },
        }
    }

    fn integer(&self) -> Option<(bool, u128)> {
        match self {
            PyKey::Bool(value) => Some((true, (*value).into())),
            PyKey::Int(value) => Some((*value >= 0, value.cast_unsigned())),
            PyKey::Large(value) => Some((true, *value)),
            _ => None,
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "only beside a float that is no integer")]
    fn float(&self) -> Option<f64> {
        match self {
            PyKey::Bool(value) => Some(f64::from(u8::from(*value))),
            PyKey::Int(value) => Some(*value as f64),
            PyKey::Large(value) => Some(*value as f64),
            PyKey::Float(value) => Some(*value),
            _ => None,
        }
    }
}

/// Python's `repr`.
impl fmt::Display for PyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PyKey::None => f.write_str("None"),
            PyKey::Bool(value) => f.write_str(if *value { "True" } else { "False" }),
            PyKey::Int(value) => write!(f, "{value}"),
            PyKey::Large(value) => write!(f, "{value}"),
            PyKey::Float(value) => write_float(f, *value),
            PyKey::Str(text) => write_str(f, text),
            PyKey::Bytes(bytes) => write_bytes(f, bytes),
            PyKey::Tuple(keys) => {
                f.write_str("(")?;
                for (index, key) in keys.iter().enumerate() {
                    f.write_str(if index > 0 { ", " } else { "" })?;
                    key.fmt(f)?;
                }
                f.write_str(if keys.len() == 1 { ",)" } else { ")" })
            }
        }
    }
}

/// A literal that Python reads as the same float.
fn write_float(f: &mut fmt::Formatter<'_>, value: f64) -> fmt::Result {
    match value {
        _ if value == f64::INFINITY => f.write_str("1e999"),
        _ if value == f64::NEG_INFINITY => f.write_str("-1e999"),
        _ => write!(f, "{value:?}"),
    }
}

fn write_str(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    f.write_char(quote)?;
    for char in text.chars() {
        match char {
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            _ if char == quote => write!(f, "\\{char}")?,
            ' '..='~' => f.write_char(char)?,
            _ if (char as u32) < 0x100 => write!(f, "\\x{:02x}", char as u32)?,
            _ if (char as u32) < 0x1_0000 => write!(f, "\\u{:04x}", char as u32)?,
            _ => write!(f, "\\U{:08x}", char as u32)?,
        }
    }
    f.write_char(quote)
}

fn write_bytes(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    f.write_str("b'")?;
    for &byte in bytes {
        match byte {
            b'\'' | b'\\' => write!(f, "\\{}", char::from(byte))?,
            b' '..=b'~' => f.write_char(char::from(byte))?,
            _ => write!(f, "\\x{byte:02x}")?,
        }
    }
    f.write_char('\'')
}

impl PyTree {
    /// The entries of all dicts in the order of their keys, where these have one: that in which JAX and optree flatten.
    pub(crate) fn sorted(self) -> Self {
        match self {
            PyTree::Leaf(_) | PyTree::None => self,
            PyTree::Tuple(children) => PyTree::Tuple(sorted(children)),
            PyTree::List(children) => PyTree::List(sorted(children)),
            PyTree::Dict(mut entries) => {
                let comparable = |keys: &[(PyKey, PyTree)]| match keys {
                    [(a, _), (b, _)] => a.compare(b).is_some(),
                    _ => true,
                };
                // Kinds that compare with their neighbours compare with all.
                if entries.windows(2).all(comparable) {
                    entries.sort_by(|(a, _), (b, _)| a.compare(b).unwrap_or(Ordering::Equal));
                }
                let sorted = entries.into_iter().map(|(key, child)| (key, child.sorted()));
                PyTree::Dict(sorted.collect())
            }
            PyTree::Custom { class, inside } => {
                PyTree::Custom { class, inside: Box::new(inside.sorted()) }
            }
        }
    }

    /// The leaves in the order in which the tree is written, by their indices on the side that it came from.
    pub(crate) fn leaves(&self) -> Vec<usize> {
        let mut leaves = Vec::new();
        self.each_leaf(&mut |leaf| leaves.extend(leaf));
        leaves
    }

    /// As [`leaves`](Self::leaves), where None is a leaf as well.
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

fn sorted(children: Vec<PyTree>) -> Vec<PyTree> {
    children.into_iter().map(PyTree::sorted).collect()
}
