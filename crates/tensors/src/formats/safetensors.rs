//! `safetensors` files: a header in JSON, and the numbers behind it.
//!
//! ```
//! use treedef::Tree;
//! use treedef_tensors::{Tensors, safetensors};
//!
//! let tree = Tree::<f32>::of_as(&vec![([0.5f32, 1.5], 2.5f32)])?;
//! let bytes = safetensors::to_bytes(&Tensors::of(&tree)?.with_metadata("format", "pt"))?;
//!
//! let source = safetensors::from_bytes(&bytes)?;
//! assert_eq!(source.get("0.0").unwrap().descriptor().shape(), [2]);
//! assert_eq!(source.load::<Vec<([f32; 2], f32)>>()?, [([0.5, 1.5], 2.5)]);
//! // The tensors stand in the order of the tree, so the data of a tree of numbers is its leaves.
//! assert!(bytes.ends_with(&[0.5f32, 1.5, 2.5].map(f32::to_le_bytes).concat()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod header;
pub(crate) mod index;
mod shards;
pub(crate) mod folder;
pub(crate) mod open;
mod writer;
mod sharded;

use std::io::{Read, Write};
use std::path::Path;

use crate::descriptor::Descriptor;
use crate::error::{Error, Result, malformed};
use crate::file;
use crate::file_bytes::FileBytes;
use crate::formats::safetensors::header::{LayoutFault, PREFIX, SafetensorsHeader};
use crate::source::{Source, StoredTensor};
use crate::tensor::Tensors;

pub use open::{OpenOptions, open, open_files, open_indexed_slices};
pub use sharded::save_sharded;
pub use writer::Writer;

/// Lists the tensors in the bytes of a file, of any type. Each borrows its bytes, and they are in the order
/// of their data. [`Source::load`] reads a value, and [`Source::read`] all [`Tensors`].
///
/// # Errors
///
/// Returns an error when the header is not valid JSON, a name occurs twice, the data has a gap, an
/// overlap or a rest, or a shape does not fit.
///
/// ```
/// use treedef_tensors::safetensors;
///
/// let header = r#"{"w":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}}"#;
/// let file = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &[0xd3]].concat();
/// let source = safetensors::from_bytes(&file)?;
/// assert_eq!(source.get("w").unwrap().descriptor().to_string(), "f4[2]");
/// assert_eq!(source.get("w").unwrap().tree()?.to_string(), "[1.5f32, -3.0f32]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn from_bytes(bytes: &[u8]) -> Result<Source<'_>> {
    let file = FileBytes::Memory(bytes);
    let text = header::read(bytes, Some(file.len()))?;
    let header = SafetensorsHeader::parse(&text)?;
    let start = (PREFIX + text.len()) as u64;
    let mut faults = Vec::new();
    let extents = header::extents(header.tensors, file.len().saturating_sub(start), |fault| {
        faults.push(layout_error(fault, start));
    });
    if let Some(fault) = faults.into_iter().next() {
        return Err(fault);
    }
    let stored = extents.into_iter().map(|extents| extents.stored(&file, start));
    Ok(Source::new(stored.collect(), header.metadata))
}

/// The error for a misplaced tensor, or for bytes after the last one. The data begins at byte `start`.
fn layout_error(fault: LayoutFault, start: u64) -> Error {
    match fault {
        LayoutFault::Tensor(name, what) => {
            malformed(PREFIX, format!("{what} at the tensor `{name}`"))
        }
        LayoutFault::Rest(at, what) => {
            malformed(usize::try_from(start.saturating_add(at)).unwrap_or(usize::MAX), what)
        }
    }
}

/// Reads only the header of a file, from a pipe for example: the descriptions of the tensors, in
/// the order of their data.
///
/// # Errors
///
/// As [`from_bytes`], except that the bytes after the header are not checked.
///
/// ```
/// use treedef::Tree;
/// use treedef_tensors::{Tensors, safetensors};
///
/// let bytes = safetensors::to_bytes(&Tensors::of(&Tree::of(&vec![([1.5f32; 2], 7u8)])?)?)?;
/// let tensors = safetensors::read_header(&bytes[..bytes.len() - 9])?;
/// assert_eq!(tensors[0].to_string(), "f32[2]");
/// assert_eq!(tensors[1].name(), "0.1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_header(reader: impl Read) -> Result<Vec<Descriptor>> {
    let header = SafetensorsHeader::parse(&header::read(reader, None)?)?;
    let mut faults = Vec::new();
    let extents = header::extents(header.tensors, u64::MAX, |fault| {
        if let LayoutFault::Tensor(..) = fault {
            faults.push(layout_error(fault, 0));
        }
    });
    match faults.into_iter().next() {
        Some(fault) => Err(fault),
        None => Ok(extents.into_iter().map(|extents| extents.descriptor).collect()),
    }
}

/// Whether a file of safetensors can have elements of this type: all of [`Dtype`](crate::Dtype) except
/// complex numbers of 128 bits, and floats of at most 8 bits.
#[doc(hidden)]
pub fn __holds(descriptor: &Descriptor) -> bool {
    descriptor.number_type().is_some_and(|element| element.in_safetensors().is_some())
}

/// The bytes of a file with these tensors, in their order.
///
/// # Errors
///
/// Returns an error when a name is `__metadata__`, a tensor is of complex numbers of 128 bits, or
/// the header would be longer than readers accept.
pub fn to_bytes(tensors: &Tensors<'_>) -> Result<Vec<u8>> {
    let source = Source::from(tensors);
    let mut bytes = header_of(&source)?;
    let size = tensors.iter().map(|(_, tensor)| tensor.bytes().len());
    bytes.reserve_exact(size.sum());
    write_data(&source, &mut bytes)?;
    Ok(bytes)
}

/// Writes a file with these tensors, one after the other: [`Tensors`], whose numbers are not copied, or a
/// [`Source`], which is read piece by piece.
///
/// # Errors
///
/// As [`to_bytes`], and errors of the writer.
///
/// ```
/// use treedef::Tree;
/// use treedef_tensors::{Tensors, safetensors};
///
/// let tree = Tree::of(&[1u8, 2])?;
/// let tensors = Tensors::of(&tree)?;
/// let mut file = Vec::new();
/// safetensors::write(&tensors, &mut file)?;
/// assert_eq!(file, safetensors::to_bytes(&tensors)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write<'s>(tensors: impl Into<Source<'s>>, mut writer: impl Write) -> Result<()> {
    let source = tensors.into();
    writer.write_all(&header_of(&source)?)?;
    write_data(&source, &mut writer)?;
    Ok(writer.flush()?)
}

/// Writes a file with these tensors, as [`write()`] does. The old contents stay
/// until the new ones are on the disk.
///
/// # Errors
///
/// As [`to_bytes`], and errors of the operating system; the old file is then unchanged, unless only
/// flushing the folder failed.
///
/// ```
/// use treedef::Tree;
/// use treedef_tensors::{Tensors, safetensors};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("model.safetensors");
/// let tree = Tree::of(&vec![[1.5f32]; 2])?;
/// safetensors::save(&Tensors::of(&tree)?, &path)?;
/// assert_eq!(safetensors::open(&path)?.load::<Vec<[f32; 1]>>()?, [[1.5]; 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn save<'s>(tensors: impl Into<Source<'s>>, path: impl AsRef<Path>) -> Result<()> {
    let source = tensors.into();
    let header = header_of(&source)?;
    file::save(path.as_ref(), |file| {
        file.write_all(&header)?;
        write_data(&source, file)
    })
}

fn write_data(source: &Source<'_>, writer: &mut impl Write) -> Result<()> {
    source.iter().try_for_each(|stored| stored.pieces(|piece| Ok(writer.write_all(piece)?)))
}

/// The header with its length, up to the data.
fn header_of(source: &Source<'_>) -> Result<Vec<u8>> {
    let descriptors: Vec<_> = source.iter().map(StoredTensor::descriptor).collect();
    header::write(&descriptors, source.texts())
}
