//! Files that are written as a whole or not at all.

use std::fs::{self, File, Metadata};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use treedef::__private::{FlushedFile, Replacement};
pub use treedef::__private::{destination, folder};

use crate::bug::OrBug;
use crate::error::{Error, ErrorKind as Kind, Result};

/// Writes a file beside its place, flushes it, and puts it there. The old contents stay until then.
/// A device and a pipe are written into.
pub fn save(path: &Path, write: impl FnOnce(&mut BufWriter<&File>) -> Result<()>) -> Result<()> {
    let in_file = |error| in_file(path, error);
    let new = Replacement::open(path).map_err(|error| not_created(path, error))?;
    let mut buffer = BufWriter::new(new.file());
    write(&mut buffer).map_err(|error| with_path(path, error))?;
    buffer.flush().map_err(in_file)?;
    drop(buffer);
    Ok(new.finish().map_err(in_file)?)
}

/// A file that is written beside its place, at any position. It goes away if it is not put there.
pub(crate) struct PendingFile {
    file: Replacement,
    path: PathBuf,
}

/// A file that is on the disk, beside its place, and closed.
pub(crate) struct StagedFile {
    file: FlushedFile,
    path: PathBuf,
}

impl PendingFile {
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let file = Replacement::create(path).map_err(|error| not_created(path, error))?;
        Ok(PendingFile { file, path: path.to_owned() })
    }

    /// Writes at a position. An error has the path.
    pub(crate) fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        let written = write_all_at(self.file.file(), bytes, offset);
        Ok(written.map_err(|error| in_file(&self.path, error))?)
    }

    /// Puts it in its place, on the disk.
    pub(crate) fn finish(self) -> Result<()> {
        Ok(self.file.finish().map_err(|error| in_file(&self.path, error))?)
    }

    /// Flushes it to the disk.
    pub(crate) fn flush(self) -> Result<StagedFile> {
        let PendingFile { file, path } = self;
        let file = file.flush().map_err(|error| in_file(&path, error))?;
        Ok(StagedFile { file, path })
    }
}

impl StagedFile {
    /// Puts it in its place. The folder is still to be flushed.
    pub(crate) fn persist(self) -> Result<()> {
        Ok(self.file.put().map_err(|error| in_file(&self.path, error))?)
    }
}

/// The error for a file that was not created. The error of the operating system has no path.
fn not_created(path: &Path, error: io::Error) -> io::Error {
    let what = match error.kind() {
        ErrorKind::NotFound => "there is no such folder",
        ErrorKind::IsADirectory => "a folder",
        _ => return in_file(path, error),
    };
    in_file(path, io::Error::new(error.kind(), what))
}

/// An error of the operating system with the file that it is about.
pub(crate) fn in_file(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// An error while a file was written. Errors of the operating system get the path of the file.
fn with_path(path: &Path, error: Error) -> Error {
    match error.kind() {
        Kind::Io(said) if said.raw_os_error().is_some() => {
            in_file(path, io::Error::new(said.kind(), said.to_string())).into()
        }
        _ => error,
    }
}

/// Whether memory has room for this number of bytes. Without this check, an allocation that fails ends
/// the process. Allocating zeroed bytes afterwards costs less than a fallible allocation that is then
/// filled with zeros.
pub(crate) fn has_room(size: usize) -> bool {
    Vec::<u8>::new().try_reserve_exact(size).is_ok()
}

/// A file that is read at positions. One that is not held open is opened for each read: an error is
/// returned if it was replaced since.
#[derive(Debug)]
pub(crate) struct OpenFile {
    path: PathBuf,
    identity: Identity,
    handle: Option<File>,
}

/// Properties by which another file, or a file with other contents, is told apart.
#[derive(Debug, PartialEq, Eq)]
struct Identity {
    size: u64,
    modified: Option<std::time::SystemTime>,
    #[cfg(unix)]
    inode: (u64, u64),
}

impl Identity {
    fn of(file: &File) -> io::Result<Self> {
        let data = regular(file.metadata()?)?;
        Ok(Identity {
            size: data.len(),
            modified: data.modified().ok(),
            #[cfg(unix)]
            inode: {
                use std::os::unix::fs::MetadataExt;
                (data.dev(), data.ino())
            },
        })
    }
}

fn regular(data: Metadata) -> io::Result<Metadata> {
    if data.is_file() {
        return Ok(data);
    }
    Err(io::Error::new(ErrorKind::InvalidInput, "not a file"))
}

/// Opens a regular file. To open a pipe would wait for its writer.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    regular(fs::metadata(path)?)?;
    File::open(path)
}

/// The number of bytes that identify the stand-in for a file.
pub const STAND_IN: usize = 64;

/// The stand-in that a download left instead of the file, by its first bytes.
pub fn stand_in(start: &[u8]) -> Option<&'static str> {
    let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    let text = text.trim_ascii_start().to_ascii_lowercase();
    if text.starts_with(b"version https://git-lfs") {
        return Some("a pointer of git-lfs and not the file: `git lfs pull` brings it");
    }
    let is_page = text.starts_with(b"<!doctype html") || text.starts_with(b"<html");
    is_page.then_some(
        "a page of HTML and not the file, as a download without a login may be: get it again",
    )
}

impl OpenFile {
    /// Opens a file. Who opens more than a process may have lets go of it until it is read.
    pub(crate) fn open(path: &Path, hold: bool) -> io::Result<Self> {
        let file = open_regular(path)?;
        let identity = Identity::of(&file)?;
        let mut start = [0; STAND_IN];
        let length = usize::try_from(identity.size).unwrap_or(STAND_IN).min(STAND_IN);
        let start = start.get_mut(..length).or_bug();
        read_exact_at(&file, start, 0)?;
        if let Some(what) = stand_in(start) {
            return Err(io::Error::new(ErrorKind::InvalidData, what));
        }
        Ok(OpenFile { path: path.to_owned(), identity, handle: Some(file).filter(|_| hold) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn len(&self) -> u64 {
        self.identity.size
    }

    /// Reads as many bytes as the buffer has.
    pub(crate) fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.read(buffer, offset).map_err(|error| {
            let what = match error.kind() {
                ErrorKind::UnexpectedEof => "it became shorter while it was open".to_owned(),
                _ => error.to_string(),
            };
            in_file(&self.path, io::Error::new(error.kind(), what))
        })
    }

    fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        if let Some(file) = &self.handle {
            return read_exact_at(file, buffer, offset);
        }
        let file = open_regular(&self.path)?;
        if Identity::of(&file)? != self.identity {
            return Err(io::Error::other("it was changed since it was opened"));
        }
        read_exact_at(&file, buffer, offset)
    }
}

/// Reads at a position, which other readers of the file do not see.
#[cfg(unix)]
fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        let read = match std::os::windows::fs::FileExt::seek_read(file, buffer, offset) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read?,
        };
        buffer = buffer.get_mut(read..).or_bug();
        offset = offset.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
    }
    Ok(())
}

#[cfg(not(any(unix, windows)))]
fn read_exact_at(mut file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    use std::io::{Read, Seek, SeekFrom};
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(buffer)
}

#[cfg(unix)]
fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(windows)]
fn write_all_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = match std::os::windows::fs::FileExt::seek_write(file, bytes, offset) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            written => written?,
        };
        bytes = bytes.get(written..).or_bug();
        offset = offset.saturating_add(u64::try_from(written).unwrap_or(u64::MAX));
    }
    Ok(())
}

#[cfg(not(any(unix, windows)))]
fn write_all_at(mut file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    use std::io::{Seek, SeekFrom};
    file.seek(SeekFrom::Start(offset))?;
    file.write_all(bytes)
}
