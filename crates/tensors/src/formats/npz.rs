//! numpy's files of several arrays: `.npz`, zip files of [`npy`] files.
//!
//! ```
//! use treedef_tensors::{Dtype, Tensor, Tensors, npz};
//!
//! let step = Tensor::new(Dtype::I64, vec![], vec![7, 0, 0, 0, 0, 0, 0, 0])?;
//! let tensors = Tensors::new([("opt/step".to_owned(), step)])?;
//!
//! let file = npz::to_bytes(&tensors)?; // `numpy.load(file)["opt/step"]` is 7
//! let source = npz::from_bytes(&file)?;
//! assert_eq!(source.read()?, tensors);
//! assert_eq!(source.load::<std::collections::BTreeMap<String, i64>>()?["opt/step"], 7);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::borrow::Cow;
use std::io::{self, Cursor, Read, Seek, Write};
use std::path::Path;

use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::error::{Error, ErrorKind, Result, quoted};
use crate::file;
use crate::formats::npy::{self, NpyArray, ReadOptions};
use crate::formats::zipped::zip_error;
use crate::source::{Source, StoredTensor};
use crate::structure::is_of_structure;

/// The extension of an array's name.
const NPY: &str = ".npy";

/// The file that `numpy.savez` would write, with a member `name.npy` for each tensor, in their order:
/// [`Tensors`](crate::Tensors), or a [`Source`] whose tensors are copied, with any elements.
///
/// Nothing is compressed. The elements of each tensor begin at a multiple of 64 bytes. The format
/// has no metadata, so the structure, which [`Export`](crate::Export) puts there, is left out, and
/// so is `format`, in which libraries name the framework of a safetensors file.
///
/// # Errors
///
/// Returns an error when there is other metadata, such as the metadata of
/// [`Export::rest_in_metadata`](crate::Export::rest_in_metadata); when a name is too long for a zip file
/// (some 64 KiB) or contains `\0`; when numpy has no such elements, e.g. floats of 8 bits. See also
/// [`npy::to_bytes`].
pub fn to_bytes<'s>(tensors: impl Into<Source<'s>>) -> Result<Vec<u8>> {
    let tensors = tensors.into();
    let names: usize = tensors.iter().map(|stored| 2 * stored.name().len() + 512).sum();
    let size = usize::try_from(tensors.num_bytes()).unwrap_or_default();
    let room = if file::has_room(size) { size.saturating_add(names) } else { 0 };
    Ok(write(&tensors, Cursor::new(Vec::with_capacity(room)))?.into_inner())
}

/// Writes a file with these tensors, as [`to_bytes`] makes it. The old contents stay until the new
/// ones are on the disk.
///
/// # Errors
///
/// As [`to_bytes`], and errors of the operating system; the old file is then unchanged, unless only
/// flushing the folder failed.
///
/// ```
/// use treedef::Tree;
/// use treedef_tensors::{Tensors, npz};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("model.npz");
/// let value = vec![(vec![[1.5f32; 2]; 3], 7u8)];
/// let tree = Tree::of(&value)?;
/// npz::save(&Tensors::of(&tree)?, &path)?;
/// let file = std::fs::read(&path)?;
/// assert_eq!(npz::from_bytes(&file)?.load::<Vec<(Vec<[f32; 2]>, u8)>>()?, value);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn save<'s>(tensors: impl Into<Source<'s>>, path: impl AsRef<Path>) -> Result<()> {
    let tensors = tensors.into();
    file::save(path.as_ref(), |file| write(&tensors, file).map(drop))
}

fn write<W: Write + Seek>(tensors: &Source<'_>, writer: W) -> Result<W> {
    let is_lost = |key: &str| !is_of_structure(key) && key != "format";
    let mut metadata = tensors.texts().iter().filter(|(key, _)| is_lost(key));
    if let Some((key, text)) = metadata.next() {
        let what = format!(
            "an npz file has no place for metadata, such as {}: {} (write a safetensors file)",
            quoted(key),
            quoted(text)
        );
        return Err(ErrorKind::Unsupported(what).into());
    }
    let mut writer = ZipWriter::new(writer);
    for stored in tensors.iter() {
        let about = |error: Error| error.about(&quoted(stored.name()));
        write_member(&mut writer, stored).map_err(about)?;
    }
    writer.finish().map_err(write_error)
}

fn write_member(
    writer: &mut ZipWriter<impl Write + Seek>,
    stored: &StoredTensor<'_>,
) -> Result<()> {
    let name = stored.name();
    if name.contains('\0') {
        return Err(ErrorKind::Malformed("Python ends a name at `\\0`".to_owned()).into());
    }
    let header = npy::header_of(stored.descriptor())?;
    let size = stored.num_bytes().saturating_add(u64::try_from(header.len()).unwrap_or(u64::MAX));
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .with_alignment(64)
        .large_file(u32::try_from(size).is_err());
    writer.start_file(format!("{name}.npy"), options).map_err(write_error)?;
    writer.write_all(&header)?;
    stored.pieces(|piece| Ok(writer.write_all(piece)?))
}

/// The arrays of a file of numpy, compressed or not, in the order of the file, with any elements: see
/// [`npy::from_bytes`]. The fields of records `r` are `r.x`, `r.y`. A member that is not an array is listed
/// as an array of bytes that cannot be read. Dates are loaded as texts, and records as structs of arrays.
///
/// Uncompressed arrays are borrowed, as by [`npy::from_bytes`]. All checksums are checked.
///
/// # Errors
///
/// Returns an error when the file is damaged, or two arrays have one name; when the compressed members
/// have more than 2³⁰ bytes (see [`ReadOptions::max_bytes`]). See also [`npy::from_bytes`].
///
/// ```
/// use treedef_tensors::{Dtype, Tensor, Tensors, npz};
///
/// let step = Tensor::new(Dtype::I64, vec![], vec![7, 0, 0, 0, 0, 0, 0, 0])?;
/// let file = npz::to_bytes(&Tensors::new([("step".to_owned(), step)])?)?;
/// let source = npz::from_bytes(&file)?;
/// assert_eq!(source.get("step").unwrap().descriptor().to_string(), "i64[]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn from_bytes(file: &[u8]) -> Result<Source<'_>> {
    from_bytes_with(file, &ReadOptions::new())
}

/// As [`from_bytes`], with options.
///
/// # Errors
///
/// As [`from_bytes`].
///
/// ```
/// use treedef_tensors::npy::ReadOptions;
/// use treedef_tensors::{Dtype, Tensor, Tensors, npz};
///
/// let scale = Tensor::new(Dtype::Bf16, vec![1], vec![0x80, 0x3f])?;
/// let tensors = Tensors::new([("scale".to_owned(), scale)])?;
/// let file = npz::to_bytes(&tensors)?;
/// assert_eq!(npz::from_bytes_with(&file, &ReadOptions::new().bf16(true))?.read()?, tensors);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn from_bytes_with<'a>(file: &'a [u8], reading: &ReadOptions) -> Result<Source<'a>> {
    let (mut tensors, mut records) = (Vec::new(), Vec::new());
    members(file, reading, |name, member| {
        let Some(stem) = name.strip_suffix(NPY) else {
            tensors.push(npy::other_file(name, member));
            return Ok(());
        };
        let array = NpyArray::read(member, reading)?;
        records.extend(array.is_of_records().then(|| stem.to_owned()));
        array.push_to(stem, &mut tensors)
    })?;
    Ok(Source::of(tensors, [])?.with_records(records))
}

/// Calls a function with the name and the bytes of each member.
fn members<'a>(
    file: &'a [u8],
    reading: &ReadOptions,
    mut each: impl FnMut(&str, Cow<'a, [u8]>) -> Result<()>,
) -> Result<()> {
    let mut archive = ZipArchive::new(Cursor::new(file)).map_err(zip_error)?;
    // Names are distinct, members do not overlap, and headers agree with the directory.
    archive.validate_header_consistency().map_err(zip_error)?;
    let mut left = reading.max_bytes;
    for index in 0..archive.len() {
        let (name, member) = member(&mut archive, index, file, &mut left)?;
        each(&name, member).map_err(|error| error.about(&quoted(&name)))?;
    }
    Ok(())
}

/// The name and the bytes of a member, whose checksum is right. `left` is the number of bytes that
/// may still be unpacked.
fn member<'a>(
    archive: &mut ZipArchive<Cursor<&'a [u8]>>,
    index: usize,
    file: &'a [u8],
    left: &mut usize,
) -> Result<(String, Cow<'a, [u8]>)> {
    let mut member = archive.by_index(index).map_err(zip_error)?;
    let name = member.name().map_err(zip_error)?.into_owned();
    let shown = quoted(&name);
    let damaged = |what: &str| Error::from(ErrorKind::Malformed(format!("{shown}: {what}")));
    let size = usize::try_from(member.size()).unwrap_or(usize::MAX);
    if member.compression() == CompressionMethod::Stored {
        let start = member.data_start().and_then(|start| usize::try_from(start).ok());
        let end = start.and_then(|start| start.checked_add(size));
        let bytes = start.zip(end).and_then(|(start, end)| file.get(start..end));
        // Reading to the end compares the checksum.
        let read =
            io::copy(&mut member, &mut io::sink()).map_err(|error| damaged(&error.to_string()))?;
        let bytes = bytes.filter(|bytes| bytes.len() as u64 == read); // a `usize` fits
        let bytes = bytes.ok_or_else(|| damaged("its size is wrong"))?;
        return Ok((name, Cow::Borrowed(bytes)));
    }
    *left = left.checked_sub(size).ok_or_else(|| {
        let what = format!("{shown} unpacks to {size} bytes, {left} are left");
        ErrorKind::limit("bytes to unpack", what)
    })?;
    // The vector grows with the data that is there, not with a declared length.
    let mut bytes = Vec::new();
    member.read_to_end(&mut bytes).map_err(|error| damaged(&error.to_string()))?;
    if bytes.len() == size {
        Ok((name, Cow::Owned(bytes)))
    } else {
        Err(damaged("its size is wrong"))
    }
}

fn write_error(error: ZipError) -> Error {
    match error {
        ZipError::Io(error) => error.into(),
        other => zip_error(other),
    }
}
