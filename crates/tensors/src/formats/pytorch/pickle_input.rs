//! The bytes of a pickle, one after the other.

use std::io::{self, Read};

use crate::error::{Error, ErrorKind, Result, malformed};

/// The maximum number of bytes of a pickle. Large models have some million.
pub(super) const MAX_BYTES: u64 = 1 << 30;
/// The maximum length of a line in text pickles.
const MAX_LINE: usize = 1 << 20;

pub(super) struct PickleInput<R> {
    reader: R,
    at: u64,
    /// The position of the current instruction, for errors.
    start: u64,
}

impl<R: Read> PickleInput<R> {
    /// `at` is the position of the reader in the file.
    pub(super) fn new(reader: R, at: u64) -> Self {
        PickleInput { reader, at, start: at }
    }

    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Reads the first byte of an instruction.
    pub(super) fn instruction(&mut self) -> Result<u8> {
        self.start = self.at;
        self.u8()
    }

    pub(super) fn fail(&self, what: impl Into<String>) -> Error {
        malformed(usize::try_from(self.start).unwrap_or(usize::MAX), what)
    }

    pub(super) fn beyond(&self, limited: &'static str, what: impl Into<String>) -> Error {
        let at = usize::try_from(self.start).unwrap_or(usize::MAX);
        Error::from(ErrorKind::limit(limited, what)).at_byte(at)
    }

    pub(super) fn bytes(&mut self, length: u64) -> Result<Vec<u8>> {
        if length > MAX_BYTES {
            let what = format!("{length} bytes in a pickle, at most {MAX_BYTES} are read");
            return Err(self.beyond("bytes of a pickle", what));
        }
        // The vector grows with the data that is there, not with a declared length.
        let mut bytes = Vec::new();
        self.reader.by_ref().take(length).read_to_end(&mut bytes)?;
        if u64::try_from(bytes.len()) != Ok(length) {
            return Err(self.fail("the pickle ends inside of a value"));
        }
        self.at = self.at.saturating_add(length);
        Ok(bytes)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        self.reader.read_exact(&mut array).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                self.fail("the pickle ends before its last instruction")
            }
            _ => error.into(),
        })?;
        self.at = self.at.saturating_add(u64::try_from(N).unwrap_or(u64::MAX));
        Ok(array)
    }

    pub(super) fn u8(&mut self) -> Result<u8> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// The bytes after their count, which has one, four or eight bytes.
    pub(super) fn counted(&mut self, width: u8) -> Result<Vec<u8>> {
        let length = match width {
            1 => u64::from(self.u8()?),
            4 => u64::from(self.u32()?),
            _ => self.u64()?,
        };
        self.bytes(length)
    }

    /// A line without its end.
    pub(super) fn line(&mut self) -> Result<Vec<u8>> {
        let mut line = Vec::new();
        loop {
            match self.u8()? {
                b'\n' => return Ok(line),
                _ if line.len() >= MAX_LINE => {
                    let what = format!("a line of more than {MAX_LINE} bytes");
                    return Err(self.beyond("bytes of a line", what));
                }
                byte => line.push(byte),
            }
        }
    }

    /// A line of plain text.
    pub(super) fn text_line(&mut self) -> Result<String> {
        let line = self.line()?;
        String::from_utf8(line).map_err(|_| self.fail("a line that is not UTF-8"))
    }
}
