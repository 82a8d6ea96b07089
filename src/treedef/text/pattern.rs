//! Prints and parses patterns.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::model::Limits;
use crate::path::Key;
use crate::pattern::{Pattern, Step};

use super::lex::Lexer;
use super::parse::parse_all;
use super::path::parse_key;

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|step| match step {
            Step::Key(key) => key.fmt(f),
            Step::AnyField => f.write_str(".*"),
            Step::AnyEntry => f.write_str("[*]"),
            Step::AnySteps => f.write_str("**"),
        })
    }
}

fn parse_step(lexer: &mut Lexer<'_>, is_first: bool) -> Result<Step> {
    if lexer.eat_here("**") {
        return Ok(Step::AnySteps);
    }
    if lexer.eat_here(".*") || is_first && lexer.eat_here("*") {
        return Ok(Step::AnyField);
    }
    if lexer.eat_here("[*]") {
        return Ok(Step::AnyEntry);
    }
    let bare = |char: char| char.is_ascii_alphabetic() || matches!(char, '_' | '`');
    if is_first && lexer.peek_here().is_some_and(bare) {
        return lexer.name().map(Key::Field).map(Step::Key);
    }
    parse_key(lexer).map(Step::Key)
}

impl FromStr for Pattern {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        parse_all(text, Limits::default(), |lexer| {
            let mut steps = Vec::new();
            while lexer.peek_here().is_some() {
                steps.push(parse_step(lexer, steps.is_empty())?);
            }
            Ok(Pattern(steps))
        })
    }
}
