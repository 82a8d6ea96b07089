//! Files that are written as a whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::error::Result;

/// As many symbolic links as Linux follows.
const LINKS: usize = 40;

/// Writes a file beside its place, flushes it, and puts it there. The old contents stay until then.
///
/// A file that was there keeps its permissions. Of a symbolic link the target is written, be it a file
/// that is to come. A device and a pipe are written into.
pub(crate) fn save(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> Result<()>,
) -> Result<()> {
    let in_file =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let target = target(path).map_err(in_file)?;
    // `/dev/stdout` is an open file, not the name of one.
    let is_open = target.starts_with("/dev") || target.starts_with("/proc");
    let old = fs::metadata(path).ok();
    if old.as_ref().is_some_and(fs::Metadata::is_dir) {
        return Err(in_file(io::Error::new(ErrorKind::IsADirectory, "a folder")).into());
    }
    if is_open || old.as_ref().is_some_and(|old| !old.is_file()) {
        let file = File::options().write(true).open(path).map_err(in_file)?;
        let mut buffer = BufWriter::new(&file);
        write(&mut buffer)?;
        return Ok(buffer.flush().map_err(in_file)?);
    }
    let folder = folder(&target);
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    if old.is_none() {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666)); // less those of the umask
    }
    let file = builder.prefix(".").suffix(".tmp").tempfile_in(folder).map_err(in_file)?;
    let mut buffer = BufWriter::new(file.as_file());
    write(&mut buffer)?;
    buffer.flush().map_err(in_file)?;
    drop(buffer);
    if let Some(old) = old {
        file.as_file().set_permissions(old.permissions()).map_err(in_file)?;
    }
    file.as_file().sync_all().map_err(in_file)?;
    file.persist(&target).map_err(|error| in_file(error.error))?;
    #[cfg(unix)]
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(in_file)?;
    Ok(())
}

/// The folder that a path is in.
pub fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Follows symbolic links, including links to files that do not exist yet.
pub fn target(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        match fs::read_link(&path) {
            Ok(next) if !path.starts_with("/proc") => path = folder(&path).join(next),
            _ => return Ok(path),
        }
    }
    Err(io::Error::new(ErrorKind::InvalidInput, "too many symbolic links"))
}
