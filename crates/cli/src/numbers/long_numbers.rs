//! Finds numbers in a document that a 64-bit float cannot reproduce.
//!
//! The readers of JSON and YAML turn every number beyond 64 bits into an `f64`. So a document with
//! such a number is read a second time, with texts in place of the numbers. Other documents, which
//! are nearly all, are only scanned.

use std::ops::Range;

use treedef::__private::OrBug;
use treedef::{Leaf, Tree};

use crate::numbers::exact::{all_rounded, is_number, long, text_of};

/// Whether a text has 19 digits in a row. It skips most bytes: it looks for the last byte of 19 that is not
/// a digit, and goes on after it.
pub(crate) fn has_long_digits(bytes: &[u8]) -> bool {
    const LONG: usize = 19;
    let mut start = 0;
    while let Some(row) = bytes.get(start..start + LONG) {
        match row.iter().rposition(|byte| !byte.is_ascii_digit()) {
            Some(at) => start += at + 1,
            None => return true,
        }
    }
    false
}

/// Reads JSON, with numbers verbatim.
pub(crate) fn of_json<E>(
    bytes: &[u8],
    read: impl Fn(&[u8]) -> Result<Tree<Leaf>, E>,
) -> Result<Tree<Leaf>, E> {
    with_numbers(bytes, &json_numbers(bytes), read)
}

/// Reads TOML, with numbers verbatim.
pub(crate) fn of_toml<E>(
    text: &str,
    read: impl Fn(&str) -> Result<Tree<Leaf>, E>,
) -> Result<Tree<Leaf>, E> {
    let bytes = text.as_bytes();
    // The replaced parts are ASCII.
    let read = |bytes: &[u8]| read(std::str::from_utf8(bytes).unwrap_or(text));
    with_numbers(bytes, &toml_numbers(bytes), read)
}

/// Reads a document, with the numbers at these places verbatim.
fn with_numbers<E>(
    bytes: &[u8],
    numbers: &[Range<usize>],
    read: impl Fn(&[u8]) -> Result<Tree<Leaf>, E>,
) -> Result<Tree<Leaf>, E> {
    if numbers.is_empty() {
        return read(bytes);
    }
    // Errors keep the positions of the document, and no number is out of range.
    let mut tame = bytes.to_vec();
    for number in numbers {
        let digits = tame.get_mut(number.clone()).or_bug();
        let sign = usize::from(matches!(digits.first(), Some(b'-' | b'+')));
        let digits = digits.get_mut(sign..).or_bug();
        digits.fill(b'0');
        digits.iter_mut().zip(b"1.").for_each(|(digit, new)| *digit = *new);
    }
    let tree = read(&tame)?;
    let indices = read(&numbered(bytes, numbers)).ok();
    joined(tree, indices, |at| long_at(bytes, numbers, at)).or_else(|_| read(bytes))
}

/// The text with an index in place of each of these ranges.
fn numbered(bytes: &[u8], ranges: &[Range<usize>]) -> Vec<u8> {
    replaced(bytes, ranges, |at| at.to_string().into_bytes())
}

fn long_at(bytes: &[u8], ranges: &[Range<usize>], at: usize) -> Option<Leaf> {
    let text = bytes.get(ranges.get(at)?.clone())?;
    std::str::from_utf8(text).ok().and_then(|text| long(&of_decimal(text)))
}

/// The JSON spelling of a number of another format, if there is one.
pub(crate) fn of_decimal(text: &str) -> String {
    let text = text.replace('_', "");
    let (sign, number) = match text.strip_prefix('-') {
        Some(number) => ("-", number),
        None => ("", text.strip_prefix('+').unwrap_or(&text)),
    };
    let digits = number.find(['e', 'E']).unwrap_or(number.len());
    let (digits, exponent) = number.split_at_checked(digits).unwrap_or((number, ""));
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let is_of_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_of_digits(whole) || !is_of_digits(part) {
        return text;
    }
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let point = if part.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{part}{exponent}")
}

/// The bytes with a replacement for each of these ranges, by its index.
pub(crate) fn replaced(
    bytes: &[u8],
    ranges: &[Range<usize>],
    by: impl Fn(usize) -> Vec<u8>,
) -> Vec<u8> {
    let (mut all, mut at) = (Vec::with_capacity(bytes.len()), 0);
    for (index, Range { start, end }) in ranges.iter().enumerate() {
        all.extend_from_slice(bytes.get(at..*start).or_bug());
        all.extend(by(index));
        at = *end;
    }
    all.extend_from_slice(bytes.get(at..).or_bug());
    all
}

/// The tree with the long numbers whose indices are in the other tree, or the unchanged tree if the
/// two do not match because some numbers were keys.
pub(crate) fn joined(
    tree: Tree<Leaf>,
    indices: Option<Tree<Leaf>>,
    number: impl Fn(usize) -> Option<Leaf>,
) -> Result<Tree<Leaf>, Box<Tree<Leaf>>> {
    let Some(indices) = indices.filter(|indices| indices.treedef() == tree.treedef()) else {
        return Err(Box::new(tree));
    };
    let mut indices = indices.into_parts().1.into_iter();
    Ok(tree.map(|leaf| match indices.next().and_then(|index| index.as_u64()) {
        Some(at) if leaf.as_u64().is_none() => {
            usize::try_from(at).ok().and_then(&number).unwrap_or(leaf)
        }
        _ => leaf,
    }))
}

/// Writes YAML, with numbers verbatim.
pub(crate) fn to_yaml<E>(
    tree: &Tree<Leaf>,
    write: impl Fn(&Tree<Leaf>) -> Result<String, E>,
) -> Result<String, E> {
    with_words(
        tree,
        "",
        |leaf| text_of(leaf).map(|text| yaml_of(&text)).or_else(|| quoted(leaf)),
        write,
    )
}

/// A text in quotes, if it would be a block that begins with a tab, which libyaml takes for a wrong
/// indentation.
fn quoted(leaf: &Leaf) -> Option<String> {
    let is_unreadable = |text: &&str| {
        let first = text.trim_start_matches('\n');
        first.starts_with('\t') && text.contains('\n')
    };
    let text = leaf.as_str().filter(is_unreadable)?;
    let inside = text.chars().map(|char| match char {
        '"' | '\\' => format!("\\{char}"),
        '\n' => "\\n".to_owned(),
        '\t' => "\\t".to_owned(),
        '\u{fffe}' | '\u{ffff}' => format!("\\u{:04X}", u32::from(char)),
        _ if char.is_control() || treedef::__private::is_invisible(char) => {
            format!("\\U{:08X}", u32::from(char))
        }
        _ => char.to_string(),
    });
    Some(format!("\"{}\"", inside.collect::<String>()))
}

/// Writes JSON5, with numbers verbatim; `number_of` returns the numbers that JSON does not have.
pub(crate) fn to_json5<E>(
    tree: &Tree<Leaf>,
    number_of: impl Fn(&Leaf) -> Option<String>,
    write: impl Fn(&Tree<Leaf>) -> Result<String, E>,
) -> Result<String, E> {
    with_words(tree, "\"", |leaf| text_of(leaf).or_else(|| number_of(leaf)), write)
}

/// Writes TOML, with numbers verbatim.
pub(crate) fn to_toml<E>(
    tree: &Tree<Leaf>,
    write: impl Fn(&Tree<Leaf>) -> Result<String, E>,
) -> Result<String, E> {
    with_words(tree, "\"", text_of, write)
}

/// Writes placeholders for some leaves, and then replaces them by their numbers. `quote` is the
/// quote around a text.
fn with_words<E>(
    tree: &Tree<Leaf>,
    quote: &str,
    word_of: impl Fn(&Leaf) -> Option<String>,
    write: impl Fn(&Tree<Leaf>) -> Result<String, E>,
) -> Result<String, E> {
    let text = write(&all_rounded(tree.clone()))?;
    if !tree.leaves().iter().any(|leaf| word_of(leaf).is_some()) {
        return Ok(text);
    }
    // Each placeholder is a word that occurs nowhere else.
    let mut word = "number".to_owned();
    while text.contains(&word) {
        word.push('s');
    }
    let mut numbers = Vec::new();
    let words = tree.clone().map(|leaf| match word_of(&leaf) {
        Some(number) => {
            numbers.push(number);
            Leaf::from(format!("{word}{}x", numbers.len() - 1))
        }
        None => leaf,
    });
    let text = write(&words)?;
    let begin = format!("{quote}{word}");
    let mut parts = text.split(&begin);
    let first = parts.next().or_bug().to_owned();
    let end = format!("x{quote}");
    Ok(parts.fold(first, |all, part| {
        let (at, rest) = part.split_once(&end).unwrap_or(("", part));
        let number = at.parse().ok().and_then(|at: usize| numbers.get(at));
        all + number.map_or("", String::as_str) + rest
    }))
}

/// An exponent gets a point and a sign, because YAML 1.1 otherwise reads the number as a text.
fn yaml_of(number: &str) -> String {
    let Some((digits, exponent)) = number.split_once(['e', 'E']) else { return number.to_owned() };
    let point = if digits.contains('.') { "" } else { ".0" };
    let sign = if exponent.starts_with(['+', '-']) { "" } else { "+" };
    format!("{digits}{point}e{sign}{exponent}")
}

/// The places of long numbers in JSON, outside of texts.
fn json_numbers(bytes: &[u8]) -> Vec<Range<usize>> {
    let (mut numbers, mut at) = (Vec::new(), 0);
    while let Some(byte) = bytes.get(at) {
        let rest = bytes.get(at..).or_bug();
        at += match byte {
            b'"' => text_len(rest),
            b'-' | b'0'..=b'9' => {
                let is_of_number =
                    |byte: &&u8| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
                let length = rest.iter().take_while(is_of_number).count();
                let number = rest.get(..length).and_then(|number| std::str::from_utf8(number).ok());
                if number.is_some_and(|number| is_number(number) && long(number).is_some()) {
                    numbers.push(at..at + length);
                }
                length
            }
            _ => 1,
        };
    }
    numbers
}

/// The places of long numbers in TOML, outside of texts, comments, keys and times.
fn toml_numbers(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut numbers = Vec::new();
    toml_words(bytes, |place, word, is_of_time| {
        let number = of_decimal(word);
        if !is_of_time && is_number(&number) && long(&number).is_some() {
            numbers.push(place);
        }
    });
    numbers
}

/// Whether a time has more digits than nanoseconds, which readers of TOML cut off.
pub(crate) fn has_long_seconds(text: &str) -> bool {
    const NANOSECONDS: usize = 9;
    let mut has = false;
    toml_words(text.as_bytes(), |_, word, is_of_time| {
        let behind = word.split_once('.').map_or("", |(_, behind)| behind);
        let digits = behind.bytes().take_while(u8::is_ascii_digit).skip(NANOSECONDS);
        has |= is_of_time && digits.into_iter().any(|digit| digit != b'0');
    });
    has
}

/// Finds the words of values in TOML: their places, and whether each is the part of a time after a
/// colon.
fn toml_words(bytes: &[u8], mut found: impl FnMut(Range<usize>, &str, bool)) {
    let mut at = 0;
    // The open brackets around a value. A key is first, also in a header.
    let (mut open, mut is_key) = (Vec::new(), true);
    while let Some(byte) = bytes.get(at) {
        let rest = bytes.get(at..).or_bug();
        let is_after_colon = at.checked_sub(1).and_then(|at| bytes.get(at)) == Some(&b':');
        at += match byte {
            b'#' => memchr::memchr(b'\n', rest).unwrap_or(rest.len()),
            b'"' | b'\'' => toml_text_len(rest, *byte),
            byte if is_of_word(byte) => {
                let length = rest.iter().take_while(|byte| is_of_word(byte)).count();
                let word = rest.get(..length).and_then(|word| std::str::from_utf8(word).ok());
                if let Some(word) = word.filter(|_| !is_key) {
                    found(at..at + length, word, is_after_colon);
                }
                length
            }
            _ => {
                match byte {
                    b'=' => is_key = false,
                    b'[' | b'{' if !is_key => open.push(*byte),
                    b']' if !is_key => drop(open.pop()),
                    b'}' => {
                        open.pop();
                        is_key = false;
                    }
                    _ => {}
                }
                // The next token in an inline table, and in the document.
                is_key |= match byte {
                    b'{' | b',' => open.last() == Some(&b'{'),
                    b'\n' => open.is_empty(),
                    _ => false,
                };
                1
            }
        };
    }
}

/// Whether a byte may be one of a number or a bare key of TOML.
fn is_of_word(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-+.".contains(byte)
}

/// The length of the text of TOML that begins with this quote, one or three times.
pub(crate) fn toml_text_len(bytes: &[u8], quote: u8) -> usize {
    let count = if bytes.starts_with(&[quote; 3]) { 3 } else { 1 };
    let mut at = count;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        match rest.first() {
            Some(b'\\') if quote == b'"' => at += 2,
            _ if rest.iter().take(count).filter(|byte| **byte == quote).count() == count => {
                return at + count;
            }
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The length of the text that begins with a quote.
fn text_len(bytes: &[u8]) -> usize {
    let mut at = 1;
    while let Some(next) = bytes.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += next + 1;
        match bytes.get(at - 1) {
            Some(b'\\') => at += 1,
            _ => return at,
        }
    }
    bytes.len()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use treedef::LeafKind;

    use super::*;
    use crate::numbers::exact::by_value;

    fn json(text: &str) -> Tree<Leaf> {
        of_json(text.as_bytes(), |bytes| serde_json::from_slice(bytes)).unwrap()
    }

    #[test]
    fn a_number_is_kept_where_no_float_gives_it_back() {
        for (text, kind) in [
            ("18446744073709551615", LeafKind::U64),
            ("18446744073709551616", LeafKind::I128),
            ("-9223372036854775808", LeafKind::I64),
            ("-9223372036854775809", LeafKind::I128),
            ("340282366920938463463374607431768211455", LeafKind::U128),
            ("340282366920938463463374607431768211456", LeafKind::Opaque),
            ("0.1", LeafKind::F64),
            ("1.00", LeafKind::F64),
            ("0.10000000000000001", LeafKind::F64),
            ("0.1000000000000000055511151231257827", LeafKind::Opaque),
            ("0.12345678901234567890123", LeafKind::Opaque),
            ("1e23", LeafKind::F64),
            // Both are as near.
            ("-29.876480102539062", LeafKind::F64),
            ("-29.876480102539063", LeafKind::F64),
            ("-29.876480102539064", LeafKind::Opaque),
            ("1e400", LeafKind::Opaque),
            ("-1e400", LeafKind::Opaque),
            ("1e-400", LeafKind::Opaque),
            ("0e-400", LeafKind::F64),
            ("-0.0e99999999999999999999", LeafKind::F64),
            ("5e-324", LeafKind::F64),
            ("1e99999999999999999999", LeafKind::Opaque),
        ] {
            let tree = json(&format!("[\"a\\\"1e400\",{text}, 7]"));
            assert_eq!(tree.leaves()[1].kind(), kind, "{text}");
            assert_eq!(tree.leaves()[0], Leaf::from("a\"1e400"), "{text}");
            let back = serde_json::to_string(&tree).unwrap();
            if kind != LeafKind::F64 {
                assert_eq!(back, format!("[\"a\\\"1e400\",{text},7]"));
            }
            assert_eq!(json(&back), tree, "{text}");
        }
    }

    #[test]
    fn texts_of_one_number_are_one_by_value() {
        let one = |text: &str| by_value(json(text).leaves()[0].clone());
        assert_eq!(one("12.345678901234567890123"), one("1234567890.1234567890123000e-8"));
        assert_ne!(one("12.345678901234567890123"), one("12.345678901234567890124"));
        assert_eq!(one("1e400"), one("10E+399"));
    }

    #[test]
    fn errors_have_their_places() {
        let error = |text: &str| {
            of_json(text.as_bytes(), |bytes| serde_json::from_slice::<Tree<Leaf>>(bytes))
                .unwrap_err()
                .to_string()
        };
        assert_eq!(error("[1e400, x]"), "expected value at line 1 column 9");
        assert_eq!(error("{1e400: 1}"), "key must be a string at line 1 column 2");
        assert_eq!(error("[01234567890123456789012]"), "invalid number at line 1 column 3");
    }

    #[test]
    fn long_digits_are_found_wherever_they_are() {
        for at in 0..40 {
            let text = |digits: usize| ["a".repeat(at), "7".repeat(digits), "b".repeat(9)].concat();
            assert!(has_long_digits(text(19).as_bytes()), "{at}");
            assert!(!has_long_digits(text(18).as_bytes()), "{at}");
        }
    }
}
