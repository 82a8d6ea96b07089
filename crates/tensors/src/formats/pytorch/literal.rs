//! Numbers and texts as pickles write them.

use crate::bug::OrBug;
use crate::formats::pytorch::object::Object;

/// A text, or bytes if they are not UTF-8: Python 2 had one type for both.
pub(super) fn text(bytes: Vec<u8>) -> Object {
    match String::from_utf8(bytes) {
        Ok(text) => Object::Text(text.into()),
        Err(error) => Object::Bytes(error.into_bytes().into()),
    }
}

/// An integer in two's complement, lowest byte first.
pub(super) fn integer(bytes: Vec<u8>) -> Object {
    let sign = if bytes.last().is_some_and(|byte| *byte >= 0x80) { 0xff } else { 0 };
    let mut array = [sign; 16];
    if bytes.len() > array.len() {
        return Object::Large(bytes.into());
    }
    array.iter_mut().zip(&bytes).for_each(|(to, from)| *to = *from);
    Object::Int(i128::from_le_bytes(array))
}

/// `7`, `7L`, and the bools `00` and `01`.
pub(super) fn decimal(line: &str) -> Option<Object> {
    match line {
        "00" => return Some(Object::Bool(false)),
        "01" => return Some(Object::Bool(true)),
        _ => {}
    }
    let line = line.trim().strip_suffix('L').unwrap_or(line.trim());
    line.parse().ok().map(Object::Int)
}

pub(super) fn float(line: &str) -> Option<Object> {
    line.trim().parse().ok().map(Object::Float)
}

/// A text of Python 2 in quotes, with its escapes.
pub(super) fn unquoted(line: &[u8]) -> Option<Vec<u8>> {
    let line = line.trim_ascii();
    let (quote, rest) = line.split_first()?;
    let (end, mut inner) = rest.split_last()?;
    if !matches!(quote, b'\'' | b'"') || quote != end {
        return None;
    }
    let mut bytes = Vec::with_capacity(inner.len());
    while let Some((byte, rest)) = inner.split_first() {
        inner = rest;
        if *byte != b'\\' {
            bytes.push(*byte);
            continue;
        }
        let (escape, rest) = inner.split_first()?;
        inner = rest;
        match escape {
            b'n' => bytes.push(b'\n'),
            b'r' => bytes.push(b'\r'),
            b't' => bytes.push(b'\t'),
            b'x' => {
                let (digits, rest) = inner.split_at_checked(2)?;
                inner = rest;
                bytes.push(u8::try_from(hexadecimal(digits)?).ok()?);
            }
            other => bytes.push(*other),
        }
    }
    Some(bytes)
}

/// The number of digits alone, without a sign.
fn hexadecimal(digits: &[u8]) -> Option<u32> {
    let digits = std::str::from_utf8(digits).ok()?;
    let are_digits = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u32::from_str_radix(digits, 16).ok().filter(|_| are_digits)
}

/// A line of Latin-1 with `\uXXXX` and `\UXXXXXXXX`, as UTF-8.
pub(super) fn unescaped_unicode(line: &[u8]) -> Vec<u8> {
    let (mut text, mut rest) = (String::new(), line);
    while let Some((byte, after)) = rest.split_first() {
        let width = match (byte, after.first()) {
            (b'\\', Some(b'u')) => 4,
            (b'\\', Some(b'U')) => 8,
            _ => 0,
        };
        let digits = after.get(1..1 + width).filter(|_| width > 0);
        match digits.and_then(hexadecimal).and_then(char::from_u32) {
            Some(char) => {
                text.push(char);
                rest = after.get(1 + width..).or_bug();
            }
            None => {
                text.push(char::from(*byte));
                rest = after;
            }
        }
    }
    text.into_bytes()
}
