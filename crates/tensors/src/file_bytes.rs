//! The bytes of a file, on disk or in memory.

use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

use crate::bug::OrBug;
use crate::file::OpenFile;

#[derive(Clone)]
pub(crate) enum FileBytes<'a> {
    Memory(&'a [u8]),
    File(Arc<OpenFile>),
}

impl FileBytes<'_> {
    pub(crate) fn len(&self) -> u64 {
        match self {
            FileBytes::Memory(bytes) => u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            FileBytes::File(file) => file.len(),
        }
    }

    /// Fills the buffer.
    pub(crate) fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        match self {
            FileBytes::File(file) => file.read_exact_at(buffer, offset),
            FileBytes::Memory(bytes) => {
                let part = usize::try_from(offset).ok().and_then(|start| bytes.get(start..));
                let part = part.and_then(|part| part.get(..buffer.len()));
                buffer.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?); // as long as the buffer
                Ok(())
            }
        }
    }

    /// A reader from a position on.
    pub(crate) fn reader(&self, at: u64) -> BufReader<FileBytesReader<'_>> {
        BufReader::with_capacity(1 << 13, FileBytesReader { bytes: self, at })
    }
}

pub(crate) struct FileBytesReader<'b> {
    bytes: &'b FileBytes<'b>,
    at: u64,
}

impl Read for FileBytesReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.bytes.len().saturating_sub(self.at);
        let length = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let part = buffer.get_mut(..length).or_bug();
        self.bytes.read_exact_at(part, self.at)?;
        self.at = self.at.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
        Ok(length)
    }
}

impl Seek for FileBytesReader<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.bytes.len().checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
