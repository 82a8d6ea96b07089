//! Files on disk: opening, saving and loading, for treedefs and trees.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;

use crate::error::{Cause, Error, Result};
use crate::model::{Leaf, Limits, Tree, TreeDef};
use crate::replacement::{Replacement, regular};

use super::container::{ByteSource, cut_off};
use super::structure::read_structure;
use super::tree;
use super::wire::wide;

/// # Save and load
impl TreeDef {
    /// Writes the treedef to a file. Its old contents are kept until the new ones are safe on disk.
    ///
    /// The file keeps its permissions; a read-only file is not replaced. If the path is a symbolic link,
    /// its target is replaced; a device or a pipe is written into.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`to_bytes`](Self::to_bytes) and of the operating system. The old file
    /// is then unchanged, unless the only error was in flushing the folder.
    ///
    /// ```
    /// use treedef::TreeDef;
    ///
    /// let file = std::env::temp_dir().join(format!("{}.treedef", std::process::id()));
    /// let treedef = treedef::structure(&vec![(1.0, "a"); 3])?;
    /// treedef.save(&file)?;
    /// assert_eq!(TreeDef::load(&file)?, treedef);
    /// # std::fs::remove_file(file).unwrap();
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        save(path.as_ref(), &self.to_bytes()?)
    }

    /// Reads a treedef from a file that [`save`](Self::save) wrote, within [`Limits::default`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`from_bytes`](Self::from_bytes) and of the operating system. The
    /// error also contains the name of the file.
    ///
    /// ```
    /// use treedef::TreeDef;
    ///
    /// let file = std::env::temp_dir().join(format!("loaded-{}.treedef", std::process::id()));
    /// std::fs::write(&file, "no treedef").unwrap();
    /// let error = TreeDef::load(&file).unwrap_err();
    /// assert!(error.to_string().contains("expected a file with a treedef, found a text"));
    /// assert_eq!(error.file(), Some(&*file));
    /// # std::fs::remove_file(file).unwrap();
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        load(path.as_ref(), |source| read_structure(source, Limits::default()))
    }
}

pub(super) fn load_tree(path: &Path) -> Result<Tree<Leaf>> {
    load(path, |source| tree::read(source, Limits::default()))
}

fn load<T>(path: &Path, read: impl FnOnce(&mut SeekSource<File>) -> Result<T>) -> Result<T> {
    open(path)
        .and_then(|file| read(&mut SeekSource::new(file)?))
        .map_err(|error| error.in_file(path.to_owned()))
}

pub(super) fn open(path: &Path) -> Result<File> {
    // Checked before opening, because opening a pipe may block.
    fs::metadata(path).and_then(regular).map_err(Cause::Io)?;
    Ok(File::open(path).map_err(Cause::Io)?)
}

/// Bytes at the places that are asked for.
pub(super) struct SeekSource<R> {
    reader: R,
    length: u64,
}

impl<R: Seek> SeekSource<R> {
    pub(super) fn new(mut reader: R) -> Result<Self> {
        let length = reader.seek(SeekFrom::End(0)).map_err(Cause::Io)?;
        Ok(SeekSource { reader, length })
    }
}

impl<R: Read + Seek> ByteSource<'static> for SeekSource<R> {
    fn length(&mut self) -> Result<u64> {
        Ok(self.length)
    }

    fn bytes(&mut self, range: Range<u64>) -> Result<Cow<'static, [u8]>> {
        let length = range.end - range.start;
        let (mut bytes, room) = (Vec::new(), usize::try_from(length));
        let reserved = bytes.try_reserve_exact(room.map_err(|_| Cause::TooLarge)?);
        reserved.map_err(|_| Cause::Io(io::ErrorKind::OutOfMemory.into()))?;
        self.reader.seek(SeekFrom::Start(range.start)).map_err(Cause::Io)?;
        let read = self.reader.by_ref().take(length).read_to_end(&mut bytes);
        if wide(read.map_err(Cause::Io)?) == length {
            return Ok(Cow::Owned(bytes));
        }
        // The file was longer when it was opened.
        let found = self.reader.seek(SeekFrom::End(0)).map_err(Cause::Io)?;
        Err(cut_off(self.length, found))
    }
}

pub(crate) fn save(path: &Path, bytes: &[u8]) -> Result<()> {
    let write = || {
        let new = Replacement::open(path)?;
        new.file().write_all(bytes)?;
        new.finish()
    };
    write().map_err(|error| Error::from(Cause::Io(error)).in_file(path.to_owned()))
}
