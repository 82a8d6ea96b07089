//! Prints and parses paths, and prints them in the formats of other tools.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::leaf::Scalar;
use crate::message::limited;
use crate::model::{Leaf, Limits, Value};
use crate::path::{Key, Path};

use super::lex::Lexer;
use super::literal::{Suffix, write_name};
use super::parse::{parse_all, parse_keys, parse_value};
use super::print::write_value;

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Field(name) => {
                f.write_str(".")?;
                write_name(f, name)
            }
            Key::Position(position) => write!(f, ".{position}"),
            Key::Index(index) => write!(f, "[{index}]"),
            Key::Entry(key) => {
                f.write_str("[")?;
                write_value(f, key, Suffix::Always)?;
                f.write_str("]")
            }
            Key::Some => f.write_str("?"),
            Key::VariantPosition(variant, position) => {
                f.write_str("::")?;
                write_name(f, variant)?;
                write!(f, ".{position}")
            }
            Key::VariantField(variant, field) => {
                f.write_str("::")?;
                write_name(f, variant)?;
                f.write_str(".")?;
                write_name(f, field)
            }
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.keys().iter().try_for_each(|key| key.fmt(f))
    }
}

impl Path {
    /// The path for messages. Cut off after 400 characters.
    pub(crate) fn brief(&self) -> String {
        limited(self, 400)
    }

    /// The first steps, for messages: as long as a few words.
    pub(crate) fn beginning(&self) -> String {
        let mut text = String::new();
        for key in self.keys() {
            let key = limited(key, 40);
            if !text.is_empty() && text.len() + key.len() > 40 {
                return text + " …";
            }
            text += &key;
        }
        text
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Path({self})")
    }
}

pub(super) fn parse_key(lexer: &mut Lexer<'_>) -> Result<Key> {
    if lexer.eat_here("?") {
        return Ok(Key::Some);
    }
    if lexer.eat_here("[") {
        lexer.expect_no_space()?;
        let key = parse_index(lexer)?;
        lexer.expect_no_space()?;
        lexer.expect("]", "`]`")?;
        return Ok(key);
    }
    let variant = if lexer.eat_here("::") {
        lexer.expect_no_space()?;
        Some(lexer.name()?)
    } else {
        None
    };
    if !lexer.eat_here(".") {
        let is_in_name = lexer.peek().is_some_and(|char| !"*[]{}.?:,".contains(char));
        let failed = lexer.fail(match variant {
            Some(_) => "a field of the variant: `.name` or `.0`",
            None => "a key: one of `.name .0 [0] [\"key\"] ? ::Variant.0`",
        });
        let hint = "a name with such a character has backquotes around it";
        return failed.map_err(|error| if is_in_name { error.with_hint(hint) } else { error });
    }
    lexer.expect_no_space()?;
    Ok(match (variant, lexer.peek_here().is_some_and(|char| char.is_ascii_digit())) {
        (None, true) => Key::Position(lexer.count()?),
        (None, false) => Key::Field(lexer.name()?),
        (Some(variant), true) => Key::VariantPosition(variant, lexer.count()?),
        (Some(variant), false) => Key::VariantField(variant, lexer.name()?),
    })
}

/// The first key of a path or a pattern, if it is a field or a position without its dot.
pub(super) fn parse_first(lexer: &mut Lexer<'_>) -> Result<Option<Key>> {
    match lexer.peek_here() {
        Some('0'..='9') => lexer.count().map(|position| Some(Key::Position(position))),
        Some('A'..='Z' | 'a'..='z' | '_' | '`') => lexer.name().map(|name| Some(Key::Field(name))),
        _ => Ok(None),
    }
}

/// A bare number is an index. A number that is a map key has a suffix, unless it cannot be an
/// index.
fn parse_index(lexer: &mut Lexer<'_>) -> Result<Key> {
    let mut ahead = lexer.clone();
    if let Ok(index) = ahead.count()
        && ahead.peek_here() == Some(']')
    {
        *lexer = ahead;
        return Ok(Key::Index(index));
    }
    lexer.bare_numbers_are_wide(true);
    let value = parse_value(lexer, Limits::default(), (0, 0), false);
    lexer.bare_numbers_are_wide(false);
    value.map(Key::Entry)
}

impl FromStr for Key {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        parse_all(text, Limits::default(), parse_key)
    }
}

impl FromStr for Path {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        parse_keys(text, &mut { Limits::default().max_work }, parse_path)
    }
}

pub(super) fn parse_path(lexer: &mut Lexer<'_>) -> Result<Path> {
    let mut path: Path = parse_first(lexer)?.into_iter().collect();
    while lexer.peek_here().is_some() {
        path.0.push(parse_key(lexer)?);
    }
    Ok(path)
}

impl Path {
    /// The bare keys, joined by a separator: `a/0/x`.
    ///
    /// Keys that are texts or integers are bare, others print as in the path. Inside a key,
    /// backslashes and the first character of the separator get a backslash in front. `Some` is left
    /// out. The text cannot be parsed back: `0` may be an index or a string.
    ///
    /// ```
    /// use treedef::Path;
    ///
    /// assert_eq!(r#".layers[0]["w/b"]"#.parse::<Path>()?.to_joined_string("/"), r"layers/0/w\/b");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn to_joined_string(&self, separator: &str) -> String {
        let (mut joined, mut before) = (String::new(), "");
        // Only its first character is escaped, because a separator could be split between the
        // end of a key and the next key.
        let first = separator.chars().next();
        for key in self.keys() {
            let text = match key {
                Key::Field(name) | Key::VariantField(_, name) => name.to_string(),
                Key::Position(index) | Key::Index(index) | Key::VariantPosition(_, index) => {
                    index.to_string()
                }
                Key::Entry(key) => bare(key),
                Key::Some => continue,
            };
            joined.push_str(before);
            before = separator;
            for char in text.chars() {
                if first.is_some_and(|first| char == first || char == '\\') {
                    joined.push('\\');
                }
                joined.push(char);
            }
        }
        joined
    }
}

/// A text without quotes, an integer without its type.
fn bare(key: &Value) -> String {
    match key.as_leaf() {
        Some(Leaf::Str(text)) => text.to_string(),
        Some(Leaf::Char(char)) => char.to_string(),
        leaf => match leaf.and_then(Leaf::as_scalar).and_then(Scalar::as_integer) {
            Some(integer) => integer.to_string(),
            None => key.to_string(),
        },
    }
}
