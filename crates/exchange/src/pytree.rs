//! A structure as Python has it: what every format here is written from and read into.

use std::cmp::Ordering;
use std::fmt::{self, Write};

use crate::error::{ErrorKind, Result};

/// How deep containers may stand inside each other: as deep as Python reads a literal.
pub(crate) const MAX_DEPTH: usize = 200;

/// How deep the tuples of a key may.
pub(crate) const MAX_KEY_DEPTH: usize = 16;

/// The bytes that names may take in all.
const MAX_BYTES: usize = 1 << 28;

/// The bytes of all names so far, as one of a file or a structure may stand at many places.
#[derive(Default)]
pub(crate) struct NameBytes(usize);

impl NameBytes {
    /// Counts more. `what` are the names in the error: `keys`.
    pub(crate) fn spend(&mut self, bytes: usize, what: &str) -> Result<()> {
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
    /// What a literal may be besides, and no key is here: an integer of more than 128 bits, a
    /// complex number, `...`.
    Other,
}

/// A number as Python compares it: exactly, whatever its type.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    /// Whether it is not negative, and its bits in two's complement.
    Int(bool, u128),
    /// With a fraction, or beyond all integers here.
    Float(f64),
}

impl Number {
    fn of_i128(value: i128) -> Self {
        Number::Int(value >= 0, value.cast_unsigned())
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
                Number::Float(value)
            }
            _ if value >= 0.0 => Number::Int(true, value as u128),
            _ => Number::of_i128(value as i128),
        }
    }

    #[allow(clippy::cast_possible_truncation, reason = "a float with a fraction is below 2⁵³")]
    fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Number::Int(..), Number::Int(..)) => self.int().cmp(&other.int()),
            (Number::Float(a), Number::Float(b)) => a.total_cmp(&b), // no NaN is a key
            (Number::Float(_), Number::Int(..)) => other.compare(self).reverse(),
            (Number::Int(positive, bits), Number::Float(float)) => match float {
                _ if float.fract() == 0.0 || float.is_infinite() => {
                    if float > 0.0 {
                        Ordering::Less
                    } else {
                        Ordering::Greater
                    }
                }
                // The next integer below it: what equals that is less.
                _ => match (positive, bits).cmp(&Number::of_i128(float.floor() as i128).int()) {
                    Ordering::Equal => Ordering::Less,
                    other => other,
                },
            },
        }
    }

    fn int(self) -> (bool, u128) {
        match self {
            Number::Int(positive, bits) => (positive, bits),
            Number::Float(_) => (false, 0),
        }
    }
}

impl PyKey {
    /// A text that is the same for what Python takes for the same key: `1 == 1.0 == True`.
    pub(crate) fn identity(&self) -> String {
        match self {
            PyKey::Tuple(keys) => {
                let keys: Vec<String> = keys.iter().map(PyKey::identity).collect();
                format!("({})", keys.join(","))
            }
            _ => match self.number() {
                Some(Number::Int(positive, bits)) => format!("n{positive}{bits}"),
                Some(Number::Float(value)) => format!("f{}", value.to_bits()),
                None => self.to_string(),
            },
        }
    }

    /// Whether it is no key here, or has such a part.
    pub(crate) fn has_other(&self) -> bool {
        match self {
            PyKey::Tuple(keys) => keys.iter().any(PyKey::has_other),
            key => *key == PyKey::Other,
        }
    }

    fn number(&self) -> Option<Number> {
        match self {
            PyKey::Bool(value) => Some(Number::Int(true, (*value).into())),
            PyKey::Int(value) => Some(Number::of_i128(*value)),
            PyKey::Large(value) => Some(Number::Int(true, *value)),
            PyKey::Float(value) => Some(Number::of_f64(*value)),
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

    /// A total order, which is that of Python where there is one.
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

    /// How deep its tuples stand in each other.
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

/// Puts entries into the order of their keys, in which JAX and optree flatten them. Returns two
/// keys that Python cannot put in order, if there are such.
pub(crate) fn sort(entries: &mut [(PyKey, PyTree)]) -> Option<(PyKey, PyKey)> {
    entries.sort_by(|(a, _), (b, _)| a.total_compare(b));
    entries.windows(2).find_map(|pair| match pair {
        [(a, _), (b, _)] if a.compare(b).is_none() => Some((a.clone(), b.clone())),
        _ => None,
    })
}

/// How a tree or a key is printed.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Form {
    /// What `ast.literal_eval` reads in any encoding, with the index of each leaf.
    Literal,
    /// Python's `repr`, with `*` for each leaf.
    Repr,
}

/// A tree or a key in one of the forms.
pub(crate) struct Printed<'a, T>(pub(crate) &'a T, pub(crate) Form);

impl fmt::Display for PyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printed(self, Form::Literal).fmt(f)
    }
}

impl fmt::Display for PyTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printed(self, Form::Literal).fmt(f)
    }
}

impl fmt::Display for Printed<'_, PyTree> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Printed(tree, form) = *self;
        match tree {
            PyTree::Leaf(_) if form == Form::Repr => f.write_str("*"),
            PyTree::Leaf(index) => write!(f, "{index}"),
            PyTree::None => f.write_str("None"),
            PyTree::Tuple(children) => write_tuple(f, children, form),
            PyTree::List(children) => {
                f.write_char('[')?;
                write_items(f, children.iter().map(|child| Printed(child, form)))?;
                f.write_char(']')
            }
            PyTree::Dict(entries) => {
                f.write_char('{')?;
                write_items(f, entries.iter().map(|entry| Printed(entry, form)))?;
                f.write_char('}')
            }
            PyTree::Custom { inside, .. } => Printed(&**inside, form).fmt(f),
        }
    }
}

impl fmt::Display for Printed<'_, (PyKey, PyTree)> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Printed((key, child), form) = *self;
        write!(f, "{}: {}", Printed(key, form), Printed(child, form))
    }
}

impl fmt::Display for Printed<'_, PyKey> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Printed(key, form) = *self;
        match key {
            PyKey::None => f.write_str("None"),
            PyKey::Bool(value) => f.write_str(if *value { "True" } else { "False" }),
            PyKey::Int(value) => write!(f, "{value}"),
            PyKey::Large(value) => write!(f, "{value}"),
            PyKey::Float(value) => write_float(f, *value, form),
            PyKey::Other => f.write_str("..."),
            PyKey::Str(text) => {
                write_quoted(f, text.chars(), |char| form == Form::Repr && is_printable(char))
            }
            PyKey::Bytes(bytes) => {
                f.write_char('b')?;
                write_quoted(f, bytes.iter().copied().map(char::from), |_| false)
            }
            PyKey::Tuple(keys) => write_tuple(f, keys, form),
        }
    }
}

fn write_tuple<'a, T>(f: &mut fmt::Formatter<'_>, items: &'a [T], form: Form) -> fmt::Result
where
    Printed<'a, T>: fmt::Display,
{
    f.write_char('(')?;
    write_items(f, items.iter().map(|item| Printed(item, form)))?;
    f.write_str(if items.len() == 1 { ",)" } else { ")" })
}

fn write_items(
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
fn write_float(f: &mut fmt::Formatter<'_>, value: f64, form: Form) -> fmt::Result {
    let magnitude = value.abs();
    let sign = if value < 0.0 { "-" } else { "" };
    if value.is_nan() {
        f.write_str("nan")
    } else if value.is_infinite() {
        write!(f, "{sign}{}", if form == Form::Repr { "inf" } else { "1e999" })
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

impl PyTree {
    /// The leaves in the order in which the tree is written, by their indices on the side that it
    /// came from.
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
