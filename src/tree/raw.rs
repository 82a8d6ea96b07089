//! Checks texts that a format writes verbatim: each must be exactly one value.

use crate::bug::OrBug;

/// Whether a text is a document of JSON.
pub fn is_json(text: &str) -> bool {
    let mut raw = RawText { rest: text.as_bytes() };
    raw.document().is_some_and(|()| raw.rest.is_empty())
}

/// Whether the brackets and quotes of a text in RON are balanced, with nothing behind the value.
///
/// Comments and raw strings, inside which quotes and brackets have no meaning, are refused.
pub fn is_one_ron(text: &str) -> bool {
    let mut raw = RawText { rest: text.as_bytes() };
    let (mut open, mut before) = (Vec::new(), b' ');
    while let Some(&byte) = raw.rest.first() {
        let is_closed = match byte {
            b'"' => before != b'r' && raw.text().is_some(),
            b'\'' => raw.character().is_some(),
            b'/' | b'#' => false,
            _ => {
                raw.skip(1);
                match byte {
                    b'(' => open.push(b')'),
                    b'[' => open.push(b']'),
                    b'{' => open.push(b'}'),
                    _ => {}
                }
                match byte {
                    b')' | b']' | b'}' => open.pop() == Some(byte),
                    b',' | b':' => !open.is_empty(),
                    _ => true,
                }
            }
        };
        if !is_closed {
            return false;
        }
        before = byte;
    }
    open.is_empty() && !text.trim().is_empty()
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
