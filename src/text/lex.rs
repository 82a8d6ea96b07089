//! Splits text into names, numbers and quoted texts.

use crate::bug::OrBug;
use crate::error::{Cause, Error, Result};
use crate::model::{Leaf, LeafKind, Name};
use crate::treedef::limits::too_much_work;

use super::literal::{RESERVED, is_bare};

#[derive(Clone)]
pub(super) struct Lexer<'t> {
    text: &'t str,
    /// The number of bytes that were read. Always a character boundary.
    at: usize,
    /// The number of nodes that counts in keys and statics of the whole text may still expand to.
    budget: usize,
    work: usize,
    /// Whether an integer without a suffix may be wider than an `i32`.
    are_wide: bool,
}

impl<'t> Lexer<'t> {
    /// A lexer for a text whose keys and statics may expand to `work` nodes beyond its bytes.
    pub(super) fn new(text: &'t str, work: usize) -> Self {
        Lexer { text, at: 0, budget: work.saturating_add(text.len()), work, are_wide: false }
    }

    /// Whether an integer without a suffix may be wider than an `i32`, as in a path, where it matches an
    /// integer of any type.
    pub(super) fn bare_numbers_are_wide(&mut self, yes: bool) {
        self.are_wide = yes;
    }

    /// Subtracts `needed` nodes from the budget.
    pub(super) fn spend(&mut self, needed: usize) -> Result<()> {
        match self.budget.checked_sub(needed) {
            Some(left) => {
                self.budget = left;
                Ok(())
            }
            // The message leaves out the part that the length of the text allows.
            None => Err(too_much_work(
                self.work.saturating_add(needed - self.budget), // the budget is the smaller one
                self.work,
            )),
        }
    }

    /// The number of nodes that counts may still expand to, beyond the bytes of the text.
    pub(super) fn left(&self) -> usize {
        self.budget.min(self.work)
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).or_bug()
    }

    pub(super) fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Skips spaces, then reads `token` if it is next.
    pub(super) fn eat(&mut self, token: &str) -> bool {
        self.skip_space();
        self.eat_here(token)
    }

    /// Reads `token` if it is next, without skipping spaces.
    pub(super) fn eat_here(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    /// Returns an error if a space is next, because paths contain none.
    pub(super) fn expect_no_space(&self) -> Result<()> {
        if self.peek_here().is_some_and(char::is_whitespace) {
            self.fail_here("no space inside a path")
        } else {
            Ok(())
        }
    }

    pub(super) fn expect(&mut self, token: &str, expected: &'static str) -> Result<()> {
        if self.eat(token) { Ok(()) } else { self.fail(expected) }
    }

    pub(super) fn peek(&mut self) -> Option<char> {
        self.skip_space();
        self.peek_here()
    }

    pub(super) fn peek_here(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn at_end(&mut self) -> bool {
        self.peek().is_none()
    }

    /// Skips spaces, then returns an error for the next character.
    pub(super) fn fail<T>(&mut self, expected: &'static str) -> Result<T> {
        self.skip_space();
        self.fail_here(expected)
    }

    /// Returns an error for the next character, for example inside quotes.
    fn fail_here<T>(&self, expected: &'static str) -> Result<T> {
        Err(self.error_here(expected))
    }

    #[cold]
    fn error_here(&self, expected: &'static str) -> Error {
        let found = match self.rest() {
            "" => "the end".to_owned(),
            rest => {
                let escaped = |char: char| {
                    if char.is_control() {
                        char.escape_debug().to_string()
                    } else {
                        char.to_string()
                    }
                };
                format!("`{}`", rest.chars().take(12).map(escaped).collect::<String>())
            }
        };
        Cause::Syntax { offset: self.at, expected, found }.into()
    }

    pub(super) fn offset(&self) -> usize {
        self.at
    }

    /// Reads a bare word, which may be a keyword. Empty if none is next.
    pub(super) fn word(&mut self) -> &'t str {
        self.skip_space();
        self.take_while(&|char| char.is_ascii_alphanumeric() || char == '_')
    }

    /// The next bare word, without reading it.
    pub(super) fn peek_word(&mut self) -> &'t str {
        let at = self.at;
        let word = self.word();
        self.at = at;
        word
    }

    fn take_while(&mut self, accept: &dyn Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let length = rest.find(|char| !accept(char)).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).or_bug()
    }

    /// A name, bare or in backquotes.
    pub(super) fn name(&mut self) -> Result<Name> {
        if self.eat("`") {
            return Ok(Name::Owned(self.quoted('`')?));
        }
        let (at, word) = (self.at, self.word());
        if is_bare(word) {
            return Ok(Name::Owned(word.to_owned()));
        }
        self.at = at;
        let failed = self.fail("a name");
        let hint =
            || format!("a name such as `{word}`, a word of the notation, has backquotes around it");
        let is_reserved = RESERVED.contains(&word);
        failed.map_err(|error| if is_reserved { error.with_hint(hint()) } else { error })
    }

    /// The rest of a quoted text. Its opening quote was read.
    pub(super) fn quoted(&mut self, quote: char) -> Result<String> {
        let mut text = String::new();
        loop {
            match self.char(quote)? {
                Some(char) => text.push(char),
                None => return Ok(text),
            }
        }
    }

    /// A character of a quoted text, or `None` for the closing quote.
    pub(super) fn char(&mut self, quote: char) -> Result<Option<char>> {
        let mut chars = self.rest().chars();
        let char = match (chars.next(), chars.next()) {
            (Some(char), _) if char == quote => {
                self.at += char.len_utf8();
                return Ok(None);
            }
            (Some('\\'), Some('u')) => return self.unicode().map(Some),
            (Some('\\'), Some(escaped)) => match escaped {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                '\\' | '"' | '\'' | '`' => escaped,
                _ => {
                    return self
                        .fail_here("an escape: one of `\\\\ \\\" \\' \\` \\n \\r \\t \\u{…}`");
                }
            },
            (Some(char), _) if !char.is_control() && char != '\\' => {
                self.at += char.len_utf8();
                return Ok(Some(char));
            }
            _ => return self.fail_here("a closing quote"),
        };
        self.at += 2; // the backslash and an ASCII character
        Ok(Some(char))
    }

    /// `\u{…}`
    fn unicode(&mut self) -> Result<char> {
        let mut ahead = Lexer { at: self.at + 2, ..*self };
        if ahead.eat_here("{") {
            let digits = ahead.take_while(&|char| char.is_ascii_hexdigit());
            if ahead.eat_here("}")
                && let Ok(code) = u32::from_str_radix(digits, 16)
                && let Some(char) = char::from_u32(code)
            {
                self.at = ahead.at;
                return Ok(char);
            }
        }
        self.fail_here("a character's code, such as `\\u{7f}`")
    }

    /// The rest of a byte string. Its `b"` was read.
    pub(super) fn bytes(&mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        loop {
            let byte = match self.rest().as_bytes() {
                [b'"', ..] => {
                    self.at += 1;
                    return Ok(bytes);
                }
                [b'\\', b'x', ..] => {
                    let digits = self
                        .rest()
                        .get(2..4)
                        .filter(|digits| digits.bytes().all(|d| d.is_ascii_hexdigit()));
                    let Some(Ok(byte)) = digits.map(|digits| u8::from_str_radix(digits, 16)) else {
                        return self.fail_here("two hexadecimal digits after `\\x`");
                    };
                    self.at += 2;
                    byte
                }
                [b'\\', b'n', ..] => b'\n',
                [b'\\', b'r', ..] => b'\r',
                [b'\\', b't', ..] => b'\t',
                [b'\\', escaped @ (b'\\' | b'"' | b'\'' | b'`'), ..] => *escaped,
                [byte @ b' '..=b'~', ..] if *byte != b'\\' => {
                    self.at += 1;
                    bytes.push(*byte);
                    continue;
                }
                _ => return self.fail_here("an ASCII character, an escape or a closing quote"),
            };
            self.at += 2;
            bytes.push(byte);
        }
    }

    /// A count, for example the `3` of `; 3`.
    pub(super) fn count(&mut self) -> Result<usize> {
        self.skip_space();
        let at = self.at;
        let digits = self.take_while(&|char| char.is_ascii_digit());
        match digits.parse() {
            Ok(count) => Ok(count),
            Err(_) if !digits.is_empty() => Err(Cause::TooLarge.into()),
            Err(_) => {
                self.at = at;
                self.fail("a number")
            }
        }
    }

    /// A number with its sign and suffix, including `inf` and `nan(…)`. Reads nothing on error.
    pub(super) fn number(&mut self) -> Result<Leaf> {
        self.skip_space();
        let mut ahead = self.clone();
        let Some(leaf) = ahead.try_number() else {
            return self.fail("a number that its kind can hold");
        };
        self.at = ahead.at;
        Ok(leaf)
    }

    fn try_number(&mut self) -> Option<Leaf> {
        let start = self.at;
        let negative = self.eat_here("-");
        if self.peek_here()?.is_ascii_alphabetic() {
            return self.special_float(negative);
        }
        let digits = |char: char| char.is_ascii_digit();
        if self.take_while(&digits).is_empty() {
            return None;
        }
        let mut is_float = false;
        if self.eat_here(".") {
            is_float = true;
            if self.take_while(&digits).is_empty() {
                return None;
            }
        }
        if self.eat_here("e") {
            is_float = true;
            let _ = self.eat_here("-") || self.eat_here("+");
            if self.take_while(&digits).is_empty() {
                return None;
            }
        }
        let number = self.text.get(start..self.at)?;
        let kind = match self.word_here() {
            "" if is_float => LeafKind::F64,
            "" if self.are_wide => {
                let kinds = [LeafKind::I32, LeafKind::I64, LeafKind::I128, LeafKind::U128];
                return kinds.into_iter().find_map(|kind| Leaf::parsed(number, kind));
            }
            "" => LeafKind::I32,
            name => LeafKind::named(name).filter(|kind| kind.is_number())?,
        };
        Leaf::parsed(number, kind)
    }

    fn special_float(&mut self, negative: bool) -> Option<Leaf> {
        let sign = if negative { -1.0 } else { 1.0 };
        match self.word_here() {
            "inf" | "inff64" => Some(Leaf::F64(sign * f64::INFINITY)),
            "inff32" => Some(Leaf::F32((sign * f64::INFINITY) as f32)), // infinity stays infinity
            "nan" if !negative && self.eat_here("(0x") => {
                let bits =
                    u64::from_str_radix(self.take_while(&|char| char.is_ascii_hexdigit()), 16)
                        .ok()?;
                if !self.eat_here(")") {
                    return None;
                }
                match self.word_here() {
                    "" | "f64" => {
                        Some(f64::from_bits(bits)).filter(|value| value.is_nan()).map(Leaf::F64)
                    }
                    "f32" => {
                        let value = f32::from_bits(bits.try_into().ok()?);
                        value.is_nan().then_some(Leaf::F32(value))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn word_here(&mut self) -> &'t str {
        self.take_while(&|char| char.is_ascii_alphanumeric() || char == '_')
    }
}
