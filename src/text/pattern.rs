//! Prints and parses patterns.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::model::Limits;
use crate::path::Key;
use crate::pattern::{Pattern, PatternStep};

use super::lex::Lexer;
use super::parse::parse_keys;
use super::path::{parse_first, parse_key};

/// The maximum number of names in braces, because each of them is looked up.
const MOST_NAMES: usize = 256;

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|step| match step {
            PatternStep::Key(key) => key.fmt(f),
            PatternStep::AnyField => f.write_str(".*"),
            PatternStep::AnyEntry => f.write_str("[*]"),
            PatternStep::AnySteps => f.write_str("**"),
            PatternStep::OneOf(keys) => {
                f.write_str(".{")?;
                for (at, key) in keys.iter().enumerate() {
                    let key = key.to_string();
                    let name = key.strip_prefix('.').unwrap_or(&key);
                    write!(f, "{}{name}", if at > 0 { "," } else { "" })?;
                }
                f.write_str("}")
            }
            PatternStep::Indices(Range { start, end: usize::MAX }) => write!(f, "[{start}:]"),
            PatternStep::Indices(Range { start: 0, end }) => write!(f, "[:{end}]"),
            PatternStep::Indices(Range { start, end }) => write!(f, "[{start}:{end}]"),
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
    if lexer.eat_here(".{") || is_first && lexer.eat_here("{") {
        return parse_names(lexer).map(PatternStep::OneOf);
    }
    if let Some(range) = parse_range(lexer)? {
        return Ok(PatternStep::Indices(range));
    }
    if lexer.peek_here() == Some(',') {
        return lexer.fail("several names in braces: `.{q_proj,v_proj}`");
    }
    let first = if is_first { parse_first(lexer)? } else { None };
    match first {
        Some(key) => Ok(PatternStep::Key(key)),
        None => parse_key(lexer).map(PatternStep::Key),
    }
}

/// The names in braces.
fn parse_names(lexer: &mut Lexer<'_>) -> Result<Vec<Key>> {
    const WHOLE: &str = "whole names in the braces, with commas: `.{q_proj,v_proj}`";
    let mut keys = Vec::new();
    loop {
        lexer.expect_no_space()?;
        match parse_first(lexer)? {
            Some(key) => keys.push(key),
            None => return lexer.fail("a name, as in `.{w,bias}`"),
        }
        lexer.expect_no_space()?;
        if lexer.eat_here("}") {
            return match lexer.peek_here() {
                Some(char) if char.is_alphanumeric() || char == '_' => lexer.fail(WHOLE),
                _ => Ok(keys),
            };
        }
        if keys.len() == MOST_NAMES {
            return lexer.fail("`}` after at most 256 names");
        }
        lexer.expect(",", WHOLE)?;
    }
}

/// `[1:3]`, `[1:]`, `[:3]`. Not `[*]`, `[1]` and `["key"]`.
fn parse_range(lexer: &mut Lexer<'_>) -> Result<Option<Range<usize>>> {
    const EXPECTED: &str =
        "an index, `*`, or a range from a lower to a higher index: `[2:5]`, `[2:]` or `[:5]`";
    let mut ahead = lexer.clone();
    if !ahead.eat_here("[") {
        return Ok(None);
    }
    let is_negative = ahead.eat_here("-");
    // A text that is not a bound may be a long key.
    let start = bound(&mut ahead);
    if ahead.eat_here("..") || is_negative && ahead.eat_here(":") {
        return lexer.fail(EXPECTED);
    }
    if !ahead.eat_here(":") {
        return Ok(None);
    }
    let (start, end) = (start?, bound(&mut ahead)?);
    let range = start.unwrap_or(0)..end.unwrap_or(usize::MAX);
    if start.or(end).is_none() || range.is_empty() || !ahead.eat_here("]") {
        return lexer.fail(EXPECTED);
    }
    *lexer = ahead;
    Ok(Some(range))
}

fn bound(lexer: &mut Lexer<'_>) -> Result<Option<usize>> {
    let is_number = lexer.peek_here().is_some_and(|char| char.is_ascii_digit());
    is_number.then(|| lexer.count()).transpose()
}

impl FromStr for Pattern {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        parse_keys(text, &mut { Limits::default().max_work }, |lexer| {
            let mut steps = Vec::new();
            while lexer.peek_here().is_some() {
                steps.push(parse_step(lexer, steps.is_empty())?);
            }
            Ok(Pattern(steps))
        })
    }
}
