//! Prints structures as JAX does.
//!
//! Source: `PyTreeDef::ToString` in jaxlib's `pytree.cc`, and Python's `repr` for keys.

use std::fmt::{self, Write};

use crate::error::Result;
use crate::leaf::Scalar;
use crate::model::{Leaf, NodeKind, TreeDef, Value};
use crate::treedef::limits::beyond;
use crate::treedef::node_ref::NodeRef;
use crate::treedef::walk::{Event, Stops, Walk};

/// The maximum number of nodes and bytes of the expanded text.
const MAX_NODES: usize = 1 << 20;
const MAX_BYTES: usize = 1 << 23;

impl TreeDef {
    /// The text of `str(jax.tree_util.tree_structure(value))`, for example
    /// `PyTreeDef([*, (*, {'a': *})])`.
    ///
    /// Kinds that Python does not have print as the closest kind of JAX. A struct prints as a
    /// namedtuple without field names, a variant and a static as a custom node, `Some(x)` as `x`,
    /// unit as `()`, and a map in insertion order as an `OrderedDict`.
    ///
    /// # Errors
    ///
    /// Returns an error when the structure has more than 2²⁰ nodes or the text more than 2²³ bytes,
    /// because JAX has no runs.
    ///
    /// ```
    /// let treedef = treedef::structure(&vec![Some((1, "a")), None])?;
    /// assert_eq!(treedef.to_jax_string()?, "PyTreeDef([(*, *), None])");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn to_jax_string(&self) -> Result<String> {
        let nodes = self.root().work();
        if nodes > MAX_NODES {
            return Err(beyond("nodes to visit", nodes, MAX_NODES));
        }
        let mut text = "PyTreeDef(".to_owned();
        // Writing to a `String` cannot fail, so the error means that the text is too long.
        let written = write_nodes(&mut text, self.root());
        if written.is_err() {
            return Err(beyond("bytes of text", text.len(), MAX_BYTES));
        }
        text.push(')');
        Ok(text)
    }
}

fn write_nodes(out: &mut String, root: NodeRef<'_>) -> fmt::Result {
    let mut walk = Walk::new(root, Stops::Everywhere);
    while let Some(event) = walk.next() {
        if out.len() > MAX_BYTES {
            return Err(fmt::Error);
        }
        let node = match event {
            Event::Enter { node, .. } => node,
            Event::Leave(node) => {
                out.write_str(end(node))?;
                continue;
            }
        };
        if let Some((parent, position)) = walk.parent() {
            if position > 0 {
                out.write_str(", ")?;
            }
            if let Some(key) = parent.entry_keys().get(position).filter(|_| parent.is_sorted_map())
            {
                write!(out, "{}: ", python_repr(key))?;
            }
        }
        write_start(out, node)?;
    }
    Ok(())
}

fn write_start(out: &mut String, node: NodeRef<'_>) -> fmt::Result {
    let (name, variant) = (node.name().unwrap_or(""), node.variant().unwrap_or(""));
    match node.kind() {
        NodeKind::Leaf => out.write_str("*"),
        NodeKind::None => out.write_str("None"),
        NodeKind::Some => Ok(()),
        NodeKind::Unit | NodeKind::Tuple => out.write_str("("),
        NodeKind::Seq => out.write_str("["),
        NodeKind::Map if node.is_sorted_map() => out.write_str("{"),
        NodeKind::Map => {
            let keys: Vec<String> = node.entry_keys().iter().map(python_repr).collect();
            let comma = if keys.len() == 1 { "," } else { "" };
            write!(out, "CustomNode(OrderedDict[({}{comma})], [", keys.join(", "))
        }
        NodeKind::UnitStruct
        | NodeKind::NewtypeStruct
        | NodeKind::TupleStruct
        | NodeKind::Struct => {
            write!(out, "CustomNode(namedtuple[{name}], [")
        }
        NodeKind::UnitVariant
        | NodeKind::NewtypeVariant
        | NodeKind::TupleVariant
        | NodeKind::StructVariant => write!(out, "CustomNode({name}.{variant}[None], ["),
        NodeKind::Static => {
            let value = node.static_value().map(ToString::to_string).unwrap_or_default();
            write!(out, "CustomNode(static[{value}], [")
        }
    }
}

fn end(node: NodeRef<'_>) -> &'static str {
    match node.kind() {
        NodeKind::Leaf | NodeKind::None | NodeKind::Some => "",
        NodeKind::Tuple if node.num_children() == 1 => ",)",
        NodeKind::Unit | NodeKind::Tuple => ")",
        NodeKind::Seq => "]",
        NodeKind::Map if node.is_sorted_map() => "}",
        _ => "])",
    }
}

/// A key in the form of Python's `repr`. Values that Python does not have print as in a treedef.
pub(super) fn python_repr(key: &Value) -> String {
    let mut text = String::new();
    match write_python(&mut text, key.root(), key, 64) {
        Ok(()) => text,
        Err(fmt::Error) => key.to_string(),
    }
}

/// Fails for values that Python does not have, and for tuples nested deeper than `depth`.
fn write_python(out: &mut String, node: NodeRef<'_>, key: &Value, depth: usize) -> fmt::Result {
    match node.kind() {
        NodeKind::None => out.write_str("None"),
        NodeKind::Unit => out.write_str("()"),
        NodeKind::Tuple => {
            out.push('(');
            for (position, child) in node.children().enumerate() {
                out.write_str(if position > 0 { ", " } else { "" })?;
                write_python(out, child, key, depth.checked_sub(1).ok_or(fmt::Error)?)?;
            }
            out.write_str(if node.num_children() == 1 { ",)" } else { ")" })
        }
        NodeKind::Leaf => match key.scalar(node.first_leaf()).ok_or(fmt::Error)? {
            Scalar::Str(value) => {
                write_quoted(out, &value.chars().collect::<Vec<_>>(), is_printable)
            }
            Scalar::Char(value) => write_quoted(out, &[value], is_printable),
            Scalar::Bool(value) => out.write_str(if value { "True" } else { "False" }),
            Scalar::F32(value) => write_python_float(out, value.into()),
            Scalar::F64(value) => write_python_float(out, value),
            Scalar::Bytes(value) => {
                out.push('b');
                let chars: Vec<char> = value.iter().copied().map(char::from).collect();
                write_quoted(out, &chars, |char| matches!(char, ' '..='~'))
            }
            scalar => write!(out, "{}", scalar.as_integer().ok_or(fmt::Error)?),
        },
        _ => Err(fmt::Error),
    }
}

/// A key in the form of Python's `str`.
pub(super) fn python_str(key: &Value) -> String {
    match key.as_leaf() {
        Some(Leaf::Str(text)) => text.to_string(),
        Some(Leaf::Char(char)) => char.to_string(),
        _ => python_repr(key),
    }
}

/// Writes a string or bytes. Uses single quotes, unless there are single but no double quotes.
fn write_quoted(out: &mut String, chars: &[char], is_printable: fn(char) -> bool) -> fmt::Result {
    let quote = if chars.contains(&'\'') && !chars.contains(&'"') { '"' } else { '\'' };
    out.push(quote);
    for &char in chars {
        match char {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            _ if char == quote => write!(out, "\\{char}")?,
            _ if is_printable(char) => out.push(char),
            _ => match u32::from(char) {
                code @ ..=0xff => write!(out, "\\x{code:02x}")?,
                code @ ..=0xffff => write!(out, "\\u{code:04x}")?,
                code => write!(out, "\\U{code:08x}")?,
            },
        }
    }
    out.push(quote);
    Ok(())
}

/// Like `str.isprintable`: no control, format, private or unassigned character, only plain spaces.
fn is_printable(char: char) -> bool {
    // After another character, `escape_debug` escapes exactly these characters and quotes.
    char.is_ascii_graphic() || format!("a{char}").escape_debug().count() == 2
}

/// Python uses an exponent below 1e-4 and from 1e16 on, with a sign and at least two digits.
fn write_python_float(out: &mut String, value: f64) -> fmt::Result {
    let magnitude = value.abs();
    if value.is_nan() {
        out.write_str("nan")
    } else if value.is_infinite() || magnitude == 0.0 || (1e-4..1e16).contains(&magnitude) {
        // `Debug` would use an exponent for other numbers.
        if value.is_finite() && value.fract() == 0.0 {
            write!(out, "{value:.1}")
        } else {
            write!(out, "{value}")
        }
    } else {
        let text = format!("{value:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, digits) =
            exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
        write!(out, "{mantissa}e{sign}{digits:0>2}")
    }
}
