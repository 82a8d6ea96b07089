//! Python's numbers.

use crate::py_key::PyKey;

/// Whether a number is one of Python's imaginary ones.
pub(super) fn is_imaginary(digits: &str) -> bool {
    digits.ends_with(['j', 'J'])
}

/// A number without its sign, if it is one in Python.
pub(super) fn read_number(digits: &str, negative: bool) -> Option<PyKey> {
    let lower = digits.to_ascii_lowercase();
    if let Some(imaginary) = lower.strip_suffix('j') {
        // It is a float, which may begin with any number of zeros.
        let float =
            format!("{imaginary}{}", if imaginary.contains(['.', 'e']) { "" } else { "e0" });
        return read_number(&float, negative)
            .filter(|key| matches!(key, PyKey::Float(_)))
            .map(|_| PyKey::Other);
    }
    let radixes = [("0x", 16), ("0o", 8), ("0b", 2)];
    let (body, radix) = radixes
        .iter()
        .find_map(|(prefix, radix)| Some((lower.strip_prefix(prefix)?, *radix)))
        .unwrap_or((&lower, 10));
    // An underscore may be between digits, or after the prefix.
    let digit = |byte: Option<&u8>| byte.is_some_and(|byte| char::from(*byte).is_digit(radix));
    let bytes = body.as_bytes();
    let grouped = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'_').all(|(at, _)| {
        let before = at.checked_sub(1).map_or(radix != 10, |before| digit(bytes.get(before)));
        before && digit(bytes.get(at + 1))
    });
    let plain: String = body.chars().filter(|char| *char != '_').collect();
    if !grouped || plain.is_empty() {
        return None;
    }
    if plain.chars().all(|char| char.is_digit(radix)) {
        // `01` is not a number in Python, `00` is.
        if radix == 10
            && plain.len() > 1
            && plain.starts_with('0')
            && plain.contains(|char| char != '0')
        {
            return None;
        }
        return Some(match (u128::from_str_radix(&plain, radix), negative) {
            (Ok(value), false) => match i128::try_from(value) {
                Ok(value) => PyKey::Int(value),
                Err(_) => PyKey::Large(value),
            },
            (Ok(value), true) if value <= 1 << 127 => {
                PyKey::Int(value.wrapping_neg().cast_signed())
            }
            _ => PyKey::Other,
        });
    }
    let is_float = radix == 10
        && plain.contains(|char: char| char.is_ascii_digit())
        && plain.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'-' | b'+'));
    let value: f64 = plain.parse().ok().filter(|_| is_float)?;
    Some(PyKey::Float(if negative { -value } else { value }))
}
