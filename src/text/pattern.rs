//! Prints and parses patterns.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::model::Limits;
use crate::pattern::{Pattern, PatternStep};

use super::lex::Lexer;
use super::parse::parse_all;
use super::path::{parse_first, parse_key};

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|step| match step {
            PatternStep::Key(key) => key.fmt(f),
            PatternStep::AnyField => f.write_str(".*"),
            PatternStep::AnyEntry => f.write_str("[*]"),
            PatternStep::AnySteps => f.write_str("**"),
        })
    }
}

fn parse_step(lexer: &mut Lexer<'_>, is_first: bool) -> Result<PatternStep> {
    // `.***` is `.*` and `**`.
    let mut ahead = lexer.clone();
    if lexer.eat_here("**") || !ahead.eat_here(".***") && lexer.eat_here(".**") {
        return Ok(PatternStep::AnySteps);
    }
    if lexer.eat_here(".*") || is_first && lexer.eat_here("*") {
        return Ok(PatternStep::AnyField);
    }
    if lexer.eat_here("[*]") {
        return Ok(PatternStep::AnyEntry);
    }
    if is_range(lexer.clone()) {
        return lexer.fail("an index or `*` (a range is not a pattern)");
    }
    let first = if is_first { parse_first(lexer)? } else { None };
    match first {
        Some(key) => Ok(PatternStep::Key(key)),
        None => parse_key(lexer).map(PatternStep::Key),
    }
}

/// `[0..2]`, `[1:3]`
fn is_range(mut ahead: Lexer<'_>) -> bool {
    if !ahead.eat_here("[") {
        return false;
    }
    if ahead.peek_here().is_some_and(|char| char.is_ascii_digit()) && ahead.count().is_err() {
        return false;
    }
    ahead.eat_here("..") || ahead.eat_here(":")
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
