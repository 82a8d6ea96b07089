//! Where a file is written.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// As many symbolic links as Linux follows.
const LINKS: usize = 40;

/// Follows symbolic links, including links to files that do not exist yet.
///
/// # Errors
///
/// Returns an error when there are more links than the operating system follows.
pub fn destination(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        match fs::read_link(&path) {
            Ok(next) if !path.starts_with("/proc") => {
                path = path.parent().unwrap_or(Path::new("")).join(next);
            }
            _ => return Ok(path),
        }
    }
    Err(io::Error::new(ErrorKind::InvalidInput, "too many symbolic links"))
}

/// Whether a destination is an open file, such as `/dev/stdout`, and not the name of a file. `/dev/shm`
/// contains ordinary files.
pub(crate) fn is_open_file(destination: &Path) -> bool {
    let in_devices = destination.starts_with("/dev") && !destination.starts_with("/dev/shm");
    in_devices || destination.starts_with("/proc")
}
