//! Files that are written as a whole or not at all.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

use tempfile::NamedTempFile;
use treedef_exchange::{__folder as folder, __target as target};

use crate::failure::{Failure, Result};

/// The end of the names of temporary files, after six random letters or digits.
const SUFFIX: &str = ".treedef-tmp";
const RANDOM: usize = 6;
/// Longer names leave no room for prefix and suffix: file systems allow 255 bytes.
const LONGEST_NAME: usize = 200;
/// How much is written between two looks at the signals.
const PIECE: usize = 1 << 20;

/// Writes a file with what is made piece by piece. What was there stays until the new contents are on the disk.
///
/// A regular file keeps its permissions, and its owner where that is allowed. Of a symbolic link
/// the target is written. A device and a pipe are written into.
pub(crate) fn write_with(
    path: &Path,
    make: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    let named = |error: Unwritten| {
        let error = match error {
            Unwritten::Refused(error) => error,
            Unwritten::NotMade(failure) => return failure,
        };
        let message = match error.kind() {
            ErrorKind::IsADirectory => "a folder, pass the name of a file in it".to_owned(),
            ErrorKind::PermissionDenied => "it may not be written".to_owned(),
            _ => return Failure::from(error).in_file(&path.display().to_string()),
        };
        Failure::at(path.display(), message)
    };
    let io = |error: io::Error| named(error.into());
    let is_special = fs::metadata(path).is_ok_and(|data| !data.is_file() && !data.is_dir());
    let target = target(path).map_err(io)?;
    // `/dev/stdout` is an open file, not the name of one.
    if is_special || target.starts_with("/dev") || target.starts_with("/proc") {
        let file = File::create(path).map_err(io)?;
        return Pieces { file: &file, signals: None, refused: None }.fill(make).map_err(named);
    }
    // A file that may not be written must not be replaced either.
    match File::options().write(true).open(&target) {
        Ok(old) => {
            let old = old.metadata().map_err(io)?;
            replace(&target, make, Some(&old)).map_err(named)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let folder = folder(&target);
            if !folder.is_dir() {
                let message = format!("there is no folder {}", folder.display());
                return Err(Failure::at(path.display(), message));
            }
            replace(&target, make, None).map_err(named)
        }
        Err(error) => Err(io(error)),
    }
}

/// Why a file was not written.
enum Unwritten {
    Refused(io::Error),
    /// There was nothing to write.
    NotMade(Failure),
}

impl From<io::Error> for Unwritten {
    fn from(error: io::Error) -> Self {
        Unwritten::Refused(error)
    }
}

/// Writes pieces, and looks at the signals before each.
struct Pieces<'a> {
    file: &'a File,
    signals: Option<&'a Signals>,
    /// What the file did not take, whatever was made of it.
    refused: Option<io::Error>,
}

impl Pieces<'_> {
    fn fill(
        mut self,
        make: impl FnOnce(&mut dyn Write) -> Result<()>,
    ) -> std::result::Result<(), Unwritten> {
        let mut out = BufWriter::with_capacity(PIECE, &mut self);
        let made = make(&mut out).and_then(|()| Ok(out.flush()?));
        // What is left after a failure is not written.
        drop(out.into_parts());
        match self.refused {
            Some(error) => Err(error.into()),
            None => made.map_err(Unwritten::NotMade),
        }
    }
}

impl Write for Pieces<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = bytes.get(..PIECE).unwrap_or(bytes);
        let written = self.signals.map_or(Ok(()), Signals::check);
        written.and_then(|()| self.file.write(piece)).map_err(|error| {
            let kind = error.kind();
            if kind != ErrorKind::Interrupted {
                self.refused.get_or_insert(error);
            }
            kind.into()
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a temporary file beside the place, flushes it and renames it.
fn replace(
    path: &Path,
    make: impl FnOnce(&mut dyn Write) -> Result<()>,
    old: Option<&fs::Metadata>,
) -> std::result::Result<(), Unwritten> {
    let name = path.file_name().ok_or(io::Error::from(ErrorKind::IsADirectory))?;
    let mut prefix = OsString::from(".");
    prefix.push(if name.len() > LONGEST_NAME { OsStr::new("treedef") } else { name });
    prefix.push(".");
    let folder = folder(path);
    sweep(folder, &prefix);

    let signals = Signals::watch()?;
    let file = create(folder, &prefix, old.is_some()).map_err(|error| {
        let message = format!("the folder {} takes no new file: {error}", folder.display());
        io::Error::other(message)
    })?;
    let written = fill(&file, make, old, &signals);
    // The temporary file goes before the process does.
    let put = match written {
        Ok(()) => file.persist(path).map(drop).map_err(|error| error.error.into()),
        Err(error) => {
            drop(file);
            Err(error)
        }
    };
    signals.end();
    put?;
    #[cfg(unix)]
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // The file system does not support this.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {}
        synced => synced?,
    }
    Ok(())
}

fn fill(
    file: &NamedTempFile,
    make: impl FnOnce(&mut dyn Write) -> Result<()>,
    old: Option<&fs::Metadata>,
    signals: &Signals,
) -> std::result::Result<(), Unwritten> {
    let file = file.as_file();
    Pieces { file, signals: Some(signals), refused: None }.fill(make)?;
    if let Some(old) = old {
        #[cfg(unix)]
        {
            use std::os::unix::fs::{MetadataExt, fchown};
            // Only the superuser may give files away; others write their own.
            let _ = fchown(file, Some(old.uid()), Some(old.gid()));
        }
        file.set_permissions(old.permissions())?;
    }
    file.sync_all()?;
    Ok(signals.check()?)
}

/// Creates a temporary file. Its lock keeps other writers from removing it as abandoned.
fn create(folder: &Path, prefix: &OsStr, private: bool) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).suffix(SUFFIX).rand_bytes(RANDOM);
    loop {
        let file = builder.make_in(folder, |path| {
            let mut options = File::options();
            options.write(true).create_new(true);
            // Less the umask. What is to be private must not be open for a moment.
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(
                &mut options,
                if private { 0o600 } else { 0o666 },
            );
            #[cfg(not(unix))]
            let _ = private;
            options.open(path)
        })?;
        let is_ours = !matches!(file.as_file().try_lock(), Err(TryLockError::WouldBlock));
        // Another writer may have removed it before it was locked.
        if is_ours && file.path().exists() {
            return Ok(file);
        }
    }
}

/// Removes temporary files of writers that were killed. Active writers hold a lock.
fn sweep(folder: &Path, prefix: &OsStr) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let random = name.as_encoded_bytes().strip_prefix(prefix.as_encoded_bytes());
        let random = random.and_then(|rest| rest.strip_suffix(SUFFIX.as_bytes()));
        let is_temporary = random.is_some_and(|random| {
            random.len() == RANDOM && random.iter().all(u8::is_ascii_alphanumeric)
        });
        if !is_temporary || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        if let Ok(file) = File::options().write(true).open(entry.path())
            && file.try_lock().is_ok()
        {
            // Under the lock, so that a writer that has just created the file notices.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// SIGINT and SIGTERM while a file is written: the temporary file is removed, and then the process
/// ends as the signal demands. A second signal ends it at once.
#[cfg(unix)]
struct Signals {
    came: std::sync::Arc<std::sync::atomic::AtomicBool>,
    which: std::sync::Arc<std::sync::atomic::AtomicUsize>,
}

#[cfg(unix)]
impl Signals {
    fn watch() -> io::Result<Self> {
        use signal_hook::consts::{SIGINT, SIGTERM};
        use signal_hook::flag;
        let signals = Signals { came: Default::default(), which: Default::default() };
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_default(signal, signals.came.clone())?;
            let number = usize::try_from(signal).unwrap_or_default();
            flag::register_usize(signal, signals.which.clone(), number)?;
            flag::register(signal, signals.came.clone())?;
        }
        Ok(signals)
    }

    fn check(&self) -> io::Result<()> {
        let came = self.came.load(std::sync::atomic::Ordering::SeqCst);
        if came { Err(io::Error::other("interrupted")) } else { Ok(()) }
    }

    /// Ends the process if a signal came. From now on, one ends it at once.
    fn end(self) {
        use std::sync::atomic::Ordering::SeqCst;
        self.came.store(true, SeqCst);
        if let Ok(signal @ 1..) = i32::try_from(self.which.load(SeqCst)) {
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    }
}

/// Elsewhere, what a killed process left is removed by the next that writes the file.
#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn watch() -> io::Result<Self> {
        Ok(Signals)
    }

    fn check(&self) -> io::Result<()> {
        Ok(())
    }

    fn end(self) {}
}
