//! Checks texts that a format writes verbatim: each must be exactly one value.

use crate::bug::OrBug;

/// Whether a text is a document of JSON.
pub fn is_json(text: &str) -> bool {
    let mut raw = RawText { rest: text.as_bytes() };
    raw.document().is_some_and(|()| raw.rest.is_empty())
}

/// Whether a text in RON is one word, text or pair of brackets, perhaps with a name before it, and whether its
/// brackets and quotes are balanced.
///
/// Comments and raw strings, inside which quotes and brackets have no meaning, are refused.
pub fn is_one_ron(text: &str) -> bool {
    let mut raw = RawText { rest: text.as_bytes() };
    let (mut open, mut value) = (Vec::new(), RonValue::Nothing);
    while let Some(&byte) = raw.rest.first() {
        let is_outside = open.is_empty();
        let is_valid = match byte {
            b'"' | b'\'' => {
                let fits = !is_outside || value.take(RonValue::Complete);
                fits && if byte == b'"' { raw.text() } else { raw.character() }.is_some()
            }
            b'/' | b'#' => false,
            b'(' | b'[' | b'{' => {
                raw.skip(1);
                open.push(match byte {
                    b'(' => b')',
                    b'[' => b']',
                    _ => b'}',
                });
                let is_named = value == RonValue::Word && byte == b'(';
                !is_outside || is_named || value.take(RonValue::Complete)
            }
            b')' | b']' | b'}' => {
                raw.skip(1);
                value = RonValue::Complete;
                open.pop() == Some(byte)
            }
            _ if byte.is_ascii_whitespace() => raw.all(u8::is_ascii_whitespace) > 0,
            _ if is_of_word(&byte) => {
                let word = raw.rest;
                let count = raw.all(is_of_word);
                let is_quoted = matches!(raw.rest.first(), Some(b'"' | b'\''));
                match word.get(..count).or_bug() {
                    b"b" if is_quoted => true,
                    _ => !is_quoted && (!is_outside || value.take(RonValue::Word)),
                }
            }
            _ => raw.all(|it| *it == byte) > 0 && !is_outside,
        };
        if !is_valid {
            return false;
        }
    }
    open.is_empty() && value != RonValue::Nothing
}

/// The part of a value outside of brackets that was read.
#[derive(PartialEq)]
enum RonValue {
    Nothing,
    /// It may be the name of a struct.
    Word,
    Complete,
}

impl RonValue {
    /// Whether nothing was read before.
    fn take(&mut self, read: RonValue) -> bool {
        let is_first = *self == RonValue::Nothing;
        *self = read;
        is_first
    }
}

/// Whether a byte may be one of a number or a name.
fn is_of_word(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'+' | b'-' | 0x80..)
}

/// A text that is read from its beginning. Methods return `None` if something else is there.
struct RawText<'t> {
    rest: &'t [u8],
}

impl RawText<'_> {
    fn skip(&mut self, count: usize) {
        self.rest = self.rest.get(count..).or_bug();
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        let is_next = self.rest.first() == Some(&byte);
        self.skip(usize::from(is_next));
        is_next.then_some(())
    }

    /// Skips bytes of one kind, and returns their number.
    fn all(&mut self, is: impl Fn(&u8) -> bool) -> usize {
        let count = self.rest.iter().take_while(|byte| is(byte)).count();
        self.skip(count);
        count
    }

    fn space(&mut self) {
        self.all(|byte| b" \t\r\n".contains(byte));
    }

    /// Reads a value, in one step for each of its parts.
    fn document(&mut self) -> Option<()> {
        let mut open = Vec::new();
        loop {
            self.space();
            let close = match self.rest.first()? {
                b'[' => Some(b']'),
                b'{' => Some(b'}'),
                _ => None,
            };
            if let Some(close) = close {
                self.skip(1);
                self.space();
                if self.take(close).is_none() {
                    open.push(close);
                    self.key(close)?;
                    continue;
                }
            } else {
                self.scalar()?;
            }
            loop {
                self.space();
                let Some(&close) = open.last() else { return Some(()) };
                if self.take(b',').is_some() {
                    self.key(close)?;
                    break;
                }
                self.take(close)?;
                open.pop();
            }
        }
    }

    /// Reads the key before a value, except in a list.
    fn key(&mut self, close: u8) -> Option<()> {
        if close == b']' {
            return Some(());
        }
        self.space();
        self.text()?;
        self.space();
        self.take(b':')
    }

    fn scalar(&mut self) -> Option<()> {
        if self.rest.first() == Some(&b'"') {
            return self.text();
        }
        let word = ["null", "true", "false"];
        if let Some(word) = word.iter().find(|word| self.rest.starts_with(word.as_bytes())) {
            self.skip(word.len());
            return Some(());
        }
        self.take(b'-');
        let digits = |it: &mut Self| (it.all(u8::is_ascii_digit) > 0).then_some(());
        if self.take(b'0').is_none() {
            digits(self)?;
        }
        if self.take(b'.').is_some() {
            digits(self)?;
        }
        if self.take(b'e').or_else(|| self.take(b'E')).is_some() {
            let _ = self.take(b'-').or_else(|| self.take(b'+'));
            digits(self)?;
        }
        Some(())
    }

    /// A text in quotes.
    fn text(&mut self) -> Option<()> {
        self.take(b'"')?;
        loop {
            self.all(|byte| !matches!(byte, b'"' | b'\\' | 0..0x20));
            if self.take(b'"').is_some() {
                return Some(());
            }
            self.take(b'\\')?;
            let escape = *self.rest.first()?;
            self.skip(1);
            match escape {
                b'u' => {
                    let digits = self.rest.get(..4)?;
                    digits.iter().all(u8::is_ascii_hexdigit).then(|| self.skip(4))?;
                }
                _ => b"\"\\/bfnrt".contains(&escape).then_some(())?,
            }
        }
    }

    /// A character in quotes.
    fn character(&mut self) -> Option<()> {
        self.take(b'\'')?;
        if self.take(b'\\').is_some() {
            self.skip(1);
        } else {
            self.take(b'\'').is_none().then_some(())?;
        }
        self.all(|byte| *byte != b'\'');
        self.take(b'\'')
    }
}
