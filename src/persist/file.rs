//! Files on disk: read whole, written beside their place and then put there.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

use crate::error::{Error, ErrorKind, Result};
use crate::leaf::LeafType;
use crate::model::{Leaf, Limits, Tree, TreeDef};

use super::container::{HEADER, Header, Kind};
use super::wire::wide;

/// What the names of files that are being written end with.
const BEING_WRITTEN: &str = ".treedef-tmp";

impl TreeDef {
    /// Writes the treedef to a file, whose old contents stay until the new ones are safe on the disk.
    ///
    /// The file keeps its permissions; a symbolic link stays one, and its target is written.
    ///
    /// # Errors
    ///
    /// What the operating system says: then the old file is as it was. And as [`to_bytes`](Self::to_bytes).
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

impl<L: LeafType> Tree<L> {
    /// Writes the tree to a file, whose old contents stay until the new ones are safe on the disk.
    ///
    /// # Errors
    ///
    /// What the operating system says: then the old file is as it was. And as [`to_bytes`](Self::to_bytes).
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        save(path.as_ref(), &self.to_bytes()?)
    }
}

impl Tree<Leaf> {
    /// Reads a tree from a file that [`save`](Self::save) wrote, within [`Limits::default`].
    ///
    /// # Errors
    ///
    /// As [`from_bytes`](Self::from_bytes), and what the operating system says; the error names the file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Tree::load_as(path, Limits::default())
    }

    /// Reads a tree with leaves of one type from a file.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load), and when a leaf is of another kind.
    pub fn load_as<L: LeafType>(path: impl AsRef<Path>, limits: Limits) -> Result<Tree<L>> {
        load(path.as_ref(), Kind::Tree, limits, |bytes| Tree::from_bytes_as(bytes, limits))
    }
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

/// All of a file, but no more than its header asks for.
fn contents(path: &Path, kind: Kind, limits: Limits) -> Result<Vec<u8>> {
    let mut file = File::open(path).map_err(ErrorKind::Io)?;
    let mut bytes = Vec::new();
    Read::take(&mut file, wide(HEADER)).read_to_end(&mut bytes).map_err(ErrorKind::Io)?;
    let rest = Header::read(&bytes, kind, limits)?.total()?.saturating_sub(wide(HEADER));
    // One byte more tells that the file goes on. The claim is not allocated: memory grows with what is there.
    file.take(rest.saturating_add(1)).read_to_end(&mut bytes).map_err(ErrorKind::Io)?;
    Ok(bytes)
}

fn save(path: &Path, bytes: &[u8]) -> Result<()> {
    replace(path, bytes).map_err(|error| Error::from(ErrorKind::Io(error)).in_file(path.to_owned()))
}

/// Puts a file in the place of another in one step. A symbolic link stays, and leads to the new file.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = match fs::canonicalize(path) {
        Ok(target) => target,
        Err(_) => path.to_owned(), // there is none yet
    };
    let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let folder = parent.unwrap_or(Path::new("."));
    let mut prefix = std::ffi::OsString::from(".");
    prefix.push(name);
    prefix.push(".");

    sweep(folder, &prefix);
    let mut file = create(folder, &prefix)?;
    if let Ok(old) = fs::metadata(&path) {
        file.as_file().set_permissions(old.permissions())?;
    }
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    let file = file.persist(&path).map_err(|error| error.error)?;
    drop(file);
    sync_folder(folder)
}

/// A new file that is locked for as long as it is written, so that nobody takes it for one that was left behind.
fn create(folder: &Path, prefix: &std::ffi::OsStr) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(prefix).suffix(BEING_WRITTEN);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666)); // less what the umask takes
    loop {
        let file = builder.tempfile_in(folder)?;
        // Where locks are not supported nothing is swept either.
        let locked = file.as_file().lock().is_ok();
        if !locked || file.path().exists() {
            return Ok(file);
        }
        // Swept between its creation and its lock.
    }
}

/// Removes what writers left behind that were killed. Whoever still writes holds a lock.
fn sweep(folder: &Path, prefix: &std::ffi::OsStr) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        let ours =
            name.starts_with(prefix.as_encoded_bytes()) && name.ends_with(BEING_WRITTEN.as_bytes());
        if ours {
            remove_if_abandoned(&entry.path());
        }
    }
}

/// A file that cannot be removed stays: it is in nobody's way.
fn remove_if_abandoned(path: &PathBuf) {
    let Ok(file) = File::options().write(true).open(path) else { return };
    match file.try_lock() {
        Ok(()) => drop(fs::remove_file(path)),
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {}
    }
}

/// Makes the new name last; on other systems a rename does so by itself.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
