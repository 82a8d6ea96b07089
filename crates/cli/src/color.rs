//! Colours for the text of structures, and the width of the terminal.

use std::borrow::Cow;

use anstyle::{AnsiColor, Style};
use treedef::__private::{OrBug, without_open_escape};

use crate::numbers::exact;

/// The columns of the terminal, or 100 if the output is not one.
pub(crate) fn width() -> usize {
    let terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    terminal.filter(|width| *width > 0).map_or(100, |width| width.clamp(40, 200))
}

/// Colours the text of a structure or of values: keys, strings, kinds and numbers. The writer
/// decides whether to output the colours.
pub(crate) fn paint(text: &str) -> String {
    let mut painted = String::with_capacity(text.len() * 2);
    tokens(text, |token, after| {
        let style = style_of(token, after);
        painted.push_str(&format!("{style}{token}{style:#}"));
    });
    painted
}

/// The text with `u64` for the scalar `u64[]`, which means the same.
pub(crate) fn bare_scalars(text: &str) -> String {
    let mut bare = String::with_capacity(text.len());
    let mut skip = 0;
    tokens(text, |token, after| {
        let is_kind = token.starts_with(|c: char| c.is_ascii_lowercase());
        if skip == 0 {
            bare.push_str(token);
            skip = if is_kind && after.starts_with("[]") { 2 } else { 0 };
        } else {
            skip -= 1;
        }
    });
    bare
}

/// The text with `null` for `()`, the name in most formats.
pub(crate) fn with_null(text: &str) -> String {
    let mut with_null = String::with_capacity(text.len());
    let mut skip = false;
    let mut is_name = false;
    tokens(text, |token, after| {
        let is_unit = token == "(" && after.starts_with(')') && !is_name;
        if !std::mem::take(&mut skip) {
            with_null.push_str(if is_unit { "null" } else { token });
        }
        skip = is_unit;
        is_name = token.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '`'));
    });
    with_null
}

/// The text of a structure with `()` for `null`; see [`with_null`].
pub(crate) fn without_null(text: &str) -> String {
    let mut without = String::with_capacity(text.len());
    tokens(text, |token, _| without.push_str(if token == "null" { "()" } else { token }));
    without
}

/// The kinds that are suffixes of numbers.
const KINDS: [&str; 11] =
    ["u64", "i64", "f32", "u8", "i8", "u16", "i16", "u32", "i32", "u128", "i128"];

fn is_number(text: &str) -> bool {
    text.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit())
        && text.parse::<f64>().is_ok()
}

/// The text with `7` for the integer `7u64` and `0.5` for `0.5f32`, as in most documents.
pub(crate) fn bare_numbers(text: &str) -> String {
    let mut bare = String::with_capacity(text.len());
    tokens(&without_open_kinds(&exact::printed(text)), |token, _| {
        let kind = KINDS.iter().find_map(|kind| token.strip_suffix(kind));
        bare.push_str(kind.filter(|number| is_number(number)).unwrap_or(token));
    });
    bare
}

/// The text without an incomplete kind at the point where it was cut off: `7…` for `7u6…`.
pub(crate) fn without_open_kinds(text: &str) -> Cow<'_, str> {
    if !text.contains('…') {
        return text.into();
    }
    let mut whole = String::with_capacity(text.len());
    tokens(text, |token, after| {
        let start = token.find(['u', 'i', 'f']).filter(|_| after.starts_with('…'));
        let parts = start.and_then(|start| token.split_at_checked(start));
        let open = parts.filter(|(number, kind)| {
            let is_open = |it: &&str| it.len() > kind.len() && it.starts_with(kind);
            is_number(number) && KINDS.iter().any(is_open) && !KINDS.contains(kind)
        });
        whole.push_str(open.map_or(token, |(number, _)| number));
    });
    whole.into()
}

/// Calls `each` with every word, string or other character, and the text after it.
pub(crate) fn tokens(text: &str, mut each: impl FnMut(&str, &str)) {
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let len = match first {
            '"' => string_end(rest),
            '\'' => char_end(rest),
            c if c.is_alphanumeric() || matches!(c, '_' | '-') => {
                let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
                let end = rest.char_indices().skip(1).find(|(_, c)| !is_word(*c));
                end.map_or(rest.len(), |(end, _)| end)
            }
            c => c.len_utf8(),
        };
        let (token, after) = rest.split_at_checked(len).unwrap_or((rest, ""));
        each(token, after);
        rest = after;
    }
}

/// The end of a string literal, including its quotes.
fn string_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while let Some(next) = bytes.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += next;
        match bytes.get(at) {
            Some(b'"') => return at + 1,
            _ => at += 2, // what is escaped is ASCII
        }
    }
    text.len()
}

/// The end of a character in quotes, or of the quote alone, which is also in words of messages.
fn char_end(text: &str) -> usize {
    let inside = text.get(1..).or_bug();
    let escaped = inside.strip_prefix('\\');
    // An escape of several characters is `\u{…}`.
    let rest = match escaped {
        Some(rest) if rest.starts_with("u{") => rest.split_once('}').map(|(_, rest)| rest),
        _ => escaped
            .unwrap_or(inside)
            .chars()
            .next()
            .and_then(|first| escaped.unwrap_or(inside).strip_prefix(first)),
    };
    let rest = rest.and_then(|rest| rest.strip_prefix('\''));
    rest.map_or(1, |rest| text.len() - rest.len())
}

/// The text in which the end of each very long string, such as a key of a megabyte, is replaced by `…` and
/// the number of characters.
pub(crate) fn short_strings(text: &str) -> String {
    const MOST: usize = 500;
    const KEPT: usize = 100;
    let mut short = String::with_capacity(text.len().min(1 << 20));
    tokens(text, |token, _| {
        let long = Some(token).filter(|token| token.len() > MOST && token.starts_with('"'));
        let start = long.map(|token| beginning(token, KEPT));
        match start {
            Some(start) => {
                let length = token.chars().count().saturating_sub(2);
                let length = u64::try_from(length).unwrap_or(u64::MAX);
                short.push_str(&format!("{start}…\" /* {} characters */", grouped(length)));
            }
            None => short.push_str(token),
        }
    });
    short
}

/// The beginning of a string in quotes, of at most `most` characters. No escape is split.
fn beginning(token: &str, most: usize) -> &str {
    match token.char_indices().nth(most) {
        Some((end, _)) => without_open_escape(token.get(..end).unwrap_or(token)),
        None => token,
    }
}

/// The words of statistics.
const STATISTICS: [&str; 6] = ["mean", "sd", "zero", "zeros", "NaN", "infinite"];

fn style_of(token: &str, after: &str) -> Style {
    let color = |color: AnsiColor| color.on_default();
    let is_key = after.starts_with(':');
    match token.chars().next() {
        Some('"') if is_key => color(AnsiColor::Blue),
        Some('"') => color(AnsiColor::Green),
        Some(c) if c.is_ascii_digit() || c == '-' => color(AnsiColor::Yellow),
        Some('…') => Style::new().dimmed(),
        _ if STATISTICS.contains(&token) => Style::new().dimmed(),
        Some(c) if c.is_uppercase() => color(AnsiColor::Magenta),
        Some(c) if c.is_alphabetic() && is_key => color(AnsiColor::Blue),
        Some(c) if c.is_alphabetic() => color(AnsiColor::Cyan),
        _ => Style::new(),
    }
}

/// Colours a line of a report: added, removed or changed.
pub(crate) fn paint_change(line: &str) -> String {
    let color = match line.trim_start().chars().next() {
        Some('+') => AnsiColor::Green,
        Some('-') => AnsiColor::Red,
        Some('~') => AnsiColor::Yellow,
        _ => return line.to_owned(),
    };
    let style = color.on_default();
    format!("{style}{line}{style:#}")
}

/// A number with separators: `12,480,113`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with a word: `1 leaf`, `2 leaves`.
pub(crate) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

/// The first of some names, and the number of the others: `a, b and 3 more`.
pub(crate) fn listed<N: AsRef<str>>(names: &[N], most: usize) -> String {
    let shown = names.iter().take(most).map(AsRef::as_ref).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn colours_change_no_character() {
        let text = "# x\n{\"a\\\"b\": u64, \"c\": [\"x\"; 3], w: f32[3, 4] (mean 0.5, sd 1, -2 … 2), L { ü: -1.5 }}\" open";
        assert_eq!(anstream::adapter::strip_str(&paint(text)).to_string(), text);
    }

    #[test]
    fn scalars_lose_their_brackets_and_sequences_do_not() {
        let text = r#"{"str[]": str[], "b": [], "c": [u8[], f32[3]]}"#;
        assert_eq!(bare_scalars(text), r#"{"str[]": str, "b": [], "c": [u8, f32[3]]}"#);
    }

    #[test]
    fn numbers_lose_their_kinds_and_words_do_not() {
        assert_eq!(
            bare_numbers(r#"7u64 -1i64 "7u64" u64 x7u64 1.5 0.5f32 -1e-9f32 7u8"#),
            r#"7 -1 "7u64" u64 x7u64 1.5 0.5 -1e-9 7"#
        );
        // A quote that is a character opens no text, and one alone is no character.
        assert_eq!(
            bare_numbers(r#"'"' 7u8 '\'' "8u8" '\u{1f600}' 9u8 '\\' 1u8 don't 2u8 '1u8'"#),
            r#"'"' 7 '\'' "8u8" '\u{1f600}' 9 '\\' 1 don't 2 '1'"#
        );
        // Also where the text was cut off.
        for cut in ["[7u64…", "[7u6…", "[7u…", "[7…", "[7i12…", "[7u8…"] {
            assert_eq!(bare_numbers(&format!("{cut} → x2u6… \"7u6…")), "[7… → x2u6… \"7u6…");
        }
    }

    #[test]
    fn no_escape_is_parted() {
        let part = |text: &str, count| beginning(text, count).to_owned();
        assert_eq!(part(r#""C:\\windows"#, 4), r#""C:"#);
        assert_eq!(part(r#""C:\\windows"#, 6), r#""C:\\w"#);
        assert_eq!(part(r#""a\u{202e}b"#, 10), r#""a\u{202e}"#);
        assert_eq!(part(r#""äöü"#, 3), r#""äö"#);
        assert_eq!(part(r#""\"#, 9), r#""\"#);
        let long = format!(r#"{{"C:\\{}": u64}}"#, "x".repeat(600));
        let shown = format!(r#"{{"C:\\{}…" /* 604 characters */: u64}}"#, "x".repeat(95));
        assert_eq!(short_strings(&long), shown);
    }

    #[test]
    fn null_has_its_name_and_comes_back() {
        let text = r#"{"()": (), "a": [(), "\"()"], "b": Rgb(), "c": ((), (,))}"#;
        let shown = r#"{"()": null, "a": [null, "\"()"], "b": Rgb(), "c": (null, (,))}"#;
        assert_eq!(with_null(text), shown);
        assert_eq!(without_null(shown), text);
    }

    #[test]
    fn long_strings_are_shortened() {
        let long = format!(r#"{{"{}": u64, "a\"b": "{}"}}"#, "k".repeat(600), "\\n".repeat(300));
        let kept = "k".repeat(99);
        let rest = short_strings(&long);
        let rest =
            rest.strip_prefix(&format!(r#"{{"{kept}…" /* 600 characters */: u64, "a\"b": ""#));
        assert_eq!(rest.unwrap(), format!(r#"{}…" /* 600 characters */}}"#, "\\n".repeat(49)));
        assert_eq!(short_strings(r#"{"a": "b"} "open"#), r#"{"a": "b"} "open"#);
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!([0, 999, 1000, 12_480_113].map(grouped), ["0", "999", "1,000", "12,480,113"]);
    }
}
