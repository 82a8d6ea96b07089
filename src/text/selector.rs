//! Prints and parses selectors.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::model::Limits;
use crate::path::Key;
use crate::pattern::Pattern;
use crate::selector::Selector;

use super::lex::Lexer;
use super::literal::write_name;
use super::parse::parse_all;
use super::path::parse_first;

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Selector::Type(name) => write_name(f, name),
            Selector::Field(of, name) => {
                write_name(f, of)?;
                f.write_str(".")?;
                let is_position = name.bytes().all(|byte| byte.is_ascii_digit());
                if is_position { f.write_str(name) } else { write_name(f, name) }
            }
            Selector::Path(pattern) => pattern.fmt(f),
        }
    }
}

fn parse_type(lexer: &mut Lexer<'_>) -> Result<Selector> {
    const EXPECTED: &str = "a type, or a type and its field, as in `Linear.w`";
    let of = lexer.name()?;
    let selector = if lexer.eat_here(".") {
        match parse_first(lexer)? {
            Some(Key::Field(name)) => Selector::Field(of, name),
            Some(Key::Position(position)) => Selector::Field(of, position.to_string().into()),
            _ => return lexer.fail(EXPECTED),
        }
    } else {
        Selector::Type(of)
    };
    if lexer.peek_here().is_none() { Ok(selector) } else { lexer.fail(EXPECTED) }
}

impl FromStr for Selector {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text.is_empty() || text.starts_with(['.', '[', '*', '?', ':', '{']) {
            return text.parse().map(Selector::Path);
        }
        parse_all(text, Limits::default(), parse_type).map_err(|error| {
            let path = format!(".{text}");
            match path.parse::<Pattern>() {
                Ok(_) => error.with_hint(format!("a path begins with a dot: `{path}`")),
                Err(_) => error,
            }
        })
    }
}
