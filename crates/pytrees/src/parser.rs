//! Reads the keys and scalars of Python's literals.

mod number;

use crate::error::{Error, ErrorKind, Result, malformed};
use crate::py_key::{MAX_DEPTH, MAX_KEY_DEPTH, PyKey};

use number::{is_imaginary, read_number};

/// The state of reading a literal.
#[derive(Debug)]
pub struct Parser<'t> {
    text: &'t str,
    pub at: usize,
    pub leaves: usize,
    /// The number of open brackets. Inside brackets, the end of a line is a space.
    pub open: usize,
}

impl<'t> Parser<'t> {
    pub fn new(text: &'t str) -> Self {
        Parser { text, at: 0, leaves: 0, open: 0 }
    }

    pub fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Skips spaces, comments and line breaks, which end the literal outside of brackets.
    pub fn skip_space(&mut self) {
        let is_open = self.open > 0;
        let space = |char| matches!(char, ' ' | '\t' | '\x0c') || is_open && is_end_of_line(char);
        loop {
            self.at += self.rest().len() - self.rest().trim_start_matches(space).len();
            let rest = self.rest();
            let mut ends = ["\\\r\n", "\\\n", "\\\r"].into_iter();
            self.at += match ends.find(|end| rest.starts_with(end) && rest.len() > end.len()) {
                Some(end) => end.len(),
                None if self.rest().starts_with('#') => {
                    self.rest().find(is_end_of_line).unwrap_or(self.rest().len())
                }
                None => return,
            };
        }
    }

    /// Skips empty lines.
    fn skip_lines(&mut self) {
        self.open += 1;
        self.skip_space();
        self.open -= 1;
    }

    /// Skips everything that may precede a literal. In Python, spaces begin a block there, except
    /// on the first line.
    pub fn begin(&mut self) -> Result<()> {
        self.skip_lines();
        let before = self.text.get(..self.at).unwrap_or_default();
        let lines = before.rsplit_once(is_end_of_line);
        match lines.filter(|(_, spaces)| spaces.contains([' ', '\t'])) {
            None => Ok(()),
            Some(_) => Err(self.expected("no space before")),
        }
    }

    /// Skips a token, with the spaces before it, if it is next.
    pub fn eat(&mut self, token: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
            match token {
                "(" | "[" | "{" => self.open += 1,
                ")" | "]" | "}" => self.open = self.open.saturating_sub(1),
                _ => {}
            }
        }
        found
    }

    /// Checks that nothing follows.
    pub fn end(&mut self) -> Result<()> {
        self.skip_lines();
        if self.rest().is_empty() { Ok(()) } else { Err(self.expected("the end")) }
    }

    pub fn expected(&self, what: &str) -> Error {
        let found: String = self.rest().chars().take(20).collect();
        let found = if found.is_empty() { "the end".to_owned() } else { format!("`{found}`") };
        malformed(self.at, format!("expected {what}, found {found}"))
    }

    /// Skips an opening bracket, if it is next.
    pub fn opens(&mut self, bracket: &str) -> Result<bool> {
        let opens = self.eat(bracket);
        if opens && self.open > MAX_DEPTH {
            let what = format!("nested deeper than {MAX_DEPTH} levels");
            return Err(
                Error::from(ErrorKind::limit("levels", what)).at_byte(self.at - bracket.len())
            );
        }
        Ok(opens)
    }

    /// A key of a dict: a scalar, or a tuple of keys.
    pub fn key(&mut self, depth: usize) -> Result<PyKey> {
        self.skip_space();
        let start = self.at;
        let key = self.hashable(depth)?;
        if has_other(&key) {
            let what = "no key here: it is complex, `...`, or has more than 128 bits";
            return Err(malformed(start, what));
        }
        Ok(key)
    }

    /// A value that could be a key in Python, or an element of a set.
    pub fn hashable(&mut self, depth: usize) -> Result<PyKey> {
        if depth > MAX_KEY_DEPTH {
            let what = format!("a key nested deeper than {MAX_KEY_DEPTH} levels");
            return Err(Error::from(ErrorKind::limit("levels", what)).at_byte(self.at));
        }
        if !self.opens("(")? {
            return self.scalar();
        }
        let (mut keys, mut comma) = (Vec::new(), false);
        while !self.eat(")") {
            if !keys.is_empty() && !comma {
                return Err(self.expected("`,` or `)`"));
            }
            keys.push(self.hashable(depth + 1)?);
            comma = self.eat(",");
        }
        Ok(match (keys.len(), comma) {
            (1, false) => keys.pop().unwrap_or(PyKey::None), // there is one
            _ => PyKey::Tuple(keys),
        })
    }

    pub fn scalar(&mut self) -> Result<PyKey> {
        self.skip_space();
        let word = self.word();
        let after = self.rest().get(word.len()..).and_then(|rest| rest.chars().next());
        match (word, self.peek()) {
            _ if matches!(after, Some('\'' | '"')) && is_prefix(word) => self.strings(),
            ("None", _) => Ok(self.pass(word, PyKey::None)),
            ("True", _) => Ok(self.pass(word, PyKey::Bool(true))),
            ("False", _) => Ok(self.pass(word, PyKey::Bool(false))),
            _ if self.rest().starts_with("...") => Ok(self.pass("...", PyKey::Other)),
            (_, Some('-' | '+' | '.' | '0'..='9')) => self.number(),
            _ => Err(self.expected("a literal")),
        }
    }

    /// The next letters and digits.
    pub fn word(&self) -> &'t str {
        let rest = self.rest();
        rest.split(|char: char| !char.is_alphanumeric() && char != '_').next().unwrap_or_default()
    }

    fn pass(&mut self, token: &str, key: PyKey) -> PyKey {
        self.at += token.len();
        key
    }

    /// A number with its sign, or the sum of a number and an imaginary one.
    fn number(&mut self) -> Result<PyKey> {
        let start = self.at;
        let negative = self.sign();
        let digits = self.digits();
        let key = read_number(digits, negative == Some(true)).ok_or_else(|| {
            self.at = start;
            self.expected("a number")
        })?;
        // `1+2j`
        let before = self.at;
        self.skip_space();
        if !is_imaginary(digits) && self.sign().is_some() {
            let imaginary = self.digits();
            if is_imaginary(imaginary) && read_number(imaginary, false).is_some() {
                return Ok(PyKey::Other);
            }
        }
        self.at = before;
        Ok(key)
    }

    /// Skips a sign, if there is one. Returns whether it is a minus.
    fn sign(&mut self) -> Option<bool> {
        let sign = self.peek().filter(|next| matches!(next, '-' | '+'))?;
        self.at += 1; // it is ASCII
        self.skip_space();
        Some(sign == '-')
    }

    /// The characters of a number, without its sign.
    fn digits(&mut self) -> &'t str {
        let start = self.at;
        let hex = self.rest().starts_with("0x") || self.rest().starts_with("0X");
        while let Some(char) = self.peek() {
            let before = self.text.get(start..self.at).unwrap_or_default();
            let exponent = !hex && before.ends_with(['e', 'E']) && matches!(char, '-' | '+');
            if !exponent && !char.is_ascii_alphanumeric() && !matches!(char, '.' | '_') {
                break;
            }
            self.at += 1; // these are ASCII
        }
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// One string, or several in a row, which are one.
    fn strings(&mut self) -> Result<PyKey> {
        let (mut text, mut bytes, mut kind) = (String::new(), Vec::new(), None);
        loop {
            let start = self.at;
            let word = self.word().to_ascii_lowercase();
            self.at += word.len();
            let is_bytes = word.contains('b');
            if kind.replace(is_bytes).is_some_and(|kind| kind != is_bytes) {
                return Err(malformed(start, "a string and bytes in a row"));
            }
            if is_bytes {
                self.string(word.contains('r'), false, &mut |char| {
                    bytes.push(u8::try_from(u32::from(char)).ok()?);
                    Some(())
                })?
            } else {
                self.string(word.contains('r'), true, &mut |char| {
                    text.push(char);
                    Some(())
                })?
            }
            let source = self.text.get(start..self.at).unwrap_or_default();
            if let Some(at) = source.find(|char: char| !char.is_ascii()).filter(|_| is_bytes) {
                return Err(malformed(start + at, NOT_ASCII));
            }
            let end = self.at;
            self.skip_space();
            let next = self.rest().get(self.word().len()..).unwrap_or_default();
            if !next.starts_with(['\'', '"']) || !is_prefix(self.word()) {
                self.at = end;
                return Ok(if is_bytes { PyKey::Bytes(bytes) } else { PyKey::Str(text) });
            }
        }
    }

    fn string(
        &mut self,
        is_raw: bool,
        is_text: bool,
        put: &mut dyn FnMut(char) -> Option<()>,
    ) -> Result<()> {
        let quote = if self.rest().starts_with('"') { "\"" } else { "'" };
        let triple = quote.repeat(3);
        let long = self.rest().starts_with(&triple);
        let end = if long { triple.as_str() } else { quote };
        self.at += end.len();
        loop {
            let start = self.at;
            if self.rest().starts_with(end) {
                self.at += end.len();
                return Ok(());
            }
            let char = match self.bump() {
                None => return Err(malformed(start, "a string that does not end")),
                Some('\n' | '\r') if !long => {
                    return Err(malformed(start, "a string that does not end"));
                }
                Some('\r') => self.end_of_line(),
                Some('\\') if is_raw => {
                    put('\\');
                    match self.bump() {
                        Some('\r') => self.end_of_line(),
                        Some(next) => next,
                        None => return Err(malformed(start, "a string that does not end")),
                    }
                }
                Some('\\') => match self.escape(start, is_text)? {
                    Escape::Nothing => continue,
                    Escape::Char(char) => char,
                    Escape::Unknown(char) => {
                        put('\\');
                        char
                    }
                },
                Some(char) => char,
            };
            put(char).ok_or_else(|| malformed(start, NOT_ASCII))?;
        }
    }

    /// The end of a line that began with a carriage return: Python reads each as this one.
    fn end_of_line(&mut self) -> char {
        self.at += usize::from(self.rest().starts_with('\n'));
        '\n'
    }

    /// The escape after a backslash.
    fn escape(&mut self, start: usize, is_text: bool) -> Result<Escape> {
        let unknown = || malformed(start, "an escape that is not known");
        Ok(Escape::Char(match self.bump().ok_or_else(unknown)? {
            '\n' => return Ok(Escape::Nothing),
            '\r' => {
                self.end_of_line();
                return Ok(Escape::Nothing);
            }
            char @ ('\\' | '\'' | '"') => char,
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'a' => '\x07',
            'b' => '\x08',
            'f' => '\x0c',
            'v' => '\x0b',
            'x' => self.hex(2).ok_or_else(unknown)?,
            // Rust has no lone surrogates, and no names of characters.
            'u' if is_text => self.hex(4).ok_or_else(unknown)?,
            'U' if is_text => self.hex(8).ok_or_else(unknown)?,
            'N' if is_text => return Err(unknown()),
            '0'..='7' => {
                self.at -= 1;
                let octal: String =
                    self.rest().chars().take(3).take_while(|char| char.is_digit(8)).collect();
                self.at += octal.len();
                let code = u32::from_str_radix(&octal, 8).ok();
                // Of bytes only the last eight bits count.
                let code = code.map(|code| if is_text { code } else { code & 0xff });
                code.and_then(char::from_u32).ok_or_else(unknown)?
            }
            char => return Ok(Escape::Unknown(char)),
        }))
    }

    fn hex(&mut self, digits: usize) -> Option<char> {
        let text = self.rest().get(..digits)?;
        let all = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let code = u32::from_str_radix(text, 16).ok().filter(|_| all)?;
        self.at += digits;
        char::from_u32(code)
    }
}

const NOT_ASCII: &str = "bytes have ASCII characters only";

/// The meaning of an escape.
enum Escape {
    Char(char),
    /// A line break in the source.
    Nothing,
    /// Not an escape: Python keeps the backslash.
    Unknown(char),
}

fn is_prefix(word: &str) -> bool {
    matches!(word.to_ascii_lowercase().as_str(), "" | "r" | "u" | "b" | "br" | "rb")
}

pub(crate) fn is_end_of_line(char: char) -> bool {
    matches!(char, '\n' | '\r')
}

/// Whether it cannot be a key here, or contains such a part.
fn has_other(key: &PyKey) -> bool {
    match key {
        PyKey::Tuple(keys) => keys.iter().any(has_other),
        key => *key == PyKey::Other,
    }
}
