//! Files that are written as a whole or not at all.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::error::Result;

/// Writes a file beside its place, flushes it, and puts it there. The old contents stay until then.
/// A file that was there keeps its permissions, and a symbolic link its name.
pub(crate) fn save(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&fs::File>) -> Result<()>,
) -> Result<()> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let in_file =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let old = fs::metadata(&path).ok();
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        return Err(
            in_file(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")).into()
        );
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
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
    file.persist(&path).map_err(|error| in_file(error.error))?;
    #[cfg(unix)]
    fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(in_file)?;
    Ok(())
}
