//! Prints names and scalars, with their quotes, escapes and suffixes.

use std::fmt::{Result, Write};

use crate::leaf::Scalar;
use crate::message::is_invisible;
use crate::model::LeafKind;

/// Words of the grammar and primitive types, which are not bare names. `inff32` is an infinity.
pub(crate) const RESERVED: [&str; 30] = [
    "static", "None", "Some", "true", "false", "inf", "nan", "none", "opaque", "_", "bool", "i8",
    "i16", "i32", "i64", "i128", "u8", "u16", "u32", "u64", "u128", "f32", "f64", "char", "str",
    "bytes", "usize", "isize", "inff32", "inff64",
];

/// The number of characters that are written at once.
const PIECE: usize = 128;

/// Which numbers are printed with a suffix.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Suffix {
    /// All except `i32` and `f64`.
    Sparing,
    /// All. Used for keys in paths, so that `[0]` is always an index.
    Always,
    /// None. Used for keys that a person reads, where a number may be of any type.
    Never,
}

pub(crate) fn is_bare(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && chars.all(|rest| rest.is_ascii_alphanumeric() || rest == '_')
        && !RESERVED.contains(&name)
}

pub(crate) fn write_name(out: &mut dyn Write, name: &str) -> Result {
    if is_bare(name) { out.write_str(name) } else { write_quoted(out, name, '`') }
}

fn write_quoted(out: &mut dyn Write, text: &str, quote: char) -> Result {
    out.write_char(quote)?;
    let is_plain = |char: char| char != quote && char != '\\' && !is_invisible(char);
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        // In pieces, because a writer may only have capacity for the beginning.
        let piece = rest.char_indices().take(PIECE).find(|(_, char)| !is_plain(*char));
        let end = || rest.char_indices().nth(PIECE).map_or(rest.len(), |(end, _)| end);
        let plain = piece.map_or_else(end, |(end, _)| end);
        let (before, after) = rest.split_at(plain.max(char.len_utf8()));
        if plain > 0 {
            out.write_str(before)?
        } else {
            write_char(out, char, quote)?
        }
        rest = after;
    }
    out.write_char(quote)
}

fn write_char(out: &mut dyn Write, char: char, quote: char) -> Result {
    match char {
        '\n' => out.write_str("\\n"),
        '\r' => out.write_str("\\r"),
        '\t' => out.write_str("\\t"),
        '\\' => out.write_str("\\\\"),
        _ if char == quote => write!(out, "\\{char}"),
        _ if is_invisible(char) => write!(out, "\\u{{{:x}}}", u32::from(char)),
        _ => out.write_char(char),
    }
}

fn write_bytes(out: &mut dyn Write, bytes: &[u8]) -> Result {
    out.write_str("b\"")?;
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => write!(out, "\\{}", char::from(byte))?,
            b' '..=b'~' => out.write_char(char::from(byte))?,
            _ => write!(out, "\\x{byte:02x}")?,
        }
    }
    out.write_char('"')
}

pub(crate) fn write_scalar(out: &mut dyn Write, scalar: Scalar<'_>, suffix: Suffix) -> Result {
    match scalar {
        Scalar::Bool(value) => write!(out, "{value}")?,
        Scalar::F32(value) if value.is_nan() => write!(out, "nan({:#010x})", value.to_bits())?,
        Scalar::F64(value) if value.is_nan() => write!(out, "nan({:#018x})", value.to_bits())?,
        // `Debug` prints the shortest text that parses back, always with a point or an exponent.
        Scalar::F32(value) => write!(out, "{value:?}")?,
        Scalar::F64(value) => write!(out, "{value:?}")?,
        Scalar::Char(value) => {
            out.write_char('\'')?;
            write_char(out, value, '\'')?;
            out.write_char('\'')?;
        }
        Scalar::Str(value) => write_quoted(out, value, '"')?,
        Scalar::Bytes(value) => write_bytes(out, value)?,
        Scalar::None => out.write_str("none")?,
        _ => {
            if let Some(integer) = scalar.as_integer() {
                write!(out, "{integer}")?;
            }
        }
    }
    let kind = scalar.kind();
    let common = matches!(kind, LeafKind::I32 | LeafKind::F64);
    let has_suffix = match suffix {
        Suffix::Sparing => !common,
        Suffix::Always => true,
        Suffix::Never => false,
    };
    if kind.is_number() && has_suffix {
        out.write_str(kind.name())?;
    }
    Ok(())
}
