//! The keys of Python's dicts, and our keys as such keys.

use std::fmt::{self, Write};

use treedef::{Leaf, NodeKind, NodeRef, Value};

use crate::error::{ErrorKind, Result};

/// The maximum depth of containers, which is Python's limit for literals.
pub const MAX_DEPTH: usize = 200;

/// The maximum depth of the tuples of a key.
pub(crate) const MAX_KEY_DEPTH: usize = 16;

/// The maximum number of bytes of all names.
const MAX_BYTES: usize = 1 << 28;

/// The bytes of all names so far. A name in a file or a structure can be used at many places.
#[derive(Debug, Default)]
pub struct NameBytes(usize);

impl NameBytes {
    /// Adds to the number. `what` is the text for the names in the error: `keys`.
    pub fn spend(&mut self, bytes: usize, what: &str) -> Result<()> {
        self.0 = self.0.saturating_add(bytes);
        if self.0 <= MAX_BYTES {
            Ok(())
        } else {
            Err(ErrorKind::limit(
                "bytes of names",
                format!("{what} of more than {MAX_BYTES} bytes in all"),
            )
            .into())
        }
    }
}

/// The key of a dict.
#[derive(Clone, Debug, PartialEq)]
pub enum PyKey {
    None,
    Bool(bool),
    Int(i128),
    /// An integer that is too large for the other variant.
    Large(u128),
    Float(f64),
    Str(String),
    Bytes(Vec<u8>),
    Tuple(Vec<PyKey>),
    /// A literal that is not a key here: an integer of more than 128 bits, a complex number, `...`.
    Other,
}

/// How a tree or a key is printed.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Notation {
    /// A literal for `ast.literal_eval`, in any encoding, with the index of each leaf.
    Literal,
    /// Python's `repr`, with `*` for each leaf.
    Repr,
}

/// A tree or a key in one of the notations.
pub(crate) struct PyDisplay<'a, T>(pub(crate) &'a T, pub(crate) Notation);

impl fmt::Display for PyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        PyDisplay(self, Notation::Literal).fmt(f)
    }
}

impl fmt::Display for PyDisplay<'_, PyKey> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PyDisplay(key, notation) = *self;
        match key {
            PyKey::None => f.write_str("None"),
            PyKey::Bool(value) => f.write_str(if *value { "True" } else { "False" }),
            PyKey::Int(value) => write!(f, "{value}"),
            PyKey::Large(value) => write!(f, "{value}"),
            PyKey::Float(value) => write_float(f, *value, notation),
            PyKey::Other => f.write_str("..."),
            PyKey::Str(text) => write_quoted(f, text.chars(), |char| {
                notation == Notation::Repr && is_printable(char)
            }),
            PyKey::Bytes(bytes) => {
                f.write_char('b')?;
                write_quoted(f, bytes.iter().copied().map(char::from), |_| false)
            }
            PyKey::Tuple(keys) => write_tuple(f, keys, notation),
        }
    }
}

pub(crate) fn write_tuple<'a, T>(
    f: &mut fmt::Formatter<'_>,
    items: &'a [T],
    notation: Notation,
) -> fmt::Result
where
    PyDisplay<'a, T>: fmt::Display,
{
    f.write_char('(')?;
    write_items(f, items.iter().map(|item| PyDisplay(item, notation)))?;
    f.write_str(if items.len() == 1 { ",)" } else { ")" })
}

pub(crate) fn write_items(
    f: &mut fmt::Formatter<'_>,
    items: impl Iterator<Item = impl fmt::Display>,
) -> fmt::Result {
    for (index, item) in items.enumerate() {
        f.write_str(if index > 0 { ", " } else { "" })?;
        item.fmt(f)?;
    }
    Ok(())
}

/// Python uses an exponent below 1e-4 and from 1e16 on, with a sign and at least two digits. It
/// reads `1e999` as infinity, and `inf` as a name.
fn write_float(f: &mut fmt::Formatter<'_>, value: f64, notation: Notation) -> fmt::Result {
    let magnitude = value.abs();
    let sign = if value < 0.0 { "-" } else { "" };
    if value.is_nan() {
        f.write_str("nan")
    } else if value.is_infinite() {
        write!(f, "{sign}{}", if notation == Notation::Repr { "inf" } else { "1e999" })
    } else if magnitude == 0.0 || (1e-4..1e16).contains(&magnitude) {
        if value.fract() == 0.0 { write!(f, "{value:.1}") } else { write!(f, "{value}") }
    } else {
        let text = format!("{value:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, digits) =
            exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
        write!(f, "{mantissa}e{sign}{digits:0>2}")
    }
}

/// Writes a string or bytes in single quotes, unless there are single but no double quotes.
fn write_quoted(
    f: &mut fmt::Formatter<'_>,
    chars: impl Iterator<Item = char> + Clone,
    is_printable: impl Fn(char) -> bool,
) -> fmt::Result {
    let has = |quote| chars.clone().any(|char| char == quote);
    let quote = if has('\'') && !has('"') { '"' } else { '\'' };
    f.write_char(quote)?;
    for char in chars.clone() {
        match char {
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            '\\' => f.write_str("\\\\")?,
            _ if char == quote => write!(f, "\\{char}")?,
            ' '..='~' => f.write_char(char)?,
            '\u{80}'.. if is_printable(char) => f.write_char(char)?,
            _ => match u32::from(char) {
                code @ ..=0xff => write!(f, "\\x{code:02x}")?,
                code @ ..=0xffff => write!(f, "\\u{code:04x}")?,
                code => write!(f, "\\U{code:08x}")?,
            },
        }
    }
    f.write_char(quote)
}

/// Like `str.isprintable`: no control, format, private or unassigned character, only plain spaces.
fn is_printable(char: char) -> bool {
    // After another character, `escape_debug` escapes exactly these characters and quotes.
    format!("a{char}").escape_debug().count() == 2
}

/// A key in the form of Python's `str`. A value that Python does not have prints as in a treedef.
pub fn key_text(key: &Value) -> String {
    match py_key(key.root(), &key.leaves(), 0) {
        Some(PyKey::Str(text)) => text,
        Some(key) => PyDisplay(&key, Notation::Repr).to_string(),
        None => key.to_string(),
    }
}

/// The key for a value: a scalar, or a tuple of keys.
pub(crate) fn py_key(node: NodeRef<'_>, leaves: &[Leaf], depth: usize) -> Option<PyKey> {
    if depth > MAX_KEY_DEPTH {
        return None;
    }
    use NodeKind as Is;
    let children = || {
        node.children()
            .map(|child| py_key(child, leaves, depth + 1))
            .collect::<Option<Vec<PyKey>>>()
    };
    match node.kind() {
        Is::Leaf => {
            let leaf = leaves.get(node.leaf_range().start)?;
            Some(match leaf {
                Leaf::Bool(value) => PyKey::Bool(*value),
                Leaf::F32(value) => PyKey::Float((*value).into()),
                Leaf::F64(value) => PyKey::Float(*value),
                Leaf::Char(value) => PyKey::Str(value.to_string()),
                Leaf::Str(text) => PyKey::Str(text.to_string()),
                Leaf::Bytes(bytes) => PyKey::Bytes(bytes.to_vec()),
                Leaf::None => PyKey::None,
                _ => match leaf.as_i128() {
                    Some(value) => PyKey::Int(value),
                    None => PyKey::Large(leaf.as_u128()?),
                },
            })
            .filter(|key| !matches!(key, PyKey::Float(value) if value.is_nan()))
        }
        Is::None => Some(PyKey::None),
        Is::Unit | Is::UnitStruct => Some(PyKey::Tuple(Vec::new())),
        Is::UnitVariant => Some(PyKey::Str(node.variant()?.to_owned())),
        Is::Some | Is::NewtypeStruct => children()?.pop(),
        Is::Tuple | Is::TupleStruct => children().map(PyKey::Tuple),
        _ => None,
    }
}
