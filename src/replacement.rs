//! Replaces a file in one step: writes a temporary file beside it, flushes it and renames it.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirEntry, File, Metadata, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::destination::{destination, is_open_file};

/// The end of the names of temporary files, after six random letters or digits.
const SUFFIX: &str = ".treedef-tmp";
const RANDOM: usize = 6;
/// The number of names that are tried.
const TRIES: usize = 1_000;
/// Longer names leave no room for the prefix and suffix of a temporary file: file systems allow 255 bytes.
const LONGEST_FILE_NAME: usize = 200;

/// A file that is written beside its place. The old contents stay until the new ones are on the disk.
///
/// The new file gets the permissions of the old one, and its owner where that is allowed. A read-only file
/// is not replaced. If the path is a symbolic link, its target is written, even if it does not exist yet.
#[derive(Debug)]
pub struct Replacement {
    file: File,
    /// `None` for a device and a pipe, which are written into.
    place: Option<Target>,
}

#[derive(Debug)]
struct Target {
    old: Option<Metadata>,
    temporary: Temporary,
    target: PathBuf,
    folder: Folder,
}

/// A new file that is on the disk and closed, so that a process may have more of these than it may have
/// open files.
#[derive(Debug)]
pub struct FlushedFile(Option<(Temporary, PathBuf)>);

impl Replacement {
    /// Begins a file that is written from its start to its end. A device and a pipe are written into.
    /// Temporary files of this file that a killed process left are removed.
    ///
    /// # Errors
    ///
    /// Returns the errors of the operating system. Nothing has changed then.
    pub fn open(path: &Path) -> io::Result<Self> {
        let target = destination(path)?;
        let is_special = |data: Metadata| !data.is_file() && !data.is_dir();
        if is_open_file(&target) || fs::metadata(path).is_ok_and(is_special) {
            let file = File::options().write(true).truncate(true).open(path)?;
            return Ok(Replacement { file, place: None });
        }
        sweep(path); // first, as a full disk may need the room
        Replacement::create(path)
    }

    /// Begins a file that may be written at any position. A device and a pipe are refused. Leftovers of
    /// killed processes are not removed: see [`sweep`].
    ///
    /// # Errors
    ///
    /// Returns the errors of the operating system. Nothing has changed then.
    pub fn create(path: &Path) -> io::Result<Self> {
        let target = destination(path)?;
        let old = match fs::metadata(path) {
            Ok(old) => Some(regular(old)?),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        if let Some(old) = &old {
            // The system lets an administrator write it.
            if old.permissions().readonly() {
                return Err(ErrorKind::PermissionDenied.into());
            }
            File::options().write(true).open(&target)?;
        }
        let name = target.file_name().ok_or(ErrorKind::IsADirectory)?;
        let folder = Folder::open(folder(&target))?;
        let (temporary, file) = folder.create(name, old.is_some())?;
        Ok(Replacement { file, place: Some(Target { old, temporary, target, folder }) })
    }

    /// The file, while it is written.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Flushes the file, and puts it in its place.
    ///
    /// # Errors
    ///
    /// Returns the errors of the operating system. The old file is then unchanged, unless the only error was
    /// in flushing the folder.
    pub fn finish(self) -> io::Result<()> {
        let Replacement { file, place } = self;
        let Some(place) = place else { return Ok(()) };
        place.flush(&file)?;
        place.temporary.rename(&place.target)?;
        place.folder.sync()
    }

    /// Flushes and closes the file. It is not in its place yet. A device or a pipe already has all of it.
    ///
    /// # Errors
    ///
    /// Returns the errors of the operating system. The old file is then unchanged.
    pub fn flush(self) -> io::Result<FlushedFile> {
        let Replacement { file, place } = self;
        let Some(place) = place else { return Ok(FlushedFile(None)) };
        place.flush(&file)?;
        Ok(FlushedFile(Some((place.temporary, place.target))))
    }
}

impl Target {
    fn flush(&self, file: &File) -> io::Result<()> {
        if let Some(old) = &self.old {
            #[cfg(unix)]
            {
                use std::os::unix::fs::{MetadataExt, fchown};
                // Only the superuser may give files away; others write their own.
                let _ = fchown(file, Some(old.uid()), Some(old.gid()));
            }
            file.set_permissions(old.permissions())?;
        }
        file.sync_all()
    }
}

impl FlushedFile {
    /// Moves the file into its place. The folder has to be flushed afterwards, by [`flush_folder`].
    ///
    /// # Errors
    ///
    /// Returns the errors of the operating system. The old file is then unchanged.
    pub fn put(self) -> io::Result<()> {
        self.0.map_or(Ok(()), |(temporary, target)| temporary.rename(&target))
    }
}

/// The folder that contains a path.
#[must_use]
pub fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Flushes a folder, so that the names in it are on the disk.
///
/// # Errors
///
/// Returns the errors of the operating system.
pub fn flush_folder(path: &Path) -> io::Result<()> {
    Folder::open(path)?.sync()
}

/// Removes the temporary files that killed writers of this file left. Active writers hold a lock.
pub fn sweep(path: &Path) {
    if let Ok(target) = destination(path)
        && let Some(name) = target.file_name()
    {
        let name = short(name).as_encoded_bytes();
        sweep_those(folder(&target), |of| of == name);
    }
}

/// Removes all temporary files that killed writers left in a folder.
pub fn sweep_folder(folder: &Path) {
    sweep_those(folder, |_| true);
}

fn sweep_those(folder: &Path, is_one: impl Fn(&[u8]) -> bool) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if temporary_of(&entry.file_name()).is_some_and(&is_one) {
            remove_if_abandoned(&entry);
        }
    }
}

/// Checks that a path is a regular file: a device may have no end, and a pipe may block.
pub(crate) fn regular(metadata: Metadata) -> io::Result<Metadata> {
    if metadata.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if metadata.is_file() {
        Ok(metadata)
    } else {
        Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file"))
    }
}

#[derive(Debug)]
struct Folder {
    path: PathBuf,
    /// Opened before anything is written, so that a failure comes before any change.
    #[cfg(unix)]
    file: File,
}

impl Folder {
    fn open(path: &Path) -> io::Result<Self> {
        Ok(Folder {
            path: path.to_owned(),
            #[cfg(unix)]
            file: File::open(path)?,
        })
    }

    /// Creates a temporary file. Its lock keeps other writers from removing it as abandoned.
    fn create(&self, name: &OsStr, private: bool) -> io::Result<(Temporary, File)> {
        let mut tries = 0;
        loop {
            tries += 1;
            let path = self.path.join(temporary_name(name));
            let file = match create_new(&path, private) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists && tries < TRIES => continue,
                file => file?,
            };
            let temporary = Temporary { path };
            match file.try_lock() {
                // Another writer considers it abandoned, and will remove it.
                Err(TryLockError::WouldBlock) if tries < TRIES => continue,
                // If locks are not supported, no file is removed as abandoned.
                Ok(()) | Err(_) => {}
            }
            // Another writer may have removed it before it was locked.
            if temporary.path.exists() || tries >= TRIES {
                return Ok((temporary, file));
            }
        }
    }

    /// Makes the new name durable. Outside Unix, the rename does this.
    fn sync(&self) -> io::Result<()> {
        #[cfg(unix)]
        match self.file.sync_all() {
            // The file system does not support this.
            Err(error)
                if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {}
            result => return result,
        }
        Ok(())
    }
}

/// A file that is removed when this is dropped, unless it was renamed.
#[derive(Debug)]
struct Temporary {
    path: PathBuf,
}

impl Temporary {
    fn rename(mut self, path: &Path) -> io::Result<()> {
        fs::rename(&self.path, path)?;
        self.path = PathBuf::new(); // nothing is left to remove
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The part of a file's name that is in the names of its temporary files.
fn short(name: &OsStr) -> &OsStr {
    if name.len() > LONGEST_FILE_NAME { OsStr::new("treedef") } else { name }
}

/// A name for a temporary file: another one in each call and each process.
fn temporary_name(of: &OsStr) -> OsString {
    let mut name = OsString::from(".");
    name.push(short(of));
    name.push(".");
    // Each state has keys of its own, from the operating system's entropy.
    let mut bits = RandomState::new().build_hasher().finish();
    for _ in 0..RANDOM {
        let digit = (bits % 36) as u32; // less than 36
        bits /= 36;
        name.push(char::from_digit(digit, 36).unwrap_or('0').encode_utf8(&mut [0; 4]));
    }
    name.push(SUFFIX);
    name
}

/// The name of the file that a temporary file is for, if [`temporary_name`] made its name.
fn temporary_of(name: &OsStr) -> Option<&[u8]> {
    let rest = name.as_encoded_bytes().strip_prefix(b".")?.strip_suffix(SUFFIX.as_bytes())?;
    let (rest, random) = rest.split_at_checked(rest.len().checked_sub(RANDOM)?)?;
    rest.strip_suffix(b".").filter(|_| random.iter().all(u8::is_ascii_alphanumeric))
}

/// Creates a new file. If `private`, only its owner can read it until permissions are set.
fn create_new(path: &Path, private: bool) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, if private { 0o600 } else { 0o666 });
    #[cfg(not(unix))]
    let _ = private;
    options.open(path)
}

/// Removes an abandoned file. If it cannot be opened or removed, it is left there.
fn remove_if_abandoned(entry: &DirEntry) {
    if !entry.file_type().is_ok_and(|kind| kind.is_file()) {
        return; // opening a pipe would wait for the other end
    }
    let path = entry.path();
    let file = File::open(&path).or_else(|_| File::options().write(true).open(&path));
    if let Ok(file) = file
        && file.try_lock().is_ok()
    {
        // Done under the lock, so that a writer that has just created the file notices.
        let _ = fs::remove_file(path);
    }
}
