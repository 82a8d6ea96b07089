//! Replaces a file in one step: writes a temporary file beside it, flushes it and renames it.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirEntry, File, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::destination::{destination, is_open_file};

/// The end of the names of temporary files, after six random letters or digits.
const SUFFIX: &str = ".treedef-tmp";
const RANDOM: usize = 6;
/// How many names are tried.
const TRIES: usize = 1_000;
/// Longer names leave no room for prefix and suffix: file systems allow 255 bytes.
const LONGEST_FILE_NAME: usize = 200;

/// Writes a file, with its old permissions. The old contents stay until the new ones are on disk.
///
/// If the path is a symbolic link, its target is written. A device and a pipe are written into.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|data| !data.is_file() && !data.is_dir()) {
        return fs::write(path, bytes);
    }
    let path = &destination(path)?;
    if is_open_file(path) {
        return fs::write(path, bytes);
    }
    let old = match fs::metadata(path) {
        Ok(old) => Some(regular(&old)?.permissions()),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let name = path.file_name().ok_or(ErrorKind::IsADirectory)?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let folder = Folder::open(parent.unwrap_or(Path::new(".")))?;

    let prefix = prefix(name);
    folder.sweep(&prefix);
    let mut temporary = folder.create(&prefix, old.is_some())?;
    temporary.file.write_all(bytes)?;
    if let Some(permissions) = old {
        temporary.file.set_permissions(permissions)?;
    }
    temporary.file.sync_all()?;
    temporary.rename(path)?;
    folder.sync()
}

/// Checks that a path is a regular file: a device may have no end, and a pipe may block.
pub(super) fn regular(metadata: &fs::Metadata) -> io::Result<&fs::Metadata> {
    if metadata.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if metadata.is_file() {
        Ok(metadata)
    } else {
        Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file"))
    }
}

/// The beginning of the names of a file's temporary files.
fn prefix(name: &OsStr) -> OsString {
    let mut prefix = OsString::from(".");
    prefix.push(if name.len() > LONGEST_FILE_NAME { OsStr::new("treedef") } else { name });
    prefix.push(".");
    prefix
}

struct Folder<'a> {
    path: &'a Path,
    /// Opened before anything is written, so that a failure comes before any change.
    #[cfg(unix)]
    file: File,
}

impl<'a> Folder<'a> {
    fn open(path: &'a Path) -> io::Result<Self> {
        Ok(Folder {
            path,
            #[cfg(unix)]
            file: File::open(path)?,
        })
    }

    /// Creates a temporary file. Its lock keeps other writers from removing it as abandoned.
    fn create(&self, prefix: &OsStr, private: bool) -> io::Result<Temporary> {
        let mut tries = 0;
        loop {
            tries += 1;
            let mut name = prefix.to_owned();
            name.push(random());
            name.push(SUFFIX);
            let path = self.path.join(name);
            let file = match create_new(&path, private) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists && tries < TRIES => continue,
                file => file?,
            };
            let temporary = Temporary { path, file };
            match temporary.file.try_lock() {
                // Another writer thinks that it is abandoned, and will remove it.
                Err(TryLockError::WouldBlock) if tries < TRIES => continue,
                // If locks are not supported, no file is removed as abandoned.
                Ok(()) | Err(_) => {}
            }
            // Another writer may have removed it before it was locked.
            if temporary.path.exists() || tries >= TRIES {
                return Ok(temporary);
            }
        }
    }

    /// Removes temporary files of writers that were killed. Active writers hold a lock.
    fn sweep(&self, prefix: &OsStr) {
        let Ok(entries) = fs::read_dir(self.path) else { return };
        entries.flatten().filter(|entry| is_temporary(entry, prefix)).for_each(|entry| {
            remove_if_abandoned(&entry.path());
        });
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

/// A file that is removed when it is dropped, unless it was renamed. It is locked until then.
struct Temporary {
    path: PathBuf,
    file: File,
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
            fs::remove_file(&self.path).unwrap_or_default();
        }
    }
}

/// Letters and digits that are others each time, in other processes, too.
fn random() -> String {
    // Each state has keys of its own, from the operating system's entropy.
    let mut bits = RandomState::new().build_hasher().finish();
    let mut digit = || {
        let digit = (bits % 36) as u32; // less than 36
        bits /= 36;
        char::from_digit(digit, 36).unwrap_or('0')
    };
    (0..RANDOM).map(|_| digit()).collect()
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

/// Whether the name is one that [`Folder::create`] makes.
fn is_temporary(entry: &DirEntry, prefix: &OsStr) -> bool {
    let name = entry.file_name();
    let random = name.as_encoded_bytes().strip_prefix(prefix.as_encoded_bytes());
    let random = random.and_then(|rest| rest.strip_suffix(SUFFIX.as_bytes()));
    random.is_some_and(|random| {
        random.len() == RANDOM && random.iter().all(u8::is_ascii_alphanumeric)
    }) && entry.file_type().is_ok_and(|kind| kind.is_file())
}

/// Removes an abandoned file. If it cannot be opened or removed, it is left there.
fn remove_if_abandoned(path: &Path) {
    let file = File::open(path).or_else(|_| File::options().write(true).open(path));
    if let Ok(file) = file
        && file.try_lock().is_ok()
    {
        // Done under the lock, so that a writer that has just created the file notices.
        fs::remove_file(path).unwrap_or_default();
    }
}
