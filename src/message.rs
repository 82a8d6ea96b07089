//! Pieces of messages: counts, lists of names, and texts that are cut off.

use std::fmt::{self, Write};

use crate::model::Name;

/// The printed value, cut off after `most` characters.
pub(crate) fn limited(printed: &dyn fmt::Display, most: usize) -> String {
    let mut out = LimitedWriter { text: String::new(), left: most };
    match write!(out, "{printed}") {
        Ok(()) => out.text,
        Err(_) => {
            out.text.truncate(without_open_escape(&out.text).len());
            out.text + "…"
        }
    }
}

/// One line, cut off if it is long, for messages.
pub(crate) fn brief(printed: &impl fmt::Display) -> String {
    limited(printed, 60)
}

/// The text without an incomplete escape, such as `\\u{202`, at its end.
pub fn without_open_escape(text: &str) -> &str {
    let Some((before, escape)) = text.rsplit_once('\\') else { return text };
    let is_open = match escape.strip_prefix('u') {
        Some(code) => code.bytes().all(|byte| byte == b'{' || byte.is_ascii_hexdigit()),
        None => escape.is_empty(),
    };
    // A backslash may itself be escaped.
    let backslashes = before.len() - before.trim_end_matches('\\').len();
    if is_open && backslashes % 2 == 0 { before } else { text }
}

/// Whether a character has no glyph of its own, but hides or reorders others: controls, and the classes
/// that Unicode calls format characters, line separators and default ignorable.
///
/// Variation selectors are not among them: they change the shape of the character before them.
pub fn is_invisible(char: char) -> bool {
    if char.is_ascii() {
        return char.is_ascii_control();
    }
    char.is_control()
        || matches!(char,
            '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
            | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}')
}

/// A writer of messages, which may quote untrusted text: invisible characters are escaped, except tabs and
/// line breaks.
pub(crate) struct EscapingWriter<'a, 'f>(pub(crate) &'a mut fmt::Formatter<'f>);

impl fmt::Write for EscapingWriter<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let is_escaped = |char: char| is_invisible(char) && !matches!(char, '\n' | '\t');
        let mut rest = text;
        while let Some((at, char)) = rest.char_indices().find(|(_, char)| is_escaped(*char)) {
            let (before, after) = rest.split_at(at);
            write!(self.0, "{before}\\u{{{:x}}}", u32::from(char))?;
            rest = after.split_at(char.len_utf8()).1;
        }
        self.0.write_str(rest)
    }
}

/// A writer that fails when its capacity is used up.
pub(crate) struct LimitedWriter {
    pub(crate) text: String,
    pub(crate) left: usize,
}

impl fmt::Write for LimitedWriter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for char in text.chars() {
            self.left = self.left.checked_sub(1).ok_or(fmt::Error)?;
            self.text.push(char);
        }
        Ok(())
    }
}

pub(crate) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// The printed items with a separator between them.
pub(crate) fn joined<T: fmt::Display>(
    items: impl IntoIterator<Item = T>,
    separator: &str,
) -> String {
    let mut text = String::new();
    let mut before = "";
    for item in items {
        text.push_str(before);
        text.push_str(&item.to_string());
        before = separator;
    }
    text
}

pub(crate) fn quoted_names(names: &[Name]) -> String {
    match names {
        [] => "are no fields".to_owned(),
        [only] => format!("is `{only}`"),
        _ => format!("are `{}`", joined(names, "`, `")),
    }
}

pub(crate) fn alternatives(names: &[&str]) -> String {
    match names {
        [] => "none: there are no variants".to_owned(),
        [only] => format!("`{only}`"),
        [names @ .., last] => format!("`{}` or `{last}`", joined(names, "`, `")),
    }
}
