//! Converts texts in UTF-16 and UTF-32, as `>` of PowerShell writes them, to UTF-8 while they are
//! read.

use std::io::{self, ErrorKind, Read};
use std::mem;

/// The encoding of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Encoding {
    /// The bytes of a unit.
    width: usize,
    is_big_endian: bool,
    /// The length of the byte order mark.
    mark: usize,
}

impl Encoding {
    /// The encoding of a text by its beginning; `None` for UTF-8. Without a byte order mark, a text
    /// in another encoding has zeros around its first character, and no other text does.
    pub(crate) fn of(start: &[u8]) -> Option<Self> {
        let (width, is_big_endian, mark) = match *start {
            [0xff, 0xfe, 0, 0, ..] => (4, false, 4),
            [0, 0, 0xfe, 0xff, ..] => (4, true, 4),
            [0xff, 0xfe, ..] => (2, false, 2),
            [0xfe, 0xff, ..] => (2, true, 2),
            [1..=255, 0, 0, 0, ..] => (4, false, 0),
            [0, 0, 0, 1..=255, ..] => (4, true, 0),
            [1..=255, 0, ..] => (2, false, 0),
            [0, 1..=255, ..] => (2, true, 0),
            _ => return None,
        };
        Some(Encoding { width, is_big_endian, mark })
    }

    pub(crate) fn mark(self) -> usize {
        self.mark
    }

    fn name(self) -> &'static str {
        if self.width == 2 { "UTF-16" } else { "UTF-32" }
    }

    fn unit(self, bytes: &[u8]) -> u32 {
        let next = |unit: u32, byte: &u8| unit << 8 | u32::from(*byte);
        if self.is_big_endian {
            bytes.iter().fold(0, next)
        } else {
            bytes.iter().rev().fold(0, next)
        }
    }
}

/// Reads the text after the byte order mark as UTF-8.
pub(crate) struct Utf8Reader<R> {
    source: R,
    encoding: Encoding,
    /// Bytes that were read and belong to an incomplete character.
    rest: Vec<u8>,
    text: io::Cursor<String>,
}

impl<R: Read> Utf8Reader<R> {
    pub(crate) fn new(source: R, encoding: Encoding) -> Self {
        Utf8Reader { source, encoding, rest: Vec::new(), text: io::Cursor::default() }
    }

    /// Decodes the next block. There is none at the end.
    fn advance(&mut self) -> io::Result<()> {
        const BLOCK: u64 = 1 << 16;
        let mut bytes = mem::take(&mut self.rest);
        let is_end = self.source.by_ref().take(BLOCK).read_to_end(&mut bytes)? == 0;
        let wrong = || {
            let message = format!("not {}: convert the file", self.encoding.name());
            io::Error::new(ErrorKind::InvalidData, message)
        };
        let units = bytes.chunks_exact(self.encoding.width);
        let mut left = units.remainder().len();
        let mut units: Vec<u32> = units.map(|unit| self.encoding.unit(unit)).collect();
        let text = if self.encoding.width == 4 {
            units.into_iter().map(char::from_u32).collect::<Option<String>>()
        } else {
            // The second half of a pair may be in the next block.
            if !is_end && units.pop_if(|unit| (0xd800..0xdc00).contains(unit)).is_some() {
                left += self.encoding.width;
            }
            let units = units.into_iter().filter_map(|unit| u16::try_from(unit).ok());
            char::decode_utf16(units).collect::<Result<String, _>>().ok()
        };
        let text = text.filter(|_| !is_end || left == 0).ok_or_else(wrong)?;
        self.rest = bytes.split_off(bytes.len() - left);
        self.text = io::Cursor::new(text);
        Ok(())
    }
}

impl<R: Read> Read for Utf8Reader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut read = self.text.read(out)?;
        while read == 0 && !out.is_empty() {
            let before = self.rest.len();
            self.advance()?;
            read = self.text.read(out)?;
            if read == 0 && self.rest.len() == before {
                break;
            }
        }
        Ok(read)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    /// A text in each encoding, with a mark and without.
    fn encoded(text: &str) -> Vec<Vec<u8>> {
        let all = |text: &str| {
            let pairs: Vec<u16> = text.encode_utf16().collect();
            let chars: Vec<u32> = text.chars().map(u32::from).collect();
            [
                pairs.iter().flat_map(|unit| unit.to_le_bytes()).collect::<Vec<_>>(),
                pairs.iter().flat_map(|unit| unit.to_be_bytes()).collect(),
                chars.iter().flat_map(|unit| unit.to_le_bytes()).collect(),
                chars.iter().flat_map(|unit| unit.to_be_bytes()).collect(),
            ]
        };
        all(text).into_iter().chain(all(&format!("\u{feff}{text}"))).collect()
    }

    fn decoded(bytes: &[u8]) -> io::Result<String> {
        let encoding = Encoding::of(bytes).unwrap();
        io::read_to_string(Utf8Reader::new(&bytes[encoding.mark()..], encoding))
    }

    #[test]
    fn all_encodings_are_read_also_over_the_ends_of_blocks() {
        for text in
            ["{\"a\": \"ü 😀\"}".to_owned(), "[]".to_owned(), format!("a{}", "😀".repeat(40_000))]
        {
            for bytes in encoded(&text) {
                assert_eq!(decoded(&bytes).unwrap(), text);
            }
        }
        assert_eq!(Encoding::of(b"{}"), None);
        assert_eq!(Encoding::of("\u{feff}{}".as_bytes()), None);
        assert_eq!(Encoding::of(b"1"), None);
        assert_eq!(Encoding::of(b""), None);
    }

    #[test]
    fn what_is_cut_off_or_no_character_is_an_error() {
        for bytes in encoded("[\"😀\"]") {
            assert!(decoded(&bytes[..bytes.len() - 1]).is_err());
        }
        for bytes in
            [&b"a\0\0\xd8b\0"[..], b"a\0\0\xd8", b"a\0\0\0\0\xd8\0\0", b"\0\0\0a\xff\0\0\0"]
        {
            let name = if bytes.len() == 8 { "UTF-32" } else { "UTF-16" };
            assert_eq!(
                decoded(bytes).unwrap_err().to_string(),
                format!("not {name}: convert the file")
            );
        }
    }
}
