//! Files on disk.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use crate::error::{Error, ErrorKind, Result};
use crate::leaf::leaf_type::LeafType;
use crate::model::{Limits, Tree, TreeDef};

use super::container::{HEADER, Header, Kind, check_length};
use super::replace::{regular, replace};
use super::tree::read as read_tree;
use super::wire::wide;

impl TreeDef {
    /// Writes the treedef to a file, whose old contents stay until the new ones are safe on the disk.
    ///
    /// The file keeps its permissions; a symbolic link stays one, and its target is written.
    ///
    /// # Errors
    ///
    /// What the operating system says: then the old file is as it was, unless all went well but flushing the folder.
    /// And as [`to_bytes`](Self::to_bytes).
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
    /// As [`from_bytes`](Self::from_bytes), and what the operating system says; the error names the file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        TreeDef::load_with(path, Limits::default())
    }

    /// Reads a treedef from a file, within other limits.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn load_with(path: impl AsRef<Path>, limits: Limits) -> Result<Self> {
        load(path.as_ref(), Kind::TreeDef, limits, |bytes| TreeDef::from_bytes_with(bytes, limits))
    }
}

pub(crate) fn load_tree<L: LeafType>(path: &Path, limits: Limits) -> Result<Tree<L>> {
    load(path, Kind::Tree, limits, |bytes| read_tree(bytes, limits))
}

fn load<T>(
    path: &Path,
    kind: Kind,
    limits: Limits,
    read: impl FnOnce(&[u8]) -> Result<T>,
) -> Result<T> {
    contents(path, kind, limits)
        .and_then(|bytes| read(&bytes))
        .map_err(|error| error.in_file(path.to_owned()))
}

/// All of a file, if it is as long as its header says.
fn contents(path: &Path, kind: Kind, limits: Limits) -> Result<Vec<u8>> {
    // Before it is opened, because that may wait for the other end of a pipe.
    regular(&fs::metadata(path).map_err(ErrorKind::Io)?).map_err(ErrorKind::Io)?;
    let mut file = File::open(path).map_err(ErrorKind::Io)?;
    let mut bytes = Vec::new();
    Read::take(&mut file, wide(HEADER)).read_to_end(&mut bytes).map_err(ErrorKind::Io)?;
    let expected = Header::read(&bytes, kind, limits)?.total()?;
    let length = file.metadata().map_err(ErrorKind::Io)?.len();
    check_length(expected, length)?;

    let rest = expected.saturating_sub(wide(HEADER));
    let room = usize::try_from(rest).map_err(|_| ErrorKind::TooLarge)?;
    bytes.try_reserve_exact(room).map_err(|_| ErrorKind::Io(io::ErrorKind::OutOfMemory.into()))?;
    file.take(rest).read_to_end(&mut bytes).map_err(ErrorKind::Io)?;
    Ok(bytes)
}

pub(crate) fn save(path: &Path, bytes: &[u8]) -> Result<()> {
    replace(path, bytes).map_err(|error| Error::from(ErrorKind::Io(error)).in_file(path.to_owned()))
}
