//! The faults of zip files.

use zip::result::ZipError;

use crate::error::{Error, ErrorKind};

pub(crate) fn zip_error(error: ZipError) -> Error {
    // The message of the crate is the name of a record: `Could not find EOCD`.
    let is_cut = |why: &str| why.contains("EOCD") || why.contains("Unexpected end");
    if matches!(&error, ZipError::InvalidArchive(why) if is_cut(why)) {
        let why = "not a zip file, or cut off: there is no list of files at its end";
        return ErrorKind::Malformed(why.to_owned()).into();
    }
    if matches!(&error, ZipError::InvalidArchive(why) if why.contains("duplicate file names")) {
        let why = "as a zip file: two of its files have one name, so readers disagree on it";
        return ErrorKind::Malformed(why.to_owned()).into();
    }
    ErrorKind::Malformed(format!("as a zip file: {error}")).into()
}
