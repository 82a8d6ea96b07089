//! Numbers in RON that a 64-bit float cannot reproduce.

use std::ops::Range;

use treedef::__private::OrBug;
use treedef::{Leaf, Tree};

use crate::failure::{Failure, Result};
use crate::numbers::exact::{long, text_of};
use crate::numbers::long_numbers::{joined, of_decimal, replaced, toml_text_len};

/// A number of more digits than fit into 64 bits.
struct LongNumber {
    place: Range<usize>,
    leaf: Leaf,
    is_key: bool,
}

/// Reads RON, with numbers verbatim. A key that is such a number is its text.
pub(crate) fn of_ron(text: &str, read: impl Fn(&str) -> Result<Tree<Leaf>>) -> Result<Tree<Leaf>> {
    let first = read(text)?;
    let numbers = numbers(text);
    if numbers.is_empty() {
        return Ok(first);
    }
    let places: Vec<_> = numbers.iter().map(|number| number.place.clone()).collect();
    // The document with texts for the keys, and placeholders for the values.
    let with = |value: &dyn Fn(usize) -> Option<String>| {
        let text = replaced(text.as_bytes(), &places, |at| {
            let Some(number) = numbers.get(at) else { return Vec::new() };
            let key = || text_of(&number.leaf).map(|key| format!("\"{key}\""));
            let new = if number.is_key { key() } else { value(at) };
            let old = || text.get(number.place.clone()).or_bug().to_owned();
            new.unwrap_or_else(old).into_bytes()
        });
        read(&String::from_utf8_lossy(&text))
    };
    let tree = with(&|_| None)?;
    let indices = with(&|at| Some(at.to_string())).ok();
    let leaf = |at: usize| numbers.get(at).map(|number| number.leaf.clone());
    joined(tree, indices, leaf).map_err(|_| {
        Failure::new("a key with a number of more digits than 64 bits hold: put quotes around it")
    })
}

/// Such numbers outside of texts and comments.
fn numbers(text: &str) -> Vec<LongNumber> {
    let numbers = words(text).filter_map(|(at, word, behind)| {
        let number = ["f32", "f64"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
        let number = number.trim_end_matches('_');
        let leaf = long(&of_decimal(number)).filter(|_| !number.is_empty())?;
        Some(LongNumber { place: at..at + word.len(), leaf, is_key: is_before_colon(behind) })
    });
    numbers.collect()
}

/// The first name of a struct or a variant, which the reader ignores.
pub(crate) fn first_name(text: &str) -> Option<&str> {
    let mut names = words(text).filter(|(_, word, behind)| {
        let is_prefix = *word == "b" && behind.starts_with(['\'', '"'])
            || *word == "r" && behind.starts_with('#');
        let is_value = matches!(
            *word,
            "true"
                | "false"
                | "None"
                | "Some"
                | "inf"
                | "NaN"
                | "inff32"
                | "inff64"
                | "NaNf32"
                | "NaNf64"
        );
        word.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && !is_prefix
            && !is_value
            && !is_before_colon(behind)
    });
    names.next().map(|(_, name, _)| name)
}

/// Whether there are structs or tuples, which the reader returns as maps and lists.
pub(crate) fn has_structs(text: &str) -> bool {
    let mut before = "";
    words(text).any(|(_, word, behind)| {
        let is_open = word == "(" && before != "Some" && !behind.trim_start().starts_with(')');
        before = if word.starts_with(char::is_whitespace) { before } else { word };
        is_open
    })
}

/// The words outside of texts, comments and attributes, and all other characters: the place, the word, and
/// the text behind it.
fn words(text: &str) -> impl Iterator<Item = (usize, &str, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let skipped = skipped(rest);
            if skipped > 0 {
                at += skipped;
                continue;
            }
            let is_of_word = |c: char| c.is_alphanumeric() || "_-+.".contains(c);
            let length = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
            let length = length.max(rest.chars().next().map_or(1, char::len_utf8));
            let (word, behind) = rest.split_at_checked(length).unwrap_or((rest, ""));
            let raw = behind.trim_start_matches('#');
            if matches!(word, "r" | "br") && raw.starts_with('"') {
                let hashes = behind.len() - raw.len();
                let end = format!("\"{}", "#".repeat(hashes));
                let inside = raw.get(1..).or_bug();
                let text = inside.find(&end).map_or(inside.len(), |text| text + end.len());
                at += length + hashes + 1 + text;
                continue;
            }
            let found = (at, word, behind);
            at += length;
            return Some(found);
        }
        None
    })
}

fn is_before_colon(mut rest: &str) -> bool {
    loop {
        let comment = comment_len(rest);
        rest = match (comment, rest.starts_with(char::is_whitespace)) {
            (0, false) => return rest.starts_with(':'),
            (0, true) => rest.trim_start(),
            (comment, _) => rest.get(comment..).or_bug(),
        };
    }
}

/// The length of the text, the character, the comment or the attribute at the beginning.
fn skipped(rest: &str) -> usize {
    let char = |inside: &str| {
        let escaped = inside.strip_prefix('\\');
        let first = escaped.unwrap_or(inside).chars().next().map_or(0, char::len_utf8);
        let first = first + usize::from(escaped.is_some());
        let end = inside.get(first..).and_then(|behind| behind.find('\''));
        end.map_or(inside.len(), |end| first + end + 1)
    };
    match rest.strip_prefix('\'') {
        Some(inside) => 1 + char(inside),
        None if rest.starts_with('"') => {
            // Unlike in TOML, three quotes have no meaning of their own.
            if rest.starts_with("\"\"") { 2 } else { toml_text_len(rest.as_bytes(), b'"') }
        }
        None if rest.starts_with("#!") => rest.find(']').map_or(rest.len(), |end| end + 1),
        None => comment_len(rest),
    }
}

fn comment_len(rest: &str) -> usize {
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if !rest.starts_with("/*") {
        return 0;
    }
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(behind) = rest.get(at..).filter(|behind| !behind.is_empty()) {
        match behind.get(..2) {
            Some("/*") => (depth, at) = (depth + 1, at + 2),
            Some("*/") if depth == 1 => return at + 2,
            Some("*/") => (depth, at) = (depth - 1, at + 2),
            _ => at += behind.chars().next().map_or(1, char::len_utf8),
        }
    }
    rest.len()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_outside_of_texts_characters_and_comments() {
        let text = r####"{"1e401": 1e402, 'a': '"', "b": '\'', // 1e403
            r#"1e404 " 1e405"#: 1_0e406, /* 1e407 /* 1e408 */ 1e409 */ "": -1e410f64,
            1e411 /* */ : '\u{41}', "é\" 1e412": [1e413, br"1e414", b"1e415", 1.5, Some(1e416)]}"####;
        let found = numbers(text);
        let found: Vec<_> =
            found.iter().map(|it| (text_of(&it.leaf).unwrap(), it.is_key)).collect();
        let found: Vec<_> = found.iter().map(|(text, is_key)| (&**text, *is_key)).collect();
        let values = ["1e402", "10e406", "-1e410", "1e413", "1e416"];
        let mut expected = values.map(|it| (it, false)).to_vec();
        expected.insert(3, ("1e411", true));
        assert_eq!(found, expected);
    }
}
